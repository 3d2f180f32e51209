// SPDX-License-Identifier: Apache-2.0
// Attacks beside the measured frames: no tag, told by their source network.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "frame_template.h"
#include "merlon/base/make_error.h"
#include "merlon/lab_traffic/frames.h"
#include "merlon/lab_traffic/recognise.h"
#include "merlon/packet/checksum.h"
#include "mixing.h"

namespace merlon::lab {
namespace {

constexpr std::uint64_t kAttackerMac = 0x02'4d4c'4100'01;
constexpr std::uint8_t kSyn = 0x02;
constexpr std::uint32_t kReflectionSize = 1286, kFragmentSize = 622;

// An answer of an open resolver: 1,200 bytes of TXT for a question of 30.
std::vector<base::Byte> dns_answer() {
  std::vector<base::Byte> d = {
      0x00, 0x00, 0x81, 0x80, 0,   1,   0,   1,   0, 0,   0,   0,  // header: an answer
      7,    'e',  'x',  'a',  'm', 'p', 'l', 'e', 3, 'o', 'r', 'g', 0, 0, 16, 0, 1,  // TXT IN
      0xc0, 12,   0,    16,   0,   1,  // the same name
      0,    0,    0x0e, 0x10};         // an hour
  const std::size_t left = kReflectionSize - kFcsSize - 42 - d.size() - 2;
  d.push_back(static_cast<base::Byte>(left >> 8));
  d.push_back(static_cast<base::Byte>(left));
  for (std::size_t i = 0; i < left; ++i)
    d.push_back(i % 256 == 0 ? static_cast<base::Byte>(std::min<std::size_t>(255, left - i - 1))
                             : static_cast<base::Byte>('x'));
  return d;
}

TemplateSpec shape_of(AttackKind kind) {
  TemplateSpec t;
  t.has_tag = false;
  switch (kind) {
    case AttackKind::kSynFlood:
      t.protocol = kProtocolTcp;
      t.tcp_flags = kSyn;
      break;
    case AttackKind::kIcmpFlood:
      t.protocol = kProtocolIcmp;
      break;
    case AttackKind::kDnsReflection:
      t.size = kReflectionSize;
      t.payload = dns_answer();
      break;
    case AttackKind::kFragments:
      t.size = kFragmentSize;
      break;
    case AttackKind::kUdpFlood:
    case AttackKind::kNone:
      break;
  }
  return t;
}

class AttackFrames final : public FrameSource {
 public:
  AttackFrames(const TrafficSpec& spec, std::uint64_t seed)
      : kind_(spec.attack),
        sources_(spec.attack_sources),
        seed_(mix64(seed)),
        ip_at_(spec.vlan.count > 0 ? 18 : 14) {
    // A fragment of IPv6 has a header of its own: that attack stays IPv4.
    if (kind_ != AttackKind::kFragments)
      ipv6_below_ = static_cast<std::uint64_t>(spec.ipv6_share * static_cast<double>(sources_));
    for (const bool is_ipv6 : {false, true}) {
      TemplateSpec t = shape_of(kind_);
      t.is_ipv6 = is_ipv6;
      t.source_network = kAttackNetwork6;
      t.destination_network = kServerNetwork6;
      t.has_vlan = spec.vlan.count > 0;
      if (t.size > 64) t.size += (t.has_vlan ? 4 : 0) + (is_ipv6 ? kIpv6More : 0);
      t.size =
          std::max(t.size, FrameTemplate::least_size(t.protocol, is_ipv6, t.has_vlan, t.has_tag));
      templates_.emplace_back(t);
      size_[is_ipv6 ? 1 : 0] = t.size;
    }
  }

  void build(std::uint64_t number, base::Byte* out, BuiltFrame& built) const noexcept override {
    const std::uint64_t h = mix64(seed_ ^ number);
    FrameFields f;
    f.source_mac = kAttackerMac;
    f.destination_mac = kServerMac;
    f.vlan = 100;
    // A source always uses the same ports: as many flows as sources.
    const std::uint64_t source = below(h, sources_);
    const bool is_ipv6 = source < ipv6_below_;
    f.source_ip = (is_ipv6 ? 1 : kAttackNetwork) + static_cast<std::uint32_t>(source);
    f.destination_ip = (is_ipv6 ? 0 : kServerNetwork) + 1;
    const std::uint64_t more = mix64(h), ports = mix64(seed_ + source);
    f.source_port = static_cast<std::uint16_t>(1024 + ports % 64'512);
    f.destination_port = kDestinationPort;
    f.tcp_sequence = static_cast<std::uint32_t>(more >> 32);
    if (kind_ == AttackKind::kUdpFlood)
      f.destination_port = static_cast<std::uint16_t>(1 + (ports >> 16) % 65'535);
    if (kind_ == AttackKind::kDnsReflection) {
      f.destination_port = f.source_port;
      f.source_port = 53;
    }
    templates_[is_ipv6 ? 1 : 0].write(f, out, built);
    if (kind_ == AttackKind::kFragments)
      make_fragment(out + ip_at_, number, static_cast<std::uint16_t>(more >> 48));
  }
  [[nodiscard]] FrameFacts facts(std::uint64_t number) const noexcept override {
    const bool is_ipv6 = below(mix64(seed_ ^ number), sources_) < ipv6_below_;
    return {size_[is_ipv6 ? 1 : 0], 0, false, false};
  }
  [[nodiscard]] std::uint64_t measured_among(std::uint64_t) const noexcept override { return 0; }
  [[nodiscard]] std::uint32_t largest() const noexcept override {
    return size_[ipv6_below_ > 0 ? 1 : 0];
  }
  [[nodiscard]] std::uint32_t flow_count() const noexcept override { return 1; }

 private:
  // First and middle fragments in turn, each of another datagram: none is ever complete.
  static void make_fragment(base::Byte* ip, std::uint64_t number, std::uint16_t id) noexcept {
    constexpr std::uint16_t kMore = 0x2000, kOffset = 1480 / 8;
    base::store_be(ip + 4, id);
    base::store_be<std::uint16_t>(
        ip + 6, static_cast<std::uint16_t>(kMore | (number % 2 != 0 ? kOffset : 0)));
    base::store_be<std::uint16_t>(ip + 10, 0);
    base::store_be(ip + 10, packet::internet_checksum(base::ByteSpan(ip, 20)));
  }

  const AttackKind kind_;
  const std::uint64_t sources_;
  const std::uint64_t seed_;
  const std::size_t ip_at_;
  std::uint64_t ipv6_below_ = 0;          // sources below this are IPv6
  std::vector<FrameTemplate> templates_;  // IPv4, IPv6
  std::array<std::uint32_t, 2> size_{};
};

}  // namespace

base::Result<std::unique_ptr<FrameSource>> make_attack(const TrafficSpec& spec,
                                                       const FrameOptions& options) {
  if (spec.attack == AttackKind::kNone) return base::invalid("the trial has no attack");
  if (spec.attack_sources == 0 || spec.attack_sources > kMaxAttackSources)
    return base::invalid(fmt::format("attack_sources {} is out of range", spec.attack_sources),
                         fmt::format("1 to {}", kMaxAttackSources));
  return std::unique_ptr<FrameSource>(new AttackFrames(spec, options.seed));
}

}  // namespace merlon::lab
