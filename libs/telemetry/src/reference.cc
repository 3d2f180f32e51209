// SPDX-License-Identifier: Apache-2.0
#include "merlon/telemetry/reference.h"

#include "merlon/base/drop_reason.h"
#include "merlon/telemetry/metric_families.h"

namespace merlon::telemetry {
namespace {

constexpr std::string_view kMade =
    "<!-- Made by merlon-docgen from the program's own tables; do not edit. -->\n\n";

std::string_view type_word(MetricType type) {
  switch (type) {
    case MetricType::kCounter:
      return "counter";
    case MetricType::kGauge:
      return "gauge";
    case MetricType::kHistogram:
      return "histogram";
  }
  return "gauge";
}

std::string code(std::string_view text) {
  std::string s(1, '`');
  s.append(text).push_back('`');
  return s;
}

std::string sentence(std::string_view text) {
  std::string s(text);
  if (!s.empty() && s.front() >= 'a' && s.front() <= 'z')
    s.front() = static_cast<char>(s.front() - 'a' + 'A');
  if (!s.empty() && s.back() != '.') s.push_back('.');
  return s;
}

// Values in a table cell; long lists are told in words where the page has them elsewhere.
std::string value_list(const EveField& f) {
  if (f.values.empty()) return {};
  if (f.values.size() > 200) return " One of the names in [drops.md](drops.md).";
  std::string s = " One of `";
  for (const char c : f.values) s.append(c == ' ' ? "`, `" : std::string(1, c));
  return s + "`.";
}

}  // namespace

std::string drops_reference() {
  std::string s = "# Drop reasons\n\n";
  s.append(kMade);
  s.append(
      "A packet that does not leave has one of these reasons. The name is the same in `drop` "
      "events, in "
      "`merlon show drops`,\nin `merlon_drops_total{reason}` and in `explain`. On tap ports the "
      "same names say what "
      "an inline device would have\ndone.\n\n| name | meaning |\n| --- | --- |\n");
  for (unsigned i = 1; i < base::kDropReasonCount; ++i) {
    const auto reason = static_cast<base::DropReason>(i);
    s.append("| ").append(code(base::drop_reason_name(reason))).append(" | ");
    s.append(sentence(base::drop_reason_sentence(reason))).append(" |\n");
  }
  return s;
}

std::string metrics_reference() {
  std::string s = "# Metrics\n\n";
  s.append(kMade);
  s.append(
      "`GET /metrics` of the API, Prometheus text format 0.0.4, or OpenMetrics 1.0 when the "
      "`Accept` header asks for "
      "it.\nLabels have few values: addresses are never labels.\n\n"
      "| name | type | unit | labels | meaning |\n| --- | --- | --- | --- | --- |\n");
  for (const MetricFamily* f : metric_families()) {
    std::string labels;
    for (const char c : f->labels) labels.append(c == ',' ? ", " : std::string(1, c));
    s.append("| ").append(code(f->name)).append(" | ").append(type_word(f->type)).append(" | ");
    s.append(f->unit).append(" | ").append(labels).append(" | ").append(f->help).append(" |\n");
  }
  return s;
}

std::string events_reference() {
  std::string s = "# Events\n\n";
  s.append(kMade);
  s.append(
      "One JSON object per line, EVE field names. [eve.schema.json](eve.schema.json) is the same "
      "list for machines: "
      "no event has\na field that is not in it. A field that does not apply is absent, never "
      "null.\n\n"
      "| event_type | when |\n| --- | --- |\n"
      "| `policy` | A session got its verdict: rules with `log: start` or `both`, and denied "
      "sessions that are logged. |\n"
      "| `flow` | A session ended: rules with `log: end` or `both`. |\n"
      "| `drop` | A packet was dropped; rate limited per worker, what was left out is counted. |\n"
      "| `stats` | At intervals: counters, sessions, losses. |\n"
      "| `config` | A commit, confirmation, rollback or refusal. |\n\n"
      "Fields marked with * are always there in the events named.\n\n"
      "| field | type | in | meaning |\n| --- | --- | --- | --- |\n");
  for (const EveField& f : eve_fields()) {
    const std::string_view events = f.events == "*" ? "all" : f.events;
    std::string in;
    for (const char c : events) in.append(c == ' ' ? ", " : std::string(1, c));
    s.append("| ")
        .append(code(f.path))
        .append(f.is_required ? " *" : "")
        .append(" | ")
        .append(f.type);
    s.append(" | ")
        .append(in)
        .append(" | ")
        .append(sentence(f.help))
        .append(value_list(f))
        .append(" |\n");
  }
  return s;
}

}  // namespace merlon::telemetry
