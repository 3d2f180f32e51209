// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where frames were lost, from the counters of the layers before and after a trial. Pure; any
// thread.
//
// Device::counters() names layers so that this can tell them apart: "generator g0", "device s0",
// "sink k0", "host h1" are interfaces, with their passing frames (rx_packets, tx_packets); all
// others belong to the device, drops of its rules in kDroppedByRule. What went into a group of
// interfaces and did not come out, was not dropped by a rule and not counted by anyone was lost
// inside it uncounted. Both directions are added up.
#include <cstdint>
#include <string_view>
#include <vector>

#include "merlon/lab_model/run.h"
#include "merlon/lab_model/trial.h"

namespace merlon::lab {

// The counter of drops that the device was asked for; never loss.
inline constexpr std::string_view kDroppedByRule = "dropped_by_rule";

struct LossReport {
  std::vector<LayerCounter> deltas;  // counters that moved, and what follows from them
  std::uint64_t unaccounted = 0;     // of the lost frames, those that no layer owns up to
  Text sentence;                     // "No frame was lost." or the places, largest first
};

LossReport locate_loss(const std::vector<LayerCounter>& before,
                       const std::vector<LayerCounter>& after, std::uint64_t frames_lost);

}  // namespace merlon::lab
