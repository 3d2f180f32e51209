// SPDX-License-Identifier: Apache-2.0
#pragma once
// The walk of a configuration along the schema: unknown keys, types, ranges, missing keys, repeated
// ids. Marks bad nodes so that later passes leave them out. control-only.
#include "merlon/base/result.h"
#include "yaml_tree.h"

namespace merlon::control {

void check_tree(ConfigTree& tree, base::Errors& errors);

}  // namespace merlon::control
