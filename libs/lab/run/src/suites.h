// SPDX-License-Identifier: Apache-2.0
#pragma once
// The suites' functions, by file; the table is in suites.cc. control-only.
#include "merlon/lab_run/suite.h"

namespace merlon::lab {

// The row's parameter, or the default that the suite's table names.
double parameter(const Row& row, const std::string& name);

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
// suite_rfc2544.cc
base::Result<void> run_rfc2544_throughput(RowRun& run);
base::Result<void> run_rfc2544_latency(RowRun& run);
base::Result<void> run_rfc2544_loss(RowRun& run);
base::Result<void> run_rfc2544_back_to_back(RowRun& run);
// suite_change.cc
base::Result<void> run_reset_kill(RowRun& run);
base::Result<void> run_link_flap(RowRun& run);
base::Result<void> run_commit(RowRun& run);
base::Result<void> run_coupling(RowRun& run);
// suite_tcp.cc
base::Result<void> run_connection_rate(RowRun& run);
base::Result<void> run_connection_cost(RowRun& run);
base::Result<void> run_rfc9411(RowRun& run);

}  // namespace merlon::lab
