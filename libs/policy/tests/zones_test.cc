// SPDX-License-Identifier: Apache-2.0
#include "merlon/policy/zones.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace merlon::policy {
namespace {

using testing::HasSubstr;

base::IpAddress ip(const char* text) { return *base::parse_address(text); }
base::AddressRange net(const char* text) { return *base::parse_address_range(text); }

TEST(Zones, PortsAndVlans) {
  PolicyModel m;
  m.ports = {"p0", "p1", "p2"};
  m.zones.push_back({"lan", {{"p0", false, {}}}, {}, {}, {}});
  m.zones.push_back({"dmz", {{"p0", false, {}}, {"p1", false, {}}}, {10, 20}, {}, {}});
  base::Errors errors;
  const ZoneTable t(m, errors);
  ASSERT_TRUE(errors.empty());
  EXPECT_EQ(t.name(t.zone(0, 0)), "lan");
  EXPECT_EQ(t.name(t.zone(0, 11)), "lan");
  EXPECT_EQ(t.name(t.zone(0, 20)), "dmz");
  EXPECT_EQ(t.name(t.zone(1, 10)), "dmz");
  EXPECT_EQ(t.zone(1, 0), base::kNoZone);
  EXPECT_EQ(t.zone(2, 0), base::kNoZone);
  EXPECT_EQ(t.zone(9, 0), base::kNoZone);
  EXPECT_FALSE(t.has_networks());
  EXPECT_EQ(t.find("dmz"), 1);
  EXPECT_EQ(t.find("none"), base::kNoZone);
}

TEST(Zones, NetworksTellTheSideOfATapPort) {
  PolicyModel m;
  m.ports = {"tap", "p1"};
  m.zones.push_back({"wan", {{"tap", false, {}}}, {}, {}, {}});
  m.zones.push_back(
      {"lan", {{"tap", false, {}}}, {}, {net("10.0.0.0/8"), net("2001:db8::/32")}, {}});
  m.zones.push_back({"dmz", {{"tap", false, {}}}, {}, {net("10.1.0.0/16")}, {}});
  base::Errors errors;
  const ZoneTable t(m, errors);
  ASSERT_TRUE(errors.empty());
  EXPECT_EQ(t.name(t.zone(0, 0, ip("10.0.0.1"))), "lan");
  EXPECT_EQ(t.name(t.zone(0, 0, ip("10.1.2.3"))), "dmz");
  EXPECT_EQ(t.name(t.zone(0, 0, ip("10.2.0.0"))), "lan");
  EXPECT_EQ(t.name(t.zone(0, 0, ip("192.0.2.1"))), "wan");
  EXPECT_EQ(t.name(t.zone(0, 0, ip("2001:db8::1"))), "lan");
  EXPECT_EQ(t.name(t.zone(0, 0, ip("2001:db9::1"))), "wan");
  // lan's networks hold on its port only.
  EXPECT_EQ(t.zone(1, 0, ip("10.0.0.1")), base::kNoZone);
}

TEST(Zones, NetworksWithoutPortsHoldEverywhere) {
  PolicyModel m;
  m.ports = {"p0"};
  m.zones.push_back({"lan", {}, {}, {net("10.0.0.0/8")}, {}});
  m.zones.push_back({"rest", {}, {}, {net("0.0.0.0/0"), net("::/0")}, {}});
  base::Errors errors;
  const ZoneTable t(m, errors);
  EXPECT_EQ(t.name(t.zone(0, 5, ip("10.255.255.255"))), "lan");
  EXPECT_EQ(t.name(t.zone(7, 5, ip("10.0.0.0"))), "lan");
  EXPECT_EQ(t.name(t.zone(0, 5, ip("11.0.0.0"))), "rest");
  EXPECT_EQ(t.name(t.zone(0, 5, ip("2001:db8::1"))), "rest");
}

TEST(Zones, LabelSaysWhatDecidesWhereThePortAloneDoesNot) {
  PolicyModel m;
  m.ports = {"plain", "trunk", "mirror", "idle"};
  m.zones.push_back({"lan", {{"plain", false, {}}}, {}, {}, {}});
  m.zones.push_back({"dmz", {{"trunk", false, {}}}, {7}, {}, {}});
  m.zones.push_back({"in", {{"mirror", false, {}}}, {}, {net("10.0.0.0/8")}, {}});
  base::Errors errors;
  const ZoneTable t(m, errors);
  ASSERT_TRUE(errors.empty());
  EXPECT_EQ(t.label(0), "lan");
  EXPECT_EQ(t.label(1), "by VLAN");
  EXPECT_EQ(t.label(2), "by network");
  EXPECT_EQ(t.label(3), "");
  EXPECT_EQ(t.label(9), "");
  m.zones.push_back({"everywhere", {}, {}, {net("192.0.2.0/24")}, {}});
  EXPECT_EQ(ZoneTable(m, errors).label(3), "by network");
}

TEST(Zones, TwoZonesCantTakeOnePlace) {
  PolicyModel m;
  m.ports = {"p0"};
  m.zones.push_back({"a", {{"p0", false, {}}}, {}, {}, {}});
  m.zones.push_back({"b", {{"p0", false, {}}}, {}, {}, {"f", 9, 1, 2}});
  m.zones.push_back({"a", {}, {5000}, {}, {"f", 11, 1, 2}});
  base::Errors errors;
  const ZoneTable t(m, errors);
  ASSERT_EQ(errors.size(), 3U);
  EXPECT_THAT(errors[0].message, HasSubstr("zone \"a\" is defined twice"));
  EXPECT_THAT(errors[1].message, HasSubstr("VLAN 5000"));
  EXPECT_EQ(errors[2].code, base::Errc::kConflict);
  EXPECT_EQ(errors[2].where.line, 9U);
}

}  // namespace
}  // namespace merlon::policy
