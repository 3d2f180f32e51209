// SPDX-License-Identifier: Apache-2.0
#pragma once
// A port whose frames come from Traffic and whose transmit side counts and forgets. For benchmarks
// with more conversations than packet memory can hold. Two of them make a wire: number 0 faces the
// clients, 1 the servers. Frames are written by the receiving core itself, so they are in its
// cache, where a NIC's would be in the third level; the cost of making them is part of what is
// measured and is told apart by `--way io`.
#include <memory>
#include <string>
#include <vector>

#include "merlon/io/port.h"
#include "merlon/io/queue_counters.h"
#include "traffic.h"

namespace merlon::perf {

class SyntheticPort final : public io::Port {
 public:
  // traffic[queue]; shared with the other port of the wire.
  SyntheticPort(std::string name, std::uint16_t number,
                std::vector<std::shared_ptr<Traffic>> traffic, bool checks_order)
      : name_(std::move(name)),
        number_(number),
        traffic_(std::move(traffic)),
        queues_(traffic_.size()),
        checks_order_(checks_order) {}

  void receive(unsigned queue, packet::Burst& burst, unsigned limit) noexcept override {
    const unsigned before = burst.count;
    traffic_[queue]->fill(number_, burst, limit - before);
    if (burst.count != before) queues_[queue].received.packets.add(burst.count - before);
  }

  unsigned transmit(unsigned queue, void* const* handles, unsigned count) noexcept override {
    Queue& q = queues_[queue];
    q.sent.packets.add(count);
    if (!checks_order_) return count;
    for (unsigned i = 0; i < count; ++i) {
      const std::uint64_t number = Traffic::number_of(handles[i]);
      if (number != q.expected) q.sent.errors.add(1);
      q.expected = number + 1;
    }
    return count;
  }

  void release(unsigned, void* const*, unsigned) noexcept override {}
  // Rejects are not measured.
  void* allocate(unsigned, std::uint32_t, base::Byte*&) noexcept override { return nullptr; }
  void set_length(void*, std::uint32_t) noexcept override {}

  [[nodiscard]] io::BufferKind buffer_kind() const noexcept override {
    return io::BufferKind::kNative;
  }
  [[nodiscard]] io::PortInfo info() const override {
    const auto queues = static_cast<unsigned>(traffic_.size());
    return {.name = name_,
            .device = "synthetic",
            .driver = "synthetic",
            .is_link_up = true,
            .mtu = 1500,
            .rx_queues = queues,
            .tx_queues = queues};
  }
  // tx_errors: frames that did not follow the one before, when the order is checked.
  [[nodiscard]] io::PortCounters counters() const override {
    io::PortCounters c;
    for (const Queue& q : queues_) {
      c.rx_packets += q.received.packets.get();
      c.tx_packets += q.sent.packets.get();
      c.tx_errors += q.sent.errors.get();
    }
    return c;
  }

 private:
  struct Queue {
    io::QueueCounters received, sent;
    std::uint64_t expected = 0;
  };

  const std::string name_;
  const std::uint16_t number_;
  const std::vector<std::shared_ptr<Traffic>> traffic_;
  std::vector<Queue> queues_;
  const bool checks_order_;
};

}  // namespace merlon::perf
