// SPDX-License-Identifier: Apache-2.0
// Trials of the real tester through devices: that topologies fit its endpoints, shared memory above
// all, and that lost frames are found. Rates are low and nothing is timed.
#include <gmock/gmock.h>

#include "device_fixture.h"
#include "merlon/lab_device/loss.h"
#include "merlon/lab_traffic/tester.h"

namespace merlon::lab {
namespace {

class TrialTest : public DeviceTest {
 protected:
  void TearDown() override {
    tester_.reset();
    DeviceTest::TearDown();
  }

  std::optional<TrialResult> run_trial(double share_to_drop = 0) {
    auto a = open_endpoint(device_->topology().generator());
    auto b = open_endpoint(device_->topology().sink());
    EXPECT_TRUE(a.ok() && b.ok()) << (a.ok() ? b.ok() ? "" : b.error().to_string()
                                             : a.error().to_string());
    if (!a.ok() || !b.ok()) return std::nullopt;
    auto made = Tester::create(std::move(*a), std::move(*b), {});
    EXPECT_TRUE(made.ok()) << made.error().to_string();
    if (!made.ok()) return std::nullopt;
    tester_ = std::move(*made);
    TrialSpec spec;
    spec.id = "t1";
    spec.rate_pps = 2'000;
    spec.duration_s = 0.25;
    spec.traffic.flows = 16;
    spec.traffic.drop_share = share_to_drop;
    // A cable in memory is up a moment after both ends are there.
    for (int i = 0; i < 20; ++i) {
      const std::atomic<bool> stop{false};
      auto result = tester_->run(spec, stop);
      EXPECT_TRUE(result.ok()) << result.error().to_string();
      if (!result.ok()) return std::nullopt;
      if (result->frames.received > 0) return std::move(*result);
    }
    ADD_FAILURE() << "no frame came through in 20 trials";
    return std::nullopt;
  }

  std::unique_ptr<Tester> tester_;
};

TEST_F(TrialTest, BridgeCarriesTheTestersFrames) {
  START_OR_SKIP(device_spec("bridge"));
  const auto result = run_trial();
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->frames.corrupted, 0U);
}

TEST_F(TrialTest, RoutedFramesStayRecognisable) {
  START_OR_SKIP(device_spec("nftables", "routed"));
  const auto result = run_trial();
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->frames.corrupted, 0U);
}

TEST_F(TrialTest, MerlonDropsWhatTheOracleExpects) {
  START_OR_SKIP(device_spec("merlon"));
  RuleSet rules;
  rules.count = 100;
  rules.has_drop_rule = true;
  ASSERT_TRUE(device_->load_rules(rules).ok());
  const auto before = device_->counters();
  const auto result = run_trial(0.2);
  ASSERT_TRUE(result.has_value());
  EXPECT_GT(result->frames.expected_drops, 0U);
  EXPECT_EQ(result->frames.false_accepts, 0U);
  const LossReport report = locate_loss(before, device_->counters(), result->frames.lost);
  std::int64_t by_rule = 0;
  for (const LayerCounter& c : report.deltas) {
    if (c.counter == kDroppedByRule) by_rule += c.delta;
  }
  EXPECT_GE(by_rule, static_cast<std::int64_t>(result->frames.expected_drops));
}

TEST_F(TrialTest, SharedMemoryReachesEveryDeviceThatHasIt) {
  for (const char* driver : {"testpmd", "merlon"}) {
    SCOPED_TRACE(driver);
    START_OR_SKIP(device_spec(driver, {}, "memif"));
    EXPECT_TRUE(run_trial().has_value());
    TearDown();
  }
}

}  // namespace
}  // namespace merlon::lab
