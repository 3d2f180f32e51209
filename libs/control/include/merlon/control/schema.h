// SPDX-License-Identifier: Apache-2.0
#pragma once
// The declaration of every configuration key, once. Loader, defaults, JSON schema, completion,
// reference page and `explain` are made from this table. immutable.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace merlon::control {

enum class KeyType : std::uint8_t {
  kSection,  // fixed keys
  kNamed,    // a mapping from names of the user's choice to sections
  kRecords,  // a list of sections, each with a unique `id`
  kItems,    // a list of sections without a name
  kBool,
  kInteger,
  kDuration,    // 250ms 30s 5m 2h 1d, also combined: 2h4m
  kSize,        // 10k 1M 64MiB
  kChoice,      // one of `choices`
  kText,        // free text
  kId,          // letter, then letters, digits and _ - .
  kPath,        // file system path
  kName,        // a name of something else, or a literal; may be negated when `can_negate`
  kTime,        // 2026-12-31 or 2026-12-31T23:59:59Z
  kClock,       // "08:00" to "24:00"
  kRange,       // address, prefix or range
  kPciAddress,  // 0000:01:00.0
};

// When a changed value takes effect.
enum class Reload : std::uint8_t {
  kLive,         // at the commit, for every packet
  kNewSessions,  // at the commit, for sessions that start later
  kRestart,      // at the next start of the daemon
};

// `path` uses * for a name of the user's choice and [] for a list element: "ports.*.mtu",
// "policy.rules[].action".
struct Key {
  std::string_view path;
  KeyType type = KeyType::kSection;
  std::string_view help;            // one sentence
  std::string_view default_text{};  // as written in a file; empty: none
  std::string_view unit{};
  std::int64_t
      min = 0,
      max = 0;  // kInteger, kDuration in nanoseconds, kSize in bytes; kText: longest in bytes
  std::string_view choices{};  // separated by one space
  Reload reload = Reload::kLive;
  bool is_list = false;  // a list of such values; one value alone is accepted too
  bool is_required = false;
  bool can_negate = false;  // a leading "!" is accepted
  std::string_view example{};
  std::string_view since = "0.1";
};

// In the order of the reference page; a section stands before its keys.
[[nodiscard]] std::span<const Key> schema() noexcept;
// By path; names and indexes are accepted for * and []: "ports.wan.mtu", "policy.rules[3].action".
[[nodiscard]] const Key* find_key(std::string_view path) noexcept;

[[nodiscard]] std::string_view key_type_name(KeyType type) noexcept;
[[nodiscard]] std::string_view reload_name(
    Reload reload) noexcept;  // live | new-sessions | restart

// `merlon config explain PATH`: everything that is declared of one key; for an unknown path the
// hint names the nearest.
[[nodiscard]] std::string explain_key(std::string_view path);
// Key paths or choices that may follow `prefix`, for completion.
[[nodiscard]] std::vector<std::string> complete_key(std::string_view prefix);
// JSON Schema (2020-12) of a configuration file.
[[nodiscard]] std::string json_schema();
// docs/reference/configuration.md.
[[nodiscard]] std::string configuration_reference();

}  // namespace merlon::control
