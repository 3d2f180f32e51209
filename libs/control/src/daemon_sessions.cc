// SPDX-License-Identifier: Apache-2.0
// Sessions for the API: asked of the workers, put into words here.
#include <fmt/format.h>

#include <algorithm>

#include "merlon/base/log.h"
#include "merlon/control/daemon_view.h"
#include "merlon/engine/session_walk.h"

namespace merlon::control {
namespace {

using flow::Session;

// The filter's cheap tests on the worker's thread; names are resolved before.
struct SessionTest {
  client::SessionFilter filter;
  std::uint32_t rule = base::kNoRule;
  bool has_rule = false;

  bool operator()(const Session& s, const flow::SessionCold& c, base::Ticks now) const {
    const policy::Query q = engine::query_of(s, c);
    const auto port_is = [](std::uint16_t want, std::uint16_t a, std::uint16_t b) {
      return want == a || want == b;
    };
    if (filter.protocol && *filter.protocol != s.key.protocol) return false;
    if (filter.source && !filter.source->contains(q.source)) return false;
    if (filter.destination && !filter.destination->contains(q.destination)) return false;
    if (filter.address && !filter.address->contains(q.source) &&
        !filter.address->contains(q.destination))
      return false;
    if (filter.source_port && *filter.source_port != q.source_port) return false;
    if (filter.destination_port && *filter.destination_port != q.destination_port) return false;
    if (filter.port && !port_is(*filter.port, q.source_port, q.destination_port)) return false;
    if (filter.vlan && *filter.vlan != s.key.vlan_outer) return false;
    if (filter.id && *filter.id != c.flow_id) return false;
    if (filter.idle_ms && base::ticks_between(s.last_seen, now) < *filter.idle_ms) return false;
    if (!filter.state.empty() && flow::session_state_name(s.state) != filter.state) return false;
    return !has_rule || s.rule == rule;
  }
};

// Zone, port and age are told by words: tested on the row.
bool passes_row(const client::SessionFilter& f, const SessionRow& row) { return matches(f, row); }

base::Result<SessionTest> make_test(const client::SessionFilter& filter, const Runtime& runtime) {
  SessionTest test{.filter = filter};
  if (!filter.rule.empty()) {
    const auto slot = runtime.find_slot(filter.rule);
    if (!slot)
      return base::Error{.code = base::Errc::kNotFound,
                         .message = fmt::format("there is no rule \"{}\"", filter.rule),
                         .hint = "`merlon show policy` lists them"};
    test.has_rule = true;
    test.rule = *slot;
  }
  return test;
}

class EngineCursor final : public SessionCursor {
 public:
  EngineCursor(Runtime& runtime, SessionTest test)
      : runtime_(runtime), filter_(test.filter), walk_(*runtime.engine(), std::move(test)) {}

  bool next(std::vector<SessionRow>& rows) override {
    rows.clear();
    if (!walk_.next(views_)) return false;
    for (const engine::SessionView& v : views_) {
      SessionRow row =
          session_row(v, runtime_.names(), runtime_.engine()->revision_of(v.session.generation));
      if (passes_row(filter_, row)) rows.push_back(std::move(row));
    }
    return true;
  }

 private:
  Runtime& runtime_;
  const client::SessionFilter filter_;
  engine::SessionWalk walk_;
  std::vector<engine::SessionView> views_;
};

// By the clock that sessions age by. It counts 32 bits of milliseconds; how often these went round
// since the start is told by the wall clock, which a step of less than 24 days does not put wrong.
std::uint64_t age_of(const engine::SessionView& v) {
  constexpr std::int64_t kRound = std::int64_t{1} << 32;
  const std::int64_t steady = static_cast<base::Ticks>(v.taken - v.session.start);
  const std::int64_t wall = (v.taken_time - v.cold.start) / base::kNanosPerTick;
  const std::int64_t rounds = (wall - steady + kRound / 2) / kRound;
  return static_cast<std::uint64_t>(steady + std::max<std::int64_t>(0, rounds) * kRound);
}

class EmptyCursor final : public SessionCursor {
 public:
  bool next(std::vector<SessionRow>& rows) override {
    rows.clear();
    return false;
  }
};

}  // namespace

SessionRow session_row(const engine::SessionView& v, const NamesTable& names,
                       std::uint32_t revision) {
  const Session& s = v.session;
  const policy::Query q = engine::query_of(s, v.cold);
  SessionRow row;
  row.id = v.cold.flow_id;
  row.worker = v.worker;
  row.protocol = s.key.protocol;
  row.source = q.source;
  row.destination = q.destination;
  row.source_port = q.source_port;
  row.destination_port = q.destination_port;
  if (s.key.protocol == 1 || s.key.protocol == 58) {
    row.source_port = s.key.port_a;
    row.destination_port = q.icmp_type;
  }
  row.vlan = s.key.vlan_outer;
  row.state = flow::session_state_name(s.state);
  row.rule = names.rule(s.rule, revision);
  row.action = s.is(Session::kDropAll) ? (s.is(Session::kReject) ? "reject" : "drop") : "permit";
  row.reason = s.drop_reason;
  row.from_zone = names.zone(v.cold.zone_source, revision);
  row.to_zone = names.zone(v.cold.zone_destination, revision);
  row.in_port = names.port(v.cold.in_port);
  row.out_port = names.port(v.cold.out_port);
  for (unsigned side = 0; side < 2; ++side) {
    row.packets[side] = s.packets[side];
    row.bytes[side] = s.bytes[side];
  }
  row.start = v.cold.start;
  row.age_ms = age_of(v);
  row.idle_ms = base::ticks_between(s.last_seen, v.taken);
  row.expires_in_ms = v.timeout > row.idle_ms ? v.timeout - row.idle_ms : 0;
  row.revision = revision;
  return row;
}

std::unique_ptr<SessionCursor> DaemonView::sessions(const client::SessionFilter& filter) {
  auto test = make_test(filter, runtime_);
  if (!test) return std::make_unique<EmptyCursor>();
  return std::make_unique<EngineCursor>(runtime_, std::move(*test));
}

base::Result<std::uint64_t> DaemonView::clear_sessions(const client::SessionFilter& filter,
                                                       std::string_view peer) {
  auto test = make_test(filter, runtime_);
  if (!test) return test.error();
  const auto cleared = runtime_.engine()->clear_sessions(
      [this, t = std::move(*test), f = filter](const Session& s, const flow::SessionCold& c,
                                               base::Ticks now) {
        if (!t(s, c, now)) return false;
        const engine::SessionView view{
            .session = s, .cold = c, .taken = now, .taken_time = base::wall_clock_now()};
        return passes_row(
            f, session_row(view, runtime_.names(), runtime_.engine()->revision_of(s.generation)));
      });
  if (cleared) {
    base::log(base::LogLevel::kInfo, "audit", "{} sessions cleared by {} ({})", *cleared, peer,
              client::to_string(filter));
  } else {
    base::log(base::LogLevel::kWarning, "audit", "clearing sessions by {} ({}): {}", peer,
              client::to_string(filter), cleared.error().message);
  }
  return cleared;
}

}  // namespace merlon::control
