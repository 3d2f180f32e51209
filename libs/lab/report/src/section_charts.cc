// SPDX-License-Identifier: Apache-2.0
// The plan's charts, then the standing ones that it doesn't have itself; costs of rules.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "html.h"
#include "run_charts.h"
#include "sections.h"
#include "words.h"

namespace merlon::lab::report {
namespace {

bool has_chart(const Run& run, std::string_view x, std::string_view y) {
  return std::any_of(run.charts.begin(), run.charts.end(),
                     [&](const ChartSpec& c) { return c.x == x && c.y == y && c.rows.empty(); });
}

void append_standing(const Text& title, std::string_view id, std::vector<Chart> charts,
                     std::string& out) {
  std::erase_if(charts, is_empty);
  if (charts.empty()) return;
  open_section(id, title, out);
  for (std::size_t i = 0; i < charts.size(); ++i) {
    charts[i].id = fmt::format("{}-{}", id, i);
    append_chart(charts[i], out);
  }
  close_section(out);
}

}  // namespace

void append_charts(const RunIndex& index, std::string& out) {
  const Run& run = index.run();
  if (!run.charts.empty()) {
    open_section("charts", {"Charts of the plan", "Графики плана"}, out);
    for (std::size_t i = 0; i < run.charts.size(); ++i) {
      Chart chart = plan_chart(index, run.charts[i]);
      chart.id = fmt::format("chart-{}", i);
      append_chart(chart, out);
    }
    close_section(out);
  }
  append_standing({"Throughput by frame size", "Пропускная способность и размер кадра"}, "sizes",
                  {throughput_by_size(index)}, out);
  if (!has_chart(run, "offered_pps", "loss_ratio"))
    append_standing({"Loss by load", "Потери и нагрузка"}, "loss", {loss_by_load(index)}, out);
  append_standing({"Latency", "Задержка"}, "latency", {latency_percentiles(index)}, out);
  append_standing({"CPU", "Процессор"}, "cpu", {packets_per_cpu(index), cycles_per_packet(index)},
                  out);
  append_standing({"Rules and flows", "Правила и потоки"}, "rules",
                  {rule_scaling(index), flow_scaling(index)}, out);
  append_rule_costs(index, out);
  append_standing({"Repeats", "Повторы"}, "repeats", {repeats(index)}, out);
}

void append_rule_costs(const RunIndex& index, std::string& out) {
  // CPU seconds per packet by rule count; the slope against the smallest count is what a rule
  // costs. Only rows that differ in nothing but their rules are set against each other.
  struct Cost {
    double seconds = 0, cycles = 0, load_s = 0;
    std::string row;
  };
  std::map<std::string, std::pair<Text, std::map<unsigned, Cost>>> devices;
  for (const Row& row : index.run().rows) {
    const auto packets = row_value(index, row, "packets_per_cpu_s");
    if (!packets || packets->y <= 0) continue;
    const auto cycles = row_value(index, row, "cycles_per_packet");
    DeviceSpec bare = row.device;
    bare.rules = 0;
    auto& [name, costs] =
        devices[fmt::format("{}|{}|{}|{}|{}", device_label(bare).en, bare.topology,
                            traffic_label(row.traffic).en, row.suite, row.rate_pps)];
    name = device_label(bare);
    costs.try_emplace(row.device.rules,
                      Cost{1 / packets->y, cycles ? cycles->y : 0, row.load_s, row.id});
  }
  Table table;
  table.caption = {"Cost per rule", "Цена правила"};
  table.head = {both({"device", "устройство"}),
                both({"row", "строка"}),
                number_cell(both({"rules", "правил"})),
                number_cell(both({"CPU per packet", "CPU на пакет"})),
                number_cell(both({"device cycles", "такты устройства"})),
                number_cell(both({"per rule", "на правило"})),
                number_cell(both({"time to load", "время загрузки"}))};
  for (const auto& [key, device] : devices) {
    const auto& [name, costs] = device;
    if (costs.size() < 2) continue;
    const auto& [base_rules, base] = *costs.begin();
    for (const auto& [rules, cost] : costs) {
      const double slope =
          rules > base_rules ? (cost.seconds - base.seconds) / (rules - base_rules) : 0;
      table.rows.push_back(
          {both(name), row_link(*index.row(cost.row)), number_cell(grouped(std::uint64_t{rules})),
           number_cell(escape(quantity(cost.seconds, Unit::kSeconds))),
           number_cell(cost.cycles > 0 ? escape(digits(cost.cycles)) : "–"),
           number_cell(rules > base_rules ? escape(quantity(slope, Unit::kSeconds)) : "–"),
           number_cell(cost.load_s > 0 ? escape(quantity(cost.load_s, Unit::kSeconds)) : "–")});
    }
  }
  if (table.rows.empty()) return;
  open_section("rule-costs", {"Cost per rule", "Цена правила"}, out);
  append_table(table, out);
  out.append("<p class=\"note\">")
      .append(both({"By subtraction: CPU time per packet of tester and device together, less that "
                    "with the fewest "
                    "rules, divided by the rules between. A negative cost is noise.",
                    "Вычитанием: время CPU на пакет (тестер и устройство вместе) минус оно же при "
                    "наименьшем числе "
                    "правил, делённое на разницу правил. Отрицательная цена — это шум."}))
      .append("</p>\n");
  close_section(out);
}

}  // namespace merlon::lab::report
