// SPDX-License-Identifier: Apache-2.0
#include "merlon/control/daemon.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

#include "background.h"
#include "merlon/base/log.h"
#include "merlon/control/api_server.h"
#include "merlon/control/config_print.h"
#include "merlon/control/daemon_view.h"
#include "merlon/telemetry/reports.h"

namespace merlon::control {
namespace {

using base::LogLevel;
using base::Nanos;

std::atomic<int> g_stop{0};
std::atomic<bool> g_reopen{false};

void on_signal(int number) {
  if (number == SIGHUP) {
    g_reopen.store(true);
  } else {
    g_stop.store(number);
  }
}

void install_signals() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  for (const int n : {SIGTERM, SIGINT, SIGHUP}) sigaction(n, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

// The readiness protocol of service managers: one datagram to $NOTIFY_SOCKET.
void notify_manager(const char* state) {
  const char* path = std::getenv("NOTIFY_SOCKET");
  if (path == nullptr) return;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (std::strlen(path) >= sizeof address.sun_path) return;
  std::strncpy(address.sun_path, path, sizeof address.sun_path - 1);
  if (address.sun_path[0] == '@') address.sun_path[0] = '\0';
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + std::strlen(path));
  static_cast<void>(sendto(fd, state, std::strlen(state), MSG_NOSIGNAL,
                           reinterpret_cast<sockaddr*>(&address), size));
  close(fd);
}

// Tells the API's watchers what is written to the sinks.
class WatchSink final : public telemetry::EventSink {
 public:
  explicit WatchSink(DaemonView& view) : EventSink("watch", "memory"), view_(view) {}
  void write(std::string_view line, telemetry::Severity /*severity*/,
             Nanos /*now*/) noexcept override {
    view_.remember_event(line);
    count_written(1, line.size());
  }
  void flush(Nanos /*now*/) noexcept override {}

 private:
  DaemonView& view_;
};

// The names are checked by the loader.
void choose_types(telemetry::EventSink& sink, const std::vector<std::string>& names) {
  if (names.empty()) return;
  std::vector<telemetry::EventType> types;
  for (const std::string& name : names)
    if (const auto type = telemetry::event_type_from_name(name)) types.push_back(*type);
  sink.take_only(types);
}

base::Result<void> add_sinks(telemetry::EventWriter& writer, const EventSettings& settings) {
  if (settings.file) {
    auto sink = telemetry::open_file_sink({.path = settings.file->path,
                                           .max_size = settings.file->rotate_size,
                                           .rotate_interval = settings.file->rotate_interval,
                                           .keep = settings.file->keep});
    if (!sink) return sink.error();
    choose_types(**sink, settings.file->types);
    writer.add_sink(std::move(*sink));
  }
  if (settings.syslog) {
    telemetry::SyslogSinkOptions options;
    options.facility = settings.syslog->facility;
    const std::string& target = settings.syslog->target;
    if (target.starts_with('/')) {
      options.address = target;
    } else {
      const auto colon = target.rfind(':');
      options.transport = telemetry::SyslogSinkOptions::Transport::kUdp;
      options.address = target.substr(0, colon);
      options.port = static_cast<std::uint16_t>(std::stoul(target.substr(colon + 1)));
    }
    auto sink = telemetry::open_syslog_sink(options);
    if (!sink) return sink.error();
    choose_types(**sink, settings.syslog->types);
    writer.add_sink(std::move(*sink));
  }
  return {};
}

void print_findings(const base::Errors& errors, const base::Errors& warnings, const Bundle& bundle,
                    std::string_view outcome) {
  if (errors.empty() && warnings.empty()) return;
  std::fputs(
      format_findings(errors, warnings, bundle, {.use_colour = isatty(2) != 0, .outcome = outcome})
          .c_str(),
      stderr);
}

class Daemon {
 public:
  Daemon(const DaemonOptions& options, std::unique_ptr<Store> store, PortFactory ports)
      : options_(options),
        store_(std::move(store)),
        runtime_(std::move(ports)),
        lifecycle_(*store_, runtime_,
                   {.clock = base::wall_clock_now,
                    .steady = engine::steady_now,
                    .on_event = [this](const LifecycleEvent& e) { note_change(e); }}) {}

  int run(const LoadResult& start_file);

