// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fields of rows, findings, the machine and the run; see fields_trial.h.
#include "fields_trial.h"
#include "merlon/lab_model/run.h"

namespace merlon::lab {

template <class V, Is<DeviceSpec> T>
void describe(V& v, T& t) {
  v.object("device", "device under test of a row");
  v.field("driver", t.driver,
          "null | bridge | nftables | ovs | ovs-dpdk | testpmd | merlon | external");
  v.field("mode", t.mode, "the driver's own");
  v.field("topology", t.topology, "how it is wired");
  v.field("place", t.place, "host | namespace | vm");
  v.field("rules", t.rules, "non-matching rules before the matching one");
  v.field("options", t.options, "the driver's own");
}

template <class V, Is<Goal> T>
void describe(V& v, T& t) {
  v.object("goal", "a search's goal, MLRsearch draft -15 section 4");
  v.field("name", t.name, "preset or the plan's own");
  v.field("loss_ratio", t.loss_ratio, "limit of a low-loss trial, 0..1");
  v.field("exceed_ratio", t.exceed_ratio, "share of high-loss durations that is tolerated, 0..1");
  v.field("final_duration_s", t.final_duration_s, "duration of full-length trials, seconds");
  v.field("duration_sum_s", t.duration_sum_s, "summed durations that decide a load, seconds");
  v.field("initial_duration_s", t.initial_duration_s, "duration of first trials, seconds");
  v.field("width", t.width, "relative width of the final interval");
}

template <class V, Is<GoalResult> T>
void describe(V& v, T& t) {
  v.object("goal_result", "outcome of a search for one goal");
  v.field("goal", t.goal, "the goal");
  v.field("lower_pps", t.lower_pps, "relevant lower bound, frames/s; 0: none");
  v.field("upper_pps", t.upper_pps, "relevant upper bound, frames/s; 0: none");
  v.field("conditional_pps", t.conditional_pps, "conditional throughput, frames/s");
  v.field("is_regular", t.is_regular, "both bounds known, within the width");
  v.field("why", t.why, "why the search ended");
  v.field("trials", t.trials, "ids, in order");
}

template <class V, Is<PairedTrials> T>
void describe(V& v, T& t) {
  v.object("paired_trials", "two trials that were measured next to each other");
  v.field("a", t.a, "id of side A's");
  v.field("b", t.b, "id of side B's");
  v.field("ratio", t.ratio, "B / A");
}

template <class V, Is<PairedOutcome> T>
void describe(V& v, T& t) {
  v.object("paired_outcome", "one figure of two devices that were measured in turn, A B B A");
  v.field("figure", t.figure, "name of the compared figure");
  v.field("is_higher_better", t.is_higher_better, "what the verdict rests on");
  v.field("a", t.a, "median of side A over the pairs that count");
  v.field("b", t.b, "median of side B over the pairs that count");
  v.field("ratio", t.ratio, "B / A, median of the pairs' ratios");
  v.field("low", t.low, "lower end of the ratio's 95 % interval");
  v.field("high", t.high, "upper end");
  v.field("noise", t.noise, "ratios of equal things lie within 1 - noise .. 1 + noise");
  v.field("limit", t.limit, "the larger of noise and of what matters");
  v.field("pair_count", t.pair_count, "pairs that count");
  v.field("same_pair_count", t.same_pair_count, "neighbours of one side");
  v.field("dropped_count", t.dropped_count,
          "pairs left out: a side was contaminated, or had no figure above 0");
  v.field("verdict", t.verdict, "better | worse | same | undecided: B against A");
  v.field("sentence", t.sentence, "the verdict with its figures");
  v.field("ended", t.ended, "why no more pairs were measured");
  v.field("pairs", t.pairs, "that count, in order of time");
}

template <class V, Is<Row> T>
void describe(V& v, T& t) {
  v.object("row", "one experiment of the plan");
  v.field("id", t.id, "unique in the run");
  v.field("parent", t.parent,
          "row that led to this one, or whose side B it is; empty: from the plan");
  v.field("reason", t.reason, "why it was added");
  v.field("title", t.title, "shown name");
  v.field("suite", t.suite, "search | rates | rfc2544.latency | ...");
  v.field("device", t.device, "device under test");
  v.field("traffic", t.traffic, "what is sent");
  v.field("rate_pps", t.rate_pps, "of a fixed-rate row, frames/s");
  v.field("duration_s", t.duration_s, "of a fixed-rate trial, seconds");
  v.field("repeats", t.repeats, "trials of a fixed-rate row");
  v.field("goals", t.goals, "of a search");
  v.field("parameters", t.parameters, "of the suite; also chart axes");
  v.field("state", t.state, "where it stands");
  v.field("state_reason", t.state_reason, "why skipped, failed or unavailable");
  v.field("results", t.results, "of the goals");
  v.field("kpis", t.kpis, "medians over the clean trials");
  v.field("spreads", t.spreads, "(max - min) / median of the same");
  v.field("load_s", t.load_s, "time to load the rules, seconds");
  v.field("commands", t.commands, "that set the device up");
  v.field("chain", t.chain, "boxes and links from generator to sink, as drawn");
  v.field("device_config", t.device_config, "dump of the device's configuration");
  v.field_since(1, "against", t.against, "id of the row that is side B; empty: not paired");
  v.field_since(1, "compared", t.compared, "figures of a paired row; the first decides its end");
  v.field_since(1, "paired", t.paired, "outcome of each compared figure");
}

template <class V, Is<ChartSpec> T>
void describe(V& v, T& t) {
  v.object("chart", "a chart that the plan asks for");
  v.field("id", t.id, "unique in the run");
  v.field("kind", t.kind, "bars | lines | heat | timeline | percentiles | box");
  v.field("title", t.title, "title");
  v.field("x_title", t.x_title, "title of the x axis");
  v.field("y_title", t.y_title, "title of the y axis");
  v.field("x", t.x, "row parameter or trial value");
  v.field("y", t.y, "row KPI or trial value");
  v.field("series", t.series, "what divides lines");
  v.field("rows", t.rows, "prefix of row ids; empty: all");
  v.field("is_log_x", t.is_log_x, "logarithmic x axis");
  v.field("is_log_y", t.is_log_y, "logarithmic y axis");
}

template <class V, Is<Finding> T>
void describe(V& v, T& t) {
  v.object("finding", "a statement about the outcome");
  v.field("id", t.id, "unique in the run");
  v.field("claim", t.claim, "what the source says");
  v.field("state", t.state, "reproduced | differs | pass | fail | disturbed | not_available");
  v.field("evidence", t.evidence, "figures");
}

template <class V, Is<Environment> T>
void describe(V& v, T& t) {
  v.object("environment", "the machine");
  v.field("machine", t.machine, "name");
  v.field("cpu", t.cpu, "model");
  v.field("kernel", t.kernel, "release");
  v.field("distribution", t.distribution, "name and version");
  v.field("clock_source", t.clock_source, "of the kernel");
  v.field("virtualization", t.virtualization, "hypervisor; empty: none seen");
  v.field("cores", t.cores, "logical cores");
  v.field("memory_mib", t.memory_mib, "MiB");
  v.field("tsc_hz", t.tsc_hz, "frequency of the time stamp counter");
  v.field("versions", t.versions, "of tools and devices");
  v.field("mitigations", t.mitigations, "of CPU vulnerabilities");
  v.field("pinning", t.pinning, "core of each thread");
  v.field("noise_grade", t.noise_grade, "A | B | C | D, from the calibration");
  v.field("noise_ratio", t.noise_ratio, "spread of equal trials");
}

template <class V, Is<Calibration> T>
void describe(V& v, T& t) {
  v.object("calibration", "the tester on a null path");
  v.field("when", t.when, "before | after");
  v.field("ceiling_pps", t.ceiling_pps, "most that the tester offers and receives, frames/s");
  v.field("latency_p50_ns", t.latency_p50_ns, "ns");
  v.field("latency_p99_ns", t.latency_p99_ns, "ns");
  v.field("cpu_s_per_packet", t.cpu_s_per_packet, "CPU seconds");
  v.field("trial", t.trial, "id of its trial");
}

template <class V, Is<Run> T>
void describe(V& v, T& t) {
  v.object("run", "a run of the laboratory");
  v.field("id", t.id, "of the run");
  v.field("plan", t.plan, "name of the plan");
  v.field("title", t.title, "shown name");
  v.field("question", t.question, "what the plan asks");
  v.field("started", t.started, "Unix time, seconds");
  v.field("finished", t.finished, "Unix time, seconds; 0: not finished");
  v.field("budget_s", t.budget_s, "time budget, seconds; 0: none");
  v.field("seed", t.seed, "of everything drawn");
  v.field("is_partial", t.is_partial, "some rows did not run");
  v.field("partial_reason", t.partial_reason, "why");
  v.field("command", t.command, "that started it");
  v.field("environment", t.environment, "the machine");
  v.field("calibrations", t.calibrations, "of the tester");
  v.field("rows", t.rows, "experiments");
  v.field("trials", t.trials, "all of them");
  v.field("charts", t.charts, "that the plan asks for");
  v.field("findings", t.findings, "statements about the outcome");
}

}  // namespace merlon::lab
