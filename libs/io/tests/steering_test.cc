// SPDX-License-Identifier: Apache-2.0
#include "merlon/io/steering.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace merlon::io {
namespace {

// The key of the RSS verification suite.
constexpr base::Byte kSuiteKey[40] = {0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67,
                                      0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb,
                                      0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30,
                                      0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa};

std::vector<base::Byte> tuple(const std::string& source, const std::string& destination,
                              std::uint16_t source_port, std::uint16_t destination_port,
                              bool ports) {
  std::vector<base::Byte> in;
  for (const auto& text : {source, destination}) {
    const auto a = base::parse_address(text);
    EXPECT_TRUE(a.ok());
    in.insert(in.end(), (*a).bytes.begin() + ((*a).is_v4() ? 12 : 0), (*a).bytes.end());
  }
  if (ports) {
    for (const unsigned p : {source_port + 0u, destination_port + 0u}) {
      in.push_back(static_cast<base::Byte>(p >> 8));
      in.push_back(static_cast<base::Byte>(p));
    }
  }
  return in;
}

struct Vector {
  const char *source, *destination;
  std::uint16_t source_port, destination_port;
  std::uint32_t addresses_only, with_ports;
};

TEST(Toeplitz, VerificationSuite) {
  const Vector vectors[] = {
      {"66.9.149.187", "161.142.100.80", 2794, 1766, 0x323e8fc2, 0x51ccc178},
      {"199.92.111.2", "65.69.140.83", 14230, 4739, 0xd718262a, 0xc626b0ea},
      {"24.19.198.95", "12.22.207.184", 12898, 38024, 0xd2d0a5de, 0x5c2b394a},
      {"38.27.205.30", "209.142.163.6", 48228, 2217, 0x82989176, 0xafc7327f},
      {"153.39.163.191", "202.188.127.2", 44251, 1303, 0x5d1809c5, 0x10e828a2},
      {"3ffe:2501:200:1fff::7", "3ffe:2501:200:3::1", 2794, 1766, 0x2cc18cd5, 0x40207d3d},
      {"3ffe:501:8::260:97ff:fe40:efab", "ff02::1", 14230, 4739, 0x0f0c461c, 0xdde51bbf},
      {"3ffe:1900:4545:3:200:f8ff:fe21:67cf", "fe80::200:f8ff:fe21:67cf", 44251, 38024, 0x4b61e985,
       0x02d1feef}};
  for (const Vector& v : vectors) {
    EXPECT_EQ(toeplitz_hash(kSuiteKey, tuple(v.source, v.destination, 0, 0, false)),
              v.addresses_only)
        << v.source;
    EXPECT_EQ(toeplitz_hash(kSuiteKey, tuple(v.source, v.destination, v.source_port,
                                             v.destination_port, true)),
              v.with_ports)
        << v.source;
  }
}

// The folded form against the plain one, in both directions.
TEST(Toeplitz, SymmetricHashMatchesThePlainOne) {
  std::mt19937 random(1);
  for (unsigned round = 0; round < 500; ++round) {
    packet::FlowKey k;
    const bool v6 = round % 2 != 0;
    for (auto* a : {&k.a, &k.b}) {
      if (v6) {
        for (auto& byte : a->bytes) byte = static_cast<base::Byte>(random());
      } else {
        *a = base::IpAddress::v4(static_cast<std::uint32_t>(random()));
      }
    }
    k.port_a = static_cast<std::uint16_t>(random());
    k.port_b = static_cast<std::uint16_t>(random());
    k.protocol = round % 3 == 0 ? 17 : 6;
    const auto a = k.a.to_string(), b = k.b.to_string();
    const auto forth = toeplitz_hash(kSymmetricRssKey, tuple(a, b, k.port_a, k.port_b, true));
    const auto back = toeplitz_hash(kSymmetricRssKey, tuple(b, a, k.port_b, k.port_a, true));
    EXPECT_EQ(forth, back);
    EXPECT_EQ(symmetric_rss_hash(k, true), forth);
    EXPECT_EQ(symmetric_rss_hash(k, false),
              toeplitz_hash(kSymmetricRssKey, tuple(a, b, 0, 0, false)));
  }
}

TEST(Steering, PortsCountOnlyWhereThereArePorts) {
  packet::FlowKey k;
  k.a = base::IpAddress::v4(1);
  k.b = base::IpAddress::v4(2);
  k.port_a = 5;
  k.protocol = 1;
  EXPECT_EQ(symmetric_rss_hash(k, true), symmetric_rss_hash(k, false));
  k.protocol = 132;
  EXPECT_NE(symmetric_rss_hash(k, true), symmetric_rss_hash(k, false));
}

TEST(Steering, IndirectionTableIsRoundRobin) {
  EXPECT_EQ(rss_queue(0x80, 128, 3), 0u);
  EXPECT_EQ(rss_queue(0x7f, 128, 3), 1u);
  EXPECT_EQ(rss_queue(130, 128, 3), 2u);
}

}  // namespace
}  // namespace merlon::io
