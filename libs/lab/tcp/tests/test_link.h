// SPDX-License-Identifier: Apache-2.0
#pragma once
// A cable between two ports in virtual time, which loses, doubles, delays and forges as a test
// says. One thread.
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "merlon/io/buffer.h"
#include "merlon/lab_tcp/segment.h"
#include "merlon/lab_tcp/tcp_load.h"

namespace merlon::lab::tcp {

// Moves by itself: a turn takes `step`.
class TestClock final : public LoadClock {
 public:
  explicit TestClock(base::Nanos step) : step_(step) {}
  base::Nanos now() noexcept override { return time_ += step_; }
  [[nodiscard]] base::Nanos read() const noexcept { return time_; }

 private:
  base::Nanos time_ = 1'000'000'000;
  const base::Nanos step_;
};

struct Impairment {
  double loss = 0, duplicate = 0, reorder = 0;  // shares of frames
  base::Nanos delay = 100'000, reorder_by = 400'000;
  unsigned seed = 1;
};

class TestLink {
 public:
  using Bytes = std::vector<base::Byte>;
  // Sees each frame and its direction (0: from a) before any impairment; false: it is lost. May
  // call insert().
  using Watch = std::function<bool(unsigned direction, base::ByteSpan frame)>;

  TestLink(TestClock& clock, Impairment impairment)
      : clock_(clock),
        impairment_(impairment),
        random_(impairment.seed),
        pool_(*io::BufferPool::create({.small_count = 65'536, .large_count = 1})),
        a_(std::make_unique<LinkPort>(*this, 0)),
        b_(std::make_unique<LinkPort>(*this, 1)) {}

  std::unique_ptr<Endpoint> a() { return make_endpoint(std::move(a_)); }
  std::unique_ptr<Endpoint> b() { return make_endpoint(std::move(b_)); }
  void watch(Watch w) { watch_ = std::move(w); }
  void insert(unsigned direction, const Bytes& frame) {
    queue_[direction].emplace(clock_.read(), frame);
  }
  [[nodiscard]] std::uint64_t frames(unsigned direction) const { return frames_[direction]; }
  [[nodiscard]] std::uint64_t lost() const { return lost_; }

 private:
  class LinkPort final : public io::Port {
   public:
    LinkPort(TestLink& link, unsigned side) : link_(link), side_(side) {}

    void receive(unsigned, packet::Burst& burst, unsigned limit) noexcept override {
      auto& queue = link_.queue_[1 - side_];
      while (burst.count < limit && !queue.empty() && queue.begin()->first <= link_.clock_.read()) {
        const Bytes& frame = queue.begin()->second;
        io::Buffer* b = link_.pool_->allocate(static_cast<std::uint32_t>(frame.size()));
        std::copy(frame.begin(), frame.end(), b->data);
        burst.handle[burst.count] = b;
        burst.data[burst.count] = b->data;
        burst.captured[burst.count] = burst.length[burst.count] =
            static_cast<std::uint32_t>(frame.size());
        ++burst.count;
        queue.erase(queue.begin());
      }
    }
    unsigned transmit(unsigned, void* const* handles, unsigned count) noexcept override {
      for (unsigned i = 0; i < count; ++i) {
        const auto* b = static_cast<io::Buffer*>(handles[i]);
        link_.carry(side_, {b->data, b->length});
      }
      io::BufferPool::release(handles, count);
      return count;
    }
    void release(unsigned, void* const* handles, unsigned count) noexcept override {
      io::BufferPool::release(handles, count);
    }
    void* allocate(unsigned, std::uint32_t size, base::Byte*& data) noexcept override {
      io::Buffer* b = link_.pool_->allocate(size);
      if (b != nullptr) data = b->data;
      return b;
    }
    void set_length(void* handle, std::uint32_t length) noexcept override {
      static_cast<io::Buffer*>(handle)->length = length;
    }
    [[nodiscard]] io::BufferKind buffer_kind() const noexcept override {
      return io::BufferKind::kNative;
    }
    [[nodiscard]] io::PortInfo info() const override {
      io::PortInfo i;
      i.mac = {{2, 0, 0, 0, 0, static_cast<base::Byte>(1 + side_)}};
      return i;
    }
    [[nodiscard]] io::PortCounters counters() const override { return {}; }

   private:
    TestLink& link_;
    const unsigned side_;
  };

  bool draw(double share) {
    return share > 0 && std::uniform_real_distribution<>()(random_) < share;
  }
  void carry(unsigned direction, base::ByteSpan frame) {
    ++frames_[direction];
    if ((watch_ && !watch_(direction, frame)) || draw(impairment_.loss)) {
      ++lost_;
      return;
    }
    const unsigned copies = draw(impairment_.duplicate) ? 2 : 1;
    for (unsigned i = 0; i < copies; ++i) {
      base::Nanos at = clock_.read() + impairment_.delay;
      if (draw(impairment_.reorder)) at += impairment_.reorder_by;
      queue_[direction].emplace(at, Bytes(frame.begin(), frame.end()));
    }
  }

  TestClock& clock_;
  const Impairment impairment_;
  std::mt19937_64 random_;
  std::shared_ptr<io::BufferPool> pool_;
  std::multimap<base::Nanos, Bytes> queue_[2];
  std::unique_ptr<LinkPort> a_, b_;
  Watch watch_;
  std::uint64_t frames_[2]{}, lost_ = 0;
};

}  // namespace merlon::lab::tcp
