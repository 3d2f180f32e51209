// SPDX-License-Identifier: Apache-2.0
#pragma once
// One form for values that mean the same: what diff compares and what canonical_text() writes. Pure
// functions, control-only.
#include <string>
#include <string_view>
#include <vector>

#include "schema_index.h"
#include "yaml_tree.h"

namespace merlon::control {

// The values of a leaf, each canonical; the default's when the node is absent. `any` alone is no
// value.
[[nodiscard]] std::vector<std::string> canonical_values(const Key& key, const Node* node);

// "a", "[a, b]", or "" for none; every value as it can stand in a file.
[[nodiscard]] std::string join_values(const std::vector<std::string>& values);

// The text as a YAML scalar that reads back as that text.
[[nodiscard]] std::string quote_scalar(std::string_view text);

// An element of a list of sections in one line: "{days: [mon, tue], from: "08:00"}".
[[nodiscard]] std::string canonical_line(const Node& node, const SchemaNode& schema);

// The short form of an address object as its long form; any other node as it is. The result points
// into `node`.
[[nodiscard]] Node long_form(const Node& node);
[[nodiscard]] bool has_short_form(const Node& node, const SchemaNode& schema) noexcept;

}  // namespace merlon::control
