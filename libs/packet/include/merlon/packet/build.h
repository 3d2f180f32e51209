// SPDX-License-Identifier: Apache-2.0
#pragma once
// Packets from a description: the layers of the packet language as values, turned into bytes with
// lengths, next protocols and checksums filled in unless a field says otherwise. For test cases,
// `explain` and tools. control-only: allocates, never on the packet path.
#include <string>
#include <vector>

#include "merlon/base/bytes.h"
#include "merlon/base/result.h"

namespace merlon::packet {

struct LayerField {
  std::string key;
  std::string value;
  bool has_value = false;  // false: a bare word, a flag
  base::SourcePos where{};
};

// One `/`-separated part of a packet text.
struct Layer {
  std::string name;
  std::vector<LayerField> fields;
  std::vector<Layer> quoted;  // of `quote( ... )`
  base::SourcePos where{};
};

// A packet that starts with neither `eth` nor `raw` gets an Ethernet header of its own. The first
// error ends the work; it carries the place of the field that is wrong.
base::Result<std::vector<base::Byte>> build_packet(const std::vector<Layer>& layers);

// The fragments of an Ethernet frame with an IPv4 or IPv6 packet (VLAN tags are kept), each IP
// packet at most `mtu` bytes, in order. An IPv6 fragment header carries `identification`, an IPv4
// header keeps its own. One element when it fits as it is.
base::Result<std::vector<std::vector<base::Byte>>> fragment_packet(
    base::ByteSpan frame, unsigned mtu, std::uint32_t identification = 1);

}  // namespace merlon::packet
