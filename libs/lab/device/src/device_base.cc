// SPDX-License-Identifier: Apache-2.0
#include "device_base.h"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <thread>

#include "frame_probe.h"
#include "merlon/base/check.h"
#include "merlon/base/make_error.h"
#include "merlon/lab_host/capability.h"
#include "merlon/lab_host/file.h"
#include "merlon/lab_host/net_namespace.h"

namespace merlon::lab {
namespace {

using Clock = std::chrono::steady_clock;

LayerCounter counter(std::string layer, const char* name, std::uint64_t value, bool is_loss) {
  LayerCounter c;
  c.layer = std::move(layer);
  c.counter = name;
  c.delta = static_cast<std::int64_t>(value);
  c.is_loss = is_loss;
  return c;
}

void add_link(std::vector<LayerCounter>& out, const std::string& layer,
              const InterfaceCounters& c) {
  out.push_back(counter(layer, "rx_packets", c.rx_packets, false));
  out.push_back(counter(layer, "tx_packets", c.tx_packets, false));
  // A full queue of the other end counts at both ends; here it is loss of the one that sent.
  out.push_back(counter(layer, "tx_dropped", c.tx_dropped, true));
  out.push_back(counter(layer, "rx_dropped", c.rx_dropped, false));
  out.push_back(counter(layer, "rx_errors", c.rx_errors, true));
}

// Frames that any core's backlog refused; already counted at the links, so never loss of its own.
void add_softnet(std::vector<LayerCounter>& out) {
  const auto text = read_file("/proc/net/softnet_stat");
  if (!text) return;
  std::uint64_t dropped = 0, squeezed = 0;
  for (const std::string_view line : split(*text, '\n')) {
    const auto words = split_words(line);
    if (words.size() < 3) continue;
    dropped += std::stoull(std::string(words[1]), nullptr, 16);
    squeezed += std::stoull(std::string(words[2]), nullptr, 16);
  }
  out.push_back(counter("softnet of the machine", "dropped", dropped, false));
  out.push_back(counter("softnet of the machine", "time_squeeze", squeezed, false));
}

}  // namespace

DeviceBase::DeviceBase(DeviceSpec spec)
    : spec_(std::move(spec)), layout_(*find_layout(spec_.topology)) {}

std::optional<Absence> DeviceBase::probe() const {
  if (spec_.place == "vm" && spec_.driver != "bridge") {
    return absence(
        "only the Linux bridge has a guest image; take place namespace, the container-equivalent "
        "of a guest",
        "образ гостя есть только у моста Linux; возьмите место namespace — контейнерный эквивалент "
        "гостя");
  }
  if (::geteuid() != 0) {
    return absence("network namespaces need root; run it with sudo",
                   "для сетевых пространств имён нужен root; запустите через sudo");
  }
  if (auto missing = need_program("ip", "iproute2")) return missing;
  return find_absence();
}

base::Result<void> DeviceBase::start(const std::string& run_id) {
  if (topology_) {
    return make_error(base::Errc::kConflict, spec_.driver + " is started already", "stop it first");
  }
  if (const auto missing = probe()) {
    return make_error(base::Errc::kUnsupported,
                      spec_.driver + " can't run here: " + missing->reason.en);
  }
  auto registry = RunRegistry::open(run_id);
  if (!registry.ok()) return registry.error();
  registry_ = std::move(*registry);
  commands_.clear();
  rules_.reset();
  base::Result<void> done = build();
  if (done.ok()) done = start_switch(false);
  if (done.ok()) done = wait_until_forwarding();
  if (!done.ok()) static_cast<void>(stop());
  return done;
}

base::Result<void> DeviceBase::build() {
  auto folder = registry_->make_folder(spec_.driver);
  if (!folder.ok()) return folder.error();
  folder_ = *folder;
  BuiltTopology::Wishes wishes;
  wishes.middle = middle_name();
  wishes.socket_folder = folder_;
  wishes.tester_port = option("tester_port", "native");
  wishes.mtu = static_cast<unsigned>(parse_count(option("mtu", "1500")).value_or(1500));
  if (const auto core = parse_count(option("receive_core")))
    wishes.receive_core = static_cast<int>(*core);
  auto built = BuiltTopology::build(registry_, layout_, wishes);
  if (!built.ok()) return built.error();
  topology_ = std::move(*built);
  for (const std::string& command : topology_->commands()) commands_.push_back(command);
  return {};
}

base::Result<void> DeviceBase::check_processes() {
  for (const auto& process : processes_) {
    const auto code = process->wait(std::chrono::milliseconds(0));
    if (!code) continue;
    return make_error(base::Errc::kIo, spec_.driver + " ended with code " + std::to_string(*code) +
                                           " (" + process->command() + "): " + process->log_tail());
  }
  return {};
}

base::Result<void> DeviceBase::look_ready() { return {}; }

base::Result<void> DeviceBase::wait_until_forwarding() {
  const auto limit =
      std::chrono::seconds(parse_count(option("start_timeout_s")).value_or(patience_s()));
  const auto end = Clock::now() + limit;
  FrameProbe probe;
  const bool has_links = layout_.medium == Medium::kLinks;
  if (has_links) {
    if (auto open = probe.open(topology_->generator(), topology_->sink()); !open.ok())
      return open.error();
  }
  base::Result<void> ready;
  while (true) {
    if (auto alive = check_processes(); !alive.ok()) return alive;
    ready = look_ready();
    if (!ready.ok() && ready.error().code != base::Errc::kConflict) return ready;
    if (ready.ok() && (!has_links || probe.passes({}, std::chrono::milliseconds(100)))) return {};
    if (Clock::now() > end) break;
    if (!ready.ok()) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  std::string said = processes_.empty() ? std::string() : processes_.back()->log_tail();
  if (!ready.ok()) said = ready.error().message + "; " + said;
  return make_error(base::Errc::kTimeout,
                    spec_.driver + " did not forward a frame within " +
                        std::to_string(limit.count()) + " s: " + said,
                    "give it longer with option start_timeout_s, or look at its commands");
}

base::Result<double> DeviceBase::load_rules(const RuleSet& rules) {
  if (!topology_) return make_error(base::Errc::kConflict, spec_.driver + " is not started");
  const auto begin = Clock::now();
  if (auto done = apply_rules(rules); !done.ok()) return done.error();
  rules_ = rules;
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

base::Result<void> DeviceBase::apply_rules(const RuleSet& rules) {
  if (rules.count == 0 && !rules.has_drop_rule) return {};
  return make_error(base::Errc::kUnsupported, spec_.driver + " has no rules",
                    "take a device that has: nftables, ovs in mode openflow, merlon");
}

base::Result<void> DeviceBase::stop() {
  if (topology_) stop_switch();
  for (auto it = processes_.rbegin(); it != processes_.rend(); ++it) {
    (*it)->terminate(std::chrono::seconds(5));
  }
  processes_.clear();
  topology_.reset();
  if (registry_ && !folder_.empty()) registry_->remove_folder(folder_);
  folder_.clear();
  registry_.reset();
  return {};
}

base::Result<void> DeviceBase::kill() {
  if (processes_.empty()) {
    return make_error(base::Errc::kUnsupported,
                      spec_.driver + " has no process that could be killed");
  }
  processes_.back()->kill();
  return {};
}

base::Result<void> DeviceBase::restart() {
  if (!topology_) return make_error(base::Errc::kConflict, spec_.driver + " is not started");
  if (!processes_.empty()) {
    processes_.back()->kill();
    processes_.pop_back();
  }
  if (auto again = start_switch(true); !again.ok()) return again;
  if (auto ready = wait_until_forwarding(); !ready.ok()) return ready;
  return rules_ ? apply_rules(*rules_) : base::Result<void>{};
}

Text DeviceBase::caveat() const {
  if (spec_.place != "namespace" && layout_.device_space != "guest") return {};
  return {
      "container-equivalent: the guest is a network namespace, without the cost of virtual "
      "hardware",
      "контейнерный эквивалент: гость — сетевое пространство имён, без затрат на виртуальное "
      "оборудование"};
}

std::string DeviceBase::configuration() const {
  const std::string warning = caveat().en;
  return warning.empty() ? configuration_ : "# " + warning + "\n" + configuration_;
}

bool DeviceBase::is_alive() const {
  if (!topology_) return false;
  for (const auto& process : processes_) {
    if (!process->is_running()) return false;
  }
  return true;
}

std::vector<int> DeviceBase::processes() const {
  std::vector<int> ids;
  for (const auto& process : processes_) ids.push_back(process->pid());
  return ids;
}

Topology& DeviceBase::topology() {
  MERLON_CHECK(topology_ != nullptr);
  return *topology_;
}

std::vector<LayerCounter> DeviceBase::counters() const {
  std::vector<LayerCounter> all;
  if (!topology_) return all;
  std::map<std::string, InterfaceTable> tables;
  const auto table = [&](const std::string& space) -> const InterfaceTable& {
    const auto known = tables.find(space);
    return known != tables.end() ? known->second
                                 : tables.emplace(space, interface_counters(space)).first->second;
  };
  const auto add = [&](const LinkEnd& end) {
    const InterfaceTable& interfaces = table(end.net_namespace);
    const auto found = interfaces.find(end.interface);
    if (found == interfaces.end()) return;
    const std::string group = end.interface == "g0"                                ? "generator"
                              : end.interface == "k0"                              ? "sink"
                              : end.net_namespace == topology_->device_namespace() ? "device"
                                                                                   : "host";
    add_link(all, group + " " + end.interface, found->second);
  };
  for (const Cable& cable : topology_->cables()) {
    add(cable.near);
    add(cable.far);
  }
  if (layout_.medium == Medium::kTap) {
    for (const std::string& port : topology_->device_ports())
      add({topology_->device_namespace(), port});
  }
  add_counters(all);
  add_softnet(all);
  return all;
}

void DeviceBase::add_counters(std::vector<LayerCounter>&) const {}

void DeviceBase::add_receive_gap(std::vector<LayerCounter>& counters, const std::string& layer,
                                 std::int64_t taken) {
  std::int64_t reached = 0;
  for (const LayerCounter& c : counters) {
    if (c.layer.starts_with("device ") && c.counter == "rx_packets") reached += c.delta;
  }
  const std::int64_t gap = std::max<std::int64_t>(0, reached - taken);
  counters.push_back(counter(layer, "full", static_cast<std::uint64_t>(gap), true));
}

base::Result<std::string> DeviceBase::run(const Argv& argv, std::string_view input) {
  note(shell_text(argv));
  return run_command(argv, input);
}

Argv DeviceBase::inside(const Argv& argv) const {
  return Argv{"ip", "netns", "exec", topology_->device_namespace()} + argv;
}

base::Result<Process*> DeviceBase::spawn(ProcessSpec spec) {
  if (spec.log_file.empty()) spec.log_file = folder_ + "/" + spec.name + ".log";
  auto process = Process::start(registry_, spec);
  if (!process.ok()) return process.error();
  note((*process)->command());
  processes_.push_back(std::move(*process));
  return processes_.back().get();
}

std::string DeviceBase::option(const std::string& name, const std::string& otherwise) const {
  const auto found = spec_.options.find(name);
  return found == spec_.options.end() ? otherwise : found->second;
}

std::vector<int> DeviceBase::cores() const {
  std::vector<int> all;
  const std::string text = option("cores");
  for (const std::string_view word : split(text, ',')) {
    if (const auto core = parse_count(trim(word)); core && *core < 1024)
      all.push_back(static_cast<int>(*core));
  }
  return all;
}

Absence absence(std::string en, std::string ru) {
  Absence a;
  a.reason.en = std::move(en);
  a.reason.ru = std::move(ru);
  return a;
}

std::optional<Absence> need_program(const std::string& program, const std::string& package) {
  const Capability c = probe_program(program, package);
  if (c.is_there) return std::nullopt;
  return Absence{c.reason};
}

std::optional<Absence> need_huge_pages(unsigned mib) {
  const Capability c = probe_huge_pages(mib);
  if (c.is_there) return std::nullopt;
  return Absence{c.reason};
}

}  // namespace merlon::lab
