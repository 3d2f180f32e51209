// SPDX-License-Identifier: Apache-2.0
#include "merlon/io/ring_port.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "merlon/base/log.h"
#include "merlon/base/make_error.h"

namespace merlon::io {
namespace {

constexpr unsigned kMaxQueues = 64;
constexpr unsigned kMaxDepth = 1U << 20;

}  // namespace

RingPort::RingPort(RingPortSettings settings, std::shared_ptr<BufferPool> pool)
    : settings_(std::move(settings)), pool_(std::move(pool)) {
  for (unsigned q = 0; q < settings_.rx_queues; ++q)
    rx_.push_back(std::make_unique<Queue>(settings_.depth));
  for (unsigned q = 0; q < settings_.tx_queues; ++q)
    tx_.push_back(std::make_unique<Queue>(settings_.depth));
}

RingPort::~RingPort() {
  for (auto* side : {&rx_, &tx_}) {
    for (auto& q : *side) {
      Buffer* b = nullptr;
      while (q->ring.pop(b)) {
        void* handle = b;
        BufferPool::release(&handle, 1);
      }
    }
  }
}

base::Result<std::unique_ptr<RingPort>> RingPort::create(RingPortSettings settings,
                                                         std::shared_ptr<BufferPool> pool) {
  if (settings.rx_queues == 0 || settings.rx_queues > kMaxQueues || settings.tx_queues == 0 ||
      settings.tx_queues > kMaxQueues || settings.depth > kMaxDepth ||
      !std::has_single_bit(settings.depth))
    return make_error(
        base::Errc::kInvalidValue,
        fmt::format("ring port {}: {} + {} queues of depth {} are out of range", settings.name,
                    settings.rx_queues, settings.tx_queues, settings.depth),
        "1 to 64 queues, depth a power of two up to 1048576");
  return std::unique_ptr<RingPort>(new RingPort(std::move(settings), std::move(pool)));
}

bool RingPort::inject(base::ByteSpan bytes, base::Nanos time, unsigned queue,
                      std::uint32_t length) {
  if (queue >= rx_.size() || !carrier_.load(std::memory_order_relaxed)) return false;
  Queue& q = *rx_[queue];
  const auto size = static_cast<std::uint32_t>(bytes.size());
  Buffer* b = bytes.size() <= pool_->large_size() ? pool_->allocate(size) : nullptr;
  if (b == nullptr) {
    q.counters.dropped.add(1);
    return false;
  }
  if (size > 0) std::memcpy(b->data, bytes.data(), size);
  b->length = size;
  b->wire_length = std::max(length, size);
  b->time = time;
  b->number = injected_.fetch_add(1, std::memory_order_relaxed) + 1;
  if (!q.ring.push(b)) {
    void* handle = b;
    BufferPool::release(&handle, 1);
    q.counters.dropped.add(1);
    return false;
  }
  return true;
}

std::vector<RingFrame> RingPort::take() {
  std::vector<RingFrame> frames;
  for (unsigned i = 0; i < tx_.size(); ++i) {
    Buffer* b = nullptr;
    while (tx_[i]->ring.pop(b)) {
      frames.push_back({{b->data, b->data + b->length},
                        std::max(b->length, b->wire_length),
                        b->time,
                        b->number,
                        i});
      void* handle = b;
      BufferPool::release(&handle, 1);
    }
  }
  return frames;
}

void RingPort::receive(unsigned queue, packet::Burst& burst, unsigned limit) noexcept {
  if (queue >= rx_.size()) return;
  Queue& q = *rx_[queue];
  limit = std::min(limit, packet::Burst::kCapacity);
  const unsigned first = burst.count;
  std::uint64_t bytes = 0;
  Buffer* b = nullptr;
  while (burst.count < limit && q.ring.pop(b)) {
    const unsigned i = burst.count++;
    burst.handle[i] = b;
    burst.data[i] = b->data;
    burst.captured[i] = b->length;
    burst.length[i] = b->wire_length;
    burst.in_port[i] = settings_.number;
    burst.time[i] = b->time;
    burst.number[i] = b->number;
    bytes += b->wire_length;
  }
  if (burst.count == first) return;
  q.counters.packets.add(burst.count - first);
  q.counters.bytes.add(bytes);
}

unsigned RingPort::transmit(unsigned queue, void* const* handles, unsigned count) noexcept {
  unsigned sent = 0;
  std::uint64_t bytes = 0;
  if (queue < tx_.size()) {
    Queue& q = *tx_[queue];
    for (; sent < count; ++sent) {
      auto* b = static_cast<Buffer*>(handles[sent]);
      const std::uint32_t length = std::max(b->length, b->wire_length);
      // Ours until pushed; the far side may free it at once.
      if (!q.ring.push(b)) break;
      bytes += length;
    }
    q.counters.packets.add(sent);
    q.counters.bytes.add(bytes);
    q.counters.dropped.add(count - sent);
  }
  if (sent < count) BufferPool::release(handles + sent, count - sent);
  return sent;
}

void RingPort::release(unsigned, void* const* handles, unsigned count) noexcept {
  BufferPool::release(handles, count);
}

void* RingPort::allocate(unsigned, std::uint32_t size, base::Byte*& data) noexcept {
  if (size > pool_->large_size()) return nullptr;
  Buffer* b = pool_->allocate(size);
  if (b != nullptr) data = b->data;
  return b;
}

void RingPort::set_length(void* handle, std::uint32_t length) noexcept {
  auto* b = static_cast<Buffer*>(handle);
  b->length = b->wire_length = std::min(length, b->capacity);
}

bool RingPort::poll_link() {
  const bool up = carrier_.load(std::memory_order_relaxed);
  if (up == last_seen_) return false;
  last_seen_ = up;
  base::log(base::LogLevel::kInfo, "port", "{}: link {}", settings_.name, up ? "up" : "down");
  return true;
}

base::Result<void> RingPort::set_link(bool up) {
  told_up_.store(up, std::memory_order_relaxed);
  return {};
}

PortInfo RingPort::info() const {
  PortInfo i;
  i.name = settings_.name;
  i.device = "ring";
  i.driver = "ring";
  i.mac = settings_.mac;
  i.is_link_up = carrier_.load(std::memory_order_relaxed);
  i.mtu = settings_.mtu;
  i.rx_queues = settings_.rx_queues;
  i.tx_queues = settings_.tx_queues;
  return i;
}

PortCounters RingPort::counters() const {
  PortCounters c;
  for (const auto& q : rx_) {
    c.rx_packets += q->counters.packets.get();
    c.rx_bytes += q->counters.bytes.get();
    c.rx_dropped += q->counters.dropped.get();
  }
  for (const auto& q : tx_) {
    c.tx_packets += q->counters.packets.get();
    c.tx_bytes += q->counters.bytes.get();
    c.tx_dropped += q->counters.dropped.get();
  }
  return c;
}

}  // namespace merlon::io
