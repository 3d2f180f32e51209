// SPDX-License-Identifier: Apache-2.0
// find_bulk, track and create/expire over table sizes. One iteration is one burst of 64 packets;
// "ns" is per packet.
#include <benchmark/benchmark.h>

#include <memory>
#include <vector>

#include "merlon/flow/track.h"

namespace {

using namespace merlon;
using flow::SessionTable;

constexpr unsigned kBurst = packet::Burst::kCapacity;

packet::FlowKey numbered_key(std::uint64_t n) {
  packet::FlowKey k;
  k.a = base::IpAddress::v4(0x0a000000 + static_cast<std::uint32_t>(n & 0xffffff));
  k.b = base::IpAddress::v4(0xc0a80000 + static_cast<std::uint32_t>(n >> 24));
  k.port_a = static_cast<std::uint16_t>(1024 + n % 60'000);
  k.port_b = 443;
  k.protocol = 6;
  return k;
}

std::uint64_t next_random(std::uint64_t& x) {
  x += 0x9e3779b97f4a7c15ULL;
  return base::fold_multiply(x, 0xd1b54a32d192ed03ULL);
}

struct Rig {
  explicit Rig(std::uint32_t sessions, std::uint32_t fill, flow::SessionState state)
      : table(std::move(*SessionTable::create_table({.max_sessions = sessions, .max_sources = 0}))),
        burst(std::make_unique<packet::Burst>()) {
    burst->count = kBurst;
    burst->now = 0;
    burst->now_ticks = 0;
    for (std::uint32_t n = 0; n < fill; ++n) {
      const packet::FlowKey k = numbered_key(n);
      const std::uint32_t i =
          table->create(k, packet::hash_flow_key(k, {}), state, 0, [](auto, auto) {});
      if (i == flow::kNoSession) continue;
      flow::Session& s = table->at(i);
      s.tcp[0] = {1'000, 66'000, 65'535};
      s.tcp[1] = {2'000, 67'000, 65'535};
    }
    for (unsigned i = 0; i < kBurst; ++i) {
      packet::Headers& h = burst->headers[i];
      h = {};
      h.kind = packet::Kind::kTcp;
      h.tcp_flags = packet::kTcpAck;
      h.tcp_sequence = 1'000;
      h.tcp_acknowledgment = 2'000;
      h.tcp_window = 65'000;
      burst->length[i] = burst->captured[i] = 64;
      burst->data[i] = frame;
      burst->in_port[i] = burst->out_port[i] = 0;
    }
  }

  // As parse() leaves them; not part of what is measured but for the copy of 52 bytes a packet.
  void load(const std::vector<packet::FlowKey>& keys, const std::vector<std::uint64_t>& hashes,
            std::size_t at) {
    for (unsigned i = 0; i < kBurst; ++i) {
      burst->key[i] = keys[at + i];
      burst->hash[i] = hashes[at + i];
      burst->verdict[i] = packet::Verdict::kUndecided;
    }
  }

  std::unique_ptr<SessionTable> table;
  std::unique_ptr<packet::Burst> burst;
  base::Byte frame[64]{};
};

// A stretch of random picks among `sessions`, longer than the caches remember.
struct Picks {
  Picks(std::uint32_t sessions, std::size_t count) : keys(count), hashes(count) {
    std::uint64_t x = 1;
    for (std::size_t n = 0; n < count; ++n) {
      keys[n] = numbered_key(next_random(x) % sessions);
      hashes[n] = packet::hash_flow_key(keys[n], {});
    }
  }
  std::vector<packet::FlowKey> keys;
  std::vector<std::uint64_t> hashes;
};

void report(benchmark::State& state) {
  const auto packets = static_cast<double>(state.iterations()) * kBurst;
  state.counters["ns"] =
      benchmark::Counter(packets / 1e9, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

template <bool kTrack, bool kFind>
void run_hits(benchmark::State& state) {
  const auto sessions = static_cast<std::uint32_t>(state.range(0));
  Rig rig(sessions, sessions, flow::SessionState::kEstablished);
  const Picks picks(sessions, std::size_t{1} << 18);
  const flow::TrackOptions options;
  flow::EndList ends;
  std::size_t at = 0;
  for (auto _ : state) {
    rig.load(picks.keys, picks.hashes, at);
    if constexpr (kFind) rig.table->find_bulk(*rig.burst, 0, kBurst);
    if constexpr (kTrack) flow::track(*rig.burst, *rig.table, options, ends);
    benchmark::DoNotOptimize(rig.burst->session[0]);
    benchmark::ClobberMemory();
    at = (at + kBurst) & (picks.keys.size() - 1);
  }
  report(state);
}
void load_only(benchmark::State& state) { run_hits<false, false>(state); }
void find_bulk(benchmark::State& state) { run_hits<false, true>(state); }
void find_and_track(benchmark::State& state) { run_hits<true, true>(state); }
BENCHMARK(load_only)->Arg(1'000);
BENCHMARK(find_bulk)->Arg(1'000)->Arg(64'000)->Arg(200'000)->Arg(1'000'000)->Arg(10'000'000);
BENCHMARK(find_and_track)->Arg(1'000)->Arg(64'000)->Arg(200'000)->Arg(1'000'000)->Arg(10'000'000);

// New UDP sessions without end: miss, create, and, the table being full, evict the oldest;
// `sources` counts them too.
template <bool kSources>
void run_new(benchmark::State& state) {
  const auto sessions = static_cast<std::uint32_t>(state.range(0));
  Rig rig(sessions, 0, flow::SessionState::kUdpUnreplied);
  if (kSources)
    rig.table =
        std::move(*SessionTable::create_table({.max_sessions = sessions, .max_sources = 65'536}));
  flow::TrackOptions options;
  std::uint64_t n = 0;
  for (unsigned i = 0; i < kBurst; ++i) rig.burst->headers[i].kind = packet::Kind::kUdp;
  const auto one_burst = [&] {
    packet::Burst& b = *rig.burst;
    b.now_ticks = static_cast<base::Ticks>(n >> 11);
    for (unsigned i = 0; i < kBurst; ++i) {
      b.key[i] = numbered_key(n++);
      b.hash[i] = packet::hash_flow_key(b.key[i], {});
      b.verdict[i] = packet::Verdict::kUndecided;
    }
    rig.table->find_bulk(b, 0, kBurst);
    for (unsigned i = 0; i < kBurst; ++i) {
      if (i % 16 == 0) rig.table->prefetch_for_create(32);
      if (rig.table->find(b.key[i], b.hash[i]) == flow::kNoSession)
        flow::open(b, i, *rig.table, options, {}, [](auto, auto) {});
    }
  };
  for (std::uint32_t k = 0; k < sessions + sessions / 4; k += kBurst) one_burst();
  for (auto _ : state) one_burst();
  report(state);
}
void new_udp_full_table(benchmark::State& state) { run_new<false>(state); }
void new_udp_full_table_sources(benchmark::State& state) { run_new<true>(state); }
BENCHMARK(new_udp_full_table)->Arg(262'144)->Arg(4'000'000);
BENCHMARK(new_udp_full_table_sources)->Arg(262'144)->Arg(4'000'000);

// New sessions and their end by the wheel: 40 ms of life in a table that is never full.
void new_udp_expired(benchmark::State& state) {
  const auto sessions = static_cast<std::uint32_t>(state.range(0));
  Rig rig(sessions, 0, flow::SessionState::kUdpUnreplied);
  flow::Timeouts t;
  t.fill(sessions / 4'096);
  rig.table->set_timeouts(t);
  flow::TrackOptions options;
  std::uint64_t n = 0;
  for (unsigned i = 0; i < kBurst; ++i) rig.burst->headers[i].kind = packet::Kind::kUdp;
  for (auto _ : state) {
    packet::Burst& b = *rig.burst;
    b.now_ticks = static_cast<base::Ticks>(n >> 11);  // 2,048 a millisecond
    for (unsigned i = 0; i < kBurst; ++i) {
      b.key[i] = numbered_key(n++);
      b.hash[i] = packet::hash_flow_key(b.key[i], {});
      b.verdict[i] = packet::Verdict::kUndecided;
    }
    rig.table->expire(b.now_ticks, 2 * kBurst, [](auto, auto) {});
    rig.table->find_bulk(b, 0, kBurst);
    for (unsigned i = 0; i < kBurst; ++i) {
      if (i % 16 == 0) rig.table->prefetch_for_create(32);
      if (b.session[i] == flow::kNoSession)
        flow::open(b, i, *rig.table, options, {}, [](auto, auto) {});
    }
  }
  state.counters["full"] = static_cast<double>(rig.table->counters().table_full);
  state.counters["evicted"] = static_cast<double>(
      rig.table->counters().ended[static_cast<unsigned>(base::SessionEnd::kEvicted)]);
  report(state);
}
BENCHMARK(new_udp_expired)->Arg(262'144)->Arg(4'000'000);

// A whole connection: SYN, SYN-ACK, ACK, request, response, two FINs, last ACK; per connection.
void tcp_connection(benchmark::State& state) {
  const auto sessions = static_cast<std::uint32_t>(state.range(0));
  Rig rig(sessions, 0, flow::SessionState::kSynSent);
  packet::Burst& b = *rig.burst;
  const flow::TrackOptions options;
  flow::EndList ends;
  const struct {
    std::uint8_t flags, direction;
    std::uint32_t seq, ack, length;
  } steps[] = {{2, 0, 0, 0, 0},      {18, 1, 0, 1, 0},     {16, 0, 1, 1, 0},
               {24, 0, 1, 1, 100},   {24, 1, 1, 101, 900}, {17, 0, 101, 901, 0},
               {17, 1, 901, 102, 0}, {16, 0, 102, 902, 0}};
  std::uint64_t n = 0;
  for (auto _ : state) {
    b.now_ticks = static_cast<base::Ticks>(n >> 9);
    for (unsigned i = 0; i < kBurst; ++i) {
      b.key[i] = numbered_key(n++);
      b.hash[i] = packet::hash_flow_key(b.key[i], {});
    }
    rig.table->expire(b.now_ticks, 2 * kBurst, [](auto, auto) {});
    for (const auto& step : steps) {
      for (unsigned i = 0; i < kBurst; ++i) {
        packet::Headers& h = b.headers[i];
        b.verdict[i] = packet::Verdict::kUndecided;
        h.tcp_flags = step.flags;
        h.direction = step.direction;
        h.tcp_sequence = step.seq;
        h.tcp_acknowledgment = step.ack;
        h.payload_length = step.length;
      }
      rig.table->find_bulk(b, 0, kBurst);
      flow::track(b, *rig.table, options, ends);
      for (const auto& e : ends.span()) rig.table->erase(e.session, e.why);
      for (unsigned i = 0; i < kBurst; ++i)
        if (b.session[i] == flow::kNoSession)
          flow::open(b, i, *rig.table, options, {}, [](auto, auto) {});
    }
  }
  state.counters["closed"] = static_cast<double>(rig.table->count(flow::SessionClass::kClosing));
  report(state);
}
BENCHMARK(tcp_connection)->Arg(262'144)->Arg(1'000'000);

}  // namespace

BENCHMARK_MAIN();
