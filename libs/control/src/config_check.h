// SPDX-License-Identifier: Apache-2.0
#pragma once
// The walk of a configuration along the schema: unknown keys, types, ranges, missing keys, repeated
// ids. Marks bad nodes so that later passes leave them out. control-only.
#include "merlon/base/result.h"
#include "yaml_tree.h"

namespace merlon::control {

// A text of nothing but errors would take minutes, and gigabytes to tell them all.
inline constexpr std::size_t kMaxErrors = 1000;
// Leaves as many, and says that there are more.
void limit_errors(base::Errors& errors);

// False when it stopped at kMaxErrors: what it has not seen must not be used.
bool check_tree(ConfigTree& tree, base::Errors& errors);

// In the order of the files as they were read, then by line and column.
void sort_by_place(base::Errors& errors, const Bundle& sources);

}  // namespace merlon::control
