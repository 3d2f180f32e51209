// SPDX-License-Identifier: Apache-2.0
#pragma once
// The frames of a capture as a source, in their order, again from the first after the last. Made on
// the control thread; see frames.h.
#include <memory>
#include <string>
#include <vector>

#include "merlon/base/time.h"
#include "merlon/lab_traffic/frames.h"

namespace merlon::lab {

struct CaptureFrames {
  std::unique_ptr<FrameSource> source;
  std::shared_ptr<const std::vector<base::Nanos>> times;  // of each frame, from 0
  base::Nanos period = 0;                                 // of a repetition
};

// Reads the whole capture (at most 4 M frames, 512 MiB). The last 18 payload bytes of whole IPv4
// UDP, TCP and ICMP frames become the tag, their checksums are made right; frames without such room
// are sent as they are and not measured. MAC addresses become the address plan's (of group
// addresses only the source's), so that a switch passes both directions of the capture. Frames that
// can't be sent (cut by the capture, larger than the MTU, not Ethernet) are left out. kInvalidValue
// when none is left or none can be measured.
base::Result<CaptureFrames> load_capture(const std::string& path, const FrameOptions& options);

}  // namespace merlon::lab
