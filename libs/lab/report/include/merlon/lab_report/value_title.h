// SPDX-License-Identifier: Apache-2.0
#pragma once
// Names of figures for people. Pure, any thread.
#include <optional>
#include <string_view>

#include "merlon/lab_model/run.h"

namespace merlon::lab {

// The title of a figure that the laboratory's own suites or tester write ("latency_p99_us",
// "quick-ndr_lower_pps"); nothing for another name, which reports show as it is, without its
// underscores.
std::optional<Text> value_title(std::string_view name);

}  // namespace merlon::lab
