// SPDX-License-Identifier: Apache-2.0
#pragma once
// A port that plays a capture file and/or writes what it is told to send into one. For replay:
// queue 0 receives, any queue may transmit (writers meet at a mutex; this is no live path). Stamps
// and packet numbers come from the file, so a replay is the same on every machine. Cost: one copy
// per packet.
#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "merlon/io/buffer.h"
#include "merlon/io/pcap_file.h"
#include "merlon/io/port.h"
#include "merlon/io/queue_counters.h"

namespace merlon::io {

struct PcapPortSettings {
  std::string name;
  std::uint16_t number = 0;  // goes to burst.in_port
  std::string read_path;     // empty: receives nothing; "-": standard input
  std::string write_path;    // empty: sent packets are counted and dropped silently
  CaptureFormat write_format = CaptureFormat::kPcapNanos;
  LinkType write_link_type = LinkType::kEthernet;
};

class PcapPort final : public Port {
 public:
  static base::Result<std::unique_ptr<PcapPort>> create(PcapPortSettings settings,
                                                        std::shared_ptr<BufferPool> pool);
  ~PcapPort() override;

  // Appends packets of one link type. When no buffer is free the packet waits for the next call;
  // after 1,024 calls in a row without one it is dropped and counted in rx_dropped, so that a
  // replay always ends.
  void receive(unsigned queue, packet::Burst& burst, unsigned limit) noexcept override;
  unsigned transmit(unsigned queue, void* const* handles, unsigned count) noexcept override;
  void release(unsigned queue, void* const* handles, unsigned count) noexcept override;
  void* allocate(unsigned queue, std::uint32_t size, base::Byte*& data) noexcept override;
  void set_length(void* handle, std::uint32_t length) noexcept override;

  [[nodiscard]] BufferKind buffer_kind() const noexcept override { return BufferKind::kNative; }
  [[nodiscard]] PortInfo info() const override;
  [[nodiscard]] PortCounters counters() const override;
  [[nodiscard]] bool is_exhausted() const noexcept override {
    return is_exhausted_.load(std::memory_order_acquire);
  }
  [[nodiscard]] LinkType link_type() const noexcept override { return link_type_; }

  // Continues with another source; only while no worker runs. Packet numbers start again at 1.
  base::Result<void> read_from(const std::string& path);
  void read_from(std::unique_ptr<CaptureReader> reader);
  // The source's own verdict: a fault after the last packet delivered. Ok when there is no source.
  [[nodiscard]] base::Result<void> read_status() const;
  [[nodiscard]] const CaptureReader* reader() const noexcept { return reader_.get(); }
  // Flushes and closes the written file; tells whether all of it is on disk.
  base::Result<void> close();

 private:
  PcapPort(PcapPortSettings settings, std::shared_ptr<BufferPool> pool);
  bool next_packet() noexcept;
  void warn_link_type() noexcept;

  const PcapPortSettings settings_;
  std::shared_ptr<BufferPool> pool_;
  std::unique_ptr<CaptureReader> reader_;
  CapturePacket pending_;
  bool has_pending_ = false;
  unsigned starved_turns_ = 0;
  LinkType link_type_ = LinkType::kEthernet;
  std::uint32_t warned_interfaces_ = 0;
  std::atomic<bool> is_exhausted_{false};
  QueueCounters rx_;
  Tally rx_link_type_, rx_cut_;

  std::mutex write_mutex_;
  std::unique_ptr<CaptureWriter> writer_;
  base::Nanos last_written_ = 0;
  QueueCounters tx_;
};

}  // namespace merlon::io
