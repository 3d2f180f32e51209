// SPDX-License-Identifier: Apache-2.0
#include "merlon/io/pcap_port.h"

#include <algorithm>
#include <cstring>

#include "merlon/base/log.h"

namespace merlon::io {
namespace {

constexpr unsigned kMaxStarvedTurns = 1024;

}  // namespace

PcapPort::PcapPort(PcapPortSettings settings, std::shared_ptr<BufferPool> pool)
    : settings_(std::move(settings)), pool_(std::move(pool)) {
  is_exhausted_.store(true, std::memory_order_relaxed);
}

PcapPort::~PcapPort() = default;

base::Result<std::unique_ptr<PcapPort>> PcapPort::create(PcapPortSettings settings,
                                                         std::shared_ptr<BufferPool> pool) {
  std::unique_ptr<PcapPort> port(new PcapPort(std::move(settings), std::move(pool)));
  const PcapPortSettings& s = port->settings_;
  if (!s.read_path.empty()) {
    if (auto r = port->read_from(s.read_path); !r.ok()) return r.error();
  }
  if (!s.write_path.empty()) {
    auto writer = CaptureWriter::create(s.write_path, s.write_format, s.write_link_type, s.name);
    if (!writer.ok()) return writer.error();
    port->writer_ = std::move(*writer);
  }
  return port;
}

base::Result<void> PcapPort::read_from(const std::string& path) {
  auto reader = CaptureReader::open(path);
  if (!reader.ok()) return reader.error();
  read_from(std::move(*reader));
  return {};
}

void PcapPort::read_from(std::unique_ptr<CaptureReader> reader) {
  reader_ = std::move(reader);
  has_pending_ = false;
  starved_turns_ = 0;
  warned_interfaces_ = 0;
  is_exhausted_.store(false, std::memory_order_release);
}

base::Result<void> PcapPort::read_status() const {
  return reader_ == nullptr ? base::Result<void>{} : reader_->status();
}

// Once per interface that has a packet; the interface list is what makes it bounded.
void PcapPort::warn_link_type() noexcept {
  if (pending_.interface < warned_interfaces_) return;
  warned_interfaces_ = pending_.interface + 1;
  const std::string& given = reader_->interfaces()[pending_.interface].name;
  const std::string name = given.empty() ? std::to_string(pending_.interface) : given;
  base::log(base::LogLevel::kWarning, "port",
            "{}: packets of interface {} are skipped: {} is not supported", reader_->name(), name,
            link_type_name(pending_.link_type));
}

// Makes the next judgeable packet pending; false at the end of the source.
bool PcapPort::next_packet() noexcept {
  while (reader_->next(pending_)) {
    rx_.packets.add(1);
    rx_.bytes.add(pending_.length);
    if (link_layer_of(pending_.link_type).has_value()) return has_pending_ = true;
    rx_link_type_.add(1);
    warn_link_type();
  }
  is_exhausted_.store(true, std::memory_order_release);
  if (!reader_->status().ok()) {
    rx_.errors.add(1);
    base::log(base::LogLevel::kWarning, "port", "{}", reader_->status().error().message);
  }
  return false;
}

void PcapPort::receive(unsigned queue, packet::Burst& burst, unsigned limit) noexcept {
  if (queue != 0 || reader_ == nullptr || is_exhausted_.load(std::memory_order_relaxed)) return;
  const unsigned first = burst.count;
  limit = std::min(limit, packet::Burst::kCapacity);
  while (burst.count < limit) {
    if (!has_pending_ && !next_packet()) return;
    if (burst.count > first && pending_.link_type != link_type_) return;
    const auto size = static_cast<std::uint32_t>(pending_.bytes.size());
    Buffer* b = pool_->allocate(size);
    if (b == nullptr) {
      if (burst.count > first || ++starved_turns_ < kMaxStarvedTurns) return;
      starved_turns_ = 0;
      has_pending_ = false;
      rx_.dropped.add(1);
      return;
    }
    starved_turns_ = 0;
    if (size > b->capacity) rx_cut_.add(1);
    b->length = std::min(size, b->capacity);
    if (b->length > 0) std::memcpy(b->data, pending_.bytes.data(), b->length);
    b->wire_length = pending_.length;
    b->time = pending_.time;
    b->number = pending_.number;
    const unsigned i = burst.count++;
    burst.handle[i] = b;
    burst.data[i] = b->data;
    burst.captured[i] = b->length;
    burst.length[i] = pending_.length;
    burst.in_port[i] = settings_.number;
    burst.time[i] = pending_.time;
    burst.number[i] = pending_.number;
    link_type_ = pending_.link_type;
    has_pending_ = false;
  }
}

unsigned PcapPort::transmit(unsigned, void* const* handles, unsigned count) noexcept {
  unsigned sent = 0;
  {
    const std::lock_guard lock(write_mutex_);
    for (unsigned i = 0; i < count; ++i) {
      const auto* b = static_cast<const Buffer*>(handles[i]);
      // Packets that we made have no stamp: they follow the packet before them.
      last_written_ = b->time != 0 ? b->time : last_written_;
      if (writer_ != nullptr &&
          !writer_->write({b->data, b->length}, b->wire_length, last_written_)) {
        tx_.dropped.add(1);
        continue;
      }
      ++sent;
      tx_.packets.add(1);
      tx_.bytes.add(std::max(b->length, b->wire_length));
    }
  }
  BufferPool::release(handles, count);
  return sent;
}

void PcapPort::release(unsigned, void* const* handles, unsigned count) noexcept {
  BufferPool::release(handles, count);
}

void* PcapPort::allocate(unsigned, std::uint32_t size, base::Byte*& data) noexcept {
  if (size > pool_->large_size()) return nullptr;
  Buffer* b = pool_->allocate(size);
  if (b != nullptr) data = b->data;
  return b;
}

void PcapPort::set_length(void* handle, std::uint32_t length) noexcept {
  auto* b = static_cast<Buffer*>(handle);
  b->length = b->wire_length = std::min(length, b->capacity);
}

base::Result<void> PcapPort::close() {
  const std::lock_guard lock(write_mutex_);
  return writer_ == nullptr ? base::Result<void>{} : writer_->close();
}

PortInfo PcapPort::info() const {
  PortInfo i;
  i.name = settings_.name;
  i.device = !settings_.read_path.empty() ? settings_.read_path : settings_.write_path;
  i.driver = "pcap";
  i.is_link_up = true;
  i.mtu = 65'535;
  return i;
}

PortCounters PcapPort::counters() const {
  PortCounters c;
  c.rx_packets = rx_.packets.get();
  c.rx_bytes = rx_.bytes.get();
  c.rx_errors = rx_.errors.get();
  c.rx_dropped = rx_.dropped.get();
  c.rx_link_type = rx_link_type_.get();
  c.rx_cut = rx_cut_.get();
  c.tx_packets = tx_.packets.get();
  c.tx_bytes = tx_.bytes.get();
  c.tx_dropped = tx_.dropped.get();
  return c;
}

}  // namespace merlon::io
