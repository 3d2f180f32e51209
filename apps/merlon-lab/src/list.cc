// SPDX-License-Identifier: Apache-2.0
// `merlon-lab list`: plans, suites and drivers, with what is absent on this machine and why.
#include <fmt/format.h>

#include "commands.h"
#include "merlon/lab_device/device.h"
#include "merlon/lab_run/plan.h"
#include "merlon/lab_run/suite.h"

namespace merlon::lab {

namespace {

const std::string& in(const Text& text, Language language) {
  return language == Language::kRussian && !text.ru.empty() ? text.ru : text.en;
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

}  // namespace

int list_command(Language language) {
  const bool is_russian = language == Language::kRussian;
  fmt::print("{}\n", is_russian ? "Планы (merlon lab run ИМЯ)" : "Plans (merlon lab run NAME)");
  for (const std::string& name : built_in_plans()) {
    const auto plan = built_in_plan(name);
    if (!plan) continue;
    fmt::print("  {:<18} {:>4.0f} min  {:>3} {}  {}\n", name, plan->budget_s / 60,
               plan->rows.size(), is_russian ? "строк" : "rows", in(plan->title, language));
  }
  fmt::print("\n{}\n", is_russian ? "Наборы испытаний" : "Suites");
  for (const Suite& suite : suites())
    fmt::print("  {:<22} {}{}\n", suite.name, in(suite.what, language),
               suite.standard.empty() ? "" : " (" + suite.standard + ")");
  fmt::print("\n{}\n", is_russian ? "Устройства" : "Devices");
  for (const DriverInfo& driver : drivers()) {
    fmt::print("  {:<12} {}\n", driver.name, in(driver.what, language));
    if (!driver.modes.empty())
      fmt::print("  {:<12}   {}: {}\n", "", is_russian ? "режимы" : "modes", joined(driver.modes));
    fmt::print("  {:<12}   {}: {}\n", "", is_russian ? "топологии" : "topologies",
               joined(driver.topologies));
    DeviceSpec spec;
    spec.driver = driver.name;
    if (!driver.modes.empty()) spec.mode = driver.modes.front();
    if (!driver.topologies.empty()) spec.topology = driver.topologies.front();
    const auto device = make_device(spec);
    if (!device) continue;
    if (const auto absence = (*device)->probe())
      fmt::print("  {:<12}   {}: {}\n", "", is_russian ? "здесь нет" : "absent here",
                 in(absence->reason, language));
  }
  return kDone;
}

}  // namespace merlon::lab
