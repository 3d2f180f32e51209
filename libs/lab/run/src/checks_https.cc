// SPDX-License-Identifier: Apache-2.0
// Findings about TLS through firewalls, checked on this run's data.
#include <fmt/format.h>

#include <algorithm>

#include "https.h"

namespace merlon::lab {
namespace {

// The tester must be able to do so much more than a device before a figure is the device's.
constexpr double kHeadroom = 1.25;

// Beyond this share of sustain the tester's thread was never idle, and what failed may be its own.
constexpr double kBusyLimit = 0.95;

bool is_firewall(const Row& row) { return row.device.driver != "null"; }

struct Count {
  double handshakes = 0, failed = 0;
  unsigned left_out = 0;  // trials of a tester without a moment to spare
  std::string places;

  void add(const std::string& row, const Kpis& kpis) {
    const auto value = [&kpis](const char* name) {
      const auto at = kpis.find(name);
      return at == kpis.end() ? 0 : at->second;
    };
    if (value("tester_sustain_busy_ratio") >= kBusyLimit) {
      ++left_out;
      return;
    }
    handshakes += value("handshakes");
    const double lost = value("failed");
    failed += lost;
    if (lost > 0) places += fmt::format("{}{}: {:.0f}", places.empty() ? "; " : ", ", row, lost);
  }
};

// Of searches the best trial counts, since they go on until a rate fails; of rows at a fixed rate
// every trial.
Count count_handshakes(const Run& run) {
  Count sum;
  for (const Row* row : rows_of(run, "https_")) {
    if (!is_firewall(*row)) continue;
    const Suite* suite = find_suite(row->suite);
    if (suite != nullptr && suite->is_search) {
      sum.add(row->id, row->kpis);
      continue;
    }
    for (const TrialResult& trial : run.trials)
      if (trial.spec.row == row->id && trial.kpis.contains("handshakes"))
        sum.add(row->id, trial.kpis);
  }
  return sum;
}

void passes_all(const Run& run, Finding& finding) {
  const Count sum = count_handshakes(run);
  if (sum.handshakes == 0) return not_available(run, finding, "https_");
  finding.state = sum.failed == 0 ? "pass" : "fail";
  finding.evidence = {fmt::format("{:.0f} handshakes, {:.0f} connections failed{}", sum.handshakes,
                                  sum.failed, sum.places),
                      fmt::format("рукопожатий: {:.0f}, неудачных соединений: {:.0f}{}",
                                  sum.handshakes, sum.failed, sum.places)};
  if (sum.left_out == 0) return;
  finding.evidence.en +=
      fmt::format(". Left out: {}, where the tester itself had no time left", sum.left_out);
  finding.evidence.ru +=
      fmt::format(". Не учтено: {}, где времени не осталось у самого тестера", sum.left_out);
}

// What the device adds to a connection with a handshake, beside what the handshake is to its ends.
void costs_less(const Run& run, Finding& finding) {
  const auto merlon = kpi_of(run, "https_cost.merlon.tls13", "cycles_per_connection");
  const auto ends = kpi_of(run, "https_cost.cable.tls13", "tester_tls_cycles_per_handshake");
  if (!merlon) return not_available(run, finding, "https_cost.merlon");
  if (!ends) return not_available(run, finding, "https_cost.cable");
  finding.state = *merlon < *ends ? "pass" : "fail";
  const auto nft = kpi_of(run, "https_cost.nft-ct.tls13", "cycles_per_connection");
  const std::string peer = nft ? fmt::format(", nftables {}", si(*nft)) : "";
  finding.evidence = {
      fmt::format("beside the cable Merlon adds {} cycles a handshake{}; TLS of both ends takes {}",
                  si(*merlon), peer, si(*ends)),
      fmt::format("сверх кабеля Merlon добавляет {} тактов на рукопожатие{}; TLS обоих концов "
                  "занимает {}",
                  si(*merlon), peer, si(*ends))};
  const auto with = kpi_of(run, "https_latency.merlon.tls13", "tls_handshake_p50_ms");
  const auto without = kpi_of(run, "https_latency.cable.tls13", "tls_handshake_p50_ms");
  if (!with || !without) return;
  finding.evidence.en +=
      fmt::format(". Handshakes take {:.2f} ms instead of {:.2f}", *with, *without);
  finding.evidence.ru +=
      fmt::format(". Рукопожатие длится {:.2f} мс вместо {:.2f}", *with, *without);
}

void tester_can_do_more(const Run& run, Finding& finding) {
  std::string en, ru;
  bool is_device = true, has_any = false;
  for (const char* kind : {"tls13-1k", "tls12-1k"}) {
    const auto cable = kpi_of(run, fmt::format("https_rate.cable.{}", kind), "max_cps");
    if (!cable || *cable <= 0) continue;
    // Where nothing failed, nobody's limit was met.
    for (const char* device : {"merlon", "nft-ct"}) {
      const std::string id = fmt::format("https_rate.{}.{}", device, kind);
      const auto rate = kpi_of(run, id, "max_cps");
      if (!rate || kpi_of(run, id, "higher_rate_failed").value_or(0) == 0) continue;
      has_any = true;
      is_device &= *cable >= kHeadroom * *rate;
      const std::string_view between = en.empty() ? "" : "; ";
      en += fmt::format("{}{} {}: {} of {} a second on the cable", between, device, kind, si(*rate),
                        si(*cable));
      ru += fmt::format("{}{} {}: {} из {} в секунду на кабеле", between, device, kind, si(*rate),
                        si(*cable));
    }
  }
  if (!has_any) return not_available(run, finding, "https_rate.");
  finding.state = is_device ? "pass" : "differs";
  finding.evidence = {en, ru};
  if (is_device) return;
  finding.evidence.en +=
      ". Here TLS of the tester's own two ends is the limit, the devices may do more";
  finding.evidence.ru += ". Здесь предел — TLS двух концов самого тестера, устройства могут больше";
}

}  // namespace

std::vector<Check> https_checks() {
  return {
      {"https-passes-all",
       {"TLS through a firewall: every connection shakes hands and comes to a good end",
        "TLS через экран: каждое соединение проходит рукопожатие и завершается как должно"},
       passes_all},
      {"https-costs-less-than-its-ends",
       {"a firewall that passes TLS costs less than the TLS of its two ends",
        "экран, пропускающий TLS, стоит дешевле, чем TLS двух концов"},
       costs_less},
      {"https-tester-can-do-more",
       {"the tester's own TLS is not the limit of the rates",
        "частоты ограничены не собственным TLS тестера"},
       tester_can_do_more},
  };
}

}  // namespace merlon::lab
