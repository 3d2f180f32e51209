// SPDX-License-Identifier: Apache-2.0
// The daemon's binary: options and wiring. `merlon run|replay|check|doctor|explain|config explain`
// start it in that mode.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "merlon/base/log.h"
#include "merlon/control/daemon.h"
#include "merlon/control/daemon_view.h"
#include "merlon/control/doctor.h"
#include "merlon/control/offline.h"
#include "merlon/control/replay_run.h"

namespace {

using namespace merlon;

constexpr int kUsage = 2;

constexpr const char* kUsualConfig = "/etc/merlon/merlon.yaml";

void add_config(CLI::App& mode, std::string& file) {
  mode.add_option("-c,--config", file, "configuration")->default_val(kUsualConfig);
}
// The client's words for formats are known, too.
void add_output(CLI::App& mode, std::string& format) {
  mode.add_option("-o,--output", format, "text, json or jsonl")
      ->check(CLI::IsMember({"text", "table", "wide", "json", "jsonl"}));
}

CLI::App* add_run(CLI::App& app, control::DaemonOptions& daemon) {
  CLI::App* run = app.add_subcommand("run", "run the daemon in the foreground");
  run->add_option("-c,--config", daemon.config_file, "start file")->default_val(kUsualConfig);
  run->add_option("--state", daemon.state_directory, "state directory (default: as configured)");
  run->add_option("--socket", daemon.socket, "API socket (default: as configured)");
  run->add_option("--instance", daemon.ports.instance,
                  "name of this daemon among several on the machine");
  run->add_flag("--bind", daemon.ports.may_bind,
                "bind NICs to the driver that the configuration names");
  run->add_option("--eal", daemon.ports.eal_arguments, "further arguments for DPDK's EAL");
  return run;
}

CLI::App* add_replay(CLI::App& app, control::ReplayOptions& replay, std::string& mode) {
  CLI::App* play =
      app.add_subcommand("replay", "the whole engine on captures, time from the capture");
  play->add_option("-c,--config", replay.config_file,
                   "configuration (default: one tap port, all permitted and logged)");
  play->add_option("--policy", replay.policy_file,
                   "file whose sections replace the configuration's");
  play->add_option("--out", replay.out_directory, "folder for eve.json and summary.json")
      ->default_val(".");
  play->add_option("--out-pcap", replay.out_capture, "capture of the frames that would leave");
  play->add_option("--mode", mode, "tap or wire")->check(CLI::IsMember({"tap", "wire"}));
  play->add_option("--workers", replay.workers, "number of workers")->check(CLI::Range(1U, 64U));
  play->add_flag("--community-id", replay.community_id, "add community_id to events");
  play->add_flag("-q,--quiet", replay.quiet, "no summary");
  play->add_option("captures", replay.captures, "pcap or pcapng files, - for standard input")
      ->required();
  return play;
}

int run_command(CLI::App& app, int argc, char** argv) {
  app.require_subcommand(1);
  bool is_verbose = false;
  app.add_flag("-v,--verbose", is_verbose, "log more");
  app.set_version_flag("--version", std::string(control::program_version()));

  control::DaemonOptions daemon;
  const CLI::App* run = add_run(app, daemon);
  control::ReplayOptions replay;
  std::string mode;
  const CLI::App* play = add_replay(app, replay, mode);

  control::CheckOptions check;
  CLI::App* test =
      app.add_subcommand("check", "everything but running: errors, shadowed rules, sizes");
  add_config(*test, check.config_file);
  add_output(*test, check.output);

  control::DoctorOptions doctor;
  CLI::App* host = app.add_subcommand("doctor", "is this host fit for a configuration");
  add_config(*host, doctor.config_file);
  add_output(*host, doctor.output);

  control::ExplainOptions explain;
  CLI::App* why = app.add_subcommand("explain", "what would happen to a packet, and why");
  add_config(*why, explain.config_file);
  add_output(*why, explain.output);
  why->add_option("words", explain.words, "packet IN SRC[:PORT] DST[:PORT] PROTO [flags]")
      ->required();

  control::ExplainKeyOptions key;
  CLI::App* tell = app.add_subcommand("explain-key", "everything declared of a configuration key");
  add_output(*tell, key.output);
  tell->add_option("key", key.key, "its path, such as tcp.window");

  app.parse(argc, argv);
  if (is_verbose) base::set_log_level(base::LogLevel::kDebug);
  if (!mode.empty()) replay.tap = mode == "tap";
  if (run->parsed()) return control::run_daemon(daemon);
  if (play->parsed()) return control::run_replay(replay);
  if (test->parsed()) return control::run_check(check);
  if (host->parsed()) return control::run_doctor(doctor);
  if (tell->parsed()) return control::run_explain_key(key);
  return control::run_explain(explain);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Merlon: the firewall's engine", "merlond");
  try {
    return run_command(app, argc, argv);
  } catch (const CLI::ParseError& e) {
    const int code = app.exit(e);
    return code == 0 ? 0 : kUsage;
  } catch (const std::exception& e) {
    fmt::print(stderr, "merlond: {}\n", e.what());
    return 1;
  }
}
