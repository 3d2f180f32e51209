// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the client counts. One writer, read after the end; memory is taken at start.
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "merlon/base/time.h"
#include "merlon/lab_model/histogram.h"

namespace merlon::lab::tcp {

// How a connection ended.
enum class Outcome : std::uint8_t {
  kCompleted,       // opened, every transaction done, both FINs exchanged
  kRefused,         // RST answered the SYN
  kUnreachable,     // ICMP answered the SYN
  kReset,           // RST in an open connection
  kConnectTimeout,  // SYN unanswered in all retries
  kTlsAlert,        // the server ended TLS by a fatal alert
  kTlsVerify,       // its certificate was not accepted
  kTlsBadRecord,    // a record or handshake message that may not be: changed, forged, out of place
  kTlsTruncated,    // FIN without close_notify, in the handshake or before the response's end
  kTlsTimeout,      // the handshake unanswered in all retries, or not complete in time
  kTransactionTimeout,  // data unanswered in all retries, or no response in time
  kCloseTimeout,        // FIN unanswered
  kBadResponse,         // not what a server may say, or a wrong byte in an object
  kClosedEarly,         // FIN before the response's end
  kTableFull,           // never opened: no room for it in the tester
  kUnfinished,          // open when the drain was over
  kCount,
};
inline constexpr std::size_t kOutcomeCount = static_cast<std::size_t>(Outcome::kCount);

// "completed", "refused", ...
std::string_view outcome_name(Outcome outcome) noexcept;

// Counts of a set of connections and of their transactions.
struct Cohort {
  std::uint64_t attempted = 0, established = 0;
  std::uint64_t handshakes = 0, resumptions = 0;  // of TLS; the second are among the first
  std::array<std::uint64_t, kOutcomeCount> outcomes{};
  std::uint64_t transactions_attempted = 0, transactions_done = 0, transactions_failed = 0;

  [[nodiscard]] std::uint64_t of(Outcome o) const noexcept {
    return outcomes[static_cast<std::size_t>(o)];
  }
  // All that ended otherwise than complete.
  [[nodiscard]] std::uint64_t failed() const noexcept;
};

// Events of one second since the start.
struct Second {
  std::uint64_t attempted = 0, established = 0, completed = 0, failed = 0, resets = 0;
  std::uint64_t handshakes = 0, transactions = 0, transactions_failed = 0, bytes = 0;
  std::uint32_t concurrent = 0;  // largest seen
};

struct Tally {
  explicit Tally(std::size_t seconds) : series(seconds) {}

  // Everything, and what has its intended start within sustain.
  Cohort all, sustain;
  // What happened within sustain, whenever it began.
  Second during_sustain;
  std::uint64_t concurrent_sum = 0, concurrent_samples = 0;  // of sustain
  std::uint32_t concurrent_minimum = 0xffffffff, concurrent_maximum = 0, sustained_maximum = 0;
  std::vector<Second> series;
  // Of sustain, ns. From the intended time: connect (to SYN-ACK), first and last byte; from the
  // real one: connect and last byte of the request.
  // Handshakes of TLS: from the SYN's intended time, and from the ClientHello's.
  Histogram secured, handshake;
  Histogram connect, first_byte, last_byte, connect_actual, last_byte_actual, lateness;
};

}  // namespace merlon::lab::tcp
