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

  std::optional<TrialResult> run_trial(double share_to_drop = 0, double ipv6_share = 0) {
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
    spec.traffic.sizes = "100,1518";
    spec.traffic.drop_share = share_to_drop;
    spec.traffic.ipv6_share = ipv6_share;
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

// What joins tester and device, and how the tester holds it.
struct Joint {
  const char *name, *driver, *mode, *topology, *tester_port, *kind;
};

class JointTest : public TrialTest, public ::testing::WithParamInterface<Joint> {};

TEST_P(JointTest, CarriesFramesWholeAndInOrder) {
  const Joint& joint = GetParam();
  DeviceSpec spec = device_spec(joint.driver, joint.mode, joint.topology);
  if (joint.tester_port != nullptr) spec.options["tester_port"] = joint.tester_port;
  START_OR_SKIP(spec);
  EXPECT_EQ(device_->topology().generator().kind, joint.kind);
  const auto result = run_trial();
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->frames.corrupted, 0U);
  EXPECT_EQ(result->frames.reordered, 0U);
  EXPECT_EQ(result->frames.duplicated, 0U);
}

INSTANTIATE_TEST_SUITE_P(
    All, JointTest,
    ::testing::Values(Joint{"native", "bridge", "", "path7", nullptr, "af_packet"},
                      Joint{"dpdk_af_packet", "bridge", "", "path7", "af_packet", "dpdk"},
                      Joint{"af_xdp", "bridge", "", "path7", "af_xdp", "af_xdp"},
                      Joint{"tap_bridge", "bridge", "", "tap", nullptr, "tap"},
                      Joint{"tap_nftables", "nftables", "set", "tap", nullptr, "tap"},
                      Joint{"tap_ovs", "ovs", "normal", "tap", nullptr, "tap"},
                      Joint{"tap_merlon", "merlon", "", "tap", nullptr, "tap"},
                      Joint{"memif_testpmd", "testpmd", "", "memif", nullptr, "memif"},
                      Joint{"memif_merlon", "merlon", "", "memif", nullptr, "memif"},
                      Joint{"vhost_testpmd", "testpmd", "", "vhost", nullptr, "virtio"},
                      Joint{"vhost_merlon", "merlon", "", "vhost", nullptr, "virtio"},
                      Joint{"vhost_ovs", "ovs-dpdk", "normal", "vhost", nullptr, "virtio"},
                      Joint{"virtio_testpmd", "testpmd", "", "virtio", nullptr, "vhost"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST_F(TrialTest, UnknownTesterPortIsRefused) {
  DeviceSpec spec = device_spec("bridge");
  spec.options["tester_port"] = "xdp";
  const auto made = make_device(spec);
  ASSERT_FALSE(made.ok());
  EXPECT_THAT(made.error().hint, ::testing::HasSubstr("af_xdp"));
}

struct Ruled {
  const char *name, *driver, *mode;
};

class FamilyTest : public TrialTest, public ::testing::WithParamInterface<Ruled> {};

// The oracle's rule drops its port in both families, the others match neither.
TEST_P(FamilyTest, RulesJudgeBothFamilies) {
  START_OR_SKIP(device_spec(GetParam().driver, GetParam().mode));
  for (const double share : {1.0, 0.5}) {
    RuleSet rules;
    rules.count = 20;
    rules.has_drop_rule = true;
    rules.ipv6_share = share;
    const auto loaded = device_->load_rules(rules);
    ASSERT_TRUE(loaded.ok()) << loaded.error().to_string();
    const auto result = run_trial(0.2, share);
    ASSERT_TRUE(result.has_value());
    EXPECT_GT(result->frames.expected_drops, 0U);
    EXPECT_EQ(result->frames.false_accepts, 0U);
    EXPECT_EQ(result->frames.false_denies, 0U);
    EXPECT_EQ(result->frames.corrupted, 0U);
    tester_.reset();
  }
}

INSTANTIATE_TEST_SUITE_P(All, FamilyTest,
                         ::testing::Values(Ruled{"nftables_linear", "nftables", "linear"},
                                           Ruled{"nftables_set", "nftables", "set"},
                                           Ruled{"nftables_routed", "nftables", "routed"},
                                           Ruled{"nftables_routed_ct", "nftables", "routed-ct"},
                                           Ruled{"ovs_openflow", "ovs", "openflow"},
                                           Ruled{"ovs_conntrack", "ovs", "conntrack"},
                                           Ruled{"merlon_wire", "merlon", "wire"}),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace merlon::lab
