// SPDX-License-Identifier: Apache-2.0
#include "merlon/engine/replay.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "merlon/packet/parse.h"

namespace merlon::engine {

using io::Buffer;
using io::BufferPool;
using packet::Burst;

// One port of the engine; all of them read and write the feed. Only port 0 is polled: it delivers
// the packets of all in capture order.
class ReplayPort final : public io::Port {
 public:
  ReplayPort(ReplayFeed& feed, std::uint16_t number) : feed_(feed), number_(number) {}

  void receive(unsigned /*queue*/, Burst& b, unsigned limit) noexcept override {
    if (!feed_.is_open_) return;
    while (b.count < limit && feed_.next_ < feed_.batch_.size()) {
      const auto& w = feed_.batch_[feed_.next_++];
      const unsigned i = b.count++;
      b.handle[i] = w.buffer;
      b.data[i] = w.buffer->data;
      b.captured[i] = w.buffer->length;
      b.length[i] = w.buffer->wire_length;
      b.in_port[i] = w.port;
      b.time[i] = w.buffer->time;
      b.number[i] = w.buffer->number;
      feed_.current_number_ = w.buffer->number;
    }
  }
  unsigned transmit(unsigned /*queue*/, void* const* handles, unsigned count) noexcept override {
    for (unsigned i = 0; i < count; ++i) {
      auto* buffer = static_cast<Buffer*>(handles[i]);
      const bool is_ours = buffer->number == 0;
      feed_.sent_.push_back(
          {buffer, number_, is_ours ? feed_.current_number_ : buffer->number, is_ours});
      counters_.tx_bytes += buffer->wire_length;
    }
    counters_.tx_packets += count;
    return count;
  }
  void release(unsigned /*queue*/, void* const* handles, unsigned count) noexcept override {
    BufferPool::release(handles, count);
  }
  void* allocate(unsigned /*queue*/, std::uint32_t size, base::Byte*& data) noexcept override {
    Buffer* buffer = feed_.pool_->allocate(size);
    if (buffer == nullptr) return nullptr;
    buffer->time = feed_.now_;
    buffer->number = 0;
    data = buffer->data;
    return buffer;
  }
  void set_length(void* handle, std::uint32_t length) noexcept override {
    auto* buffer = static_cast<Buffer*>(handle);
    buffer->length = buffer->wire_length = length;
  }
  [[nodiscard]] io::BufferKind buffer_kind() const noexcept override {
    return io::BufferKind::kNative;
  }
  [[nodiscard]] io::PortInfo info() const override {
    return {.name = feed_.names_[number_],
            .device = "replay",
            .driver = "replay",
            .is_link_up = true,
            .rx_queues = number_ == 0 ? 1U : 0U};
  }
  [[nodiscard]] io::PortCounters counters() const override { return counters_; }
  [[nodiscard]] io::LinkType link_type() const noexcept override { return feed_.link_type_; }

