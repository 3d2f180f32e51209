// SPDX-License-Identifier: Apache-2.0
// The study of virtual switches with OpenFlow: eleven paths, intervals between packets, random MAC
// addresses.
#include <fmt/format.h>

#include "plans.h"

namespace merlon::lab {

namespace {

struct Configuration {
  const char* id;
  Text title;
  const char* driver;  // "bridge" or "ovs"
  const char* mode;
  unsigned rules;
  int path;  // 1 to 11: where it stands on the host; the guest's is 6 lower, the external one's 3
};

const std::vector<Configuration>& configurations() {
  static const std::vector<Configuration> all = {
      {"bridge", {"Linux bridge", "Мост Linux"}, "bridge", "", 0, 7},
      {"ovs", {"Open vSwitch", "Open vSwitch"}, "ovs", "normal", 0, 8},
      {"of1",
       {"Open vSwitch, 1 OpenFlow rule", "Open vSwitch, 1 правило OpenFlow"},
       "ovs",
       "openflow",
       1,
       9},
      {"of100",
       {"Open vSwitch, 100 OpenFlow rules", "Open vSwitch, 100 правил OpenFlow"},
       "ovs",
       "openflow",
       100,
       9},
      {"of1000",
       {"Open vSwitch, 1,000 OpenFlow rules", "Open vSwitch, 1000 правил OpenFlow"},
       "ovs",
       "openflow",
       1000,
       9},
  };
  return all;
}

struct Place {
  const char* id;
  Text title;
  int offset;  // from the host's path numbers
  const char* place;
  std::vector<double> intervals_us;
};

const std::vector<Place>& places() {
  static const std::vector<Place> all = {
      {"host", {"on the host", "на хосте"}, 0, "host", {100, 50, 10, 1}},
      {"guest", {"in the guest", "в госте"}, -6, "namespace", {100, 50, 10}},
      {"external", {"with an external leg", "с внешним плечом"}, -3, "host", {100, 50, 10}},
  };
  return all;
}

TrafficSpec random_macs() {
  TrafficSpec traffic;
  traffic.source_mac = {Variation::kRandom, 1ULL << 40};
  traffic.destination_mac = {Variation::kRandom, 1ULL << 40};
  return traffic;
}

void add_rates(Plan& plan, const std::string& id, const Text& title, const DeviceSpec& device,
               const std::vector<double>& intervals, double place_number) {
  for (const double interval : intervals) {
    Row row = row_of(fmt::format("{}.{:g}us", id, interval),
                     {fmt::format("{}, one packet per {:g} µs", title.en, interval),
                      fmt::format("{}, пакет каждые {:g} мкс", title.ru, interval)},
                     "rates", device);
    row.duration_s = 0.5;
    row.repeats = 2;
    row.traffic = random_macs();
    row.parameters["rules"] = device.rules;
    row.parameters["place"] = place_number;
    plan.rows.push_back(at_interval(std::move(row), interval));
  }
}

const Text kIntensity{"intensity", "интенсивность"};

void add_charts(Plan& plan) {
  ChartSpec bars = chart("figure-2", "bars",
                         {"Delay per configuration (the study's figure 2)",
                          "Задержка по конфигурациям (рисунок 2 исследования)"},
                         "device", "latency_p50_us", "interval_us", "host.");
  bars.y_title = {"median delay", "медиана задержки"};
  plan.charts.push_back(bars);
  ChartSpec loss = chart("figure-3", "lines",
                         {"Loss against intensity, by rules (figure 3)",
                          "Потери от интенсивности по числу правил (рисунок 3)"},
                         "intended_pps", "loss_ratio", "rules", "guest.of");
  loss.x_title = kIntensity;
  loss.y_title = {"loss", "потери"};
  loss.is_log_x = true;
  plan.charts.push_back(loss);
  ChartSpec delay =
      chart("figure-4", "lines",
            {"Delay against intensity (figure 4)", "Задержка от интенсивности (рисунок 4)"},
            "intended_pps", "latency_p50_us", "device", "host.");
  delay.x_title = kIntensity;
  delay.y_title = {"median delay", "медиана задержки"};
  delay.is_log_x = delay.is_log_y = true;
  plan.charts.push_back(delay);
  ChartSpec all =
      chart("loss-all", "lines", {"Loss against intensity, host", "Потери от интенсивности, хост"},
            "intended_pps", "loss_ratio", "device", "host.");
  all.x_title = kIntensity;
  all.is_log_x = true;
  plan.charts.push_back(all);
}

}  // namespace

Plan vswitch_openflow_plan() {
  Plan plan;
  plan.name = "vswitch-openflow";
  plan.title = {"Virtual switches with OpenFlow", "Виртуальные коммутаторы с OpenFlow"};
  plan.question = {
      "Which virtual switch, in which place, loses packets and delays them at which intensity, "
      "with how many OpenFlow rules?",
      "Какой виртуальный коммутатор, где и при какой интенсивности теряет и задерживает пакеты, "
      "и сколько правил OpenFlow для этого нужно?"};
  plan.budget_s = 540;
  double number = 0;
  for (const Place& place : places()) {
    for (const Configuration& c : configurations()) {
      DeviceSpec device;
      device.driver = c.driver;
      device.mode = c.mode;
      device.rules = c.rules;
      device.topology = fmt::format("path{}", c.path + place.offset);
      device.place = place.place;
      add_rates(plan, fmt::format("{}.{}", place.id, c.id),
                {c.title.en + " " + place.title.en, c.title.ru + " " + place.title.ru}, device,
                place.intervals_us, number);
    }
    ++number;
  }
  add_rates(plan, "external.bridge-two",
            {"Linux bridge between external cards", "Мост Linux между внешними картами"},
            linux_bridge("path10"), {100, 10}, 3);
  DeviceSpec wire = cable();
  wire.topology = "path11";
  add_rates(plan, "direct", {"External cards, no switch", "Внешние карты без коммутатора"}, wire,
            {100, 50, 10, 1}, 4);
  for (const char* driver : {"bridge", "ovs"}) {
    for (const char* size : {"512", "1518"}) {
      const bool is_bridge = std::string_view(driver) == "bridge";
      const DeviceSpec device = is_bridge ? linux_bridge() : ovs("normal", 0);
      const Text name =
          is_bridge ? Text{"Linux bridge", "Мост Linux"} : Text{"Open vSwitch", "Open vSwitch"};
      Row row = row_of(fmt::format("size.{}.{}", driver, size),
                       {fmt::format("{}, {} bytes, one per 50 µs", name.en, size),
                        fmt::format("{}, {} байт, каждые 50 мкс", name.ru, size)},
                       "rates", device);
      row.duration_s = 0.5;
      row.repeats = 2;
      row.traffic.sizes = size;
      row.parameters["frame_size"] = std::stod(size);
      row.parameters["grows"] = 0;
      plan.rows.push_back(at_interval(std::move(row), 50));
    }
  }
  plan.growth.is_on = true;
  plan.growth.max_rows = 60;
  add_charts(plan);
  plan.checks = {"delay-bends-where-loss-starts", "openflow-in-guest-loses",
                 "no-loss-of-large-frames",       "guest-adds-delay",
                 "bridge-loses-before-ovs",       "intensity-is-offered"};
  return plan;
}

}  // namespace merlon::lab
