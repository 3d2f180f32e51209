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

// Checksums, lengths and that the frame is told as ours with the facts the source gives.
void expect_right(const FrameSource& source, std::uint64_t number) {
  const auto f = frame_of(source, number, 99);
  const FrameFacts facts = source.facts(number);
  ASSERT_EQ(f.size() + kFcsSize, facts.size);
  const Byte* ip = f.data() + ip_at(f);
  EXPECT_EQ(packet::internet_checksum(ByteSpan(ip, 20)), 0);
  const std::size_t total = base::load_be<std::uint16_t>(ip + 2);
  EXPECT_EQ(ip_at(f) + total, f.size());
  const ByteSpan message(ip + 20, total - 20);
  if (ip[9] == 1) {
    EXPECT_EQ(packet::internet_checksum(message), 0);
  } else {
    const auto from = base::IpAddress::v4(base::load_be<std::uint32_t>(ip + 12));
    const auto to = base::IpAddress::v4(base::load_be<std::uint32_t>(ip + 16));
    EXPECT_EQ(packet::transport_checksum(from, to, ip[9], message), 0);
  }
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

TEST(Frames, ChecksumsOfEveryProtocolAndSize) {
  for (const std::string protocol : {"udp", "tcp", "icmp"}) {
    for (const bool has_vlan : {false, true}) {
      for (const bool is_reverse : {false, true}) {
        TrafficSpec spec;
        spec.protocol = protocol;
        spec.sizes = "80,81,128,333,1518,9018";
        spec.flows = 1000;
        spec.source_mac = {Variation::kRandom, 1ULL << 40};
        spec.destination_mac = {Variation::kCycle, 5};
        spec.destination_ip = {Variation::kRandom, 1000};
        if (has_vlan) spec.vlan = {Variation::kCycle, 10};
        FrameOptions options;
        options.is_reverse = is_reverse;
        const auto source = source_of(spec, options);
        for (std::uint64_t n = 0; n < 3000; ++n) expect_right(*source, n);
        expect_right(*source, 0xffff'ffff);
      }
    }
  }
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
