// SPDX-License-Identifier: Apache-2.0
// Capture files of any content: every packet is touched, and what is read is bounded by what is
// there.
#include <cstddef>
#include <cstdint>

#include "merlon/base/check.h"
#include "merlon/io/pcap_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace merlon::io;
  auto reader = CaptureReader::open(merlon::base::ByteSpan(data, size), "input");
  if (!reader.ok()) {
    MERLON_CHECK(!reader.error().message.empty());
    return 0;
  }
  CapturePacket p;
  std::uint64_t number = 0;
  unsigned sum = 0;
  while ((*reader)->next(p)) {
    MERLON_CHECK(p.number == ++number);
    MERLON_CHECK(p.length >= p.bytes.size());
    MERLON_CHECK(p.interface < (*reader)->interfaces().size());
    MERLON_CHECK(p.bytes.empty() ||
                 (p.bytes.data() >= data && p.bytes.data() + p.bytes.size() <= data + size));
    for (const auto b : p.bytes) sum += b;
  }
  volatile unsigned keep = sum;
  static_cast<void>(keep);
  MERLON_CHECK((*reader)->counters().packets == number);
  MERLON_CHECK((*reader)->status().ok() || !(*reader)->status().error().message.empty());
  return 0;
}
