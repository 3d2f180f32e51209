// SPDX-License-Identifier: Apache-2.0
#pragma once
// The packet language: packets in words, both ways. docs/packet-language.md is the reference with
// every layer and field. control-only: allocates.
//
//   packet := layer { "/" layer }
//   layer  := name { field }  |  "quote(" packet ")"
//   field  := key "=" value | word | "string" with \n \r \t \" \\ \xHH
//
//   eth src=02:00:00:00:00:01 / vlan 10 / ipv4 src=10.0.0.5 dst=192.0.2.9 / tcp dport=23 flags=S
//   opt=mss:1460,sackok ipv4 src=192.0.2.9 dst=10.0.0.5 / icmp type=3 code=1 / quote(ipv4
//   src=10.0.0.5 dst=192.0.2.9 / udp dport=53)
//
// Numbers are decimal or 0x hexadecimal; bytes are hexadecimal digits, 0x in front optional. What
// is left out gets a default; lengths, next protocols and checksums are computed.
#include <string>
#include <string_view>
#include <vector>

#include "merlon/packet/build.h"
#include "merlon/packet/parse.h"

namespace merlon::packet {

// `where` is the place of the text's first character; errors count lines and columns from there.
base::Result<std::vector<Layer>> layers_from_text(std::string_view text,
                                                  const base::SourcePos& where);
base::Result<std::vector<base::Byte>> packet_from_text(std::string_view text,
                                                       const base::SourcePos& where);

// A text that packet_from_text() turns into the same bytes, whatever they are: what can't be said
// in layers becomes `payload`, in the worst case all of it. Fields with their default value are
// named when they help reading.
std::string packet_to_text(base::ByteSpan frame,
                           ParseOptions::LinkLayer link = ParseOptions::LinkLayer::kEthernet);

}  // namespace merlon::packet
