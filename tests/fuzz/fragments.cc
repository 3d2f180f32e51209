// SPDX-License-Identifier: Apache-2.0
// The fragment table fed by a program of 4-byte steps: what goes in comes out once, never more, and
// at the end the table is empty.
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <set>

#include "merlon/packet/fragments.h"
#include "merlon/packet/parse.h"

namespace {

using namespace merlon;
using packet::Burst;
using packet::Verdict;

void require(bool ok) {
  if (!ok) std::abort();
}

class Worker {
 public:
  Worker() : table_(options()) {}

  void add(const std::uint8_t* step) {
    const unsigned i = burst_.count++;
    base::Byte* f = frames_[next_++ % kFrames];
    std::fill_n(f, 128, base::Byte{0});
    f[0] = 0x45;
    base::store_be<std::uint16_t>(f + 2, static_cast<std::uint16_t>(20 + step[1]));
    base::store_be<std::uint16_t>(f + 4, step[0] & 7U);
    base::store_be<std::uint16_t>(f + 6,
                                  static_cast<std::uint16_t>((step[2] & 1U) << 13 | step[3]));
    f[8] = 64;
    f[9] = (step[2] & 2U) != 0 ? 6 : 17;
    f[12] = 10;
    f[16] = 11;
    f[25] = 64;  // a UDP length, a TCP offset and flags that may pass
    f[32] = 0x50;
    f[33] = 0x10;
    ++counter_;
    burst_.handle[i] = reinterpret_cast<void*>(counter_);
    live_.insert(counter_);
    burst_.data[i] = f;
    burst_.captured[i] = 128;
    burst_.length[i] = 20U + step[1] > 128 ? 20U + step[1] : 128;
    burst_.in_port[i] = burst_.out_port[i] = 0;
    burst_.time[i] = 0;
    burst_.number[i] = 0;
  }

  void turn(std::uint8_t choice) {
    const std::uint16_t domain = 0;
    packet::parse(burst_, parse_options_, &domain, first_);
    burst_.now_ticks = now_;
    table_.process(burst_, first_);
    for (unsigned i = 0; i < burst_.count; ++i) {
      if (burst_.verdict[i] == Verdict::kHold) continue;
      if (burst_.verdict[i] == Verdict::kUndecided)
        burst_.verdict[i] = (choice >> i % 8 & 1U) != 0 ? Verdict::kForward : Verdict::kDrop;
      leave(i);
    }
    table_.settle(burst_);
    now_ += choice;
    burst_.count = 0;
    if ((choice & 3U) == 0) expire();
    table_.take_ready(burst_);
    first_ = burst_.count;
    require(table_.held_count() + burst_.count == live_.size());
  }
  void finish() {
    turn(1);
    for (int n = 0; n < 4; ++n) turn(1);
    now_ += 100'000;
    expire();
    turn(1);
    require(live_.empty() && table_.held_count() == 0 && table_.datagram_count() == 0);
  }
  [[nodiscard]] bool is_full() const { return burst_.count == Burst::kCapacity; }

 private:
  static constexpr unsigned kFrames = 4096;
  static packet::FragmentOptions options() {
    packet::FragmentOptions o;
    o.max_datagrams = 6;
    o.max_held = 40;
    o.max_fragments = 8;
    o.timeout_v4 = 2000;
    return o;
  }
  void leave(unsigned i) {
    require(live_.erase(reinterpret_cast<std::uintptr_t>(burst_.handle[i])) == 1);
  }
  void expire() {
    bool more = true;
    while (more) {
      more = table_.expire(burst_, now_);
      for (unsigned i = 0; i < burst_.count; ++i) leave(i);
      burst_.count = 0;
    }
  }

  packet::FragmentTable table_;
  packet::ParseOptions parse_options_ = [] {
    packet::ParseOptions o;
    o.link_layer = packet::ParseOptions::LinkLayer::kRawIp;
    return o;
  }();
  Burst burst_{};
  unsigned first_ = 0;
  base::Ticks now_ = 0;
  std::uintptr_t counter_ = 0;
  unsigned next_ = 0;
  std::set<std::uintptr_t> live_;
  base::Byte frames_[kFrames][128];
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto worker = std::make_unique<Worker>();
  if (size > 4 * 2000) size = 4 * 2000;
  for (std::size_t at = 0; at + 4 <= size; at += 4) {
    if ((data[at] & 0x80U) != 0 || worker->is_full()) worker->turn(data[at + 1]);
    worker->add(data + at);
  }
  worker->finish();
  return 0;
}
