// SPDX-License-Identifier: Apache-2.0
#include "sample_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace merlon::lab {
namespace {

// A device that forwards up to its capacity, with a queue that fills near it.
struct Model {
  std::string driver, mode;
  unsigned rules;
  double capacity_pps, base_us, cycles;
  std::vector<std::string> chain;
};

Text name_of(const Model& model) {
  if (model.driver == "null") return {"Cable", "Кабель"};
  if (model.driver == "bridge") return {"Linux bridge", "Мост Linux"};
  if (model.mode == "linear") return {"nftables in a row", "nftables подряд"};
  if (model.mode == "set") return {"nftables in a set", "nftables множеством"};
  const std::string name = model.driver + " " + model.mode;
  return {name, name};
}

class Maker {
 public:
  Maker(Run& run, std::uint64_t seed) : run_(run), random_(seed) {}

  Row& row(const std::string& id, const Model& model, const std::string& suite,
           const std::string& size = "64") {
    Row r;
    r.id = id;
    r.suite = suite;
    const Text name = name_of(model);
    r.title = {fmt::format("{} with {} rules, {} B", name.en, model.rules, size),
               fmt::format("{}, правил: {}, {} Б", name.ru, model.rules, size)};
    r.device.driver = model.driver;
    r.device.mode = model.mode;
    r.device.rules = model.rules;
    r.device.topology = "path1";
    r.traffic.sizes = size;
    r.traffic.flows = 1000;
    r.state = RowState::kDone;
    r.load_s = model.rules * 1e-4;
    r.chain = model.chain;
    r.commands = {"ip netns add mlab-1-sut", "ip link add g0 type veth peer name s0",
                  "nft -f rules.nft"};
    r.device_config =
        "table bridge t {\n  chain c { type filter hook forward priority 0; <counter> }\n}\n";
    run_.rows.push_back(r);
    return run_.rows.back();
  }

  TrialResult& trial(const Row& row, const Model& model, double load, double seconds = 1) {
    TrialResult t;
    t.spec.id = fmt::format("{}.t{}", row.id, ++numbers_[row.id]);
    t.spec.row = row.id;
    t.spec.rate_pps = load;
    t.spec.duration_s = seconds;
    t.spec.traffic = row.traffic;
    t.started = run_.started + static_cast<double>(run_.trials.size()) * 2;
    t.sending_s = seconds;
    t.effective_s = seconds + 0.5;
    const double capacity = model.capacity_pps * noise(0.02);
    const double rate = std::min(load, capacity);
    fill_frames(t, load, rate, seconds);
    fill_latency(t, model, load / capacity);
    t.device_cpu_s = rate * seconds * model.cycles / 2.1e9;
    t.total_cpu_s = t.device_cpu_s + rate * seconds * 1.2e-6;
    t.packets_per_cpu_s = rate * seconds / t.total_cpu_s;
    t.cycles_per_packet = model.cycles * noise(0.03);
    t.processes = {{"sender", "tester", 0.4 * seconds, 0.5 * seconds, 12, 3, 40},
                   {model.driver, "device", t.device_cpu_s, 0.01, 48, 10, 2}};
    t.cores = {{0, 0.97, 0.2, 0, 0.01, 130 * noise(0.5)}, {1, 0.7, 0.4, 0, 0.02, 90 * noise(0.5)}};
    t.layers = {{"veth g0", "tx_packets", static_cast<std::int64_t>(t.frames.offered), false}};
    if (t.frames.lost != 0) {
      t.layers.push_back({"softnet", "dropped", static_cast<std::int64_t>(t.frames.lost), true});
      t.loss_sentence_en =
          fmt::format("{} frames ended in the backlog queue of core 1.", t.frames.lost);
      t.loss_sentence_ru =
          fmt::format("{} кадров потеряно в очереди backlog ядра 1.", t.frames.lost);
    }
    t.commands = {fmt::format("merlon lab run compare --only {}", row.id)};
    if (load > 0.8 * 1.2e6) {
      t.stamp = Stamp::kTesterLimited;
      t.stamp_reasons = {"980.0 kpps are within 80 % of the null path's ceiling of 1.25 Mpps"};
    }
    run_.trials.push_back(t);
    return run_.trials.back();
  }

