// SPDX-License-Identifier: Apache-2.0
#include "sctp.h"

namespace merlon::flow {

namespace {

using base::DropReason;

enum Chunk : std::uint8_t {  // RFC 9260 section 3.2
  kData = 0,
  kInit = 1,
  kInitAck = 2,
  kSack = 3,
  kHeartbeat = 4,
  kHeartbeatAck = 5,
  kAbort = 6,
  kShutdown = 7,
  kShutdownAck = 8,
  kError = 9,
  kCookieEcho = 10,
  kCookieAck = 11,
  kShutdownComplete = 14,
};
constexpr std::uint8_t kReflected = 1;  // T bit of ABORT and SHUTDOWN COMPLETE

struct First {
  bool is_whole = false;
  std::uint8_t type = 0, flags = 0;
  std::uint32_t tag = 0, initiate_tag = 0;
};

First read_first(base::ByteSpan sctp) noexcept {
  First f;
  base::Reader r(sctp);
  r.skip(4);
  f.tag = r.be32();
  r.skip(4);
  f.type = r.u8();
  f.flags = r.u8();
  r.skip(2);
  if (r.failed()) return f;
  if (f.type == kInit || f.type == kInitAck) f.initiate_tag = r.be32();
  f.is_whole = !r.failed();
  return f;
}

bool is_known(const Session& s, unsigned side) noexcept { return s.tcp[side].max_window != 0; }
void set_tag(Session& s, unsigned side, std::uint32_t tag) noexcept { s.tcp[side] = {tag, 0, 1}; }

bool has_right_tag(const Session& s, const First& f, unsigned side) noexcept {
  if (f.type == kInit) return f.tag == 0;  // section 8.5.1
  if (!is_known(s, side) || f.tag == s.tcp[side].end) return true;
  const bool may_reflect =
      (f.type == kAbort || f.type == kShutdownComplete) && (f.flags & kReflected) != 0;
  return may_reflect && is_known(s, side ^ 1) && f.tag == s.tcp[side ^ 1].end;
}

TrackVerdict on_opening(Session& s, const First& f, unsigned side) noexcept {
  switch (f.type) {
    case kInit:
      set_tag(s, side ^ 1, f.initiate_tag);
      return TrackVerdict::forward();
    case kInitAck:
      if (!is_known(s, side)) break;  // no INIT asked for it
      set_tag(s, side ^ 1, f.initiate_tag);
      return TrackVerdict::forward();
    case kCookieEcho:
      if (!is_known(s, side)) break;
      return TrackVerdict::forward();
    case kCookieAck:
      if (!is_known(s, side) || !is_known(s, side ^ 1)) break;
      s.state = SessionState::kSctpEstablished;
      return TrackVerdict::forward();
    case kHeartbeat:
      if (side == 1) break;
      return TrackVerdict::forward();
    case kHeartbeatAck:
      if (side == 0) break;
      s.state = SessionState::kSctpEstablished;
      return TrackVerdict::forward();
    case kAbort:
      s.state = SessionState::kSctpShutdown;
      return TrackVerdict::forward();
    case kError:  // stale cookie
      return TrackVerdict::forward();
    default:
      break;
  }
  return TrackVerdict::drop(DropReason::kSctpState);
}

}  // namespace

bool sctp_may_open(base::ByteSpan sctp) noexcept {
  const First f = read_first(sctp);
  if (!f.is_whole) return false;
  return (f.type == kInit && f.tag == 0 && f.initiate_tag != 0) || f.type == kHeartbeat;
}

void sctp_start(Session& s, base::ByteSpan sctp) noexcept {
  const First f = read_first(sctp);
  if (f.type == kInit)
    set_tag(s, 1, f.initiate_tag);
  else
    set_tag(s, 0, f.tag);
}

TrackVerdict track_sctp(Session& s, base::ByteSpan sctp, unsigned side) noexcept {
  const First f = read_first(sctp);
  const bool is_init = f.type == kInit || f.type == kInitAck;
  if (!f.is_whole || (is_init && f.initiate_tag == 0) || !has_right_tag(s, f, side))
    return TrackVerdict::drop(DropReason::kSctpState);
  if (s.state == SessionState::kSctpInit) return on_opening(s, f, side);
  if (f.type == kInit) {
    if (s.state == SessionState::kSctpShutdown) return TrackVerdict::replace();
    // A restart (section 5.2.2): the INIT ACK and all that follows carry new tags, which a sender
    // of one blind INIT must not choose for us. The tags count as unknown from here on.
    s.tcp[0].max_window = s.tcp[1].max_window = 0;
    return TrackVerdict::pass();
  }
  if (f.type == kShutdown || f.type == kShutdownAck || f.type == kShutdownComplete ||
      f.type == kAbort)
    s.state = SessionState::kSctpShutdown;
  return TrackVerdict::forward();
}

}  // namespace merlon::flow
