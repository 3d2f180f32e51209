// SPDX-License-Identifier: Apache-2.0
// Opening, configuring and closing a DPDK device.
#include <fmt/format.h>
#include <net/if.h>
#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <set>
#include <thread>

#include "kernel_link.h"
#include "merlon/base/log.h"
#include "merlon/base/make_error.h"
#include "merlon/io/dpdk_port.h"
#include "merlon/io/pci.h"
#include "merlon/io/steering.h"

namespace merlon::io {
namespace {

constexpr unsigned kMaxQueues = 64;
constexpr std::uint16_t kEthernetOverhead = 26;  // header, two tags, check sequence

std::mutex g_devices_mutex;
// Devices that a port of this process holds.
std::set<std::string>& open_devices() {
  static std::set<std::string> devices;
  return devices;
}

// "net_af_packet0,iface=eth1" is device net_af_packet0; a PCI address may carry arguments too.
std::string device_name(const std::string& device) {
  std::string name = device.substr(0, device.find(','));
  return is_pci_address(name) ? full_pci_address(name) : name;
}

// The kernel interface that a socket driver sits on. TAP has one too, but reads its link itself.
std::string kernel_interface(const std::string& device) {
  if (!device.starts_with("net_af_packet") && !device.starts_with("net_af_xdp") &&
      !device.starts_with("eth_af_packet"))
    return {};
  for (std::size_t at = device.find(','); at != std::string::npos; at = device.find(',', at + 1)) {
    if (device.compare(at + 1, 6, "iface=") != 0) continue;
    return device.substr(at + 7, device.find(',', at + 1) - at - 7);
  }
  return {};
}

// Queues in turn, as rss_queue() of steering.h has it; most drivers begin like that. Where one
// can't be told, packets reach their owner through software.
void fill_indirection_table(std::uint16_t id, std::uint16_t queues) {
  rte_eth_dev_info info{};
  if (rte_eth_dev_info_get(id, &info) != 0 || info.reta_size == 0) return;
  constexpr unsigned kGroup = RTE_ETH_RETA_GROUP_SIZE;
  std::vector<rte_eth_rss_reta_entry64> table((info.reta_size + kGroup - 1U) / kGroup);
  for (unsigned i = 0; i < info.reta_size; ++i) {
    rte_eth_rss_reta_entry64& group = table[i / kGroup];
    group.mask |= std::uint64_t{1} << (i % kGroup);
    group.reta[i % kGroup] = static_cast<std::uint16_t>(i % queues);
  }
  rte_eth_dev_rss_reta_update(id, table.data(), info.reta_size);
}

bool find_port(const std::string& name, std::uint16_t& id) {
  for (std::uint16_t candidate = rte_eth_find_next(0); candidate < RTE_MAX_ETHPORTS;
       candidate = rte_eth_find_next(static_cast<std::uint16_t>(candidate + 1))) {
    rte_eth_dev_info info{};
    if (rte_eth_dev_info_get(candidate, &info) != 0 || info.device == nullptr) continue;
    if (name != rte_dev_name(info.device)) continue;
    id = candidate;
    return true;
  }
  return false;
}

std::string or_none(std::string s) { return s.empty() ? "none" : s; }

}  // namespace

std::string af_packet_device(const std::string& name, const std::string& interface) {
  return fmt::format("net_af_packet_{},iface={}", name, interface);
}
std::string af_xdp_device(const std::string& name, const std::string& interface) {
  // Busy polling by the driver is left out: our workers poll themselves, and virtual interfaces
  // have no NAPI instance to poll.
  return fmt::format("net_af_xdp_{},iface={},busy_budget=0", name, interface);
}
std::string tap_device(const std::string& name, const std::string& interface) {
  return fmt::format("net_tap_{},iface={}", name, interface);
}
std::string memif_device(const std::string& name, bool is_server, const std::string& socket,
                         unsigned id) {
  return fmt::format("net_memif_{},role={},socket={},socket-abstract=no,id={}", name,
                     is_server ? "server" : "client", socket, id);
}
std::string vhost_device(const std::string& name, const std::string& socket) {
  return fmt::format("net_vhost_{},iface={}", name, socket);
}
std::string null_device(const std::string& name, unsigned packet_size) {
  return fmt::format("net_null_{},size={}", name, packet_size);
}
std::string pcap_device(const std::string& name, const std::string& read_path,
                        const std::string& write_path, bool is_endless) {
  std::string s = fmt::format("net_pcap_{}", name);
  if (!read_path.empty()) s += fmt::format(",rx_pcap={}", read_path);
  if (!write_path.empty()) s += fmt::format(",tx_pcap={}", write_path);
  if (is_endless) s += ",infinite_rx=1";
  return s;
}

DpdkPort::DpdkPort(DpdkPortSettings settings, std::shared_ptr<MbufPool> pool)
    : settings_(std::move(settings)), pool_(std::move(pool)), number_(settings_.number) {}

DpdkPort::~DpdkPort() {
  if (!is_attached_) return;
  if (is_started_) rte_eth_dev_stop(id_);
  rte_eth_dev_info info{};
  const bool known = rte_eth_dev_info_get(id_, &info) == 0;
  rte_eth_dev_close(id_);
  if (known && info.device != nullptr) rte_dev_remove(info.device);
  const std::lock_guard lock(g_devices_mutex);
  open_devices().erase(device_name(settings_.device));
}

base::Error DpdkPort::failed(const char* what, int code) const {
  const int error = code < 0 ? -code : code;
  return make_error(
      base::Errc::kIo,
      fmt::format("port {}: can't {} {}: {}", settings_.name, what, settings_.device,
                  rte_strerror(error)),
      error == EPERM || error == EACCES ? "this device needs root or CAP_NET_RAW" : "");
}

base::Result<std::unique_ptr<DpdkPort>> DpdkPort::create(const DpdkPortSettings& settings,
                                                         std::shared_ptr<MbufPool> pool) {
  if (!Dpdk::is_started() || pool == nullptr)
    return make_error(base::Errc::kRefused,
                      fmt::format("port {}: DPDK is not started", settings.name));
  if (settings.rx_queues == 0 || settings.rx_queues > kMaxQueues || settings.tx_queues == 0 ||
      settings.tx_queues > kMaxQueues)
    return make_error(
        base::Errc::kInvalidValue,
        fmt::format("port {}: {} receive and {} transmit queues are out of range "
                    "(1 to {})",
                    settings.name, settings.rx_queues, settings.tx_queues, kMaxQueues));
  // The drivers call this "operation not permitted".
  const std::string interface = kernel_interface(settings.device);
  if (!interface.empty() && if_nametoindex(interface.c_str()) == 0)
    return make_error(
        base::Errc::kNotFound,
        fmt::format("port {}: there is no network interface \"{}\"", settings.name, interface),
        "ip link lists those that are there");
  std::unique_ptr<DpdkPort> port(new DpdkPort(settings, std::move(pool)));
  if (auto r = port->attach(); !r.ok()) return r.error();
  port->interface_ = interface;
  port->rx_queues_ = static_cast<std::uint16_t>(settings.rx_queues);
  if (auto r = port->start(); !r.ok()) return r.error();
  const PortInfo i = port->info();
  base::log(base::LogLevel::kInfo, "port",
            "{}: device={} driver={} mac={} numa={} rx_queues={} tx_queues={} descriptors={}/{} "
            "mtu={} rss={}",
            i.name, i.device, i.driver, i.mac.to_string(), i.numa_node, i.rx_queues, i.tx_queues,
            settings.rx_descriptors, settings.tx_descriptors, i.mtu, i.has_rss ? "yes" : "no");
  port->wait_for_link();
  return port;
}

base::Result<void> DpdkPort::attach() {
  const std::string name = device_name(settings_.device);
  if (is_pci_address(name)) {
    PciBindOptions bind;
    bind.may_bind = settings_.may_bind && ::geteuid() == 0;
    if (auto r = ensure_pci_driver(name, settings_.uio_driver, bind); !r.ok()) return r;
  }
  {
    const std::lock_guard lock(g_devices_mutex);
    if (!open_devices().insert(name).second)
      return make_error(
          base::Errc::kConflict,
          fmt::format("port {}: device {} belongs to another port", settings_.name, name),
          "give software devices their own names: net_null0, net_null1");
  }
  int r = 0;
  const std::string before = Dpdk::last_error();
  if (!find_port(name, id_)) {
    r = rte_dev_probe(settings_.device.c_str());
    is_attached_ = r >= 0 && find_port(name, id_);
  } else {
    is_attached_ = true;
  }
  if (is_attached_) return {};
  {
    const std::lock_guard lock(g_devices_mutex);
    open_devices().erase(name);
  }
  base::Error e = failed("open", r == 0 ? ENODEV : r);
  const std::string said = Dpdk::last_error();
  if (said != before) e.message += fmt::format(" ({})", said);
  if (e.hint.empty() && is_pci_address(name)) {
    const auto device = read_pci_device(name);
    if (device.ok())
      e.hint = fmt::format("it is bound to {}; usual is: dpdk-devbind.py -b vfio-pci {}",
                           or_none((*device).driver), name);
  }
  return e;
}

// One answer for the whole process: every port's hash agrees with steering.h.
base::Result<void> DpdkPort::configure() {
  rte_eth_dev_info info{};
  if (int r = rte_eth_dev_info_get(id_, &info); r != 0) return failed("ask", r);
  rte_eth_conf conf{};
  std::uint16_t mtu = settings_.mtu;
  if (mtu == 0) rte_eth_dev_get_mtu(id_, &mtu);
  if (settings_.mtu != 0 && (mtu > info.max_mtu || mtu < info.min_mtu))
    return make_error(
        base::Errc::kInvalidValue,
        fmt::format("port {}: MTU {} is outside what {} takes ({} to {})", settings_.name, mtu,
                    or_none(info.driver_name), info.min_mtu, info.max_mtu));
  conf.rxmode.mtu = mtu;
  const bool fits = std::uint32_t{mtu} + kEthernetOverhead <= pool_->data_size();
  if (!fits) conf.rxmode.offloads |= info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_SCATTER;
  // Fast free asks for frames in one segment, of one pool: ours are when they fit one buffer.
  conf.txmode.offloads |= info.tx_offload_capa & (fits ? RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE
                                                       : RTE_ETH_TX_OFFLOAD_MULTI_SEGS);
  constexpr std::uint64_t kWanted =
      RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP | RTE_ETH_RSS_SCTP;
  const std::uint64_t types = info.flow_type_rss_offloads & kWanted;
  rx_queues_ = std::min(rx_queues_, std::max<std::uint16_t>(info.max_rx_queues, 1));
  if (types == 0) rx_queues_ = 1;
  auto key = kSymmetricRssKey;
  if (rx_queues_ > 1) {
    conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
    conf.rx_adv_conf.rss_conf.rss_key = key.data();
    conf.rx_adv_conf.rss_conf.rss_key_len = static_cast<std::uint8_t>(
        info.hash_key_size != 0 && info.hash_key_size <= key.size() ? info.hash_key_size : 40);
    conf.rx_adv_conf.rss_conf.rss_hf = types;
  }
  tx_queues_ = static_cast<std::uint16_t>(
      std::min<unsigned>(settings_.tx_queues, std::max<std::uint16_t>(info.max_tx_queues, 1)));
  if (int r = rte_eth_dev_configure(id_, rx_queues_, tx_queues_, &conf); r != 0)
    return failed("configure", r);
  // Socket drivers change the kernel interface: only when asked to.
  if (settings_.mtu != 0) {
    const int r = rte_eth_dev_set_mtu(id_, mtu);
    if (r != 0 && r != -ENOTSUP) return failed("set the MTU of", r);
  }
  return {};
}

base::Result<void> DpdkPort::set_up_queues() {
  std::uint16_t rx = settings_.rx_descriptors, tx = settings_.tx_descriptors;
  rte_eth_dev_adjust_nb_rx_tx_desc(id_, &rx, &tx);
  const auto node = static_cast<unsigned>(std::max(rte_eth_dev_socket_id(id_), 0));
  for (std::uint16_t q = 0; q < rx_queues_; ++q)
    if (int r = rte_eth_rx_queue_setup(id_, q, rx, node, nullptr, pool_->raw()); r != 0)
      return failed("set up a receive queue of", r);
  for (std::uint16_t q = 0; q < tx_queues_; ++q)
    if (int r = rte_eth_tx_queue_setup(id_, q, tx, node, nullptr); r != 0)
      return failed("set up a transmit queue of", r);
  tx_ = std::make_unique<TxQueue[]>(tx_queues_);
  for (unsigned q = 0; q < tx_queues_; ++q) tx_[q].is_shared = tx_queues_ < settings_.tx_queues;
  return {};
}

// Starts; where the driver does not confirm the key, starts again with one queue: a conversation
// whose two directions are on two workers would be worse than one busy queue.
base::Result<void> DpdkPort::start() {
  for (;;) {
    if (auto r = configure(); !r.ok()) return r;
    if (auto r = set_up_queues(); !r.ok()) return r;
    if (int r = rte_eth_dev_start(id_); r != 0) return failed("start", r);
    is_started_ = true;
    if (settings_.is_promiscuous) rte_eth_promiscuous_enable(id_);
    if (rx_queues_ == 1) return {};
    std::array<base::Byte, 64> key{};
    rte_eth_rss_conf conf{};
    conf.rss_key = key.data();
    conf.rss_key_len = kRssKeySize;
    has_rss_ = rte_eth_dev_rss_hash_conf_get(id_, &conf) == 0 &&
               std::equal(kSymmetricRssKey.begin(), kSymmetricRssKey.begin() + 40, key.begin());
    if (has_rss_) {
      fill_indirection_table(id_, rx_queues_);
      return {};
    }
    rte_eth_dev_stop(id_);
    is_started_ = false;
    rx_queues_ = 1;
  }
}

void DpdkPort::wait_for_link() {
  using namespace std::chrono_literals;
  Link now = read_link();
  for (unsigned waited = 0; !now.is_up && waited < settings_.link_wait_ms; waited += 20) {
    std::this_thread::sleep_for(20ms);
    now = read_link();
  }
  const std::lock_guard lock(link_mutex_);
  link_ = now;
  log_link(now);
}

}  // namespace merlon::io
