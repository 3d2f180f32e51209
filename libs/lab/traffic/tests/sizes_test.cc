// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_traffic/sizes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace merlon::lab {
namespace {

using ::testing::ElementsAre;

std::vector<std::uint32_t> sizes_of(std::string_view text, std::uint32_t mtu = 1500) {
  const auto s = parse_sizes(text, mtu);
  EXPECT_TRUE(s.ok()) << text << (s.ok() ? "" : s.error().message);
  std::vector<std::uint32_t> out;
  if (s.ok())
    for (const SizeElement& e : s->elements) out.push_back(e.size);
  return out;
}

TEST(Sizes, FixedAndInTurn) {
  EXPECT_THAT(sizes_of("64"), ElementsAre(64));
  EXPECT_THAT(sizes_of("64,1518,512"), ElementsAre(64, 1518, 512));
}

TEST(Sizes, GenomeKeepsItsOrder) {
  EXPECT_THAT(sizes_of("abcdefghij"),
              ElementsAre(64, 128, 256, 512, 1024, 1280, 1518, 2112, 9000, 16000));
  EXPECT_THAT(sizes_of("aaaaaaaddddg"),
              ElementsAre(64, 64, 64, 64, 64, 64, 64, 512, 512, 512, 512, 1518));
  EXPECT_THAT(sizes_of("az", 9000), ElementsAre(64, 9018));
  EXPECT_THAT(sizes_of("aAgB(A=300,B=72)"), ElementsAre(64, 300, 1518, 72));
}

TEST(Sizes, WeightsAreSpreadEvenly) {
  EXPECT_THAT(sizes_of("64:2,1518:1"), ElementsAre(64, 1518, 64));
  EXPECT_THAT(sizes_of("64:200,1518:100"), ElementsAre(64, 1518, 64));
  const auto s = parse_sizes("64:28,570:16,1518:4");
  ASSERT_TRUE(s.ok());
  ASSERT_EQ(s->elements.size(), 12u);
  EXPECT_NEAR(s->mean_size(), 353.83, 0.01);
  // Every stretch holds each size's share to within one frame.
  std::map<std::uint32_t, double> seen;
  for (std::size_t i = 0; i < 120; ++i) {
    ++seen[s->elements[i % 12].size];
    const auto n = static_cast<double>(i + 1);
    EXPECT_NEAR(seen[64], n * 7 / 12, 1);
    EXPECT_NEAR(seen[570], n * 4 / 12, 1);
    EXPECT_NEAR(seen[1518], n * 1 / 12, 1);
  }
}

TEST(Sizes, Mixes) {
  const auto imix = parse_sizes("imix");
  ASSERT_TRUE(imix.ok());
  EXPECT_EQ(imix->elements, parse_sizes(kImix)->elements);
  EXPECT_NEAR(imix->mean_size(), 353.83, 0.01);
  const auto emix = parse_sizes("emix");
  ASSERT_TRUE(emix.ok());
  ASSERT_EQ(emix->elements.size(), 100u);
  EXPECT_NEAR(emix->mean_size(), 850.76, 0.001);  // as docs/lab/mixes.md says
  std::map<std::uint32_t, std::uint32_t> by_port;
  for (const SizeElement& e : emix->elements) ++by_port[e.port];
  EXPECT_EQ(by_port[443], 65u);
  EXPECT_EQ(by_port[53], 4u);
}

TEST(Sizes, ErrorsNameThePlace) {
  for (const std::string text : {"",
                                 "63",
                                 "64,",
                                 "64,,65",
                                 "64:0",
                                 "64:1,",
                                 "64:-1",
                                 "16001",
                                 "64x",
                                 "99999999999999999999",
                                 "aaX",
                                 "k",
                                 "a(A=300",
                                 "A(A=300,)",
                                 "A(A=63)",
                                 "A(A=300)b",
                                 "A(A=300,A=301)",
                                 "(A=64)",
                                 "64:10000,65:9999",
                                 "A(a=64)",
                                 "IMIX",
                                 "a1"}) {
    const auto s = parse_sizes(text);
    EXPECT_FALSE(s.ok()) << text;
    if (s.ok()) continue;
    EXPECT_EQ(s.error().code, base::Errc::kInvalidValue);
    EXPECT_NE(s.error().message.find("sizes"), std::string::npos) << text;
    EXPECT_FALSE(s.error().hint.empty());
  }
  EXPECT_FALSE(parse_sizes(std::string(20'000, 'a')).ok());
  EXPECT_EQ(sizes_of(std::string(kMaxSequence, 'a')).size(), kMaxSequence);
}

}  // namespace
}  // namespace merlon::lab
