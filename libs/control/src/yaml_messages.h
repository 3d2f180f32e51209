// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the YAML library refuses, in the user's words. control-only.
#include <yaml-cpp/exceptions.h>

#include "merlon/base/result.h"
#include "yaml_tree.h"

namespace merlon::control {

// Length of the UTF-8 sequence at `at`; 0 when it is none (overlong forms and surrogates are none,
// RFC 3629 section 3).
[[nodiscard]] std::size_t utf8_length(std::string_view s, std::size_t at) noexcept;

// Refuses what must not reach the library: text that is not UTF-8, control characters, tabs in the
// indentation.
bool check_characters(const SourceFile& file, base::Errors& errors);

// The library's exception as an error at `place` (no place: the end of the file). `bracket` is the
// innermost open one.
[[nodiscard]] base::Error syntax_error(const YAML::Exception& exception, const SourceFile& file,
                                       Place place, const Place& bracket);

}  // namespace merlon::control
