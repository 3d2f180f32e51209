// SPDX-License-Identifier: Apache-2.0
#pragma once
// A device whose faults are known exactly, in simulated time: it takes frames at one port and sends
// them at another, with loss, delay, jitter, reordering, duplication, corruption, a bounded rate
// with a queue, and wrong verdicts. And a trial through it without threads, whose time moves only
// when nothing is left to do at the present moment.
#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <queue>
#include <set>
#include <vector>

#include "merlon/lab_traffic/cable_port.h"
#include "merlon/lab_traffic/tester.h"
#include "mixing.h"
#include "trial_setup.h"

namespace merlon::lab::test {

struct Impairment {
  std::uint64_t lose_every = 0;  // of the frames to pass, each such one, from the first multiple on
  double lose_share = 0;         // by a hash of the frame's number
  base::Nanos delay = 0, jitter = 0;  // delay + 0 .. jitter, evenly; order kept
  std::uint64_t swap_every = 0;       // each such frame is held back ...
  base::Nanos swap_by = 0;            // ... for so long
  std::uint64_t duplicate_every = 0;
  std::uint64_t corrupt_every = 0;            // one bit behind the Ethernet header
  double rate_pps = 0;                        // 0: none
  std::size_t queue = 100;                    // frames that may wait
  std::set<std::uint64_t> wrong;              // numbers of frames that meet the other verdict
  std::uint16_t denied_port = 0;              // frames from this source port are dropped
  base::Nanos deaf_from = 0, deaf_until = 0;  // frames that come then are lost
};

// What it did.
struct ImpairmentCounts {
  std::uint64_t seen = 0, lost = 0, swapped = 0, duplicated = 0, corrupted = 0, overflowed = 0,
                dropped = 0, passed_wrongly = 0, dropped_wrongly = 0, denied = 0;
};

class ImpairedPath {
 public:
  ImpairedPath(io::Port& in, io::Port& out, const Impairment& how)
      : in_(in), out_(out), how_(how) {}

  void turn(base::Nanos now) {
    packet::Burst& b = *burst_;
    do {
      b.count = 0;
      in_.receive(0, b, packet::Burst::kCapacity);
      for (unsigned i = 0; i < b.count; ++i) take(b.handle[i], b.data[i], b.length[i], now);
    } while (b.count > 0);
    while (!waiting_.empty() && waiting_.top().time <= now) {
      void* handle = waiting_.top().handle;
      waiting_.pop();
      out_.transmit(0, &handle, 1);
    }
  }
  // When it has something to do next; kNever when not.
  [[nodiscard]] base::Nanos next() const {
    return waiting_.empty() ? Sender::kNever : waiting_.top().time;
  }
  [[nodiscard]] const ImpairmentCounts& counts() const { return counts_; }

 private:
  struct Waiting {
    base::Nanos time;
    std::uint64_t order;
    void* handle;
    bool operator>(const Waiting& o) const {
      return time != o.time ? time > o.time : order > o.order;
    }
  };

  static bool hits(std::uint64_t number, std::uint64_t every) {
    return every != 0 && (number + 1) % every == 0;
  }

  void drop(void* handle) { in_.release(0, &handle, 1); }

  // Verdict first: what a rule must drop is told by its port, in UDP without VLAN.
  bool passes(const base::Byte* data, std::uint64_t number) {
    const bool must_drop = base::load_be<std::uint16_t>(data + 36) == kDropPort;
    const bool is_wrong = how_.wrong.contains(number);
    if (!must_drop && how_.denied_port != 0 &&
        base::load_be<std::uint16_t>(data + 34) == how_.denied_port) {
      ++counts_.denied;
      return false;
    }
    if (must_drop && is_wrong) ++counts_.passed_wrongly;
    if (must_drop && !is_wrong) ++counts_.dropped;
    if (!must_drop && is_wrong) ++counts_.dropped_wrongly;
    return must_drop == is_wrong;
  }

  void take(void* handle, base::Byte* data, std::uint32_t length, base::Nanos now) {
    const std::uint64_t number = counts_.seen++;
    if (!passes(data, number)) return drop(handle);
    const bool is_unlucky =
        how_.lose_share > 0 &&
        below(mix64(number), 1'000'000) < static_cast<std::uint64_t>(how_.lose_share * 1e6);
    const bool is_deaf = now >= how_.deaf_from && now < how_.deaf_until;
    if (hits(number, how_.lose_every) || is_unlucky || is_deaf) {
      ++counts_.lost;
      return drop(handle);
    }
    base::Nanos time = now;
    if (how_.rate_pps > 0 && !queue_up(now, time)) return drop(handle);
    if (how_.jitter > 0)
      time += static_cast<base::Nanos>(
          below(mix64(number ^ 77), static_cast<std::uint64_t>(how_.jitter)));
    time += how_.delay;
    if (hits(number, how_.swap_every)) {
      ++counts_.swapped;
      time += how_.swap_by;
    } else {
      time = last_time_ = std::max(time, last_time_);
    }
    if (hits(number, how_.corrupt_every)) {
      ++counts_.corrupted;
      const std::uint64_t bit = 14 * 8 + below(mix64(number ^ 99), (length - 14) * 8);
      data[bit / 8] = static_cast<base::Byte>(data[bit / 8] ^ 1U << bit % 8);
    }
    if (hits(number, how_.duplicate_every)) {
      ++counts_.duplicated;
      base::Byte* copy = nullptr;
      void* second = out_.allocate(0, length, copy);
      std::memcpy(copy, data, length);
      out_.set_length(second, length);
      waiting_.push({time, order_++, second});
    }
    waiting_.push({time, order_++, handle});
  }

