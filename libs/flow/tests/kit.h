// SPDX-License-Identifier: Apache-2.0
#pragma once
// Packets for the flow tests: headers are set as the parser would set them, bytes only where a
// tracker reads them.
#include <memory>
#include <vector>

#include "merlon/flow/track.h"

namespace merlon::flow::testing {

inline constexpr packet::Headers::Flag kReply = packet::Headers::kIsReply;

struct Endpoint {
  std::uint32_t address;
  std::uint16_t port;
};

// The canonical key and the direction of a packet from `source` to `destination`.
struct KeyAndDirection {
  packet::FlowKey key;
  std::uint8_t direction;
};
inline KeyAndDirection make_key(Endpoint source, Endpoint destination, std::uint8_t protocol,
                                bool swap_ports = true) {
  const bool is_forward =
      source.address < destination.address ||
      (source.address == destination.address && source.port <= destination.port);
  const Endpoint& a = is_forward ? source : destination;
  const Endpoint& b = is_forward ? destination : source;
  packet::FlowKey k;
  k.a = base::IpAddress::v4(a.address);
  k.b = base::IpAddress::v4(b.address);
  k.port_a = swap_ports ? a.port : source.port;
  k.port_b = swap_ports ? b.port : destination.port;
  k.protocol = protocol;
  return {k, static_cast<std::uint8_t>(is_forward ? 0 : 1)};
}

inline packet::FlowKey numbered_key(std::uint32_t n) {
  return make_key({0x0a000000 + n, static_cast<std::uint16_t>(1024 + n % 50'000)}, {0xc0a80001, 53},
                  17)
      .key;
}
inline std::uint64_t hash_of(const packet::FlowKey& k) {
  return packet::hash_flow_key(k, base::HashSeed{});
}

inline std::unique_ptr<SessionTable> make_table(const TableOptions& options) {
  auto t = SessionTable::create_table(options);
  return t.ok() ? std::move(*t) : nullptr;
}

// A table with the worker's turn around it: what the engine does with track() and open().
class Turn {
 public:
  explicit Turn(const TableOptions& o = {.max_sessions = 64, .max_sources = 16, .max_rules = 8})
      : table(make_table(o)) {
    burst = std::make_unique<packet::Burst>();
    restart();
  }

  void restart() {
    burst->count = 0;
    bytes_.clear();
    bytes_.reserve(packet::Burst::kCapacity);
  }

  // Appends a packet; returns its headers for the test to fill in.
  packet::Headers& add(packet::Kind kind, Endpoint from, Endpoint to, std::uint8_t protocol,
                       std::uint32_t length = 60, std::vector<base::Byte> l4 = {},
                       bool swap_ports = true) {
    const unsigned i = burst->count++;
    bytes_.push_back(std::move(l4));
    const KeyAndDirection k = make_key(from, to, protocol, swap_ports);
    burst->key[i] = k.key;
    burst->hash[i] = hash_of(k.key);
    burst->data[i] = bytes_.back().data();
    burst->captured[i] = static_cast<std::uint32_t>(bytes_.back().size());
    burst->length[i] = length;
    burst->in_port[i] = 1;
    burst->out_port[i] = 2;
    burst->session[i] = kNoSession;
    burst->rule[i] = base::kNoRule;
    burst->verdict[i] = packet::Verdict::kUndecided;
    burst->reason[i] = base::DropReason::kNone;
    packet::Headers& h = burst->headers[i];
    h = packet::Headers{};
    h.kind = kind;
    h.direction = k.direction;
    return h;
  }

  // Runs the burst as the engine does; `opening` is what policy says to every new session.
  void run(base::Ticks now) {
    burst->now_ticks = now;
    burst->now = static_cast<base::Nanos>(now) * base::kNanosPerTick;
    const auto note = [this](std::uint32_t i, base::SessionEnd why) { ended.push_back({i, why}); };
    const auto finish = [&](const EndList& list) {
      for (const EndList::End& e : list.span()) {
        ended.push_back({e.session, e.why});
        table->erase(e.session, e.why);
      }
    };
    EndList ends;
    table->find_bulk(*burst, 0, burst->count);
    track(*burst, *table, options, ends);
    finish(ends);
    for (unsigned i = 0; i < burst->count; ++i) {
      if (burst->verdict[i] != packet::Verdict::kUndecided) continue;
      burst->session[i] = table->find(burst->key[i], burst->hash[i]);
      if (burst->session[i] != kNoSession) {
        const auto one = static_cast<std::uint8_t>(i);
        track(*burst, *table, options, ends, {&one, 1});
        finish(ends);
        if (burst->verdict[i] != packet::Verdict::kUndecided) continue;
      }
      const base::DropReason why = may_open(*burst, i, options);
      if (why != base::DropReason::kNone)
        burst->drop(i, why);
      else
        open(*burst, i, *table, options, opening, note);
    }
  }

  std::unique_ptr<SessionTable> table;
  std::unique_ptr<packet::Burst> burst;
  TrackOptions options;
  Opening opening;
  std::vector<EndList::End> ended;

 private:
  std::vector<std::vector<base::Byte>> bytes_;
};

}  // namespace merlon::flow::testing
