// SPDX-License-Identifier: Apache-2.0
// Plans about firewalls and monitors: a firewall behind virtual switches, a distributed firewall's
// connections, a monitor's packets per core.
#include <fmt/format.h>

#include "plans.h"

namespace merlon::lab {

namespace {

ChartSpec lines(std::string id, Text title, std::string x, std::string y, std::string series,
                std::string rows) {
  return chart(std::move(id), "lines", std::move(title), std::move(x), std::move(y),
               std::move(series), std::move(rows));
}

ChartSpec bars(std::string id, Text title, std::string y, std::string rows) {
  return chart(std::move(id), "bars", std::move(title), "row", std::move(y), "", std::move(rows));
}

// "function" names what is measured, for charts; "needs" what the build must have for that.
// Sections that would switch it on are left to plans of users: their names are the build's to
// choose.
std::map<std::string, std::string> options_of(const std::string& function,
                                              const std::string& needs) {
  std::map<std::string, std::string> options{{"function", function}};
  if (!needs.empty()) options["needs"] = needs;
  return options;
}

const Text kOffered{"TX: offered", "TX: подано"};

}  // namespace

Plan ngfw_emix_plan() {
  Plan plan;
  plan.name = "ngfw-emix";
  plan.title = {"A firewall in a virtual machine under mixed traffic",
                "Межсетевой экран в виртуальной машине под смешанным трафиком"};
  plan.question = {
      "Where do RX and TX part, and is it the firewall or the virtual switch around it that ends "
      "there?",
      "Где расходятся RX и TX, и чей это предел: экрана или виртуального коммутатора вокруг него?"};
  plan.budget_s = 420;
  DeviceSpec direct = merlon_device("wire", 100), behind = direct;
  behind.topology = "chain3";
  DeviceSpec plain = linux_bridge(), plain_behind = linux_bridge("chain3");
  struct Set {
    const char* id;
    Text title;
    DeviceSpec device;
  };
  const std::vector<Set> sets = {
      {"cable", {"Cable", "Кабель"}, cable()},
      {"merlon", {"Merlon, own ports (passthrough)", "Merlon, свои порты (passthrough)"}, direct},
      {"merlon-vswitch", {"Merlon behind two bridges", "Merlon за двумя мостами"}, behind},
      {"linux", {"Linux guest, own ports", "Гость Linux, свои порты"}, plain},
      {"linux-vswitch",
       {"Linux guest behind two bridges", "Гость Linux за двумя мостами"},
       plain_behind},
  };
  for (const Set& set : sets) {
    for (const char* sizes : {"1518", "imix", "emix"}) {
      Row row = row_of(
          fmt::format("{}.{}", sizes, set.id),
          {fmt::format("{}, {}", set.title.en, sizes), fmt::format("{}, {}", set.title.ru, sizes)},
          "part", set.device);
      row.traffic.sizes = sizes;
      row.traffic.flows = 1000;
      row.traffic.is_bidirectional = false;
      row.rate_pps = 20'000;
      row.duration_s = 0.6;
      row.parameters = {{"factor", 1.6}, {"max_steps", 9}, {"rules", set.device.rules}};
      plan.rows.push_back(std::move(row));
    }
  }
  for (const Set& set : {sets[1], sets[3]}) {
    Row row = row_of(
        fmt::format("starved.{}", set.id),
        {set.title.en + ", with a neighbour on its core", set.title.ru + ", с соседом на ядре"},
        "starvation", set.device);
    row.traffic.sizes = "emix";
    row.traffic.flows = 1000;
    // Without a rate: at four fifths of what the device keeps by itself.
    row.duration_s = 1;
    row.repeats = 3;
    plan.rows.push_back(std::move(row));
  }
  for (const char* sizes : {"1518", "imix", "emix"}) {
    ChartSpec rx_tx =
        lines(fmt::format("rx-tx-{}", sizes),
              {fmt::format("RX against TX, {}", sizes), fmt::format("RX против TX, {}", sizes)},
              "offered_pps", "received_pps", "device", "");
    rx_tx.x_title = kOffered;
    rx_tx.y_title = {"RX: received", "RX: принято"};
    rx_tx.is_log_x = rx_tx.is_log_y = true;
    rx_tx.rows = fmt::format("{}.", sizes);
    plan.charts.push_back(std::move(rx_tx));
  }
  plan.charts.push_back(lines("cpu",
                              {"Processor time against TX, EMIX", "Процессорное время от TX, EMIX"},
                              "offered_pps", "total_cpu", "device", "emix."));
  plan.charts.push_back(bars("starved", {"With a neighbour on the core", "С соседом на ядре"},
                             "starved_share", "starved."));
  plan.checks = {"vswitch-is-the-limit", "starvation-is-seen"};
  return plan;
}

namespace {

// A firewall or switch whose connections are counted.
struct Peer {
  const char* id;
  Text title;
  DeviceSpec device;
  bool is_searched;
  double cps = 8000;  // at which its cost is measured
};

std::vector<Peer> connection_peers() {
  DeviceSpec ct = nftables("routed-ct", 4000), ct_none = nftables("routed-ct", 0);
  DeviceSpec linear = nftables("linear", 4000), set = nftables("set", 4000);
  DeviceSpec ovs_ct = ovs("conntrack", 4000, "path9");
  return {
      {"cable", {"Cable", "Кабель"}, cable(), true},
      {"merlon-0",
       {"Merlon wire, no rules", "Merlon wire, без правил"},
       merlon_device("wire", 0),
       false},
      {"merlon-4000",
       {"Merlon wire, 4,000 rules", "Merlon wire, 4000 правил"},
       merlon_device("wire", 4000),
       true},
      {"nft-set", {"nftables, 4,000 in a set", "nftables, 4000 множеством"}, set, false},
      {"nft-linear", {"nftables, 4,000 in a row", "nftables, 4000 подряд"}, linear, true, 1600},
      {"nft-ct",
       {"nftables with connection tracking, 4,000", "nftables с отслеживанием соединений, 4000"},
       ct,
       true},
      {"nft-ct-0",
       {"nftables with connection tracking, no rules",
        "nftables с отслеживанием соединений, без правил"},
       ct_none,
       false},
      {"ovs-ct",
       {"Open vSwitch conntrack, 4,000", "Open vSwitch conntrack, 4000"},
       ovs_ct,
       false,
       4000},
  };
}

void add_connection_charts(Plan& plan) {
  ChartSpec cycles =
      bars("cycles", {"Cycles per connection above the cable", "Тактов на соединение сверх кабеля"},
           "cycles_per_connection", "cost.");
  cycles.is_log_y = true;
  plan.charts.push_back(cycles);
  plan.charts.push_back(
      bars("rate", {"Most connections per second", "Наибольшее число соединений в секунду"},
           "max_cps", "rate."));
  plan.charts.push_back(bars("connect", {"Time to connect, p99", "Время установления, p99"},
                             "connect_p99_ms", "cost."));
}

}  // namespace

Plan dfw_plan() {
  Plan plan;
  plan.name = "dfw-4000x120k";
  plan.title = {"A distributed firewall: 4,000 rules and new connections",
                "Распределённый экран: 4000 правил и новые соединения"};
  plan.question = {
      "What does a new connection cost behind 4,000 block rules that don't match and one that "
      "allows?",
      "Сколько стоит новое соединение за 4000 несовпадающими запретами и одним разрешением?"};
  plan.budget_s = 480;
  for (const Peer& peer : connection_peers()) {
    Row row =
        row_of(std::string("cost.") + peer.id, {peer.title.en + ", cost", peer.title.ru + ", цена"},
               "connection_cost", peer.device);
    row.traffic.protocol = "tcp";
    row.duration_s = 2;
    row.repeats = 3;
    row.parameters = {{"cps", peer.cps}, {"rules", peer.device.rules}, {"stateful", 1}};
    plan.rows.push_back(row);
    if (!peer.is_searched) continue;
    Row most = row_of(
        std::string("rate.") + peer.id,
        {peer.title.en + ", most connections", peer.title.ru + ", наибольшая частота соединений"},
        "connection_rate", peer.device);
    most.traffic.protocol = "tcp";
    most.duration_s = 1;
    most.parameters = {{"start_cps", 2000},
                       {"limit_cps", 120000},
                       {"rules", peer.device.rules},
                       {"stateful", 1},
                       {"search_s", 22}};
    plan.rows.push_back(most);
  }
  DeviceSpec offload = merlon_device("wire", 4000);
  offload.options = options_of("offload", "offload");
  Row row = row_of("cost.merlon-offload",
                   {"Merlon with off-load, cost", "Merlon с аппаратной разгрузкой, цена"},
                   "connection_cost", offload);
  row.traffic.protocol = "tcp";
  row.duration_s = 2;
  row.repeats = 3;
  row.parameters = {{"cps", 8000}, {"rules", 4000}, {"stateful", 1}};
  plan.rows.push_back(row);
  add_connection_charts(plan);
  plan.checks = {"connection-cost", "rules-do-not-slow-connections", "offload-halves-cost"};
  return plan;
}

Plan monitor_core_plan() {
  Plan plan;
  plan.name = "monitor-core";
  plan.title = {"A monitor on one core", "Монитор на одном ядре"};
  plan.question = {
      "How many packets of a SYN flood does one core take in, as flows grow, beside ordinary "
      "traffic, with "
      "DDoS measurement, detection, or both?",
      "Сколько пакетов SYN-флуда принимает одно ядро с ростом числа потоков рядом с обычным "
      "трафиком: с "
      "измерением DDoS, с обнаружением и с тем и другим?"};
  plan.budget_s = 240;
  struct Function {
    const char* id;
    Text title;
    const char* needs;
  };
  const std::vector<Function> functions = {
      {"sessions", {"Sessions only", "Только сессии"}, ""},
      {"ddos", {"DDoS measurement", "Измерение DDoS"}, "ddos"},
      {"detection", {"Detection", "Обнаружение"}, "detection"},
      {"both",
       {"DDoS measurement and detection", "Измерение DDoS и обнаружение"},
       "ddos,detection"},
  };
  for (const Function& function : functions) {
    for (const double flows : {1.0, 100.0, 10'000.0, 100'000.0, 1'000'000.0}) {
      DeviceSpec device = merlon_device("tap", 0);
      device.options = options_of(function.id, function.needs);
      Row row = row_of(
          fmt::format("flows.{}.{}", function.id, static_cast<unsigned>(flows)),
          {fmt::format("{}, SYN flood, flows: {}", function.title.en, static_cast<unsigned>(flows)),
           fmt::format("{}, SYN-флуд, потоков: {}", function.title.ru,
                       static_cast<unsigned>(flows))},
          "monitor", device);
      // The flood is SYNs of 64 bytes from so many sources; a little marked traffic tells what
      // happens to others.
      row.traffic.attack = AttackKind::kSynFlood;
      row.traffic.attack_sources = static_cast<std::uint64_t>(flows);
      row.rate_pps = 1000;
      row.parameters["flood_share"] = 0.8;
      row.duration_s = 0.8;
      row.repeats = 2;
      row.parameters["flows"] = flows;
      plan.rows.push_back(row);
    }
    DeviceSpec device = merlon_device("tap", 0);
    device.options = options_of(function.id, function.needs);
    Row mixed = row_of(fmt::format("mixed.{}", function.id),
                       {function.title.en + ", SYN flood beside mixed applications",
                        function.title.ru + ", SYN-флуд рядом со смешанными приложениями"},
                       "monitor", device);
    mixed.traffic.sizes = "emix";
    mixed.traffic.flows = 10'000;
    mixed.traffic.attack = AttackKind::kSynFlood;
    mixed.traffic.attack_sources = 10'000;
    mixed.duration_s = 0.8;
    mixed.repeats = 2;
    mixed.parameters["flows"] = 10'000;
    plan.rows.push_back(mixed);
  }
  ChartSpec flows = lines("flows",
                          {"Packets per second of one core against flows",
                           "Пакетов в секунду на ядро от числа потоков"},
                          "flows", "monitored_pps", "function", "flows.");
  flows.x_title = {"flows", "потоков"};
  flows.y_title = {"packets taken in", "принято пакетов"};
  flows.is_log_x = true;
  plan.charts.push_back(flows);
  plan.charts.push_back(bars("mixed",
                             {"Beside mixed applications", "Рядом со смешанными приложениями"},
                             "monitored_pps", "mixed."));
  plan.checks = {"monitor-rate-per-core", "both-costs-no-more"};
  return plan;
}

}  // namespace merlon::lab
