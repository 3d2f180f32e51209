// SPDX-License-Identifier: Apache-2.0
#include "rule.h"

#include <algorithm>

namespace merlon::policy {

namespace {

constexpr std::int64_t kDay = 86400;

bool in(const KeySetPtr& set, std::uint32_t key) noexcept { return !set || contains(*set, key); }
bool in(const AddressSetPtr& set, const base::IpAddress& a) noexcept {
  return !set || contains(*set, address_key(a));
}

bool is_applied(const KeySetPtr& set, const Query& q) noexcept {
  return !set || contains<std::uint32_t>(*set, q.zone_source) ||
         contains<std::uint32_t>(*set, q.zone_destination) ||
         contains<std::uint32_t>(*set, kAppliedPort + q.in_port) ||
         contains<std::uint32_t>(*set, kAppliedPort + q.out_port);
}

std::int64_t floor_div(std::int64_t a, std::int64_t b) noexcept {
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

// Monday is 0; 1970-01-01 was a Thursday.
unsigned weekday(std::int64_t day) noexcept {
  return static_cast<unsigned>(((day + 3) % 7 + 7) % 7);
}

bool covers_moment(const ScheduleWindow& w, base::Nanos now, std::int64_t local) noexcept {
  if (w.not_before && now < *w.not_before) return false;
  if (w.not_after && now >= *w.not_after) return false;
  const std::int64_t day = floor_div(local, kDay);
  const auto second = static_cast<std::uint32_t>(local - day * kDay);
  const std::uint32_t from = w.from_minute * 60, to = w.to_minute * 60;
  const bool today = (w.weekdays >> weekday(day) & 1) != 0;
  if (from <= to) return today && from <= second && second < to;
  // Over midnight: the part after midnight belongs to the day the window began on.
  const bool yesterday = (w.weekdays >> weekday(day - 1) & 1) != 0;
  return (today && second >= from) || (yesterday && second < to);
}

}  // namespace

bool ScheduleTable::is_active(base::Nanos now) const noexcept {
  const std::int64_t local = floor_div(now, base::kNanosPerSecond) + offset_seconds;
  return std::any_of(windows.begin(), windows.end(),
                     [&](const ScheduleWindow& w) { return covers_moment(w, now, local); });
}

base::Nanos ScheduleTable::next_edge(base::Nanos now) const noexcept {
  base::Nanos best = kNever;
  const auto offer = [&](base::Nanos t) {
    if (t > now) best = std::min(best, t);
  };
  const std::int64_t today =
      floor_div(floor_div(now, base::kNanosPerSecond) + offset_seconds, kDay);
  for (const ScheduleWindow& w : windows) {
    if (w.not_before) offer(*w.not_before);
    if (w.not_after) offer(*w.not_after);
    const bool always = w.from_minute == 0 && w.to_minute == 1440 && (w.weekdays & 0x7f) == 0x7f;
    if (always) continue;
    for (std::int64_t day = today; day <= today + 1; ++day) {
      for (const std::int64_t minute :
           {std::int64_t{w.from_minute}, std::int64_t{w.to_minute}, std::int64_t{1440}})
        offer((day * kDay + minute * 60 - offset_seconds) * base::kNanosPerSecond);
    }
  }
  return best;
}

Miss Compiled::miss(const Query& q) const noexcept {
  if (!in(from_zones, q.zone_source)) return Miss::kFromZone;
  if (!in(to_zones, q.zone_destination)) return Miss::kToZone;
  if (!is_applied(applied_to, q)) return Miss::kAppliedTo;
  if (!in(sources, q.source)) return Miss::kSource;
  if (!in(destinations, q.destination)) return Miss::kDestination;
  if (services) {
    const std::uint32_t key = service_key(q);
    const bool hit = std::any_of(services->begin(), services->end(), [&](const ServiceRow& r) {
      return in(r.keys, key) && in(r.source_ports, q.source_port);
    });
    if (!hit) return Miss::kService;
  }
  return Miss::kNone;
}

}  // namespace merlon::policy
