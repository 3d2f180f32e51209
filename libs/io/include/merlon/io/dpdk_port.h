// SPDX-License-Identifier: Apache-2.0
#pragma once
// A port on a DPDK device: a NIC by PCI address, or a software device by DPDK's device string
// (net_af_packet, net_af_xdp, net_tap, net_memif, net_vhost, net_pcap, net_null, net_ring, ...).
// Each queue belongs to one worker. When a device has fewer transmit queues than workers, workers
// share one behind a spin lock per burst. Cost: receive about 2 ns a packet over the driver's own.
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "merlon/io/dpdk.h"
#include "merlon/io/port.h"
#include "merlon/io/queue_counters.h"

namespace merlon::io {

struct DpdkPortSettings {
  std::string name;
  std::uint16_t number = 0;  // goes to burst.in_port
  std::string device;        // "0000:3b:00.0" or "net_af_packet0,iface=eth1"
  std::string uio_driver;    // kernel driver a NIC must be bound to; empty: as it is
  bool may_bind = false;     // bind it ourselves (root)
  unsigned rx_queues = 1;    // more than one only where the driver takes the symmetric RSS key
  unsigned tx_queues = 1;    // one per worker
  std::uint16_t rx_descriptors = 1024;
  std::uint16_t tx_descriptors = 1024;
  std::uint16_t mtu = 0;         // 0: leave the device's own
  bool is_promiscuous = true;    // a transparent device hears frames for others
  unsigned link_wait_ms = 2000;  // at most this long for the link at start
};

// Device strings for the software devices. `name` is the port's and makes the device name unique.
std::string af_packet_device(const std::string& name, const std::string& interface);
std::string af_xdp_device(const std::string& name, const std::string& interface);
std::string tap_device(const std::string& name, const std::string& interface);
std::string memif_device(const std::string& name, bool is_server, const std::string& socket,
                         unsigned id = 0);
std::string vhost_device(const std::string& name, const std::string& socket);
std::string null_device(const std::string& name, unsigned packet_size = 64);
// Either path may be empty.
std::string pcap_device(const std::string& name, const std::string& read_path,
                        const std::string& write_path, bool is_endless = false);

class DpdkPort final : public Port {
 public:
  // Opens, configures and starts the device and logs what it is. Dpdk::start() first.
  static base::Result<std::unique_ptr<DpdkPort>> create(const DpdkPortSettings& settings,
                                                        std::shared_ptr<MbufPool> pool);
  ~DpdkPort() override;  // stops and detaches the device

  void receive(unsigned queue, packet::Burst& burst, unsigned limit) noexcept override;
  unsigned transmit(unsigned queue, void* const* handles, unsigned count) noexcept override;
  void release(unsigned queue, void* const* handles, unsigned count) noexcept override;
  void* allocate(unsigned queue, std::uint32_t size, base::Byte*& data) noexcept override;
  void set_length(void* handle, std::uint32_t length) noexcept override;

  [[nodiscard]] BufferKind buffer_kind() const noexcept override { return BufferKind::kDpdk; }
  [[nodiscard]] PortInfo info() const override;
  [[nodiscard]] PortCounters counters() const override;

  // Where the driver can't read the link (af_packet, af_xdp) the kernel's interface is asked. While
  // we hold the link down ourselves nothing is reported.
  bool poll_link() override;
  // By the driver, else by the kernel interface's flags.
  base::Result<void> set_link(bool up) override;

 private:
  struct alignas(64) TxQueue {
    Tally dropped;
    std::atomic_flag busy;
    bool is_shared = false;
  };
  struct Link {
    bool is_up = false, is_full_duplex = true;
    std::uint32_t speed_mbps = 0;
    friend bool operator==(const Link&, const Link&) = default;
  };

  DpdkPort(DpdkPortSettings settings, std::shared_ptr<MbufPool> pool);
  base::Result<void> attach();
  base::Result<void> configure();
  base::Result<void> set_up_queues();
  base::Result<void> start();
  base::Error failed(const char* what, int code) const;
  [[nodiscard]] Link read_link() const;
  void log_link(const Link& link) const;
  void wait_for_link();
  unsigned send(TxQueue& queue, unsigned index, void* const* handles, unsigned count) noexcept;

  const DpdkPortSettings settings_;
  std::shared_ptr<MbufPool> pool_;
  std::uint16_t id_ = 0;
  std::uint16_t number_ = 0;
  std::uint16_t rx_queues_ = 1, tx_queues_ = 1;
  bool is_attached_ = false;
  bool is_started_ = false;
  bool has_rss_ = false;
  std::string interface_;  // kernel interface behind the device, if any
  std::unique_ptr<TxQueue[]> tx_;

  mutable std::mutex link_mutex_;  // control threads
  Link link_;
  bool is_held_down_ = false;
};

}  // namespace merlon::io
