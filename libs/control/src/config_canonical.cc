// SPDX-License-Identifier: Apache-2.0
#include "config_canonical.h"

#include <fmt/core.h>

#include <algorithm>

#include "config_value.h"
#include "merlon/base/address.h"

namespace merlon::control {

std::vector<std::string> canonical_values(const Key& key, const Node* node) {
  std::vector<std::string> out;
  const auto add = [&](std::string_view text) {
    const auto value = canonical_value(key, text, true);
    out.push_back(value ? *value : std::string(text));
  };
  if (node == nullptr) {
    std::string_view text = key.default_text;
    if (text.size() >= 2 && text.front() == '"') text = text.substr(1, text.size() - 2);
    if (!text.empty()) add(text);
  } else if (node->is_scalar()) {
    add(node->text);
  } else {
    for (const Node& item : node->items) add(item.text);
  }
  if (key.default_text == "any" && out.size() == 1 && out.front() == "any") out.clear();
  return out;
}

std::string quote_scalar(std::string_view text) {
  constexpr std::string_view kStart =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_/";
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_/.+-";
  const bool is_plain = !text.empty() && kStart.find(text.front()) != std::string_view::npos &&
                        text.find_first_not_of(kPlain) == std::string_view::npos &&
                        text != "null" && text != "Null" && text != "NULL";
  if (is_plain) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string join_values(const std::vector<std::string>& values) {
  if (values.empty()) return {};
  if (values.size() == 1) return quote_scalar(values.front());
  std::string out = "[";
  for (const std::string& v : values) out += (out.size() > 1 ? ", " : "") + quote_scalar(v);
  return out + ']';
}

std::string canonical_line(const Node& node, const SchemaNode& schema) {
  std::string out = "{";
  for (const SchemaNode& child : schema.children) {
    const Node* n = node.find(child.word);
    if (n != nullptr)
      out += fmt::format("{}{}: {}", out.size() > 1 ? ", " : "", child.word,
                         join_values(canonical_values(*child.key, n)));
  }
  return out + '}';
}

bool has_short_form(const Node& node, const SchemaNode& schema) noexcept {
  return schema.key != nullptr && schema.key->path == "objects.addresses.*" && !node.is_mapping();
}

Node long_form(const Node& node) {
  Node out;
  out.kind = Node::Kind::kMapping;
  out.key = node.key;
  out.key_place = node.key_place;
  Node ranges, members;
  ranges.kind = members.kind = Node::Kind::kSequence;
  ranges.key = "ranges";
  members.key = "members";
  const auto add = [&](const Node& n) {
    (base::parse_address_range(n.text) ? ranges : members).items.push_back(n);
  };
  if (node.is_scalar()) add(node);
  for (const Node& n : node.items) add(n);
  for (Node* part : {&ranges, &members})
    if (!part->items.empty()) out.items.push_back(std::move(*part));
  return out;
}

}  // namespace merlon::control
