// SPDX-License-Identifier: Apache-2.0
#pragma once
// Every field of the result format, once: name, place, meaning. A visitor's object() opens a type,
// field() takes its members in order. Names are the format: never change one, add with a new minor
// and field_since().
#include <concepts>
#include <type_traits>

#include "merlon/lab_model/run.h"

namespace merlon::lab {

template <class T, class U>
concept Is = std::same_as<std::remove_const_t<T>, U>;

template <class V, Is<Text> T>
void describe(V& v, T& t) {
  v.object("text", "a text in both report languages");
  v.field("en", t.en, "English");
  v.field("ru", t.ru, "Russian");
}

template <class V, Is<FieldPattern> T>
void describe(V& v, T& t) {
  v.object("field_pattern", "how a header field varies from frame to frame");
  v.field("variation", t.variation,
          "fixed: the first value; cycle: in order; random: drawn by the seed");
  v.field("count", t.count, "distinct values");
}

template <class V, Is<RateStep> T>
void describe(V& v, T& t) {
  v.object("rate_step", "a part of a trial at a rate of its own");
  v.field("factor", t.factor, "of the trial's rate; 0: silence");
  v.field("share", t.share, "of the trial's duration, 0..1");
}

template <class V, Is<TrafficSpec> T>
void describe(V& v, T& t) {
  v.object("traffic", "what is sent");
  v.field("sizes", t.sizes,
          "frame sizes with FCS: 64 | 64,1518 | imix | emix | RFC 6985 genome | size:weight,...");
  v.field("protocol", t.protocol, "udp | tcp | icmp");
  v.field_since(1, "ipv6_share", t.ipv6_share, "share of the flows that are IPv6, 0..1");
  v.field("source_mac", t.source_mac, "source MAC addresses");
  v.field("destination_mac", t.destination_mac, "destination MAC addresses");
  v.field("source_ip", t.source_ip, "source IP addresses");
  v.field("destination_ip", t.destination_ip, "destination IP addresses");
  v.field("source_port", t.source_port, "source ports");
  v.field("destination_port", t.destination_port, "destination ports");
  v.field("vlan", t.vlan, "VLAN ids; count 0: no tag");
  v.field("flows", t.flows, "exact number of 5-tuples when above 1");
  v.field("is_random_flow_order", t.is_random_flow_order, "flows drawn, not in turn");
  v.field("is_bidirectional", t.is_bidirectional, "half of the rate each way");
  v.field("pacing", t.pacing, "when frames leave");
  v.field("burst_frames", t.burst_frames, "frames back to back with pacing burst");
  v.field_since(1, "steps", t.steps, "rates one after the other with pacing steps");
  v.field("capture", t.capture, "capture that is replayed instead; empty: none");
  v.field("drop_share", t.drop_share, "share of frames that the device must drop, 0..1");
  v.field("attack", t.attack, "attack beside the legitimate traffic");
  v.field("attack_pps", t.attack_pps, "its rate, frames/s");
  v.field("attack_sources", t.attack_sources, "its source addresses");
}

template <class V, Is<TrialSpec> T>
void describe(V& v, T& t) {
  v.object("trial_spec", "what was asked of a trial");
  v.field("id", t.id, "unique in the run");
  v.field("row", t.row, "row that it belongs to; empty for calibrations");
  v.field("rate_pps", t.rate_pps, "intended load, frames/s of both directions");
  v.field("duration_s", t.duration_s, "intended duration, seconds");
  v.field("traffic", t.traffic, "what is sent");
  v.field("seed", t.seed, "of everything drawn in it");
  v.field("is_warm_up", t.is_warm_up, "measured, kept, never used");
}

template <class V, Is<FrameCounts> T>
void describe(V& v, T& t) {
  v.object("frames", "measured frames, numbered by the sender");
  v.field("intended", t.intended, "by the schedule");
  v.field("offered", t.offered, "taken by the sending port");
  v.field("received", t.received, "distinct frames that arrived");
  v.field("lost", t.lost, "offered, to be forwarded, never received");
  v.field("duplicated", t.duplicated, "received more than once");
  v.field("reordered", t.reordered, "per flow, RFC 4737 section 3.3");
  v.field("corrupted", t.corrupted, "payload checksum wrong");
  v.field("unexpected", t.unexpected, "received frames that are not the sender's");
  v.field("expected_drops", t.expected_drops, "offered frames that had to be dropped");
  v.field("false_accepts", t.false_accepts, "of those, received all the same");
  v.field("false_denies", t.false_denies, "lost frames that no overload explains");
}

template <class V, Is<ProcessUse> T>
void describe(V& v, T& t) {
  v.object("process_use", "one process or thread over the trial");
  v.field("name", t.name, "process, or process/thread");
  v.field("role", t.role, "tester | device | kernel");
  v.field("user_s", t.user_s, "CPU time in user mode, seconds");
  v.field("system_s", t.system_s, "CPU time in the kernel, seconds");
  v.field("rss_mib", t.rss_mib, "resident memory, MiB");
  v.field("voluntary_switches", t.voluntary_switches, "context switches by waiting");
  v.field("involuntary_switches", t.involuntary_switches, "context switches by the scheduler");
}

template <class V, Is<CoreUse> T>
void describe(V& v, T& t) {
  v.object("core_use", "one core over the trial");
  v.field("core", t.core, "number");
  v.field("busy", t.busy, "share of the trial, 0..1");
  v.field("softirq", t.softirq, "share in soft interrupts, 0..1");
  v.field("steal", t.steal, "share taken by the hypervisor, 0..1");
  v.field("other_s", t.other_s, "CPU seconds of processes that are neither tester nor device");
  v.field("longest_gap_us", t.longest_gap_us,
          "longest time a measuring thread was kept from running, microseconds");
}

template <class V, Is<LayerCounter> T>
void describe(V& v, T& t) {
  v.object("layer_counter", "a counter that moved during the trial");
  v.field("layer", t.layer, "where");
  v.field("counter", t.counter, "name as the layer calls it");
  v.field("delta", t.delta, "difference over the trial");
  v.field("is_loss", t.is_loss, "frames that ended there");
}

template <class V, Is<TrialResult> T>
void describe(V& v, T& t) {
  v.object("trial", "what came out of a trial");
  v.field("spec", t.spec, "what was asked");
  v.field("started", t.started, "Unix time, seconds");
  v.field("sending_s", t.sending_s, "from the first to the last frame, seconds");
  v.field("effective_s", t.effective_s, "the trial with its waits, seconds");
  v.field("frames", t.frames, "counts");
  v.field("offered_pps", t.offered_pps, "frames/s");
  v.field("received_pps", t.received_pps, "frames/s");
  v.field("received_l1_bps", t.received_l1_bps, "bit/s with preamble and gap");
  v.field("loss_ratio", t.loss_ratio, "0..1, as the search sees it");
  v.field("latency_actual", t.latency_actual, "ns, from the send stamp");
  v.field("latency_intended", t.latency_intended, "ns, from the scheduled time");
  v.field("lateness", t.lateness, "ns, send stamp minus scheduled time");
  v.field("timeline_offered", t.timeline_offered, "frames per millisecond of the schedule");
  v.field("timeline_lost", t.timeline_lost, "frames per millisecond of the schedule");
  v.field("processes", t.processes, "CPU and memory by process");
  v.field("cores", t.cores, "load by core");
  v.field("layers", t.layers, "counters that moved");
  v.field("loss_sentence_en", t.loss_sentence_en, "where frames were lost, English");
  v.field("loss_sentence_ru", t.loss_sentence_ru, "where frames were lost, Russian");
  v.field("device_cpu_s", t.device_cpu_s, "CPU seconds of the device");
  v.field("total_cpu_s", t.total_cpu_s, "CPU seconds of device, tester and kernel");
  v.field("packets_per_cpu_s", t.packets_per_cpu_s, "received frames per CPU second");
  v.field("cycles_per_packet", t.cycles_per_packet, "of the device; 0: not known");
  v.field("kpis", t.kpis, "named figures");
  v.field("series", t.series, "named figures, one per second");
  v.field("stamp", t.stamp, "may the trial be believed");
  v.field("stamp_reasons", t.stamp_reasons, "why not");
  v.field("commands", t.commands, "what was run, ready to paste");
}

}  // namespace merlon::lab
