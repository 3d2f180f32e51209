// SPDX-License-Identifier: Apache-2.0
// Layers to bytes: from the last layer to the first, each header put in front of what it carries.
#include "merlon/packet/build.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "build_work.h"
#include "parse_work.h"

namespace merlon::packet {
namespace detail {
namespace {

constexpr std::size_t kMaxFrame = 65'535 + 64;
constexpr std::size_t kMaxLayers = 64;

struct LayerInfo {
  std::string_view name;
  std::string_view positional;  // field that a bare value stands for
  std::string_view fields;      // separated by one space, with one at each end
  Bytes (*build)(const BuildStep&);
};

constexpr std::array kLayers{
    LayerInfo{"raw", "", " ", nullptr},
    LayerInfo{"eth", "", " src dst type ", build_link_layer},
    LayerInfo{"vlan", "id", " id pcp dei type ", build_link_layer},
    LayerInfo{"qinq", "id", " id pcp dei type ", build_link_layer},
    LayerInfo{"mpls", "label", " label tc ttl s ", build_link_layer},
    LayerInfo{"arp", "", " op sha spa tha tpa htype ptype hlen plen ", build_link_layer},
    LayerInfo{"ipv4", "", " src dst ttl id df mf rf frag tos opts len ihl version proto chk ",
              build_network_layer},
    LayerInfo{"ipv6", "", " src dst ttl hop tc flow len version next proto ", build_network_layer},
    LayerInfo{"hopopts", "", " opts next len ", build_network_layer},
    LayerInfo{"dstopts", "", " opts next len ", build_network_layer},
    LayerInfo{"routing", "", " type left data next len ", build_network_layer},
    LayerInfo{"frag", "", " offset mf id next reserved ", build_network_layer},
    LayerInfo{"ah", "", " spi seq icv next len reserved ", build_network_layer},
    LayerInfo{"tcp", "", " sport dport flags seq ack win urg opt off chk ", build_transport_layer},
    LayerInfo{"udp", "", " sport dport len chk ", build_transport_layer},
    LayerInfo{"udplite", "", " sport dport cov chk ", build_transport_layer},
    LayerInfo{"icmp", "", " type code id seq rest mtu chk ", build_transport_layer},
    LayerInfo{"icmpv6", "", " type code id seq rest mtu chk ", build_transport_layer},
    LayerInfo{"sctp", "", " sport dport tag chk chunk chunkflags chunklen ", build_transport_layer},
    LayerInfo{"gre", "", " key seq ack chk version call type flags ", build_transport_layer},
    LayerInfo{"esp", "", " spi seq ", build_transport_layer},
    LayerInfo{"ipip", "", " ", build_transport_layer},
    LayerInfo{"vxlan", "", " vni flags ", build_transport_layer},
    LayerInfo{"gtpu", "", " teid type seq len flags ", build_transport_layer},
    LayerInfo{"payload", "data", " text data len zeros ", build_transport_layer},
    LayerInfo{"quote", "", " ", build_transport_layer},
    LayerInfo{"trailer", "data", " data pad ", nullptr},
    LayerInfo{"truncate", "size", " size ", nullptr},
};

const LayerInfo* find_layer(std::string_view name) {
  const auto it = std::find_if(kLayers.begin(), kLayers.end(),
                               [name](const LayerInfo& l) { return l.name == name; });
  return it == kLayers.end() ? nullptr : &*it;
}

bool has_field(const LayerInfo& info, std::string_view key) {
  return info.fields.find(fmt::format(" {} ", key)) != std::string_view::npos;
}

std::string layer_names() {
  std::string names;
  for (const LayerInfo& l : kLayers) names += fmt::format(" {}", l.name);
  return names;
}

// Knows every layer and field; a bare value becomes the positional field.
std::optional<base::Error> check_layer(Layer& layer) {
  const LayerInfo* info = find_layer(layer.name);
  if (info == nullptr) {
    return base::Error{base::Errc::kUnknownKey, fmt::format("unknown layer \"{}\"", layer.name),
                       layer.where, fmt::format("layers:{}", layer_names())};
  }
  bool is_filled = false;
  for (LayerField& f : layer.fields) {
    if (!f.has_value && !info->positional.empty() && !is_filled && !has_field(*info, f.key)) {
      f.value = f.key;
      f.key = info->positional;
      f.has_value = is_filled = true;
    }
    if (has_field(*info, f.key)) continue;
    return base::Error{base::Errc::kUnknownKey,
                       fmt::format("{} has no field \"{}\"", layer.name, f.key), f.where,
                       fmt::format("fields of {}:{}", layer.name, info->fields)};
  }
  for (std::size_t i = 0; i < layer.fields.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (layer.fields[i].key != layer.fields[j].key) continue;
      return base::Error{base::Errc::kDuplicate,
                         fmt::format("{} is given twice", layer.fields[i].key),
                         layer.fields[i].where, "keep one"};
    }
  }
  return std::nullopt;
}

// `trailer` and `truncate` at the end work on the whole frame.
void finish_frame(const Layer& layer, Bytes& frame, std::optional<base::Error>& error) {
  Fields f(layer, error);
  if (layer.name == "truncate") {
    const std::uint64_t size = f.number("size", frame.size(), kMaxFrame);
    if (size < frame.size()) frame.resize(size);
    return;
  }
  put(frame, f.bytes("data"));
  const std::uint64_t pad =
      f.has("pad") ? (f.word("pad").empty() ? 60 : f.number("pad", 60, kMaxFrame)) : 0;
  if (frame.size() < pad) frame.resize(pad);
}

base::Error error_at(const Layer& layer, std::string message, std::string hint) {
  return {base::Errc::kInvalidValue, std::move(message), layer.where, std::move(hint)};
}

}  // namespace

base::Result<Bytes> build_layers(std::vector<Layer> layers) {
  if (layers.size() > kMaxLayers)
    return error_at(layers[kMaxLayers], "more than 64 layers", "shorten the packet");
  for (Layer& l : layers)
    if (auto e = check_layer(l)) return *e;
  std::size_t count = layers.size();
  while (count > 0 && (layers[count - 1].name == "trailer" || layers[count - 1].name == "truncate"))
    --count;
  Bytes frame;
  std::optional<base::Error> error;
  for (std::size_t i = count; i-- > 0;) {
    const LayerInfo* info = find_layer(layers[i].name);
    if (info->build == nullptr && (layers[i].name != "raw" || i != 0))
      return error_at(layers[i], fmt::format("{} does not belong here", layers[i].name),
                      "raw stands first, trailer and truncate last");
    if (info->build == nullptr) continue;
    const BuildStep step{layers, i, frame, error};
    Bytes header = info->build(step);
    if (error) return *error;
    header.insert(header.end(), frame.begin(), frame.end());
    frame = std::move(header);
    if (frame.size() > kMaxFrame)
      return error_at(layers[i], "the frame is longer than 65599 bytes", "shorten the payload");
  }
  for (std::size_t i = count; i < layers.size(); ++i) finish_frame(layers[i], frame, error);
  if (error) return *error;
  return frame;
}

std::string_view BuildStep::next_name() const {
  if (index + 1 >= layers.size()) return "";
  const std::string& name = layers[index + 1].name;
  return name == "trailer" || name == "truncate" ? std::string_view() : std::string_view(name);
}

const LayerField* Fields::find(std::string_view key) const {
  const auto it = std::find_if(layer_.fields.begin(), layer_.fields.end(),
                               [key](const LayerField& f) { return f.key == key; });
  return it == layer_.fields.end() ? nullptr : &*it;
}

void Fields::fail(const LayerField* field, std::string message, std::string hint) {
  if (error_) return;
  error_ = base::Error{base::Errc::kInvalidValue, std::move(message),
                       field != nullptr ? field->where : layer_.where, std::move(hint)};
}

std::uint64_t Fields::number(std::string_view key, std::uint64_t fallback, std::uint64_t limit) {
  const LayerField* f = find(key);
  if (f == nullptr) return fallback;
  const auto n = parse_number(f->value);
  if (n && *n <= limit) return *n;
  fail(f,
       n ? fmt::format("{} is {}, the largest possible is {}", key, *n, limit)
         : fmt::format("{} is \"{}\", not a number", key, f->value),
       "write a decimal number or 0x and hexadecimal digits");
  return fallback;
}

std::uint8_t Fields::u8(std::string_view key, std::uint8_t fallback, std::uint8_t limit) {
  return static_cast<std::uint8_t>(number(key, fallback, limit));
}
std::uint16_t Fields::u16(std::string_view key, std::uint16_t fallback, std::uint16_t limit) {
  return static_cast<std::uint16_t>(number(key, fallback, limit));
}
std::uint32_t Fields::u32(std::string_view key, std::uint32_t fallback, std::uint32_t limit) {
  return static_cast<std::uint32_t>(number(key, fallback, limit));
}

std::string_view Fields::word(std::string_view key) const {
  const LayerField* f = find(key);
  return f == nullptr ? std::string_view() : std::string_view(f->value);
}

// An IPv6 layer may name any address, also a v4-mapped one: that packet is what a test wants to
// send.
base::IpAddress Fields::address(std::string_view key, std::string_view fallback, bool is_v6) {
  const LayerField* f = find(key);
  const std::string_view text = f == nullptr ? fallback : std::string_view(f->value);
  const auto a = base::parse_address(text);
  const bool is_dotted = text.find(':') == std::string_view::npos;
  if (a && is_dotted != is_v6) return *a;
  fail(f, fmt::format("{} is \"{}\", not an IPv{} address", key, text, is_v6 ? 6 : 4),
       is_v6 ? "write for example 2001:db8::1" : "write for example 192.0.2.1");
  return {};
}

base::MacAddress Fields::mac(std::string_view key, std::string_view fallback) {
  const LayerField* f = find(key);
  const auto a = base::parse_mac(f == nullptr ? fallback : std::string_view(f->value));
  if (a) return *a;
  fail(f, fmt::format("{} is \"{}\", not a MAC address", key, word(key)),
       "write for example 02:00:00:00:00:01");
  return {};
}

Bytes Fields::bytes(std::string_view key) {
  const LayerField* f = find(key);
  if (f == nullptr) return {};
  if (auto b = parse_hex(f->value)) return *b;
  fail(f, fmt::format("{} is \"{}\", not pairs of hexadecimal digits", key, f->value),
       "write for example 0x0102ff");
  return {};
}

std::uint16_t Fields::checksum(std::uint16_t computed) {
  const std::string_view w = word("chk");
  if (!has("chk")) return computed;
  if (w == "none") return 0;
  if (w == "bad") return computed ^ 0x0101;
  return u16("chk", computed);
}

std::optional<std::uint64_t> parse_number(std::string_view text) {
  const bool is_hex = text.starts_with("0x");
  if (is_hex) text.remove_prefix(2);
  std::uint64_t n = 0;
  const auto [end, code] =
      std::from_chars(text.data(), text.data() + text.size(), n, is_hex ? 16 : 10);
  if (code != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return n;
}

std::optional<Bytes> parse_hex(std::string_view text) {
  if (text.starts_with("0x")) text.remove_prefix(2);
  if (text.size() % 2 != 0) return std::nullopt;
  Bytes out;
  out.reserve(text.size() / 2);
  for (std::size_t i = 0; i < text.size(); i += 2) {
    unsigned b = 0;
    const char* end = text.data() + i + 2;
    const auto r = std::from_chars(text.data() + i, end, b, 16);
    if (r.ec != std::errc{} || r.ptr != end) return std::nullopt;
    out.push_back(static_cast<base::Byte>(b));
  }
  return out;
}

void put8(Bytes& out, unsigned v) { out.push_back(static_cast<base::Byte>(v)); }
void put16(Bytes& out, unsigned v) {
  put8(out, v >> 8 & 0xffU);
  put8(out, v & 0xffU);
}
void put32(Bytes& out, std::uint32_t v) {
  put16(out, v >> 16);
  put16(out, v & 0xffffU);
}
void put(Bytes& out, base::ByteSpan bytes) { out.insert(out.end(), bytes.begin(), bytes.end()); }

Endpoints endpoints_around(const BuildStep& step) {
  for (std::size_t i = step.index; i-- > 0;) {
    const Layer& l = step.layers[i];
    if (l.name != "ipv4" && l.name != "ipv6") continue;
    Fields f(l, step.error);
    const bool is_v6 = l.name == "ipv6";
    return {f.address("src", is_v6 ? kDefaultSource6 : kDefaultSource4, is_v6),
            f.address("dst", is_v6 ? kDefaultDestination6 : kDefaultDestination4, is_v6)};
  }
  return {};
}

}  // namespace detail

base::Result<std::vector<base::Byte>> build_packet(const std::vector<Layer>& layers) {
  std::vector<Layer> all = layers;
  if (all.empty() || (all[0].name != "eth" && all[0].name != "raw")) {
    Layer eth;
    eth.name = "eth";
    if (!all.empty()) eth.where = all[0].where;
    all.insert(all.begin(), eth);
  }
  return detail::build_layers(std::move(all));
}

}  // namespace merlon::packet
