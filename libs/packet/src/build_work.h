// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shared by the builders of the packet language's layers. control-only.
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "merlon/base/address.h"
#include "merlon/packet/build.h"

namespace merlon::packet::detail {

using Bytes = std::vector<base::Byte>;

// A layer while the packet is built from its end: `rest` are the bytes behind its header.
struct BuildStep {
  const std::vector<Layer>& layers;
  std::size_t index;
  const Bytes& rest;
  std::optional<base::Error>& error;  // the first one

  [[nodiscard]] const Layer& layer() const { return layers[index]; }
  // Name of the layer behind this one, "" at the end.
  [[nodiscard]] std::string_view next_name() const;
};

// Reads fields of one layer; a wrong value sets the step's error and gives the default.
class Fields {
 public:
  Fields(const Layer& layer, std::optional<base::Error>& error) : layer_(layer), error_(error) {}
  explicit Fields(const BuildStep& step) : Fields(step.layer(), step.error) {}

  [[nodiscard]] const LayerField* find(std::string_view key) const;
  [[nodiscard]] bool has(std::string_view key) const { return find(key) != nullptr; }
  std::uint64_t number(std::string_view key, std::uint64_t fallback, std::uint64_t limit);
  std::uint8_t u8(std::string_view key, std::uint8_t fallback, std::uint8_t limit = 0xff);
  std::uint16_t u16(std::string_view key, std::uint16_t fallback, std::uint16_t limit = 0xffff);
  std::uint32_t u32(std::string_view key, std::uint32_t fallback, std::uint32_t limit = 0xffffffff);
  base::IpAddress address(std::string_view key, std::string_view fallback, bool is_v6);
  base::MacAddress mac(std::string_view key, std::string_view fallback);
  Bytes bytes(std::string_view key);
  std::string_view word(std::string_view key) const;
  // `computed`, or what chk= says: a number, `none` for 0, `bad` for a wrong one.
  std::uint16_t checksum(std::uint16_t computed);
  void fail(const LayerField* field, std::string message, std::string hint);

 private:
  const Layer& layer_;
  std::optional<base::Error>& error_;
};

std::optional<std::uint64_t> parse_number(std::string_view text);
std::optional<Bytes> parse_hex(std::string_view text);

void put8(Bytes& out, unsigned v);
void put16(Bytes& out, unsigned v);
void put32(Bytes& out, std::uint32_t v);
void put(Bytes& out, base::ByteSpan bytes);

// The byte at `i` of a payload given by its length only.
inline base::Byte pattern_byte(std::size_t i) { return static_cast<base::Byte>('a' + i % 26); }

// Ethertype and IP protocol that say "this layer follows".
std::uint16_t ethertype_for(std::string_view layer);
std::uint8_t protocol_for(std::string_view layer, bool is_v6);

// Addresses of the nearest IP layer around `step`, for pseudo headers.
struct Endpoints {
  base::IpAddress source, destination;
};
Endpoints endpoints_around(const BuildStep& step);
inline constexpr std::string_view kDefaultSource4 = "192.0.2.1",
                                  kDefaultDestination4 = "198.51.100.1";
inline constexpr std::string_view kDefaultSource6 = "2001:db8::1",
                                  kDefaultDestination6 = "2001:db8:1::1";
inline constexpr std::string_view kDefaultSourceMac = "02:00:00:00:00:01",
                                  kDefaultDestinationMac = "02:00:00:00:00:02";

// The layers as they are, no Ethernet header added.
base::Result<Bytes> build_layers(std::vector<Layer> layers);

// Header bytes of one layer, to be put in front of step.rest.
Bytes build_link_layer(const BuildStep& step);  // build_link.cc: eth vlan qinq mpls arp
Bytes build_network_layer(
    const BuildStep& step);  // build_network.cc: ipv4 ipv6 and extension headers
Bytes build_transport_layer(const BuildStep& step);  // build_transport.cc: the rest

}  // namespace merlon::packet::detail
