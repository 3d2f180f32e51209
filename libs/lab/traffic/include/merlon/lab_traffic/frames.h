// SPDX-License-Identifier: Apache-2.0
#pragma once
// Frames by number. A source is a pure function of the frame's number and the trial's seed: it
// keeps no table of flows and the evaluation can ask again what frame 4711 was. Made on the control
// thread; build() by one sender; facts() by any thread. Cost: a copy of the frame and some 30 ns.
#include <cstdint>
#include <memory>

#include "merlon/base/result.h"
#include "merlon/lab_model/traffic.h"
#include "merlon/lab_traffic/frame_tag.h"

namespace merlon::lab {

inline constexpr std::uint32_t kFcsSize = 4;
inline constexpr std::uint64_t kMaxFlowCount = 10'000'000;

// A frame in a buffer, complete but for tag and transport checksum: those come last, with the time.
struct BuiltFrame {
  std::uint32_t size = 0;             // bytes in the buffer, without FCS
  std::uint16_t tag_offset = 0;       // 0: carries no tag
  std::uint16_t checksum_offset = 0;  // of the transport checksum
  std::uint64_t sum = 0;              // of the transport checksum, without tag
  bool is_tag_odd = false;            // the tag starts at an odd byte of the transport message
  bool is_udp = false;                // 0 is sent as 0xffff (RFC 768)
  FrameTag tag;
};

// Puts `time` (in the trial's units) into the tag, writes it and the transport checksum.
void finish_frame(base::Byte* frame, BuiltFrame& built, std::uint32_t time) noexcept;

// What the evaluation needs to know of a frame.
struct FrameFacts {
  std::uint32_t size = 0;  // with FCS
  std::uint32_t flow = 0;
  bool must_drop = false;
  bool is_measured = true;  // carries a tag
};

class FrameSource {
 public:
  virtual ~FrameSource() = default;
  // Writes frame `number` to `out`, which has room for largest() - kFcsSize bytes.
  virtual void build(std::uint64_t number, base::Byte* out, BuiltFrame& built) const noexcept = 0;
  [[nodiscard]] virtual FrameFacts facts(std::uint64_t number) const noexcept = 0;
  [[nodiscard]] virtual std::uint32_t largest() const noexcept = 0;  // with FCS
  // How many of the first `count` frames carry a tag.
  [[nodiscard]] virtual std::uint64_t measured_among(std::uint64_t count) const noexcept {
    return count;
  }
  // Flow indexes are below this; at most FrameTag::kMaxFlows. Where the fields make more flows than
  // that, an index stands for several (a hash).
  [[nodiscard]] virtual std::uint32_t flow_count() const noexcept = 0;
};

struct FrameOptions {
  std::uint64_t seed = 1;
  std::uint16_t trial = 0;  // goes into each tag
  bool is_reverse =
      false;  // from the servers' side: addresses and ports exchanged, nothing to drop
  std::uint32_t mtu = 1500;
};

// The measured frames of a trial without capture. kInvalidValue names the field and its limits:
// frames need room for their tag (UDP and ICMP 64 bytes, TCP 76, 4 more with a VLAN tag), addresses
// and ports stay inside the address plan, flows are at most kMaxFlowCount.
//
// With flows > 1 flow f is client f mod A, source port 1024 + f / A, where A clients are used:
// exactly so many 5-tuples per protocol and destination port of the sizes' mix. In order, or, when
// is_random_flow_order, each pass over them in another permutation. Frames to drop are the same
// clients' and go to kDropPort; they are spread evenly. Of fields, those that cycle step together
// with the frame's number.
base::Result<std::unique_ptr<FrameSource>> make_frames(const TrafficSpec& spec,
                                                       const FrameOptions& options);

// The attack of a trial: frames without tag from kAttackNetwork to the first server, as many flows
// as sources, drawn at random. kInvalidValue without one, and for more than 8,388,608 sources.
base::Result<std::unique_ptr<FrameSource>> make_attack(const TrafficSpec& spec,
                                                       const FrameOptions& options);

}  // namespace merlon::lab
