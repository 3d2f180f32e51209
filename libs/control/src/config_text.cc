// SPDX-License-Identifier: Apache-2.0
// The canonical text of a configuration.
#include <fmt/core.h>

#include "config_canonical.h"
#include "merlon/control/config_diff.h"

namespace merlon::control {
namespace {

class Writer {
 public:
  std::string out;

  // `fills` adds absent keys with their defaults.
  void section(const SchemaNode& schema, const Node* node, std::size_t indent, bool fills) {
    for (const SchemaNode& child : schema.children) {
      if (child.word == "include") continue;
      item(child, node == nullptr ? nullptr : node->find(child.word), indent, fills);
    }
  }

 private:
  void item(const SchemaNode& schema, const Node* node, std::size_t indent, bool fills) {
    const Key& key = *schema.key;
    switch (key.type) {
      case KeyType::kSection:
        return fixed(schema, node, indent, fills);
      case KeyType::kNamed:
        return named(schema, node, indent, fills);
      case KeyType::kRecords:
      case KeyType::kItems:
        return records(schema, node, indent);
      default:
        if (node == nullptr && !fills) return;
        if (const auto values = canonical_values(key, node); !values.empty())
          line(indent, schema.word, join_values(values));
    }
  }

  void fixed(const SchemaNode& schema, const Node* node, std::size_t indent, bool fills) {
    const std::string_view path = schema.key->path;
    if (node == nullptr &&
        (!fills || path == "events.file" || path == "events.syslog" || path == "ports.*.pcap"))
      return;
    headed(
        indent, schema.word, [&] { section(schema, node, indent + 2, fills); },
        node != nullptr && path.starts_with("events."));
  }

  void named(const SchemaNode& schema, const Node* node, std::size_t indent, bool fills) {
    if (node == nullptr || node->items.empty()) return;
    const SchemaNode& element = schema.element.front();
    line(indent, schema.word, "");
    for (const Node& n : node->items) {
      if (n.is_mapping()) {
        headed(
            indent + 2, n.key, [&] { section(element, &n, indent + 4, fills); }, true);
      } else if (has_short_form(n, element)) {
        const Node parts = long_form(n);
        std::vector<std::string> values;
        for (const SchemaNode& child : element.children)
          if (const Node* part = parts.find(child.word); part != nullptr)
            for (std::string& v : canonical_values(*child.key, part))
              values.push_back(std::move(v));
        line(indent + 2, n.key, join_values(values));
      } else {
        line(indent + 2, n.key, join_values(canonical_values(*element.key, &n)));
      }
    }
  }

  void records(const SchemaNode& schema, const Node* node, std::size_t indent) {
    if (node == nullptr || node->items.empty()) return;
    line(indent, schema.word, "");
    for (const Node& n : node->items) {
      const std::size_t start = out.size();
      section(schema.element.front(), &n, indent + 4, false);
      if (out.size() == start) {
        out += fmt::format("{}- {{}}\n", std::string(indent + 2, ' '));
      } else {
        out[start + indent + 2] = '-';
      }
    }
  }

  // A head line with what `body` writes below it; nothing, or "{}", when that is nothing.
  template <class F>
  void headed(std::size_t indent, std::string_view word, F body, bool keeps_empty) {
    const std::size_t start = out.size();
    line(indent, word, "");
    const std::size_t head = out.size();
    body();
    if (out.size() != head) return;
    out.resize(start);
    if (keeps_empty) line(indent, word, "{}");
  }
  void line(std::size_t indent, std::string_view word, std::string_view value) {
    out += fmt::format("{}{}:{}{}\n", std::string(indent, ' '), quote_scalar(word),
                       value.empty() ? "" : " ", value);
  }
};

}  // namespace

std::string canonical_text(const LoadedConfig& config) {
  Writer writer;
  writer.section(schema_root(), config.tree == nullptr ? nullptr : &config.tree->root, 0, true);
  return std::move(writer.out);
}

}  // namespace merlon::control
