// SPDX-License-Identifier: Apache-2.0
#include "merlon/control/offline.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "api_routes.h"
#include "merlon/client/packet_words.h"
#include "merlon/control/config_print.h"
#include "merlon/control/daemon_view.h"
#include "merlon/control/schema.h"
#include "merlon/io/ring_port.h"

namespace merlon::control {
namespace {

constexpr int kFailed = 1, kUsage = 2, kCheckFailed = 3;

base::Result<std::vector<std::unique_ptr<io::Port>>> no_ports(const engine::EngineConfig& config) {
  auto pool = io::BufferPool::create({.small_count = 64, .large_count = 4});
  if (!pool) return pool.error();
  std::vector<std::unique_ptr<io::Port>> ports;
  for (std::uint16_t n = 0; n < config.ports.size(); ++n) {
    auto port =
        io::RingPort::create({.name = config.ports[n].name, .number = n, .depth = 2}, *pool);
    if (!port) return port.error();
    ports.push_back(std::move(*port));
  }
  return ports;
}

std::string sizes_text(const LoadedConfig& c) {
  flow::TableOptions share = c.engine.table;
  share.max_sessions /= std::max(1U, c.engine.workers);
  const double mib = 1024.0 * 1024.0;
  std::string out;
  out += fmt::format("policy    {} rules, {} zones, at most {:.1f} MiB compiled\n",
                     c.policy.rules.size(), c.policy.zones.size(),
                     static_cast<double>(policy::estimate(c.policy)) / mib);
  out += fmt::format(
      "sessions  {} over {} workers, {:.1f} MiB\n", c.engine.table.max_sessions, c.engine.workers,
      static_cast<double>(flow::SessionTable::memory_for(share)) * c.engine.workers / mib);
  return out;
}

// As `format` says: a document of its own, or on one line.
bool is_json(const std::string& format) { return format.starts_with("json"); }
int indent(const std::string& format) { return format == "jsonl" ? -1 : 2; }

}  // namespace

int run_check(const CheckOptions& options) {
  Runtime runtime(no_ports);
  const CheckReport report = check_loaded(runtime, load_file(options.config_file));
  if (is_json(options.output)) {
    nlohmann::json out = {
        {"findings", nlohmann::json::parse(findings_to_json(report.errors, report.warnings))},
        {"errors", report.errors.size()},
        {"warnings", report.warnings.size()}};
    if (report.config) {
      out["rules"] = report.config->policy.rules.size();
      out["policy_bytes_at_most"] = policy::estimate(report.config->policy);
      out["sessions"] = report.config->engine.table.max_sessions;
    }
    fmt::print("{}\n", out.dump(indent(options.output)));
    return report.errors.empty() ? 0 : kCheckFailed;
  }
  if (!report.errors.empty() || !report.warnings.empty())
    std::fputs(
        format_findings(report.errors, report.warnings, report.bundle,
                        {.use_colour = isatty(2) != 0,
                         .outcome = report.errors.empty() ? "the configuration can be used"
                                                          : "the configuration can't be used"})
            .c_str(),
        stderr);
  if (!report.errors.empty()) return kCheckFailed;
  std::fputs((sizes_text(*report.config) + fmt::format("{}: ok\n", options.config_file)).c_str(),
             stdout);
  return 0;
}

int run_explain_key(const ExplainKeyOptions& options) {
  if (options.key.empty()) {
    for (const Key& key : schema())
      if (key.path.find('.') == std::string_view::npos)
        fmt::print("{:<18}{}\n", key.path, key.help);
    return 0;
  }
  const Key* key = find_key(options.key);
  if (key == nullptr) {
    std::fputs(explain_key(options.key).c_str(), stderr);
    return kFailed;
  }
  if (!is_json(options.output)) {
    std::fputs(explain_key(options.key).c_str(), stdout);
    return 0;
  }
  nlohmann::ordered_json out = {{"path", key->path},
                                {"help", key->help},
                                {"type", key_type_name(key->type)},
                                {"is_list", key->is_list},
                                {"is_required", key->is_required},
                                {"can_negate", key->can_negate},
                                {"takes_effect", reload_name(key->reload)},
                                {"since", key->since}};
  const auto add = [&out](const char* name, std::string_view value) {
    if (!value.empty()) out[name] = value;
  };
  add("choices", key->choices);
  add("unit", key->unit);
  add("default", key->default_text);
  add("example", key->example);
  if (key->min != 0 || key->max != 0) {
    out["min"] = key->min;
    out["max"] = key->max;
  }
  fmt::print("{}\n", out.dump(indent(options.output)));
  return 0;
}

int run_explain(const ExplainOptions& options) {
  if (options.words.empty() || options.words.front() != "packet") {
    std::fputs("merlond: explain -c takes: packet IN SRC[:PORT] DST[:PORT] PROTO [flags]\n",
               stderr);
    return kUsage;
  }
  const std::vector<std::string> words(options.words.begin() + 1, options.words.end());
  const auto packet = client::parse_packet_words(words);
  if (!packet) {
    std::fputs((packet.error().to_string() + "\n").c_str(), stderr);
    return kUsage;
  }
  const base::Nanos now = base::wall_clock_now();
  Runtime runtime(no_ports, &now);
  const CheckReport report = check_loaded(runtime, load_file(options.config_file));
  if (!report.errors.empty()) {
    std::fputs(
        format_findings(report.errors, {}, report.bundle, {.outcome = "nothing was explained"})
            .c_str(),
        stderr);
    return kCheckFailed;
  }
  if (auto applied = runtime.apply(nullptr, *report.config, report.prepared.get()); !applied) {
    std::fputs((applied.error().to_string() + "\n").c_str(), stderr);
    return kFailed;
  }
  const auto explanation = explain_packet(runtime, *packet, now);
  if (!explanation) {
    std::fputs((explanation.error().to_string() + "\n").c_str(), stderr);
    return kFailed;
  }
  const nlohmann::json answer = explanation_json(*explanation);
  std::fputs((is_json(options.output) ? answer.dump(indent(options.output)) + "\n"
                                      : client::explain_text(answer))
                 .c_str(),
             stdout);
  return 0;
}

}  // namespace merlon::control
