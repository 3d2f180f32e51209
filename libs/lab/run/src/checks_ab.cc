// SPDX-License-Identifier: Apache-2.0
// Checks of the plan `ab`: each reads one pair's outcome and leaves undecided what it left so.
#include <fmt/format.h>

#include "checks.h"

namespace merlon::lab {

namespace {

const PairedOutcome* first_outcome(const Run& run, const char* id) {
  for (const Row* row : rows_of(run, id))
    if (row->id == id && !row->paired.empty()) return &row->paired.front();
  return nullptr;
}

// The state that `decide` gives a decided outcome, "not_available" for any other.
template <class Decide>
void judge_pair(const Run& run, Finding& finding, const char* id, const Decide& decide) {
  const PairedOutcome* outcome = first_outcome(run, id);
  if (outcome == nullptr) return not_available(run, finding, id);
  finding.evidence = outcome->sentence;
  finding.state = outcome->verdict == "undecided" ? "not_available" : decide(*outcome);
}

void equal_is_same(const Run& run, Finding& finding) {
  judge_pair(run, finding, "control.bridge",
             [](const PairedOutcome& o) { return o.verdict == "same" ? "pass" : "fail"; });
}

void linear_costs(const Run& run, Finding& finding) {
  judge_pair(run, finding, "rules.nft", [](const PairedOutcome& o) {
    return o.verdict == "worse" ? "reproduced" : "differs";
  });
}

void set_beats_linear(const Run& run, Finding& finding) {
  judge_pair(run, finding, "set.nft", [](const PairedOutcome& o) {
    return o.verdict == "better" ? "reproduced" : "differs";
  });
}

// Undecided or not, the interval may say enough: how much less it can be at most.
void rules_do_not_slow(const Run& run, Finding& finding) {
  constexpr double kLeast = 0.9;
  const PairedOutcome* outcome = first_outcome(run, "rules.merlon");
  if (outcome == nullptr) return not_available(run, finding, "rules.merlon");
  finding.evidence = outcome->sentence;
  finding.state = outcome->low >= kLeast   ? "pass"
                  : outcome->high < kLeast ? "fail"
                                           : "not_available";
}

// What the ends of the ratio's interval add to the median beside the traffic.
void inline_delay(const Run& run, Finding& finding) {
  constexpr double kMostUs = 100;
  const PairedOutcome* outcome = first_outcome(run, "inline.merlon");
  if (outcome == nullptr) return not_available(run, finding, "inline.merlon");
  const double least = outcome->a * (outcome->low - 1), most = outcome->a * (outcome->high - 1);
  finding.evidence = {
      fmt::format("{:.1f} us beside, {:.1f} us in line: {:.0f} to {:.0f} us more; {}", outcome->a,
                  outcome->b, least, most, outcome->sentence.en),
      fmt::format("{:.1f} мкс рядом, {:.1f} мкс в разрыве: больше на {:.0f}…{:.0f} мкс; {}",
                  outcome->a, outcome->b, least, most, outcome->sentence.ru)};
  finding.state = most <= kMostUs ? "pass" : least > kMostUs ? "fail" : "not_available";
}

}  // namespace

std::vector<Check> ab_checks() {
  return {
      {"ab-equal-is-same",
       {"a device against itself is the same", "устройство против самого себя такое же"},
       equal_is_same},
      {"ab-linear-rules-cost",
       {"4,000 rules in a row slow nftables down", "4000 правил подряд замедляют nftables"},
       linear_costs},
      {"ab-set-beats-linear",
       {"the same rules in a set are faster than in a row",
        "те же правила множеством быстрее, чем подряд"},
       set_beats_linear},
      {"ab-rules-do-not-slow-merlon",
       {"4,000 rules that don't match take no more than a tenth of Merlon's rate",
        "4000 несовпадающих правил отнимают у Merlon не больше десятой доли скорости"},
       rules_do_not_slow},
      {"ab-inline-delay",
       {"Merlon in line adds at most 100 us to the median delay of a hub with Merlon beside it",
        "Merlon в разрыве добавляет не больше 100 мкс к медиане задержки концентратора с Merlon "
        "рядом"},
       inline_delay},
  };
}

}  // namespace merlon::lab
