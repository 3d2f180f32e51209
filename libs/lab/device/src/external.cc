// SPDX-License-Identifier: Apache-2.0
// Any program as a device, by commands of the user's own, run by a shell in the device's namespace.
// Options:
//   setup     runs to its end before the start          start    stays; is the device's process
//   rules     runs to its end, loads the rules          stop     runs to its end
//   counters  prints lines "LAYER<tab>COUNTER<tab>VALUE[<tab>loss]"
// One of setup and start is needed. Each finds in its environment MERLON_LAB_NAMESPACE,
// MERLON_LAB_PORT_0 and _1, MERLON_LAB_FOLDER (its own, for files), and `rules` also
// MERLON_LAB_RULES, a file of lines "SOURCE DESTINATION SOURCE_PORT DESTINATION_PORT" to drop UDP
// of, and MERLON_LAB_DROP_PORT when the oracle wants one.
#include <fmt/format.h>
#include <algorithm>

#include "device_base.h"
#include "drivers.h"
#include "merlon/base/make_error.h"
#include "merlon/lab_host/file.h"
#include "rules.h"

namespace merlon::lab {
namespace {

class External final : public DeviceBase {
 public:
  using DeviceBase::DeviceBase;
  ~External() override { static_cast<void>(stop()); }
  [[nodiscard]] std::string version() const override { return option("version", "external"); }

 protected:
  [[nodiscard]] std::optional<Absence> find_absence() const override;
  base::Result<void> start_switch(bool is_again) override;
  void stop_switch() noexcept override;
  base::Result<void> apply_rules(const RuleSet& rules) override;
  void add_counters(std::vector<LayerCounter>& counters) const override;
  [[nodiscard]] std::string middle_name() const override { return option("name", "external"); }

 private:
  // "ip netns exec <ns> env NAME=VALUE... sh -c <command>"
  [[nodiscard]] Argv command(const std::string& text, const RuleSet& rules = {}) const;
};

std::optional<Absence> External::find_absence() const {
  if (!option("setup").empty() || !option("start").empty()) return std::nullopt;
  return absence("an external device needs the option start or setup with its command",
                 "внешнему устройству нужна опция start или setup с его командой");
}

Argv External::command(const std::string& text, const RuleSet& rules) const {
  const std::vector<std::string> ports = built().device_ports();
  Argv argv{"env", "MERLON_LAB_NAMESPACE=" + built().device_namespace(),
            "MERLON_LAB_FOLDER=" + folder()};
  for (std::size_t i = 0; i < ports.size(); ++i) {
    argv.push_back("MERLON_LAB_PORT_" + std::to_string(i) + "=" + ports[i]);
  }
  argv.push_back("MERLON_LAB_RULES=" + folder() + "/rules.txt");
  if (rules.has_drop_rule) argv.push_back("MERLON_LAB_DROP_PORT=" + std::to_string(kDropPort));
  return inside(argv + Argv{"sh", "-c", text});
}

base::Result<void> External::start_switch(bool is_again) {
  configuration_.clear();
  for (const auto& [name, value] : spec_.options)
    configuration_ += fmt::format("{}: {}\n", name, value);
  if (const std::string setup = option("setup"); !setup.empty() && !is_again) {
    if (auto done = run(command(setup)); !done.ok()) return done.error();
  }
  if (const std::string start = option("start"); !start.empty()) {
    ProcessSpec process;
    process.name = option("name", "external");
    process.argv = command(start);
    process.cores = cores();
    if (auto started = spawn(std::move(process)); !started.ok()) return started.error();
  }
  return {};
}

void External::stop_switch() noexcept {
  if (const std::string stop = option("stop"); !stop.empty())
    static_cast<void>(run_command(command(stop)));
}

base::Result<void> External::apply_rules(const RuleSet& rules) {
  const std::string loader = option("rules");
  if (loader.empty()) return DeviceBase::apply_rules(rules);
  std::string text;
  for (const BlockRule& r : block_rules(rules)) {
    text += r.source_text() + " " + r.destination_text() + " " + std::to_string(r.source_port) +
            " " + std::to_string(r.destination_port) + "\n";
  }
  if (auto written = write_file(folder() + "/rules.txt", text); !written.ok()) return written;
  if (auto done = run(command(loader, rules)); !done.ok()) return done.error();
  return {};
}

void External::add_counters(std::vector<LayerCounter>& counters) const {
  const std::string asked = option("counters");
  if (asked.empty()) return;
  const auto said = run_command(command(asked), {}, std::chrono::seconds(5));
  if (!said.ok()) return;
  for (const std::string_view line : split(*said, '\n')) {
    const auto words = split(line, '\t');
    const auto value = words.size() < 3 ? std::nullopt : parse_count(words[2]);
    if (!value) continue;
    LayerCounter c;
    c.layer = std::string(words[0]);
    c.counter = std::string(words[1]);
    c.delta = static_cast<std::int64_t>(*value);
    c.is_loss = words.size() > 3 && trim(words[3]) == "loss";
    counters.push_back(std::move(c));
  }
}

}  // namespace

std::unique_ptr<Device> make_external(const DeviceSpec& spec) {
  return std::make_unique<External>(spec);
}

}  // namespace merlon::lab
