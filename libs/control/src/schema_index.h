// SPDX-License-Identifier: Apache-2.0
#pragma once
// The schema as a tree for walking along with a configuration. immutable after the first use.
#include <string_view>
#include <vector>

#include "merlon/control/schema.h"

namespace merlon::control {

struct SchemaNode {
  const Key* key = nullptr;            // nullptr at the root
  std::string_view word;               // last word of the path; "*" and "[]" for elements
  std::vector<SchemaNode> children;    // fixed keys
  std::vector<SchemaNode> element;     // none or one: what * or [] stands for
  bool is_required_somewhere = false;  // a child is required

  [[nodiscard]] const SchemaNode* child(std::string_view name) const noexcept;
};

[[nodiscard]] const SchemaNode& schema_root();

// What a named element is called in messages: "port", "rule"; empty when it has no name of its own.
[[nodiscard]] std::string_view element_noun(const SchemaNode& container) noexcept;

// The candidate nearest to `word` when it is near enough to be a slip of the hand; else empty.
[[nodiscard]] std::string_view nearest(std::string_view word,
                                       const std::vector<std::string_view>& candidates);
// "did you mean \"x\"?" or "".
[[nodiscard]] std::string did_you_mean(std::string_view word,
                                       const std::vector<std::string_view>& candidates);

// The words of a list separated by single spaces.
[[nodiscard]] std::vector<std::string_view> split_words(std::string_view words);

}  // namespace merlon::control
