// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "device_fixture.h"
#include "merlon/lab_device/loss.h"
#include "ovs_text.h"

namespace merlon::lab {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(DeviceTest, OvsNormalForwards) {
  START_OR_SKIP(device_spec("ovs", "normal", "path8"));
  EXPECT_TRUE(passes({}));
  EXPECT_EQ(device_->processes().size(), 2U);
  EXPECT_THAT(device_->configuration(), HasSubstr("br0"));
}

TEST_F(DeviceTest, OvsKeepsItsRules) {
  for (const char* mode : {"openflow", "conntrack"}) {
    SCOPED_TRACE(mode);
    START_OR_SKIP(device_spec("ovs", mode));
    check_rules(1000);
    TearDown();
  }
}

TEST_F(DeviceTest, OvsIsKilledAndStartedAgainWithItsRules) {
  START_OR_SKIP(device_spec("ovs", "openflow"));
  RuleSet rules;
  rules.has_drop_rule = true;
  ASSERT_TRUE(device_->load_rules(rules).ok());
  ASSERT_TRUE(device_->kill().ok());
  EXPECT_FALSE(device_->is_alive());
  EXPECT_FALSE(passes({}, 50));
  const auto again = device_->restart();
  ASSERT_TRUE(again.ok()) << again.error().to_string();
  EXPECT_TRUE(passes({}));
  EXPECT_FALSE(passes(to_port(kDropPort), 100));
}

TEST_F(DeviceTest, OvsCountsWhatItReceives) {
  START_OR_SKIP(device_spec("ovs"));
  const auto before = device_->counters();
  EXPECT_TRUE(passes({}));
  bool has_received = false;
  for (const LayerCounter& c : locate_loss(before, device_->counters(), 0).deltas) {
    has_received |= c.layer == "ovs datapath" && c.counter == "packets received" && c.delta > 0;
  }
  EXPECT_TRUE(has_received);
}

TEST_F(DeviceTest, OvsKernelOrItsReason) {
  START_OR_SKIP(device_spec("ovs-kernel"));
  EXPECT_TRUE(passes({}));
}

TEST_F(DeviceTest, OvsDpdkKeepsItsRules) {
  for (const char* port : {"af_packet", "afxdp"}) {
    SCOPED_TRACE(port);
    DeviceSpec spec = device_spec("ovs-dpdk", "openflow");
    spec.options["port"] = port;
    START_OR_SKIP(spec);
    check_rules(10);
    TearDown();
  }
}

TEST(OvsText, FlowsOfEachMode) {
  RuleSet rules;
  rules.count = 3;
  rules.has_drop_rule = true;
  const std::string flows = ovs_flows("openflow", rules, "NORMAL");
  std::size_t lines = 0;
  for (const char c : flows) lines += c == '\n' ? 1 : 0;
  EXPECT_EQ(lines, 4U + 3U + 1U);  // the oracle's of both protocols and families, the allow
  EXPECT_THAT(flows, HasSubstr("udp,tp_dst=6666,actions=drop"));
  EXPECT_THAT(flows, HasSubstr("tcp6,tp_dst=6666,actions=drop"));
  EXPECT_THAT(flows, Not(HasSubstr("ipv6_src")));
  const std::string tracked = ovs_flows("conntrack", rules, "NORMAL");
  EXPECT_THAT(tracked, HasSubstr("priority=1,ip,actions=ct(commit),NORMAL"));
  EXPECT_THAT(tracked, HasSubstr("priority=1,ipv6,actions=ct(commit),NORMAL"));
  rules.ipv6_share = 1;
  EXPECT_THAT(ovs_flows("openflow", rules, "NORMAL"),
              AllOf(HasSubstr("udp6,ipv6_src=2001:2:0:ac10::"), Not(HasSubstr("nw_src"))));
}

TEST(OvsText, ReadsPmdStatistics) {
  const NamedCounts counts = parse_pmd_stats(
      "main thread:\n  packets received: 12\n  emc hits: 5\n  avg. packets per output batch: 1.00\n"
      "  miss with success upcall: 2\npmd thread numa_id 0 core_id 1:\n  packets received: 8\n"
      "  busy cycles: 1000 (0.10%)\n");
  EXPECT_EQ(counts.at("packets received"), 20U);
  EXPECT_EQ(counts.at("miss with success upcall"), 2U);
  EXPECT_EQ(counts.at("busy cycles"), 1000U);
  EXPECT_EQ(counts.count("avg. packets per output batch"), 0U);
}

TEST(OvsText, ReadsCoverageAndPorts) {
  const NamedCounts coverage = parse_coverage(
      "Event coverage, avg rate over last: 5 seconds, last minute, last hour,  hash=6f1c:\n"
      "drop_action_of_pipeline    0.0/sec     0.150/sec        0.0025/sec   total: 9\n34 events "
      "never hit\n");
  EXPECT_EQ(coverage.at("drop_action_of_pipeline"), 9U);
  const NamedCounts ports = parse_port_drops(
      "OFPST_PORT reply (xid=0x2): 2 ports\n"
      "  port LOCAL: rx pkts=0, bytes=0, drop=1, errs=0, frame=0, over=0, crc=0\n"
      "           tx pkts=0, bytes=0, drop=0, errs=0, coll=0\n"
      "  port  \"d0\": rx pkts=5, bytes=300, drop=2, errs=3, frame=?, over=?, crc=?\n"
      "           tx pkts=4, bytes=240, drop=7, errs=?, coll=?\n");
  EXPECT_EQ(ports.at("LOCAL rx drop"), 1U);
  EXPECT_EQ(ports.at("d0 rx errs"), 3U);
  EXPECT_EQ(ports.at("d0 tx drop"), 7U);
  EXPECT_EQ(ports.count("d0 tx errs"), 0U);
}

}  // namespace
}  // namespace merlon::lab
