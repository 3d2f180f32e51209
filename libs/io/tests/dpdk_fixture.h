// SPDX-License-Identifier: Apache-2.0
#pragma once
// One EAL for the whole test program, without huge pages and without root where there is none.
#include <gtest/gtest.h>
#include <sched.h>

#include <memory>
#include <string>
#include <vector>

#include "merlon/io/dpdk_port.h"

namespace merlon::io::test {

inline std::shared_ptr<MbufPool>& shared_pool() {
  static std::shared_ptr<MbufPool> pool;
  return pool;
}

// A test frame: 60 bytes that name their position.
inline std::vector<base::Byte> test_frame(unsigned i, std::size_t size = 60) {
  std::vector<base::Byte> f(size, static_cast<base::Byte>(i));
  const base::Byte head[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 1, 0x88, 0xb5};
  std::copy(std::begin(head), std::end(head), f.begin());
  return f;
}

inline unsigned send_frames(Port& port, unsigned count, unsigned queue = 0, std::size_t size = 60) {
  std::vector<void*> handles;
  for (unsigned i = 0; i < count; ++i) {
    base::Byte* data = nullptr;
    void* h = port.allocate(queue, static_cast<std::uint32_t>(size), data);
    if (h == nullptr) break;
    const auto f = test_frame(i, size);
    std::copy(f.begin(), f.end(), data);
    port.set_length(h, static_cast<std::uint32_t>(size));
    handles.push_back(h);
  }
  return port.transmit(queue, handles.data(), static_cast<unsigned>(handles.size()));
}

// Our own frames (EtherType 0x88b5, local experimental) out of what comes in, until `count` or
// until the device has been asked often enough; the kernel's frames on a new interface are skipped.
inline std::vector<std::vector<base::Byte>> receive_frames(Port& port, unsigned count) {
  std::vector<std::vector<base::Byte>> frames;
  packet::Burst burst;
  for (unsigned turn = 0; turn < 200'000 && frames.size() < count; ++turn) {
    burst.count = 0;
    port.receive(0, burst, packet::Burst::kCapacity);
    for (unsigned i = 0; i < burst.count; ++i) {
      const base::Byte* d = burst.data[i];
      if (burst.captured[i] >= 14 && d[12] == 0x88 && d[13] == 0xb5)
        frames.emplace_back(d, d + burst.captured[i]);
    }
    port.release(0, burst.handle.data(), burst.count);
    if (burst.count == 0) ::sched_yield();
  }
  return frames;
}

inline std::unique_ptr<DpdkPort> open_port(DpdkPortSettings s) {
  s.link_wait_ms = 0;
  if (s.name.empty()) s.name = "t";
  auto port = DpdkPort::create(s, shared_pool());
  EXPECT_TRUE(port.ok()) << port.error().to_string();
  return port.ok() ? std::move(*port) : nullptr;
}

inline std::unique_ptr<DpdkPort> open_port(const std::string& device) {
  DpdkPortSettings s;
  s.device = device;
  return open_port(s);
}

}  // namespace merlon::io::test
