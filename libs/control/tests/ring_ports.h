// SPDX-License-Identifier: Apache-2.0
#pragma once
// A daemon's ports in memory, and one that a test can make its worker hang in.
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "merlon/engine/config.h"
#include "merlon/io/ring_port.h"

namespace merlon::control::test {

inline base::Result<std::vector<std::unique_ptr<io::Port>>> ring_ports(
    const engine::EngineConfig& config) {
  auto pool = io::BufferPool::create({.small_count = 64, .large_count = 4});
  if (!pool) return pool.error();
  std::vector<std::unique_ptr<io::Port>> ports;
  for (std::uint16_t n = 0; n < config.ports.size(); ++n) {
    auto port =
        io::RingPort::create({.name = config.ports[n].name, .number = n, .depth = 2}, *pool);
    if (!port) return port.error();
    ports.push_back(std::move(*port));
  }
  return ports;
}

// While `holds` is set, receive() does not come back.
class HoldingPort final : public io::Port {
 public:
  HoldingPort(std::unique_ptr<io::Port> port, std::atomic<bool>& holds)
      : port_(std::move(port)), holds_(holds) {}

  void receive(unsigned queue, packet::Burst& burst, unsigned limit) noexcept override {
    while (holds_.load()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    port_->receive(queue, burst, limit);
  }
  unsigned transmit(unsigned queue, void* const* handles, unsigned count) noexcept override {
    return port_->transmit(queue, handles, count);
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
  std::atomic<bool>& holds_;
};

}  // namespace merlon::control::test
