// SPDX-License-Identifier: Apache-2.0
#pragma once
// A port in memory, for tests, text cases and the laboratory: one side injects frames and takes
// what was sent, the other is a Port like any. Each queue is a bounded ring with one producer and
// one consumer, so the two sides may be two threads. Link can be pulled. Cost: one copy per packet.
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "merlon/base/spsc_ring.h"
#include "merlon/io/buffer.h"
#include "merlon/io/port.h"
#include "merlon/io/queue_counters.h"

namespace merlon::io {

struct RingPortSettings {
  std::string name;
  std::uint16_t number = 0;  // goes to burst.in_port
  unsigned rx_queues = 1;
  unsigned tx_queues = 1;
  unsigned depth = 1024;  // frames per queue, a power of two
  base::MacAddress mac{};
  std::uint16_t mtu = 1500;  // told, not enforced
  LinkType link_type = LinkType::kEthernet;
};

// One frame as it left.
struct RingFrame {
  std::vector<base::Byte> bytes;
  std::uint32_t length = 0;  // on the wire
  base::Nanos time = 0;      // stamp of the injected frame; 0 when the device made it
  std::uint64_t number = 0;  // number of the injected frame; 0 when the device made it
  unsigned queue = 0;
};

class RingPort final : public Port {
 public:
  static base::Result<std::unique_ptr<RingPort>> create(RingPortSettings settings,
                                                        std::shared_ptr<BufferPool> pool);
  ~RingPort() override;

  // The far side. inject() numbers frames from 1; false when the queue or the pool is full (counted
  // in rx_dropped) or the link is down. `length` 0 means bytes.size(). One thread per queue.
  bool inject(base::ByteSpan bytes, base::Nanos time, unsigned queue = 0, std::uint32_t length = 0);
  // Everything sent so far, queue by queue, each in order. One thread.
  std::vector<RingFrame> take();

  void receive(unsigned queue, packet::Burst& burst, unsigned limit) noexcept override;
  unsigned transmit(unsigned queue, void* const* handles, unsigned count) noexcept override;
  void release(unsigned queue, void* const* handles, unsigned count) noexcept override;
  void* allocate(unsigned queue, std::uint32_t size, base::Byte*& data) noexcept override;
  void set_length(void* handle, std::uint32_t length) noexcept override;

  [[nodiscard]] BufferKind buffer_kind() const noexcept override { return BufferKind::kNative; }
  [[nodiscard]] PortInfo info() const override;
  [[nodiscard]] PortCounters counters() const override;
  [[nodiscard]] LinkType link_type() const noexcept override { return settings_.link_type; }
  bool poll_link() override;
  // Our side; is_peer_told_up() is what the far side sees.
  base::Result<void> set_link(bool up) override;

  // The far side pulls or plugs the cable.
  void set_carrier(bool up) noexcept { carrier_.store(up, std::memory_order_relaxed); }
  [[nodiscard]] bool is_peer_told_up() const noexcept {
    return told_up_.load(std::memory_order_relaxed);
  }

 private:
  struct Queue {
    explicit Queue(unsigned depth) : ring(depth) {}
    base::SpscRing<Buffer*> ring;
    QueueCounters counters;
  };

  RingPort(RingPortSettings settings, std::shared_ptr<BufferPool> pool);

  const RingPortSettings settings_;
  std::shared_ptr<BufferPool> pool_;
  std::vector<std::unique_ptr<Queue>> rx_, tx_;
  std::atomic<std::uint64_t> injected_{0};
  std::atomic<bool> carrier_{true}, told_up_{true};
  bool last_seen_ = true;
};

}  // namespace merlon::io
