// SPDX-License-Identifier: Apache-2.0
#pragma once
// The workers, their ports and what they share. Control creates it, publishes snapshots, reads
// counters and asks about sessions; workers do the rest on their own threads, or, in a replay and
// in tests, when turn_all() is called. control-only unless said otherwise; nothing here blocks a
// worker, and no worker that hangs blocks control for longer than EngineConfig::publish_patience.
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "merlon/base/result.h"
#include "merlon/engine/worker.h"

namespace merlon::engine {

struct PublishReport {
  base::Nanos published = 0;
  // Longest turn of any worker from before the exchange until all had seen the new snapshot: the
  // longest time that a packet can have waited because of it.
  std::uint64_t blocked_nanos = 0;
  bool all_passed =
      false;  // false: a worker did not answer in time; the old snapshot stays in memory
};

// Readings of one worker, whole per field.
struct WorkerReading {
  telemetry::CounterTotals counters;
  Gauges::Values gauges;
};

class Engine {
 public:
  // `ports` by number, as in config.ports. With `replay_time` no threads are used and time is what
  // it points to. kCapacity when memory is short, kInvalidValue when config contradicts itself.
  static base::Result<std::unique_ptr<Engine>> create(EngineConfig config,
                                                      std::vector<std::unique_ptr<io::Port>> ports,
                                                      EngineSnapshot first,
                                                      const base::Nanos* replay_time = nullptr);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Live: one thread per worker. stop() lets workers finish their turn, then ends all sessions;
  // each has an event, so `drain` is called between pieces to empty the rings. Without one, stop()
  // waits a moment for the event writer's thread, and what does not fit then is counted as lost.
  void start();
  void stop(const std::function<void()>& drain = {});
  [[nodiscard]] bool is_running() const noexcept { return !threads_.empty(); }
  // Replay and tests: every worker turns until none has anything to do, at most `limit` rounds.
  bool turn_all(unsigned limit = 100'000);

  // Makes `next` the snapshot in force and gives it its generation. Safe under traffic.
  PublishReport publish(EngineSnapshot next);
  [[nodiscard]] std::uint32_t generation() const noexcept { return generation_; }
  // Configuration revision of a session's verdict.
  [[nodiscard]] std::uint32_t revision_of(std::uint32_t generation) const noexcept {
    return shared_.revision_of(generation);
  }
  // The snapshot in force, for control's thread, which is the only one that replaces it.
  [[nodiscard]] const EngineSnapshot& snapshot() const noexcept {
    return *shared_.snapshots->read();
  }
  std::size_t reclaim() { return shared_.snapshots->reclaim(); }

  // Listings: SessionWalk (session_walk.h). Returns how many sessions were ended; kTimeout when a
  // worker did not answer in time, what the others ended stays so. `match`: see SessionRequest.
  base::Result<std::uint64_t> clear_sessions(
      std::function<bool(const flow::Session&, const flow::SessionCold&, base::Ticks)> match);
  // What the worker that owns the frame's session says about it. False when a worker did not answer
  // in time: the answer is of the others then.
  bool judge(JudgeRequest& request);

  [[nodiscard]] WorkerReading read_worker(unsigned index) const;
  [[nodiscard]] unsigned worker_count() const noexcept { return shared_.config.workers; }
  [[nodiscard]] std::vector<base::EventRing*> event_rings();
  [[nodiscard]] std::vector<const telemetry::DropRing*> drop_rings() const;
  [[nodiscard]] std::vector<const telemetry::WorkerCounters*> counter_rows() const;
  [[nodiscard]] policy::HitCounters& hits() noexcept { return *shared_.hits; }
  [[nodiscard]] const EngineConfig& config() const noexcept { return shared_.config; }
  [[nodiscard]] io::Port& port(std::uint16_t number) const noexcept {
    return *shared_.ports[number];
  }
  [[nodiscard]] base::Nanos epoch() const noexcept { return shared_.epoch; }

  // Looks at every link once: a wire's far side follows a change. Call a few times a second.
  void poll_links();

 private:
  Engine() = default;
  friend class SessionWalk;
  // False when the worker's mailbox stays full; the request is done then.
  bool post(unsigned worker, Request& request);
  // Posts it and waits for its end; false when that does not come in time.
  bool ask(unsigned worker, Request& request);
  // Keeps a request that nobody waits for until its worker lets go of it, or has ended.
  void give_up(unsigned worker, std::unique_ptr<Request> request);
  // Gives the worker time to go on with a request; without threads, does the work here.
  void let_work(unsigned worker);
  void prepare_ports(const packet::ParseOptions& parse);

  Shared shared_;
  std::vector<std::unique_ptr<io::Port>> ports_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::thread> threads_;
  std::mutex post_mutex_;
  std::vector<std::unique_ptr<Request>> given_up_;  // under post_mutex_; as many as mailboxes hold
  std::atomic<bool> stop_{false};
  std::uint32_t generation_ = 0;
  std::set<std::uint16_t> cannot_follow_;  // ports whose driver can't change the link: told once
};

}  // namespace merlon::engine
