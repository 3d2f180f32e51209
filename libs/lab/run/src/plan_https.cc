// SPDX-License-Identifier: Apache-2.0
// The HTTPS rows of plan rfc9411: the same phases and limits as its HTTP rows, the cable beside the
// devices, since two ends of TLS on this machine may be the limit themselves.
#include <fmt/format.h>

#include "https.h"
#include "plans.h"

namespace merlon::lab {
namespace {

struct Way {
  const char* id;
  Text title;
  DeviceSpec device;
  bool is_cable = false;
};

// One of the combinations that section 4.3.1.3 recommends.
struct Kind {
  const char* id;
  const char* title;
  double version, key;
};
constexpr Kind kTls13{"tls13", "TLS 1.3, P-256", 13, 256};
constexpr Kind kTls12{"tls12", "TLS 1.2, RSA 2048", 12, 2048};

class Rows {
 public:
  Rows(Plan& plan, const Way& way) : plan_(plan), way_(way) {}

  Row& add(const std::string& what, const std::string& part, const Kind& kind, const Text& title,
           const std::string& suite, std::map<std::string, double> parameters) {
    Row row = row_of(fmt::format("{}.{}.{}{}", what, way_.id, kind.id, part),
                     {fmt::format("{}, {}, {}", way_.title.en, title.en, kind.title),
                      fmt::format("{}, {}, {}", way_.title.ru, title.ru, kind.title)},
                     suite, way_.device);
    row.traffic.flows = 64;
    row.traffic.protocol = "tcp";
    row.duration_s = 2;
    row.repeats = 1;
    row.parameters = std::move(parameters);
    row.parameters["tls"] = kind.version;
    row.parameters["tls_key"] = kind.key;
    if (!way_.is_cable) {
      row.parameters["rules"] = way_.device.rules;
      row.parameters["stateful"] = 1;
      row.parameters["drop_rule"] = 1;
    }
    plan_.rows.push_back(std::move(row));
    return plan_.rows.back();
  }

  void add_rate(const Kind& kind, double kib) {
    add("https_rate", fmt::format("-{:g}k", kib), kind,
        {fmt::format("handshakes, {:g} KiB objects", kib),
         fmt::format("рукопожатия, объекты {:g} КиБ", kib)},
        "rfc9411.https_rate", {{"object_kib", kib}, {"cps", 150}, {"search_s", 20}});
  }

 private:
  Plan& plan_;
  const Way& way_;
};

void add_rows(Plan& plan, const Way& way) {
  Rows rows(plan, way);
  rows.add_rate(kTls13, 1);
  rows.add_rate(kTls12, 1);
  rows.add("https_latency", "", kTls13,
           {"transaction latency, 16 KiB", "задержка транзакций, 16 КиБ"}, "rfc9411.https_latency",
           {{"object_kib", 16}, {"cps", 100}});
  Row& cost = rows.add("https_cost", "", kTls13,
                       {"what one more handshake costs", "цена ещё одного рукопожатия"},
                       "connection_cost", {{"object_kib", 0}, {"cps", 200}});
  cost.repeats = 2;
  if (way.is_cable) return;
  rows.add("https_throughput", "-64k", kTls13,
           {"HTTPS throughput, 64 KiB", "пропускная способность HTTPS, 64 КиБ"},
           "rfc9411.https_throughput",
           {{"object_kib", 64}, {"transactions", 10}, {"cps", 50}, {"search_s", 20}});
  rows.add("https_concurrent", "", kTls13,
           {"concurrent TLS connections", "одновременные соединения TLS"},
           "rfc9411.https_concurrent", {{"object_kib", 1}, {"concurrent", 1000}, {"ramp_s", 4}});
}

}  // namespace

void add_https_rows(Plan& plan) {
  add_rows(plan, {"cable", {"Cable", "Кабель"}, cable(), true});
  add_rows(plan, {"merlon", {"Merlon wire", "Merlon wire"}, merlon_device("wire", 100)});
  add_rows(plan, {"nft-ct",
                  {"nftables, connection tracking", "nftables, отслеживание соединений"},
                  nftables("routed-ct", 100)});
  plan.charts.push_back(chart("https-rate", "bars",
                              {"TLS handshakes per second", "Рукопожатий TLS в секунду"}, "row",
                              "max_cps", "device", "https_rate."));
  plan.charts.push_back(chart("https-throughput", "bars",
                              {"HTTPS goodput", "Полезная скорость HTTPS"}, "row", "goodput_bps",
                              "device", "https_throughput."));
  for (const char* name :
       {"https-passes-all", "https-costs-less-than-its-ends", "https-tester-can-do-more"})
    plan.checks.emplace_back(name);
}

}  // namespace merlon::lab