  bool queue_up(base::Nanos now, base::Nanos& time) {
    const auto gap = static_cast<base::Nanos>(1e9 / how_.rate_pps);
    free_at_ = std::max(free_at_, now);
    if (free_at_ - now > gap * static_cast<base::Nanos>(how_.queue)) {
      ++counts_.overflowed;
      return false;
    }
    free_at_ += gap;
    time = free_at_;
    return true;
  }

  io::Port& in_;
  io::Port& out_;
  const Impairment how_;
  ImpairmentCounts counts_;
  std::unique_ptr<packet::Burst> burst_ = std::make_unique<packet::Burst>();
  std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> waiting_;
  std::uint64_t order_ = 0;
  base::Nanos last_time_ = 0, free_at_ = 0;
};

// A port that takes `stall` of simulated time for one hand-over, after `stall_after` frames.
class StallingPort final : public io::Port {
 public:
  StallingPort(std::unique_ptr<io::Port> port, base::Nanos& now)
      : port_(std::move(port)), now_(now) {}
  std::uint64_t stall_after = 0;
  base::Nanos stall = 0;
  base::Nanos every_burst = 0;  // and so much for each hand-over

  void receive(unsigned queue, packet::Burst& burst, unsigned limit) noexcept override {
    port_->receive(queue, burst, limit);
  }
  unsigned transmit(unsigned queue, void* const* handles, unsigned count) noexcept override {
    const bool stalls = stall > 0 && frames_ <= stall_after && frames_ + count > stall_after;
    frames_ += count;
    const unsigned sent = port_->transmit(queue, handles, count);
    now_ += every_burst + (stalls ? stall : 0);
    return sent;
  }
  void release(unsigned queue, void* const* handles, unsigned count) noexcept override {
    port_->release(queue, handles, count);
  }
  void* allocate(unsigned queue, std::uint32_t size, base::Byte*& data) noexcept override {
    return port_->allocate(queue, size, data);
  }
  void set_length(void* handle, std::uint32_t length) noexcept override {
    port_->set_length(handle, length);
  }
  [[nodiscard]] io::BufferKind buffer_kind() const noexcept override {
    return port_->buffer_kind();
  }
  [[nodiscard]] io::PortInfo info() const override { return port_->info(); }
  [[nodiscard]] io::PortCounters counters() const override { return port_->counters(); }

 private:
  std::unique_ptr<io::Port> port_;
  base::Nanos& now_;
  std::uint64_t frames_ = 0;
};

// One trial through an impaired path.
class Simulation {
 public:
  explicit Simulation(const Impairment& how = {}) {
    auto left = CablePort::create({});
    auto right = CablePort::create({});
    auto sending = std::make_unique<StallingPort>(std::move(left->first), now_);
    sender_port = sending.get();
    a_ = make_endpoint(std::move(sending));
    in_ = std::move(left->second);
    out_ = std::move(right->first);
    b_ = make_endpoint(std::move(right->second));
    path_ = std::make_unique<ImpairedPath>(*in_, *out_, how);
  }

  base::Result<TrialResult> run(const TrialSpec& spec, const TesterSettings& settings = {}) {
    auto trial = Trial::create(spec, *a_, b_.get(), 4711);
    if (!trial.ok()) return trial.error();
    Trial& t = **trial;
    const Clock clock = Clock::manual(&now_);
    Sender sender(clock, t.time_shift, t.grace);
    for (const Stream& s : t.streams) sender.add(s);
    Receiver receiver(clock, t.time_shift, t.tag);
    for (const Ear& e : t.ears) receiver.add(e);
    for (;;) {
      const base::Nanos before = now_;
      const base::Nanos sender_next = sender.turn();
      path_->turn(now_);
      const base::Nanos next = std::min(sender_next, path_->next());
      while (receiver.turn() > 0) {
      }
      if (next == Sender::kNever) break;
      if (now_ == before) now_ = std::max(now_, next);
    }
    t.sender_use = sender.use();
    t.receiver_use = receiver.use();
    return t.evaluate(settings, false);
  }

  [[nodiscard]] const ImpairmentCounts& did() const { return path_->counts(); }
  StallingPort* sender_port = nullptr;

 private:
  base::Nanos now_ = 0;
  std::unique_ptr<Endpoint> a_, b_;
  std::unique_ptr<CablePort> in_, out_;
  std::unique_ptr<ImpairedPath> path_;
};

}  // namespace merlon::lab::test