 private:
  base::Result<void> bring_up(const LoadResult& start_file);
  void loop();
  void each_second(Nanos now);
  void watch_clock(Nanos steady);
  void try_chores();
  void note_change(const LifecycleEvent& event);
  void write_stats();

  const DaemonOptions& options_;
  std::unique_ptr<Store> store_;
  Runtime runtime_;
  std::mutex mutex_;
  Lifecycle lifecycle_;
  std::unique_ptr<telemetry::EventWriter> events_;
  std::unique_ptr<DaemonView> view_;
  ApiRouter router_;
  std::unique_ptr<ApiServer> api_;
  Nanos started_ = engine::steady_now(), last_stats_ = 0;  // steady
  Nanos ahead_ = 0;                                        // the wall clock's difference from it
};

base::Result<void> Daemon::bring_up(const LoadResult& start_file) {
  auto started = lifecycle_.start(&start_file);
  if (!started) return started.error();
  // A damaged store is a problem, too, but may leave the start file in use.
  const bool has_fallen_back = started->origin == StartReport::Origin::kFallback;
  if (!started->problems.empty()) print_findings(started->problems, {}, started->bundle, "");
  if (has_fallen_back)
    base::log(LogLevel::kError, "config",
              "what was to run can't be used; revision {} is running instead", started->revision);
  print_findings({}, started->warnings, started->bundle, "");
  runtime_.renumber(started->revision);
  const LoadedConfig& config = *lifecycle_.running();
  leave_cores(config.engine.worker_cores);  // the workers run by now; all threads to come follow
  events_ = std::make_unique<telemetry::EventWriter>(
      runtime_.engine()->event_rings(), runtime_.names(),
      telemetry::EventWriterOptions{
          .eve = {.host = config.name, .community_id = config.events.community_id}});
  view_ = std::make_unique<DaemonView>(runtime_, lifecycle_, mutex_, *events_);
  if (has_fallen_back)
    view_->warn_of_start(fmt::format(
        "what was to run can't be used; revision {} is running instead", started->revision));
  if (auto sinks = add_sinks(*events_, config.events); !sinks) return sinks.error();
  events_->add_sink(std::make_unique<WatchSink>(*view_));
  events_->start();
  add_routes(router_, *view_);
  api_ = std::make_unique<ApiServer>(
      ApiServerOptions{.socket_path = options_.socket.empty() ? config.api.socket : options_.socket,
                       .on_slow_thread = yield_to_workers},
      router_);
  if (auto served = api_->start(); !served) return served.error();
  base::log(LogLevel::kInfo, "daemon",
            "running revision {} with {} workers, {} ports, {} rules; API at {}", started->revision,
            runtime_.engine()->worker_count(), config.engine.ports.size(),
            config.policy.rules.size(),
            options_.socket.empty() ? config.api.socket : options_.socket);
  return {};
}

void Daemon::note_change(const LifecycleEvent& event) {
  base::log(LogLevel::kInfo, "config", "{}: revision {} ({}) by {}", event.action,
            event.revision.number, event.revision.reason, event.revision.author);
  if (events_ == nullptr) return;
  telemetry::ConfigReport report;
  report.time = base::wall_clock_now();
  report.result = event.action == "rollback"  ? telemetry::ConfigReport::Result::kRolledBack
                  : event.action == "confirm" ? telemetry::ConfigReport::Result::kConfirmed
                                              : telemetry::ConfigReport::Result::kCommitted;
  report.revision = static_cast<std::uint32_t>(event.revision.number);
  report.previous_revision = static_cast<std::uint32_t>(event.previous);
  report.author = event.revision.author;
  report.comment = event.revision.comment;
  report.cause = event.revision.reason;
  report.rules = runtime_.stats().rules;
  if (event.action != "confirm") {
    report.blocked_nanos = runtime_.last_apply().blocked_ns;
    report.sessions_ended = runtime_.last_apply().effect.dropped;
  }
  events_->write(telemetry::EventType::kConfig, telemetry::format_config_event(report),
                 telemetry::Severity::kNotice, report.time);
}

void Daemon::write_stats() {
  telemetry::StatsReport report;
  report.time = base::wall_clock_now();
  report.version = program_version();
  report.uptime_seconds =
      static_cast<std::uint64_t>((engine::steady_now() - started_) / base::kNanosPerSecond);
  report.revision = static_cast<std::uint32_t>(lifecycle_.view()->revision);
  report.workers = runtime_.engine()->worker_count();
  for (unsigned w = 0; w < report.workers; ++w) {
    const auto gauges = runtime_.engine()->read_worker(w).gauges;
    report.sessions_active += gauges.sessions;
    report.sessions_limit += gauges.sessions_max;
  }
  report.totals = telemetry::sum_counters(runtime_.engine()->counter_rows());
  const auto sinks = events_->sinks();
  report.sinks = sinks;
  events_->write(telemetry::EventType::kStats, telemetry::format_stats(report),
                 telemetry::Severity::kInfo, report.time);
}

// `now` is steady: setting the clock holds nothing up.
void Daemon::each_second(Nanos now) {
  view_->sample(now);
  const Nanos interval = lifecycle_.view()->running->events.stats_interval;
  if (interval != 0 && now - last_stats_ >= interval) {
    last_stats_ = now;
    write_stats();
  }
}

// What waits for a check or commit that holds the mutex, however long it takes; links are looked at
// meanwhile.
void Daemon::try_chores() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  runtime_.tick(base::wall_clock_now());
  const Nanos start = engine::steady_now();
  auto rolled_back = lifecycle_.tick();
  if (!rolled_back) return;
  view_->count_change(
      rolled_back->ok() ? DaemonView::Change::kRolledBack : DaemonView::Change::kRefused,
      engine::steady_now() - start);
  base::log(LogLevel::kWarning, "config", "the commit was not confirmed in time: rolled back{}",
            rolled_back->ok() ? "" : ", which failed");
}

// Says when somebody has set the clock: times in logs and events jump then.
void Daemon::watch_clock(Nanos steady) {
  const Nanos ahead = base::wall_clock_now() - steady;
  if (ahead_ != 0 && std::abs(ahead - ahead_) > base::kNanosPerSecond)
    base::log(LogLevel::kWarning, "daemon", "the clock was set {} by {} s",
              ahead > ahead_ ? "forward" : "back",
              std::abs(ahead - ahead_) / base::kNanosPerSecond);
  ahead_ = ahead;
}

void Daemon::loop() {
  constexpr auto kBeat = std::chrono::milliseconds(100);
  Nanos next_second = 0;
  while (g_stop.load() == 0) {
    const Nanos now = engine::steady_now();
    if (g_reopen.exchange(false)) events_->request_reopen();
    runtime_.engine()->poll_links();
    watch_clock(now);
    try_chores();
    if (now >= next_second) {
      next_second = now + base::kNanosPerSecond;
      each_second(now);
    }
    std::this_thread::sleep_for(kBeat);
  }
}

int Daemon::run(const LoadResult& start_file) {
  if (auto up = bring_up(start_file); !up) {
    std::fputs((up.error().to_string() + "\n").c_str(), stderr);
    if (api_ != nullptr) api_->stop();
    runtime_.stop();
    if (events_ != nullptr) events_->stop();
    return up.error().code == base::Errc::kConflict ? 6 : 1;
  }
  notify_manager("READY=1\nSTATUS=running");
  loop();
  notify_manager("STOPPING=1");
  base::log(LogLevel::kInfo, "daemon", "signal {}: stopping", g_stop.load());
  api_->stop();
  runtime_.stop();
  write_stats();
  events_->stop();
  return 0;
}

}  // namespace

int run_daemon(const DaemonOptions& options) {
  install_signals();
  const LoadResult start_file = load_file(options.config_file);
  // Needed before anything else; a start file that is no YAML leaves the default.
  std::string directory = options.state_directory;
  if (directory.empty()) directory = start_file.state_directory;
  if (directory.empty()) directory = default_config().state_directory;
  auto store = Store::open(directory);
  if (!store) {
    std::fputs((store.error().to_string() + "\n").c_str(), stderr);
    return store.error().code == base::Errc::kConflict ? 6 : 1;
  }
  if (!start_file.config && (*store)->state().current == 0) {
    print_findings(start_file.errors, start_file.warnings, start_file.bundle,
                   "nothing was started");
    return 3;
  }
  Daemon daemon(options, std::move(*store), live_ports(options.ports));
  return daemon.run(start_file);
}

}  // namespace merlon::control
