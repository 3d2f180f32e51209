// SPDX-License-Identifier: Apache-2.0
// Random packets of few hosts through a small session table: nothing crashes, counts agree, no
// session outlives its index. Input: 2 option bytes, then 12 bytes a packet.
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "merlon/flow/track.h"

namespace {

using namespace merlon;
using flow::SessionTable;

struct Worker {
  explicit Worker(std::uint8_t mode, std::uint8_t limits)
      : table(std::move(*SessionTable::create_table(
            {.max_sessions = 1U + limits % 16U, .max_sources = 4, .max_rules = 4}))),
        burst(std::make_unique<packet::Burst>()) {
    options.tcp.window = static_cast<flow::WindowCheck>(mode % 3);
    options.tcp.allow_midstream = (mode & 4) != 0;
    options.limits.max_per_source = limits >> 4;
    options.limits.max_half_open = mode >> 4;
    burst->count = 1;
    burst->handle[0] = nullptr;
    burst->data[0] = bytes;
    burst->in_port[0] = burst->out_port[0] = 0;
  }

  // Offsets point into a frame of 64 bytes, as the parser guarantees; the bytes themselves are the
  // input's.
  void set(const std::uint8_t* p) {
    packet::Headers& h = burst->headers[0];
    h = {};
    h.kind = static_cast<packet::Kind>(p[0] % 11);
    h.direction = p[1] & 1;
    h.flags = p[1] & 0xf8;
    h.tcp_flags = p[2];
    h.l4_offset = 4;
    h.payload_offset = static_cast<std::uint16_t>(4 + p[3] % 60);
    h.payload_length = static_cast<std::uint32_t>(p[4] << (p[5] % 9));
    h.tcp_sequence = static_cast<std::uint32_t>(p[6] << (p[7] % 25));
    h.tcp_acknowledgment = static_cast<std::uint32_t>(p[8] << (p[9] % 25));
    h.tcp_window = static_cast<std::uint16_t>(p[10] << 8);
    packet::FlowKey k;
    k.a = base::IpAddress::v4(0x0a000000);
    k.b = base::IpAddress::v4(0x0a000001U + (p[11] & 3));
    k.protocol = h.kind == packet::Kind::kSctp ? 132 : h.kind == packet::Kind::kUdp ? 17 : 6;
    k.port_a = (p[11] >> 2) & 3;
    burst->key[0] = k;
    // Bad hashes, so that chains are met as well.
    burst->hash[0] = (p[11] & 0x80) != 0 ? 1 : packet::hash_flow_key(k, {});
    burst->captured[0] = burst->length[0] = 64;
    burst->verdict[0] = packet::Verdict::kUndecided;
    burst->reason[0] = base::DropReason::kNone;
    for (unsigned n = 0; n < 12; ++n) bytes[4 + n] = bytes[16 + n] = bytes[28 + n] = p[n];
  }

  void run(base::Ticks now) {
    burst->now_ticks = now;
    const auto none = [](auto, auto) {};
    table->expire(now, 8, none);
    table->find_bulk(*burst, 0, 1);
    flow::track(*burst, *table, options, ends);
    for (const auto& e : ends.span()) table->erase(e.session, e.why);
    if (burst->verdict[0] != packet::Verdict::kUndecided) return;
    const base::DropReason why = flow::may_open(*burst, 0, options);
    if (why != base::DropReason::kNone) return burst->drop(0, why);
    flow::Opening o;
    o.rule = burst->key[0].port_a;
    o.max_per_rule = 3;
    if (burst->headers[0].payload_length == 77) o.drop_reason = base::DropReason::kPolicyDeny;
    flow::open(*burst, 0, *table, options, o, none);
  }

  void check() const {
    std::uint32_t live = 0, classes = 0;
    table->for_each(0, table->capacity(), [&](std::uint32_t, const flow::Session& s, const auto&) {
      ++live;
      if (s.packets[0] == 0 || s.window_scale[0] > 14) {
        const bool has_no_scale =
            s.window_scale[0] == flow::kNoScale && s.state == flow::SessionState::kSynSent;
        if (!has_no_scale) std::abort();
      }
    });
    for (unsigned c = 0; c < flow::kSessionClassCount; ++c)
      classes += table->count(static_cast<flow::SessionClass>(c));
    if (live != table->count() || classes != live) std::abort();
  }

  std::unique_ptr<SessionTable> table;
  std::unique_ptr<packet::Burst> burst;
  flow::TrackOptions options;
  flow::EndList ends;
  base::Byte bytes[64]{};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  Worker w(data[0], data[1]);
  base::Ticks now = 0;
  for (std::size_t at = 2; at + 12 <= size; at += 12) {
    w.set(data + at);
    now += data[at + 3] * data[at + 5] * 16U;
    w.run(now);
    if (w.burst->verdict[0] == packet::Verdict::kDrop &&
        w.burst->reason[0] == base::DropReason::kNone)
      std::abort();
  }
  w.check();
  return 0;
}
