// SPDX-License-Identifier: Apache-2.0
// Measured frames from sizes, fields and flows.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>
#include <utility>
#include <vector>

#include "frame_template.h"
#include "merlon/base/make_error.h"
#include "merlon/lab_traffic/frames.h"
#include "merlon/lab_traffic/recognise.h"
#include "merlon/lab_traffic/sizes.h"
#include "mixing.h"

namespace merlon::lab {
namespace {

constexpr std::uint64_t kMacMask = 0xff'ffff'ffff, kMacPrefix = 0x02ULL << 40;
constexpr std::uint32_t kFirstVlan = 100;
constexpr std::uint64_t kPortsPerClient = 64'000, kClientsWanted = 250;
constexpr std::uint32_t kVlanSize = 4;

enum Field : unsigned {
  kSourceMac,
  kDestinationMac,
  kVlanId,
  kSourceIp,
  kDestinationIp,
  kSourcePortField,
  kDestinationPortField,
  kFieldCount
};

struct FieldLimit {
  const char* name;
  std::uint64_t most;
};
constexpr std::array<FieldLimit, kFieldCount> kLimits = {{
    {"source_mac", 1ULL << 40},
    {"destination_mac", 1ULL << 40},
    {"vlan", 3994},  // 100 .. 4093
    {"source_ip", 65'533},
    {"destination_ip", 65'533},
    {"source_port", 64'512},
    {"destination_port", kDropPort - kDestinationPort},
}};

constexpr std::uint64_t kWhole = 1ULL << 32;
constexpr std::uint64_t kFamilyBlock = 1024, kFamilyKey = 0x6d6c'6661'6d69'6c79;

std::uint64_t share_step(double share) noexcept {
  return static_cast<std::uint64_t>(std::ceil(share * 0x1p32));
}

// Whether the share `step` / 2^32, spread evenly over the numbers, takes this one.
bool is_chosen(std::uint64_t number, std::uint64_t step) noexcept {
  return ((number * step & (kWhole - 1)) + step) >= kWhole;
}

class PatternFrames final : public FrameSource {
 public:
  PatternFrames(const TrafficSpec& spec, const FrameOptions& options, const SizeSequence& sizes,
                std::uint8_t protocol);

  void build(std::uint64_t number, base::Byte* out, BuiltFrame& built) const noexcept override;
  [[nodiscard]] FrameFacts facts(std::uint64_t number) const noexcept override;
  [[nodiscard]] std::uint32_t largest() const noexcept override { return largest_; }
  [[nodiscard]] std::uint32_t flow_count() const noexcept override { return flow_count_; }

 private:
  // Of the two families, IPv4 first.
  struct Element {
    std::array<std::uint32_t, 2> size;
    std::array<std::uint16_t, 2> shape;  // indexes of templates
    std::uint16_t port;
    std::uint8_t application;
  };
  using Values = std::array<std::uint64_t, kFieldCount>;

  void add_elements(const SizeSequence& sizes, std::uint8_t protocol);
  [[nodiscard]] TemplateSpec template_of(std::uint8_t protocol, std::uint32_t size,
                                         bool is_ipv6) const;
  void count_flows();
  [[nodiscard]] Values choose(std::uint64_t number, std::uint64_t& flow) const noexcept;
  [[nodiscard]] std::uint32_t flow_index(const Values& values, std::uint64_t flow, bool is_v6,
                                         const Element& element) const noexcept;
  [[nodiscard]] bool must_drop(std::uint64_t number) const noexcept {
    return is_chosen(number, drop_step_);
  }
  // Drawn once for all, but so many of the flows exactly: what repeats in the sizes, or in the
  // fields, must not meet one family only. With one flow, of each kFamilyBlock frames.
  [[nodiscard]] bool is_ipv6(std::uint64_t number, std::uint64_t flow) const noexcept {
    if (ipv6_count_ == 0 || ipv6_count_ == family_total_) return ipv6_count_ != 0;
    const bool is_by_flow = flows_ > 1;
    return family_order_.at(is_by_flow ? flow : number % family_total_,
                            is_by_flow ? kFamilyKey : number / family_total_) < ipv6_count_;
  }
  // One flow whose frames are of both families counts as two.
  [[nodiscard]] bool is_family_by_frame() const noexcept {
    return flows_ <= 1 && ipv6_count_ > 0 && ipv6_count_ < family_total_;
  }

  const FrameOptions options_;
  std::array<FieldPattern, kFieldCount> patterns_;
  const std::uint64_t flows_;
  const bool is_random_order_;
  std::uint64_t clients_ = 1;
  Permutation order_;
  std::uint64_t drop_step_ = 0;  // share of frames to drop, in 2^-32
  const std::uint64_t family_total_, ipv6_count_;
  const Permutation family_order_;
  std::vector<Element> elements_;
  std::vector<FrameTemplate> templates_;
  std::uint32_t applications_ = 1;
  std::uint32_t largest_ = 0;
  std::uint32_t flow_count_ = 1;
  bool is_flow_hashed_ = false;
};

PatternFrames::PatternFrames(const TrafficSpec& spec, const FrameOptions& options,
                             const SizeSequence& sizes, std::uint8_t protocol)
    : options_(options),
      patterns_{spec.source_mac,      spec.destination_mac, spec.vlan,
                spec.source_ip,       spec.destination_ip,  spec.source_port,
                spec.destination_port},
      flows_(spec.flows),
      is_random_order_(spec.is_random_flow_order),
      order_(spec.flows),
      family_total_(spec.flows > 1 ? spec.flows : kFamilyBlock),
      ipv6_count_(static_cast<std::uint64_t>(
          std::llround(spec.ipv6_share * static_cast<double>(family_total_)))),
      family_order_(family_total_) {
  if (flows_ > 1) {
    patterns_[kSourceIp] = patterns_[kSourcePortField] = {};
    clients_ = std::max(std::min(flows_, kClientsWanted),
                        (flows_ + kPortsPerClient - 1) / kPortsPerClient);
  }
  if (!options.is_reverse) drop_step_ = share_step(spec.drop_share);
  add_elements(sizes, protocol);
  count_flows();
}

TemplateSpec PatternFrames::template_of(std::uint8_t protocol, std::uint32_t size,
                                        bool is_ipv6) const {
  TemplateSpec t;
  t.protocol = protocol;
  t.size = size;
  t.has_vlan = patterns_[kVlanId].count > 0;
  t.tcp_flags = size > 128 ? 0x18 : 0x10;  // a data segment is pushed
  t.is_ipv6 = is_ipv6;
  t.source_network = options_.is_reverse ? kServerNetwork6 : kClientNetwork6;
  t.destination_network = options_.is_reverse ? kClientNetwork6 : kServerNetwork6;
  return t;
}

void PatternFrames::add_elements(const SizeSequence& sizes, std::uint8_t protocol) {
  std::vector<std::tuple<std::uint8_t, std::uint32_t, bool>> shapes;
  std::vector<std::pair<std::uint8_t, std::uint16_t>> applications;
  const auto index_of = [](auto& all, const auto& one) {
    const auto found = std::find(all.begin(), all.end(), one);
    if (found != all.end()) return static_cast<std::size_t>(found - all.begin());
    all.push_back(one);
    return all.size() - 1;
  };
  for (const SizeElement& s : sizes.elements) {
    const std::uint8_t p = s.protocol != 0 ? s.protocol : protocol;
    Element e{{s.size, sizes.size_over_ipv6(s)}, {}, s.port, 0};
    e.application = static_cast<std::uint8_t>(index_of(applications, std::pair{p, s.port}));
    for (const bool is_v6 : {false, true}) {
      if (is_v6 ? ipv6_count_ == 0 : ipv6_count_ == family_total_) continue;
      const std::size_t before = shapes.size(), family = is_v6 ? 1 : 0;
      const std::uint32_t size = e.size[family];
      e.shape[family] = static_cast<std::uint16_t>(index_of(shapes, std::tuple{p, size, is_v6}));
      if (shapes.size() != before) templates_.emplace_back(template_of(p, size, is_v6));
      largest_ = std::max(largest_, size);
    }
    elements_.push_back(e);
  }
  applications_ = static_cast<std::uint32_t>(applications.size());
}

void PatternFrames::count_flows() {
  std::uint64_t total = flows_ * applications_ * (is_family_by_frame() ? 2 : 1);
  for (const FieldPattern& p : patterns_) {
    if (p.variation == Variation::kFixed) continue;
    if (p.count > 0 && total > FrameTag::kMaxFlows / p.count) {
      is_flow_hashed_ = true;
      flow_count_ = FrameTag::kMaxFlows;
      return;
    }
    total *= std::max<std::uint64_t>(p.count, 1);
  }
  is_flow_hashed_ = total > FrameTag::kMaxFlows;
  flow_count_ = is_flow_hashed_ ? FrameTag::kMaxFlows : static_cast<std::uint32_t>(total);
}

PatternFrames::Values PatternFrames::choose(std::uint64_t number,
                                            std::uint64_t& flow) const noexcept {
  Values v{};
  for (unsigned f = 0; f < kFieldCount; ++f) {
    const FieldPattern& p = patterns_[f];
    if (p.variation == Variation::kCycle) v[f] = number % p.count;
    if (p.variation == Variation::kRandom)
      v[f] = below(mix64(mix64(options_.seed + f) ^ number), p.count);
  }
  flow = 0;
  if (flows_ > 1) {
    flow = number % flows_;
    if (is_random_order_) flow = order_.at(flow, mix64(options_.seed ^ number / flows_ << 20));
    v[kSourceIp] = flow % clients_;
    v[kSourcePortField] = flow / clients_;
  }
  return v;
}

std::uint32_t PatternFrames::flow_index(const Values& values, std::uint64_t flow, bool is_v6,
                                        const Element& element) const noexcept {
  std::uint64_t index = flow * applications_ + element.application;
  if (is_family_by_frame()) index = index * 2 + (is_v6 ? 1 : 0);
  for (unsigned f = 0; f < kFieldCount; ++f) {
    const FieldPattern& p = patterns_[f];
    if (p.variation == Variation::kFixed) continue;
    index = is_flow_hashed_ ? mix64(index ^ values[f]) : index * p.count + values[f];
  }
  if (is_flow_hashed_) index = mix64(index);
  return static_cast<std::uint32_t>(index % flow_count_);
}

FrameFacts PatternFrames::facts(std::uint64_t number) const noexcept {
  const Element& e = elements_[number % elements_.size()];
  std::uint64_t flow = 0;
  const Values v = choose(number, flow);
  const bool is_v6 = is_ipv6(number, flow);
  return {e.size[is_v6 ? 1 : 0], flow_index(v, flow, is_v6, e), must_drop(number), true};
}

void PatternFrames::build(std::uint64_t number, base::Byte* out, BuiltFrame& built) const noexcept {
  const Element& e = elements_[number % elements_.size()];
  std::uint64_t flow = 0;
  const Values v = choose(number, flow);
  const bool is_dropped = must_drop(number), is_v6 = is_ipv6(number, flow);

  FrameFields f;
  f.source_mac = kMacPrefix | ((kClientMac + v[kSourceMac]) & kMacMask);
  f.destination_mac = kMacPrefix | ((kServerMac + v[kDestinationMac]) & kMacMask);
  f.vlan = static_cast<std::uint16_t>(kFirstVlan + v[kVlanId]);
  f.source_ip = (is_v6 ? 0 : kClientNetwork) + 1 + static_cast<std::uint32_t>(v[kSourceIp]);
  f.destination_ip =
      (is_v6 ? 0 : kServerNetwork) + 1 + static_cast<std::uint32_t>(v[kDestinationIp]);
  f.source_port = static_cast<std::uint16_t>(kSourcePort + v[kSourcePortField]);
  const std::uint64_t port = e.port != 0 ? e.port : kDestinationPort + v[kDestinationPortField];
  f.destination_port = is_dropped ? kDropPort : static_cast<std::uint16_t>(port);
  const std::uint64_t round = number / std::max<std::uint64_t>(flows_, 1);
  f.tcp_sequence = static_cast<std::uint32_t>(mix64(flow) + round * 1460);
  f.tcp_acknowledgment = static_cast<std::uint32_t>(mix64(~flow));
  if (options_.is_reverse) {
    std::swap(f.source_mac, f.destination_mac);
    std::swap(f.source_ip, f.destination_ip);
    std::swap(f.source_port, f.destination_port);
  }
  templates_[e.shape[is_v6 ? 1 : 0]].write(f, out, built);
  built.tag.trial = options_.trial;
  built.tag.sequence = static_cast<std::uint32_t>(number);
  built.tag.flow = flow_index(v, flow, is_v6, e);
  built.tag.flags = static_cast<std::uint8_t>((is_dropped ? FrameTag::kMustDrop : 0) |
                                              (options_.is_reverse ? FrameTag::kIsReverse : 0));
}

base::Result<std::uint8_t> parse_protocol(const std::string& name) {
  if (name == "udp") return kProtocolUdp;
  if (name == "tcp") return kProtocolTcp;
  if (name == "icmp") return kProtocolIcmp;
  return base::invalid(fmt::format("protocol '{}' is not known", name), "udp | tcp | icmp");
}

base::Result<void> check_fields(const TrafficSpec& spec) {
  const std::array<const FieldPattern*, kFieldCount> patterns = {
      &spec.source_mac,  &spec.destination_mac, &spec.vlan, &spec.source_ip, &spec.destination_ip,
      &spec.source_port, &spec.destination_port};
  for (unsigned f = 0; f < kFieldCount; ++f) {
    const std::uint64_t least = f == kVlanId && patterns[f]->variation == Variation::kFixed ? 0 : 1;
    const std::uint64_t count = patterns[f]->count;
    if (count < least || count > kLimits[f].most)
      return base::invalid(fmt::format("{}.count {} is out of range", kLimits[f].name, count),
                           fmt::format("{} to {}", least, kLimits[f].most));
  }
  if (spec.flows == 0 || spec.flows > kMaxFlowCount)
    return base::invalid(fmt::format("flows {} is out of range", spec.flows), "1 to 10000000");
  if (!(spec.drop_share >= 0 && spec.drop_share <= 1))
    return base::invalid(fmt::format("drop_share {} is out of range", spec.drop_share), "0 to 1");
  if (!(spec.ipv6_share >= 0 && spec.ipv6_share <= 1))
    return base::invalid(fmt::format("ipv6_share {} is out of range", spec.ipv6_share), "0 to 1");
  return {};
}

// Do the frames of one family hold their tags and fit the port?
base::Result<void> check_sizes(const TrafficSpec& spec, const FrameOptions& options,
                               const SizeSequence& sizes, std::uint8_t protocol, bool is_ipv6) {
  const bool has_vlan = spec.vlan.count > 0;
  const std::uint32_t most = options.mtu + 18 + (has_vlan ? kVlanSize : 0);
  for (const SizeElement& e : sizes.elements) {
    const std::uint8_t p = e.protocol != 0 ? e.protocol : protocol;
    const std::uint32_t size = is_ipv6 ? sizes.size_over_ipv6(e) : e.size;
    const std::uint32_t least = FrameTemplate::least_size(p, is_ipv6, has_vlan, true);
    if (size < least)
      return base::invalid(
          fmt::format("sizes '{}': {} bytes hold no tag", spec.sizes, size),
          fmt::format("{}{}{} frames need at least {} bytes with FCS", is_ipv6 ? "IPv6 " : "",
                      p == kProtocolTcp ? "tcp" : "udp and icmp", has_vlan ? " VLAN" : "", least));
    if (p == kProtocolIcmp && spec.drop_share > 0)
      return base::invalid("drop_share with protocol icmp",
                           "frames to drop are told by their port");
    if (size > most)
      return base::invalid(fmt::format("sizes '{}': {} bytes are above the port's MTU of {}",
                                       spec.sizes, size, options.mtu),
                           fmt::format("at most {} with FCS", most));
  }
  return {};
}

}  // namespace

base::Result<std::unique_ptr<FrameSource>> make_frames(const TrafficSpec& spec,
                                                       const FrameOptions& options) {
  if (auto ok = check_fields(spec); !ok.ok()) return ok.error();
  const auto protocol = parse_protocol(spec.protocol);
  if (!protocol.ok()) return protocol.error();
  auto sizes = parse_sizes(spec.sizes, options.mtu);
  if (!sizes.ok()) return sizes.error();
  for (const bool is_ipv6 : {false, true}) {
    if (is_ipv6 ? spec.ipv6_share <= 0 : spec.ipv6_share >= 1) continue;
    if (auto ok = check_sizes(spec, options, *sizes, *protocol, is_ipv6); !ok.ok())
      return ok.error();
  }
  return std::unique_ptr<FrameSource>(new PatternFrames(spec, options, *sizes, *protocol));
}

}  // namespace merlon::lab
