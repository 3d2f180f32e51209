// SPDX-License-Identifier: Apache-2.0
// The machine's own services: real devices, testers and clocks.
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "merlon/lab_device/loss.h"
#include "merlon/lab_host/accounting.h"
#include "merlon/lab_host/command.h"
#include "merlon/lab_host/environment.h"
#include "merlon/lab_run/services.h"
#include "merlon/lab_tcp/tcp_load.h"

namespace merlon::lab {

using base::Errc;
using base::Error;
using base::Result;

namespace {

constexpr int kSenderCore = 0, kReceiverCore = 1;
// Of the router's port on the generator's side: where single frames of the tester go.
constexpr base::MacAddress kRouterMac{{0x02, 0x4d, 0x4c, 0x53, 0x00, 0x01}};

// A child that does nothing but use its core; it goes with its handle, and with us whatever
// happens.
std::shared_ptr<void> make_hog(unsigned core) {
  const pid_t child = ::fork();
  if (child < 0) return nullptr;
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    ::sched_setaffinity(0, sizeof set, &set);
    for (volatile unsigned long turns = 0;;) turns = turns + 1;
  }
  return {std::malloc(1), [child](void* handle) {
            ::kill(child, SIGKILL);
            ::waitpid(child, nullptr, 0);
            std::free(handle);
          }};
}

int core_or_any(int core) {
  return std::thread::hardware_concurrency() > static_cast<unsigned>(core) ? core : -1;
}

class MachineAccountant final : public Accountant {
 public:
  explicit MachineAccountant(std::vector<int> cores) : cores_(std::move(cores)) {}

  void begin(const std::vector<int>& device_processes) override {
    accounting_.emplace(device_processes);
  }
  void end(TrialResult& result) override {
    const Usage usage = accounting_->end();
    double tester_s = 0;
    for (const ProcessUse& use : result.processes) tester_s += use.user_s + use.system_s;
    result.processes.insert(result.processes.end(), usage.processes.begin(), usage.processes.end());
    // Gaps come from the measuring threads, the rest from the kernel.
    std::vector<CoreUse> gaps = std::move(result.cores);
    result.cores = usage.cores;
    for (const CoreUse& gap : gaps)
      for (CoreUse& core : result.cores)
        if (core.core == gap.core)
          core.longest_gap_us = std::max(core.longest_gap_us, gap.longest_gap_us);
    result.device_cpu_s = usage.device_s;
    result.total_cpu_s = tester_s + usage.device_s + usage.kernel_s;
    Usage judged = usage;
    judged.cores = result.cores;
    for (const Text& why : contamination(judged, cores_)) {
      result.stamp = std::max(result.stamp, Stamp::kContaminated);
      result.stamp_reasons.push_back(why.en);
    }
  }

 private:
  std::vector<int> cores_;
  std::optional<Accounting> accounting_;
};

// A configuration that every build accepts, for questions about sections.
constexpr const char* kSmallConfig =
    "version: 1\nports:\n  p0: {interface: lo}\ntaps: [p0]\nzones:\n  all: {ports: [p0]}\n"
    "policy:\n  default: drop\n";

struct Function {
  const char* name;
  Text what;
  std::vector<std::string> command;  // of `merlon` that only a build with the function knows
};

const std::vector<Function>& functions() {
  static const std::vector<Function> all = {
      {"detection",
       {"detection by signatures", "обнаружение по сигнатурам"},
       {"show", "signatures"}},
      {"ddos", {"DDoS measurement", "измерение DDoS"}, {"show", "vips"}},
      {"offload", {"hardware off-load", "аппаратная разгрузка"}, {"show", "offload"}},
  };
  return all;
}

class MachineServices final : public Services {
 public:
  explicit MachineServices(std::string merlond) : merlond_(std::move(merlond)) {}

  double now() override {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch())
        .count();
  }
  void sleep(double seconds) override {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  }
  Environment environment() override;
  std::vector<std::string> clean() override { return clean_leftovers(); }
  Result<std::unique_ptr<Device>> device(const DeviceSpec& spec) override {
    DeviceSpec own = spec;
    // For the laboratory itself, no driver knows them.
    own.options.erase("needs");
    own.options.erase("function");
    if (own.driver == "merlon" && !merlond_.empty()) own.options.emplace("binary", merlond_);
    return make_device(own);
  }
  Result<std::unique_ptr<Tester>> tester(Topology& topology) override;
  std::unique_ptr<Accountant> accountant() override {
    return std::make_unique<MachineAccountant>(std::vector<int>{kSenderCore, kReceiverCore});
  }
  LossPlace locate(const std::vector<LayerCounter>& before, const std::vector<LayerCounter>& after,
                   std::uint64_t lost) override {
    LossReport report = locate_loss(before, after, lost);
    return {std::move(report.deltas), std::move(report.sentence)};
  }
  std::optional<Absence> missing(const DeviceSpec& spec, const std::string& wanted) override;
  Result<TrialResult> connections(Topology& topology, const TcpRequest& request,
                                  const TrialSpec& spec, const std::atomic<bool>& stop,
                                  const ProgressFn& progress) override;
  std::shared_ptr<void> hog(unsigned core) override {
    return make_hog(core % std::max(1U, std::thread::hardware_concurrency()));
  }

 private:
  [[nodiscard]] std::string merlond() const;
  std::optional<Absence> refusal(const Function& function, const std::string& config);

  std::string merlond_;
};

Environment MachineServices::environment() {
  Environment environment = read_environment();
  environment.pinning["sender"] = std::to_string(core_or_any(kSenderCore));
  environment.pinning["receiver"] = std::to_string(core_or_any(kReceiverCore));
  if (const auto said = run_to_end({merlond(), "--version"}); said && said->exit_code == 0)
    environment.versions["merlon"] = said->out.substr(0, said->out.find('\n'));
  return environment;
}

