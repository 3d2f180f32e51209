// SPDX-License-Identifier: Apache-2.0
// Every byte of the frames, read back with the packet room's own means.
#include "merlon/lab_traffic/frames.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <set>
#include <tuple>
#include <vector>

#include "capture_frames.h"
#include "merlon/io/pcap_file.h"
#include "merlon/lab_traffic/recognise.h"
#include "merlon/packet/checksum.h"

namespace merlon::lab {
namespace {

using base::Byte;
using base::ByteSpan;

constexpr std::uint16_t kTrial = 4711;

std::unique_ptr<FrameSource> source_of(const TrafficSpec& spec, FrameOptions options = {}) {
  options.trial = kTrial;
  options.mtu = 9000;
  auto s = make_frames(spec, options);
  EXPECT_TRUE(s.ok()) << (s.ok() ? "" : s.error().message);
  return std::move(*s);
}

std::vector<Byte> frame_of(const FrameSource& source, std::uint64_t number,
                           std::uint32_t time = 0) {
  std::vector<Byte> bytes(source.largest() - kFcsSize);
  BuiltFrame built;
  source.build(number, bytes.data(), built);
  if (built.tag_offset != 0) finish_frame(bytes.data(), built, time);
  bytes.resize(built.size);
  return bytes;
}

std::size_t ip_at(const std::vector<Byte>& f) {
  return base::load_be<std::uint16_t>(f.data() + 12) == 0x8100 ? 18 : 14;
}

bool is_ipv6(const std::vector<Byte>& f) {
  return base::load_be<std::uint16_t>(f.data() + ip_at(f) - 2) == 0x86dd;
}

base::IpAddress address_at(const Byte* p, bool is_v6) {
  return is_v6 ? base::IpAddress::v6(p) : base::IpAddress::v4(base::load_be<std::uint32_t>(p));
}

// Checksums, lengths and that the frame is told as ours with the facts the source gives.
void expect_right(const FrameSource& source, std::uint64_t number) {
  const auto f = frame_of(source, number, 99);
  const FrameFacts facts = source.facts(number);
  ASSERT_EQ(f.size() + kFcsSize, facts.size);
  const Byte* ip = f.data() + ip_at(f);
  const bool is_v6 = is_ipv6(f);
  const std::size_t header = is_v6 ? 40 : 20;
  if (!is_v6) {
    EXPECT_EQ(packet::internet_checksum(ByteSpan(ip, 20)), 0);
  }
  const std::size_t total =
      base::load_be<std::uint16_t>(ip + (is_v6 ? 4 : 2)) + (is_v6 ? header : 0);
  EXPECT_EQ(ip_at(f) + total, f.size());
  EXPECT_EQ(ip[0] >> 4, is_v6 ? 6 : 4);
  EXPECT_EQ(ip[is_v6 ? 7 : 8], 64) << "hop limit";
  const ByteSpan message(ip + header, total - header);
  const std::uint8_t protocol = ip[is_v6 ? 6 : 9];
  if (protocol == 1) {
    EXPECT_EQ(packet::internet_checksum(message), 0);
  } else {
    const auto from = address_at(ip + (is_v6 ? 8 : 12), is_v6);
    const auto to = address_at(ip + (is_v6 ? 24 : 16), is_v6);
    EXPECT_EQ(packet::transport_checksum(from, to, protocol, message), 0);
  }
  EXPECT_NE(protocol, is_v6 ? 1 : 58);
  EXPECT_EQ(f[0] & 3, 2) << "unicast, locally administered";
  EXPECT_EQ(f[6] & 3, 2);
  FrameTag tag;
  ASSERT_EQ(recognise(f, kTrial, tag), FrameKind::kMeasured);
  EXPECT_EQ(tag.sequence, number);
  EXPECT_EQ(tag.time, 99u);
  EXPECT_EQ(tag.flow, facts.flow);
  EXPECT_LT(tag.flow, source.flow_count());
  EXPECT_EQ((tag.flags & FrameTag::kMustDrop) != 0, facts.must_drop);
}

void expect_protocol_right(const std::string& protocol, double ipv6_share, bool has_vlan,
                           bool is_reverse) {
  SCOPED_TRACE(protocol + (has_vlan ? " vlan" : "") + (is_reverse ? " reverse " : " ") +
               std::to_string(ipv6_share));
  TrafficSpec spec;
  spec.protocol = protocol;
  spec.ipv6_share = ipv6_share;
  spec.sizes = "100,101,128,333,1518,9018";
  spec.flows = 1000;
  spec.source_mac = {Variation::kRandom, 1ULL << 40};
  spec.destination_mac = {Variation::kCycle, 5};
  spec.destination_ip = {Variation::kRandom, 1000};
  if (has_vlan) spec.vlan = {Variation::kCycle, 10};
  FrameOptions options;
  options.is_reverse = is_reverse;
  const auto source = source_of(spec, options);
  unsigned of_ipv6 = 0;
  for (std::uint64_t n = 0; n < 3000; ++n) {
    expect_right(*source, n);
    if (is_ipv6(frame_of(*source, n))) ++of_ipv6;
  }
  EXPECT_EQ(of_ipv6, 3000 * ipv6_share);
  expect_right(*source, 0xffff'ffff);
}

TEST(Frames, ChecksumsOfEveryProtocolAndSize) {
  for (const char* protocol : {"udp", "tcp", "icmp"})
    for (const double share : {0.0, 1.0, 0.5})
      for (const bool has_vlan : {false, true})
        for (const bool is_reverse : {false, true})
          expect_protocol_right(protocol, share, has_vlan, is_reverse);
}

TEST(Frames, LeastSizes) {
  TrafficSpec spec;
  spec.sizes = "64";
  expect_right(*source_of(spec), 1);
  spec.vlan = {Variation::kFixed, 1};
  EXPECT_FALSE(make_frames(spec, {}).ok());
  spec.sizes = "68";
  expect_right(*source_of(spec), 1);
  spec.protocol = "tcp";
  spec.sizes = "79";
  EXPECT_FALSE(make_frames(spec, {}).ok());
  spec.sizes = "80";
  expect_right(*source_of(spec), 1);
}

TEST(Frames, LeastSizesOfIpv6) {
  TrafficSpec spec;
  spec.ipv6_share = 0.1;
  for (const auto& [protocol, vlans, least] :
       {std::tuple{"udp", 0U, 84}, {"udp", 1U, 88}, {"icmp", 0U, 84}, {"tcp", 0U, 96}}) {
    spec.protocol = protocol;
    spec.vlan = {Variation::kFixed, vlans};
    spec.sizes = std::to_string(least);
    expect_right(*source_of(spec), 1);
    spec.sizes = std::to_string(least - 1);
    const auto refused = make_frames(spec, {});
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.error().hint.find("IPv6"), std::string::npos);
    EXPECT_NE(refused.error().hint.find(std::to_string(least)), std::string::npos);
  }
  spec.ipv6_share = 1.5;
  EXPECT_FALSE(make_frames(spec, {}).ok());
}

TEST(Frames, MixesGrowByWhatTheHeaderIsLonger) {
  TrafficSpec spec;
  for (const char* mix : {"imix", "emix"}) {
    spec.sizes = mix;
    spec.ipv6_share = 0;
    const auto four = source_of(spec);
    spec.ipv6_share = 1;
    const auto six = source_of(spec);
    for (std::uint64_t n = 0; n < 100; ++n) {
      expect_right(*six, n);
      EXPECT_EQ(six->facts(n).size, std::min(four->facts(n).size + 20, 1518U));
    }
  }
}

using Tuple = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;
Tuple tuple_of(const std::vector<Byte>& f) {
  const Byte* ip = f.data() + ip_at(f);
  return {base::load_be<std::uint32_t>(ip + 12), base::load_be<std::uint32_t>(ip + 16),
          base::load_be<std::uint32_t>(ip + 20)};
}

TEST(Frames, ExactlySoManyFlows) {
  for (const std::uint64_t flows : {1U, 2U, 250U, 251U, 70'001U}) {
    for (const bool is_random : {false, true}) {
      TrafficSpec spec;
      spec.flows = flows;
      spec.is_random_flow_order = is_random;
      const auto source = source_of(spec);
      EXPECT_EQ(source->flow_count(), flows);
      std::set<Tuple> tuples;
      std::set<std::uint32_t> indexes;
      for (std::uint64_t n = 0; n < flows; ++n) {
        const Tuple t = tuple_of(frame_of(*source, n));
        EXPECT_EQ(std::get<0>(t) & 0xffff'0000U, kClientNetwork);
        tuples.insert(t);
        indexes.insert(source->facts(n).flow);
      }
      EXPECT_EQ(tuples.size(), flows);  // one pass meets each
      EXPECT_EQ(indexes.size(), flows);
      for (std::uint64_t n = flows; n < flows + 100; ++n)
        EXPECT_TRUE(tuples.contains(tuple_of(frame_of(*source, n))));
    }
  }
}

using Tuple6 = std::tuple<base::IpAddress, base::IpAddress, std::uint32_t>;
Tuple6 tuple6_of(const std::vector<Byte>& f) {
  const Byte* ip = f.data() + ip_at(f);
  const bool is_v6 = is_ipv6(f);
  return {address_at(ip + (is_v6 ? 8 : 12), is_v6), address_at(ip + (is_v6 ? 24 : 16), is_v6),
          base::load_be<std::uint32_t>(ip + (is_v6 ? 40 : 20))};
}

TEST(Frames, ExactlySoManyFlowsOfBothFamilies) {
  for (const double share : {1.0, 0.5, 0.3}) {
    for (const std::uint64_t flows : {2U, 250U, 10'000U}) {
      TrafficSpec spec;
      spec.sizes = "84";
      spec.flows = flows;
      spec.ipv6_share = share;
      spec.is_random_flow_order = flows > 2;
      const auto source = source_of(spec);
      EXPECT_EQ(source->flow_count(), flows);
      std::set<Tuple6> tuples;
      std::set<std::uint32_t> indexes;
      std::uint64_t of_ipv6 = 0;
      for (std::uint64_t n = 0; n < flows; ++n) {
        const auto f = frame_of(*source, n);
        if (is_ipv6(f)) ++of_ipv6;
        tuples.insert(tuple6_of(f));
        indexes.insert(source->facts(n).flow);
      }
      EXPECT_EQ(tuples.size(), flows);
      EXPECT_EQ(indexes.size(), flows);
      EXPECT_NEAR(static_cast<double>(of_ipv6), share * static_cast<double>(flows), 1);
      for (std::uint64_t n = flows; n < flows + 100; ++n)
        EXPECT_TRUE(tuples.contains(tuple6_of(frame_of(*source, n))));
    }
  }
}

TEST(Frames, OneFlowOfBothFamiliesCountsAsTwo) {
  TrafficSpec spec;
  spec.sizes = "84";
  spec.ipv6_share = 0.5;
  const auto source = source_of(spec);
  EXPECT_EQ(source->flow_count(), 2U);
  unsigned of_ipv6 = 0;
  for (std::uint64_t n = 0; n < 4096; ++n) {
    const bool is_v6 = is_ipv6(frame_of(*source, n));
    EXPECT_EQ(source->facts(n).flow, is_v6 ? 1U : 0U);
    of_ipv6 += is_v6 ? 1 : 0;
  }
  EXPECT_EQ(of_ipv6, 2048U);
}

// Sizes and flows step together; each size must meet both families all the same.
TEST(Frames, FamiliesDoNotFollowTheSizes) {
  TrafficSpec spec;
  spec.sizes = "100,200";
  spec.ipv6_share = 0.5;
  for (const std::uint64_t flows : {1U, 1000U}) {
    spec.flows = flows;
    const auto source = source_of(spec);
    int of_ipv6[2] = {0, 0};
    for (std::uint64_t n = 0; n < 2000; ++n)
      if (is_ipv6(frame_of(*source, n))) ++of_ipv6[n % 2];
    EXPECT_NEAR(of_ipv6[0], 500, 100);
    EXPECT_NEAR(of_ipv6[1], 500, 100);
  }
}

TEST(Frames, TenMillionFlowsOfIpv6StayInsideThePlan) {
  TrafficSpec spec;
  spec.sizes = "84";
  spec.flows = 10'000'000;
  spec.ipv6_share = 1;
  const auto source = source_of(spec);
  std::set<Tuple6> tuples;
  for (std::uint64_t n = 0; n < 10'000'000; n += 9973) {
    const auto f = frame_of(*source, n);
    EXPECT_EQ(base::load_be<std::uint64_t>(f.data() + 22), kClientNetwork6);
    EXPECT_EQ(base::load_be<std::uint64_t>(f.data() + 38), kServerNetwork6);
    tuples.insert(tuple6_of(f));
  }
  EXPECT_EQ(tuples.size(), 10'000'000 / 9973 + 1U);
}

TEST(Frames, TenMillionFlowsStayInsideThePlan) {
  TrafficSpec spec;
  spec.flows = 10'000'000;
  const auto source = source_of(spec);
  std::set<Tuple> tuples;
  for (std::uint64_t n = 0; n < 10'000'000; n += 9973)
    tuples.insert(tuple_of(frame_of(*source, n)));
  tuples.insert(tuple_of(frame_of(*source, 9'999'999)));
  EXPECT_EQ(tuples.size(), 10'000'000 / 9973 + 2u);
  for (const Tuple& t : tuples) {
    EXPECT_EQ(std::get<0>(t) & 0xffff'0000U, kClientNetwork);
    EXPECT_GE(std::get<2>(t) >> 16, 1024u);
  }
  spec.flows = 10'000'001;
  EXPECT_FALSE(make_frames(spec, {}).ok());
}

TEST(Frames, FieldsFixedCycledAndRandom) {
  TrafficSpec spec;
  spec.source_ip = {Variation::kCycle, 3};
  spec.destination_port = {Variation::kRandom, 1000};
  const auto source = source_of(spec);
  std::set<std::uint32_t> ports;
  for (std::uint64_t n = 0; n < 3000; ++n) {
    const auto f = frame_of(*source, n);
    const auto [from, to, both] = tuple_of(f);
    EXPECT_EQ(from, kClientNetwork + 1 + n % 3);
    EXPECT_EQ(to, kServerNetwork + 1);
    EXPECT_EQ(both >> 16, kSourcePort);
    ports.insert(both & 0xffffU);
  }
  EXPECT_GT(ports.size(), 900u);
  EXPECT_GE(*ports.begin(), kDestinationPort);
  EXPECT_LT(*ports.rbegin(), kDestinationPort + 1000u);
  // The same seed gives the same frames, another one others.
  FrameOptions other;
  other.seed = 2;
  EXPECT_EQ(frame_of(*source, 77), frame_of(*source_of(spec), 77));
  EXPECT_NE(frame_of(*source, 77), frame_of(*source_of(spec, other), 77));
}

TEST(Frames, DropShareIsExactAndTold) {
  TrafficSpec spec;
  spec.drop_share = 0.1;
  spec.flows = 7;
  const auto source = source_of(spec);
  unsigned drops = 0;
  for (std::uint64_t n = 0; n < 10'000; ++n) {
    const bool must_drop = source->facts(n).must_drop;
    drops += must_drop ? 1 : 0;
    const std::uint32_t port = std::get<2>(tuple_of(frame_of(*source, n))) & 0xffffU;
    EXPECT_EQ(port == kDropPort, must_drop);
  }
  EXPECT_EQ(drops, 1000u);
}

TEST(Frames, EmixHasItsOwnProtocolsAndPorts) {
  TrafficSpec spec;
  spec.sizes = "emix";
  spec.flows = 50;
  const auto source = source_of(spec);
  std::set<std::pair<int, std::uint32_t>> applications;
  for (std::uint64_t n = 0; n < 100; ++n) {
    const auto f = frame_of(*source, n);
    applications.emplace(f[14 + 9], std::get<2>(tuple_of(f)) & 0xffffU);
    expect_right(*source, n);
  }
  EXPECT_EQ(applications.size(), 9u);
  EXPECT_TRUE(applications.contains({6, 443}) && applications.contains({17, 53}));
}

TEST(Frames, ReverseIsTheOtherWay) {
  FrameOptions options;
  options.is_reverse = true;
  TrafficSpec spec;
  spec.drop_share = 0.5;
  const auto there = frame_of(*source_of({}), 5), back = frame_of(*source_of(spec, options), 5);
  EXPECT_TRUE(std::equal(there.begin(), there.begin() + 6, back.begin() + 6));
  TrafficSpec six;
  six.ipv6_share = 1;
  six.sizes = "84";
  const auto [from, to, both] = tuple6_of(frame_of(*source_of(six), 5));
  EXPECT_EQ(tuple6_of(frame_of(*source_of(six, options), 5)),
            (Tuple6{to, from, both << 16 | both >> 16}));
  const auto [a, b, ports] = tuple_of(there);
  EXPECT_EQ(tuple_of(back), (Tuple{b, a, ports << 16 | ports >> 16}));
  EXPECT_FALSE(source_of(spec, options)->facts(1).must_drop);
}

TEST(Recognise, EveryFlippedBitBehindEthernetIsSeen) {
  TrafficSpec spec;
  spec.sizes = "101";
  const auto good = frame_of(*source_of(spec), 3, 7);
  FrameTag tag;
  for (std::size_t bit = 14 * 8; bit < good.size() * 8; ++bit) {
    auto bad = good;
    bad[bit / 8] = static_cast<Byte>(bad[bit / 8] ^ 1U << bit % 8);
    EXPECT_EQ(recognise(bad, kTrial, tag), FrameKind::kCorrupted) << "bit " << bit;
  }
}

// IPv6's header has no checksum: traffic class, flow label and hop limit are nobody's.
TEST(Recognise, EveryFlippedBitOfIpv6IsSeenButThoseOfNobody) {
  TrafficSpec spec;
  spec.sizes = "101";
  spec.ipv6_share = 1;
  for (const char* protocol : {"udp", "tcp", "icmp"}) {
    spec.protocol = protocol;
    const auto good = frame_of(*source_of(spec), 3, 7);
    FrameTag tag;
    for (std::size_t bit = 14 * 8; bit < good.size() * 8; ++bit) {
      const bool is_nobodys =
          (bit >= 14 * 8 + 4 && bit < 18 * 8) || (bit >= 21 * 8 && bit < 22 * 8);
      auto bad = good;
      bad[bit / 8] = static_cast<Byte>(bad[bit / 8] ^ 0x80U >> bit % 8);
      EXPECT_EQ(recognise(bad, kTrial, tag),
                is_nobodys ? FrameKind::kMeasured : FrameKind::kCorrupted)
          << protocol << " bit " << bit;
    }
    for (std::size_t n = 0; n < good.size(); ++n)
      EXPECT_NE(recognise(ByteSpan(good).first(n), kTrial, tag), FrameKind::kMeasured);
    auto padded = good;
    padded.resize(good.size() + 7, 0x55);
    EXPECT_EQ(recognise(padded, kTrial, tag), FrameKind::kMeasured);
  }
}

TEST(Recognise, UdpOverIpv6NeedsItsChecksum) {
  TrafficSpec spec;
  spec.sizes = "84";
  spec.ipv6_share = 1;
  auto f = frame_of(*source_of(spec), 3);
  f[14 + 40 + 6] = f[14 + 40 + 7] = 0;
  FrameTag tag;
  EXPECT_EQ(recognise(f, kTrial, tag), FrameKind::kCorrupted);
}

TEST(Recognise, AttacksOverIpv6) {
  TrafficSpec spec;
  spec.attack_sources = 1000;
  for (const AttackKind kind : {AttackKind::kSynFlood, AttackKind::kUdpFlood,
                                AttackKind::kDnsReflection, AttackKind::kIcmpFlood}) {
    spec.attack = kind;
    for (const double share : {1.0, 0.5}) {
      spec.ipv6_share = share;
      const auto attack = make_attack(spec, {});
      ASSERT_TRUE(attack.ok());
      unsigned of_ipv6 = 0;
      for (std::uint64_t n = 0; n < 2000; ++n) {
        const auto f = frame_of(**attack, n);
        FrameTag tag;
        ASSERT_EQ(recognise(f, kTrial, tag), FrameKind::kAttack);
        ASSERT_EQ(f.size() + kFcsSize, (*attack)->facts(n).size);
        if (!is_ipv6(f)) continue;
        ++of_ipv6;
        const auto [from, to, ports] = tuple6_of(f);
        EXPECT_EQ(packet::transport_checksum(from, to, f[20], ByteSpan(f).subspan(54)), 0);
      }
      EXPECT_NEAR(of_ipv6, 2000 * share, share < 1 ? 150 : 0);
    }
  }
}

TEST(Recognise, TellsStaleForeignCutAndAttack) {
  const auto good = frame_of(*source_of({}), 3);
  FrameTag tag;
  EXPECT_EQ(recognise(good, kTrial + 1, tag), FrameKind::kStale);
  EXPECT_EQ(tag.trial, kTrial);
  for (std::size_t n = 0; n < good.size(); ++n)
    EXPECT_NE(recognise(ByteSpan(good).first(n), kTrial, tag), FrameKind::kMeasured);
  std::vector<Byte> arp(60, 0);
  arp[12] = 8, arp[13] = 6;
  EXPECT_EQ(recognise(arp, kTrial, tag), FrameKind::kForeign);
  TrafficSpec spec;
  spec.attack_sources = 8'388'608;
  for (const AttackKind kind :
       {AttackKind::kSynFlood, AttackKind::kUdpFlood, AttackKind::kDnsReflection,
        AttackKind::kIcmpFlood, AttackKind::kFragments}) {
    spec.attack = kind;
    const auto attack = make_attack(spec, {});
    ASSERT_TRUE(attack.ok());
    for (std::uint64_t n = 0; n < 1000; ++n) {
      const auto f = frame_of(**attack, n);
      EXPECT_EQ(recognise(f, kTrial, tag), FrameKind::kAttack);
      EXPECT_EQ(packet::internet_checksum(ByteSpan(f).subspan(14, 20)), 0);
      if (kind == AttackKind::kFragments) continue;
      const auto [from, to, ports] = tuple_of(f);
      const ByteSpan message =
          ByteSpan(f).subspan(34, base::load_be<std::uint16_t>(f.data() + 16) - std::size_t{20});
      EXPECT_EQ(kind == AttackKind::kIcmpFlood
                    ? packet::internet_checksum(message)
                    : packet::transport_checksum(base::IpAddress::v4(from), base::IpAddress::v4(to),
                                                 f[23], message),
                0);
    }
  }
  spec.attack = AttackKind::kSynFlood;
  spec.attack_sources = 100;
  const auto flood = make_attack(spec, {});
  std::set<Tuple> flows;
  for (std::uint64_t n = 0; n < 10'000; ++n) flows.insert(tuple_of(frame_of(**flood, n)));
  EXPECT_EQ(flows.size(), 100u);
  spec.attack_sources = 8'388'609;
  EXPECT_FALSE(make_attack(spec, {}).ok());
}

class CaptureFile {
 public:
  explicit CaptureFile(const std::vector<std::pair<std::vector<Byte>, base::Nanos>>& frames)
      : path_("/tmp/lab_traffic_test." + std::to_string(getpid()) + ".pcap") {
    auto w = io::CaptureWriter::create(path_, io::CaptureFormat::kPcapNanos);
    EXPECT_TRUE(w.ok());
    for (const auto& [bytes, time] : frames)
      EXPECT_TRUE((*w)->write(bytes, static_cast<std::uint32_t>(bytes.size()), time));
    EXPECT_TRUE((*w)->close().ok());
  }
  ~CaptureFile() { unlink(path_.c_str()); }
  CaptureFile(const CaptureFile&) = delete;
  CaptureFile& operator=(const CaptureFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(Capture, TagsWhatHasRoomAndSendsTheRestAsItIs) {
  TrafficSpec tcp;
  tcp.protocol = "tcp";
  tcp.sizes = "101";
  auto with_payload = frame_of(*source_of(tcp), 1);
  with_payload[24] = static_cast<Byte>(with_payload[24] ^ 0xff);  // as if a card were to fill it in
  std::vector<Byte> arp(60, 0);
  arp[12] = 8, arp[13] = 6;
  const auto udp = frame_of(*source_of({}), 2);
  const CaptureFile file({{with_payload, 1000}, {arp, 2000}, {udp, 5000}});
  FrameOptions options;
  options.trial = kTrial;
  const auto capture = load_capture(file.path(), options);
  ASSERT_TRUE(capture.ok()) << capture.error().message;
  EXPECT_EQ(*capture->times, (std::vector<base::Nanos>{0, 1000, 4000}));
  EXPECT_GT(capture->period, 4000);
  const FrameSource& s = *capture->source;
  EXPECT_EQ(s.flow_count(), 2u);
  EXPECT_EQ(s.measured_among(3), 2u);
  EXPECT_EQ(s.measured_among(7), 5u);
  EXPECT_FALSE(s.facts(1).is_measured);
  auto arp_sent = frame_of(s, 4);
  EXPECT_EQ(arp_sent[0], 2);
  EXPECT_EQ(arp_sent[6], 2);
  std::fill_n(arp_sent.begin(), 12, 0);
  EXPECT_EQ(arp_sent, arp);
  for (const std::uint64_t n : {0U, 2U, 3U, 5U}) expect_right(s, n);
  // All but tag and checksums is the capture's.
  const auto sent = frame_of(s, 3);
  EXPECT_TRUE(std::equal(sent.begin() + 26, sent.begin() + 50, with_payload.begin() + 26));
}

TEST(Capture, TagsIpv6) {
  TrafficSpec spec;
  spec.sizes = "101";
  spec.ipv6_share = 1;
  std::vector<std::pair<std::vector<Byte>, base::Nanos>> frames;
  for (const char* protocol : {"udp", "tcp", "icmp"}) {
    spec.protocol = protocol;
    frames.emplace_back(frame_of(*source_of(spec), 1), 1000 * frames.size());
  }
  const CaptureFile file(frames);
  FrameOptions options;
  options.trial = kTrial;
  const auto capture = load_capture(file.path(), options);
  ASSERT_TRUE(capture.ok()) << capture.error().message;
  EXPECT_EQ(capture->source->measured_among(3), 3U);
  EXPECT_EQ(capture->source->flow_count(), 3U);
  for (std::uint64_t n = 0; n < 6; ++n) expect_right(*capture->source, n);
}

// What others make of our frames: written as a capture, read again.
TEST(Capture, FramesOfBothFamiliesComeBackWhole) {
  TrafficSpec spec;
  spec.sizes = "emix";
  spec.ipv6_share = 0.5;
  spec.flows = 20;
  const auto source = source_of(spec);
  std::vector<std::pair<std::vector<Byte>, base::Nanos>> frames;
  for (std::uint64_t n = 0; n < 200; ++n) frames.emplace_back(frame_of(*source, n, 5), 1000 * n);
  const CaptureFile file(frames);
  auto reader = io::CaptureReader::open(file.path());
  ASSERT_TRUE(reader.ok());
  io::CapturePacket p;
  std::uint32_t n = 0;
  for (; (*reader)->next(p); ++n) {
    FrameTag tag;
    ASSERT_EQ(recognise(p.bytes, kTrial, tag), FrameKind::kMeasured);
    EXPECT_EQ(tag.sequence, n);
  }
  EXPECT_EQ(n, 200U);
}

TEST(Capture, SaysWhyThereIsNothingToReplay) {
  std::vector<Byte> arp(60, 0);
  arp[12] = 8, arp[13] = 6;
  const CaptureFile file({{arp, 0}});
  const auto capture = load_capture(file.path(), {});
  ASSERT_FALSE(capture.ok());
  EXPECT_NE(capture.error().message.find("none can be measured"), std::string::npos);
  EXPECT_FALSE(load_capture("/nonexistent.pcap", {}).ok());
}

}  // namespace
}  // namespace merlon::lab
