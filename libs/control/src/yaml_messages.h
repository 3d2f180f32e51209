// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the YAML library refuses, in the user's words. control-only.
#include <yaml-cpp/exceptions.h>

#include "merlon/base/result.h"
#include "yaml_tree.h"

namespace merlon::control {

// Refuses what must not reach the library: text that is not UTF-8, control characters, tabs in the
// indentation.
bool check_characters(const SourceFile& file, base::Errors& errors);

// The library's exception as an error at `place` (no place: the end of the file).
[[nodiscard]] base::Error syntax_error(const YAML::Exception& exception, const SourceFile& file,
                                       Place place);

}  // namespace merlon::control
