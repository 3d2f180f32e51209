// SPDX-License-Identifier: Apache-2.0
#pragma once
// Errors without a place in a text. A function, because g++ 12 reports false uninitialised reads
// when the aggregate is built in place inside a Result.
#include <string>
#include <utility>

#include "merlon/base/result.h"

namespace merlon::lab {

[[nodiscard]] inline base::Error make_error(base::Errc code, std::string message,
                                            std::string hint = {}) {
  base::Error e;
  e.code = code;
  e.message = std::move(message);
  e.hint = std::move(hint);
  return e;
}

}  // namespace merlon::lab
