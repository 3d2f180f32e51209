// SPDX-License-Identifier: Apache-2.0
#pragma once
// Event records as EVE lines: one JSON object per event, with the field names that SIEM pipelines
// read. Pure functions of a record and the names behind its numbers; the whole field list with its
// meaning is in reference.h. An EveFormatter is immutable and may be shared; format calls belong to
// the writer's thread because Names is asked there. Cost: well under 1 µs per flow event without
// community_id (NOTES.md).
#include <cstdint>
#include <string>
#include <string_view>

#include "merlon/base/event.h"

namespace merlon::telemetry {

// The coarse state of a flow in EVE.
enum class FlowState : std::uint8_t { kNew, kEstablished, kClosed };

// Words behind the numbers of a record; implemented by the engine. Called on the thread that
// formats, so an implementation must be safe against a commit on another thread. A returned view
// must stay valid until the formatting call returns. An empty answer leaves the field out, or
// prints the number where one is needed.
class Names {
 public:
  virtual ~Names() = default;
  [[nodiscard]] virtual std::string_view port(std::uint16_t number) const = 0;
  // Zone numbers belong to a snapshot; `generation` says which one decided.
  [[nodiscard]] virtual std::string_view zone(std::uint16_t number,
                                              std::uint32_t generation) const = 0;
  // The rule's id as the operator wrote it; slot 0 is the default action.
  [[nodiscard]] virtual std::string_view rule(std::uint32_t slot) const = 0;
  // Free text that the operator attached to the rule.
  [[nodiscard]] virtual std::string_view rule_reason(std::uint32_t /*slot*/) const { return {}; }
  // Detailed state of a session, "time_wait".
  [[nodiscard]] virtual std::string_view session_state(std::uint8_t state) const = 0;
  [[nodiscard]] virtual FlowState flow_state(std::uint8_t state) const = 0;
};

struct EveOptions {
  std::string host;                  // sensor name; empty: no `host` field
  bool community_id = false;         // costs one SHA-1 block per event
  std::uint16_t community_seed = 0;  // equal on every sensor that is to be joined
};

class EveFormatter {
 public:
  // `names` must outlive the formatter.
  EveFormatter(const Names& names, const EveOptions& options);

  // Appends one JSON object without a line end. Allocates only to grow `out`.
  void append(const base::EventRecord& record, std::string& out) const;

 private:
  const Names& names_;
  EveOptions options_;
  std::string host_json_;  // `"host":"..."` or empty
};

// "TCP", "UDP", "ICMP", "IPv6-ICMP", ...; three digits for numbers without a name.
std::string_view protocol_name(std::uint8_t protocol) noexcept;
// "permit", "drop", "reject".
std::string_view action_name(base::Action action) noexcept;
// "timeout", "tcp_fin", ...; "none" for a session that lives.
std::string_view session_end_name(base::SessionEnd end) noexcept;
inline constexpr unsigned kSessionEndCount = 9;

// Community ID version 1, "1:" and 28 characters of base64: SHA-1 over seed, ordered addresses,
// protocol and ports (ICMP type and code take the place of ports).
std::string community_id(const base::EventRecord& record, std::uint16_t seed);

// Appends `text` as a JSON string with quotes. Bytes that are no UTF-8 become U+FFFD, so that a
// line is always valid JSON.
void append_json_string(std::string_view text, std::string& out);

}  // namespace merlon::telemetry
