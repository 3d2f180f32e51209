// SPDX-License-Identifier: Apache-2.0
#include "merlon/packet/checksum.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string_view>
#include <vector>

#include "merlon/packet/tcp_options.h"

namespace merlon::packet {
namespace {

using base::Byte;

TEST(Checksum, KnownVectors) {
  const Byte rfc1071[] = {0x00, 0x01, 0xf2, 0x03,
                          0xf4, 0xf5, 0xf6, 0xf7};  // RFC 1071 section 3: sum ddf2
  EXPECT_EQ(internet_checksum(rfc1071), 0x220d);
  const Byte header[] = {0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11,
                         0x00, 0x00, 0xc0, 0xa8, 0x00, 0x01, 0xc0, 0xa8, 0x00, 0xc7};
  EXPECT_EQ(internet_checksum(header), 0xb861);
  EXPECT_EQ(internet_checksum({}), 0xffff);
  const Byte odd[] = {0xff};
  EXPECT_EQ(internet_checksum(odd), 0x00ff);
}

TEST(Checksum, Crc32cKnownVector) {
  const std::string_view text = "123456789";
  EXPECT_EQ(crc32c({reinterpret_cast<const Byte*>(text.data()), text.size()}), 0xe3069283U);
}

TEST(Checksum, AgreesWithWordByWord) {
  EXPECT_TRUE(rc::check("sum over any bytes", [](const std::vector<Byte>& bytes) {
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      sum += i % 2 == 0 ? std::uint32_t{bytes[i]} << 8 : bytes[i];
      sum = (sum & 0xffffU) + (sum >> 16);
    }
    RC_ASSERT(internet_checksum(bytes) == static_cast<std::uint16_t>(~sum));
  }));
}

TEST(Checksum, IncrementalUpdate) {
  EXPECT_EQ(checksum_update16(0xdd2f, 0x5555, 0x3285), 0x0000);  // RFC 1624 section 4
  EXPECT_TRUE(rc::check("equals a new sum", [](std::vector<Byte> bytes, std::uint32_t after) {
    bytes.resize(bytes.size() / 4 * 4 + 8);
    bytes[7] |= 1;  // an all-zero message has two representations of its sum
    const std::uint16_t old = internet_checksum(bytes);
    const auto before = base::load_be<std::uint32_t>(bytes.data());
    base::store_be(bytes.data(), after);
    RC_ASSERT(checksum_update32(old, before, after) == internet_checksum(bytes));
  }));
}

TEST(TcpOptions, ReadsWhatASynCarries) {
  const Byte bytes[] = {2, 4, 0x05, 0xb4, 4, 2, 8, 10, 0, 0, 0, 7, 0, 0, 0, 9, 1, 3, 3, 9};
  const TcpSynOptions o = read_tcp_options(bytes);
  EXPECT_EQ(o.mss, 1460);
  EXPECT_EQ(o.window_scale, 9);
  EXPECT_TRUE(o.sack_permitted);
  EXPECT_TRUE(o.has_timestamps);
  EXPECT_EQ(o.timestamp, 7U);
  EXPECT_EQ(o.timestamp_echo, 9U);
  EXPECT_FALSE(o.is_malformed);
}

TEST(TcpOptions, StopsAtTheEndAndAtNonsense) {
  const Byte ended[] = {1, 0, 2, 4, 1, 1};
  EXPECT_EQ(read_tcp_options(ended).mss, 0);
  EXPECT_FALSE(read_tcp_options(ended).is_malformed);
  const Byte lying[] = {3, 3, 20, 2, 9, 1, 1};
  EXPECT_EQ(read_tcp_options(lying).window_scale, 14);
  EXPECT_TRUE(read_tcp_options(lying).is_malformed);
  const Byte zero[] = {5, 0, 2, 4, 1, 1};
  EXPECT_TRUE(read_tcp_options(zero).is_malformed);
  const Byte wrong_size[] = {2, 3, 9, 3, 4, 1, 1};
  EXPECT_EQ(read_tcp_options(wrong_size).mss, 0);
  EXPECT_EQ(read_tcp_options(wrong_size).window_scale, TcpSynOptions::kNoScale);
  EXPECT_FALSE(read_tcp_options(wrong_size).is_malformed);
}

}  // namespace
}  // namespace merlon::packet
