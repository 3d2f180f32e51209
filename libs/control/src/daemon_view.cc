// SPDX-License-Identifier: Apache-2.0
// State that `show` asks for. Sessions and explain are in daemon_sessions.cc, configuration in
// daemon_config.cc, metrics in daemon_metrics.cc.
#include "merlon/control/daemon_view.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "daemon_words.h"
#include "merlon/engine/session_walk.h"
#include "merlon/flow/session.h"

#ifndef MERLON_VERSION
#define MERLON_VERSION "0.0.0"
#endif

namespace merlon::control {
namespace {

using base::DropReason;

constexpr std::size_t kEventsRemembered = 1000;

double per_second(std::uint64_t before, std::uint64_t now, base::Nanos passed) {
  if (passed <= 0 || now < before) return 0;
  return static_cast<double>(now - before) * 1e9 / static_cast<double>(passed);
}

double quotient(std::uint64_t a, std::uint64_t b) {
  return b == 0 ? 0 : static_cast<double>(a) / static_cast<double>(b);
}

std::string join(const std::vector<policy::Name>& names) {
  if (names.empty()) return "any";
  std::string out;
  for (const auto& n : names)
    out += (out.empty() ? "" : ", ") + std::string(n.negated ? "!" : "") + n.text;
  return out;
}

std::string_view category_name(policy::Category c) {
  constexpr std::string_view kNames[] = {"emergency", "infrastructure", "environment",
                                         "application"};
  return kNames[static_cast<std::size_t>(c)];
}
std::string_view log_name(policy::LogMode m) {
  constexpr std::string_view kNames[] = {"none", "start", "end", "both"};
  return kNames[static_cast<std::size_t>(m)];
}
std::string_view on_change_name(policy::OnChange c) {
  constexpr std::string_view kNames[] = {"re-evaluate", "keep", "kill"};
  return kNames[static_cast<std::size_t>(c)];
}

}  // namespace

std::string_view program_version() noexcept { return MERLON_VERSION; }

DaemonView::DaemonView(Runtime& runtime, Lifecycle& lifecycle, std::mutex& mutex,
                       telemetry::EventWriter& events)
    : runtime_(runtime),
      lifecycle_(lifecycle),
      mutex_(mutex),
      events_writer_(events),
      started_(base::wall_clock_now()),
      started_steady_(engine::steady_now()) {}

void DaemonView::sample(base::Nanos now) {
  Sample s{.time = now, .ports = {}, .workers = {}};
  engine::Engine& e = *runtime_.engine();
  for (std::size_t p = 0; p < e.config().ports.size(); ++p)
    s.ports.push_back(e.port(static_cast<std::uint16_t>(p)).counters());
  for (unsigned w = 0; w < e.worker_count(); ++w) s.workers.push_back(e.read_worker(w).counters);
  const std::lock_guard lock(sample_mutex_);
  before_ = std::move(last_);
  last_ = std::move(s);
}

std::pair<DaemonView::Sample, DaemonView::Sample> DaemonView::samples() const {
  const std::lock_guard lock(sample_mutex_);
  return {before_, last_};
}

telemetry::CounterTotals DaemonView::totals() const {
  const auto rows = runtime_.engine()->counter_rows();
  return telemetry::sum_counters(rows);
}

void DaemonView::remember_event(std::string_view line) {
  const std::lock_guard lock(event_mutex_);
  recent_.push_back({++event_sequence_, std::string(line)});
  if (recent_.size() > kEventsRemembered) recent_.pop_front();
}

std::vector<EventLine> DaemonView::events(std::uint64_t after, std::size_t limit) {
  const std::lock_guard lock(event_mutex_);
  std::vector<EventLine> out;
  for (const EventLine& e : recent_)
    if (e.sequence > after && out.size() < limit) out.push_back(e);
  return out;
}

std::string DaemonView::role_of(std::uint16_t port) const {
  for (const auto& w : runtime_.engine()->config().wires)
    if (w.port_a == port || w.port_b == port) return "wire " + w.name;
  const auto& taps = runtime_.engine()->config().taps;
  return std::ranges::find(taps, port) != taps.end() ? "tap" : "unused";
}

Status DaemonView::status() {
  Status s;
  const engine::Engine& e = *runtime_.engine();
  s.version = program_version();
  s.process = static_cast<std::uint64_t>(getpid());
  s.started = started_;
  s.uptime_ms = static_cast<std::uint64_t>(engine::steady_now() - started_steady_) / 1'000'000;
  const bool has_wires = !e.config().wires.empty(), has_taps = !e.config().taps.empty();
  s.mode = has_wires && has_taps ? "wire and tap" : has_wires ? "wire" : "tap";
  s.state = "running";
  for (unsigned w = 0; w < e.worker_count(); ++w) {
    const auto gauges = e.read_worker(w).gauges;
    s.sessions += gauges.sessions;
    s.session_limit += gauges.sessions_max;
  }
  {
    const std::lock_guard lock(change_mutex_);
    if (!start_warning_.empty()) s.warnings.push_back(start_warning_);
  }
  const telemetry::CounterTotals t = totals();
  if (t.events_lost != 0)
    s.warnings.push_back(fmt::format("{} events were lost at a full ring", t.events_lost));
  const auto full = t.drop_packets[static_cast<std::size_t>(DropReason::kSessionTableFull)];
  if (full != 0)
    s.warnings.push_back(fmt::format("the session table was full: {} packets dropped", full));
  for (const auto& sink : events_writer_.sinks())
    if (sink.is_failing)
      s.warnings.push_back(fmt::format("the event sink {} can't be written", sink.name));
  // A commit of a large policy holds the life cycle for seconds; status is asked just then.
  if (!std::unique_lock(mutex_, std::try_to_lock).owns_lock())
    s.state = "running, a configuration is being checked or committed";
  const auto life = lifecycle_.view();
  s.name = life->running->name;
  s.config_revision = life->revision;
  if (life->pending) s.confirm_deadline = life->pending->deadline;
  for (const auto& key : life->waiting_restart_keys)
    s.warnings.push_back(fmt::format("{} takes effect at the next start", key));
  return s;
}

std::vector<PortStatus> DaemonView::ports() {
  const auto [before, last] = samples();
  const base::Nanos passed = last.time - before.time;
  std::vector<PortStatus> out;
  engine::Engine& e = *runtime_.engine();
  const auto policy = runtime_.policy();
  for (std::uint16_t p = 0; p < e.config().ports.size(); ++p) {
    PortStatus s{
        .info = e.port(p).info(), .counters = e.port(p).counters(), .role = role_of(p), .zone = {}};
    s.zone = policy->zones().label(p);
    if (p < before.ports.size() && p < last.ports.size()) {
      const io::PortCounters &a = before.ports[p], &b = last.ports[p];
      s.rx_packets_per_second = per_second(a.rx_packets, b.rx_packets, passed);
      s.tx_packets_per_second = per_second(a.tx_packets, b.tx_packets, passed);
      s.rx_bits_per_second = 8 * per_second(a.rx_bytes, b.rx_bytes, passed);
      s.tx_bits_per_second = 8 * per_second(a.tx_bytes, b.tx_bytes, passed);
    }
    out.push_back(std::move(s));
  }
  return out;
}

std::vector<WorkerStatus> DaemonView::workers() {
  const auto [before, last] = samples();
  std::vector<WorkerStatus> out;
  const engine::Engine& e = *runtime_.engine();
  for (unsigned w = 0; w < e.worker_count(); ++w) {
    const engine::WorkerReading r = e.read_worker(w);
    WorkerStatus s{.worker = w};
    if (w < e.config().worker_cores.size()) s.core = static_cast<int>(e.config().worker_cores[w]);
    s.packets = r.counters.received_packets + r.counters.taken_over_packets;
    s.sessions = r.gauges.sessions;
    s.session_limit = r.gauges.sessions_max;
    s.handed_over = r.counters.handed_over_packets;
    s.events_lost = r.counters.events_lost;
    s.late_turns = r.counters.late_turns;
    s.late_seconds = static_cast<double>(r.counters.late_cycles) / base::TscClock::frequency();
    if (w < before.workers.size()) {
      const telemetry::CounterTotals d = last.workers[w].since(before.workers[w]);
      const std::uint64_t packets = d.received_packets + d.taken_over_packets;
      s.busy_ratio = quotient(d.busy_cycles, d.cycles);
      s.cycles_per_packet = quotient(d.busy_cycles, packets);
      s.packets_per_burst = quotient(d.received_packets, d.bursts);
      s.packets_per_second = per_second(0, packets, last.time - before.time);
    }
    out.push_back(s);
  }
  return out;
}

std::vector<RuleStatus> DaemonView::rules() {
  const auto policy = runtime_.policy();
  // The counters get a session's packets at its end; what lives still is added here.
  struct Alive {
    std::uint64_t sessions = 0, packets = 0, bytes = 0;
  };
  std::vector<Alive> alive(policy->slot_count());
  engine::SessionWalk walk(*runtime_.engine(), [](const flow::Session&, const flow::SessionCold&,
                                                  base::Ticks) { return true; });
  for (std::vector<engine::SessionView> views; walk.next(views);)
    for (const engine::SessionView& v : views) {
      if (v.session.rule >= alive.size()) continue;
      Alive& a = alive[v.session.rule];
      ++a.sessions;
      a.packets += v.session.packets[0] + v.session.packets[1];
      a.bytes += v.session.bytes[0] + v.session.bytes[1];
    }
  std::map<std::string_view, const policy::Rule*> by_id;
  const auto life = lifecycle_.view();
  for (const policy::Rule& r : life->running->policy.rules) by_id[r.id] = &r;
  std::vector<std::uint32_t> slots = policy->order();
  if (std::ranges::find(slots, policy::kDefaultRuleSlot) == slots.end())
    slots.push_back(policy::kDefaultRuleSlot);
  std::vector<RuleStatus> out;
  const base::Nanos now = base::wall_clock_now();
  for (const std::uint32_t slot : slots) {
    const policy::SlotInfo* info = policy->slot(slot);
    if (info == nullptr) continue;
    RuleStatus s;
    s.id = info->id;
    s.category =
        slot == policy::kDefaultRuleSlot ? std::string_view() : category_name(info->category);
    s.action = telemetry::action_name(info->action);
    s.log = log_name(info->log);
    s.owner = info->owner;
    s.description = info->description;
    s.reason = info->reason;
    s.where = info->where;
    if (!info->is_enabled) s.state = "disabled";
    if (info->expires && *info->expires <= now) s.state = "expired";
    if (const auto found = by_id.find(info->id); found != by_id.end()) {
      s.from = join(found->second->from_zones);
      s.to = join(found->second->to_zones);
      s.on_change = on_change_name(found->second->on_change);
    }
    const policy::RuleHits hits = runtime_.engine()->hits().read(slot);
    s.hits = hits.sessions;
    const Alive living = slot < alive.size() ? alive[slot] : Alive{};
    s.packets = hits.packets + living.packets;
    s.bytes = hits.bytes + living.bytes;
    s.limit_drops = hits.limit_drops;
    s.sessions = living.sessions;
    s.first_hit = hits.first;
    s.last_hit = hits.last;
    s.observed_since = hits.observed_since;
    out.push_back(std::move(s));
  }
  return out;
}

std::vector<DropCount> DaemonView::drops() {
  const auto [before, last] = samples();
  const telemetry::CounterTotals t = totals();
  std::vector<DropCount> out;
  for (unsigned r = 1; r < base::kDropReasonCount; ++r) {
    if (t.drop_packets[r] == 0) continue;
    DropCount d{.reason = static_cast<DropReason>(r),
                .packets = t.drop_packets[r],
                .would_drop = t.would_drop[r],
                .last = 0};
    std::uint64_t a = 0, b = 0;
    for (const auto& w : before.workers) a += w.drop_packets[r];
    for (const auto& w : last.workers) b += w.drop_packets[r];
    d.per_second = before.workers.empty() ? 0 : per_second(a, b, last.time - before.time);
    for (const auto& p : telemetry::collect_drops(runtime_.engine()->drop_rings(), d.reason, 1))
      d.last = p.info.time;
    out.push_back(d);
  }
  return out;
}

std::vector<DroppedPacket> DaemonView::dropped_packets(DropReason reason) {
  const auto policy = runtime_.policy();
  const auto kept = telemetry::collect_drops(
      runtime_.engine()->drop_rings(),
      reason == DropReason::kNone ? std::nullopt : std::optional(reason), 0);
  std::vector<DroppedPacket> out;
  for (const telemetry::DroppedPacket& p : kept) {
    DroppedPacket d{.time = p.info.time,
                    .reason = p.info.reason,
                    .worker = p.info.worker,
                    .rule = {},
                    .port = {},
                    .zone = {},
                    .length = p.info.length,
                    .bytes = {}};
    if (p.info.rule != base::kNoRule)
      d.rule = runtime_.names().rule(p.info.rule, p.info.generation);
    d.port = runtime_.names().port(p.info.in_port);
    d.bytes.assign(p.data().begin(), p.data().end());
    const std::uint16_t vlan = fill_endpoints(d, runtime_.engine()->config());
    d.zone = policy->zones().name(policy->zones().zone(p.info.in_port, vlan, d.source));
    out.push_back(std::move(d));
  }
  std::ranges::reverse(out);
  return out;
}

std::vector<PoolStatus> DaemonView::pools() {
  std::vector<PoolStatus> out;
  engine::Engine& e = *runtime_.engine();
  const auto& config = e.config();
  for (unsigned w = 0; w < e.worker_count(); ++w) {
    const engine::WorkerReading r = e.read_worker(w);
    flow::TableOptions share = config.table;
    share.max_sessions = r.gauges.sessions_max;
    out.push_back({.name = fmt::format("sessions worker {}", w),
                   .used = r.gauges.sessions,
                   .limit = r.gauges.sessions_max,
                   .peak = r.gauges.sessions_peak,
                   .failures = r.gauges.table_full,
                   .size_bytes = flow::SessionTable::memory_for(share)});
    out.push_back({.name = fmt::format("sources worker {}", w),
                   .used = r.gauges.sources,
                   .limit = config.table.max_sources});
    out.push_back({.name = fmt::format("fragments held worker {}", w),
                   .used = r.gauges.fragments_held,
                   .limit = config.fragments.max_held});
    out.push_back({.name = fmt::format("datagrams worker {}", w),
                   .used = r.gauges.fragment_datagrams,
                   .limit = config.fragments.max_datagrams});
    const base::EventRing* ring = e.event_rings()[w];
    out.push_back({.name = fmt::format("events worker {}", w),
                   .used = ring->count(),
                   .limit = ring->capacity(),
                   .failures = r.counters.events_lost,
                   .size_bytes = ring->capacity() * sizeof(base::EventRecord)});
    out.push_back({.name = fmt::format("dropped packets worker {}", w),
                   .size_bytes = telemetry::DropRing::memory_size(config.drop_ring_packets)});
  }
  const auto size = runtime_.policy()->size();
  out.push_back({.name = "policy rules",
                 .used = size.rules,
                 .limit = policy::CompileLimits{}.max_rules,
                 .size_bytes = size.bytes});
  out.push_back({.name = "gone rules", .used = runtime_.gone_rules(), .limit = GoneRules::kKept});
  return out;
}

std::vector<std::string> DaemonView::names(NameType type) {
  std::vector<std::string> out;
  const auto policy = runtime_.policy();
  switch (type) {
    case NameType::kRule:
      for (const std::uint32_t slot : policy->order())
        if (const auto* info = policy->slot(slot)) out.push_back(info->id);
      break;
    case NameType::kZone:
      for (std::uint16_t z = 0; z < policy->zones().count(); ++z)
        out.emplace_back(policy->zones().name(z));
      break;
    case NameType::kPort:
      for (const auto& p : runtime_.engine()->config().ports) out.push_back(p.name);
      break;
    case NameType::kState:
      for (unsigned s = 1; s < flow::kSessionStateCount; ++s)
        out.emplace_back(flow::session_state_name(static_cast<flow::SessionState>(s)));
      break;
  }
  return out;
}

}  // namespace merlon::control
