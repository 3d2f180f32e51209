// SPDX-License-Identifier: Apache-2.0
#include "machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "merlon/control/config_source.h"
#include "merlon/io/buffer.h"
#include "merlon/packet/text.h"

namespace merlon::cases {
namespace {

using base::Errc;
using base::Error;

// A case that does not speak of table sizes gets small ones: a thousand cases have to take seconds.
constexpr std::uint32_t kSessions = 8192, kEventRecords = 8192;
// Turns after a step in time: the wheel and the sweep of the table work in bounded pieces.
constexpr unsigned kTurnsPerAdvance = 200;

class MemorySink final : public telemetry::EventSink {
 public:
  explicit MemorySink(std::vector<nlohmann::json>& events)
      : EventSink("case", "memory"), events_(events) {}
  void write(std::string_view line, telemetry::Severity /*severity*/,
             base::Nanos /*now*/) noexcept override {
    events_.push_back(nlohmann::json::parse(line, nullptr, false));
    count_written(1, line.size());
  }
  void flush(base::Nanos /*now*/) noexcept override {}

 private:
  std::vector<nlohmann::json>& events_;
};

// All cases share one pool; each has to give back what it took.
std::shared_ptr<io::BufferPool> shared_pool() {
  static const auto pool = io::BufferPool::create({.small_count = 4096, .large_count = 64});
  return pool ? *pool : nullptr;
}

void make_small(engine::EngineConfig& config, unsigned workers) {
  const engine::EngineConfig defaults;
  config.workers = workers;
  config.worker_cores.clear();
  if (config.table.max_sessions == defaults.table.max_sessions)
    config.table.max_sessions = kSessions;
  config.table.max_sources = std::min(config.table.max_sources, kSessions);
  config.table.max_rules = std::min<std::uint32_t>(config.table.max_rules, 4096);
  config.event_ring_records = std::min(config.event_ring_records, kEventRecords);
}

}  // namespace

Machine::Machine(const MachineSettings& settings)
    : settings_(settings), now_(settings.start), pool_(shared_pool()) {}

Machine::~Machine() {
  view_.reset();
  writer_.reset();
  lifecycle_.reset();
  runtime_.reset();
  store_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(settings_.store_directory, ignored);
}

base::Result<std::unique_ptr<Machine>> Machine::start(const MachineSettings& settings) {
  std::unique_ptr<Machine> machine(new Machine(settings));
  if (auto up = machine->bring_up(); !up) return up.error();
  return machine;
}

base::Result<std::vector<std::unique_ptr<io::Port>>> Machine::make_ports(
    const engine::EngineConfig& config) {
  std::vector<std::unique_ptr<io::Port>> ports;
  peers_.assign(config.ports.size(), base::kNoPort);
  for (const engine::WireConfig& w : config.wires) {
    peers_[w.port_a] = w.port_b;
    peers_[w.port_b] = w.port_a;
  }
  for (std::uint16_t n = 0; n < config.ports.size(); ++n) {
    const engine::PortConfig& p = config.ports[n];
    io::RingPortSettings s{.name = p.name, .number = n, .tx_queues = config.workers, .depth = 4096};
    if (p.mtu != 0) s.mtu = p.mtu;
    if (const auto found = settings_.link_types.find(p.name); found != settings_.link_types.end())
      s.link_type = found->second;
    auto port = io::RingPort::create(std::move(s), pool_);
    if (!port) return port.error();
    names_.push_back(p.name);
    ports_.push_back(port->get());
    ports.push_back(std::move(*port));
  }
  return ports;
}

base::Result<void> Machine::bring_up() {
  if (pool_ == nullptr)
    return Error{.code = Errc::kCapacity, .message = "no memory for packet buffers"};
  auto store = control::Store::open(settings_.store_directory);
  if (!store) return store.error();
  store_ = std::move(*store);
  control::LoadResult loaded = control::load_file(settings_.config_file);
  if (!loaded.config) return loaded.errors.front();
  runtime_ = std::make_unique<control::Runtime>(
      [this](const engine::EngineConfig& config) { return make_ports(config); }, &now_);
  make_small(loaded.config->engine, settings_.workers);
  lifecycle_ = std::make_unique<control::Lifecycle>(
      *store_, *runtime_,
      control::LifecycleOptions{.clock = [this] { return now_; }, .on_event = {}});
  auto started = lifecycle_->start(&loaded);
  if (!started) return started.error();
  if (!started->problems.empty()) return started->problems.front();
  runtime_->renumber(started->revision);
  const control::LoadedConfig& config = *lifecycle_->running();
  writer_ = std::make_unique<telemetry::EventWriter>(
      runtime_->engine()->event_rings(), runtime_->names(),
      telemetry::EventWriterOptions{
          .eve = {.host = config.name, .community_id = config.events.community_id}});
  writer_->add_sink(std::make_unique<MemorySink>(events_));
  view_ = std::make_unique<control::DaemonView>(*runtime_, *lifecycle_, mutex_, *writer_);
  return {};
}

std::uint16_t Machine::find_port(std::string_view name) const {
  const auto found = std::ranges::find(names_, name);
  return found == names_.end() ? base::kNoPort : static_cast<std::uint16_t>(found - names_.begin());
}

std::uint16_t Machine::peer(std::uint16_t port) const { return peers_[port]; }

bool Machine::inject(std::uint16_t port, base::ByteSpan frame, std::uint32_t length) {
  return ports_[port]->inject(frame, now_, 0, length);
}

void Machine::turn() {
  runtime_->engine()->turn_all();
  writer_->pump(now_);
}

void Machine::advance(base::Nanos by) {
  now_ += by;
  runtime_->tick(now_);
  static_cast<void>(lifecycle_->tick());
  for (unsigned n = 0; n < kTurnsPerAdvance; ++n) runtime_->engine()->turn_all();
  writer_->pump(now_);
}

void Machine::set_carrier(std::uint16_t port, bool is_up) {
  ports_[port]->set_carrier(is_up);
  runtime_->engine()->poll_links();
}

std::optional<base::DropReason> Machine::foretell(std::uint16_t port, base::ByteSpan frame) {
  if (ports_[port]->link_type() != io::LinkType::kEthernet) return std::nullopt;
  const std::string words = packet::packet_to_text(frame);
  if (words.find(" mf") != std::string::npos || words.find("/ frag ") != std::string::npos)
    return std::nullopt;
  engine::JudgeRequest request;
  request.frame.assign(frame.begin(), frame.end());
  request.in_port = port;
  runtime_->engine()->judge(request);
  if (static_cast<packet::Kind>(request.kind) == packet::Kind::kFragment) return std::nullopt;
  return request.reason;
}

control::CommitOutcome Machine::commit(const std::string& file, base::Nanos confirm_within) {
  control::DiskFiles disk;
  const control::LoadResult loaded = control::load(file, disk);
  if (!loaded.config) {
    control::CommitOutcome refused;
    refused.errors = loaded.errors;
    return refused;
  }
  control::CommitOutcome out = lifecycle_->commit(
      loaded.config->bundle,
      {.author = "case", .comment = {}, .expected_revision = {}, .confirm_within = confirm_within});
  turn();
  return out;
}

control::PreviewReport Machine::preview(const std::string& file) {
  control::DiskFiles disk;
  const control::LoadResult loaded = control::load(file, disk);
  return lifecycle_->preview(loaded.bundle);
}

telemetry::CounterTotals Machine::totals() const {
  const auto rows = runtime_->engine()->counter_rows();
  return telemetry::sum_counters(rows);
}

engine::Gauges::Values Machine::gauges() const {
  engine::Gauges::Values sum = runtime_->engine()->read_worker(0).gauges;
  for (unsigned w = 1; w < runtime_->engine()->worker_count(); ++w) {
    const engine::Gauges::Values v = runtime_->engine()->read_worker(w).gauges;
    sum.sessions += v.sessions;
    sum.half_open += v.half_open;
    sum.sources += v.sources;
    sum.fragments_held += v.fragments_held;
    sum.fragment_datagrams += v.fragment_datagrams;
    sum.table_full += v.table_full;
    sum.window_passed += v.window_passed;
    sum.syn_passed += v.syn_passed;
    sum.icmp_errors += v.icmp_errors;
  }
  return sum;
}

std::string Machine::finish() {
  turn();
  const telemetry::CounterTotals t = totals();
  const std::uint64_t held = gauges().fragments_held;
  const std::uint64_t accounted =
      t.forwarded_packets + (t.dropped_packets - t.would_drop_packets) + t.tapped_packets + held;
  if (t.received_packets != accounted)
    return fmt::format(
        "{} packets came in, but {} are accounted for: {} forwarded, {} dropped, {} tapped, {} "
        "held",
        t.received_packets, accounted, t.forwarded_packets,
        t.dropped_packets - t.would_drop_packets, t.tapped_packets, held);
  // Fragments still held go back to the pool by their time-out.
  if (held != 0) advance(5 * 60 * base::kNanosPerSecond);
  runtime_->engine()->stop();
  writer_->finish(now_);
  view_.reset();
  writer_.reset();
  lifecycle_.reset();
  runtime_.reset();
  if (pool_->free_count() != pool_->total_count())
    return fmt::format("{} packet buffers were not given back",
                       pool_->total_count() - pool_->free_count());
  return "";
}

}  // namespace merlon::cases
