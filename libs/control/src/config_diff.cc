// SPDX-License-Identifier: Apache-2.0
#include "merlon/control/config_diff.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "config_canonical.h"

namespace merlon::control {
namespace {

// Equal as written; spares most objects the canonical comparison.
bool is_same_text(const Node& a, const Node& b) {
  if (a.kind != b.kind || a.text != b.text || a.key != b.key || a.items.size() != b.items.size())
    return false;
  for (std::size_t i = 0; i < a.items.size(); ++i)
    if (!is_same_text(a.items[i], b.items[i])) return false;
  return true;
}

// Sections whose presence alone means something.
bool is_optional_section(const Key& key) noexcept {
  return key.path == "events.file" || key.path == "events.syslog" || key.path == "ports.*.pcap";
}

std::string_view id_of(const Node& node) {
  const Node* id = node.find("id");
  return id == nullptr ? std::string_view() : id->text;
}

class Differ {
 public:
  std::vector<Change> changes;

  void section(const SchemaNode& schema, const Node* a, const Node* b, const std::string& path,
               const std::string& object) {
    for (const SchemaNode& child : schema.children) {
      if (child.word == "version" || child.word == "include") continue;
      const Node* x = a == nullptr ? nullptr : a->find(child.word);
      const Node* y = b == nullptr ? nullptr : b->find(child.word);
      if (x == nullptr && y == nullptr) continue;
      any(child, x, y,
          path.empty() ? std::string(child.word) : fmt::format("{}.{}", path, child.word), object);
    }
  }

 private:
  void any(const SchemaNode& schema, const Node* a, const Node* b, const std::string& path,
           const std::string& object) {
    if (a != nullptr && b != nullptr && is_same_text(*a, *b)) return;
    switch (schema.key->type) {
      case KeyType::kSection:
        if (is_optional_section(*schema.key) && (a == nullptr || b == nullptr))
          return add(a == nullptr ? ChangeKind::kAdded : ChangeKind::kRemoved,
                     object.empty() ? path : object, path,
                     object.empty() ? std::string_view() : schema.word, *schema.key);
        return address_or_section(schema, a, b, path, object);
      case KeyType::kNamed:
        return named(schema, a, b, path);
      case KeyType::kRecords:
        return records(schema, a, b, path);
      case KeyType::kItems:
        return lines(schema, a, b, path, object);
      default:
        return leaf(schema, a, b, path, object);
    }
  }

  void address_or_section(const SchemaNode& schema, const Node* a, const Node* b,
                          const std::string& path, const std::string& object) {
    Node long_a, long_b;
    if (a != nullptr && has_short_form(*a, schema)) long_a = long_form(*a), a = &long_a;
    if (b != nullptr && has_short_form(*b, schema)) long_b = long_form(*b), b = &long_b;
    section(schema, a, b, path, object);
  }

  void named(const SchemaNode& schema, const Node* a, const Node* b, const std::string& path) {
    const SchemaNode& element = schema.element.front();
    const std::string_view noun = element_noun(schema);
    std::unordered_map<std::string_view, const Node*> before, after;
    if (a != nullptr)
      for (const Node& n : a->items) before.emplace(n.key, &n);
    if (b != nullptr)
      for (const Node& n : b->items) after.emplace(n.key, &n);
    if (a != nullptr)
      for (const Node& n : a->items)
        if (!after.contains(n.key)) whole(ChangeKind::kRemoved, noun, n.key, path, *schema.key);
    if (b == nullptr) return;
    for (const Node& n : b->items) {
      const auto found = before.find(n.key);
      if (found == before.end()) {
        whole(ChangeKind::kAdded, noun, n.key, path, *schema.key);
      } else {
        any(element, found->second, &n, fmt::format("{}.{}", path, n.key),
            fmt::format("{} {}", noun, n.key));
      }
    }
  }

  void records(const SchemaNode& schema, const Node* a, const Node* b, const std::string& path) {
    static const Node none;
    const Node& x = a == nullptr ? none : *a;
    const Node& y = b == nullptr ? none : *b;
    const SchemaNode& element = schema.element.front();
    const std::string_view noun = element_noun(schema);
    std::unordered_map<std::string_view, std::size_t> before, after;
    before.reserve(x.items.size());
    after.reserve(y.items.size());
    for (std::size_t i = 0; i < x.items.size(); ++i) before.emplace(id_of(x.items[i]), i);
    for (std::size_t i = 0; i < y.items.size(); ++i) after.emplace(id_of(y.items[i]), i);
    for (const Node& n : x.items)
      if (!after.contains(id_of(n))) whole(ChangeKind::kRemoved, noun, id_of(n), path, *schema.key);

    std::vector<std::size_t> old_places;  // of the common records, in the candidate's order
    for (const Node& n : y.items)
      if (const auto found = before.find(id_of(n)); found != before.end())
        old_places.push_back(found->second);
    const std::vector<bool> stays = longest_rising(old_places);
    std::size_t common = 0;
    std::string_view last;
    for (const Node& n : y.items) {
      const std::string_view id = id_of(n);
      const auto found = before.find(id);
      if (found == before.end()) {
        whole(ChangeKind::kAdded, noun, id, path, *schema.key);
      } else {
        if (!stays[common++]) {
          whole(ChangeKind::kMoved, noun, id, path, *schema.key);
          changes.back().after = last;
        }
        const Node& old = x.items[found->second];
        if (!is_same_text(old, n))
          section(element, &old, &n, fmt::format("{}[{}]", path, id),
                  fmt::format("{} {}", noun, id));
      }
      last = id;
    }
  }

