// SPDX-License-Identifier: Apache-2.0
#pragma once
// One trial: what was asked and what came out. The smallest thing that is measured, journalled,
// searched with and shown. Values only; JSON in json.h. control-only.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "merlon/lab_model/histogram.h"
#include "merlon/lab_model/traffic.h"

namespace merlon::lab {

// May a trial be believed? Clean: yes. Tester-limited: the sender did not offer what was intended
// or the rate is within 80 % of the null path's ceiling. Contaminated: something else used the
// measuring cores.
enum class Stamp : std::uint8_t { kClean, kTesterLimited, kContaminated, kFailed };

// Frames of one direction or of both together; all counts are of measured frames, sequence-numbered
// by us.
struct FrameCounts {
  std::uint64_t intended = 0;  // by the schedule
  std::uint64_t offered = 0;   // handed to the port and taken by it
  std::uint64_t received = 0;  // distinct measured frames
  std::uint64_t lost = 0;      // offered, expected to be forwarded, never received
  std::uint64_t duplicated = 0;
  std::uint64_t reordered = 0;       // per flow (RFC 4737 section 3.3)
  std::uint64_t corrupted = 0;       // checksum of our payload is wrong
  std::uint64_t unexpected = 0;      // received frames that are not ours (ARP, LLDP, ...)
  std::uint64_t expected_drops = 0;  // offered frames that had to be dropped
  std::uint64_t false_accepts = 0;   // of those, received all the same
  std::uint64_t false_denies =
      0;  // lost frames that no overload explains: see oracle in NOTES of traffic
};

// One process or thread of ours, of the device or of the kernel, over the trial.
struct ProcessUse {
  std::string name;  // "sender", "receiver", "ovs-vswitchd", "merlond/merlon-w0", ...
  std::string role;  // "tester" | "device" | "kernel"
  double user_s = 0, system_s = 0;
  double rss_mib = 0;
  std::uint64_t voluntary_switches = 0, involuntary_switches = 0;
};

struct CoreUse {
  unsigned core = 0;
  double busy = 0, softirq = 0, steal = 0;  // shares of the trial, 0..1
  double other_s = 0;         // CPU seconds of processes that are neither tester nor device
  double longest_gap_us = 0;  // longest time a measuring thread on it was kept from running
};

// A counter that moved: where frames were lost, seen from outside.
struct LayerCounter {
  std::string layer;    // "sender socket", "veth g0 tx", "bridge", "ovs upcall", "merlon
                        // policy_deny", "receiver ring", ...
  std::string counter;  // name as the layer calls it
  std::int64_t delta = 0;
  bool is_loss = false;  // frames that ended there
};

struct TrialSpec {
  std::string id;       // unique in a run: "r3.t7"
  std::string row;      // id of the row
  double rate_pps = 0;  // intended, both directions together; 0 with Pacing::kMaximum
  double duration_s = 1;
  TrafficSpec traffic;
  std::uint64_t seed = 1;
  bool is_warm_up = false;  // measured, kept, never used
};

struct TrialResult {
  TrialSpec spec;
  double started = 0;      // Unix time, seconds
  double sending_s = 0;    // from the first to the last frame
  double effective_s = 0;  // all of the trial with its waits (MLRsearch "effective duration")
  FrameCounts frames;
  double offered_pps = 0, received_pps = 0,
         received_l1_bps = 0;  // L1: with preamble and gap, 20 bytes a frame
  double loss_ratio =
      0;  // (intended - delivered) / intended when the search is to see unsent frames as loss
  Histogram latency_actual;    // ns, from the send stamp
  Histogram latency_intended;  // ns, from the scheduled time
  Histogram lateness;          // ns, send stamp minus scheduled time
  std::vector<std::uint32_t> timeline_offered, timeline_lost;  // per millisecond of the schedule
  std::vector<ProcessUse> processes;
  std::vector<CoreUse> cores;
  std::vector<LayerCounter> layers;
  std::string loss_sentence_en, loss_sentence_ru;  // where the frames were lost, in words
  double device_cpu_s =
      0;  // of processes with role device, plus the kernel's forwarding part where it can be told
  double total_cpu_s = 0;
  double packets_per_cpu_s = 0;  // received / total_cpu_s
  double cycles_per_packet = 0;  // of the device; 0: not known
  std::map<std::string, double>
      kpis;  // "connections_per_s", "ttfb_p99_ms", ...; the suffix is the unit
  std::map<std::string, std::vector<double>> series;  // per second: "connections_per_s", ...
  Stamp stamp = Stamp::kClean;
  std::vector<std::string> stamp_reasons;
  std::vector<std::string> commands;  // what was run to get here, ready to paste
};

}  // namespace merlon::lab
