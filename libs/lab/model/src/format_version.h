// SPDX-License-Identifier: Apache-2.0
#pragma once
// The three members that open a result and a journal.
#include "json_read.h"
#include "merlon/base/result.h"

namespace merlon::lab {

inline constexpr const char* kResultSchema = "merlon-lab-result";
inline constexpr const char* kJournalSchema = "merlon-lab-journal";

// Takes the members out of `json` and sets `state` to the file's minor. kUnsupported for what can't
// be read.
base::Result<void> check_version(InputJson& json, const char* schema, ReadState& state);

}  // namespace merlon::lab
