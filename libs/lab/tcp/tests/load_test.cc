// SPDX-License-Identifier: Apache-2.0
// Whole loads between clients and servers over a cable in virtual time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "test_link.h"

namespace merlon::lab::tcp {
namespace {

constexpr base::Nanos kStep = 20'000;

TcpLoadSpec small_spec() {
  TcpLoadSpec s;
  s.connections_per_s = 200;
  s.ramp_up_s = 1;
  s.sustain_s = 3;
  s.ramp_down_s = 1;
  s.drain_s = 30;
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
    auto result = (*load)->run(spec, stop, progress);
    EXPECT_TRUE(result.ok()) << result.error().to_string();
    return result.ok() ? std::move(*result) : TrialResult{};
  }

  TestClock clock;
  TestLink link;
  TcpLoadSettings settings;
  std::atomic<bool> stop{false};
  ProgressFn progress;
};

TEST(Load, OpensAndClosesEveryConnectionOfTheSchedule) {
  Bench b;
  TcpLoadSpec s = small_spec();
  s.transactions_per_connection = 0;
  const TrialResult r = b.run(s);
  // 200/s over 3 s and two ramps of half that rate.
  EXPECT_EQ(r.kpis.at("attempted"), 800);
  EXPECT_EQ(r.kpis.at("completed"), 800);
  EXPECT_EQ(r.kpis.at("server_syns"), 800);
  EXPECT_EQ(r.kpis.at("server_completed"), 800);
  EXPECT_EQ(r.kpis.at("sides_disagree"), 0);
  EXPECT_EQ(r.kpis.at("server_open"), 0);
  EXPECT_NEAR(r.kpis.at("connections_per_s"), 200, 1);
  EXPECT_EQ(r.kpis.at("retransmissions"), 0);
  // SYN, ACK, FIN and the last ACK from clients, SYN-ACK and FIN from servers; an announcement
  // each.
  EXPECT_EQ(b.link.frames(0), 800U * 4 + 1);
  EXPECT_EQ(b.link.frames(1), 800U * 2 + 1);
  // One way takes 100 us, and each turn begins on a step.
  EXPECT_NEAR(r.kpis.at("connect_p50_ms"), 0.22, 0.05);
  EXPECT_EQ(r.stamp, Stamp::kClean) << testing::PrintToString(r.stamp_reasons);
}

TEST(Load, FetchesObjectsOfEverySizeToTheByte) {
  Bench b;
  TcpLoadSpec s = small_spec();
  s.object_kib = {1, 2, 4, 16, 64};
  s.transactions_per_connection = 5;
  const TrialResult r = b.run(s);
  EXPECT_EQ(r.kpis.at("completed"), 800);
  EXPECT_EQ(r.kpis.at("transactions_attempted"), 4000);
  EXPECT_EQ(r.kpis.at("transactions_failed"), 0);
  EXPECT_EQ(r.kpis.at("server_requests"), 4000);
  double bits = 0;
  for (const double v : r.series.at("goodput_bps")) bits += v;
  EXPECT_EQ(bits, 800.0 * (1 + 2 + 4 + 16 + 64) * 1024 * 8);
  EXPECT_EQ(r.kpis.at("retransmissions"), 0);
  EXPECT_EQ(r.kpis.at("sides_disagree"), 0);
}

TEST(Load, CompletesEverythingOverALossyReorderingDoublingLink) {
  for (const bool is_http : {true, false}) {
    Bench b({.loss = 0.01, .duplicate = 0.02, .reorder = 0.03, .seed = 7});
    TcpLoadSpec s = small_spec();
    s.object_kib = {1, 16, 64};
    s.transactions_per_connection = 3;
    s.is_http = is_http;
    s.retries = 6;  // with three, one connection in a million would fail by right
    const TrialResult r = b.run(s);
    EXPECT_EQ(r.kpis.at("completed"), 800) << testing::PrintToString(r.kpis);
    EXPECT_EQ(r.kpis.at("transactions_failed"), 0);
    EXPECT_EQ(r.kpis.at("server_requests"), 2400);
    EXPECT_GT(b.link.lost(), 100U);
    EXPECT_GT(r.kpis.at("retransmissions"), 0);
    EXPECT_GT(r.kpis.at("fast_retransmissions"), 0);
    EXPECT_GT(r.kpis.at("syn_retransmissions"), 0);
    EXPECT_GT(r.kpis.at("segments_out_of_order"), 0);
    double bits = 0;
    for (const double v : r.series.at("goodput_bps")) bits += v;
    EXPECT_LE(bits, 800.0 * 81 * 1024 * 8);
  }
}

TEST(Load, IsDeterministic) {
  const auto once = [] {
    Bench b({.loss = 0.02, .duplicate = 0.02, .reorder = 0.05, .seed = 3});
    TcpLoadSpec s = small_spec();
    s.object_kib = {4, 64};
    s.transactions_per_connection = 2;
    auto kpis = b.run(s).kpis;
    // The real machine's doing.
    for (const char* name :
         {"tester_busy_ratio", "tester_cycles_per_connection", "tester_longest_gap_ms"})
      kpis.erase(name);
    return kpis;
  };
  EXPECT_EQ(once(), once());
}

TEST(Load, ServersThatCloseFirstAreAnswered) {
  Bench b({.loss = 0.01, .seed = 5});
  TcpLoadSpec s = small_spec();
  s.is_kept_alive = false;
  s.retries = 6;
  const TrialResult r = b.run(s);
  EXPECT_EQ(r.kpis.at("completed"), 800);
  EXPECT_EQ(r.kpis.at("server_completed"), 800);
  EXPECT_EQ(r.kpis.at("transactions_failed"), 0);
}

TEST(Load, DeadServersLeaveTimeouts) {
  Bench b;
  b.link.watch([](unsigned direction, base::ByteSpan) { return direction == 0; });
  TcpLoadSpec s = small_spec();
  const TrialResult r = b.run(s);
  EXPECT_EQ(r.kpis.at("connect_timeout"), 800);
  EXPECT_EQ(r.kpis.at("failed"), 800);
  EXPECT_EQ(r.kpis.at("established"), 0);
  // Three retries each; the offer did not slow down.
  EXPECT_GE(r.kpis.at("syn_retransmissions"), 2400);
  EXPECT_EQ(r.kpis.at("not_opened"), 0);
  EXPECT_FALSE(judge_rfc9411(r).has_passed);
}

TEST(Load, FullTableIsNamedAndStamped) {
  Bench b;
  b.settings.max_concurrent = 10;
  b.link.watch([](unsigned direction, base::ByteSpan) { return direction == 0; });
  const TrialResult r = b.run(small_spec());
  EXPECT_EQ(r.kpis.at("concurrent_max"), 10);
  EXPECT_EQ(r.kpis.at("table_full") + r.kpis.at("connect_timeout"), 800);
  EXPECT_EQ(r.stamp, Stamp::kTesterLimited);
  EXPECT_THAT(r.stamp_reasons, testing::Contains(testing::HasSubstr("table full")));
}

// Forges a RST beside the first response of every n-th connection.
struct Resetter {
  TestLink& link;
  unsigned every;
  std::uint32_t off = 0;  // distance from the exact sequence number
  unsigned forged = 0;
  std::set<std::pair<std::uint64_t, std::uint16_t>> seen{};
  bool operator()(unsigned direction, base::ByteSpan bytes) {
    Frame f;
    if (direction != 1 || read_frame(bytes, true, f) != FrameKind::kTcp ||
        f.segment.payload.empty())
      return true;
    const std::uint64_t pair = std::uint64_t{f.segment.source_ip} << 32 | f.segment.destination_ip;
    const bool is_first = seen.emplace(pair, f.segment.destination_port).second;
    if (!is_first || seen.size() % every != 0) return true;
    SegmentHeader h;
    h.source_ip = f.segment.source_ip;
    h.destination_ip = f.segment.destination_ip;
    h.source_port = f.segment.source_port;
    h.destination_port = f.segment.destination_port;
    h.sequence = f.segment.sequence + off;
    h.acknowledgment = f.segment.acknowledgment;
    h.flags = kRst | kAck;
    TestLink::Bytes frame(kMinimumFrame);
    write_segment(frame.data(), h, 0);
    link.insert(1, frame);
    ++forged;
    return true;
  }
};

TEST(Load, ResetsByTheDeviceAreCounted) {
  Bench b;
  Resetter resetter{b.link, 10};
  b.link.watch([&](unsigned d, base::ByteSpan f) { return resetter(d, f); });
  const TrialResult r = b.run(small_spec());
  EXPECT_EQ(resetter.forged, 80U);
  EXPECT_EQ(r.kpis.at("reset"), 80);
  EXPECT_EQ(r.kpis.at("transactions_failed"), 80);
  EXPECT_EQ(r.kpis.at("completed"), 720);
  EXPECT_NEAR(r.kpis.at("reset_ratio"), 0.1, 0.01);
  const Rfc9411Verdict v = judge_rfc9411(r);
  EXPECT_FALSE(v.has_passed);
  const auto at = std::ranges::find(v.limits, std::string("reset_ratio"), &Rfc9411Limit::name);
  ASSERT_NE(at, v.limits.end());
  EXPECT_FALSE(at->has_passed);
  EXPECT_EQ(at->limit, 0.00001);
}

TEST(Load, ResetsInTheWindowButNotExactAreIgnored) {
  Bench b;
  Resetter resetter{b.link, 10, 100};
  b.link.watch([&](unsigned d, base::ByteSpan f) { return resetter(d, f); });
  const TrialResult r = b.run(small_spec());
  EXPECT_EQ(r.kpis.at("completed"), 800);
  EXPECT_EQ(r.kpis.at("resets_ignored"), 80);
}

TEST(Load, CorruptedSegmentsAreSentAgain) {
  Bench b;
  unsigned seen = 0;
  b.link.watch([&](unsigned direction, base::ByteSpan bytes) {
    Frame f;
    if (direction != 1 || read_frame(bytes, true, f) != FrameKind::kTcp ||
        f.segment.payload.empty() || ++seen % 50 != 0)
      return true;
    TestLink::Bytes bad(bytes.begin(), bytes.end());
    bad[kHeaderSize + 300] ^= 0x10;
    b.link.insert(1, bad);
    return false;
  });
  const TrialResult r = b.run(small_spec());
  EXPECT_EQ(r.kpis.at("completed"), 800);
  EXPECT_GE(r.kpis.at("malformed_frames"), 16);
  EXPECT_EQ(r.kpis.at("transactions_failed"), 0);
}

// A device that rewrites payload and mends the checksum is caught by the content.
TEST(Load, RewrittenObjectsAreBadResponses) {
  Bench b;
  unsigned seen = 0;
  b.link.watch([&](unsigned direction, base::ByteSpan bytes) {
    Frame f;
    if (direction != 1 || read_frame(bytes, true, f) != FrameKind::kTcp ||
        f.segment.payload.size() < 600 || ++seen % 100 != 0)
      return true;
    TestLink::Bytes bad(bytes.begin(), bytes.end());
    // Two bytes whose sum stays: the checksum holds.
    std::swap(bad[kHeaderSize + 400], bad[kHeaderSize + 402]);
    const bool has_changed = bad[kHeaderSize + 400] != bad[kHeaderSize + 402];
    b.link.insert(1, bad);
    return !has_changed;
  });
  const TrialResult r = b.run(small_spec());
  EXPECT_EQ(r.kpis.at("bad_response"), 8);
  EXPECT_EQ(r.kpis.at("transactions_failed"), 8);
}

TEST(Load, HoldsANumberOfConnections) {
  Bench b;
  TcpLoadSpec s = small_spec();
  s.connections_per_s = 0;
  s.concurrent = 300;
  s.transactions_per_connection = TcpLoadSpec::kUnlimited;
  s.think_s = 0.25;
  const TrialResult r = b.run(s);
  EXPECT_EQ(r.kpis.at("concurrent_max"), 300);
  EXPECT_NEAR(r.kpis.at("concurrent_mean"), 300, 6);
  EXPECT_LE(r.kpis.at("concurrent_deviation"), 0.1);
  EXPECT_EQ(r.kpis.at("failed"), 0);
  EXPECT_EQ(r.kpis.at("completed"), r.kpis.at("attempted"));
  EXPECT_NEAR(r.kpis.at("transactions_per_s"), 1200, 60);
  EXPECT_EQ(r.kpis.at("sides_disagree"), 0);
  const Rfc9411Verdict v = judge_rfc9411(r);
  EXPECT_TRUE(v.has_passed) << testing::PrintToString(r.kpis);
  EXPECT_EQ(v.limits.size(), 5U);
}

TEST(Load, ReplacesHeldConnectionsThatEnd) {
  Bench b;
  TcpLoadSpec s = small_spec();
  s.connections_per_s = 2000;
  s.concurrent = 20;
  s.transactions_per_connection = 10;
  const TrialResult r = b.run(s);
  EXPECT_GT(r.kpis.at("completed"), 200);
  EXPECT_EQ(r.kpis.at("failed"), 0);
  EXPECT_LE(r.kpis.at("concurrent_max"), 20);
}

// Requests of the first seconds vanish; the servers keep what the clients have given up, and the
// same ports come again.
TEST(Load, PortsOfGivenUpConnectionsOpenAnew) {
  Bench b;
  b.link.watch([&](unsigned direction, base::ByteSpan bytes) {
    Frame f;
    return direction == 1 || read_frame(bytes, true, f) != FrameKind::kTcp ||
           f.segment.payload.empty() || b.clock.read() > 3'000'000'000;
  });
  TcpLoadSpec s = small_spec();
  s.connections_per_s = 4;
  s.ramp_up_s = s.ramp_down_s = 0;
  s.sustain_s = 10;
  s.clients.count = s.servers.count = 1;
  s.client_ports = 8;
  s.retries = 1;
  const TrialResult r = b.run(s);
  EXPECT_EQ(r.kpis.at("attempted"), 40);
  const double lost = r.kpis.at("transaction_timeout");
  EXPECT_NEAR(lost, 8, 1);
  EXPECT_EQ(r.kpis.at("completed"), 40 - lost);
  EXPECT_EQ(r.kpis.at("server_replaced"), lost);
}

TEST(Load, AttacksAreToldFromClients) {
  for (const auto kind : {AttackKind::kSynFlood, AttackKind::kUdpFlood, AttackKind::kFragments}) {
    Bench b;
    TcpLoadSpec s = small_spec();
    s.attack = kind;
    s.attack_pps = 2000;
    s.attack_sources = 1000;
    const TrialResult r = b.run(s);
    EXPECT_NEAR(r.kpis.at("attack_sent"), 10'000, 2);
    EXPECT_EQ(r.kpis.at("attack_passed"), r.kpis.at("attack_sent"));
    EXPECT_EQ(r.kpis.at("completed"), 800);
    EXPECT_EQ(r.kpis.at("server_syns"), 800);
  }
}

TEST(Load, LargeObjectsSurviveHeavyLoss) {
  Bench b({.loss = 0.05, .duplicate = 0.05, .reorder = 0.1, .seed = 11});
  TcpLoadSpec s = small_spec();
  s.connections_per_s = 10;
  s.object_kib = {1024};
  s.retries = 15;
  s.transaction_timeout_s = 120;
  s.drain_s = 120;
  const TrialResult r = b.run(s);
  EXPECT_EQ(r.kpis.at("completed"), 40);
  EXPECT_EQ(r.kpis.at("transactions_failed"), 0);
  EXPECT_GT(r.kpis.at("fast_retransmissions"), 100);
}

TEST(Load, FindsTheNextHopByArp) {
  Bench b;
  b.settings.client_next_hop = 0x0a0a0001;
  const TrialResult r = b.run(small_spec());
  EXPECT_EQ(r.kpis.at("completed"), 800);
}

TEST(Load, SilentNextHopIsAnError) {
  Bench b;
  b.settings.client_next_hop = 0x0a0000fe;
  auto load = TcpLoad::create(b.link.a(), b.link.b(), b.settings);
  ASSERT_TRUE(load.ok());
  const auto r = (*load)->run(small_spec(), b.stop, {});
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.error().code, base::Errc::kTimeout);
}

TEST(Load, StopLeavesWhatIsKnown) {
  Bench b;
  unsigned calls = 0;
  b.progress = [&](const Progress& p) {
    ++calls;
    if (p.elapsed_s > 2) b.stop = true;
  };
  const TrialResult r = b.run(small_spec());
  EXPECT_NEAR(calls, 21, 2);
  EXPECT_GT(r.kpis.at("completed"), 200);
  EXPECT_LT(r.kpis.at("completed"), 400);
}

TEST(Load, SpecsThatCannotBeRunAreNamed) {
  const auto message = [](auto change) {
    TcpLoadSpec s;
    change(s);
    const auto r = check_tcp_load(s, {});
    return r.ok() ? std::string() : r.error().message;
  };
  EXPECT_EQ(message([](TcpLoadSpec&) {}), "");
  EXPECT_THAT(message([](TcpLoadSpec& s) { s.object_kib = {0}; }),
              testing::HasSubstr("object_kib"));
  EXPECT_THAT(message([](TcpLoadSpec& s) { s.mss = 20; }), testing::HasSubstr("mss 20"));
  EXPECT_THAT(message([](TcpLoadSpec& s) { s.connections_per_s = 0; }),
              testing::HasSubstr("connections_per_s"));
  EXPECT_THAT(message([](TcpLoadSpec& s) { s.servers = s.clients; }), testing::HasSubstr("share"));
  EXPECT_THAT(message([](TcpLoadSpec& s) { s.client_port = 60'000; }),
              testing::HasSubstr("client_ports"));
  EXPECT_THAT(message([](TcpLoadSpec& s) {
                s.clients = {0x0a7ffffe, 4};
              }),
              testing::HasSubstr("10.128"));
  EXPECT_THAT(message([](TcpLoadSpec& s) {
                s.concurrent = 1000;
                s.clients.count = s.servers.count = 1;
                s.client_ports = 999;
              }),
              testing::HasSubstr("tuples"));
  TcpLoadSpec nan;
  nan.sustain_s = std::nan("");
  EXPECT_FALSE(check_tcp_load(nan, {}).ok());
}

}  // namespace
}  // namespace merlon::lab::tcp
