// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a trial sends, as values: sizes, addresses, flows, rate, verdicts. The traffic room turns it
// into frames, plans and reports only carry it. control-only.
#include <cstdint>
#include <string>
#include <vector>

namespace merlon::lab {

// How a header field varies from frame to frame. Of `count` values starting at the field's first
// one: kCycle takes them in order, kRandom draws with the trial's seed; kFixed is the first one for
// ever.
enum class Variation : std::uint8_t { kFixed, kCycle, kRandom };

struct FieldPattern {
  Variation variation = Variation::kFixed;
  std::uint64_t count = 1;
};

// When frames leave. Constant: evenly spaced. Burst: `burst_frames` back to back, the mean rate
// kept. Ramp: from 0 to the rate over the trial, linearly. Maximum: as fast as the port takes them.
// Steps: one rate after the other, see RateStep.
enum class Pacing : std::uint8_t { kConstant, kBurst, kRamp, kMaximum, kSteps };

// A part of a trial at a rate of its own.
struct RateStep {
  double factor = 1;  // of the trial's rate; 0: silence
  double share = 1;   // of the trial's duration; the shares of all steps make 1
};

// What the device must do with a frame. The oracle counts frames that met the other fate.
enum class ExpectedVerdict : std::uint8_t { kForward, kDrop };

enum class AttackKind : std::uint8_t {
  kNone,
  kSynFlood,
  kUdpFlood,
  kDnsReflection,
  kIcmpFlood,
  kFragments
};

struct TrafficSpec {
  // "64" | "64,1518" (in turn) | "imix" | "emix" | RFC 6985 genome such as "aaaaaaaddddg" |
  // "64:28,570:16,1518:4" (sizes and weights). Sizes are Ethernet frames with FCS, as RFC 2544
  // counts.
  std::string sizes = "64";
  std::string protocol = "udp";  // udp | tcp | icmp (over IPv6: ICMPv6)
  // Share of the flows (0..1) that are IPv6; with one flow, of the frames.
  double ipv6_share = 0;
  FieldPattern source_mac, destination_mac;
  FieldPattern source_ip, destination_ip;
  FieldPattern source_port, destination_port;
  FieldPattern vlan{Variation::kFixed, 0};  // count 0: no tag
  std::uint64_t flows =
      1;  // >1: overrides source_ip/source_port so that exactly so many 5-tuples occur
  bool is_random_flow_order = false;
  bool is_bidirectional = false;  // half of the rate each way
  Pacing pacing = Pacing::kConstant;
  std::uint32_t burst_frames = 1;
  std::vector<RateStep> steps;  // of kSteps
  std::string capture;          // replay this capture instead; sizes and fields above don't apply
  // Share of the frames (0..1) that a rule of the device must drop; they are to kDropPort.
  double drop_share = 0;
  // An attack beside the legitimate traffic: frames that may be dropped or not, never counted as
  // loss.
  AttackKind attack = AttackKind::kNone;
  double attack_pps = 0;
  std::uint64_t attack_sources = 1;
};

// Attack sources are the addresses of 10.128.0.0/9.
inline constexpr std::uint64_t kMaxAttackSources = std::uint64_t{1} << 23;

// Fixed points of the address plan that devices' rule sets rely on.
inline constexpr std::uint16_t kSourcePort = 1024;       // first source port
inline constexpr std::uint16_t kDestinationPort = 5001;  // what a final "allow" matches
inline constexpr std::uint16_t kDropPort =
    6666;  // what the oracle's drop rule matches (UDP and TCP)
// Networks: clients 10.9.0.0/16 and 2001:2:0:9::/64 behind the generator, servers 10.10.0.0/16 and
// 2001:2:0:a::/64 behind the sink (RFC 5180 section 8 sets 2001:2::/48 aside for benchmarks).
// Non-matching rules name random addresses of 172.16.0.0/12 and 2001:2:0:ac10::/64 only.

}  // namespace merlon::lab
