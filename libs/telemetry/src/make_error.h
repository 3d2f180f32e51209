// SPDX-License-Identifier: Apache-2.0
#pragma once
// An error without a place, as the sinks return it.
#include <string>
#include <utility>

#include "merlon/base/result.h"

namespace merlon::telemetry {

inline base::Error make_error(base::Errc code, std::string message, std::string hint = {}) {
  base::Error e;
  e.code = code;
  e.message = std::move(message);
  e.hint = std::move(hint);
  return e;
}

}  // namespace merlon::telemetry
