// SPDX-License-Identifier: Apache-2.0
// What the tester says of a device whose faults are known exactly. Simulated time: the same on
// every machine.
#include <gtest/gtest.h>
#include <unistd.h>

#include "impair.h"
#include "merlon/io/pcap_file.h"
#include "merlon/lab_traffic/recovery.h"

namespace merlon::lab {
namespace {

using test::Impairment;
using test::Simulation;

TrialSpec spec_of(double rate, double seconds) {
  TrialSpec t;
  t.rate_pps = rate;
  t.duration_s = seconds;
  return t;
}

TrialResult run(Simulation& s, const TrialSpec& spec, const TesterSettings& settings = {}) {
  auto r = s.run(spec, settings);
  EXPECT_TRUE(r.ok()) << (r.ok() ? "" : r.error().message);
  const FrameCounts& f = r->frames;
  EXPECT_EQ(f.offered - f.expected_drops, f.received - f.false_accepts + f.lost);
  return std::move(*r);
}

// Within 10 us + 5 %.
void expect_delay(std::int64_t measured, base::Nanos real) {
  EXPECT_NEAR(static_cast<double>(measured), static_cast<double>(real),
              10'000 + 0.05 * static_cast<double>(real));
}

TEST(Accuracy, PerfectPath) {
  Simulation s;
  TrialSpec spec = spec_of(100'000, 1);
  spec.traffic.flows = 1000;
  spec.traffic.is_random_flow_order = true;
  spec.traffic.sizes = "imix";
  const TrialResult r = run(s, spec);
  EXPECT_EQ(r.frames.intended, 100'000u);
  EXPECT_EQ(r.frames.received, 100'000u);
  EXPECT_EQ(r.loss_ratio, 0.0);
  EXPECT_EQ(r.stamp, Stamp::kClean);
  EXPECT_NEAR(r.offered_pps, 100'000, 100);
  EXPECT_NEAR(r.received_pps, 100'000, 100);
  EXPECT_NEAR(r.sending_s, 1, 0.001);
  // (353.83 + 20) bytes a frame on the first layer.
  EXPECT_NEAR(r.received_l1_bps, 100'000 * (353.83 + 20) * 8, 1e5);
  EXPECT_LE(r.latency_actual.maximum(), 10'000);
}

TEST(Accuracy, LossIsCountedFrameByFrame) {
  Impairment how;
  how.lose_every = 97;
  Simulation every(how);
  TrialSpec spec = spec_of(200'000, 1);
  spec.traffic.flows = 64;
  TrialResult r = run(every, spec);
  EXPECT_EQ(r.frames.lost, 200'000u / 97);
  EXPECT_EQ(r.frames.lost, every.did().lost);
  EXPECT_NEAR(r.loss_ratio, 1.0 / 97, 0.01 / 97);

  for (const double share : {0.0005, 0.01, 0.3}) {
    how = {};
    how.lose_share = share;
    Simulation random(how);
    r = run(random, spec);
    EXPECT_EQ(r.frames.lost, random.did().lost);
    const double real = static_cast<double>(random.did().lost) / 200'000;
    EXPECT_NEAR(r.loss_ratio, real, 0.01 * real);
    std::uint64_t in_time = 0;
    for (const std::uint32_t lost : r.timeline_lost) in_time += lost;
    EXPECT_EQ(in_time, r.frames.lost);
  }
}

TEST(Accuracy, FixedDelay) {
  for (const base::Nanos delay : {0, 3'000, 100'000, 5'000'000, 200'000'000}) {
    Impairment how;
    how.delay = delay;
    Simulation s(how);
    const TrialResult r = run(s, spec_of(2'000, 1));
    for (const double share : {0.01, 0.5, 0.99, 1.0})
      expect_delay(r.latency_actual.percentile(share), delay);
    expect_delay(r.latency_actual.minimum(), delay);
    EXPECT_EQ(r.frames.lost, 0u);
  }
}

TEST(Accuracy, JitteredDelay) {
  // Frames 2 ms apart and at most 1 ms of jitter: order is not what stretches delays.
  Impairment how;
  how.delay = 500'000;
  how.jitter = 1'000'000;
  Simulation s(how);
  const TrialResult r = run(s, spec_of(500, 40));
  for (const double share : {0.1, 0.5, 0.9, 0.99})
    expect_delay(r.latency_actual.percentile(share),
                 500'000 + static_cast<base::Nanos>(share * 1e6));
  EXPECT_EQ(r.frames.reordered, 0u);
}

TEST(Accuracy, ReorderingIsPerFlow) {
  Impairment how;
  how.swap_every = 50;
  how.swap_by = 35'000;  // three frames of 100 kpps go by
  TrialSpec spec = spec_of(100'000, 1);
  Simulation one(how);
  TrialResult r = run(one, spec);
  EXPECT_EQ(r.frames.reordered, one.did().swapped - 1);  // nothing overtakes the last frame
  EXPECT_EQ(r.frames.lost, 0u);
  // With ten flows in turn no frame is overtaken by one of its own flow.
  spec.traffic.flows = 10;
  Simulation ten(how);
  r = run(ten, spec);
  EXPECT_EQ(ten.did().swapped, 2000u);
  EXPECT_EQ(r.frames.reordered, 0u);
}

TEST(Accuracy, DuplicatesAndCorruption) {
  Impairment how;
  how.duplicate_every = 61;
  how.corrupt_every = 500;
  Simulation s(how);
  TrialSpec spec = spec_of(100'000, 1);
  spec.traffic.sizes = "64,128,1518";
  spec.traffic.flows = 7;
  const TrialResult r = run(s, spec);
  // A frame both corrupted and duplicated is corrupted twice.
  const std::uint64_t both = 100'000 / (61 * 500);
  EXPECT_EQ(r.frames.duplicated, s.did().duplicated - both);
  EXPECT_EQ(r.frames.corrupted, s.did().corrupted + both);
  EXPECT_EQ(r.frames.lost, s.did().corrupted);  // a damaged frame did not arrive
  EXPECT_EQ(r.frames.unexpected, 0u);
  EXPECT_EQ(r.frames.reordered, 0u);
}

TEST(Accuracy, RateLimitAndItsQueue) {
  Impairment how;
  how.rate_pps = 40'000;
  how.queue = 100;
  Simulation s(how);
  const TrialResult r = run(s, spec_of(50'000, 2));
  EXPECT_NEAR(r.received_pps, 40'000, 400);
  EXPECT_NEAR(r.loss_ratio, 0.2, 0.002);
  EXPECT_EQ(r.frames.lost, s.did().overflowed);
  expect_delay(r.latency_actual.percentile(0.5), 2'500'000);  // 100 frames at 40 kpps
  EXPECT_EQ(r.frames.false_denies, 0u);                       // overload, no verdict
}

TEST(Accuracy, LateSlotsAreSentAtOnceAndTheirDelayIsSeen) {
  Simulation s;
  s.sender_port->stall_after = 5000;
  s.sender_port->stall = 15'000'000;
  const TrialResult r = run(s, spec_of(100'000, 0.5));
  EXPECT_EQ(r.frames.offered, r.frames.intended);
  EXPECT_EQ(r.stamp, Stamp::kClean);
  EXPECT_NEAR(static_cast<double>(r.lateness.maximum()), 15e6, 0.1e6);
  // Seen from the schedule 1,500 of 50,000 frames came late; from the hand-over none but the burst
  // that stalled.
  expect_delay(r.latency_intended.percentile(0.985), 7'500'000);
  EXPECT_LE(r.latency_actual.percentile(0.999), 20'000);
}

TEST(Accuracy, WhatCouldNotBeSentIsSaid) {
  Simulation s;
  s.sender_port->every_burst = 2'000'000;  // 16,000 frames a second at most
  const TrialResult r = run(s, spec_of(100'000, 1));
  EXPECT_EQ(r.stamp, Stamp::kTesterLimited);
  ASSERT_EQ(r.stamp_reasons.size(), 1u);
  EXPECT_LT(r.frames.offered, r.frames.intended / 2);
  EXPECT_EQ(r.frames.lost, 0u);
  const double share =
      static_cast<double>(r.frames.received) / static_cast<double>(r.frames.intended);
  EXPECT_NEAR(r.loss_ratio, 1 - share, 1e-9);
  TesterSettings only_sent;
  only_sent.is_unsent_loss = false;
  Simulation again;
  again.sender_port->every_burst = 2'000'000;
  EXPECT_EQ(run(again, spec_of(100'000, 1), only_sent).loss_ratio, 0.0);
}

TEST(Oracle, OneWrongVerdictInAMillionIsCaught) {
  TrialSpec spec = spec_of(1'000'000, 1);
  spec.traffic.flows = 10'000;
  spec.traffic.drop_share = 0.25;
  // Frame 4k+3 must be dropped.
  for (const bool wrong_pass : {true, false}) {
    Impairment how;
    how.wrong = {wrong_pass ? 600'003U : 600'002U};
    Simulation s(how);
    const TrialResult r = run(s, spec);
    ASSERT_EQ(r.frames.offered, 1'000'000u);
    EXPECT_EQ(r.frames.expected_drops, 250'000u);
    EXPECT_EQ(s.did().passed_wrongly, wrong_pass ? 1u : 0u);
    EXPECT_EQ(s.did().dropped_wrongly, wrong_pass ? 0u : 1u);
    EXPECT_EQ(r.frames.false_accepts, wrong_pass ? 1u : 0u);
    EXPECT_EQ(r.frames.false_denies, wrong_pass ? 0u : 1u);
    EXPECT_EQ(r.frames.lost, wrong_pass ? 0u : 1u);
  }
}

TEST(Oracle, ADeniedFlowIsToldFromOverload) {
  Impairment how;
  how.denied_port = kSourcePort + 3;
  how.lose_share = 0.05;
  TrialSpec spec = spec_of(100'000, 1);
  spec.traffic.source_port = {Variation::kCycle, 100};
  Simulation s(how);
  const TrialResult r = run(s, spec);
  EXPECT_EQ(s.did().denied, 1000u);
  EXPECT_EQ(r.frames.false_denies, 1000u);
  EXPECT_EQ(r.frames.lost, s.did().denied + s.did().lost);
}

TEST(Oracle, OverloadIsNoVerdict) {
  // Losses in runs, as a full queue makes them, and heavy random loss.
  Impairment how;
  how.lose_share = 0.2;
  TrialSpec spec = spec_of(100'000, 1);
  spec.traffic.flows = 20'000;  // five frames each: some flows lose all of theirs by chance
  Simulation s(how);
  EXPECT_EQ(run(s, spec).frames.false_denies, 0u);
}

TEST(Oracle, ALonelyLossBesideAFullQueueIsOverload) {
  // Some frames a second too many: the queue is full after 20 s, then one in 20,000 is lost alone.
  Impairment how;
  how.rate_pps = 49'996;
  how.queue = 50;
  Simulation s(how);
  const TrialResult r = run(s, spec_of(50'000, 40));
  EXPECT_GT(r.frames.lost, 20u);
  EXPECT_EQ(r.frames.false_denies, 0u);
}

TEST(Accuracy, AtTheMaximumRateAnAttackKeepsItsOwn) {
  Simulation s;
  s.sender_port->every_burst = 20'000;  // 1.6 Mpps at most
  TrialSpec spec = spec_of(0, 0.1);
  spec.traffic.pacing = Pacing::kMaximum;
  spec.traffic.attack = AttackKind::kSynFlood;
  spec.traffic.attack_pps = 200'000;
  const TrialResult r = run(s, spec);
  EXPECT_NEAR(r.kpis.at("attack_offered"), 20'000, 200);
  EXPECT_GT(r.frames.offered, 20'000u);
  EXPECT_EQ(r.frames.intended, r.frames.offered);
  EXPECT_EQ(r.stamp, Stamp::kClean);
}

TEST(Accuracy, ACaptureIsReplayedAtItsOwnTimesAndAtARate) {
  // A tagged frame's likeness and an ARP request, 3 ms apart.
  TrafficSpec udp;
  udp.sizes = "200";
  const auto source = make_frames(udp, {});
  ASSERT_TRUE(source.ok());
  std::vector<base::Byte> frame(196), arp(60, 0);
  BuiltFrame built;
  (*source)->build(0, frame.data(), built);
  arp[12] = 8, arp[13] = 6;
  const std::string path = "/tmp/lab_accuracy_test." + std::to_string(getpid()) + ".pcap";
  auto w = io::CaptureWriter::create(path, io::CaptureFormat::kPcapNanos);
  ASSERT_TRUE(w.ok());
  (*w)->write(frame, 196, 1'000'000'000);
  (*w)->write(arp, 60, 1'003'000'000);
  ASSERT_TRUE((*w)->close().ok());
  for (const double rate : {0.0, 10'000.0}) {
    Impairment how;
    how.delay = 1'000'000;
    Simulation s(how);
    TrialSpec spec = spec_of(rate, 0.6);
    spec.traffic.capture = path;
    const TrialResult r = run(s, spec);
    // Every 6 ms one of each, or 6,000 in turn.
    const std::uint64_t each = rate == 0 ? 100 : 3000;
    EXPECT_EQ(r.frames.intended, each);
    EXPECT_EQ(r.frames.received, each);
    EXPECT_EQ(r.frames.unexpected, 0u);
    EXPECT_EQ(r.kpis.at("frames_unmeasured"), static_cast<double>(each));
    EXPECT_EQ(r.kpis.at("frames_unmeasured_received"), static_cast<double>(each));
    expect_delay(r.latency_intended.percentile(1), 1'000'000);
  }
  unlink(path.c_str());
}

TrialSpec overload(double rate, double seconds) {
  TrialSpec spec = spec_of(rate, seconds);
  spec.traffic.pacing = Pacing::kSteps;
  spec.traffic.steps = {{1.1, 0.6}, {0.5, 0.4}};
  return spec;
}

// It loses the excess while overloaded, less what its queue holds, and nothing afterwards.
TEST(Accuracy, RecoveryOfAQueueIsAtOnce) {
  Impairment how;
  how.rate_pps = 50'000;
  how.queue = 1000;
  Simulation s(how);
  const TrialResult r = run(s, overload(50'000, 5));
  const Recovery recovery = find_recovery(r, 3);
  EXPECT_NEAR(static_cast<double>(recovery.lost_before), 3 * 5'000 - 1000, 5);
  EXPECT_EQ(recovery.lost_after, 0U);
  EXPECT_EQ(recovery.seconds, 0.0);
  EXPECT_TRUE(recovery.has_recovered);
  EXPECT_EQ(r.frames.lost, recovery.lost_before);
}

TEST(Accuracy, RecoveryIsTheTimeToTheLastLoss) {
  for (const int deaf_ms : {1, 37, 500, 1790}) {
    Impairment how;
    how.deaf_from = 2'000'000'000;
    how.deaf_until = 3'000'000'000 + deaf_ms * base::Nanos{1'000'000};
    Simulation s(how);
    const TrialResult r = run(s, overload(20'000, 5));
    const Recovery recovery = find_recovery(r, 3);
    EXPECT_NEAR(recovery.seconds * 1000, deaf_ms, 1);
    EXPECT_TRUE(recovery.has_recovered);
    EXPECT_NEAR(static_cast<double>(recovery.lost_before), 22'000, 2);
    EXPECT_NEAR(static_cast<double>(recovery.lost_after), 10.0 * deaf_ms, 2);
  }
}

TEST(Accuracy, ADeviceThatGoesOnLosingHasNotRecovered) {
  Impairment how;
  how.lose_share = 0.01;
  Simulation s(how);
  const Recovery recovery = find_recovery(run(s, overload(20'000, 5)), 3);
  EXPECT_FALSE(recovery.has_recovered);
  EXPECT_DOUBLE_EQ(recovery.seconds, 2);
  EXPECT_FALSE(find_recovery({}, 3).lost_before > 0);
}

TEST(Accuracy, BothFamiliesAreMeasuredAlike) {
  Impairment how;
  how.lose_every = 7;  // prime to the mix's twelve frames
  how.delay = 1'000'000;
  for (const double share : {0.5, 1.0}) {
    Simulation s(how);
    TrialSpec spec = spec_of(20'000, 1);
    spec.traffic.sizes = "imix";
    spec.traffic.flows = 100;
    spec.traffic.ipv6_share = share;
    const TrialResult r = run(s, spec);
    EXPECT_EQ(r.frames.intended, 20'000U);
    EXPECT_EQ(r.frames.lost, 20'000U / 7);
    EXPECT_EQ(r.frames.reordered + r.frames.corrupted + r.frames.unexpected, 0U);
    expect_delay(r.latency_actual.percentile(0.5), 1'000'000);
    // Sizes of the mix over IPv6 are 20 bytes more, full segments not.
    const double more = 20.0 * 11 / 12 * share;
    EXPECT_NEAR(r.received_l1_bps, 20'000 * 6.0 / 7 * (353.83 + more + 20) * 8, 2e5);
  }
}

TEST(Accuracy, AttackFramesAreNeitherMeasuredNorLost) {
  for (const AttackKind kind :
       {AttackKind::kSynFlood, AttackKind::kUdpFlood, AttackKind::kDnsReflection,
        AttackKind::kIcmpFlood, AttackKind::kFragments}) {
    Impairment how;
    how.lose_every = 3;
    Simulation s(how);
    TrialSpec spec = spec_of(20'000, 0.5);
    spec.traffic.attack = kind;
    spec.traffic.attack_pps = 40'000;
    spec.traffic.attack_sources = 100'000;
    const TrialResult r = run(s, spec);
    EXPECT_EQ(r.frames.intended, 10'000u);
    EXPECT_EQ(r.frames.offered, 10'000u);
    const auto attack = static_cast<std::uint64_t>(r.kpis.at("attack_received"));
    EXPECT_EQ(r.kpis.at("attack_offered"), 20'000);
    EXPECT_EQ(attack + r.frames.received, 20'000u);
    EXPECT_EQ(attack, 20'000 - (s.did().lost - r.frames.lost));
    EXPECT_EQ(r.frames.unexpected + r.frames.corrupted, 0u);
  }
}

}  // namespace
}  // namespace merlon::lab
