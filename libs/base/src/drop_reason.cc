// SPDX-License-Identifier: Apache-2.0
#include "merlon/base/drop_reason.h"

#include <array>

namespace merlon::base {
namespace {
struct Row {
  std::string_view name, sentence;
};
constexpr std::array<Row, kDropReasonCount> kRows{{
#define MERLON_X(symbol, name, sentence) {name, sentence},
    MERLON_DROP_REASONS(MERLON_X)
#undef MERLON_X
}};
}  // namespace

std::string_view drop_reason_name(DropReason reason) noexcept {
  return kRows[static_cast<std::size_t>(reason)].name;
}

std::string_view drop_reason_sentence(DropReason reason) noexcept {
  return kRows[static_cast<std::size_t>(reason)].sentence;
}

std::optional<DropReason> drop_reason_from_name(std::string_view name) noexcept {
  for (std::size_t i = 0; i < kRows.size(); ++i)
    if (kRows[i].name == name) return static_cast<DropReason>(i);
  return std::nullopt;
}

}  // namespace merlon::base
