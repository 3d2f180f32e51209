// SPDX-License-Identifier: Apache-2.0
#pragma once
// The light tree of a configuration: scalars as written, each with its place. Built from the YAML
// library's events; what the house does not allow in a configuration (anchors, aliases, tags,
// several documents, duplicate keys, tabs) is reported here. control-only; about 100 bytes per
// value besides the text.
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "merlon/base/result.h"
#include "merlon/control/config_source.h"

namespace merlon::control {

struct Place {
  std::uint32_t line = 0, column = 0, end_column = 0;
  std::uint32_t file = 0;  // number in ConfigTree::files()
};

struct Node {
  enum class Kind : std::uint8_t { kNull, kScalar, kSequence, kMapping };
  Kind kind = Kind::kNull;
  bool is_plain = true;  // a scalar without quotes
  bool is_bad = false;   // already reported; later passes leave it out
  Place place;
  std::string_view text;  // of a scalar
  std::string_view key;   // of a mapping's item
  Place key_place;
  std::vector<Node> items;

  [[nodiscard]] bool is_scalar() const noexcept { return kind == Kind::kScalar; }
  [[nodiscard]] bool is_mapping() const noexcept { return kind == Kind::kMapping; }
  [[nodiscard]] bool is_sequence() const noexcept { return kind == Kind::kSequence; }
  // The mapping's item of that key, or nullptr.
  [[nodiscard]] const Node* find(std::string_view name) const noexcept;
  [[nodiscard]] Node* find(std::string_view name) noexcept;
};

inline constexpr unsigned kMaxDepth = 32;
inline constexpr std::size_t kMaxNodes = 4'000'000;  // values of one file

class ConfigTree {
 public:
  Node root;

  // Parses one text into a tree of its own; appends what is wrong to `errors`. False when no tree
  // could be made.
  bool parse(SourceFile source, Node& out, base::Errors& errors);
  // The same by the library alone, without the short way of yaml_lines.h.
  bool parse_slowly(SourceFile source, Node& out, base::Errors& errors);

  [[nodiscard]] base::SourcePos position(const Place& place) const;
  [[nodiscard]] const std::deque<SourceFile>& files() const noexcept { return files_; }
  // Keeps a text for nodes to point at.
  std::string_view keep(std::string text);

 private:
  friend class TreeBuilder;
  bool parse_quickly(std::uint32_t file, Node& out);
  bool parse_file(std::uint32_t file, Node& out, base::Errors& errors);
  std::deque<SourceFile> files_;  // addresses are stable: nodes point into the texts
  std::deque<std::string> kept_;
};

}  // namespace merlon::control