  // Marks the members of a longest rising subsequence: what is not in it has moved.
  static std::vector<bool> longest_rising(const std::vector<std::size_t>& values) {
    constexpr std::size_t kNone = ~std::size_t{0};
    std::vector<std::size_t> ends,
        previous(values.size(), kNone);  // ends: index of the least end per length
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto at = std::lower_bound(ends.begin(), ends.end(), values[i],
                                       [&](std::size_t e, std::size_t v) { return values[e] < v; });
      if (at != ends.begin()) previous[i] = *(at - 1);
      if (at == ends.end()) {
        ends.push_back(i);
      } else {
        *at = i;
      }
    }
    std::vector<bool> out(values.size(), false);
    for (std::size_t i = ends.empty() ? kNone : ends.back(); i != kNone; i = previous[i])
      out[i] = true;
    return out;
  }

  void lines(const SchemaNode& schema, const Node* a, const Node* b, const std::string& path,
             const std::string& object) {
    const auto text = [&](const Node* node) {
      std::string out;
      if (node != nullptr)
        for (const Node& n : node->items)
          out += (out.empty() ? "" : ", ") + canonical_line(n, schema.element.front());
      return "[" + out + "]";
    };
    changed(schema, text(a), text(b), path, object);
  }

  void leaf(const SchemaNode& schema, const Node* a, const Node* b, const std::string& path,
            const std::string& object) {
    const auto x = canonical_values(*schema.key, a), y = canonical_values(*schema.key, b);
    if (x != y) changed(schema, join_values(x), join_values(y), path, object);
  }

  void changed(const SchemaNode& schema, std::string before, std::string after,
               const std::string& path, const std::string& object) {
    if (before == after) return;
    add(ChangeKind::kChanged, object, path, schema.word == "*" ? std::string_view() : schema.word,
        *schema.key);
    changes.back().before = std::move(before);
    changes.back().after = std::move(after);
  }
  void whole(ChangeKind kind, std::string_view noun, std::string_view name, const std::string& path,
             const Key& key) {
    const bool is_record = key.type == KeyType::kRecords;
    add(kind, fmt::format("{} {}", noun, name),
        is_record ? fmt::format("{}[{}]", path, name) : fmt::format("{}.{}", path, name), "", key);
  }
  void add(ChangeKind kind, std::string object, std::string path, std::string_view key,
           const Key& declared) {
    changes.push_back(Change{.kind = kind,
                             .object = std::move(object),
                             .path = std::move(path),
                             .key = std::string(key),
                             .before = {},
                             .after = {},
                             .needs_restart = declared.reload == Reload::kRestart});
  }
};

std::string_view kind_name(ChangeKind kind) noexcept {
  switch (kind) {
    case ChangeKind::kAdded:
      return "added";
    case ChangeKind::kRemoved:
      return "removed";
    case ChangeKind::kChanged:
      return "changed";
    case ChangeKind::kMoved:
      return "moved";
  }
  return "changed";
}

}  // namespace

std::vector<Change> diff(const LoadedConfig& before, const LoadedConfig& after) {
  Differ differ;
  const Node* a = before.tree == nullptr ? nullptr : &before.tree->root;
  const Node* b = after.tree == nullptr ? nullptr : &after.tree->root;
  differ.section(schema_root(), a, b, "", "");
  return std::move(differ.changes);
}

std::string format_changes(const std::vector<Change>& changes) {
  std::string out;
  for (const Change& c : changes) {
    const std::string what = c.key.empty()      ? c.object
                             : c.object.empty() ? c.path
                                                : fmt::format("{}: {}", c.object, c.key);
    const std::string name = c.object.empty() ? c.path : what;
    switch (c.kind) {
      case ChangeKind::kAdded:
        out += fmt::format("+ {}", name);
        break;
      case ChangeKind::kRemoved:
        out += fmt::format("- {}", name);
        break;
      case ChangeKind::kMoved:
        out += c.after.empty() ? fmt::format("> {}: moved to the front", name)
                               : fmt::format("> {}: moved after {} {}", name,
                                             c.object.substr(0, c.object.find(' ')), c.after);
        break;
      case ChangeKind::kChanged:
        out += fmt::format("~ {}{}{} → {}", name, c.object.empty() || c.key.empty() ? ": " : " ",
                           c.before.empty() ? "(none)" : c.before,
                           c.after.empty() ? "(none)" : c.after);
        break;
    }
    out += c.needs_restart ? "  (takes effect at restart)\n" : "\n";
  }
  return out;
}

std::string changes_to_json(const std::vector<Change>& changes) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Change& c : changes) {
    nlohmann::ordered_json j{{"kind", kind_name(c.kind)}, {"path", c.path}};
    if (!c.object.empty()) j["object"] = c.object;
    if (!c.key.empty()) j["key"] = c.key;
    if (c.kind == ChangeKind::kChanged) j["before"] = c.before;
    if (c.kind == ChangeKind::kChanged || c.kind == ChangeKind::kMoved) j["after"] = c.after;
    if (c.needs_restart) j["needs_restart"] = true;
    list.push_back(std::move(j));
  }
  return list.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::vector<std::string> restart_keys(const std::vector<Change>& changes) {
  std::vector<std::string> out;
  for (const Change& c : changes)
    if (c.needs_restart) out.push_back(c.path);
  return out;
}

}  // namespace merlon::control
