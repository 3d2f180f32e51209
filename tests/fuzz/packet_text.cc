// SPDX-License-Identifier: Apache-2.0
// The packet language on any text, and any bytes in the packet language: bytes -> text -> bytes is
// the identity.
#include <algorithm>
#include <cstdlib>

#include "merlon/packet/text.h"

namespace {

using namespace merlon;

void require_round_trip(base::ByteSpan frame, packet::ParseOptions::LinkLayer link) {
  const auto again = packet::packet_from_text(packet::packet_to_text(frame, link), {});
  if (!again || !std::equal(again->begin(), again->end(), frame.begin(), frame.end())) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1 || size > 4096) return 0;
  const base::ByteSpan rest(data + 1, size - 1);
  if ((data[0] & 1U) != 0) {
    require_round_trip(rest, static_cast<packet::ParseOptions::LinkLayer>(data[0] / 2 % 6));
    return 0;
  }
  const auto frame = packet::packet_from_text(
      {reinterpret_cast<const char*>(rest.data()), rest.size()}, {"f", 1, 1, 0});
  if (frame) {
    require_round_trip(*frame, packet::ParseOptions::LinkLayer::kEthernet);
    (void)packet::fragment_packet(*frame, 40 + data[0]);
  } else if (frame.error().message.empty() || frame.error().where.line == 0) {
    std::abort();
  }
  return 0;
}
