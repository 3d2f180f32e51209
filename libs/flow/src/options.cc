// SPDX-License-Identifier: Apache-2.0
#include "merlon/flow/options.h"

namespace merlon::flow {

namespace {

constexpr std::string_view kNames[kSessionStateCount] = {
    "free",          "syn_sent",        "syn_received",  "established", "fin_wait",
    "closing",       "time_wait",       "reset",         "midstream",   "udp_unreplied",
    "udp_replied",   "udp_stream",      "icmp_query",    "sctp_init",   "sctp_established",
    "sctp_shutdown", "other_unreplied", "other_replied", "denied"};

}  // namespace

std::string_view session_state_name(SessionState state) noexcept {
  const auto n = static_cast<unsigned>(state);
  return n < kSessionStateCount ? kNames[n] : std::string_view("unknown");
}

Timeouts default_timeouts() noexcept {
  constexpr base::Ticks kSecond = 1'000;
  Timeouts t{};
  const auto set = [&t](SessionState s, base::Ticks seconds) {
    t[static_cast<unsigned>(s)] = seconds * kSecond;
  };
  // RFC 5382 REQ-5: transitory 4 minutes, established 2 hours 4 minutes. A half-closed connection
  // is in full use in its other direction.
  set(SessionState::kSynSent, 240);
  set(SessionState::kSynReceived, 240);
  set(SessionState::kEstablished, 7'440);
  set(SessionState::kFinWait, 7'440);
  set(SessionState::kClosing, 240);
  set(SessionState::kTimeWait, 240);  // 2 MSL, RFC 9293 section 3.4.2
  set(SessionState::kReset, 10);
  set(SessionState::kMidstream, 240);
  // RFC 4787 REQ-5: no less than 2 minutes, 5 recommended.
  set(SessionState::kUdpUnreplied, 120);
  set(SessionState::kUdpReplied, 120);
  set(SessionState::kUdpStream, 300);
  set(SessionState::kIcmpQuery, 60);  // RFC 5508 REQ-1
  set(SessionState::kSctpInit, 240);
  set(SessionState::kSctpEstablished, 7'440);
  set(SessionState::kSctpShutdown, 30);
  set(SessionState::kOtherUnreplied, 120);
  set(SessionState::kOtherReplied, 300);
  set(SessionState::kDenied, 1);
  return t;
}

}  // namespace merlon::flow
