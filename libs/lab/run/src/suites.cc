// SPDX-License-Identifier: Apache-2.0
// The table of suites.
#include "suites.h"

#include <algorithm>
#include <cstdlib>

#include "budget.h"
#include "https.h"

namespace merlon::lab {

namespace {

double fixed_need(const Row& row) {
  return std::max(1U, row.repeats) * (row.duration_s + kTrialOverheadS) + kWarmUpS +
         kTrialOverheadS;
}
double double_need(const Row& row) { return 2 * fixed_need(row); }
double search_need(const Row& row) { return parameter(row, "search_s"); }
double paired_need(const Row& row) { return row.against.empty() ? 0 : parameter(row, "search_s"); }
double starvation_need(const Row& row) {
  return double_need(row) + (row.rate_pps > 0 ? 0 : parameter(row, "search_s"));
}
double recovery_need(const Row& row) {
  const double search_s = row.rate_pps > 0 ? 0 : parameter(row, "search_s");
  return search_s + std::max(1U, row.repeats) *
                        (parameter(row, "overload_s") + row.duration_s + kTrialOverheadS);
}
double part_need(const Row& row) {
  return parameter(row, "max_steps") * (row.duration_s + kTrialOverheadS);
}
double connection_need(const Row& row) {
  const double beside_s = 2 * parameter(row, "ramp_s") + 1.5;
  return std::max(1U, row.repeats) * (row.duration_s + beside_s) + kWarmUpS + beside_s;
}
double cost_need(const Row& row) { return 2 * connection_need(row); }
double loss_need(const Row& row) {
  return 8 * (row.duration_s + kTrialOverheadS) + kWarmUpS + kTrialOverheadS;
}

std::map<std::string, double> with(std::map<std::string, double> a,
                                   const std::map<std::string, double>& b) {
  a.insert(b.begin(), b.end());
  return a;
}

const std::map<std::string, double> kSearch{{"search_s", 12}, {"width", 0.05}, {"line_mbps", 0}};
const std::map<std::string, double> kTcp{{"object_kib", 1}, {"transactions", 1},  {"ramp_s", 0.5},
                                         {"clients", 64},   {"servers", 4},       {"search_s", 20},
                                         {"width", 0.1},    {"limit_cps", 200000}};

std::vector<Suite> rate_suites() {
  return {
      {.name = "rates",
       .what = {"fixed rate, repeated", "заданная частота, с повторами"},
       .standard = "",
       .run = run_rates,
       .parameters = {},
       .need_s = fixed_need,
       .request = rates_request},
      {.name = "maximum",
       .what = {"as fast as the sender can: what still arrives (MRR)",
                "наибольшая частота отправителя: сколько доходит (MRR)"},
       .standard = "FD.io MRR",
       .run = run_rates,
       .parameters = {},
       .need_s = fixed_need,
       .request = maximum_request},
      {.name = "locality",
       .what = {"one cell of the surface flows x MAC addresses at the highest rate",
                "точка поверхности «потоки × MAC-адреса» на наибольшей частоте"},
       .standard = "RFC 8204 flow scalability",
       .run = run_rates,
       .parameters = {},
       .need_s = fixed_need,
       .request = maximum_request},
      {.name = "search",
       .what = {"highest rates that keep the goals' loss (NDR, PDR, ...)",
                "наибольшие частоты при заданных потерях (NDR, PDR, ...)"},
       .standard = "MLRsearch draft -15",
       .run = run_search,
       .parameters = kSearch,
       .need_s = search_need,
       .is_search = true},
      {.name = "paired",
       .what = {"two devices measured in turn, A B B A: ratio, its interval, noise, verdict",
                "два устройства по очереди, A B B A: отношение, интервал, шум, вывод"},
       .standard = "",
       .run = run_unpaired,
       .parameters = with(kTcp, {{"search_s", 40},
                                 {"practical", 0.03},
                                 {"min_pairs", 8},
                                 {"max_pairs", 32},
                                 {"object_kib", 0}}),
       .need_s = paired_need,
       .is_search = true},
      {.name = "part",
       .what = {"rate raised until RX parts from TX, with CPU at each point",
                "рост частоты до расхождения RX и TX, с загрузкой процессора"},
       .standard = "",
       .run = run_part,
       .parameters = {{"factor", 1.5}, {"parted_loss", 0.01}, {"max_steps", 12}},
       .need_s = part_need},
      {.name = "starvation",
       .what = {"the same rate alone and with a neighbour on the device's core",
                "та же частота в одиночку и с соседом на ядре устройства"},
       .standard = "RFC 8204 noisy neighbour",
       .run = run_starvation,
       .parameters = {{"search_s", 8}, {"width", 0.05}, {"load_share", 0.8}},
       .need_s = starvation_need,
       .leaves_out_disturbed = true},
  };
}

std::vector<Suite> packet_suites() {
  return {
      {.name = "initial_packet",
       .what = {"delay of frames that each start a flow, beside known flows",
                "задержка первых кадров потоков рядом с известными потоками"},
       .standard = "RFC 8204 initial-packet latency",
       .run = run_initial_packet,
       .parameters = {},
       .need_s = fixed_need},
      {.name = "address_learning",
       .what = {"highest rate without loss when every frame brings a new source MAC",
                "наибольшая частота без потерь, когда каждый кадр несёт новый MAC источника"},
       .standard = "RFC 2889 5.8",
       .run = run_rfc2544_throughput,
       .parameters = kSearch,
       .need_s = search_need,
       .is_search = true},
      {.name = "protected_goodput",
       .what = {"legitimate traffic that still arrives beside an attack",
                "доля законного трафика, доходящая во время атаки"},
       .standard = "RFC 3511 5.5",
       .run = run_protected_goodput,
       .parameters = {},
       .need_s = double_need},
      {.name = "monitor",
       .what = {"what a passive device takes in beside a flood, by its own counters",
                "сколько принимает пассивное устройство рядом с флудом, по его счётчикам"},
       .standard = "",
       .run = run_monitor,
       .parameters = {{"flood_share", 0.4}, {"traffic_share", 0.4}},
       .need_s = fixed_need},
      {.name = "effectiveness",
       .what = {"verdict of every frame checked under load",
                "проверка решения по каждому кадру под нагрузкой"},
       .standard = "RFC 9411 4.2",
       .run = run_effectiveness,
       .parameters = {},
       .need_s = fixed_need},
  };
}

std::vector<Suite> standard_suites() {
  return {
      {.name = "rfc2544.throughput",
       .what = {"highest rate without loss", "наибольшая частота без потерь"},
       .standard = "RFC 2544 26.1",
       .run = run_rfc2544_throughput,
       .parameters = kSearch,
       .need_s = search_need,
       .is_search = true},
      {.name = "rfc2544.latency",
       .what = {"latency at the throughput rate, with the reductions of RFC 8219",
                "задержка на частоте пропускной способности, со свёртками RFC 8219"},
       .standard = "RFC 2544 26.2, RFC 8219 7.2",
       .run = run_rfc2544_latency,
       .parameters = kSearch,
       .need_s = search_need,
       .is_search = true},
      {.name = "rfc2544.loss",
       .what = {"loss against offered load from 100 % down", "потери от нагрузки, от 100 % вниз"},
       .standard = "RFC 2544 26.3",
       .run = run_rfc2544_loss,
       .parameters = {},
       .need_s = loss_need},
      {.name = "rfc2544.back_to_back",
       .what = {"longest burst without loss, corrected buffer time",
                "самый длинный всплеск без потерь, исправленное время буфера"},
       .standard = "RFC 9004",
       .run = run_rfc2544_back_to_back,
       .parameters = with(kSearch, {{"max_burst", 200000}}),
       .need_s = search_need,
       .is_search = true},
      {.name = "rfc2544.recovery",
       .what = {"time to the last lost frame after an overload at 110 % of the throughput",
                "время до последнего потерянного кадра после перегрузки в 110 % пропускной "
                "способности"},
       .standard = "RFC 2544 26.5",
       .run = run_rfc2544_recovery,
       .parameters = with(kSearch, {{"overload", 1.1}, {"overload_s", 2}}),
       .need_s = recovery_need,
       .is_search = true},
  };
}

std::vector<Suite> change_suites() {
  return {
      {.name = "rfc6201.kill",
       .what = {"kill -9 and restart under load: time out of service by loss and by time stamps",
                "kill -9 и перезапуск под нагрузкой: простой по потерям и по меткам времени"},
       .standard = "RFC 6201 4.2",
       .run = run_reset_kill,
       .parameters = {},
       .need_s = fixed_need},
      {.name = "rfc6201.flap",
       .what = {"link down and up under load: what comes on top of the link's own time",
                "обрыв линка под нагрузкой: простой сверх времени обрыва"},
       .standard = "RFC 6201 4.3",
       .run = run_link_flap,
       .parameters = {{"down_s", 0.2}},
       .need_s = fixed_need},
      {.name = "change.commit",
       .what = {"all rules exchanged under load: blocked time, lost frames",
                "замена всех правил под нагрузкой: время блокировки, потерянные кадры"},
       .standard = "",
       .run = run_commit,
       .parameters = {},
       .need_s = fixed_need},
      {.name = "coupling",
       .what = {"rules added and removed all the time under load",
                "правила непрерывно добавляются и удаляются под нагрузкой"},
       .standard = "RFC 8204 control/data coupling",
       .run = run_coupling,
       .parameters = {{"changes_per_s", 10}},
       .need_s = fixed_need},
  };
}

std::vector<Suite> tcp_suites() {
  const auto rfc9411 = [](const char* name, Text what, const char* section, bool is_search) {
    return Suite{
        .name = name,
        .what = std::move(what),
        .standard = section,
        .run = run_rfc9411,
        .parameters = with(kTcp, {{"cps", 1000}, {"concurrent", 1000}, {"effectiveness_pps", 0}}),
        .need_s = is_search ? search_need : connection_need,
        .is_search = is_search};
  };
  return {
      {.name = "connection_rate",
       .what = {"highest rate of TCP connections from SYN to FIN",
                "наибольшая частота TCP-соединений от SYN до FIN"},
       .standard = "RFC 3511 5.3",
       .run = run_connection_rate,
       .parameters = with(kTcp, {{"object_kib", 0}, {"start_cps", 1000}}),
       .need_s = search_need,
       .is_search = true},
      {.name = "connection_cost",
       .what = {"what one more TCP connection costs the device",
                "сколько стоит устройству ещё одно TCP-соединение"},
       .standard = "",
       .run = run_connection_cost,
       .parameters = with(kTcp, {{"object_kib", 0}, {"cps", 1000}}),
       .need_s = cost_need},
      rfc9411("rfc9411.rate",
              {"TCP connections per second with HTTP", "TCP-соединений в секунду с HTTP"},
              "RFC 9411 7.2", true),
      rfc9411("rfc9411.throughput", {"HTTP throughput", "пропускная способность HTTP"},
              "RFC 9411 7.3", true),
      rfc9411("rfc9411.latency", {"HTTP transaction latency", "задержка транзакций HTTP"},
              "RFC 9411 7.4", false),
      rfc9411("rfc9411.concurrent", {"concurrent TCP connections", "одновременные TCP-соединения"},
              "RFC 9411 7.5", false),
  };
}

}  // namespace

double parameter(const Row& row, const std::string& name) {
  const auto given = row.parameters.find(name);
  if (given != row.parameters.end()) return given->second;
  const Suite* suite = find_suite(row.suite);
  if (suite == nullptr) return 0;
  const auto known = suite->parameters.find(name);
  return known == suite->parameters.end() ? 0 : known->second;
}

const std::vector<Suite>& suites() {
  static const std::vector<Suite> all = [] {
    std::vector<Suite> list;
    for (auto part : {rate_suites(), packet_suites(), standard_suites(), change_suites(),
                      tcp_suites(), https_suites()})
      list.insert(list.end(), part.begin(), part.end());
    return list;
  }();
  return all;
}

const Suite* find_suite(const std::string& name) {
  for (const Suite& suite : suites())
    if (suite.name == name) return &suite;
  return nullptr;
}

}  // namespace merlon::lab
