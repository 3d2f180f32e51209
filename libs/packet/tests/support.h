// SPDX-License-Identifier: Apache-2.0
#pragma once
// Packets in words for tests, and a burst to put them in.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "merlon/packet/parse.h"
#include "merlon/packet/text.h"

namespace merlon::packet::test {

using Bytes = std::vector<base::Byte>;

inline Bytes packet(std::string_view text) {
  auto bytes = packet_from_text(text, {"test", 1, 1, 0});
  if (bytes) return *std::move(bytes);
  ADD_FAILURE() << bytes.error().to_string() << "\n  in: " << text;
  return {};
}

// Owns its frames; every frame is copied to a block of exactly its size, so that a sanitiser sees
// the end.
class TestBurst {
 public:
  TestBurst() : burst_(std::make_unique<Burst>()) {}

  unsigned add(const Bytes& frame, std::uint32_t wire_length = 0) {
    const unsigned i = burst_->count++;
    auto block = std::make_unique<base::Byte[]>(std::max<std::size_t>(frame.size(), 1));
    std::copy(frame.begin(), frame.end(), block.get());
    burst_->handle[i] = burst_->data[i] = block.get();
    burst_->captured[i] = static_cast<std::uint32_t>(frame.size());
    burst_->length[i] = wire_length != 0 ? wire_length : static_cast<std::uint32_t>(frame.size());
    burst_->in_port[i] = burst_->out_port[i] = 0;
    burst_->time[i] = 0;
    burst_->number[i] = 0;
    frames_.push_back(std::move(block));
    return i;
  }
  unsigned add(std::string_view text) { return add(packet(text)); }

  void parse(const ParseOptions& options = {}, std::uint16_t domain = 0, unsigned first = 0) {
    packet::parse(*burst_, options, &domain, first);
  }
  void clear() { burst_->count = 0; }

  Burst& operator*() { return *burst_; }
  Burst* operator->() { return burst_.get(); }

 private:
  std::unique_ptr<Burst> burst_;
  std::vector<std::unique_ptr<base::Byte[]>> frames_;
};

struct Parsed {
  Verdict verdict;
  base::DropReason reason;
  FlowKey key;
  Headers h;
  std::uint64_t hash;
};

inline Parsed parse_one(const Bytes& frame, const ParseOptions& options = {},
                        std::uint32_t wire_length = 0) {
  TestBurst b;
  b.add(frame, wire_length);
  b.parse(options);
  return {b->verdict[0], b->reason[0], b->key[0], b->headers[0], b->hash[0]};
}
inline Parsed parse_one(std::string_view text, const ParseOptions& options = {}) {
  return parse_one(packet(text), options);
}
inline std::string reason_of(std::string_view text, const ParseOptions& options = {}) {
  return std::string(base::drop_reason_name(parse_one(text, options).reason));
}

}  // namespace merlon::packet::test
