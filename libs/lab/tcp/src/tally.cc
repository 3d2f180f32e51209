// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_tcp/tally.h"

#include <numeric>

namespace merlon::lab::tcp {

std::string_view outcome_name(Outcome outcome) noexcept {
  static constexpr std::array<std::string_view, kOutcomeCount> kNames = {
      "completed",       "refused",      "unreachable",         "reset",
      "connect_timeout", "tls_alert",    "tls_verify",          "tls_bad_record",
      "tls_truncated",   "tls_timeout",  "transaction_timeout", "close_timeout",
      "bad_response",    "closed_early", "table_full",          "unfinished"};
  return kNames[static_cast<std::size_t>(outcome)];
}

std::uint64_t Cohort::failed() const noexcept {
  return std::accumulate(outcomes.begin() + 1, outcomes.end(), std::uint64_t{0});
}

}  // namespace merlon::lab::tcp
