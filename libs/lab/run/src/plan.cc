// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_run/plan.h"

#include <fmt/format.h>

#include <array>

#include "plans.h"

namespace merlon::lab {

using base::Errc;
using base::Error;
using base::Result;

namespace {

struct Entry {
  const char* name;
  Plan (*make)();
};

constexpr std::array kPlans{
    Entry{"quick", quick_plan},
    Entry{"ab", ab_plan},
    Entry{"vswitch-openflow", vswitch_openflow_plan},
    Entry{"ngfw-emix", ngfw_emix_plan},
    Entry{"dfw-4000x120k", dfw_plan},
    Entry{"monitor-core", monitor_core_plan},
    Entry{"rfc2544", rfc2544_plan},
    Entry{"rfc9411", rfc9411_plan},
    Entry{"vswitch-set", vswitch_set_plan},
    Entry{"change-under-load", change_plan},
    Entry{"locality", locality_plan},
};

}  // namespace

const std::vector<std::string>& built_in_plans() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out;
    for (const Entry& entry : kPlans) out.emplace_back(entry.name);
    return out;
  }();
  return names;
}

Result<Plan> built_in_plan(std::string_view name) {
  std::string known;
  for (const Entry& entry : kPlans) {
    if (name == entry.name) return entry.make();
    known += (known.empty() ? "" : ", ") + std::string(entry.name);
  }
  return Error{Errc::kNotFound,
               fmt::format("there is no plan \"{}\"", name),
               {},
               fmt::format("plans: {}, or the path of a file that ends in .yaml", known),
               {}};
}

}  // namespace merlon::lab
