// SPDX-License-Identifier: Apache-2.0
// Plans from YAML files.
#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <charconv>
#include <cmath>
#include <iterator>

#include "merlon/lab_run/plan.h"
#include "merlon/lab_run/suite.h"
#include "merlon/lab_search/search.h"
#include "plan_tree.h"
#include "plan_words.h"
#include "plans.h"

namespace merlon::lab {

using base::Errc;
using base::Error;
using base::Result;

namespace {

constexpr double kMaxRate = 1e9, kMaxDuration = 3600;

void read_pattern(PlanMap& map, const char* key, FieldPattern& out) {
  const YAML::Node node = map.take(key);
  if (!node) return;
  PlanMap pattern(node, map.path_of(key), map.file(), map.errors());
  pattern.word("vary", out.variation, kVariations);
  pattern.whole("count", out.count, 0, 1ULL << 46);
  pattern.finish();
}

// A name, or the share of IPv6.
void read_family(PlanMap& traffic, double& ipv6_share) {
  const YAML::Node node = traffic.take("family");
  std::string given;
  if (!node || !traffic.scalar(node, "family", given)) return;
  for (const auto& [name, share] : kFamilies) {
    if (name != given) continue;
    ipv6_share = share;
    return;
  }
  if (!given.empty() && given.front() >= '0' && given.front() <= '9')
    traffic.share("family", ipv6_share);
  else
    traffic.fail(node, "family", fmt::format("\"{}\" is no family", given),
                 "one of: ipv4, ipv6, mixed; or the share of IPv6, such as 30 %");
}

void read_steps(PlanMap& traffic, TrafficSpec& out) {
  const YAML::Node node = traffic.take("steps");
  if (!node) return;
  if (!node.IsSequence()) {
    traffic.fail(node, "steps", "a list is wanted here",
                 "[{factor: 1.1, share: 60 %}, {factor: 0.5, share: 40 %}]");
    return;
  }
  for (const auto& item : node) {
    const std::string path = traffic.path_of(fmt::format("steps[{}]", out.steps.size()));
    PlanMap step(item, path, traffic.file(), traffic.errors());
    RateStep& into = out.steps.emplace_back();
    step.number("factor", into.factor, 0, 1e6);
    step.share("share", into.share);
    step.finish();
  }
  double shares = 0;
  for (const RateStep& step : out.steps) shares += step.share;
  constexpr double kRounding = 1e-6;
  if (std::abs(shares - 1) > kRounding)
    traffic.fail(node, "steps", fmt::format("the shares make {}", shares), "they must make 1");
}

void read_traffic(PlanMap& map, const char* key, TrafficSpec& out) {
  const YAML::Node node = map.take(key);
  if (!node) return;
  PlanMap traffic(node, map.path_of(key), map.file(), map.errors());
  traffic.text("sizes", out.sizes);
  traffic.text("protocol", out.protocol);
  read_family(traffic, out.ipv6_share);
  read_pattern(traffic, "source_mac", out.source_mac);
  read_pattern(traffic, "destination_mac", out.destination_mac);
  read_pattern(traffic, "source_ip", out.source_ip);
  read_pattern(traffic, "destination_ip", out.destination_ip);
  read_pattern(traffic, "source_port", out.source_port);
  read_pattern(traffic, "destination_port", out.destination_port);
  read_pattern(traffic, "vlan", out.vlan);
  traffic.whole("flows", out.flows, 1, 10'000'000);
  traffic.flag("random_order", out.is_random_flow_order);
  traffic.flag("bidirectional", out.is_bidirectional);
  traffic.word("pacing", out.pacing, kPacings);
  traffic.whole("burst", out.burst_frames, 1, 10'000'000);
  read_steps(traffic, out);
  traffic.text("capture", out.capture);
  traffic.share("drop_share", out.drop_share);
  traffic.word("attack", out.attack, kAttacks);
  traffic.rate("attack_rate", out.attack_pps);
  traffic.whole("attack_sources", out.attack_sources, 1, kMaxAttackSources);
  traffic.finish();
}

void read_device(PlanMap& device, DeviceSpec& out) {
  device.text("driver", out.driver);
  device.text("mode", out.mode);
  device.text("topology", out.topology);
  device.text("place", out.place);
  device.whole("rules", out.rules, 0, 1'000'000);
  if (const YAML::Node options = device.take("options")) {
    PlanMap free(options, device.path_of("options"), device.file(), device.errors());
    for (const auto& [key, value] : free.items()) free.scalar(value, key, out.options[key]);
  }
  device.finish();
}

// The other side of a paired row, with what is the same on both; nothing when none is named.
std::optional<Row> read_against(PlanMap& row, Row& a) {
  const YAML::Node node = row.take("against");
  row.texts("compare", a.compared);
  TrafficSpec traffic = a.traffic;
  read_traffic(row, "against_traffic", traffic);
  const bool is_paired = a.suite == "paired";
  if (!node && is_paired) row.fail(row.node(), "against", "a paired row needs another device");
  if (node && !is_paired)
    row.fail(node, "against", "only rows of the suite \"paired\" have another device");
  if (!is_paired && !a.compared.empty())
    row.fail(row.take("compare"), "compare", "only rows of the suite \"paired\" compare");
  for (const std::string& figure : a.compared)
    if (const auto why = why_not_comparable(a, figure))
      row.fail(row.take("compare"), "compare", figure + " " + *why);
  if (!node) return std::nullopt;
  PlanMap device(node, row.path_of("against"), row.file(), row.errors());
  Text title;
  device.text("title", title);
  DeviceSpec spec;
  read_device(device, spec);
  return other_side(a, std::move(title), std::move(spec), std::move(traffic));
}

void read_goal(const YAML::Node& node, const std::string& path, PlanMap& row, Goal& out) {
  if (node.IsScalar()) {
    auto preset = goal_preset(node.Scalar());
    if (preset) {
      out = *preset;
    } else {
      row.fail(node, "goals", preset.error().message, preset.error().hint);
    }
    return;
  }
  PlanMap goal(node, path, row.file(), row.errors());
  goal.text("name", out.name);
  goal.share("loss", out.loss_ratio);
  goal.share("exceed", out.exceed_ratio);
  goal.seconds("final_duration", out.final_duration_s);
  goal.seconds("duration_sum", out.duration_sum_s);
  goal.seconds("initial_duration", out.initial_duration_s);
  goal.share("width", out.width);
  goal.finish();
}

// A row, or the two of a pair.
void read_row(const YAML::Node& node, std::size_t number, const std::string& file,
              base::Errors& errors, std::vector<Row>& rows) {
  Row& out = rows.emplace_back();
  PlanMap row(node, fmt::format("rows[{}]", number), file, errors);
  if (!row.is_map()) return;
  row.text("id", out.id);
  if (out.id.empty()) row.fail(node, "id", "a row needs an id");
  row.text("title", out.title);
  row.text("suite", out.suite);
  if (find_suite(out.suite) == nullptr)
    row.fail(node, "suite", fmt::format("\"{}\" is no suite", out.suite),
             "`merlon lab list` has them");
  if (const YAML::Node device_node = row.take("device")) {
    PlanMap device(device_node, row.path_of("device"), file, errors);
    read_device(device, out.device);
  }
  read_traffic(row, "traffic", out.traffic);
  row.rate("rate", out.rate_pps);
  double interval_us = 0;
  row.number("interval_us", interval_us, 0, 1e7);
  row.seconds("duration", out.duration_s);
  row.whole("repeats", out.repeats, 1, 1000);
  if (const YAML::Node goals = row.take("goals")) {
    if (!goals.IsSequence()) row.fail(goals, "goals", "a list is wanted here", "[ndr, pdr]");
    if (goals.IsSequence())
      for (const auto& goal : goals)
        read_goal(goal, row.path_of(fmt::format("goals[{}]", out.goals.size())), row,
                  out.goals.emplace_back());
  }
  if (const YAML::Node parameters = row.take("parameters")) {
    PlanMap free(parameters, row.path_of("parameters"), file, errors);
    for (const auto& [key, value] : free.items())
      free.number(key.c_str(), out.parameters[key], -1e15, 1e15);
  }
  if (interval_us > 0) out = at_interval(std::move(out), interval_us);
  auto other = read_against(row, out);
  row.finish();
  if (other) rows.push_back(std::move(*other));
}

void read_chart(const YAML::Node& node, std::size_t number, const std::string& file,
                base::Errors& errors, ChartSpec& out) {
  PlanMap chart(node, fmt::format("charts[{}]", number), file, errors);
  chart.text("id", out.id);
  chart.text("kind", out.kind);
  chart.text("title", out.title);
  chart.text("x_title", out.x_title);
  chart.text("y_title", out.y_title);
  chart.text("x", out.x);
  chart.text("y", out.y);
  chart.text("series", out.series);
  chart.text("rows", out.rows);
  chart.flag("log_x", out.is_log_x);
  chart.flag("log_y", out.is_log_y);
  chart.finish();
}

void read_growth(PlanMap& map, Growth& out) {
  const YAML::Node node = map.take("growth");
  if (!node) return;
  PlanMap growth(node, "growth", map.file(), map.errors());
  out.is_on = true;
  growth.share("loss_ok", out.loss_ok);
  growth.share("loss_high", out.loss_high);
  growth.share("width", out.width);
  growth.whole("max_rows", out.max_rows, 0, 10'000);
  growth.finish();
}

// A list of mappings under `key`.
template <class T, class Read>
void read_list(PlanMap& map, const char* key, std::vector<T>& out, const Read& read) {
  const YAML::Node node = map.take(key);
  if (!node) return;
  if (!node.IsSequence()) {
    map.fail(node, key, "a list is wanted here");
    return;
  }
  for (const auto& item : node) {
    out.emplace_back();
    read(item, out.size() - 1, map.file(), map.errors(), out.back());
  }
}

void check_ids(const Plan& plan, PlanMap& map, const YAML::Node& root) {
  std::set<std::string> ids;
  for (const Row& row : plan.rows)
    if (!row.id.empty() && !ids.insert(row.id).second)
      map.fail(root, "rows", fmt::format("two rows have the id \"{}\"", row.id));
  if (plan.rows.empty()) map.fail(root, "rows", "a plan needs rows");
}

}  // namespace

PlanFile read_plan(std::string_view text, const std::string& file_name) {
  PlanFile out;
  if (!guard_plan(text, file_name, out.errors)) return out;
  try {
    const YAML::Node root = YAML::Load(std::string(text));
    PlanMap map(root, "", file_name, out.errors);
    map.text("plan", out.plan.name);
    map.text("title", out.plan.title);
    map.text("question", out.plan.question);
    map.seconds("budget", out.plan.budget_s);
    map.texts("checks", out.plan.checks);
    read_growth(map, out.plan.growth);
    std::vector<std::vector<Row>> rows;
    read_list(map, "rows", rows, read_row);
    for (std::vector<Row>& some : rows)
      std::move(some.begin(), some.end(), std::back_inserter(out.plan.rows));
    read_list(map, "charts", out.plan.charts, read_chart);
    map.finish();
    if (map.is_map()) check_ids(out.plan, map, root);
    if (map.is_map() && out.plan.name.empty()) map.fail(root, "plan", "a plan needs a name");
  } catch (const YAML::Exception& problem) {
    out.errors.push_back({Errc::kInvalidValue,
                          "this is no plan: " + problem.msg,
                          {file_name, static_cast<unsigned>(problem.mark.line + 1),
                           static_cast<unsigned>(problem.mark.column + 1), 0},
                          "",
                          {}});
  }
  return out;
}

Result<double> parse_seconds(std::string_view text) {
  const Error wrong{Errc::kInvalidValue,
                    fmt::format("\"{}\" is no time", text),
                    {},
                    "90, 90s, 10m, 1h30m or 0.5s",
                    {}};
  double total = 0;
  const char* at = text.data();
  const char* const end = at + text.size();
  if (at == end) return wrong;
  while (at != end) {
    double value = 0;
    const auto [next, problem] = std::from_chars(at, end, value, std::chars_format::general);
    if (problem != std::errc{} || !(value >= 0)) return wrong;
    at = next;
    double unit = 1;
    if (at != end) {
      const std::string_view rest(at, static_cast<std::size_t>(end - at));
      if (rest.starts_with("ms")) {
        unit = 1e-3;
        ++at;
      } else if (*at == 'm') {
        unit = 60;
      } else if (*at == 'h') {
        unit = 3600;
      } else if (*at != 's') {
        return wrong;
      }
      ++at;
    }
    total += value * unit;
  }
  if (!(total <= 24 * kMaxDuration * 7))
    return Error{
        Errc::kInvalidValue, fmt::format("\"{}\" is longer than a week", text), {}, "", {}};
  return total;
}

Result<double> parse_rate(std::string_view text) {
  std::string_view rest = text;
  if (rest.ends_with("pps")) rest.remove_suffix(3);
  while (rest.ends_with(' ')) rest.remove_suffix(1);
  double unit = 1;
  if (rest.ends_with('k') || rest.ends_with('K')) unit = 1e3;
  if (rest.ends_with('M')) unit = 1e6;
  if (unit > 1) rest.remove_suffix(1);
  while (rest.ends_with(' ')) rest.remove_suffix(1);
  double value = 0;
  const auto [end, problem] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (rest.empty() || problem != std::errc{} || end != rest.data() + rest.size() || !(value >= 0) ||
      value * unit > kMaxRate)
    return Error{Errc::kInvalidValue,
                 fmt::format("\"{}\" is no rate", text),
                 {},
                 "frames per second: 1000, 10k or 1.5M, at most 1000M",
                 {}};
  return value * unit;
}

}  // namespace merlon::lab
