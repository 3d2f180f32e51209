// SPDX-License-Identifier: Apache-2.0
#include "merlon/client/session_filter.h"

#include <gtest/gtest.h>

namespace merlon::client {
namespace {

TEST(SessionFilter, ReadsEveryKey) {
  const auto f = parse_session_filter(
      "src=10.0.0.0/8 dst=192.0.2.1 addr=10.0.0.5 sport=1024 dport=443 port=443 vlan=10 proto=tcp "
      "id=7 older=10s idle=5m state=established rule=web-out zone=lan from=lan to=wan in=p0");
  ASSERT_TRUE(f) << f.error().to_string();
  EXPECT_EQ(f->source->to_string(), "10.0.0.0/8");
  EXPECT_EQ(f->destination->first.to_string(), "192.0.2.1");
  EXPECT_EQ(f->address->first.to_string(), "10.0.0.5");
  EXPECT_EQ(*f->source_port, 1024);
  EXPECT_EQ(*f->destination_port, 443);
  EXPECT_EQ(*f->port, 443);
  EXPECT_EQ(*f->vlan, 10);
  EXPECT_EQ(*f->protocol, 6);
  EXPECT_EQ(*f->id, 7U);
  EXPECT_EQ(*f->older_ms, 10'000U);
  EXPECT_EQ(*f->idle_ms, 300'000U);
  EXPECT_EQ(f->state, "established");
  EXPECT_EQ(f->rule, "web-out");
  EXPECT_EQ(f->zone, "lan");
  EXPECT_EQ(f->from_zone, "lan");
  EXPECT_EQ(f->to_zone, "wan");
  EXPECT_EQ(f->in_port, "p0");
  EXPECT_FALSE(f->is_empty());
  const auto again = parse_session_filter(to_string(*f));
  ASSERT_TRUE(again);
  EXPECT_EQ(to_string(*again), to_string(*f));
}

TEST(SessionFilter, EmptyMeansAll) {
  EXPECT_TRUE(parse_session_filter("")->is_empty());
  EXPECT_TRUE(parse_session_filter("   ")->is_empty());
}

struct Wrong {
  const char* text;
  const char* message;
  const char* hint;
  unsigned column;
};

TEST(SessionFilter, NamesWhatIsWrongAndWhere) {
  const Wrong wrong[] = {
      {"proto=tcp stat=x", "unknown key \"stat\" in a session filter", "did you mean \"state\"?",
       11},
      {"port=70000", "70000 is out of range (0 to 65535)", "", 6},
      {"vlan=4095", "4095 is out of range (0 to 4094)", "", 6},
      {"443", "\"443\" is not of the form key=value",
       "for example src=10.0.0.0/8 port=443 state=established", 1},
      {"rule=", "key \"rule\" has no value", "", 1},
      {"rule=a rule=b", "key \"rule\" is given twice", "", 8},
      {"older=10", "\"10\" is not a duration", "write a number and a unit: 250ms, 10s, 5m, 2h, 1d",
       7},
      {"proto=tpc", "\"tpc\" is not a protocol", "did you mean \"tcp\"?", 7},
  };
  for (const Wrong& w : wrong) {
    const auto f = parse_session_filter(w.text);
    ASSERT_FALSE(f) << w.text;
    EXPECT_EQ(f.error().message, w.message) << w.text;
    EXPECT_EQ(f.error().hint, w.hint) << w.text;
    EXPECT_EQ(f.error().where.column, w.column) << w.text;
  }
}

TEST(SessionFilter, HostBitsAreAnErrorAtTheValue) {
  const auto f = parse_session_filter("src=10.0.0.1/8");
  ASSERT_FALSE(f);
  EXPECT_EQ(f.error().where.column, 5U);
}

TEST(SessionFilter, IsBounded) {
  EXPECT_FALSE(parse_session_filter(std::string(5000, ' ')));
  EXPECT_FALSE(parse_session_filter("rule=" + std::string(200, 'a')));
}

}  // namespace
}  // namespace merlon::client