Result<std::unique_ptr<Tester>> MachineServices::tester(Topology& topology) {
  const EndpointSpec from = topology.generator(), to = topology.sink();
  TesterSettings settings;
  settings.sender_core = core_or_any(kSenderCore);
  settings.receiver_core = core_or_any(kReceiverCore);
  auto a = open_endpoint(from);
  if (!a) return a.error();
  // A loop: what the port sends comes back by it.
  if (from.interface == to.interface && from.net_namespace == to.net_namespace &&
      from.device == to.device)
    return Tester::create(std::move(*a), nullptr, settings);
  auto b = open_endpoint(to);
  if (!b) return b.error();
  auto tester = Tester::create(std::move(*a), std::move(*b), settings);
  // The device has been seen to forward between interfaces of the kernel only. A path that stays
  // silent is found by the first trial.
  constexpr double kPatienceS = 10;
  if (tester && from.kind != "af_packet")
    if (auto passes = wait_for_path(**tester, kPatienceS); !passes) return passes.error();
  return tester;
}

std::string MachineServices::merlond() const {
  if (!merlond_.empty()) return merlond_;
  std::error_code problem;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", problem);
  if (!problem && ::access((self.parent_path() / "merlond").c_str(), X_OK) == 0)
    return (self.parent_path() / "merlond").string();
  return find_program("merlond");
}

// Asks the build itself: does its client know the function's command, and its daemon the section
// that switches it on?
std::optional<Absence> MachineServices::refusal(const Function& function,
                                                const std::string& config) {
  const Text absent{"not available in this build: " + function.what.en,
                    "нет в этой сборке: " + function.what.ru};
  const std::string daemon = merlond();
  const std::string client = (std::filesystem::path(daemon).parent_path() / "merlon").string();
  Argv help{client, "help"};
  help.insert(help.end(), function.command.begin(), function.command.end());
  const auto known = run_to_end(help);
  if (!known || known->exit_code != 0) return Absence{absent};
  if (config.empty()) return std::nullopt;
  const auto file =
      std::filesystem::temp_directory_path() / fmt::format("merlon-lab-{}.yaml", ::getpid());
  std::FILE* out = std::fopen(file.c_str(), "we");
  if (out == nullptr) return Absence{absent};
  std::fputs((kSmallConfig + config).c_str(), out);
  std::fclose(out);
  const auto checked = run_to_end({daemon, "check", "-c", file.string()});
  std::error_code problem;
  std::filesystem::remove(file, problem);
  if (checked && checked->exit_code == 0) return std::nullopt;
  const std::string said =
      checked ? (checked->err + checked->out).substr(0, 200) : checked.error().message;
  return Absence{{absent.en + " (its configuration is refused: " + said + ")",
                  absent.ru + " (настройка отклонена: " + said + ")"}};
}

std::optional<Absence> MachineServices::missing(const DeviceSpec& spec, const std::string& wanted) {
  const auto config = spec.options.find("config");
  for (const Function& function : functions())
    if (wanted.find(function.name) != std::string::npos)
      if (auto absence = refusal(function, config == spec.options.end() ? "" : config->second))
        return absence;
  return std::nullopt;
}

Result<TrialResult> MachineServices::connections(Topology& topology, const TcpRequest& request,
                                                 const TrialSpec& spec,
                                                 const std::atomic<bool>& stop,
                                                 const ProgressFn& progress) {
  auto client = open_endpoint(topology.generator());
  if (!client) return client.error();
  auto server = open_endpoint(topology.sink());
  if (!server) return server.error();
  TcpLoadSettings settings;
  settings.client_core = core_or_any(kSenderCore);
  // A router answers for no other address than its own port's, which is the one that single frames
  // go to as well.
  for (const std::string& box : topology.chain())
    if (box.find("router") != std::string::npos) settings.server_mac = kRouterMac;
  auto load = TcpLoad::create(std::move(*client), std::move(*server), settings);
  if (!load) return load.error();
  TcpLoadSpec wanted;
  wanted.connections_per_s = request.connections_per_s;
  wanted.concurrent = static_cast<std::uint32_t>(request.concurrent);
  wanted.transactions_per_connection =
      request.object_kib > 0 ? std::max(1U, request.transactions) : 0;
  if (request.concurrent > 0) {
    wanted.connections_per_s = 0;
    wanted.transactions_per_connection = TcpLoadSpec::kUnlimited;
    // Requests keep connections alive; TLS's own work must not become what is measured.
    wanted.think_s = request.tls.is_on() ? 1 : 0.2;
  }
  wanted.object_kib = {std::max(1U, static_cast<std::uint32_t>(request.object_kib))};
  wanted.tls = request.tls;
  wanted.clients.count = request.client_addresses;
  wanted.servers.count = request.server_addresses;
  wanted.ramp_up_s = wanted.ramp_down_s = request.ramp_s;
  wanted.sustain_s = request.sustain_s;
  wanted.drain_s = 1.5;
  wanted.attack = spec.traffic.attack;
  wanted.attack_pps = spec.traffic.attack_pps;
  wanted.attack_sources = static_cast<std::uint32_t>(spec.traffic.attack_sources);
  wanted.seed = spec.seed;
  wanted.id = spec.id;
  wanted.row = spec.row;
  return (*load)->run(wanted, stop, progress);
}

}  // namespace

std::unique_ptr<Services> machine_services(const std::string& merlond) {
  return std::make_unique<MachineServices>(merlond);
}

}  // namespace merlon::lab
