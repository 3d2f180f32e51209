// SPDX-License-Identifier: Apache-2.0
#pragma once
// Single frames sent and awaited through a topology, to see whether a device forwards. Plain
// AF_PACKET sockets, opened in the two namespaces. control-only. Cost: a frame each few
// milliseconds until one comes through.
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "merlon/base/result.h"
#include "merlon/lab_traffic/tester.h"

namespace merlon::lab {

// A frame from 10.9.255.1:1024 to 10.10.255.1:`destination_port`, 64 bytes with FCS. TCP: a SYN.
struct ProbeFrame {
  std::uint8_t protocol = 17;
  std::uint16_t destination_port = 5001;
  std::uint16_t source_port = 1024;
  std::uint64_t source_mac = 0x02'4d4c'4300'01, destination_mac = 0x02'4d4c'5300'01;
  std::uint32_t source_ip = 0x0a09ff01, destination_ip = 0x0a0aff01;
};
// With checksums; `mark` is carried at the end of the frame.
std::vector<std::uint8_t> build_probe(const ProbeFrame& frame, std::uint64_t mark);

class FrameProbe {
 public:
  FrameProbe() = default;
  ~FrameProbe();
  FrameProbe(const FrameProbe&) = delete;
  FrameProbe& operator=(const FrameProbe&) = delete;

  // Endpoints on kernel interfaces only.
  base::Result<void> open(const EndpointSpec& from, const EndpointSpec& to);
  // Sends the frame each 5 ms until one of them arrives; false when none does in the time.
  bool passes(const ProbeFrame& frame, std::chrono::milliseconds timeout);

 private:
  int from_ = -1, to_ = -1;
  std::uint64_t next_mark_ = 0x6d65'726c'6f6e'0001;
};

}  // namespace merlon::lab
