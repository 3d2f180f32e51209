// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_traffic/cable_port.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "merlon/base/make_error.h"

namespace merlon::lab {
namespace {

constexpr unsigned kMaxDepth = 1U << 20;

}  // namespace

// Frames still on their way go back to the pool with the last end.
struct CablePort::Direction {
  Direction(unsigned depth, std::shared_ptr<io::BufferPool> buffers)
      : pool(std::move(buffers)), ring(depth) {}
  ~Direction() {
    io::Buffer* b = nullptr;
    while (ring.pop(b)) {
      void* handle = b;
      io::BufferPool::release(&handle, 1);
    }
  }
  Direction(const Direction&) = delete;
  Direction& operator=(const Direction&) = delete;

  std::shared_ptr<io::BufferPool> pool;
  base::SpscRing<io::Buffer*> ring;
};

CablePort::CablePort(Settings settings, std::shared_ptr<io::BufferPool> pool,
                     std::shared_ptr<Direction> in, std::shared_ptr<Direction> out)
    : settings_(std::move(settings)),
      pool_(std::move(pool)),
      in_(std::move(in)),
      out_(std::move(out)) {}

base::Result<std::pair<std::unique_ptr<CablePort>, std::unique_ptr<CablePort>>> CablePort::create(
    const Settings& settings) {
  if (settings.depth < 2 || settings.depth > kMaxDepth || !std::has_single_bit(settings.depth))
    return base::invalid(
        fmt::format("cable {}: depth {} is out of range", settings.name, settings.depth),
        "a power of two from 2 to 1048576");
  io::BufferPoolSettings memory;
  // Both directions full and a burst in each hand.
  memory.small_count = 2 * settings.depth + 4 * packet::Burst::kCapacity;
  memory.large_count = 512;
  memory.large_size = 16'384;
  auto pool = io::BufferPool::create(memory);
  if (!pool.ok()) return pool.error();
  auto there = std::make_shared<Direction>(settings.depth, *pool);
  auto back = std::make_shared<Direction>(settings.depth, *pool);
  std::unique_ptr<CablePort> a(new CablePort(settings, *pool, back, there));
  std::unique_ptr<CablePort> b(new CablePort(settings, *pool, there, back));
  return std::pair{std::move(a), std::move(b)};
}

void CablePort::receive(unsigned, packet::Burst& burst, unsigned limit) noexcept {
  limit = std::min(limit, packet::Burst::kCapacity);
  const unsigned first = burst.count;
  std::uint64_t bytes = 0;
  io::Buffer* b = nullptr;
  while (burst.count < limit && in_->ring.pop(b)) {
    const unsigned i = burst.count++;
    burst.handle[i] = b;
    burst.data[i] = b->data;
    burst.captured[i] = burst.length[i] = b->length;
    burst.in_port[i] = 0;
    burst.time[i] = 0;
    bytes += b->length;
  }
  if (burst.count == first) return;
  rx_.packets.add(burst.count - first);
  rx_.bytes.add(bytes);
}

unsigned CablePort::transmit(unsigned, void* const* handles, unsigned count) noexcept {
  unsigned sent = 0;
  std::uint64_t bytes = 0;
  for (; sent < count; ++sent) {
    auto* b = static_cast<io::Buffer*>(handles[sent]);
    const std::uint32_t length = b->length;  // the other side may have it once it is pushed
    if (!out_->ring.push(b)) break;
    bytes += length;
  }
  if (sent < count) {
    io::BufferPool::release(handles + sent, count - sent);
    tx_.dropped.add(count - sent);
  }
  tx_.packets.add(sent);
  tx_.bytes.add(bytes);
  return sent;
}

void CablePort::release(unsigned, void* const* handles, unsigned count) noexcept {
  io::BufferPool::release(handles, count);
}

void* CablePort::allocate(unsigned, std::uint32_t size, base::Byte*& data) noexcept {
  if (size > pool_->large_size()) return nullptr;
  io::Buffer* b = pool_->allocate(size);
  if (b == nullptr) return nullptr;
  b->time = 0;
  b->number = 0;
  data = b->data;
  return b;
}

void CablePort::set_length(void* handle, std::uint32_t length) noexcept {
  auto* b = static_cast<io::Buffer*>(handle);
  b->length = b->wire_length = std::min(length, b->capacity);
}

io::PortInfo CablePort::info() const {
  io::PortInfo i;
  i.name = i.device = settings_.name;
  i.driver = "cable";
  i.is_link_up = true;
  i.mtu = settings_.mtu;
  return i;
}

io::PortCounters CablePort::counters() const {
  io::PortCounters c;
  c.rx_packets = rx_.packets.get();
  c.rx_bytes = rx_.bytes.get();
  c.tx_packets = tx_.packets.get();
  c.tx_bytes = tx_.bytes.get();
  c.tx_dropped = tx_.dropped.get();
  return c;
}

}  // namespace merlon::lab
