// SPDX-License-Identifier: Apache-2.0
// Findings about firewalls and monitors, checked on this run's data.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "checks.h"

namespace merlon::lab {

namespace {

void vswitch_is_the_limit(const Run& run, Finding& finding) {
  const auto own = kpi_of(run, "emix.merlon", "whole_pps");
  const auto behind = kpi_of(run, "emix.merlon-vswitch", "whole_pps");
  const auto linux_own = kpi_of(run, "emix.linux", "whole_pps");
  const auto linux_behind = kpi_of(run, "emix.linux-vswitch", "whole_pps");
  if (!linux_own || !linux_behind) return not_available(run, finding, "emix.linux");
  if (!own || !behind) return not_available(run, finding, "emix.merlon");
  // The study's argument: when a plain Linux guest stops at the same point, the switch around both
  // is the limit.
  const double nearness = *behind > 0 ? *linux_behind / *behind : 0;
  const bool stops_alike = nearness > 0.8 && nearness < 1.25;
  const bool is_slower = *behind < 0.9 * *own;
  finding.state = stops_alike && is_slower ? "reproduced" : "differs";
  finding.evidence = {
      fmt::format("whole up to: Merlon {}pps with its own ports, {}pps behind bridges; Linux guest "
                  "{} and {}pps",
                  si(*own), si(*behind), si(*linux_own), si(*linux_behind)),
      fmt::format(
          "без потерь до: Merlon {}pps на своих портах, {}pps за мостами; гость Linux {} и {}pps",
          si(*own), si(*behind), si(*linux_own), si(*linux_behind))};
  if (finding.state == "reproduced") return;
  if (!is_slower) {
    finding.evidence.en +=
        ". Here the bridges around the firewall are not the limit: two cores carry sender, "
        "receiver and "
        "firewall, and these end first";
    finding.evidence.ru +=
        ". Здесь мосты вокруг экрана не предел: на двух ядрах работают отправитель, получатель и "
        "экран, и "
        "раньше кончаются они";
  } else {
    finding.evidence.en +=
        ". Both lose by the bridges, and the firewall's own cost is seen beside it";
    finding.evidence.ru += ". Мосты замедляют обоих, и рядом видна собственная цена экрана";
  }
}

void starvation_is_seen(const Run& run, Finding& finding) {
  const auto share = kpi_of(run, "starved.merlon", "starved_share");
  if (!share) return not_available(run, finding, "starved.merlon");
  const double loss = kpi_of(run, "starved.merlon", "starved_loss_ratio").value_or(0);
  const double rate = kpi_of(run, "starved.merlon", "starvation_rate_pps").value_or(0);
  finding.state = *share < 0.9 ? "reproduced" : "differs";
  finding.evidence = {
      fmt::format(
          "at {}pps {:.0f} % of the rate remains with a neighbour on the core, loss {:.2g} %",
          si(rate), *share * 100, loss * 100),
      fmt::format("при {}pps с соседом на ядре остаётся {:.0f} % частоты, потери {:.2g} %",
                  si(rate), *share * 100, loss * 100)};
  if (finding.state == "differs") {
    finding.evidence.en += ". At this rate the scheduler leaves the firewall enough of its core";
    finding.evidence.ru +=
        ". При этой частоте планировщик оставляет экрану достаточно времени ядра";
  }
}

void connection_cost(const Run& run, Finding& finding) {
  const auto cycles = kpi_of(run, "cost.merlon-4000", "cycles_per_connection");
  if (!cycles) return not_available(run, finding, "cost.merlon-4000");
  finding.state = *cycles <= 41'700 ? "reproduced" : "differs";
  std::string peers;
  for (const char* peer : {"nft-set", "nft-linear", "nft-ct", "ovs-ct"})
    if (const auto other = kpi_of(run, std::string("cost.") + peer, "cycles_per_connection"))
      peers += fmt::format(", {} {}", peer, si(*other));
  finding.evidence = {
      fmt::format("Merlon behind 4,000 rules: {} cycles a connection{}", si(*cycles), peers),
      fmt::format("Merlon за 4000 правил: {} тактов на соединение{}", si(*cycles), peers)};
  if (finding.state == "differs") {
    finding.evidence.en +=
        ". The kernel's ports are part of this figure: each of a connection's segments crosses two "
        "of them";
    finding.evidence.ru +=
        ". В этой цифре есть порты ядра: каждый сегмент соединения проходит два из них";
  }
}

void rules_do_not_slow(const Run& run, Finding& finding) {
  const auto none = kpi_of(run, "cost.merlon-0", "cycles_per_connection");
  const auto many = kpi_of(run, "cost.merlon-4000", "cycles_per_connection");
  if (!none) return not_available(run, finding, "cost.merlon-0");
  if (!many) return not_available(run, finding, "cost.merlon-4000");
  const double ratio = *none > 0 ? *many / *none : 0;
  const double noise = 1 + std::max(0.5, run.environment.noise_ratio);
  finding.state = ratio > 0 && ratio <= noise ? "pass" : "fail";
  finding.evidence = {fmt::format("{:.2f} times the cycles of a connection without rules", ratio),
                      fmt::format("в {:.2f} раза больше тактов, чем без правил", ratio)};
}

void offload_halves(const Run& run, Finding& finding) {
  const auto with = kpi_of(run, "cost.merlon-offload", "cycles_per_connection");
  const auto without = kpi_of(run, "cost.merlon-4000", "cycles_per_connection");
  if (!with) return not_available(run, finding, "cost.merlon-offload");
  if (!without) return not_available(run, finding, "cost.merlon-4000");
  const double ratio = *with / std::max(1.0, *without);
  finding.state = ratio < 0.6 ? "reproduced" : "differs";
  finding.evidence = {fmt::format("{:.2f} of the cycles without off-load", ratio),
                      fmt::format("{:.2f} тактов от работы без разгрузки", ratio)};
}

void monitor_rate(const Run& run, Finding& finding) {
  double best = 0, least = INFINITY;
  const Row* fastest = nullptr;
  const char* function = "flows.ddos.";
  if (rows_of(run, function).empty()) function = "flows.sessions.";
  for (const Row* row : rows_of(run, function))
    if (const auto rate = kpi_of(*row, "monitored_pps")) {
      if (*rate > best) fastest = row;
      best = std::max(best, *rate);
      least = std::min(least, *rate);
    }
  if (fastest == nullptr) return not_available(run, finding, function);
  finding.state = best >= 1.8e6 ? "reproduced" : "differs";
  finding.evidence = {
      fmt::format("{}pps at best ({}), {}pps at worst", si(best), fastest->id, si(least)),
      fmt::format("лучшее {}pps ({}), худшее {}pps", si(best), fastest->id, si(least))};
  if (finding.state == "reproduced") return;
  double ceiling = 0;
  for (const Calibration& c : run.calibrations) ceiling = std::max(ceiling, c.ceiling_pps);
  finding.evidence.en += fmt::format(
      ". The study feeds its core by a network card; here sender and kernel ports reach {}pps at "
      "most without any device, so this is the tester's limit and not the monitor's",
      si(ceiling));
  finding.evidence.ru += fmt::format(
      ". В исследовании ядро питает сетевая карта; здесь отправитель и порты ядра без устройства "
      "дают не больше {}pps, это предел тестера, а не монитора",
      si(ceiling));
}

void both_costs_no_more(const Run& run, Finding& finding) {
  const auto one = kpi_of(run, "mixed.detection", "monitored_pps");
  const auto both = kpi_of(run, "mixed.both", "monitored_pps");
  if (!one) return not_available(run, finding, "mixed.detection");
  if (!both) return not_available(run, finding, "mixed.both");
  const double ratio = *both / std::max(1.0, *one);
  finding.state = ratio > 0.9 ? "reproduced" : "differs";
  finding.evidence = {fmt::format("both together: {:.2f} of detection alone", ratio),
                      fmt::format("вместе: {:.2f} от одного обнаружения", ratio)};
}

}  // namespace

std::vector<Check> firewall_checks() {
  return {
      {"vswitch-is-the-limit",
       {"behind virtual switches a firewall and a plain Linux guest stop at the same point, below "
        "what the firewall "
        "does with its own ports",
        "за виртуальными коммутаторами экран и простой гость Linux останавливаются в одной точке, "
        "ниже того, что экран "
        "делает на своих портах"},
       vswitch_is_the_limit},
      {"starvation-is-seen",
       {"without reserved processor time only part of the offered traffic passes",
        "без резерва процессорного времени проходит лишь часть нагрузки"},
       starvation_is_seen},
      {"connection-cost",
       {"a connection behind 4,000 rules costs no more than 41,700 cycles",
        "соединение за 4000 правил стоит не больше 41 700 тактов"},
       connection_cost},
      {"rules-do-not-slow-connections",
       {"4,000 rules that don't match change the cost of a connection little",
        "4000 несовпадающих правил мало меняют цену соединения"},
       rules_do_not_slow},
      {"offload-halves-cost",
       {"with off-load the host pays 16,700 instead of 41,700 cycles a connection",
        "с разгрузкой хост платит 16 700 вместо 41 700 тактов за соединение"},
       offload_halves},
      {"monitor-rate-per-core",
       {"one core measures 1.8 million packets per second",
        "одно ядро измеряет 1,8 млн пакетов в секунду"},
       monitor_rate},
      {"both-costs-no-more",
       {"DDoS measurement and detection together are as fast as detection alone",
        "измерение DDoS вместе с обнаружением не медленнее одного обнаружения"},
       both_costs_no_more},
  };
}

}  // namespace merlon::lab
