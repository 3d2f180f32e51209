// SPDX-License-Identifier: Apache-2.0
// The data behind the points, compact: one list of strings, numbers elsewhere. Read by
// assets/report.js only.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "html.h"
#include "sections.h"
#include "words.h"

namespace merlon::lab::report {
namespace {

constexpr std::size_t kTimelineBuckets = 60;

// Each text once; commands and layers repeat in every trial.
class Strings {
 public:
  std::size_t add(const std::string& text) {
    const auto [found, is_new] = index_.try_emplace(text, list_.size());
    if (is_new) list_.push_back(&found->first);
    return found->second;
  }
  void append_json(std::string& out) const {
    out.push_back('[');
    for (std::size_t i = 0; i < list_.size(); ++i) {
      if (i != 0) out.push_back(',');
      append_json_string(*list_[i], out);
    }
    out.push_back(']');
  }

 private:
  std::unordered_map<std::string, std::size_t> index_;
  std::vector<const std::string*> list_;
};

void append_number(double value, std::string& out) {
  if (!std::isfinite(value))
    out.append("null");
  else
    out += fmt::format("{:.7g}", value);
}

template <class List, class Each>
void append_list(std::string_view name, const List& list, std::string& out, Each&& each) {
  if (list.empty()) return;
  out.append(",\"").append(name).append("\":[");
  bool is_first = true;
  for (const auto& item : list) {
    if (!is_first) out.push_back(',');
    is_first = false;
    each(item);
  }
  out.push_back(']');
}

class Details {
 public:
  explicit Details(const RunIndex& index) : index_(index) {}

  std::string make() {
    std::string rows, trials;
    for (const Row& row : index_.run().rows)
      if (index_.row(row.id) == &row) append_row(row, rows);
    for (const TrialResult& t : index_.run().trials)
      if (index_.trial(t.spec.id) == &t) append_trial(t, trials);
    std::string out = "{\"strings\":";
    strings_.append_json(out);
    out.append(",\n\"rows\":{").append(rows).append("},\n\"trials\":{").append(trials).append("}}");
    return out;
  }

 private:
  void text(const Text& t, std::string& out) {
    out += fmt::format("[{},{}]", strings_.add(t.en), strings_.add(t.ru.empty() ? t.en : t.ru));
  }

  void append_key(const std::string& key, std::string& all) {
    if (!all.empty()) all.append(",\n");
    append_json_string(key, all);
    all.push_back(':');
  }

  void append_row(const Row& row, std::string& all) {
    append_key(row.id, all);
    all.append("{\"title\":");
    text(title_of(row), all);
    text(index_.device_name(row), all.append(",\"device\":"));
    text(traffic_label(row.traffic), all.append(",\"traffic\":"));
    all += fmt::format(",\"suite\":{},\"state\":\"{}\"", strings_.add(row.suite),
                       state_name(row.state));
    if (!row.reason.en.empty()) text(row.reason, all.append(",\"reason\":"));
    if (!row.state_reason.en.empty()) text(told(row.state_reason), all.append(",\"why\":"));
    const auto word = [&](const std::string& s) { all.append(std::to_string(strings_.add(s))); };
    append_list("commands", row.commands, all, word);
    append_list("results", row.results, all, [&](const GoalResult& r) {
      all += fmt::format("[{},", strings_.add(r.goal.name));
      for (const double v : {goal_value(r), r.lower_pps, r.upper_pps}) {
        append_number(v, all);
        all.push_back(',');
      }
      all += fmt::format("{},", r.is_regular ? 1 : 0);
      text(sentence(r.why), all);
      all.push_back(']');
    });
    append_list("paired", row.paired, all, [&](const PairedOutcome& o) { text(o.sentence, all); });
    append_kpis(row.kpis, all);
    append_list("trials", index_.trials(row.id), all,
                [&](const TrialResult* t) { append_json_string(t->spec.id, all); });
    all.push_back('}');
  }

  void append_kpis(const std::map<std::string, double>& kpis, std::string& all) {
    append_list("kpis", kpis, all, [&](const auto& k) {
      const ValueInfo info = value_info(k.first);
      all.push_back('[');
      text(info.title, all);
      all += fmt::format(",{}]", strings_.add(quantity(k.second, info.unit)));
    });
  }

