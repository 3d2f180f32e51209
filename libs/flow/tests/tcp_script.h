// SPDX-License-Identifier: Apache-2.0
#pragma once
// A small language for TCP scenarios. Steps are separated by ';', each is
//
//   DIRECTION FLAGS SEQ[:LENGTH] [ACK] [wWINDOW] [sSHIFT] = EXPECTATION [STATE]
//
// DIRECTION is > (initiator) or < (responder); FLAGS of S A F R P U, or - for none; SEQ and ACK
// count from each side's own initial sequence number; WINDOW defaults to 65535, SHIFT (window scale
// option) to none. EXPECTATION is `ok`, `open`, `replace` or a drop reason's name. STATE is
// session_state_name() afterwards.
#include <charconv>
#include <sstream>
#include <string>

#include "merlon/flow/session_table.h"
#include "merlon/flow/tcp.h"

namespace merlon::flow::testing {

struct TcpStep {
  unsigned side = 0;
  std::uint8_t flags = 0;
  std::int64_t seq = 0, ack = 0;
  std::uint32_t length = 0, window = 65'535;
  int shift = -1;
  std::string expectation, state;
};

inline TcpStep parse_step(const std::string& text) {
  TcpStep step;
  std::istringstream in(text);
  std::string word;
  in >> word;
  step.side = word == "<" ? 1 : 0;
  in >> word;
  for (const char c : word) {
    static constexpr std::string_view kLetters = "FSRPAU";
    const auto bit = kLetters.find(c);
    if (bit != std::string_view::npos)
      step.flags = static_cast<std::uint8_t>(step.flags | 1U << bit);
  }
  in >> word;
  step.seq = std::stoll(word);
  if (const auto colon = word.find(':'); colon != std::string::npos)
    step.length = static_cast<std::uint32_t>(std::stoul(word.substr(colon + 1)));
  while (in >> word && word != "=") {
    if (word[0] == 'w')
      step.window = static_cast<std::uint32_t>(std::stoul(word.substr(1)));
    else if (word[0] == 's')
      step.shift = std::stoi(word.substr(1));
    else
      step.ack = std::stoll(word);
  }
  in >> step.expectation >> step.state;
  return step;
}

// One session driven by steps; `isn` are the sequence numbers that both sides count from.
class TcpScript {
 public:
  TcpScript(std::uint32_t isn0, std::uint32_t isn1, const TcpOptions& o)
      : options(o), isn_{isn0, isn1} {}

  // What happened, in the words of EXPECTATION.
  std::string play(const TcpStep& step) {
    packet::Headers h;
    h.kind = packet::Kind::kTcp;
    h.tcp_flags = step.flags;
    h.tcp_sequence = isn_[step.side] + static_cast<std::uint32_t>(step.seq);
    h.tcp_acknowledgment = (step.flags & packet::kTcpAck) != 0
                               ? isn_[step.side ^ 1] + static_cast<std::uint32_t>(step.ack)
                               : 0;
    h.tcp_window = static_cast<std::uint16_t>(step.window);
    h.payload_length = step.length;
    // MSS and SACK-permitted before the scale, as real stacks send them.
    std::uint8_t bytes[] = {2, 4, 5, 0xb4, 4, 2, 1, 3, 3, static_cast<std::uint8_t>(step.shift)};
    const base::ByteSpan list(bytes, step.shift >= 0 ? sizeof bytes : 6);
    if (session.state == SessionState::kFree) return open(h, list);
    TrackVerdict v = TrackVerdict::forward();
    is_fast = track_tcp_fast(session, h, step.side);
    if (!is_fast) v = track_tcp_slow(session, h, step.side, list, options, counters);
    is_refreshing = v.is_refreshing;
    if (v.what == TrackVerdict::What::kForward) ++session.packets[step.side];
    if (v.what == TrackVerdict::What::kDrop) return std::string(base::drop_reason_name(v.reason));
    return v.what == TrackVerdict::What::kReplace ? "replace" : "ok";
  }

  TcpOptions options;
  Session session{};
  TableCounters counters{};
  bool is_fast = false, is_refreshing = false;

 private:
  std::string open(const packet::Headers& h, base::ByteSpan list) {
    const TcpOpening o = tcp_may_open(h, options);
    if (o.reason != base::DropReason::kNone) return std::string(base::drop_reason_name(o.reason));
    tcp_start(session, h, list);
    session.tcp_flags_seen[0] = h.tcp_flags;
    session.packets[0] = 1;
    return "open";
  }

  std::uint32_t isn_[2];
};

}  // namespace merlon::flow::testing
