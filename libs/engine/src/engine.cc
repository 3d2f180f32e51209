// SPDX-License-Identifier: Apache-2.0
#include "merlon/engine/engine.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <bit>
#include <optional>

#include "merlon/base/log.h"
#ifdef MERLON_WITH_DPDK
#include "merlon/io/dpdk.h"
#endif
#include "patience.h"

namespace merlon::engine {
namespace {

constexpr std::uint32_t kLinkSize = 14 + 2 * 4;  // Ethernet and two tags
constexpr std::size_t kHandOverDepth = 4096;

base::Error invalid(std::string message) {
  return {.code = base::Errc::kInvalidValue, .message = std::move(message)};
}

base::Result<void> check(const EngineConfig& config, std::size_t ports) {
  if (config.workers == 0 || config.workers > SnapshotCell::kMaxWorkers)
    return invalid(
        fmt::format("{} workers: 1 to {} are possible", config.workers, SnapshotCell::kMaxWorkers));
  if (ports != config.ports.size())
    return invalid("ports and their configuration differ in number");
  for (const WireConfig& w : config.wires)
    if (w.port_a >= ports || w.port_b >= ports || w.port_a == w.port_b)
      return invalid(fmt::format("wire \"{}\" needs two different ports", w.name));
  return {};
}

void pin(std::thread& thread, unsigned core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  if (pthread_setaffinity_np(thread.native_handle(), sizeof set, &set) != 0)
    base::log(base::LogLevel::kWarning, "worker", "can't pin to core {}", core);
}

// Every port that has several queues has one per worker and spreads by the symmetric key. Their
// indirection tables are filled 0, 1, ... in turn, so with a power of two of workers the owner is
// known whatever a table's size.
bool spread_by_rss(const std::vector<io::Port*>& ports, unsigned workers) {
  bool has_spread = false;
  for (const io::Port* p : ports) {
    const io::PortInfo i = p->info();
    if (i.rx_queues <= 1) continue;
    if (!i.has_rss || i.rx_queues != workers) return false;
    has_spread = true;
  }
  return has_spread && std::has_single_bit(workers);
}

}  // namespace

base::Result<std::unique_ptr<Engine>> Engine::create(EngineConfig config,
                                                     std::vector<std::unique_ptr<io::Port>> ports,
                                                     EngineSnapshot first,
                                                     const base::Nanos* replay_time) {
  if (auto ok = check(config, ports.size()); !ok) return ok.error();
  auto engine = std::unique_ptr<Engine>(new Engine());
  Shared& shared = engine->shared_;
  shared.config = std::move(config);
  engine->ports_ = std::move(ports);
  for (const auto& p : engine->ports_) shared.ports.push_back(p.get());
  shared.owns_by_rss = spread_by_rss(shared.ports, shared.config.workers);
  shared.wires = std::make_unique<forward::WireTable>(shared.ports.size());
  for (const WireConfig& w : shared.config.wires) shared.wires->pair(w.port_a, w.port_b);
  for (std::uint16_t p = 0; p < shared.config.ports.size(); ++p) {
    // Super-frames of a kernel interface are longer than its MTU; the kernel judges what it sends.
    if (shared.config.ports[p].type == PortConfig::Type::kInterface) continue;
    if (const std::uint32_t mtu = shared.config.ports[p].mtu; mtu != 0)
      shared.wires->set_max_frame(p, mtu + kLinkSize);
  }
  shared.hits = std::make_unique<policy::HitCounters>(shared.config.workers);
  shared.epoch = replay_time != nullptr ? *replay_time : base::wall_clock_now();
  shared.epoch -= shared.epoch % base::kNanosPerTick;
  shared.steady_epoch = replay_time != nullptr ? shared.epoch : steady_now();
  shared.hits->reserve(first.policy->slot_count(), shared.epoch);

  first.generation = engine->generation_ = 1;
  shared.revisions[first.generation].store(first.revision, std::memory_order_relaxed);
  first.parse.seed = shared.config.parse.seed;
  engine->prepare_ports(first.parse);
  shared.snapshots =
      std::make_unique<SnapshotCell>(std::make_unique<EngineSnapshot>(std::move(first)));
  const unsigned n = shared.config.workers;
  shared.rings.resize(std::size_t{n} * n);
  for (unsigned to = 0; to < n; ++to)
    for (unsigned from = 0; from < n; ++from)
      if (to != from) shared.rings[to * n + from] = std::make_unique<HandOverRing>(kHandOverDepth);
  for (unsigned i = 0; i < n; ++i) {
    auto worker = Worker::create(shared, i, replay_time);
    if (!worker) return worker.error();
    engine->workers_.push_back(std::move(*worker));
  }
  return engine;
}

Engine::~Engine() { stop(); }

void Engine::start() {
  stop_.store(false);
  for (unsigned i = 0; i < workers_.size(); ++i) {
    threads_.emplace_back([this, i] {
#ifdef MERLON_WITH_DPDK
      const io::DpdkThread identity;  // lets packet buffers come from a cache of the thread's own
#endif
      workers_[i]->run(stop_);
    });
    pthread_setname_np(threads_.back().native_handle(), fmt::format("merlon-w{}", i).c_str());
    if (i < shared_.config.worker_cores.size())
      pin(threads_.back(), shared_.config.worker_cores[i]);
  }
}

void Engine::stop(const std::function<void()>& drain) {
  constexpr std::uint32_t kPiece = 1024;
  constexpr base::Nanos kPatience = base::kNanosPerSecond;
  stop_.store(true);
  for (std::thread& t : threads_) t.join();
  threads_.clear();
  const base::Nanos start = steady_now();
  for (auto& w : workers_) {
    while (!w->end_sessions(kPiece)) {
      if (drain) {
        drain();
        continue;
      }
      const base::EventRing& ring = w->context().events;
      while (ring.capacity() - ring.count() < kPiece && steady_now() - start < kPatience)
        std::this_thread::yield();
    }
  }
}

bool Engine::turn_all(unsigned limit) {
  for (unsigned round = 0; round < limit; ++round) {
    bool had_work = false;
    for (auto& w : workers_) had_work |= w->turn();
    if (!had_work) return true;
  }
  return false;
}

// Before the snapshot goes out: whoever reads it receives what this asks for.
void Engine::prepare_ports(const packet::ParseOptions& parse) {
  if (!parse.verify_checksums) return;
  for (const auto& p : ports_) p->complete_checksums();
}

PublishReport Engine::publish(EngineSnapshot next) {
  PublishReport report;
  next.generation = ++generation_;
  shared_.revisions[next.generation % shared_.revisions.size()].store(next.revision,
                                                                      std::memory_order_relaxed);
  next.parse.seed = shared_.config.parse.seed;  // sessions are found by it: it never changes
  shared_.hits->reserve(next.policy->slot_count(), base::wall_clock_now());
  prepare_ports(next.parse);
  auto snapshot = std::make_unique<EngineSnapshot>(std::move(next));
  for (auto& w : workers_) w->context().longest_turn.store(0, std::memory_order_relaxed);
  report.published = base::wall_clock_now();
  const base::Nanos start = steady_now();
  const std::uint64_t epoch = shared_.snapshots->publish(std::move(snapshot));
  // Without threads nobody holds a snapshot between turns.
  for (unsigned i = 0; i < workers_.size() && !is_running(); ++i) shared_.snapshots->quiescent(i);
  while (!(report.all_passed = shared_.snapshots->all_passed(epoch)) &&
         steady_now() - start < shared_.config.publish_patience)
    std::this_thread::yield();
  std::uint64_t longest = 0;
  for (auto& w : workers_)
    longest = std::max(longest, w->context().longest_turn.load(std::memory_order_relaxed));
  report.blocked_nanos =
      static_cast<std::uint64_t>(static_cast<double>(longest) * 1e9 / base::TscClock::frequency());
  if (!report.all_passed)
    base::log(
        base::LogLevel::kError, "engine",
        "a worker did not take the new configuration within {} ms; the old one stays in memory",
        shared_.config.publish_patience / 1'000'000);
  shared_.snapshots->reclaim();
  return report;
}

bool Engine::post(unsigned worker, Request& request) {
  // The mailbox takes one producer; control has several threads.
  const std::lock_guard lock(post_mutex_);
  std::erase_if(given_up_, [](const auto& r) { return r->done.load(std::memory_order_acquire); });
  Patience patience(shared_.config.publish_patience);
  while (!workers_[worker]->context().mailbox.push(&request)) {
    if (!patience.lasts(0)) {
      request.done.store(true, std::memory_order_relaxed);
      return false;
    }
    let_work(worker);
  }
  return true;
}

void Engine::let_work(unsigned worker) {
  if (is_running()) {
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  } else {
    workers_[worker]->serve_request();
  }
}

bool Engine::ask(unsigned worker, Request& request) {
  if (!post(worker, request)) return false;
  Patience patience(shared_.config.publish_patience);
  while (!request.done.load(std::memory_order_acquire)) {
    if (!patience.lasts(request.pieces.load(std::memory_order_relaxed))) return false;
    let_work(worker);
  }
  return true;
}

void Engine::give_up(unsigned worker, std::unique_ptr<Request> request) {
  request->is_given_up.store(true, std::memory_order_release);
  if (request->done.load(std::memory_order_acquire)) return;
  base::log(base::LogLevel::kDebug, "engine", "a request to worker {} is given up", worker);
  const std::lock_guard lock(post_mutex_);
  given_up_.push_back(std::move(request));
}

base::Result<std::uint64_t> Engine::clear_sessions(
    std::function<bool(const flow::Session&, const flow::SessionCold&, base::Ticks)> match) {
  std::uint64_t cleared = 0;
  std::optional<unsigned> silent;
  for (unsigned w = 0; w < workers_.size(); ++w) {
    auto request = std::make_unique<SessionRequest>();
    request->act = SessionRequest::Act::kClear;
    request->match = match;
    if (!ask(w, *request)) silent = w;
    cleared += request->matched.load();
    give_up(w, std::move(request));
  }
  if (!silent) return cleared;
  return base::Error{
      .code = base::Errc::kTimeout,
      .message = fmt::format("worker {} did not answer within {} ms; {} sessions were ended",
                             *silent, shared_.config.publish_patience / 1'000'000, cleared),
      .hint = "look at `merlon show workers`; the process may be starved of CPU"};
}

bool Engine::judge(JudgeRequest& request) {
  // Without a key the first worker answers; else the one whose table would hold the session. Asking
  // every worker in turn until one has the session costs little and does not depend on how packets
  // are spread. A session of the other side of the wire may be in another worker's table.
  bool have_all_answered = true;
  std::optional<SessionView> other_side;
  for (unsigned w = 0; w < workers_.size(); ++w) {
    auto own = std::make_unique<JudgeRequest>();
    own->frame = request.frame;
    own->in_port = request.in_port;
    const bool has_answered = ask(w, *own);
    if (has_answered) static_cast<JudgeAnswer&>(request) = *own;
    have_all_answered &= has_answered;
    give_up(w, std::move(own));
    if (request.has_session) return true;
    if (request.has_other_side) other_side = request.other_side;
  }
  request.has_other_side = other_side.has_value();
  if (other_side) request.other_side = *other_side;
  return have_all_answered;
}

WorkerReading Engine::read_worker(unsigned index) const {
  const WorkerContext& ctx = workers_[index]->context();
  return {.counters = telemetry::read_counters(ctx.counters), .gauges = ctx.gauges.load()};
}

std::vector<base::EventRing*> Engine::event_rings() {
  std::vector<base::EventRing*> rings;
  for (auto& w : workers_) rings.push_back(&w->context().events);
  return rings;
}

std::vector<const telemetry::DropRing*> Engine::drop_rings() const {
  std::vector<const telemetry::DropRing*> rings;
  for (const auto& w : workers_) rings.push_back(&w->context().drop_ring);
  return rings;
}

std::vector<const telemetry::WorkerCounters*> Engine::counter_rows() const {
  std::vector<const telemetry::WorkerCounters*> rows;
  for (const auto& w : workers_) rows.push_back(&w->context().counters);
  return rows;
}

void Engine::poll_links() {
  for (std::uint16_t p = 0; p < shared_.ports.size(); ++p) {
    const bool changed = shared_.ports[p]->poll_link();
    const io::PortInfo info = shared_.ports[p]->info();
    const bool is_up = info.is_link_up;
    shared_.wires->set_link(p, is_up);
    // A link that we hold down ourselves says nothing about its cable.
    if (!changed || info.is_held_down) continue;
    for (const WireConfig& w : shared_.config.wires) {
      if (!w.follow_link || (w.port_a != p && w.port_b != p)) continue;
      const std::uint16_t other = w.port_a == p ? w.port_b : w.port_a;
      const auto done = shared_.ports[other]->set_link(is_up);
      // What a driver can't do is no news the second time.
      const bool is_known = !done && done.error().code == base::Errc::kUnsupported &&
                            !cannot_follow_.insert(other).second;
      if (!done && !is_known)
        base::log(base::LogLevel::kWarning, "port", "{} can't follow the link of {}: {}",
                  shared_.config.ports[other].name, shared_.config.ports[p].name,
                  done.error().message);
    }
  }
}

}  // namespace merlon::engine
