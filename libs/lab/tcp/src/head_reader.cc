// SPDX-License-Identifier: Apache-2.0
// The reader of HTTP/1.x heads: a byte at a time, so that it can stop anywhere a segment ends.
#include <array>
#include <string_view>

#include "merlon/lab_tcp/message.h"

namespace merlon::lab::tcp {
namespace {

enum Phase : std::uint8_t {
  kMethod,
  kPath,
  kVersion,
  kStatusVersion,
  kStatus,
  kRestOfLine,
  kLineStart,
  kName,
  kLengthValue,
  kConnectionValue,
  kEncodingValue,
  kLastLine,
};

constexpr std::array<std::string_view, 3> kNames = {
    "content-length:", "connection:", "transfer-encoding:"};
constexpr std::array<Phase, 3> kValues = {kLengthValue, kConnectionValue, kEncodingValue};
constexpr std::string_view kGet = "GET ", kPrefix = "/o/", kHttp = "HTTP/1.";

constexpr char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}
constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

bool add_digit(HeadState& s, char c) noexcept {
  if (s.number > kMaxObjectSize / 10) return false;
  s.number = s.number * 10 + static_cast<std::uint32_t>(c - '0');
  s.flags |= HeadState::kHasNumber;
  return true;
}

// "/o/<digits>" gives the number; of any other path it is 0 and kHasNumber is not set.
bool in_path(HeadState& s, char c) noexcept {
  if (c == ' ') {
    s.phase = kVersion;
    s.match = 0;
    return true;
  }
  if (c < ' ') return false;
  if (s.match < kPrefix.size()) {
    s.match = c == kPrefix[s.match] ? static_cast<std::uint8_t>(s.match + 1) : 0xff;
  } else if (s.match == kPrefix.size() && is_digit(c)) {
    return add_digit(s, c);
  } else {
    s.match = 0xff;
    s.number = 0;
    s.flags &= static_cast<std::uint8_t>(~HeadState::kHasNumber);
  }
  return true;
}

// "HTTP/1." and the minor version, of both kinds of head.
bool in_version(HeadState& s, char c, Phase next) noexcept {
  if (s.match < kHttp.size()) return c == kHttp[s.match++];
  if (!is_digit(c)) return false;
  if (c == '0') s.flags |= HeadState::kIsOldVersion;
  s.phase = next;
  s.match = 0;
  return true;
}

bool in_status(HeadState& s, char c) noexcept {
  if (s.match == 0) {
    s.match = 1;
    return c == ' ';
  }
  if (!is_digit(c)) return false;
  s.status = static_cast<std::uint16_t>(s.status * 10 + (c - '0'));
  if (++s.match == 4) s.phase = kRestOfLine;
  return true;
}

void in_name(HeadState& s, char c) noexcept {
  if (c == '\n') {
    s.phase = kLineStart;
    return;
  }
  for (unsigned i = 0; i < kNames.size(); ++i) {
    if ((s.candidates >> i & 1) != 0 && kNames[i][s.match] != lower(c))
      s.candidates = static_cast<std::uint8_t>(s.candidates & ~(1U << i));
  }
  if (s.candidates == 0) {
    s.phase = kRestOfLine;
    return;
  }
  ++s.match;
  for (unsigned i = 0; i < kNames.size(); ++i) {
    if ((s.candidates >> i & 1) == 0 || kNames[i].size() != s.match) continue;
    s.phase = kValues[i];
    s.match = 0;
    if (s.phase == kLengthValue) s.number = 0;
    return;
  }
}

bool in_value(HeadState& s, char c) noexcept {
  if (c == '\n') {
    s.phase = kLineStart;
    return true;
  }
  if (c == ' ' || c == '\r' || c == '\t') return true;
  if (s.phase == kLengthValue) {
    s.flags |= HeadState::kHasLength;
    return is_digit(c) && add_digit(s, c);
  }
  const char first = lower(c);
  if (s.phase == kConnectionValue)
    s.flags |= first == 'c' ? HeadState::kCloses : first == 'k' ? HeadState::kKeepsAlive : 0;
  else if (first == 'c')
    s.flags |= HeadState::kIsChunked;
  s.phase = kRestOfLine;
  return true;
}

void at_line_start(HeadState& s, char c) noexcept {
  if (c == '\r') {
    s.phase = kLastLine;
    return;
  }
  s.phase = kName;
  s.match = 0;
  s.candidates = (1U << kNames.size()) - 1;
  in_name(s, c);
}

// False: not a head. A request's Content-Length would overwrite the object's number and mean a
// body, which GET has not; it is skipped.
bool step(HeadState& s, char c, bool is_request) noexcept {
  switch (s.phase) {
    case kMethod:
      if (c != kGet[s.match]) return false;
      if (++s.match == kGet.size()) {
        s.phase = kPath;
        s.match = 0;
      }
      return true;
    case kPath:
      return in_path(s, c);
    case kVersion:
      return in_version(s, c, kRestOfLine);
    case kStatusVersion:
      return in_version(s, c, kStatus);
    case kStatus:
      return in_status(s, c);
    case kRestOfLine:
      if (c == '\n') s.phase = kLineStart;
      return true;
    case kLineStart:
      at_line_start(s, c);
      return true;
    case kName: {
      const std::uint32_t number = s.number;
      in_name(s, c);
      if (is_request && s.phase == kLengthValue) {
        s.number = number;
        s.phase = kRestOfLine;
      }
      return true;
    }
    default:
      return in_value(s, c);
  }
}

HeadResult read_head(HeadState& s, base::ByteSpan bytes, std::size_t& used,
                     bool is_request) noexcept {
  for (used = 0; used < bytes.size();) {
    const char c = static_cast<char>(bytes[used++]);
    if (++s.size > kMaxHeadSize) return HeadResult::kBad;
    // The empty line ends the head; a lone line feed counts as one (RFC 9112 section 2.2).
    const bool is_end = s.phase == kLastLine || (s.phase == kLineStart && c == '\n');
    if (is_end) return c == '\n' ? HeadResult::kDone : HeadResult::kBad;
    if (!step(s, c, is_request)) return HeadResult::kBad;
  }
  return HeadResult::kMore;
}

}  // namespace

HeadResult read_request(HeadState& state, base::ByteSpan bytes, std::size_t& used) noexcept {
  return read_head(state, bytes, used, true);
}

HeadResult read_response(HeadState& state, base::ByteSpan bytes, std::size_t& used) noexcept {
  if (state.size == 0) state.phase = kStatusVersion;
  return read_head(state, bytes, used, false);
}

}  // namespace merlon::lab::tcp
