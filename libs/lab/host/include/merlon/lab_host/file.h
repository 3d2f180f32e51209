// SPDX-License-Identifier: Apache-2.0
#pragma once
// Small files read and written whole: /proc, /sys, configurations of devices. control-only, any
// thread.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "merlon/base/result.h"

namespace merlon::lab {

// The content up to 16 MiB; nothing when it can't be read. Files of /proc have no size, so it reads
// to the end.
std::optional<std::string> read_file(const std::string& path);
// The first line without its end; empty when there is none.
std::string read_line(const std::string& path);

// Replaces the file. kIo with what to do when the disk is full or the folder is missing.
base::Result<void> write_file(const std::string& path, std::string_view content);

// Parts of a text between white space, or between `separator`; with a separator empty parts count.
std::vector<std::string_view> split_words(std::string_view text);
std::vector<std::string_view> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);
// Decimal digits only, all of the text.
std::optional<std::uint64_t> parse_count(std::string_view text);

}  // namespace merlon::lab
