// SPDX-License-Identifier: Apache-2.0
// Loads with TLS between our clients and servers over a cable in virtual time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "test_link.h"

namespace merlon::lab::tcp {
namespace {

constexpr base::Nanos kStep = 20'000;
// 20/s over 3 s and two ramps of half that rate.
constexpr double kConnections = 80;

TcpLoadSpec small_spec(TlsVersion version = TlsVersion::k13) {
  TcpLoadSpec s;
  s.connections_per_s = 20;
  s.ramp_up_s = 1;
  s.sustain_s = 3;
  s.ramp_down_s = 1;
  s.drain_s = 30;
  s.tls.version = version;
  return s;
}

// One load over its own link.
struct Bench {
  explicit Bench(Impairment impairment = {}) : clock(kStep), link(clock, impairment) {
    settings.clock = &clock;
  }

  TrialResult run(const TcpLoadSpec& spec) {
    auto load = TcpLoad::create(link.a(), link.b(), settings);
    EXPECT_TRUE(load.ok());
    auto result = (*load)->run(spec, stop, {});
    EXPECT_TRUE(result.ok()) << result.error().to_string();
    return result.ok() ? std::move(*result) : TrialResult{};
  }

  TestClock clock;
  TestLink link;
  TcpLoadSettings settings;
  std::atomic<bool> stop{false};
};

void expect_whole(const TrialResult& r, double connections, double transactions) {
  EXPECT_EQ(r.kpis.at("completed"), connections) << testing::PrintToString(r.kpis);
  EXPECT_EQ(r.kpis.at("failed"), 0);
  EXPECT_EQ(r.kpis.at("handshakes"), connections);
  EXPECT_EQ(r.kpis.at("server_handshakes"), connections);
  EXPECT_EQ(r.kpis.at("transactions_attempted"), transactions);
  EXPECT_EQ(r.kpis.at("transactions_failed"), 0);
  EXPECT_EQ(r.kpis.at("server_requests"), transactions);
  EXPECT_EQ(r.kpis.at("sides_disagree"), 0);
  EXPECT_EQ(r.kpis.at("server_open"), 0);
  for (const char* name : {"server_tls_alerts", "server_tls_bad_records", "server_tls_truncated"})
    EXPECT_EQ(r.kpis.at(name), 0) << name;
}

double bits_of(const TrialResult& r) {
  double bits = 0;
  for (const double v : r.series.at("goodput_bps")) bits += v;
  return bits;
}

constexpr std::array kVersions = {TlsVersion::k12, TlsVersion::k13};

TEST(TlsLoad, ShakesHandsOnEveryConnectionOfTheSchedule) {
  for (const TlsVersion version : kVersions) {
    Bench b;
    TcpLoadSpec s = small_spec(version);
    s.tls.is_verified = true;
    const TrialResult r = b.run(s);
    expect_whole(r, kConnections, kConnections);
    EXPECT_NEAR(r.kpis.at("handshakes_per_s"), 20, 1);
    EXPECT_EQ(r.kpis.at("handshakes_resumed"), 0);
    EXPECT_EQ(r.kpis.at("retransmissions"), 0);
    EXPECT_EQ(bits_of(r), kConnections * 1024 * 8);
    // 1.2 takes one round trip more; then the request's own.
    const double rounds = version == TlsVersion::k13 ? 2 : 3;
    EXPECT_NEAR(r.kpis.at("tls_established_p50_ms"), 0.2 * rounds, 0.12 * rounds);
    EXPECT_NEAR(r.kpis.at("tls_handshake_p50_ms"), 0.2 * (rounds - 1), 0.12 * rounds);
    EXPECT_NEAR(r.kpis.at("ttfb_p50_ms"), 0.2 * (rounds + 1), 0.12 * (rounds + 1));
    EXPECT_GE(r.kpis.at("ttlb_p50_ms"), r.kpis.at("ttfb_p50_ms"));
    EXPECT_GT(r.kpis.at("tester_tls_cycles_per_handshake"), 1000);
    EXPECT_EQ(r.series.at("handshakes_per_s").size(), 5U);
    EXPECT_TRUE(judge_rfc9411(r).limits.front().has_passed);
  }
}

TEST(TlsLoad, FetchesObjectsOfEverySizeToTheByte) {
  for (const TlsVersion version : kVersions)
    for (const bool is_http : {true, false}) {
      Bench b;
      TcpLoadSpec s = small_spec(version);
      s.object_kib = {1, 16, 64, 1024};
      s.transactions_per_connection = 4;
      s.is_http = is_http;
      const TrialResult r = b.run(s);
      expect_whole(r, kConnections, kConnections * 4);
      EXPECT_EQ(bits_of(r), kConnections * (1 + 16 + 64 + 1024) * 1024 * 8);
      EXPECT_EQ(r.kpis.at("retransmissions"), 0);
    }
}

TEST(TlsLoad, CompletesEverythingOverALossyReorderingDoublingLink) {
  for (const TlsVersion version : kVersions) {
    Bench b({.loss = 0.01, .duplicate = 0.02, .reorder = 0.03, .seed = 7});
    TcpLoadSpec s = small_spec(version);
    s.object_kib = {1, 64};
    s.transactions_per_connection = 4;
    s.retries = 8;
    s.transaction_timeout_s = 60;
    const TrialResult r = b.run(s);
    expect_whole(r, kConnections, kConnections * 4);
    EXPECT_GT(b.link.lost(), 20U);
    EXPECT_GT(r.kpis.at("retransmissions"), 0);
  }
}

TEST(TlsLoad, HandshakesAlone) {
  Bench b;
  TcpLoadSpec s = small_spec();
  s.transactions_per_connection = 0;
  expect_whole(b.run(s), kConnections, 0);
}

TEST(TlsLoad, ServersThatCloseFirstAreAnswered) {
  for (const TlsVersion version : kVersions) {
    Bench b({.loss = 0.01, .seed = 5});
    TcpLoadSpec s = small_spec(version);
    s.is_kept_alive = false;
    s.retries = 6;
    expect_whole(b.run(s), kConnections, kConnections);
  }
}

TEST(TlsLoad, SessionsComeBackWhenAskedTo) {
  for (const TlsVersion version : kVersions) {
    Bench b;
    TcpLoadSpec s = small_spec(version);
    s.tls.reuses_sessions = true;
    const TrialResult r = b.run(s);
    expect_whole(r, kConnections, kConnections);
    EXPECT_EQ(r.kpis.at("handshakes_resumed"), kConnections - 1);
    EXPECT_EQ(r.kpis.at("server_handshakes_resumed"), kConnections - 1);
  }
}

TEST(TlsLoad, HoldsANumberOfConnectionsInLittleMemory) {
  Bench b;
  TcpLoadSpec s = small_spec();
  s.connections_per_s = 0;
  s.concurrent = 100;
  s.transactions_per_connection = TcpLoadSpec::kUnlimited;
  s.think_s = 0.25;
  const TrialResult r = b.run(s);
  EXPECT_EQ(r.kpis.at("concurrent_max"), 100);
  EXPECT_EQ(r.kpis.at("failed"), 0);
  EXPECT_EQ(r.kpis.at("completed"), r.kpis.at("attempted"));
  EXPECT_EQ(r.kpis.at("handshakes"), r.kpis.at("attempted"));
  EXPECT_NEAR(r.kpis.at("transactions_per_s"), 400, 20);
  // The sanitisers' heap says nothing.
  if (r.kpis.contains("tls_memory_per_end_bytes")) {
    EXPECT_LT(r.kpis.at("tls_memory_per_end_bytes"), 40'000);
  }
  EXPECT_TRUE(judge_rfc9411(r).has_passed) << testing::PrintToString(r.kpis);
}

TEST(TlsLoad, HoldingBeginsNoMoreHandshakesThanItAwaits) {
  Bench b;
  b.link.watch([](unsigned direction, base::ByteSpan bytes) {
    Frame f;
    return direction == 0 || read_frame(bytes, true, f) != FrameKind::kTcp ||
           f.segment.payload.empty();
  });
  TcpLoadSpec s = small_spec();
  s.connections_per_s = 2000;
  s.concurrent = 1000;
  s.transaction_timeout_s = s.drain_s = 30;
  s.retries = 10;
  const TrialResult r = b.run(s);
  EXPECT_EQ(r.kpis.at("concurrent_max"), 256);
  EXPECT_EQ(r.kpis.at("attempted"), 256);
}

// Reads the frame when it is a segment with payload in this direction.
bool is_payload(unsigned direction, unsigned wanted, base::ByteSpan bytes, Frame& f) {
  return direction == wanted && read_frame(bytes, true, f) == FrameKind::kTcp &&
         !f.segment.payload.empty();
}

// A device that rewrites a record and mends the checksum.
TEST(TlsLoad, RewrittenRecordsAreBadRecords) {
  for (const TlsVersion version : kVersions) {
    Bench b;
    unsigned seen = 0;
    b.link.watch([&](unsigned direction, base::ByteSpan bytes) {
      Frame f;
      // Responses only: the handshake's segments begin with another type of record.
      if (!is_payload(direction, 1, bytes, f) || f.segment.payload.size() < 1000 ||
          f.segment.payload[0] != 23 || ++seen % 10 != 0)
        return true;
      TestLink::Bytes bad(bytes.begin(), bytes.end());
      std::swap(bad[kHeaderSize + 400], bad[kHeaderSize + 402]);
      const bool has_changed = bad[kHeaderSize + 400] != bad[kHeaderSize + 402];
      b.link.insert(1, bad);
      return !has_changed;
    });
    const TrialResult r = b.run(small_spec(version));
    EXPECT_GE(r.kpis.at("tls_bad_record"), 7);
    EXPECT_EQ(r.kpis.at("tls_bad_record"), r.kpis.at("failed"));
    EXPECT_EQ(r.kpis.at("transactions_failed"), r.kpis.at("failed"));
    // Our alert reached the servers.
    EXPECT_EQ(r.kpis.at("server_tls_alerts"), r.kpis.at("failed"));
    EXPECT_FALSE(judge_rfc9411(r).has_passed);
  }
}

// In place of the first bytes that each server says, something else of the device's.
struct Forger {
  TestLink& link;
  TestLink::Bytes payload;
  std::uint8_t flags = kAck | kPsh;
  base::Byte type = 22;  // record before which it is said
  unsigned forged = 0;
  bool operator()(unsigned direction, base::ByteSpan bytes) {
    Frame f;
    if (!is_payload(direction, 1, bytes, f) || f.segment.payload[0] != type) return true;
    SegmentHeader h;
    h.source_ip = f.segment.source_ip;
    h.destination_ip = f.segment.destination_ip;
    h.source_port = f.segment.source_port;
    h.destination_port = f.segment.destination_port;
    h.sequence = f.segment.sequence;
    h.acknowledgment = f.segment.acknowledgment;
    h.flags = flags;
    h.window = f.segment.window;
    TestLink::Bytes frame(std::max<std::size_t>(kHeaderSize + payload.size(), kMinimumFrame));
    std::copy(payload.begin(), payload.end(), frame.begin() + kHeaderSize);
    frame.resize(write_segment(frame.data(), h, static_cast<std::uint32_t>(payload.size())));
    link.insert(1, frame);
    ++forged;
    return false;
  }
};

TEST(TlsLoad, AlertsAreNamed) {
  constexpr base::Byte kFatal = 2, kHandshakeFailure = 40;
  Bench b;
  Forger forger{b.link, {21, 3, 3, 0, 2, kFatal, kHandshakeFailure}};
  b.link.watch([&](unsigned d, base::ByteSpan f) { return forger(d, f); });
  TcpLoadSpec s = small_spec(TlsVersion::k12);
  s.transaction_timeout_s = 3;
  const TrialResult r = b.run(s);
  EXPECT_EQ(r.kpis.at("tls_alert"), kConnections) << testing::PrintToString(r.kpis);
  EXPECT_EQ(r.kpis.at("tls_last_alert"), kHandshakeFailure);
  EXPECT_EQ(r.kpis.at("handshakes"), 0);
  EXPECT_EQ(r.kpis.at("established"), kConnections);
}

TEST(TlsLoad, TruncationIsNamed) {
  for (const base::Byte type : {base::Byte{22}, base::Byte{23}}) {
    Bench b;
    Forger forger{b.link, {}, kAck | kFin, type};
    b.link.watch([&](unsigned d, base::ByteSpan f) { return forger(d, f); });
    TcpLoadSpec s = small_spec(TlsVersion::k12);
    s.transaction_timeout_s = 3;
    const TrialResult r = b.run(s);
    EXPECT_EQ(r.kpis.at("tls_truncated"), kConnections) << testing::PrintToString(r.kpis);
    EXPECT_EQ(r.kpis.at("transactions_failed"), type == 22 ? 0 : kConnections);
  }
}

TEST(TlsLoad, SilentServersAreTimeouts) {
  Bench b;
  b.link.watch([](unsigned direction, base::ByteSpan bytes) {
    Frame f;
    return !is_payload(direction, 1, bytes, f);
  });
  const TrialResult r = b.run(small_spec());
  EXPECT_EQ(r.kpis.at("tls_timeout"), kConnections) << testing::PrintToString(r.kpis);
  EXPECT_EQ(r.kpis.at("established"), kConnections);
}

TEST(TlsLoad, NamesOfServersAreChecked) {
  TcpLoadSpec s = small_spec();
  s.tls.server_name = "";
  EXPECT_FALSE(check_tcp_load(s, {}).ok());
  s.tls.server_name = std::string(65, 'a');
  const auto r = check_tcp_load(s, {});
  ASSERT_FALSE(r.ok());
  EXPECT_THAT(r.error().message, testing::HasSubstr("65 characters"));
}

}  // namespace
}  // namespace merlon::lab::tcp
