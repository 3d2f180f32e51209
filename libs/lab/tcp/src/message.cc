// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_tcp/message.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace merlon::lab::tcp {
namespace {

using base::Byte;
using base::ByteSpan;

std::string binary_head(char kind, std::uint32_t size, bool closes) {
  std::string s{'M', 'L', kind, closes ? '\1' : '\0'};
  for (int shift = 24; shift >= 0; shift -= 8) s += static_cast<char>(size >> shift & 0xff);
  return s;
}

std::string response_head(std::string_view status, std::uint32_t size, bool closes) {
  return fmt::format(
      "HTTP/1.1 {}\r\nServer: merlon-lab\r\nContent-Type: "
      "application/octet-stream\r\nContent-Length: {}\r\n"
      "Connection: {}\r\n\r\n",
      status, size, closes ? "close" : "keep-alive");
}

}  // namespace

MessageBook::MessageBook(std::vector<std::uint32_t> sizes, bool is_http)
    : sizes_(std::move(sizes)), is_http_(is_http), pattern_(std::size_t{2} * kPattern) {
  std::uint64_t state = 0x6d65726c6f6e;
  for (std::uint32_t i = 0; i < kPattern; ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    pattern_[i] = pattern_[i + kPattern] = static_cast<Byte>(state >> 56);
  }
  for (const auto size : sizes_) {
    for (const bool closes : {false, true})
      messages_.push_back(
          {is_http_
               ? fmt::format("GET /o/{} HTTP/1.1\r\nHost: server.lab\r\nUser-Agent: merlon-lab\r\n"
                             "Accept: */*\r\nConnection: {}\r\n\r\n",
                             size, closes ? "close" : "keep-alive")
               : binary_head('Q', size, closes),
           0});
  }
  for (const auto size : sizes_) {
    for (const bool closes : {false, true})
      messages_.push_back(
          {is_http_ ? response_head("200 OK", size, closes) : binary_head('S', size, closes),
           size});
  }
  for (const bool closes : {false, true})
    messages_.push_back(
        {is_http_ ? response_head("404 Not Found", 0, closes) : binary_head('S', 0, closes), 0});
}

std::uint8_t MessageBook::response(std::uint32_t size, bool closes) const noexcept {
  const auto at = static_cast<std::size_t>(std::ranges::find(sizes_, size) - sizes_.begin());
  return static_cast<std::uint8_t>((sizes_.size() + at) * 2 + (closes ? 1 : 0));
}

void MessageBook::copy_body(std::uint32_t offset, std::uint32_t size, Byte* out) const noexcept {
  while (size > 0) {
    const std::uint32_t n = std::min(size, kPattern);
    std::memcpy(out, pattern_.data() + offset % kPattern, n);
    offset += n;
    out += n;
    size -= n;
  }
}

void MessageBook::write(std::uint8_t message, std::uint32_t from, std::uint32_t size,
                        Byte* out) const noexcept {
  const Message& m = messages_[message];
  const auto head = static_cast<std::uint32_t>(m.head.size());
  if (from < head) {
    const std::uint32_t n = std::min(size, head - from);
    std::memcpy(out, m.head.data() + from, n);
    from += n;
    out += n;
    size -= n;
  }
  copy_body(from - head, size, out);
}

bool MessageBook::is_body(std::uint32_t offset, ByteSpan bytes) const noexcept {
  while (!bytes.empty()) {
    const std::size_t n = std::min<std::size_t>(bytes.size(), kPattern);
    if (std::memcmp(pattern_.data() + offset % kPattern, bytes.data(), n) != 0) return false;
    offset += static_cast<std::uint32_t>(n);
    bytes = bytes.subspan(n);
  }
  return true;
}

}  // namespace merlon::lab::tcp