  // [offered, lost] per bucket; told for trials with losses only: the others have nothing to
  // locate.
  void append_timeline(const TrialResult& t, std::string& all) {
    const std::size_t size = std::min(t.timeline_offered.size(), t.timeline_lost.size());
    if (size == 0 || t.frames.lost == 0) return;
    const std::size_t step = (size + kTimelineBuckets - 1) / kTimelineBuckets;
    all += fmt::format(",\"step_ms\":{},\"timeline\":[", step);
    for (std::size_t i = 0; i < size; i += step) {
      std::uint64_t offered = 0, lost = 0;
      for (std::size_t k = i; k < std::min(i + step, size); ++k) {
        offered += t.timeline_offered[k];
        lost += t.timeline_lost[k];
      }
      all += fmt::format("{}[{},{}]", i == 0 ? "" : ",", offered, lost);
    }
    all.push_back(']');
  }

  void append_latency(std::string_view name, const Histogram& h, std::string& all) {
    if (h.count() == 0) return;
    all += fmt::format(",\"{}\":[{},{},{},{},{},{},{}]", name, h.count(), h.minimum(),
                       h.percentile(0.5), h.percentile(0.99), h.percentile(0.999),
                       h.percentile(0.9999), h.maximum());
  }

  void append_trial(const TrialResult& t, std::string& all) {
    append_key(t.spec.id, all);
    const FrameCounts& f = t.frames;
    all.append("{\"row\":");
    append_json_string(t.spec.row, all);
    all += fmt::format(",\"stamp\":{},\"warm\":{},\"rates\":[", static_cast<int>(t.stamp),
                       t.spec.is_warm_up ? 1 : 0);
    for (const double v :
         {t.spec.rate_pps, t.offered_pps, t.received_pps, t.loss_ratio, t.spec.duration_s}) {
      append_number(v, all);
      all.push_back(',');
    }
    append_number(t.started, all);
    all += fmt::format("],\"frames\":[{},{},{},{},{},{},{},{},{},{},{}]", f.intended, f.offered,
                       f.received, f.lost, f.duplicated, f.reordered, f.corrupted, f.unexpected,
                       f.expected_drops, f.false_accepts, f.false_denies);
    if (!t.loss_sentence_en.empty())
      text({t.loss_sentence_en, t.loss_sentence_ru}, all.append(",\"loss\":"));
    append_latency("latency", t.latency_actual, all);
    append_latency("scheduled", t.latency_intended, all);
    append_latency("lateness", t.lateness, all);
    append_timeline(t, all);
    append_use(t, all);
    const auto word = [&](const std::string& s) { all.append(std::to_string(strings_.add(s))); };
    append_list("reasons", t.stamp_reasons, all,
                [&](const std::string& reason) { text(sentence(reason), all); });
    append_list("commands", t.commands, all, word);
    append_kpis(t.kpis, all);
    all.push_back('}');
  }

  void append_use(const TrialResult& t, std::string& all) {
    append_list("layers", t.layers, all, [&](const LayerCounter& c) {
      all += fmt::format("[{},{},{},{}]", strings_.add(c.layer), strings_.add(c.counter), c.delta,
                         c.is_loss ? 1 : 0);
    });
    append_list("processes", t.processes, all, [&](const ProcessUse& p) {
      all += fmt::format("[{},", strings_.add(p.name));
      text(word_title(p.role), all);
      all.push_back(',');
      for (const double v : {p.user_s, p.system_s, p.rss_mib}) {
        append_number(v, all);
        all.push_back(',');
      }
      all += fmt::format("{},{}]", p.voluntary_switches, p.involuntary_switches);
    });
    append_list("cores", t.cores, all, [&](const CoreUse& c) {
      all += fmt::format("[{}", c.core);
      for (const double v : {c.busy, c.softirq, c.steal, c.other_s, c.longest_gap_us}) {
        all.push_back(',');
        append_number(v, all);
      }
      all.push_back(']');
    });
  }

  const RunIndex& index_;
  Strings strings_;
};

}  // namespace

std::string detail_json(const RunIndex& index) { return Details(index).make(); }

}  // namespace merlon::lab::report
