// SPDX-License-Identifier: Apache-2.0
#pragma once
// MERLON_CHECK ends the process when an invariant of the program is broken. It is never used on
// input: packets, files, peers and configuration get errors or counters.
namespace merlon::base {
[[noreturn]] void check_failed(const char* expression, const char* file, int line) noexcept;
}  // namespace merlon::base

#define MERLON_CHECK(expression)                        \
  (static_cast<bool>(expression) ? static_cast<void>(0) \
                                 : ::merlon::base::check_failed(#expression, __FILE__, __LINE__))
