// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_device/loss.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "layout.h"
#include "nft_rules.h"
#include "rules.h"

namespace merlon::lab {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

LayerCounter counter(const std::string& layer, const std::string& name, std::int64_t value,
                     bool is_loss = false) {
  LayerCounter c;
  c.layer = layer;
  c.counter = name;
  c.delta = value;
  c.is_loss = is_loss;
  return c;
}

// A device that got `in` frames, sent `out` of them, and whose cables lost `cable`.
std::vector<LayerCounter> picture(std::int64_t in, std::int64_t out, std::int64_t cable) {
  return {
      counter("generator g0", "tx_packets", in), counter("generator g0", "tx_dropped", cable, true),
      counter("device s0", "rx_packets", in),    counter("device s0", "tx_dropped", 0, true),
      counter("device s1", "tx_packets", out),   counter("sink k0", "rx_packets", out)};
}

std::int64_t delta_of(const LossReport& report, const std::string& layer, const std::string& name) {
  for (const LayerCounter& c : report.deltas) {
    if (c.layer == layer && c.counter == name) return c.delta;
  }
  return 0;
}

TEST(LocateLoss, NothingLost) {
  const LossReport report = locate_loss(picture(10, 10, 0), picture(110, 110, 0), 0);
  EXPECT_EQ(report.sentence.en, "No frame was lost.");
  EXPECT_EQ(report.sentence.ru, "Потерь нет.");
  EXPECT_EQ(report.unaccounted, 0U);
  for (const LayerCounter& c : report.deltas) EXPECT_FALSE(c.is_loss);
}

TEST(LocateLoss, NamesThePlacesLargestFirstAndWhatNobodyCounts) {
  auto after = picture(1000, 700, 20);
  after.push_back(counter("ovs receive queues", "full", 250, true));
  const LossReport report = locate_loss(picture(0, 0, 0), after, 330);
  EXPECT_EQ(delta_of(report, "device", "lost_uncounted"), 50);
  EXPECT_EQ(report.unaccounted, 10U);
  EXPECT_EQ(report.sentence.en,
            "Of 330 lost frames 250 at ovs receive queues (full), 50 inside the device, not "
            "counted by it, 20 at "
            "generator g0 (tx_dropped), 10 unaccounted for by any layer.");
  EXPECT_THAT(report.sentence.ru,
              HasSubstr("Потеряно кадров: 330; из них 250 — «ovs receive queues» (full)"));
  EXPECT_THAT(report.sentence.ru, HasSubstr("10 — не учтено ни одним уровнем"));
}

TEST(LocateLoss, DropsByRuleAreNoLoss) {
  auto after = picture(1000, 900, 0);
  after.push_back(counter("nftables oracle", std::string(kDroppedByRule), 100));
  const LossReport report = locate_loss(picture(0, 0, 0), after, 0);
  EXPECT_EQ(delta_of(report, "device", "lost_uncounted"), 0);
  EXPECT_EQ(report.sentence.en, "No frame was lost.");
}

TEST(LocateLoss, FullQueueBehindTheDeviceIsNotTheDevice) {
  auto after = picture(1000, 900, 0);
  after.push_back(counter("device s1", "tx_dropped", 100, true));
  const LossReport report = locate_loss(picture(0, 0, 0), after, 100);
  EXPECT_EQ(delta_of(report, "device", "lost_uncounted"), 0);
  EXPECT_EQ(report.sentence.en, "Of 100 lost frames 100 at device s1 (tx_dropped).");
}

TEST(LocateLoss, CountersThatBeganAnewCountFromZero) {
  const LossReport report = locate_loss({counter("merlon port p0", "received", 5000)},
                                        {counter("merlon port p0", "received", 70)}, 0);
  EXPECT_EQ(delta_of(report, "merlon port p0", "received"), 70);
}

TEST(LocateLoss, NeverExplainsMoreThanWasLost) {
  auto after = picture(1000, 1000, 5000);
  const LossReport report = locate_loss(picture(0, 0, 0), after, 1'234);
  EXPECT_EQ(report.sentence.en, "Of 1,234 lost frames 1,234 at generator g0 (tx_dropped).");
}

TEST(Layout, PathsStandWhereTheStudyPutsThem) {
  for (const std::string& name : layout_names()) EXPECT_EQ(find_layout(name)->name, name);
  EXPECT_EQ(find_layout("path2")->device_space, "guest");
  EXPECT_EQ(find_layout("path5")->generator_space, "wire");
  EXPECT_EQ(find_layout("path5")->sink_space, "snk");
  EXPECT_EQ(find_layout("path8")->device_space, "sut");
  EXPECT_EQ(find_layout("path10")->sink_space, "wire");
  EXPECT_FALSE(find_layout("path11")->has_device);
  EXPECT_TRUE(find_layout("chain3")->has_outer_bridges);
  EXPECT_FALSE(find_layout("path12").has_value());
}

TEST(BlockRules, AreTheSameEachTimeDifferentAmongThemselvesAndMatchNobody) {
  RuleSet set;
  set.count = 4000;
  const auto rules = block_rules(set);
  EXPECT_EQ(rules, block_rules(set));
  set.seed = 2;
  EXPECT_NE(rules, block_rules(set));
  std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (const BlockRule& r : rules) {
    pairs.emplace(r.source, r.destination);
    EXPECT_EQ(r.source >> 20, 0xac1U);
    EXPECT_EQ(r.destination >> 20, 0xac1U);
  }
  EXPECT_EQ(pairs.size(), 4000U);
  EXPECT_EQ(ip_text(0xac10ff01), "172.16.255.1");
}

TEST(NftRules, LinearAndSetHoldTheSameRules) {
  RuleSet set;
  set.count = 2;
  set.has_drop_rule = true;
  const BlockRule first = block_rules(set)[0];
  const std::string linear = nft_text(nft_style("linear"), set);
  EXPECT_THAT(linear, HasSubstr("table bridge lab"));
  EXPECT_THAT(linear, HasSubstr("ip saddr " + ip_text(first.source) + " ip daddr " +
                                ip_text(first.destination)));
  EXPECT_LT(linear.find("dport 6666"), linear.find("ip saddr"));
  EXPECT_LT(linear.find("ip saddr"), linear.find("allowed accept"));
  const std::string as_set = nft_text(nft_style("routed-set"), set);
  EXPECT_THAT(as_set, HasSubstr("table inet lab"));
  EXPECT_THAT(as_set, HasSubstr(ip_text(first.source) + " . " + ip_text(first.destination)));
  EXPECT_THAT(as_set, HasSubstr("@blocks"));
}

TEST(BlockRules, ShareOfIpv6IsSpreadEvenly) {
  RuleSet set;
  set.count = 100;
  set.ipv6_share = 0.3;
  const auto rules = block_rules(set);
  EXPECT_EQ(std::count_if(rules.begin(), rules.end(), [](const auto& r) { return r.is_ipv6; }), 30);
  EXPECT_FALSE(rules[0].is_ipv6);
  BlockRule rule;
  rule.source = 0xac10ff01;
  EXPECT_EQ(rule.source_text(), "172.16.255.1");
  rule.is_ipv6 = true;
  EXPECT_EQ(rule.source_text(), "2001:2:0:ac10::ac10:ff01");
}

TEST(NftRules, EachFamilyHasItsOwnRulesAndSet) {
  RuleSet set;
  set.count = 4;
  set.ipv6_share = 0.5;
  const std::string linear = nft_text(nft_style("linear"), set);
  EXPECT_THAT(linear, HasSubstr("    ip saddr 172."));
  EXPECT_THAT(linear, HasSubstr("    ip6 saddr 2001:2:0:ac10::"));
  const std::string both = nft_text(nft_style("set"), set);
  EXPECT_THAT(both, HasSubstr("@blocks counter"));
  EXPECT_THAT(both, HasSubstr("@blocks6 counter"));
  set.ipv6_share = 1;
  const std::string six = nft_text(nft_style("set"), set);
  EXPECT_EQ(six.find("@blocks counter"), std::string::npos);
  EXPECT_EQ(six.find("ipv4_addr"), std::string::npos);
}

TEST(NftRules, ReadsCounters) {
  const auto counters = parse_nft_counters(
      "table bridge lab {\n\tcounter oracle {\n\t\tpackets 12 bytes 768\n\t}\n\tcounter allowed "
      "{\n\t\tpackets 3 "
      "bytes 5\n\t}\n}\n");
  ASSERT_EQ(counters.size(), 2U);
  EXPECT_EQ(counters[0], (std::pair<std::string, std::uint64_t>("oracle", 12)));
  EXPECT_THAT(parse_nft_counters("packets 5\n"), IsEmpty());
}

}  // namespace
}  // namespace merlon::lab
