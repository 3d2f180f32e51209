// SPDX-License-Identifier: Apache-2.0
#include "https.h"
#include "suites.h"

namespace merlon::lab {
namespace {

double search_need(const Row& row) { return parameter(row, "search_s"); }
double fixed_need(const Row& row) {
  return std::max(1U, row.repeats) * (row.duration_s + 2 * parameter(row, "ramp_s") + 1.5);
}
// The qualifying trial of section 7's first step comes before.
double latency_need(const Row& row) { return fixed_need(row) + fixed_need(row) / row.repeats; }

Suite make_suite(const char* name, Text what, const char* section, double (*need)(const Row&)) {
  return {.name = name,
          .what = std::move(what),
          .standard = section,
          .run = run_rfc9411,
          .parameters = {{"object_kib", 1},
                         {"transactions", 1},
                         {"ramp_s", 0.5},
                         {"clients", 64},
                         {"servers", 4},
                         {"search_s", 20},
                         {"width", 0.1},
                         {"limit_cps", 20'000},
                         {"cps", 200},
                         {"concurrent", 500},
                         {"effectiveness_pps", 0},
                         {"tls", 13},
                         {"tls_key", 256},
                         {"tls_cipher", 128},
                         {"tls_reuse", 0}},
          .need_s = need,
          .is_search = need == search_need};
}

}  // namespace

base::Result<TlsSpec> tls_of(const Row& row) {
  const auto number = [&row](const char* name, unsigned otherwise) {
    const double value = parameter(row, name);
    return value > 0 ? static_cast<unsigned>(value) : otherwise;
  };
  auto tls = make_tls_spec(number("tls", 0), number("tls_key", 256), number("tls_cipher", 128));
  if (!tls) return tls.error();
  tls->reuses_sessions = parameter(row, "tls_reuse") != 0;
  return tls;
}

std::vector<Suite> https_suites() {
  return {
      make_suite("rfc9411.https_rate",
                 {"TLS handshakes per second with HTTPS", "рукопожатий TLS в секунду с HTTPS"},
                 "RFC 9411 7.6", search_need),
      make_suite("rfc9411.https_throughput", {"HTTPS throughput", "пропускная способность HTTPS"},
                 "RFC 9411 7.7", search_need),
      make_suite("rfc9411.https_latency",
                 {"HTTPS transaction latency", "задержка транзакций HTTPS"}, "RFC 9411 7.8",
                 latency_need),
      make_suite("rfc9411.https_concurrent",
                 {"concurrent TLS connections", "одновременные соединения TLS"}, "RFC 9411 7.9",
                 fixed_need),
  };
}

}  // namespace merlon::lab
