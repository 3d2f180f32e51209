// SPDX-License-Identifier: Apache-2.0
// parse() on any bytes: reads stay inside the frame (sanitiser), offsets inside the captured bytes,
// the fast paths say what the general parser says, and the answers of a rejecting firewall are
// packets that parse.
#include <cstdlib>
#include <cstring>
#include <memory>

#include "../../libs/packet/src/parse_work.h"
#include "merlon/packet/reply.h"
#include "merlon/packet/tcp_options.h"

namespace {

using namespace merlon;
using packet::Headers;

void require(bool ok) {
  if (!ok) std::abort();
}

void check_answer(const packet::Burst& b, unsigned size, base::Byte* out,
                  packet::ParseOptions options) {
  if (size == 0) return;
  static packet::Burst answer;
  answer.count = 1;
  answer.data[0] = out;
  answer.captured[0] = answer.length[0] = size;
  answer.in_port[0] = 0;
  options.link_layer = b.headers[0].l3_offset == 0 ? packet::ParseOptions::LinkLayer::kRawIp
                                                   : packet::ParseOptions::LinkLayer::kEthernet;
  options.verify_checksums = true;
  options.judge_inner = false;
  options.max_vlan_tags = 255;
  const std::uint16_t domain = 0;
  packet::parse(answer, options, &domain);
  require(answer.verdict[0] == packet::Verdict::kUndecided);
}

void check_headers(const packet::Burst& b) {
  const Headers& h = b.headers[0];
  if (b.verdict[0] != packet::Verdict::kUndecided) return;
  require(b.reason[0] == base::DropReason::kNone);
  require(h.l3_offset <= b.captured[0] && h.l4_offset <= b.captured[0] &&
          h.payload_offset <= b.captured[0]);
  require(h.l3_offset <= h.l4_offset && h.l4_offset <= h.payload_offset);
  if (h.kind != packet::Kind::kNonIp && h.kind != packet::Kind::kArp)
    require(h.payload_offset + h.payload_length <= b.length[0]);
  require(std::memcmp(&b.key[0].a, &b.key[0].b, 16) <= 0);
  if (h.kind == packet::Kind::kTcp)
    (void)packet::read_tcp_options(
        {b.data[0] + h.l4_offset + 20, h.payload_offset - h.l4_offset - 20U});
}

// Eight such frames side by side are what one is.
void check_eight(const packet::Burst& one, const packet::ParseOptions& options,
                 std::uint16_t domain) {
  static packet::Burst eight;
  eight.count = 8;
  for (unsigned i = 0; i < 8; ++i) {
    eight.data[i] = one.data[0];
    eight.captured[i] = one.captured[0];
    eight.length[i] = one.length[0];
    eight.in_port[i] = 0;
  }
  packet::parse(eight, options, &domain);
  for (unsigned i = 0; i < 8; ++i) {
    require(eight.verdict[i] == one.verdict[0] && eight.reason[i] == one.reason[0]);
    require(eight.key[i] == one.key[0] && eight.hash[i] == one.hash[0]);
    require(std::memcmp(&eight.headers[i], &one.headers[0], sizeof(Headers)) == 0);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2 || size > 65'600) return 0;
  static packet::Burst b, again;
  packet::ParseOptions options;
  options.link_layer = static_cast<packet::ParseOptions::LinkLayer>(data[0] % 6);
  options.verify_checksums = (data[0] & 0x80U) != 0;
  options.judge_inner = (data[0] & 0x40U) != 0;
  options.drop_ipv4_options = (data[1] & 0x80U) != 0;
  auto frame = std::make_unique<base::Byte[]>(size - 2);
  if (size > 2) std::memcpy(frame.get(), data + 2, size - 2);
  for (packet::Burst* burst : {&b, &again}) {
    burst->count = 1;
    burst->data[0] = frame.get();
    burst->captured[0] = static_cast<std::uint32_t>(size - 2);
    burst->length[0] = burst->captured[0] + (data[1] & 0x7fU) * 16U;
    burst->in_port[0] = 0;
  }
  const std::uint16_t domain = data[1];
  packet::parse(b, options, &domain);
  check_headers(b);
  packet::detail::parse_general(again, 0, options, domain);
  require(b.verdict[0] == again.verdict[0] && b.reason[0] == again.reason[0]);
  require(b.key[0] == again.key[0] && b.hash[0] == again.hash[0]);
  require(std::memcmp(&b.headers[0], &again.headers[0], sizeof(Headers)) == 0);
  check_eight(b, options, domain);
  if (b.verdict[0] != packet::Verdict::kUndecided) return 0;
  base::Byte out[packet::kMaxReplySize];
  check_answer(b, packet::make_reset(b, 0, out), out, options);
  check_answer(b, packet::make_unreachable(b, 0, out), out, options);
  return 0;
}
