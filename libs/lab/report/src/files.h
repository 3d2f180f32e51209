// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "merlon/base/result.h"

namespace merlon::lab::report {

// Writes beside `path`, syncs and renames: a reader meets the old file or the new one. kIo with the
// system's reason; nothing is left behind then. control-only.
base::Result<void> write_file(const std::string& path, std::string_view text);

// kNotFound, kCapacity beyond `limit` bytes, kIo.
base::Result<std::string> read_file(const std::string& path, std::size_t limit);

}  // namespace merlon::lab::report
