// SPDX-License-Identifier: Apache-2.0
#pragma once
// One packet core: owns its queues, its sessions, its fragments, its counters row. turn() is the
// way of a packet from beginning to end; worker.cc reads like the picture in ARCHITECTURE.md. A
// worker is driven by a thread of its own (Engine) or, one after the other on one thread, by a
// replay or a test: the same code either way, only the clock differs. worker-owned but for the
// members marked otherwise.
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "merlon/base/event.h"
#include "merlon/base/published.h"
#include "merlon/base/spsc_ring.h"
#include "merlon/base/time.h"
#include "merlon/engine/clock.h"
#include "merlon/engine/config.h"
#include "merlon/engine/gauges.h"
#include "merlon/engine/mailbox.h"
#include "merlon/engine/snapshot.h"
#include "merlon/flow/session_table.h"
#include "merlon/flow/track.h"
#include "merlon/forward/output.h"
#include "merlon/forward/wire.h"
#include "merlon/io/port.h"
#include "merlon/packet/burst.h"
#include "merlon/packet/fragments.h"
#include "merlon/policy/hits.h"
#include "merlon/telemetry/drop_ring.h"
#include "merlon/telemetry/rate_limit.h"
#include "merlon/telemetry/worker_counters.h"

namespace merlon::engine {

using SnapshotCell = base::Published<EngineSnapshot>;

// A parsed packet on its way to the worker that owns its session.
struct HandOver {
  void* handle;
  base::Byte* data;
  std::uint64_t hash, number;
  base::Nanos time;
  std::uint32_t captured, length;
  packet::FlowKey key;
  packet::Headers headers;
  std::uint16_t in_port;
  base::DropReason
      reason;  // a refused fragment goes to its datagram's worker as well, to condemn the rest
  bool is_resolved;  // a fragment whose datagram another worker has seen the beginning of
};
using HandOverRing = base::SpscRing<HandOver>;

// What all workers of an engine share; outlives them.
struct Shared {
  EngineConfig config;
  std::vector<io::Port*> ports;  // by number
  std::unique_ptr<forward::WireTable> wires;
  std::unique_ptr<SnapshotCell> snapshots;
  std::unique_ptr<policy::HitCounters> hits;
  base::Nanos epoch = 0;         // tick 0 by the wall clock
  base::Nanos steady_epoch = 0;  // by the clock that sessions age by
  // Sessions belong to the worker that the cards' symmetric RSS gives them to; else to one by our
  // hash.
  bool owns_by_rss = false;
  // rings[to * workers + from]; nullptr on the diagonal.
  std::vector<std::unique_ptr<HandOverRing>> rings;

  // Which configuration revision a generation was of; exact for the last 4,096 publications.
  [[nodiscard]] std::uint32_t revision_of(std::uint32_t generation) const noexcept {
    return revisions[generation % revisions.size()].load(std::memory_order_relaxed);
  }
  std::array<std::atomic<std::uint32_t>, 4096> revisions{};
};

// Everything one worker owns; its stages (stages.h) work on it.
struct WorkerContext {
  WorkerContext(Shared& shared, unsigned index, std::unique_ptr<flow::SessionTable> sessions,
                const base::Nanos* replay_time);
  // For this turn, whose beginning was at `tsc`.
  void read_clock(std::uint64_t tsc) noexcept;

  Shared& shared;
  const unsigned index;
  Clock clock;
  base::Ticks now_ticks = 0;                 // steady
  base::Nanos now = 0;                       // wall clock
  const EngineSnapshot* snapshot = nullptr;  // borrowed for one turn

  packet::Burst burst;
  std::uint64_t burst_bytes = 0;  // on the wire, of all of them
  std::unique_ptr<flow::SessionTable> table_memory;
  flow::SessionTable& table;
  packet::FragmentTable fragments;
  forward::Output output;

  telemetry::WorkerCounters counters;  // readable by all
  telemetry::DropRing drop_ring;       // readable by all
  base::EventRing events;              // read by the event writer
  telemetry::TokenBucket drop_events, rejects;
  Mailbox mailbox{64};  // written by control
  // Requests in progress, served in turn so that a slow reader of one holds up no other.
  std::array<Request*, 16> serving{};
  unsigned serving_count = 0, serving_next = 0;
  Gauges gauges;                               // readable by all
  std::atomic<std::uint64_t> longest_turn{0};  // TSC ticks since control set it to 0

  // Fragments of this burst that another worker has resolved.
  std::array<bool, packet::Burst::kCapacity> is_resolved{};

  // Sessions whose verdict comes from an older snapshot; judge_stale() has nothing to do when there
  // are none.
  std::uint32_t stale_count = 0;

  // Packets of this burst whose session does not exist yet, or whose verdict is of an older
  // snapshot.
  unsigned miss_count = 0;
  std::array<std::uint8_t, packet::Burst::kCapacity> misses;
};

class Worker {
 public:
  // kCapacity when the session table's memory can't be had.
  static base::Result<std::unique_ptr<Worker>> create(Shared& shared, unsigned index,
                                                      const base::Nanos* replay_time = nullptr);

  // Receives at most one burst and carries it through; then ageing and requests, in bounded pieces.
  // Returns whether there was anything to do.
  bool turn() noexcept { return turn_at(base::read_tsc()); }

  // Turns until `stop`; takes part in snapshot publication meanwhile.
  void run(const std::atomic<bool>& stop) noexcept;

  // After the last turn: ends up to `most` sessions, with their flow events; false when some are
  // left.
  bool end_sessions(std::uint32_t most) noexcept;

  // Without a thread: only looks at the mailbox.
  void serve_request() noexcept;

  [[nodiscard]] WorkerContext& context() const noexcept { return *context_; }

 private:
  explicit Worker(std::unique_ptr<WorkerContext> context);

  enum class Source : std::uint8_t { kNothing, kPort, kOtherWorker, kFragments };

  // `tsc`: of this moment. One reading serves as the end of a turn and the time of the next one's
  // packets: it costs as much as half a packet.
  bool turn_at(std::uint64_t tsc) noexcept;
  Source receive() noexcept;
  bool parse() noexcept;
  bool receive_from_workers() noexcept;
  bool receive_from_ports() noexcept;
  void carry(Source source) noexcept;
  bool housekeep() noexcept;
  void finish_fragments() noexcept;
  void store_gauges() noexcept;

  std::unique_ptr<WorkerContext> context_;
  struct PortQueue {
    std::uint16_t port, queue;
  };
  std::vector<PortQueue> queues_;  // that this worker polls
  std::size_t next_queue_ = 0;
  io::Port* last_port_ = nullptr;  // where the burst in hand came from
  const EngineSnapshot* seen_snapshot_ = nullptr;
  std::uint32_t turns_ = 0;
  std::uint32_t next_to_end_ = 0;
};

}  // namespace merlon::engine
