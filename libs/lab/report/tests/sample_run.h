// SPDX-License-Identifier: Apache-2.0
#pragma once
// A run as the laboratory makes them, from a simple model of devices: every kind of row, trial and
// finding that a report must show. Deterministic.
#include <cstdint>

#include "merlon/lab_model/run.h"

namespace merlon::lab {

Run sample_run(std::uint64_t seed = 1, double merlon_speed = 1.0);

// As many trials as asked for, on few rows.
Run huge_run(std::size_t trials);

}  // namespace merlon::lab
