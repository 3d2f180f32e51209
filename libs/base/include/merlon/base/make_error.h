// SPDX-License-Identifier: Apache-2.0
#pragma once
// Errors without a place in a text. Functions, because g++ 12 reports false uninitialised reads
// when the aggregate is built in place inside a Result. control-only.
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "merlon/base/result.h"

namespace merlon::base {

[[nodiscard]] inline Error make_error(Errc code, std::string message, std::string hint = {}) {
  Error e;
  e.code = code;
  e.message = std::move(message);
  e.hint = std::move(hint);
  return e;
}

[[nodiscard]] inline Error invalid(std::string message, std::string hint = {}) {
  return make_error(Errc::kInvalidValue, std::move(message), std::move(hint));
}

// kIo with the system's words for errno, which the caller has not touched since.
[[nodiscard]] inline Error system_error(std::string what, std::string hint = {}) {
  const int code = errno;
  return make_error(Errc::kIo, std::move(what) + ": " + std::strerror(code), std::move(hint));
}

}  // namespace merlon::base
