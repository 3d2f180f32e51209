// SPDX-License-Identifier: Apache-2.0
// Whole trials over cables in memory: counts only, no times.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "merlon/lab_traffic/tester.h"

namespace merlon::lab {
namespace {

std::unique_ptr<Tester> tester_over(const std::string& name, TesterSettings settings = {}) {
  EndpointSpec spec;
  spec.kind = "ring";
  spec.interface = name;
  auto a = open_endpoint(spec);
  auto b = open_endpoint(spec);
  EXPECT_TRUE(a.ok() && b.ok());
  settings.drain_s = 0.05;
  auto tester = Tester::create(std::move(*a), std::move(*b), settings);
  EXPECT_TRUE(tester.ok());
  return std::move(*tester);
}

TrialSpec trial(double rate, double seconds) {
  TrialSpec t;
  t.id = "t1";
  t.rate_pps = rate;
  t.duration_s = seconds;
  return t;
}

void expect_balance(const TrialResult& r) {
  const FrameCounts& f = r.frames;
  EXPECT_EQ(f.offered - f.expected_drops, f.received - f.false_accepts + f.lost);
  EXPECT_LE(f.offered, f.intended);
  EXPECT_EQ(r.latency_actual.count(), f.received - f.false_accepts);
  EXPECT_EQ(r.latency_intended.count(), f.received - f.false_accepts);
  EXPECT_EQ(r.lateness.count(), f.offered);
}

TEST(Tester, CountsEveryFrameOfACable) {
  auto tester = tester_over("counts");
  const std::atomic<bool> stop{false};
  TrialSpec spec = trial(20'000, 0.1);
  spec.traffic.flows = 100;
  spec.traffic.sizes = "imix";
  const auto r = tester->run(spec, stop);
  ASSERT_TRUE(r.ok()) << r.error().message;
  EXPECT_EQ(r->frames.intended, 2000u);
  EXPECT_EQ(r->frames.lost, 0u);
  EXPECT_EQ(r->frames.received, r->frames.offered);
  EXPECT_EQ(r->frames.duplicated + r->frames.reordered + r->frames.corrupted, 0u);
  EXPECT_EQ(r->timeline_offered.size(), 100u);
  ASSERT_EQ(r->processes.size(), 2u);
  EXPECT_EQ(r->processes[0].role, "tester");
  expect_balance(*r);
}

TEST(Tester, ServesManyTrialsAndBothWays) {
  auto tester = tester_over("both");
  const std::atomic<bool> stop{false};
  TrialSpec spec = trial(10'000, 0.05);
  spec.traffic.is_bidirectional = true;
  for (int i = 0; i < 3; ++i) {
    const auto r = tester->run(spec, stop);
    ASSERT_TRUE(r.ok()) << r.error().message;
    EXPECT_EQ(r->frames.intended, 500u);
    EXPECT_EQ(r->frames.lost, 0u);
    EXPECT_EQ(r->frames.unexpected, 0u);
    expect_balance(*r);
  }
}

TEST(Tester, BothWaysAtTheMaximumRate) {
  auto tester = tester_over("maximum");
  const std::atomic<bool> stop{false};
  TrialSpec spec = trial(0, 0.3);
  spec.traffic.pacing = Pacing::kMaximum;
  spec.traffic.is_bidirectional = true;
  const auto r = tester->run(spec, stop);
  ASSERT_TRUE(r.ok()) << r.error().message;
  EXPECT_GT(tester->a().port().counters().rx_packets, 0u);
  EXPECT_GT(tester->b()->port().counters().rx_packets, 0u);
  EXPECT_EQ(r->frames.intended, r->frames.offered);
  EXPECT_EQ(r->frames.lost, 0u);
  expect_balance(*r);
}

TEST(Tester, RefusesWhatItCannotSend) {
  auto tester = tester_over("refuses");
  const std::atomic<bool> stop{false};
  for (const auto& change : std::vector<std::pair<std::string, void (*)(TrialSpec&)>>{
           {"rate_pps", [](TrialSpec& t) { t.rate_pps = 0; }},
           {"duration_s", [](TrialSpec& t) { t.duration_s = 0; }},
           {"sizes", [](TrialSpec& t) { t.traffic.sizes = "63"; }},
           {"sizes", [](TrialSpec& t) { t.traffic.sizes = "9500"; }},
           {"sizes", [](TrialSpec& t) { t.traffic.protocol = "tcp"; }},
           {"protocol", [](TrialSpec& t) { t.traffic.protocol = "sctp"; }},
           {"flows", [](TrialSpec& t) { t.traffic.flows = 0; }},
           {"source_port", [](TrialSpec& t) { t.traffic.source_port.count = 70'000; }},
           {"attack_pps", [](TrialSpec& t) { t.traffic.attack = AttackKind::kSynFlood; }},
       }) {
    TrialSpec spec = trial(1000, 0.01);
    change.second(spec);
    const auto r = tester->run(spec, stop);
    ASSERT_FALSE(r.ok()) << change.first;
    EXPECT_EQ(r.error().code, base::Errc::kInvalidValue);
    EXPECT_NE(r.error().message.find(change.first), std::string::npos) << r.error().message;
  }
}

// A port whose reader is kept from it for a while, as by a busy machine.
class SleepyPort final : public io::Port {
 public:
  explicit SleepyPort(std::unique_ptr<Endpoint> inner) : inner_(std::move(inner)) {}
  void receive(unsigned queue, packet::Burst& burst, unsigned limit) noexcept override {
    if (!has_slept_) std::this_thread::sleep_for(std::chrono::milliseconds(400));
    has_slept_ = true;
    inner_->port().receive(queue, burst, limit);
  }
  unsigned transmit(unsigned queue, void* const* handles, unsigned count) noexcept override {
    return inner_->port().transmit(queue, handles, count);
  }
  void release(unsigned queue, void* const* handles, unsigned count) noexcept override {
    inner_->port().release(queue, handles, count);
  }
  void* allocate(unsigned queue, std::uint32_t size, base::Byte*& data) noexcept override {
    return inner_->port().allocate(queue, size, data);
  }
  void set_length(void* handle, std::uint32_t length) noexcept override {
    inner_->port().set_length(handle, length);
  }
  [[nodiscard]] io::BufferKind buffer_kind() const noexcept override {
    return inner_->port().buffer_kind();
  }
  [[nodiscard]] io::PortInfo info() const override { return inner_->port().info(); }
  [[nodiscard]] io::PortCounters counters() const override { return inner_->port().counters(); }

 private:
  std::unique_ptr<Endpoint> inner_;
  bool has_slept_ = false;
};

TEST(Tester, SilenceIsWhatTheReceiverListenedTo) {
  EndpointSpec spec;
  spec.kind = "ring";
  spec.interface = "sleepy";
  auto a = open_endpoint(spec), b = open_endpoint(spec);
  ASSERT_TRUE(a.ok() && b.ok());
  TesterSettings settings;
  settings.drain_s = 0.1;
  auto tester = Tester::create(
      std::move(*a), make_endpoint(std::make_unique<SleepyPort>(std::move(*b))), settings);
  ASSERT_TRUE(tester.ok());
  const std::atomic<bool> stop{false};
  const auto r = (*tester)->run(trial(2'000, 0.05), stop);
  ASSERT_TRUE(r.ok()) << r.error().message;
  EXPECT_EQ(r->frames.received, r->frames.offered);
  EXPECT_EQ(r->frames.lost, 0u);
}

TEST(Tester, WaitsForAPathThatComesUp) {
  auto tester = tester_over("path");
  const auto passes = wait_for_path(*tester, 10);
  ASSERT_TRUE(passes.ok());
  EXPECT_TRUE(*passes);
}

TEST(Tester, EndsWhenToldTo) {
  auto tester = tester_over("stop");
  const std::atomic<bool> stop{true};
  const auto r = tester->run(trial(1000, 60), stop);
  ASSERT_TRUE(r.ok());
  EXPECT_EQ(r->stamp, Stamp::kFailed);
  EXPECT_LT(r->frames.offered, 60'000u);
}

TEST(Endpoint, NamesUnknownKinds) {
  EndpointSpec spec;
  spec.kind = "carrier-pigeon";
  EXPECT_FALSE(open_endpoint(spec).ok());
  spec.kind = "memif";
  EXPECT_FALSE(open_endpoint(spec).ok());
  spec.kind = "af_packet";
  spec.interface = "lo";
  spec.net_namespace = "no-such-namespace";
  EXPECT_FALSE(open_endpoint(spec).ok());
}

}  // namespace
}  // namespace merlon::lab