  double noise(double share) { return std::lognormal_distribution<double>(0, share)(random_); }

 private:
  void fill_frames(TrialResult& t, double load, double rate, double seconds) {
    t.frames.intended = t.frames.offered = static_cast<std::uint64_t>(load * seconds);
    t.frames.received = std::min(t.frames.offered, static_cast<std::uint64_t>(rate * seconds));
    t.frames.lost = t.frames.offered - t.frames.received;
    t.frames.reordered = t.frames.lost / 100;
    t.offered_pps = load;
    t.received_pps = rate;
    t.received_l1_bps = rate * 84 * 8;
    t.loss_ratio = static_cast<double>(t.frames.lost) / static_cast<double>(t.frames.offered);
    for (int ms = 0; ms < static_cast<int>(seconds * 1000); ++ms) {
      t.timeline_offered.push_back(static_cast<std::uint32_t>(load / 1000));
      const bool is_bad = ms % 250 > 180;
      t.timeline_lost.push_back(
          is_bad ? static_cast<std::uint32_t>(std::min(load, (load - rate) * 3.6) / 1000) : 0);
    }
  }

  void fill_latency(TrialResult& t, const Model& model, double share) {
    const double queue = share < 1 ? 1 / std::max(0.02, 1 - share) : 400;
    std::lognormal_distribution<double> body(std::log(model.base_us * 1e3 * (1 + 0.05 * queue)),
                                             0.18);
    for (int i = 0; i < 400; ++i) {
      const double value = body(random_) * (i % 97 == 0 ? 14 : 1) * (i % 251 == 0 ? 9 : 1);
      t.latency_actual.record(static_cast<std::int64_t>(value), t.frames.received / 400 + 1);
      t.latency_intended.record(static_cast<std::int64_t>(value * 1.1),
                                t.frames.received / 400 + 1);
      t.lateness.record(static_cast<std::int64_t>(body(random_) * 0.05),
                        t.frames.offered / 400 + 1);
    }
  }

