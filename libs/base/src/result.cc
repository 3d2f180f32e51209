// SPDX-License-Identifier: Apache-2.0
#include "merlon/base/result.h"

#include <fmt/core.h>

namespace merlon::base {

std::string_view errc_name(Errc code) noexcept {
  switch (code) {
    case Errc::kInvalidValue:
      return "invalid_value";
    case Errc::kUnknownKey:
      return "unknown_key";
    case Errc::kDuplicate:
      return "duplicate";
    case Errc::kNotFound:
      return "not_found";
    case Errc::kCapacity:
      return "capacity";
    case Errc::kConflict:
      return "conflict";
    case Errc::kRefused:
      return "refused";
    case Errc::kTimeout:
      return "timeout";
    case Errc::kUnsupported:
      return "unsupported";
    case Errc::kIo:
      return "io";
    case Errc::kInternal:
      return "internal";
  }
  return "internal";
}

std::string Error::to_string() const {
  std::string out;
  if (where.has_place()) {
    out = fmt::format("{}:{}:{}: ", where.file, where.line, where.column);
  } else if (!where.file.empty()) {
    out = where.file + ": ";
  }
  out += "error: " + message;
  if (!hint.empty()) out += " (" + hint + ")";
  return out;
}

}  // namespace merlon::base
