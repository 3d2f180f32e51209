// SPDX-License-Identifier: Apache-2.0
#include "merlon/control/ports.h"

#include <fmt/format.h>

#include <algorithm>

#include "merlon/io/af_packet_port.h"
#include "merlon/io/pcap_port.h"
#ifdef MERLON_WITH_DPDK
#include "merlon/io/dpdk_port.h"
#endif

namespace merlon::control {
namespace {

using base::Errc;
using base::Error;
using engine::EngineConfig;
using engine::PortConfig;
using Ports = std::vector<std::unique_ptr<io::Port>>;

bool needs_dpdk(const PortConfig& p) {
  return p.type == PortConfig::Type::kPci || p.type == PortConfig::Type::kDevice;
}
bool is_capture(const PortConfig& p) { return p.type == PortConfig::Type::kPcap; }

// Receive queues of a port: as configured, else one per worker where the driver spreads
// symmetrically. Other ports don't: one worker polls them and spreads.
unsigned receive_queues(const PortConfig& p, unsigned workers) {
  if (p.rx_queues != 0) return std::min<unsigned>(p.rx_queues, workers);
  return p.type == PortConfig::Type::kPci ? workers : 1;
}

io::AfPacketPortSettings interface_settings(const EngineConfig& config, std::uint16_t number) {
  constexpr std::uint32_t kMinRing = 2048;
  const PortConfig& p = config.ports[number];
  io::AfPacketPortSettings s;
  s.name = p.name;
  s.number = number;
  s.interface = p.interface;
  s.rx_queues = receive_queues(p, config.workers);
  s.tx_queues = config.workers;
  s.rx_frames = std::max<std::uint32_t>(p.rx_descriptors, kMinRing);
  s.mtu = p.mtu;
  s.is_promiscuous = p.promiscuous;
  s.link_wait_ms = 2000;
  return s;
}

// Buffers that cannot run out: what the workers hold and what waits between them. Received frames
// wait in the kernel's ring.
io::BufferPoolSettings native_buffers(const EngineConfig& config) {
  constexpr std::uint32_t kInBursts = 256, kHandOverRing = 4096, kLargePerWorker = 256;
  const auto workers = static_cast<std::uint32_t>(config.workers);
  return {.small_count = 1024 + workers * (config.fragments.max_held + kInBursts) +
                         workers * (workers - 1) * kHandOverRing,
          .large_count = workers * kLargePerWorker};
}

// Captures take what comes as it is: there, notes for the kernel have no place.
base::Result<Ports> open_native(const EngineConfig& config) {
  auto pool = io::BufferPool::create(native_buffers(config));
  if (!pool) return pool.error();
  const bool has_captures = std::ranges::any_of(config.ports, is_capture);
  Ports ports;
  for (std::uint16_t n = 0; n < config.ports.size(); ++n) {
    const PortConfig& p = config.ports[n];
    if (is_capture(p)) {
      auto port = io::PcapPort::create(
          {.name = p.name, .number = n, .read_path = p.read_file, .write_path = p.write_file},
          *pool);
      if (!port) return port.error();
      ports.push_back(std::move(*port));
    } else {
      io::AfPacketPortSettings settings = interface_settings(config, n);
      settings.carries_offloads = !has_captures;
      auto port = io::AfPacketPort::create(std::move(settings), *pool);
      if (!port) return port.error();
      ports.push_back(std::move(*port));
    }
  }
  return ports;
}

#ifdef MERLON_WITH_DPDK
base::Result<void> start_dpdk(const EngineConfig& config, const PortOptions& options,
                              std::uint32_t buffers) {
  if (io::Dpdk::is_started()) return {};
  io::DpdkOptions dpdk;
  dpdk.instance = options.instance;
  dpdk.extra_arguments = options.eal_arguments;
  for (const PortConfig& p : config.ports)
    if (p.type == PortConfig::Type::kPci) dpdk.pci_addresses.push_back(p.pci_address);
  // Drivers' rings and the EAL's own tables come on top of the packet buffers.
  dpdk.memory_mib = 64 + static_cast<unsigned>(io::mbuf_memory_size(buffers, 2048) >> 20);
  return io::Dpdk::start(dpdk);
}

base::Result<Ports> open_dpdk(const EngineConfig& config, const PortOptions& options) {
  io::MbufDemand demand{.rx_queues = 0,
                        .tx_queues = 0,
                        .workers = config.workers,
                        .held_packets = config.fragments.max_held};
  for (const PortConfig& p : config.ports) {
    demand.rx_queues += receive_queues(p, config.workers);
    demand.tx_queues += config.workers;
    demand.rx_descriptors = std::max<std::uint32_t>(demand.rx_descriptors, p.rx_descriptors);
    demand.tx_descriptors = std::max<std::uint32_t>(demand.tx_descriptors, p.tx_descriptors);
  }
  const std::uint32_t buffers = io::mbufs_needed(demand);
  if (auto started = start_dpdk(config, options, buffers); !started) return started.error();
  auto pool = io::MbufPool::create({.count = buffers});
  if (!pool) return pool.error();
  Ports ports;
  for (std::uint16_t n = 0; n < config.ports.size(); ++n) {
    const PortConfig& p = config.ports[n];
    if (p.type == PortConfig::Type::kInterface) {
      auto port = io::AfPacketPort::create(interface_settings(config, n), *pool);
      if (!port) return port.error();
      ports.push_back(std::move(*port));
      continue;
    }
    auto port =
        io::DpdkPort::create({.name = p.name,
                              .number = n,
                              .device = p.type == PortConfig::Type::kPci ? p.pci_address : p.device,
                              .uio_driver = p.uio_driver,
                              .may_bind = options.may_bind,
                              .rx_queues = receive_queues(p, config.workers),
                              .tx_queues = config.workers,
                              .rx_descriptors = p.rx_descriptors,
                              .tx_descriptors = p.tx_descriptors,
                              .mtu = p.mtu,
                              .is_promiscuous = p.promiscuous},
                             *pool);
    if (!port) return port.error();
    ports.push_back(std::move(*port));
  }
  return ports;
}
#endif

}  // namespace

PortFactory live_ports(PortOptions options) {
  return [options = std::move(options)](const EngineConfig& config) -> base::Result<Ports> {
    if (std::ranges::none_of(config.ports, needs_dpdk)) return open_native(config);
    if (std::ranges::any_of(config.ports, is_capture))
      return Error{.code = Errc::kUnsupported,
                   .message = "capture files and DPDK devices can't be ports of one daemon",
                   .hint = "give the device string net_pcap0,rx_pcap=FILE for the capture"};
#ifdef MERLON_WITH_DPDK
    return open_dpdk(config, options);
#else
    return Error{
        .code = Errc::kUnsupported,
        .message = "this build has no ports by PCI address or device string: DPDK was left out",
        .hint = "`interface` ports and capture files work without DPDK"};
#endif
  };
}

}  // namespace merlon::control
