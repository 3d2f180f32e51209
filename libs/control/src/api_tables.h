// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rows of the runtime to tables of the API: the one place that names columns. Pure functions.
#include <vector>

#include "merlon/client/table.h"
#include "merlon/control/api_rows.h"
#include "merlon/control/store.h"

namespace merlon::control {

client::Table ports_table(const std::vector<PortStatus>& rows);
client::Table workers_table(const std::vector<WorkerStatus>& rows);
client::Table rules_table(const std::vector<RuleStatus>& rows);
client::Table drops_table(const std::vector<DropCount>& rows);
client::Table dropped_packets_table(const std::vector<DroppedPacket>& rows);
client::Table pools_table(const std::vector<PoolStatus>& rows);
client::Table history_table(const std::vector<RevisionInfo>& rows, std::uint64_t running);
client::Table names_table(const std::vector<std::string>& names);
client::Table sessions_head();
client::Row session_row(const SessionRow& session);

// A capture file (pcap, nanoseconds, Ethernet) of dropped packets, oldest first.
std::string dropped_packets_pcap(std::vector<DroppedPacket> packets);

}  // namespace merlon::control
