// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the load says: requests, response heads and objects, written before the start and known by
// number, so that any byte of a message can be sent again without a buffer; and the reader of heads
// that strangers send. The book is immutable after its making; HeadState belongs to a connection.
#include <cstdint>
#include <string>
#include <vector>

#include "merlon/base/bytes.h"

namespace merlon::lab::tcp {

// Where the reading of a head stands between segments.
struct HeadState {
  enum Flag : std::uint8_t {
    kHasLength = 1,
    kCloses = 2,
    kIsChunked = 4,
    kIsOldVersion = 8,
    kKeepsAlive = 16,
    kHasNumber = 32
  };
  std::uint32_t number;  // Content-Length of a response; a request's object size in bytes
  std::uint16_t size;    // bytes read
  std::uint16_t status;  // of a response
  std::uint8_t phase, match, candidates, flags;
};

enum class HeadResult : std::uint8_t { kMore, kDone, kBad };

inline constexpr std::uint32_t kMaxHeadSize = 8192;
inline constexpr std::uint32_t kMaxObjectSize = 1U << 30;

// Reads on from `state`; `used` bytes belong to the head. kBad: not HTTP/1.x, a method other than
// GET, a number that doesn't fit, or a head beyond kMaxHeadSize. Cost: a few cycles a byte.
HeadResult read_request(HeadState& state, base::ByteSpan bytes, std::size_t& used) noexcept;
HeadResult read_response(HeadState& state, base::ByteSpan bytes, std::size_t& used) noexcept;

class MessageBook {
 public:
  // Object sizes in bytes, ours first; every size is served under "/o/<bytes>".
  MessageBook(std::vector<std::uint32_t> sizes, bool is_http);

  [[nodiscard]] std::uint8_t request(unsigned object, bool closes) const noexcept {
    return static_cast<std::uint8_t>(object * 2 + (closes ? 1 : 0));
  }
  // Of an object of `size` bytes; 404 when there is none such.
  [[nodiscard]] std::uint8_t response(std::uint32_t size, bool closes) const noexcept;
  // What our server answers to this request.
  [[nodiscard]] std::uint8_t answer(std::uint8_t request) const noexcept {
    return static_cast<std::uint8_t>(request + sizes_.size() * 2);
  }
  // The request that this response answers; of a 404 the first one.
  [[nodiscard]] std::uint8_t request_of(std::uint8_t response) const noexcept {
    const std::size_t at = response - sizes_.size() * 2;
    return static_cast<std::uint8_t>(at < sizes_.size() * 2 ? at : 0);
  }
  [[nodiscard]] std::uint32_t length(std::uint8_t message) const noexcept {
    return static_cast<std::uint32_t>(messages_[message].head.size()) + messages_[message].body;
  }
  [[nodiscard]] base::ByteSpan head(std::uint8_t message) const noexcept {
    const std::string& h = messages_[message].head;
    return {reinterpret_cast<const base::Byte*>(h.data()), h.size()};
  }
  [[nodiscard]] std::uint32_t body(std::uint8_t message) const noexcept {
    return messages_[message].body;
  }
  [[nodiscard]] bool is_http() const noexcept { return is_http_; }
  [[nodiscard]] std::size_t object_count() const noexcept { return sizes_.size(); }

  // Bytes [from, from + size) of the message.
  void write(std::uint8_t message, std::uint32_t from, std::uint32_t size,
             base::Byte* out) const noexcept;
  // Are these the object's bytes from `offset` on?
  [[nodiscard]] bool is_body(std::uint32_t offset, base::ByteSpan bytes) const noexcept;

 private:
  struct Message {
    std::string head;
    std::uint32_t body = 0;
  };

  void copy_body(std::uint32_t offset, std::uint32_t size, base::Byte* out) const noexcept;

  std::vector<std::uint32_t> sizes_;
  bool is_http_;
  std::vector<Message> messages_;  // requests, responses, then 404 with and without closing
  std::vector<base::Byte>
      pattern_;  // repeats every kPattern bytes; as long again, so that a copy never wraps
  static constexpr std::uint32_t kPattern = 65'536;
};

// The form without HTTP: "MLQ" and a byte of flags, then the object's size; answered by "MLS",
// flags, size.
inline constexpr std::uint32_t kBinaryHeadSize = 8;

}  // namespace merlon::lab::tcp
