// SPDX-License-Identifier: Apache-2.0
// The packet path of a DPDK port and what control asks of it; opening a device is in
// dpdk_port_setup.cc.
#include "merlon/io/dpdk_port.h"

#include <fmt/format.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_pause.h>
#include <rte_prefetch.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

#include "kernel_link.h"
#include "merlon/base/bytes.h"
#include "merlon/base/log.h"
#include "merlon/base/make_error.h"

namespace merlon::io {
namespace {

// Tries with a full queue before frames are given up: some microseconds, so that a short burst of
// the other side does not lose frames and a dead one does not hold the worker.
constexpr unsigned kMaxTransmitTries = 16;

rte_mbuf* as_mbuf(void* handle) noexcept { return static_cast<rte_mbuf*>(handle); }

// DPDK takes arrays of rte_mbuf*; void* has the same form on every system DPDK runs on.
rte_mbuf** as_mbufs(void* const* handles) noexcept {
  return reinterpret_cast<rte_mbuf**>(const_cast<void**>(handles));
}

}  // namespace

void DpdkPort::receive(unsigned queue, packet::Burst& burst, unsigned limit) noexcept {
  limit = std::min(limit, packet::Burst::kCapacity);
  const unsigned first = burst.count;
  if (queue >= rx_queues_ || first >= limit) return;
  const unsigned received = rte_eth_rx_burst(id_, static_cast<std::uint16_t>(queue),
                                             as_mbufs(burst.handle.data() + first),
                                             static_cast<std::uint16_t>(limit - first));
  const unsigned end = first + received;
  // Of a frame in several segments the first is judged; all are sent. Both lengths by one load.
  static_assert(offsetof(rte_mbuf, data_len) == offsetof(rte_mbuf, pkt_len) + 4);
  for (unsigned i = first; i < end; ++i) {
    const rte_mbuf* m = as_mbuf(burst.handle[i]);
    const auto lengths =
        base::load_raw<std::uint64_t>(reinterpret_cast<const base::Byte*>(&m->pkt_len));
    burst.data[i] = static_cast<base::Byte*>(m->buf_addr) + m->data_off;
    // A NIC's frames are in the last-level cache; the parser is some hundred cycles away.
    __builtin_prefetch(burst.data[i]);
    burst.length[i] = static_cast<std::uint32_t>(lengths);
    burst.captured[i] = static_cast<std::uint32_t>(lengths >> 32) & 0xffff;
  }
  std::fill(burst.in_port.begin() + first, burst.in_port.begin() + end, number_);
  burst.count = end;
}

unsigned DpdkPort::send(TxQueue& queue, unsigned index, void* const* handles,
                        unsigned count) noexcept {
  unsigned sent = 0;
  for (unsigned tries = 0; sent < count && tries < kMaxTransmitTries; ++tries) {
    if (tries > 0) rte_pause();
    const unsigned n = std::min(count - sent, 0xffffU);
    sent += rte_eth_tx_burst(id_, static_cast<std::uint16_t>(index), as_mbufs(handles + sent),
                             static_cast<std::uint16_t>(n));
  }
  if (sent < count) queue.dropped.add(count - sent);
  return sent;
}

unsigned DpdkPort::transmit(unsigned queue, void* const* handles, unsigned count) noexcept {
  if (count == 0) return 0;
  const unsigned index = queue % tx_queues_;
  TxQueue& q = tx_[index];
  unsigned sent = 0;
  if (!q.is_shared) {
    sent = send(q, index, handles, count);
  } else {
    while (q.busy.test_and_set(std::memory_order_acquire)) rte_pause();
    sent = send(q, index, handles, count);
    q.busy.clear(std::memory_order_release);
  }
  if (sent < count) rte_pktmbuf_free_bulk(as_mbufs(handles + sent), count - sent);
  return sent;
}

void DpdkPort::release(unsigned, void* const* handles, unsigned count) noexcept {
  rte_pktmbuf_free_bulk(as_mbufs(handles), count);
}

void* DpdkPort::allocate(unsigned, std::uint32_t size, base::Byte*& data) noexcept {
  if (size > pool_->data_size()) return nullptr;
  rte_mbuf* m = rte_pktmbuf_alloc(pool_->raw());
  if (m == nullptr) return nullptr;
  data = rte_pktmbuf_mtod(m, base::Byte*);
  return m;
}

void DpdkPort::set_length(void* handle, std::uint32_t length) noexcept {
  rte_mbuf* m = as_mbuf(handle);
  const std::uint32_t room = static_cast<std::uint32_t>(m->buf_len) - m->data_off;
  m->data_len = static_cast<std::uint16_t>(std::min(length, room));
  m->pkt_len = m->data_len;
}

PortCounters DpdkPort::counters() const {
  PortCounters c;
  rte_eth_stats s{};
  if (rte_eth_stats_get(id_, &s) == 0) {
    c.rx_packets = s.ipackets;
    c.rx_bytes = s.ibytes;
    c.rx_errors = s.ierrors;
    c.rx_ring_full = s.imissed;
    c.rx_dropped = s.imissed + s.rx_nombuf;
    c.tx_packets = s.opackets;
    c.tx_bytes = s.obytes;
    c.tx_errors = s.oerrors;
  }
  for (unsigned q = 0; q < tx_queues_; ++q) c.tx_dropped += tx_[q].dropped.get();
  return c;
}

PortInfo DpdkPort::info() const {
  PortInfo i;
  i.name = settings_.name;
  i.device = settings_.device;
  rte_eth_dev_info device{};
  if (rte_eth_dev_info_get(id_, &device) == 0 && device.driver_name != nullptr)
    i.driver = device.driver_name;
  i.is_link_by_peer = i.driver == "net_memif" || i.driver == "net_vhost";
  rte_ether_addr mac{};
  if (rte_eth_macaddr_get(id_, &mac) == 0)
    std::copy(std::begin(mac.addr_bytes), std::end(mac.addr_bytes), i.mac.bytes.begin());
  rte_eth_dev_get_mtu(id_, &i.mtu);
  if (!interface_.empty())
    if (const auto kernel = read_kernel_link(interface_)) i.mtu = kernel->mtu;
  i.rx_queues = rx_queues_;
  i.tx_queues = tx_queues_;
  i.has_rss = has_rss_;
  i.numa_node = rte_eth_dev_socket_id(id_);
  const std::lock_guard lock(link_mutex_);
  i.is_link_up = link_.is_up;
  i.is_full_duplex = link_.is_full_duplex;
  i.speed_mbps = link_.speed_mbps;
  i.is_held_down = is_held_down_;
  return i;
}

DpdkPort::Link DpdkPort::read_link() const {
  if (!interface_.empty()) {
    const auto kernel = read_kernel_link(interface_);
    return kernel ? Link{kernel->is_up, kernel->is_full_duplex, kernel->speed_mbps} : Link{};
  }
  rte_eth_link link{};
  if (rte_eth_link_get_nowait(id_, &link) != 0) return {};
  Link out{link.link_status != 0, link.link_duplex != 0, link.link_speed};
  if (link.link_speed == RTE_ETH_SPEED_NUM_UNKNOWN) out.speed_mbps = 0;
  return out;
}

void DpdkPort::log_link(const Link& link) const {
  if (!link.is_up) {
    base::log(base::LogLevel::kWarning, "port", "{}: link down", settings_.name);
  } else if (link.speed_mbps == 0) {
    base::log(base::LogLevel::kInfo, "port", "{}: link up", settings_.name);
  } else {
    base::log(base::LogLevel::kInfo, "port", "{}: link up {} Mbit/s {}-duplex", settings_.name,
              link.speed_mbps, link.is_full_duplex ? "full" : "half");
  }
}

bool DpdkPort::poll_link() {
  const std::lock_guard lock(link_mutex_);
  if (is_held_down_) return false;
  const Link now = read_link();
  if (now == link_) return false;
  link_ = now;
  log_link(now);
  return true;
}

base::Result<void> DpdkPort::set_link(bool up) {
  const std::lock_guard lock(link_mutex_);
  int r = up ? rte_eth_dev_set_link_up(id_) : rte_eth_dev_set_link_down(id_);
  if (r == -ENOTSUP && !interface_.empty()) {
    if (auto done = set_kernel_link(interface_, up); !done.ok()) return done;
    r = 0;
  }
  if (r == -ENOTSUP)
    return make_error(base::Errc::kUnsupported,
                      fmt::format("{}: the driver can't change the link", settings_.name));
  if (r != 0)
    return make_error(base::Errc::kIo, fmt::format("{}: can't set the link {}: {}", settings_.name,
                                                   up ? "up" : "down", rte_strerror(-r)));
  if (is_held_down_ == up)
    base::log(base::LogLevel::kInfo, "port", "{}: link {} by us", settings_.name,
              up ? "released" : "held down");
  is_held_down_ = !up;
  if (!up) link_.is_up = false;
  return {};
}

}  // namespace merlon::io