  Run& run_;
  std::mt19937_64 random_;
  std::map<std::string, int> numbers_;
};

std::vector<std::string> way(const std::string& device) {
  return {"generator", "g0", "s0", device, "s1", "k0", "sink"};
}

std::vector<Model> models(double merlon_speed) {
  return {{"null", "", 0, 1.25e6, 1.6, 1, {"generator", "g0", "k0", "sink"}},
          {"bridge", "", 0, 470e3, 2.7, 2400, way("br0")},
          {"nftables", "linear", 0, 440e3, 3.1, 2600, way("br0 nft")},
          {"nftables", "linear", 100, 260e3, 4.4, 5100, way("br0 nft")},
          {"nftables", "linear", 1000, 55e3, 16, 29000, way("br0 nft")},
          {"nftables", "linear", 4000, 24e3, 41, 97000, way("br0 nft")},
          {"nftables", "set", 0, 450e3, 3.0, 2600, way("br0 nft")},
          {"nftables", "set", 4000, 445e3, 3.0, 2650, way("br0 nft")},
          {"ovs", "normal", 0, 170e3, 55, 9800, way("ovs-vswitchd")},
          {"ovs", "openflow", 1000, 150e3, 60, 10400, way("ovs-vswitchd")},
          {"merlon", "wire", 0, 720e3 * merlon_speed, 9, 830, way("merlond")},
          {"merlon", "wire", 4000, 700e3 * merlon_speed, 9.2, 860, way("merlond")}};
}

void fill_environment(Run& run) {
  Environment& e = run.environment;
  e.machine = "lab-1";
  e.cpu = "AMD EPYC 9R14";
  e.kernel = "6.1.0-28-amd64";
  e.distribution = "Debian GNU/Linux 12";
  e.clock_source = "kvm-clock";
  e.virtualization = "kvm";
  e.cores = 2;
  e.memory_mib = 24064;
  e.tsc_hz = 2.096e9;
  e.versions = {{"merlon", "0.1.0 (ea21d7a)"}, {"nft", "1.0.6"}, {"ovs-vswitchd", "3.1.0"}};
  e.mitigations = {{"meltdown", "Mitigation: PTI"}, {"spectre_v2", "Mitigation: Retpolines"}};
  e.pinning = {{"sender", "core 0"}, {"receiver", "core 1"}};
  e.noise_grade = "B";
  e.noise_ratio = 0.034;
  run.calibrations = {{"before", 1.25e6, 1600, 2300, 0.8e-6, "c1"},
                      {"after", 1.21e6, 1650, 2500, 0.82e-6, "c2"}};
}

GoalResult found(const std::string& name, double loss, double pps) {
  GoalResult r;
  r.goal.name = name;
  r.goal.loss_ratio = loss;
  r.lower_pps = pps * 0.998;
  r.upper_pps = pps * 1.003;
  r.conditional_pps = pps;
  r.is_regular = true;
  r.why = "width reached";
  return r;
}

void add_searches(Run& run, Maker& maker, double merlon_speed) {
  int n = 0;
  for (const Model& m : models(merlon_speed)) {
    const std::size_t at = run.rows.size();
    maker.row(fmt::format("search.r{}", n++), m, "search");
    const Row copy = run.rows[at];
    for (const double share : {0.2, 0.5, 0.8, 0.9, 0.95, 1.0, 1.05, 1.2, 1.6, 2.2})
      maker.trial(copy, m, std::round(m.capacity_pps * share));
    maker.trial(copy, m, m.capacity_pps * 0.9).spec.is_warm_up = true;
    Row& row = run.rows[at];
    row.results = {found("ndr", 0, m.capacity_pps * 0.93),
                   found("pdr", 0.005, m.capacity_pps * 0.99)};
    if (m.driver == "null") {
      for (GoalResult& r : row.results) {
        r.is_regular = false;
        r.upper_pps = 0;
        r.why = "maximum passes";
      }
    }
  }
}

void add_rates(Run& run, Maker& maker, double merlon_speed) {
  int n = 0;
  for (const Model& m : models(merlon_speed)) {
    if (m.capacity_pps < 100e3) continue;
    const std::size_t at = run.rows.size();
    maker.row(fmt::format("rates.r{}", n), m, "rates").rate_pps = 100e3;
    const Row copy = run.rows[at];
    std::vector<double> received;
    for (int i = 0; i < 5; ++i) {
      TrialResult& t = maker.trial(copy, m, 100e3);
      if (n == 2) {
        t.stamp = Stamp::kContaminated;
        t.stamp_reasons = {"other processes used 31 % of the measuring cores: cc1plus",
                           "a measuring thread on core 1 was kept from running for 8.3 ms"};
      }
      received.push_back(t.received_pps);
    }
    std::sort(received.begin(), received.end());
    run.rows[at].kpis["received_pps"] = received[2];
    run.rows[at].spreads["received_pps"] = (received[4] - received[0]) / received[2];
    ++n;
  }
}

void add_sizes(Maker& maker) {
  for (const auto& [name, per_frame, per_byte] :
       {std::tuple{"bridge", 2.1e-6, 0.3e-9}, std::tuple{"merlon", 1.35e-6, 0.25e-9}}) {
    for (const int size : {64, 128, 256, 512, 1024, 1280, 1518}) {
      Model m{name,     name == std::string("merlon") ? "wire" : "",
              0,        1 / (per_frame + size * per_byte),
              3,        2000,
              way(name)};
      Row& row = maker.row(fmt::format("sizes.{}.{}", name, size), m, "rfc2544.throughput",
                           std::to_string(size));
      row.results = {found("rfc2544", 0, m.capacity_pps)};
      row.kpis = {{"throughput_pps", m.capacity_pps * 0.998},
                  {"throughput_upper_pps", m.capacity_pps * 1.003},
                  {"trial_s", 1},
                  {"theoretical_pps", 10e9 / ((size + 20) * 8)},
                  {"line_share", m.capacity_pps / (10e9 / ((size + 20) * 8))}};
    }
  }
}

void add_standards(Maker& maker) {
  const Model m = models(1)[1];
  maker.row("rfc.latency", m, "rfc2544.latency").kpis = {{"latency_rate_pps", 430e3},
                                                         {"rfc2544_latency_us", 4.1},
                                                         {"typical_latency_us", 3.2},
                                                         {"typical_latency_p01_us", 3.0},
                                                         {"typical_latency_p99_us", 3.9},
                                                         {"worst_latency_us", 41},
                                                         {"pdv_8219_us", 39},
                                                         {"trials", 20}};
  maker.row("rfc.loss", m, "rfc2544.loss").kpis = {
      {"hundred_percent_pps", 1.2e6}, {"loss_at_100", 0.61}, {"loss_at_090", 0.56},
      {"loss_at_080", 0.51},          {"loss_at_040", 0},    {"loss_at_030", 0},
      {"first_clean_percent", 40}};
  maker.row("rfc.b2b", m, "rfc2544.back_to_back").kpis = {
      {"back_to_back_needed", 1},  {"burst_mean", 1320},        {"burst_min", 1190},
      {"burst_max", 1500},         {"burst_deviation", 88},     {"burst_repeats", 10},
      {"implied_buffer_us", 1056}, {"corrected_buffer_us", 650}};
  Row& reset = maker.row("rfc.kill", models(1)[8], "rfc6201.kill");
  reset.rate_pps = 50e3;
  reset.kpis = {{"lost_frames", 14200},
                {"blocked_by_loss_ms", 284},
                {"blocked_by_loss_max_ms", 330},
                {"blocked_by_time_ms", 279},
                {"trials", 3}};
  Row& tcp = maker.row("rfc.cps", models(1)[10], "rfc9411.rate");
  tcp.kpis = {{"max_cps", 41e3},
              {"connections_per_s", 40.8e3},
              {"transactions_per_s", 40.8e3},
              {"goodput_bps", 334e6},
              {"concurrent_max", 812},
              {"ttfb_p50_ms", 0.4},
              {"ttfb_p99_ms", 3.1},
              {"ttlb_p50_ms", 0.41},
              {"ttlb_p99_ms", 3.2},
              {"failed_transaction_ratio", 0},
              {"failed_transaction_ratio_limit", 1e-5},
              {"failed_transaction_ratio_passed", 1},
              {"reset_ratio", 4e-5},
              {"reset_ratio_limit", 1e-5},
              {"reset_ratio_passed", 0},
              {"rate_deviation", 0.021},
              {"rate_deviation_limit", 0.05},
              {"rate_deviation_passed", 1},
              {"passed", 0}};
}

void add_locality(Run& run, Maker& maker) {
  for (const double flows : {1.0, 1000.0, 100000.0})
    for (const double macs : {1.0, 100.0, 60000.0}) {
      Model m = models(1)[8];
      m.capacity_pps = 190e3 / (1 + std::log10(flows) * 0.1) / (1 + macs / 9000);
      const std::size_t at = run.rows.size();
      Row& row = maker.row(fmt::format("locality.{}.{}", flows, macs), m, "locality");
      row.parameters = {{"flows", flows}, {"macs", macs}};
      row.traffic.flows = static_cast<std::uint64_t>(flows);
      const Row copy = run.rows[at];
      maker.trial(copy, m, 400e3).spec.traffic.pacing = Pacing::kMaximum;
    }
}

void add_missing(Maker& maker) {
  Row& skipped = maker.row("missing.ovs-kernel", {"ovs-kernel", "normal", 0, 1, 1, 1, {}}, "rates");
  skipped.state = RowState::kSkipped;
  skipped.state_reason = {
      "the kernel has no openvswitch module; apt-get install openvswitch-datapath",
      "в ядре нет модуля openvswitch; apt-get install openvswitch-datapath"};
  Row& failed = maker.row("missing.testpmd", {"testpmd", "io", 0, 1, 1, 1, {}}, "rates");
  failed.state = RowState::kFailed;
  failed.state_reason = {"dpdk-testpmd died in trial 2 (signal 11)",
                         "dpdk-testpmd умер в испытании 2 (сигнал 11)"};
  Row& absent = maker.row("missing.ddos", {"merlon", "tap", 0, 1, 1, 1, {}}, "rates");
  absent.state = RowState::kUnavailable;
  absent.state_reason = {"not available in this build: detection",
                         "недоступно в этой сборке: обнаружение"};
}

void add_charts(Run& run) {
  const auto chart = [&](const char* id, const char* kind, Text title, const char* x, const char* y,
                         const char* series, const char* rows, bool log_x, bool log_y) {
    ChartSpec c;
    c.id = id;
    c.kind = kind;
    c.title = std::move(title);
    c.x = x;
    c.y = y;
    c.series = series;
    c.rows = rows;
    c.is_log_x = log_x;
    c.is_log_y = log_y;
    run.charts.push_back(std::move(c));
  };
  chart("ndr", "bars", {"Loss-free rate per device", "Частота без потерь по устройствам"}, "device",
        "ndr_pps", "", "search.", false, false);
  chart("delay", "bars", {"p99 delay at 100 kpps", "Задержка p99 при 100 kpps"}, "device",
        "latency_p99_us", "", "rates.", false, true);
  chart("bend", "lines", {"Delay by load", "Задержка и нагрузка"}, "offered_pps", "latency_p99_us",
        "device", "search.", true, true);
  chart("surface", "heat", {"Flows × MAC addresses", "Потоки × MAC-адреса"}, "flows",
        "received_pps", "macs", "locality.", false, true);
  chart("time", "timeline", {"The worst trial over time", "Худшее испытание во времени"}, "", "",
        "", "search.", false, false);
  chart("repeats", "box", {"Repeats at 100 kpps", "Повторы при 100 kpps"}, "device",
        "latency_p50_us", "", "rates.", false, true);
  chart("curves", "percentiles",
        {"Delay of all frames at 100 kpps", "Задержка всех кадров при 100 kpps"}, "", "latency_us",
        "device", "rates.", true, true);
  chart("nothing", "lines", {"A chart without data", "График без данных"}, "interval_us", "nothing",
        "", "search.", false, false);
}

}  // namespace

