// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_tcp/rfc9411.h"

namespace merlon::lab {
namespace {

constexpr double kFailureLimit = 0.00001, kRateLimit = 0.05, kConcurrentLimit = 0.1;

Rfc9411Limit make_limit(const TrialResult& r, const char* name, const char* kpi, double limit,
                        bool is_measured) {
  Rfc9411Limit l;
  l.name = name;
  l.limit = limit;
  const auto at = r.kpis.find(kpi);
  l.is_measured = is_measured && at != r.kpis.end() && at->second >= 0;
  if (at != r.kpis.end()) l.value = at->second;
  l.has_passed = !l.is_measured || l.value <= limit;
  return l;
}

bool has_any(const TrialResult& r, const char* kpi) {
  const auto at = r.kpis.find(kpi);
  return at != r.kpis.end() && at->second > 0;
}

}  // namespace

Rfc9411Verdict judge_rfc9411(const TrialResult& r) {
  Rfc9411Verdict v;
  const bool has_connections = has_any(r, "sustain_connections_attempted");
  const bool has_transactions = has_any(r, "sustain_transactions_attempted");
  // A connection that fails before its first request takes its transactions with it.
  v.limits.push_back(
      make_limit(r, "failed_transaction_ratio",
                 has_transactions ? "failed_transaction_ratio" : "failed_connection_ratio",
                 kFailureLimit, has_transactions || has_connections));
  if (has_transactions && has_connections)
    v.limits.push_back(
        make_limit(r, "failed_connection_ratio", "failed_connection_ratio", kFailureLimit, true));
  v.limits.push_back(make_limit(r, "reset_ratio", "reset_ratio", kFailureLimit, has_connections));
  v.limits.push_back(make_limit(r, "rate_deviation", "rate_deviation", kRateLimit, true));
  v.limits.push_back(
      make_limit(r, "concurrent_deviation", "concurrent_deviation", kConcurrentLimit, true));
  v.has_passed = v.limits.front().is_measured;
  for (const auto& l : v.limits) v.has_passed = v.has_passed && l.has_passed;
  return v;
}

}  // namespace merlon::lab