 private:
  ReplayFeed& feed_;
  const std::uint16_t number_;
  io::PortCounters counters_;
};

base::Result<std::unique_ptr<ReplayFeed>> ReplayFeed::create(std::vector<std::string> port_names,
                                                             PortChooser choose) {
  auto pool =
      BufferPool::create({.small_count = 4096, .large_count = 64, .large_size = 262'144 + 512});
  if (!pool) return pool.error();
  auto feed = std::unique_ptr<ReplayFeed>(new ReplayFeed(std::move(port_names), std::move(choose)));
  feed->pool_ = std::move(*pool);
  return feed;
}

ReplayFeed::~ReplayFeed() { give_back(); }

std::vector<std::unique_ptr<io::Port>> ReplayFeed::make_ports() {
  std::vector<std::unique_ptr<io::Port>> ports;
  for (std::size_t p = 0; p < names_.size(); ++p)
    ports.push_back(std::make_unique<ReplayPort>(*this, static_cast<std::uint16_t>(p)));
  return ports;
}

void ReplayFeed::read_from(io::CaptureReader& reader) {
  reader_ = &reader;
  has_pending_ = false;
}

bool ReplayFeed::fetch() {
  while (!has_pending_) {
    if (!reader_->next(pending_)) return false;
    ++packets_;
    if (io::link_layer_of(pending_.link_type)) {
      has_pending_ = true;
    } else {
      ++unsupported_;
    }
  }
  return true;
}

void ReplayFeed::append(const io::CapturePacket& p) {
  const auto captured =
      static_cast<std::uint32_t>(std::min<std::size_t>(p.bytes.size(), pool_->large_size()));
  Buffer* buffer = pool_->allocate(captured);
  buffer->length = captured;
  buffer->wire_length = std::max(p.length, captured);
  buffer->time = p.time;
  buffer->number = packets_;
  std::memcpy(buffer->data, p.bytes.data(), captured);
  batch_.push_back({buffer, choose_(p, reader_->interfaces()[p.interface])});
}

bool ReplayFeed::load() {
  is_open_ = false;
  batch_.clear();
  next_ = 0;
  if (!fetch()) return false;
  const base::Nanos start = pending_.time;
  link_type_ = pending_.link_type;
  if (first_time_ == 0) first_time_ = now_ = start;
  // A capture may step back in time; the engine's clock never does.
  batch_time_ = std::max(now_, start);
  days_passed_ = 0;
  const auto tick = [](base::Nanos t) { return t / base::kNanosPerTick; };
  while (batch_.size() < Burst::kCapacity && fetch() && tick(pending_.time) == tick(start) &&
         pending_.link_type == link_type_) {
    if (pool_->free_count() < 64) break;  // held fragments fill the pool: go on with what there is
    append(pending_);
    has_pending_ = false;
  }
  return true;
}

bool ReplayFeed::advance() noexcept {
  constexpr base::Nanos kDay = 86'400 * base::kNanosPerSecond;
  // After this long no session is left whatever its timeout, so the rest can be skipped.
  constexpr unsigned kMostDays = 60;
  if (batch_time_ - now_ <= kDay || ++days_passed_ > kMostDays) {
    now_ = batch_time_;
    return true;
  }
  now_ += kDay;
  return false;
}

const std::vector<SentFrame>& ReplayFeed::sent() {
  // Frames that we made have no number of their own; their bytes put them in an order that every
  // run repeats.
  std::ranges::stable_sort(sent_, [](const SentFrame& a, const SentFrame& b) {
    if (a.number != b.number || a.is_ours != b.is_ours)
      return a.number != b.number ? a.number < b.number : b.is_ours;
    if (!a.is_ours) return false;
    return std::lexicographical_compare(a.buffer->data, a.buffer->data + a.buffer->length,
                                        b.buffer->data, b.buffer->data + b.buffer->length);
  });
  return sent_;
}

void ReplayFeed::give_back() {
  for (const SentFrame& f : sent_) {
    void* handle = f.buffer;
    BufferPool::release(&handle, 1);
  }
  sent_.clear();
}

namespace {

struct Side {
  base::AddressRange range;
  std::uint16_t port;
};

// The narrowest range that holds the address.
std::optional<std::uint16_t> port_of(const std::vector<Side>& sides,
                                     const base::IpAddress& address) {
  for (const Side& s : sides)
    if (s.range.contains(address)) return s.port;
  return std::nullopt;
}

std::uint16_t peer_of(const EngineConfig& config, std::uint16_t port) {
  for (const WireConfig& w : config.wires) {
    if (w.port_a == port) return w.port_b;
    if (w.port_b == port) return w.port_a;
  }
  return port;
}

// Ranges of zones that have networks, each with the zone's first port; ranges nest or are disjoint
// in practice, and the one that starts last and ends first is the narrowest.
std::vector<Side> sides_of(const EngineConfig& config, const policy::PolicyModel& model,
                           std::uint16_t& fallback) {
  std::vector<Side> sides;
  bool has_fallback = false;
  for (const policy::Zone& zone : model.zones) {
    if (zone.ports.empty()) continue;
    const auto found = std::ranges::find(config.ports, zone.ports.front().text, &PortConfig::name);
    if (found == config.ports.end()) continue;
    const auto port = static_cast<std::uint16_t>(found - config.ports.begin());
    for (const auto& r : zone.networks) sides.push_back({r, port});
    if (zone.networks.empty() && !has_fallback) {
      fallback = port;
      has_fallback = true;
    }
  }
  std::ranges::sort(sides, [](const Side& a, const Side& b) {
    return a.range.first != b.range.first ? b.range.first < a.range.first
                                          : a.range.last < b.range.last;
  });
  return sides;
}

}  // namespace

ReplayFeed::PortChooser choose_by_zone(const EngineConfig& config,
                                       const policy::PolicyModel& model) {
  std::uint16_t fallback = 0;
  auto sides = std::make_shared<const std::vector<Side>>(sides_of(config, model, fallback));
  auto scratch = std::make_shared<Burst>();
  std::vector<std::uint16_t> domains(1, 0);
  return [=](const io::CapturePacket& p, const io::CaptureInterface& interface) -> std::uint16_t {
    if (const auto named = std::ranges::find(config.ports, interface.name, &PortConfig::name);
        !interface.name.empty() && named != config.ports.end())
      return static_cast<std::uint16_t>(named - config.ports.begin());
    if (sides->empty()) return fallback;
    packet::ParseOptions options = config.parse;
    options.link_layer = io::link_layer_of(p.link_type).value_or(options.link_layer);
    Burst& b = *scratch;
    b.count = 1;
    // parse() only reads.
    b.data[0] = const_cast<base::Byte*>(p.bytes.data());
    b.captured[0] = static_cast<std::uint32_t>(p.bytes.size());
    b.length[0] = p.length;
    b.in_port[0] = 0;
    packet::parse(b, options, domains.data());
    if (b.headers[0].kind <= packet::Kind::kNeighbour &&
        b.verdict[0] != packet::Verdict::kUndecided)
      return fallback;
    // An ICMP error is keyed by what it quotes, which went the other way.
    const bool forth = b.headers[0].direction == 0;
    const base::IpAddress& source = forth ? b.key[0].a : b.key[0].b;
    const base::IpAddress& destination = forth ? b.key[0].b : b.key[0].a;
    if (const auto port = port_of(*sides, source)) return *port;
    if (const auto port = port_of(*sides, destination)) return peer_of(config, *port);
    return fallback;
  };
}

void play(ReplayFeed& feed, Engine& engine, const std::function<void()>& drain,
          const std::function<void()>& after_batch) {
  // A turn ends 64 sessions and tells of 64 packets at most: this many rounds stay below half a
  // ring.
  constexpr unsigned kRounds = 64;
  const auto run_dry = [&] {
    while (!engine.turn_all(kRounds)) drain();
  };
  while (feed.load()) {
    // What ends before these packets ends first.
    for (bool is_there = false; !is_there;) {
      is_there = feed.advance();
      run_dry();
      drain();
    }
    feed.open();
    run_dry();
    after_batch();
    feed.give_back();
  }
}

}  // namespace merlon::engine
