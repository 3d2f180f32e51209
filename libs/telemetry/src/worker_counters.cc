// SPDX-License-Identifier: Apache-2.0
#include "merlon/telemetry/worker_counters.h"

namespace merlon::telemetry {
namespace {

template <std::size_t N>
void add_all(std::array<std::uint64_t, N>& sum, const std::array<Counter, N>& row) noexcept {
  for (std::size_t i = 0; i < N; ++i) sum[i] += row[i].get();
}

std::uint64_t distance(std::uint64_t now, std::uint64_t before) noexcept {
  return now >= before ? now - before : now;
}

template <std::size_t N>
void subtract_all(std::array<std::uint64_t, N>& now,
                  const std::array<std::uint64_t, N>& before) noexcept {
  for (std::size_t i = 0; i < N; ++i) now[i] = distance(now[i], before[i]);
}

}  // namespace

void CounterTotals::add(const WorkerCounters& row) noexcept {
#define MERLON_X(field, help) field += row.field.get();
  MERLON_WORKER_COUNTERS(MERLON_X)
#undef MERLON_X
  add_all(burst_fill, row.burst_fill);
  add_all(sessions_ended, row.sessions_ended);
  add_all(drop_packets, row.drop_packets);
  add_all(drop_bytes, row.drop_bytes);
  add_all(would_drop, row.would_drop);
}

CounterTotals CounterTotals::since(const CounterTotals& earlier) const noexcept {
  CounterTotals d = *this;
#define MERLON_X(field, help) d.field = distance(d.field, earlier.field);
  MERLON_WORKER_COUNTERS(MERLON_X)
#undef MERLON_X
  subtract_all(d.burst_fill, earlier.burst_fill);
  subtract_all(d.sessions_ended, earlier.sessions_ended);
  subtract_all(d.drop_packets, earlier.drop_packets);
  subtract_all(d.drop_bytes, earlier.drop_bytes);
  subtract_all(d.would_drop, earlier.would_drop);
  return d;
}

CounterTotals read_counters(const WorkerCounters& row) noexcept {
  CounterTotals t;
  t.add(row);
  return t;
}

CounterTotals sum_counters(std::span<const WorkerCounters* const> rows) noexcept {
  CounterTotals t;
  for (const WorkerCounters* row : rows) t.add(*row);
  return t;
}

}  // namespace merlon::telemetry
