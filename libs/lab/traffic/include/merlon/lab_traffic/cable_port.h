// SPDX-License-Identifier: Apache-2.0
#pragma once
// Two ports joined in memory: what one sends the other receives, by handle, without a copy. The
// null path without a kernel, and both sides of devices in tests. Threads: as io::Port; each
// direction has one producer and one consumer.
#include <memory>
#include <string>
#include <utility>

#include "merlon/base/spsc_ring.h"
#include "merlon/io/buffer.h"
#include "merlon/io/port.h"
#include "merlon/io/queue_counters.h"

namespace merlon::lab {

class CablePort final : public io::Port {
 public:
  struct Settings {
    std::string name = "cable";
    unsigned depth = 4096;  // frames on their way in one direction, a power of two
    std::uint16_t mtu = 9000;
  };
  // Both ends. kInvalidValue for a depth out of range (2 to 2^20), kCapacity without memory.
  static base::Result<std::pair<std::unique_ptr<CablePort>, std::unique_ptr<CablePort>>> create(
      const Settings& settings);
  ~CablePort() override = default;

  void receive(unsigned queue, packet::Burst& burst, unsigned limit) noexcept override;
  unsigned transmit(unsigned queue, void* const* handles, unsigned count) noexcept override;
  void release(unsigned queue, void* const* handles, unsigned count) noexcept override;
  void* allocate(unsigned queue, std::uint32_t size, base::Byte*& data) noexcept override;
  void set_length(void* handle, std::uint32_t length) noexcept override;

  [[nodiscard]] io::BufferKind buffer_kind() const noexcept override {
    return io::BufferKind::kNative;
  }
  [[nodiscard]] io::PortInfo info() const override;
  [[nodiscard]] io::PortCounters counters() const override;

 private:
  struct Direction;
  CablePort(Settings settings, std::shared_ptr<io::BufferPool> pool, std::shared_ptr<Direction> in,
            std::shared_ptr<Direction> out);

  const Settings settings_;
  std::shared_ptr<io::BufferPool> pool_;
  std::shared_ptr<Direction> in_, out_;
  io::QueueCounters rx_, tx_;
};

}  // namespace merlon::lab
