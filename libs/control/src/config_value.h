// SPDX-License-Identifier: Apache-2.0
#pragma once
// Single values of a configuration file: from text, checked against their key, and back to
// canonical text. Pure functions, control-only. Errors carry message and hint; the caller adds the
// place.
#include <cstdint>
#include <string>
#include <string_view>

#include "merlon/base/result.h"
#include "merlon/base/time.h"
#include "merlon/control/schema.h"

namespace merlon::control {

[[nodiscard]] base::Result<std::int64_t> parse_integer(std::string_view text);
// Nanoseconds; units ns us ms s m h d, combined from large to small ("2h4m").
[[nodiscard]] base::Result<std::int64_t> parse_duration(std::string_view text);
// Bytes; k M G T are powers of 1000, KiB MiB GiB TiB of 1024; B may follow k M G T.
[[nodiscard]] base::Result<std::int64_t> parse_size(std::string_view text);
// A date is its first moment in UTC.
[[nodiscard]] base::Result<base::Nanos> parse_time(std::string_view text);
// Minute of the day, 0 to 1440.
[[nodiscard]] base::Result<std::int64_t> parse_clock(std::string_view text);
// Minutes from "+03:00", at most 14 hours.
[[nodiscard]] base::Result<std::int64_t> parse_utc_offset(std::string_view text);
[[nodiscard]] bool is_id(std::string_view text) noexcept;
[[nodiscard]] bool is_pci_address(std::string_view text) noexcept;

[[nodiscard]] std::string format_duration(std::int64_t nanoseconds);
[[nodiscard]] std::string format_size(std::int64_t bytes);
[[nodiscard]] std::string format_time(base::Nanos time);
[[nodiscard]] std::string format_clock(std::int64_t minute);
// "1 to 64", "10ms to 10d"; empty when the key has no range.
[[nodiscard]] std::string format_range(const Key& key);

// The canonical text of a value of that key; every error that one value alone can have. `is_plain`:
// without quotes.
[[nodiscard]] base::Result<std::string> canonical_value(const Key& key, std::string_view text,
                                                        bool is_plain);

}  // namespace merlon::control
