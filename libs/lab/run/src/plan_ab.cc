// SPDX-License-Identifier: Apache-2.0
// Pairs of devices measured in turn: what a change is worth on this machine, with its interval, and
// what the machine shows between equal things.
#include "plans.h"

namespace merlon::lab {

namespace {

struct Pair {
  const char* id;
  Text title_a, title_b;
  DeviceSpec a, b;
  double rate_pps;  // 0: the highest
};

void add_pair(Plan& plan, const Pair& pair) {
  Row a = row_of(pair.id, pair.title_a, "paired", pair.a);
  a.traffic.flows = 64;
  a.rate_pps = pair.rate_pps;
  a.duration_s = 0.4;
  Row b = other_side(a, pair.title_b, pair.b, a.traffic);
  plan.rows.push_back(std::move(a));
  plan.rows.push_back(std::move(b));
}

}  // namespace

Plan ab_plan() {
  Plan plan;
  plan.name = "ab";
  plan.title = {"Devices in turn, A B B A", "Устройства по очереди, A B B A"};
  plan.question = {
      "Is B better than A, the same or worse, and how far do equal things differ here?",
      "B лучше A, так же или хуже, и насколько здесь различается одинаковое?"};
  plan.budget_s = 240;
  const Text linear{"nftables, 4,000 rules in a row", "nftables, 4000 правил подряд"};
  const Text wire{"Merlon wire, no rules", "Merlon wire, без правил"};
  add_pair(plan, {"rules.nft",
                  {"nftables, no rules", "nftables, без правил"},
                  linear,
                  nftables("linear", 0),
                  nftables("linear", 4000),
                  0});
  add_pair(plan, {"set.nft",
                  linear,
                  {"nftables, 4,000 rules in a set", "nftables, 4000 правил множеством"},
                  nftables("linear", 4000),
                  nftables("set", 4000),
                  0});
  add_pair(plan, {"rules.merlon",
                  wire,
                  {"Merlon wire, 4,000 rules", "Merlon wire, 4000 правил"},
                  merlon_device("wire", 0),
                  merlon_device("wire", 4000),
                  0});
  add_pair(plan, {"inline.merlon",
                  {"Merlon tap beside a hub", "Merlon tap рядом с концентратором"},
                  wire,
                  merlon_device("tap", 0),
                  merlon_device("wire", 0),
                  20'000});
  // Last, with the time that clear rows left: the same is the hardest to tell.
  add_pair(plan, {"control.bridge",
                  {"Linux bridge", "Мост Linux"},
                  {"the same Linux bridge again", "тот же мост Linux ещё раз"},
                  linux_bridge(),
                  linux_bridge(),
                  0});
  plan.checks = {"ab-equal-is-same", "ab-linear-rules-cost", "ab-set-beats-linear",
                 "ab-rules-do-not-slow-merlon", "ab-inline-delay"};
  return plan;
}

}  // namespace merlon::lab
