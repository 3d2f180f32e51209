// SPDX-License-Identifier: Apache-2.0
#include "merlon/policy/diff.h"

#include <gtest/gtest.h>

namespace merlon::policy {
namespace {

Rule rule(const char* id) {
  Rule r;
  r.id = id;
  return r;
}

TEST(Diff, EqualModelsHaveNone) {
  PolicyModel a;
  a.rules = {rule("x"), rule("y")};
  PolicyModel b = a;
  b.rules[0].where = {"f", 7, 1, 2};
  EXPECT_TRUE(diff(a, b).empty());
}

TEST(Diff, SpeaksOfObjectsAndFields) {
  PolicyModel a;
  a.rules = {rule("no-telnet"), rule("old")};
  a.addresses.push_back({"db", {*base::parse_address_range("10.0.0.1")}, {}, {}, {}, {}});
  PolicyModel b;
  b.rules = {rule("no-telnet"), rule("web-out")};
  b.rules[0].log = LogMode::kEnd;
  b.rules[0].sources = {{"lan", true, {}}, {"10.0.0.0/8", false, {}}};
  b.default_action = Action::kReject;
  EXPECT_EQ(to_text(diff(a, b)),
            "- address db\n"
            "- rule old\n"
            "~ rule no-telnet: source (none) → !lan, 10.0.0.0/8\n"
            "~ rule no-telnet: log none → end\n"
            "+ rule web-out\n"
            "~ default: action drop → reject\n");
}

TEST(Diff, ReportsTheFewestMovedRules) {
  PolicyModel a;
  a.rules = {rule("a"), rule("b"), rule("c"), rule("d")};
  PolicyModel b;
  b.rules = {rule("d"), rule("a"), rule("new"), rule("b"), rule("c")};
  EXPECT_EQ(to_text(diff(a, b)), "+ rule new\nmoved rule d (first)\n");
  b.rules = {rule("b"), rule("c"), rule("d"), rule("a")};
  EXPECT_EQ(to_text(diff(a, b)), "moved rule a (after d)\n");
}

TEST(Diff, ShowsServicesZonesAndSchedules) {
  PolicyModel a;
  ServiceTerm t;
  t.protocol = 6;
  t.destination_ports = {{80, 80}};
  a.services.push_back({"web", {t}, {}, {}});
  a.zones.push_back({"lan", {{"p0", false, {}}}, {}, {}, {}});
  a.schedules.push_back({"day", 60, {{0x1f, 480, 1080, {}, {}}}, {}});
  PolicyModel b = a;
  b.services[0].terms[0].destination_ports.push_back({443, 443});
  b.zones[0].vlans = {10};
  b.schedules[0].windows[0].weekdays = 3;
  EXPECT_EQ(to_text(diff(a, b)),
            "~ zone lan: vlans (none) → 10\n"
            "~ service web: terms tcp/80 → tcp/80,443\n"
            "~ schedule day: windows mon+tue+wed+thu+fri 08:00-18:00 → mon+tue 08:00-18:00\n");
}

}  // namespace
}  // namespace merlon::policy
