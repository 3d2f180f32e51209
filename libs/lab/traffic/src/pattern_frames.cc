// SPDX-License-Identifier: Apache-2.0
// Measured frames from sizes, fields and flows.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
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

class PatternFrames final : public FrameSource {
 public:
  PatternFrames(const TrafficSpec& spec, const FrameOptions& options, const SizeSequence& sizes,
                std::uint8_t protocol);

  void build(std::uint64_t number, base::Byte* out, BuiltFrame& built) const noexcept override;
  [[nodiscard]] FrameFacts facts(std::uint64_t number) const noexcept override;
  [[nodiscard]] std::uint32_t largest() const noexcept override { return largest_; }
  [[nodiscard]] std::uint32_t flow_count() const noexcept override { return flow_count_; }

 private:
  struct Element {
    std::uint32_t size;
    std::uint16_t port;
    std::uint16_t shape;  // index of its template
    std::uint8_t application;
  };
  using Values = std::array<std::uint64_t, kFieldCount>;

  void add_elements(const SizeSequence& sizes, std::uint8_t protocol);
  void count_flows();
  [[nodiscard]] Values choose(std::uint64_t number, std::uint64_t& flow) const noexcept;
  [[nodiscard]] std::uint32_t flow_index(const Values& values, std::uint64_t flow,
                                         const Element& element) const noexcept;
  [[nodiscard]] bool must_drop(std::uint64_t number) const noexcept {
    return (number + 1) * drop_step_ >> 32 > number * drop_step_ >> 32;
  }

  const FrameOptions options_;
  std::array<FieldPattern, kFieldCount> patterns_;
  const std::uint64_t flows_;
  const bool is_random_order_;
  std::uint64_t clients_ = 1;
  Permutation order_;
  std::uint64_t drop_step_ = 0;  // share of frames to drop, in 2^-32
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
      order_(spec.flows) {
  if (flows_ > 1) {
    patterns_[kSourceIp] = patterns_[kSourcePortField] = {};
    clients_ = std::max(std::min(flows_, kClientsWanted),
                        (flows_ + kPortsPerClient - 1) / kPortsPerClient);
  }
  if (!options.is_reverse)
    drop_step_ = static_cast<std::uint64_t>(std::ceil(spec.drop_share * 0x1p32));
  largest_ = sizes.largest();
  add_elements(sizes, protocol);
  count_flows();
}

void PatternFrames::add_elements(const SizeSequence& sizes, std::uint8_t protocol) {
  std::vector<std::pair<std::uint8_t, std::uint32_t>> shapes;
  std::vector<std::pair<std::uint8_t, std::uint16_t>> applications;
  const auto index_of = [](auto& all, const auto& one) {
    const auto found = std::find(all.begin(), all.end(), one);
    if (found != all.end()) return static_cast<std::size_t>(found - all.begin());
    all.push_back(one);
    return all.size() - 1;
  };
  for (const SizeElement& s : sizes.elements) {
    const std::uint8_t p = s.protocol != 0 ? s.protocol : protocol;
    Element e{s.size, s.port, 0, 0};
    const std::size_t before = shapes.size();
    e.shape = static_cast<std::uint16_t>(index_of(shapes, std::pair{p, s.size}));
    e.application = static_cast<std::uint8_t>(index_of(applications, std::pair{p, s.port}));
    if (shapes.size() != before) {
      TemplateSpec t;
      t.protocol = p;
      t.size = s.size;
      t.has_vlan = patterns_[kVlanId].count > 0;
      t.tcp_flags = s.size > 128 ? 0x18 : 0x10;  // a data segment is pushed
      templates_.emplace_back(t);
    }
    elements_.push_back(e);
  }
  applications_ = static_cast<std::uint32_t>(applications.size());
}

void PatternFrames::count_flows() {
  std::uint64_t total = flows_ * applications_;
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

std::uint32_t PatternFrames::flow_index(const Values& values, std::uint64_t flow,
                                        const Element& element) const noexcept {
  std::uint64_t index = flow * applications_ + element.application;
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
  return {e.size, flow_index(v, flow, e), must_drop(number), true};
}

void PatternFrames::build(std::uint64_t number, base::Byte* out, BuiltFrame& built) const noexcept {
  const Element& e = elements_[number % elements_.size()];
  std::uint64_t flow = 0;
  const Values v = choose(number, flow);
  const bool is_dropped = must_drop(number);

  FrameFields f;
  f.source_mac = kMacPrefix | ((kClientMac + v[kSourceMac]) & kMacMask);
  f.destination_mac = kMacPrefix | ((kServerMac + v[kDestinationMac]) & kMacMask);
  f.vlan = static_cast<std::uint16_t>(kFirstVlan + v[kVlanId]);
  f.source_ip = kClientNetwork + 1 + static_cast<std::uint32_t>(v[kSourceIp]);
  f.destination_ip = kServerNetwork + 1 + static_cast<std::uint32_t>(v[kDestinationIp]);
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
  templates_[e.shape].write(f, out, built);
  built.tag.trial = options_.trial;
  built.tag.sequence = static_cast<std::uint32_t>(number);
  built.tag.flow = flow_index(v, flow, e);
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
  const bool has_vlan = spec.vlan.count > 0;
  for (const SizeElement& e : sizes->elements) {
    const std::uint8_t p = e.protocol != 0 ? e.protocol : *protocol;
    const std::uint32_t least = FrameTemplate::least_size(p, has_vlan, true);
    if (e.size < least)
      return base::invalid(
          fmt::format("sizes '{}': {} bytes hold no tag", spec.sizes, e.size),
          fmt::format("{}{} frames need at least {} bytes with FCS",
                      p == kProtocolTcp ? "tcp" : "udp and icmp", has_vlan ? " VLAN" : "", least));
    if (p == kProtocolIcmp && spec.drop_share > 0)
      return base::invalid("drop_share with protocol icmp",
                           "frames to drop are told by their port");
  }
  const std::uint32_t most = options.mtu + 18 + (has_vlan ? kVlanSize : 0);
  if (sizes->largest() > most)
    return base::invalid(fmt::format("sizes '{}': {} bytes are above the port's MTU of {}",
                                     spec.sizes, sizes->largest(), options.mtu),
                         fmt::format("at most {} with FCS", most));
  return std::unique_ptr<FrameSource>(new PatternFrames(spec, options, *sizes, *protocol));
}

}  // namespace merlon::lab
