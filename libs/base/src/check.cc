// SPDX-License-Identifier: Apache-2.0
#include "merlon/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace merlon::base {

void check_failed(const char* expression, const char* file, int line) noexcept {
  std::fprintf(stderr, "%s:%d: broken invariant: %s\n", file, line, expression);
  std::abort();
}

}  // namespace merlon::base
