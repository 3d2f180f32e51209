// SPDX-License-Identifier: Apache-2.0
#pragma once
// Frames on their way to a port's queue 0: up to 64 are gathered and sent together. worker-owned.
#include <array>
#include <cstdint>

#include "merlon/io/port.h"

namespace merlon::lab::tcp {

class Transmitter {
 public:
  explicit Transmitter(io::Port& port) noexcept : port_(port) {}
  ~Transmitter() { flush(); }
  Transmitter(const Transmitter&) = delete;
  Transmitter& operator=(const Transmitter&) = delete;

  // Room for a frame of `size` bytes; nullptr when the port has no buffer, counted as unsent. end()
  // follows.
  base::Byte* begin(std::uint32_t size) noexcept {
    base::Byte* data = nullptr;
    void* handle = port_.allocate(0, size, data);
    if (handle == nullptr) {
      flush();
      handle = port_.allocate(0, size, data);
    }
    if (handle == nullptr) {
      ++unsent_;
      return nullptr;
    }
    handles_[count_] = handle;
    return data;
  }
  void end(std::uint32_t length) noexcept {
    port_.set_length(handles_[count_++], length);
    bytes_ += length;
    if (count_ == handles_.size()) flush();
  }
  void flush() noexcept {
    if (count_ == 0) return;
    const unsigned sent = port_.transmit(0, handles_.data(), count_);
    sent_ += sent;
    unsent_ += count_ - sent;
    count_ = 0;
  }

  [[nodiscard]] std::uint64_t sent() const noexcept { return sent_; }
  // Frames that the port had no room for: lost at the tester, the stack sends them again like
  // others.
  [[nodiscard]] std::uint64_t unsent() const noexcept { return unsent_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  io::Port& port_;
  std::array<void*, 64> handles_{};
  unsigned count_ = 0;
  std::uint64_t sent_ = 0, unsent_ = 0, bytes_ = 0;
};

}  // namespace merlon::lab::tcp
