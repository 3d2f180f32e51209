// SPDX-License-Identifier: Apache-2.0
#include "merlon/client/words.h"

#include <gtest/gtest.h>

namespace merlon::client {
namespace {

const std::vector<std::string> kNames = {"sessions", "ports", "policy", "drops"};

TEST(Words, ClosestFindsTyposSwapsAndBeginnings) {
  EXPECT_EQ(closest("sesions", kNames), "sessions");
  EXPECT_EQ(closest("prots", kNames), "ports");
  EXPECT_EQ(closest("pol", kNames), "policy");
  EXPECT_EQ(closest("xyz", kNames), "");
  EXPECT_EQ(did_you_mean("drop", kNames), "did you mean \"drops\"?");
  EXPECT_EQ(did_you_mean("zzzzzz", kNames), "");
}

TEST(Words, ClosestIsBoundedForLongWords) {
  EXPECT_EQ(closest(std::string(100'000, 'q'), kNames), "");
}

TEST(Words, Durations) {
  EXPECT_EQ(*parse_duration_ms("250ms"), 250U);
  EXPECT_EQ(*parse_duration_ms("10s"), 10'000U);
  EXPECT_EQ(*parse_duration_ms("2h4m"), 7'440'000U);
  EXPECT_EQ(*parse_duration_ms("1d"), 86'400'000U);
  for (const char* bad : {"", "10", "s", "10x", "-1s", "4m2h", "1s1s", "1 s", "99999999999999999s"})
    EXPECT_FALSE(parse_duration_ms(bad)) << bad;
  EXPECT_EQ(parse_duration_ms("4000d").error().message, "a duration is at most 10 years");
}

TEST(Words, NumbersAreStrict) {
  EXPECT_EQ(*parse_number("0", 10), 0U);
  EXPECT_EQ(*parse_number("65535", 65535), 65535U);
  EXPECT_EQ(parse_number("70000", 65535).error().message, "70000 is out of range (0 to 65535)");
  EXPECT_EQ(parse_number("010", 100).error().message, "\"010\" is not a number");
  EXPECT_FALSE(parse_number("+1", 10));
  EXPECT_FALSE(parse_number("1 ", 10));
  EXPECT_FALSE(parse_number("99999999999999999999999", ~0ULL));
}

TEST(Words, PercentEncodingRoundTrips) {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  EXPECT_EQ(*percent_decode(percent_encode(all)), all);
  EXPECT_EQ(percent_encode("a=1 b"), "a%3D1%20b");
  EXPECT_EQ(*percent_decode("a+b"), "a b");
  EXPECT_FALSE(percent_decode("%4"));
  EXPECT_FALSE(percent_decode("%zz"));
}

TEST(Words, Queries) {
  const auto words = parse_query("filter=src%3D10.0.0.0%2F8&limit=5&&flag");
  ASSERT_TRUE(words);
  EXPECT_EQ(words->size(), 3U);
  EXPECT_EQ(words->at("filter"), "src=10.0.0.0/8");
  EXPECT_EQ(words->at("flag"), "");
  EXPECT_EQ(parse_query("a=1&a=2").error().code, base::Errc::kDuplicate);
  std::string many;
  for (int i = 0; i < 40; ++i) many += "k" + std::to_string(i) + "=1&";
  EXPECT_FALSE(parse_query(many));
}

TEST(Words, PrintableDisarmsTerminals) {
  EXPECT_EQ(printable("a\x1b[2Jb\n"), "a\\x1b[2Jb\\x0a");
  EXPECT_EQ(printable("gr\xc3\xbc\xc3\x9f"), "gr\xc3\xbc\xc3\x9f");
  EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b");
}

TEST(Words, Protocols) {
  EXPECT_EQ(*parse_protocol("tcp"), 6);
  EXPECT_EQ(*parse_protocol("255"), 255);
  EXPECT_EQ(protocol_name(58), "icmpv6");
  EXPECT_EQ(protocol_name(200), "200");
  EXPECT_EQ(parse_protocol("tpc").error().hint, "did you mean \"tcp\"?");
  EXPECT_FALSE(parse_protocol("256"));
}

}  // namespace
}  // namespace merlon::client
