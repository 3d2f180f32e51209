// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the engine is told: plain values, filled by the configuration loader or by a test. Names of
// ports and zones are resolved by number: port n is EngineConfig::ports[n].
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "merlon/flow/options.h"
#include "merlon/packet/fragments.h"
#include "merlon/packet/parse.h"

namespace merlon::engine {

struct PortConfig {
  enum class Type : std::uint8_t {
    kPci,        // NIC by PCI address
    kDevice,     // DPDK device string: "net_af_xdp0,iface=eth1"
    kPcap,       // native capture files, no DPDK
    kRing,       // in memory, for tests
    kInterface,  // kernel interface through our own AF_PACKET port, no DPDK
  };
  std::string name{};
  Type type = Type::kDevice;
  std::string pci_address{};  // "0000:8a:00.0"
  std::string uio_driver{};  // vfio-pci | igb_uio | uio_pci_generic; empty: leave the binding alone
  std::string device{};      // kDevice
  std::string interface {};  // kInterface: "eth1"
  std::string read_file{}, write_file{};  // kPcap; empty: nothing to read / write
  std::uint16_t mtu = 0;                  // 0: leave as it is
  std::uint16_t rx_queues = 0;            // 0: one per worker
  std::uint16_t rx_descriptors = 1024, tx_descriptors = 1024;
  bool promiscuous = true;
};

// Two ports forwarded transparently into one another.
struct WireConfig {
  std::string name{};
  std::uint16_t port_a = 0, port_b = 0;
  bool follow_link = true;  // take the other link down when one goes down
  bool fail_open = false;   // forward unjudged what finds the session table full
};

enum class Pass : std::uint8_t { kForward, kDrop };

struct EngineConfig {
  unsigned workers = 1;
  std::vector<unsigned> worker_cores;  // empty: not pinned
  std::vector<PortConfig> ports;
  std::vector<WireConfig> wires;
  std::vector<std::uint16_t> taps;  // port numbers; a port is in one wire or one tap
  // Sessions remember by which side of their wire the initiator comes in. Not in a replay, where
  // both directions may come in by one port; nor on a wire with a port that reads a capture.
  bool tells_sides = true;
  packet::ParseOptions parse{};
  packet::FragmentOptions fragments{};
  flow::TableOptions table{};  // max_sessions of all workers together
  flow::Timeouts timeouts = flow::default_timeouts();
  flow::TcpOptions tcp{};
  flow::SessionLimits limits{};
  Pass non_ip = Pass::kForward;                // ARP and neighbour discovery always pass
  Pass table_full = Pass::kDrop;               // new sessions when nothing may be evicted
  std::uint32_t drop_events_per_second = 100;  // sampled beyond; losses are counted
  std::uint32_t drop_ring_packets = 16;        // last packets kept per drop reason and worker
  std::uint32_t event_ring_records = 65'536;   // per worker
  std::uint32_t reject_per_second = 1000;      // RST and ICMP unreachable made, per worker
  // A worker takes a new snapshot within microseconds; one that does not for this long is stuck or
  // starved, which is told and keeps the old snapshot alive, and is never a reason to free it. As
  // long a worker may take for a piece of a request (mailbox.h) before control waits no more.
  base::Nanos publish_patience = 2 * base::kNanosPerSecond;
};

}  // namespace merlon::engine
