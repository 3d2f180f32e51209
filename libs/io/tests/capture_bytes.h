// SPDX-License-Identifier: Apache-2.0
#pragma once
// Captures written byte by byte for the tests, in either byte order: independent of CaptureWriter,
// so that reader and writer can't share a mistake.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "merlon/base/bytes.h"

namespace merlon::io::test {

class CaptureBytes {
 public:
  explicit CaptureBytes(bool big_endian) : big_endian_(big_endian) {}

  std::vector<base::Byte> bytes;

  CaptureBytes& u8(std::uint8_t v) {
    bytes.push_back(v);
    return *this;
  }
  CaptureBytes& u16(std::uint16_t v) { return number(v, 2); }
  CaptureBytes& u32(std::uint32_t v) { return number(v, 4); }
  CaptureBytes& u64(std::uint64_t v) { return number(v, 8); }
  CaptureBytes& raw(const std::vector<base::Byte>& v) {
    bytes.insert(bytes.end(), v.begin(), v.end());
    return *this;
  }
  CaptureBytes& text(const std::string& s) {
    bytes.insert(bytes.end(), s.begin(), s.end());
    return *this;
  }
  CaptureBytes& pad4() {
    while (bytes.size() % 4 != 0) bytes.push_back(0);
    return *this;
  }

  CaptureBytes& pcap_header(std::uint32_t magic, std::uint32_t link_type, std::uint16_t minor = 4) {
    return u32(magic).u16(2).u16(minor).u32(0).u32(0).u32(65535).u32(link_type);
  }
  CaptureBytes& pcap_record(std::uint32_t seconds, std::uint32_t fraction, std::uint32_t captured,
                            std::uint32_t length, const std::vector<base::Byte>& data) {
    return u32(seconds).u32(fraction).u32(captured).u32(length).raw(data);
  }
  // A pcapng block around a body written with the same byte order.
  CaptureBytes& block(std::uint32_t type, CaptureBytes body) {
    body.pad4();
    const auto total = static_cast<std::uint32_t>(body.bytes.size() + 12);
    return u32(type).u32(total).raw(body.bytes).u32(total);
  }
  [[nodiscard]] CaptureBytes body() const { return CaptureBytes(big_endian_); }
  CaptureBytes& section() {
    return block(0x0a0d0d0a, body().u32(0x1a2b3c4d).u16(1).u16(0).u64(~std::uint64_t{0}));
  }
  CaptureBytes& interface(std::uint16_t link_type, std::uint32_t snap_length = 0) {
    return block(1, body().u16(link_type).u16(0).u32(snap_length));
  }
  CaptureBytes& enhanced(std::uint32_t id, std::uint64_t ticks, const std::vector<base::Byte>& data,
                         std::uint32_t length) {
    return block(6, body()
                        .u32(id)
                        .u32(static_cast<std::uint32_t>(ticks >> 32))
                        .u32(static_cast<std::uint32_t>(ticks))
                        .u32(static_cast<std::uint32_t>(data.size()))
                        .u32(length)
                        .raw(data));
  }

 private:
  CaptureBytes& number(std::uint64_t v, unsigned size) {
    for (unsigned i = 0; i < size; ++i) {
      const unsigned shift = 8 * (big_endian_ ? size - 1 - i : i);
      bytes.push_back(static_cast<base::Byte>(v >> shift));
    }
    return *this;
  }

  bool big_endian_;
};

}  // namespace merlon::io::test
