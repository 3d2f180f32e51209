// SPDX-License-Identifier: Apache-2.0
#pragma once
// The suites' functions, by file; the table is in suites.cc. control-only.
#include "merlon/lab_run/suite.h"

namespace merlon::lab {

// The row's parameter, or the default that the suite's table names.
double parameter(const Row& row, const std::string& name);

inline constexpr double kWarmUpS = 0.2;

// The first trial of a row fills caches, MAC tables and connection tables; it is kept but never
// used. Shorter than the request, without what happens before and during it; connections come at a
// quarter of its rate.
base::Result<void> warm_up(RowRun& run, TrialRequest request);

// suite_rates.cc
TrialRequest rates_request(const Row& row);
TrialRequest maximum_request(const Row& row);
base::Result<void> run_rates(RowRun& run);
base::Result<void> run_search(RowRun& run);
base::Result<void> run_starvation(RowRun& run);
base::Result<void> run_initial_packet(RowRun& run);
base::Result<void> run_part(RowRun& run);
base::Result<void> run_protected_goodput(RowRun& run);
base::Result<void> run_effectiveness(RowRun& run);
base::Result<void> run_monitor(RowRun& run);
// suite_paired.cc; run_paired() is the manager's.
base::Result<void> run_unpaired(RowRun& run);
// suite_rfc2544.cc
// The highest rate without loss, into the row's figures too. The RFC wants trials of 60 s; the
// row's duration is used and reported.
base::Result<double> rfc2544_throughput(RowRun& run, double budget_s);
base::Result<void> run_rfc2544_throughput(RowRun& run);
base::Result<void> run_rfc2544_latency(RowRun& run);
base::Result<void> run_rfc2544_loss(RowRun& run);
base::Result<void> run_rfc2544_back_to_back(RowRun& run);
base::Result<void> run_rfc2544_recovery(RowRun& run);  // suite_recovery.cc
// suite_change.cc
base::Result<void> run_reset_kill(RowRun& run);
base::Result<void> run_link_flap(RowRun& run);
base::Result<void> run_commit(RowRun& run);
base::Result<void> run_coupling(RowRun& run);
// suite_tcp.cc
// Connections by the row's parameters, their rate left open; kInvalidValue for a TLS that there is
// not.
base::Result<TcpRequest> tcp_request(const Row& row);
TrialRequest connections_request(const Row& row, TcpRequest tcp);
base::Result<void> run_connection_rate(RowRun& run);
base::Result<void> run_connection_cost(RowRun& run);
base::Result<void> run_rfc9411(RowRun& run);

}  // namespace merlon::lab
