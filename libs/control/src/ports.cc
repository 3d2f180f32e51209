// SPDX-License-Identifier: Apache-2.0
#include "merlon/control/ports.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "merlon/base/log.h"
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
                              .is_promiscuous = p.promiscuous,
                              .link_wait_ms = 0},
                             *pool);
    if (!port) return port.error();
    ports.push_back(std::move(*port));
  }
  return ports;
}
#endif

base::Result<Ports> open_ports(const EngineConfig& config,
                               [[maybe_unused]] const PortOptions& options) {
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
}

// Names of the ports whose link is down, of those that wait for a partner or of the others.
std::string down_ports(std::span<const std::unique_ptr<io::Port>> ports, bool by_peer) {
  std::string names;
  for (const auto& p : ports) {
    const io::PortInfo info = p->info();
    if (info.is_link_up || info.is_link_by_peer != by_peer) continue;
    names += (names.empty() ? "" : ", ") + info.name;
  }
  return names;
}

}  // namespace

void wait_for_links(std::span<const std::unique_ptr<io::Port>> ports,
                    std::chrono::milliseconds patience) {
  constexpr std::chrono::milliseconds kLook{20};
  if (const std::string names = down_ports(ports, true); !names.empty())
    base::log(base::LogLevel::kInfo, "port",
              "{}: nobody is connected yet; not waited for, frames pass once somebody is", names);
  std::string names = down_ports(ports, false);
  if (names.empty()) return;
  base::log(base::LogLevel::kInfo, "port", "waiting for the link of {}, {} ms at most", names,
            patience.count());
  for (std::chrono::milliseconds waited{0}; !names.empty() && waited < patience; waited += kLook) {
    std::this_thread::sleep_for(kLook);
    for (const auto& p : ports) p->poll_link();
    names = down_ports(ports, false);
  }
  if (!names.empty())
    base::log(base::LogLevel::kWarning, "port", "{}: still no link; starting without", names);
}

PortFactory live_ports(PortOptions options) {
  return [options = std::move(options)](const EngineConfig& config) -> base::Result<Ports> {
    auto ports = open_ports(config, options);
    if (ports) wait_for_links(*ports);
    return ports;
  };
}

}  // namespace merlon::control
