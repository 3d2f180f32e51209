// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bytes of a capture in order, from a descriptor through a fixed window or from memory.
// Single-thread object of CaptureReader; one read() per 256 KiB.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "merlon/io/pcap_file.h"

namespace merlon::io {

class CaptureReader::Input {
 public:
  explicit Input(base::ByteSpan bytes) : begin_(bytes.data()), end_(begin_ + bytes.size()) {}
  Input(int fd, bool owns_fd) : fd_(fd), owns_fd_(owns_fd), window_(kMaxRecordSize + kChunk) {
    begin_ = end_ = window_.data();
  }
  ~Input() {
    if (owns_fd_) ::close(fd_);
  }
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  // The next `size` (at most kMaxRecordSize) bytes without taking them; nullptr when fewer are
  // left.
  const base::Byte* peek(std::size_t size) {
    if (available() < size && !fill(size)) return nullptr;
    return begin_;
  }
  // Takes bytes that peek() has shown.
  void take(std::size_t size) noexcept {
    begin_ += size;
    offset_ += size;
  }
  [[nodiscard]] std::size_t available() const noexcept {
    return static_cast<std::size_t>(end_ - begin_);
  }
  // Bytes taken since the start of the file.
  [[nodiscard]] std::uint64_t offset() const noexcept { return offset_; }
  // errno of a failed read, 0 otherwise.
  [[nodiscard]] int read_error() const noexcept { return read_error_; }

 private:
  static constexpr std::size_t kChunk = 256 * 1024;

  bool fill(std::size_t size) {
    if (fd_ < 0) return false;
    const std::size_t kept = available();
    if (kept > 0) std::memmove(window_.data(), begin_, kept);
    begin_ = window_.data();
    std::size_t used = kept;
    while (used < size) {
      const ssize_t n = ::read(fd_, window_.data() + used, kChunk);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) read_error_ = errno;
      if (n <= 0) break;
      used += static_cast<std::size_t>(n);
    }
    end_ = begin_ + used;
    return used >= size;
  }

  const base::Byte* begin_ = nullptr;
  const base::Byte* end_ = nullptr;
  int fd_ = -1;
  bool owns_fd_ = false;
  int read_error_ = 0;
  std::uint64_t offset_ = 0;
  std::vector<base::Byte> window_;
};

}  // namespace merlon::io
