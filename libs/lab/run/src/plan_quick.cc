// SPDX-License-Identifier: Apache-2.0
// The first look: what this machine's switches and firewalls do, in three minutes.
#include <fmt/format.h>

#include "plans.h"

namespace merlon::lab {

Row row_of(std::string id, Text title, std::string suite, DeviceSpec device) {
  Row row;
  row.id = std::move(id);
  row.title = std::move(title);
  row.suite = std::move(suite);
  row.device = std::move(device);
  return row;
}

DeviceSpec cable() {
  DeviceSpec spec;
  spec.driver = "null";
  spec.topology = "direct";
  return spec;
}

DeviceSpec linux_bridge(std::string topology) {
  DeviceSpec spec;
  spec.driver = "bridge";
  spec.topology = std::move(topology);
  return spec;
}

DeviceSpec nftables(std::string mode, unsigned rules) {
  DeviceSpec spec;
  spec.driver = "nftables";
  spec.mode = std::move(mode);
  spec.topology = "path7";
  spec.rules = rules;
  return spec;
}

DeviceSpec ovs(std::string mode, unsigned rules, std::string topology) {
  DeviceSpec spec;
  spec.driver = "ovs";
  spec.mode = std::move(mode);
  spec.topology = std::move(topology);
  spec.rules = rules;
  return spec;
}

DeviceSpec merlon_device(std::string mode, unsigned rules) {
  DeviceSpec spec;
  spec.driver = "merlon";
  spec.mode = std::move(mode);
  spec.topology = "path7";
  spec.rules = rules;
  return spec;
}

ChartSpec chart(std::string id, std::string kind, Text title, std::string x, std::string y,
                std::string series, std::string rows) {
  ChartSpec out;
  out.id = std::move(id);
  out.kind = std::move(kind);
  out.title = std::move(title);
  out.x = std::move(x);
  out.y = std::move(y);
  out.series = std::move(series);
  out.rows = std::move(rows);
  return out;
}

namespace {

// The highest rate for throughput and CPU, then a modest one for latency, of one device.
void add_device(Plan& plan, const std::string& id, const Text& title, const DeviceSpec& device) {
  Row most = row_of(id + ".max", {title.en + ", highest rate", title.ru + ", наибольшая частота"},
                    "maximum", device);
  most.duration_s = 0.6;
  most.repeats = 4;
  most.traffic.flows = 64;
  most.parameters["rules"] = device.rules;
  Row calm = row_of(id + ".20k", {title.en + ", 20 kpps", title.ru + ", 20 тыс. кадров/с"}, "rates",
                    device);
  calm.rate_pps = 20'000;
  calm.duration_s = 0.6;
  calm.repeats = 3;
  calm.traffic.flows = 64;
  calm.parameters["rules"] = device.rules;
  plan.rows.push_back(std::move(most));
  plan.rows.push_back(std::move(calm));
}

void add_search(Plan& plan, const std::string& id, const Text& title, const DeviceSpec& device) {
  Row row = row_of(id + ".search", {title.en + ", NDR and PDR", title.ru + ", поиск NDR и PDR"},
                   "search", device);
  row.traffic.flows = 64;
  row.parameters["rules"] = device.rules;
  row.parameters["search_s"] = 8;
  plan.rows.push_back(std::move(row));
}

}  // namespace

Plan quick_plan() {
  Plan plan;
  plan.name = "quick";
  plan.title = {"A first look at this machine", "Первый взгляд на эту машину"};
  plan.question = {
      "What do a cable, Linux bridge, nftables, Open vSwitch and Merlon forward here, and at "
      "what cost per packet?",
      "Сколько здесь пропускают кабель, мост Linux, nftables, Open vSwitch и Merlon, и во "
      "что обходится пакет?"};
  plan.budget_s = 175;
  add_device(plan, "cable", {"Cable", "Кабель"}, cable());
  add_device(plan, "bridge", {"Linux bridge", "Мост Linux"}, linux_bridge());
  add_search(plan, "bridge", {"Linux bridge", "Мост Linux"}, linux_bridge());
  for (const unsigned rules : {0U, 100U, 1000U, 4000U})
    add_device(plan, fmt::format("nft-linear-{}", rules),
               {fmt::format("nftables, {} rules in a row", rules),
                fmt::format("nftables, {} правил подряд", rules)},
               nftables("linear", rules));
  for (const unsigned rules : {1000U, 4000U})
    add_device(plan, fmt::format("nft-set-{}", rules),
               {fmt::format("nftables, {} rules in a set", rules),
                fmt::format("nftables, {} правил множеством", rules)},
               nftables("set", rules));
  add_device(plan, "ovs", {"Open vSwitch", "Open vSwitch"}, ovs("normal", 0));
  add_device(plan, "ovs-openflow-1000",
             {"Open vSwitch, 1,000 flow rules", "Open vSwitch, 1000 правил"},
             ovs("openflow", 1000, "path9"));
  for (const unsigned rules : {0U, 4000U}) {
    const std::string id = fmt::format("merlon-wire-{}", rules);
    const Text title = {fmt::format("Merlon wire, {} rules", rules),
                        fmt::format("Merlon wire, {} правил", rules)};
    add_device(plan, id, title, merlon_device("wire", rules));
  }
  add_search(plan, "merlon-wire-4000", {"Merlon wire, 4,000 rules", "Merlon wire, 4000 правил"},
             merlon_device("wire", 4000));

  plan.charts.push_back(
      chart("throughput", "bars",
            {"Frames per second at the highest rate", "Кадров в секунду на наибольшей частоте"},
            "device", "received_pps", "rules", "*.max"));
  plan.charts.push_back(
      chart("efficiency", "bars",
            {"Frames per second of processor time", "Кадров на секунду процессорного времени"},
            "device", "packets_per_cpu_s", "rules", "*.max"));
  ChartSpec cost =
      chart("rules", "lines", {"Cost of a frame against rules", "Цена кадра от числа правил"},
            "rules", "cost_ns", "device", "*.max");
  cost.x_title = {"rules before the one that matches", "правил до совпавшего"};
  cost.y_title = {"CPU time per frame above the cable", "время CPU на кадр сверх кабеля"};
  plan.charts.push_back(cost);
  plan.charts.push_back(
      chart("latency", "percentiles",
            {"Latency of all frames at 20 kpps", "Задержка всех кадров при 20 тыс./с"}, "", "",
            "device", "*.20k"));
  plan.checks = {"ceiling-above-devices", "linear-rules-cost", "set-is-flat",
                 "no-false-loss-on-cable"};
  return plan;
}

}  // namespace merlon::lab