Run sample_run(std::uint64_t seed, double merlon_speed) {
  Run run;
  run.id = fmt::format("s{:04d}", seed);
  run.plan = "compare";
  run.title = {"Bridge, nftables, Open vSwitch and Merlon on one core",
               "Мост, nftables, Open vSwitch и Merlon на одном ядре"};
  run.question = {"How fast does each forward 64-byte frames, and what do rules cost?",
                  "Как быстро каждый пересылает кадры по 64 байта и чего стоят правила?"};
  run.started = 1764500000;
  run.finished = run.started + 512;
  run.budget_s = 600;
  run.seed = seed;
  run.command = "merlon lab run compare --budget 10m";
  fill_environment(run);
  Maker maker(run, seed);
  add_searches(run, maker, merlon_speed);
  add_rates(run, maker, merlon_speed);
  add_sizes(maker);
  add_locality(run, maker);
  add_standards(maker);
  add_missing(maker);
  add_charts(run);
  Finding f;
  f.id = "linear";
  f.claim = {"4,000 linear rules cost nftables 15 to 20 times its rate",
             "4000 линейных правил снижают nftables в 15–20 раз"};
  f.state = "reproduced";
  f.evidence = {"440 kpps without rules, 24 kpps with 4,000: 18.3 times",
                "440 kpps без правил, 24 kpps с 4000: в 18,3 раза"};
  run.findings.push_back(f);
  f.id = "ovs";
  f.claim = {"Open vSwitch loses later than the bridge", "Open vSwitch теряет позже моста"};
  f.state = "differs";
  f.evidence = {
      "the user-space datapath loses from 158 kpps, the bridge from 437 kpps: no kernel datapath "
      "here",
      "путь в пространстве пользователя теряет с 158 kpps, мост — с 437 kpps: пути в ядре здесь "
      "нет"};
  run.findings.push_back(f);
  return run;
}

Run huge_run(std::size_t trials) {
  Run run;
  run.id = "huge";
  run.plan = "huge";
  run.started = 1764500000;
  fill_environment(run);
  Maker maker(run, 7);
  const std::vector<Model> all = models(1);
  for (std::size_t i = 0; i < all.size(); ++i) maker.row(fmt::format("h{}", i), all[i], "search");
  for (std::size_t i = 0; i < trials; ++i) {
    const std::size_t k = i % all.size();
    const Row copy = run.rows[k];
    maker.trial(copy, all[k],
                all[k].capacity_pps * (0.1 + 0.002 * static_cast<double>(i / all.size())), 0.2);
  }
  return run;
}

}  // namespace merlon::lab
