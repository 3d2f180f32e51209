// SPDX-License-Identifier: Apache-2.0
// The laboratory's two readers of untrusted input. The first byte chooses: even, the rest is a
// frame from the wire for the recogniser; odd, the text of a size sequence.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "merlon/base/check.h"
#include "merlon/lab_traffic/recognise.h"
#include "merlon/lab_traffic/sizes.h"

namespace {

using namespace merlon::lab;

void read_frame(merlon::base::ByteSpan bytes) {
  // A copy of its own size, so that a read past the end is seen.
  const std::vector<std::uint8_t> frame(bytes.begin(), bytes.end());
  FrameTag tag;
  const FrameKind kind = recognise(frame, 4711, tag);
  if (kind == FrameKind::kMeasured) {
    MERLON_CHECK(tag.trial == 4711);
    MERLON_CHECK(tag.flow < FrameTag::kMaxFlows);
    MERLON_CHECK(frame.size() >= 14 + 20 + 8 + FrameTag::kSize);
  }
  if (kind == FrameKind::kStale) MERLON_CHECK(tag.trial != 4711);
}

void read_sizes(std::string_view text) {
  const auto sizes = parse_sizes(text);
  if (!sizes.ok()) {
    MERLON_CHECK(!sizes.error().message.empty());
    return;
  }
  MERLON_CHECK(!sizes->elements.empty() && sizes->elements.size() <= kMaxSequence);
  MERLON_CHECK(sizes->smallest() >= kMinFrameSize && sizes->largest() <= kMaxFrameSize);
  MERLON_CHECK(sizes->mean_size() >= sizes->smallest() && sizes->mean_size() <= sizes->largest());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  if (data[0] % 2 == 0)
    read_frame(merlon::base::ByteSpan(data + 1, size - 1));
  else
    read_sizes({reinterpret_cast<const char*>(data + 1), size - 1});
  return 0;
}
