// SPDX-License-Identifier: Apache-2.0
// Plan files come from strangers. A plan that is read without errors prints to a text that reads
// back to the same plan.
#include <cstdint>
#include <string_view>

#include "merlon/base/check.h"
#include "merlon/lab_run/plan.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace merlon::lab;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const PlanFile read = read_plan(text, "fuzz.yaml");
  if (!read.errors.empty()) {
    for (const merlon::base::Error& error : read.errors) MERLON_CHECK(!error.message.empty());
    return 0;
  }
  const std::string once = print_plan(read.plan);
  const PlanFile again = read_plan(once, "again.yaml");
  MERLON_CHECK(again.errors.empty());
  MERLON_CHECK(print_plan(again.plan) == once);
  return 0;
}
