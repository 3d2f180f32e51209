// SPDX-License-Identifier: Apache-2.0
#include "config_check.h"

#include <fmt/core.h>

#include <algorithm>
#include <unordered_map>

#include "config_value.h"
#include "schema_index.h"

namespace merlon::control {

using base::Errc;
using base::Error;
using base::Errors;

namespace {

constexpr std::size_t kMaxListLength = 100'000;

// Thrown at the last error that is told.
struct Full {};

class Checker {
 public:
  Checker(const ConfigTree& tree, Errors& errors) : tree_(tree), errors_(errors) {}

  void section(Node& node, const SchemaNode& schema) {
    if (!node.is_mapping()) return wrong_shape(node, "must be a section of KEY: VALUE lines");
    std::vector<std::string_view> meant;  // keys that an unknown one probably stands for
    for (Node& item : node.items) {
      const SchemaNode* child = schema.child(item.key);
      path_.push_back({item.key, kNoIndex});
      if (child == nullptr) {
        meant.push_back(unknown_key(item, schema));
      } else if (!item.is_bad) {
        value(item, *child);
      }
      path_.pop_back();
    }
    for (const SchemaNode& child : schema.children)
      if (child.key != nullptr && child.key->is_required && node.find(child.word) == nullptr &&
          std::find(meant.begin(), meant.end(), child.word) == meant.end())
        missing_key(node, *child.key, child.word);
  }

 private:
  static constexpr std::size_t kNoIndex = ~std::size_t{0};
  struct Step {
    std::string_view word;
    std::size_t index;
  };

  void value(Node& node, const SchemaNode& schema) {
    const Key& key = *schema.key;
    if (node.kind == Node::Kind::kNull) {
      const bool is_list = key.type == KeyType::kRecords || key.type == KeyType::kItems;
      const bool is_section = key.type == KeyType::kSection || key.type == KeyType::kNamed;
      return fail(node, node.key_place.line != 0 ? node.key_place : node.place,
                  fmt::format("\"{}\" has no value", name_of(node)),
                  is_list      ? "write [] for an empty list"
                  : is_section ? "write {} for an empty section"
                               : "leave the key out or give it a value");
    }
    switch (key.type) {
      case KeyType::kSection:
        if (key.path == "objects.addresses.*" && !node.is_mapping()) return mixed_list(node);
        return section(node, schema);
      case KeyType::kNamed:
        return named(node, schema);
      case KeyType::kRecords:
      case KeyType::kItems:
        return records(node, schema);
      default:
        return leaf(node, key);
    }
  }

  void named(Node& node, const SchemaNode& schema) {
    if (!node.is_mapping()) return wrong_shape(node, "must be a section of NAME: ... lines");
    const std::string_view noun = element_noun(schema);
    for (Node& item : node.items) {
      path_.push_back({item.key, kNoIndex});
      if (!is_id(item.key)) {
        fail(item, item.key_place,
             fmt::format("\"{}\" can't be the name of {} {}", item.key.substr(0, 60),
                         noun == "address" ? "an" : "a", noun),
             "a letter, then at most 62 letters, digits, \"_\", \"-\" or \".\"");
      } else if (!item.is_bad) {
        context_.push_back(fmt::format("{} \"{}\"", noun, item.key));
        value(item, schema.element.front());
        context_.pop_back();
      }
      path_.pop_back();
    }
  }

  void records(Node& node, const SchemaNode& schema) {
    if (!node.is_sequence())
      return wrong_shape(node, "must be a list of \"- KEY: VALUE\" sections");
    const SchemaNode& element = schema.element.front();
    const bool has_ids = schema.key->type == KeyType::kRecords;
    const std::string_view noun = has_ids ? element_noun(schema) : std::string_view("window");
    std::unordered_map<std::string_view, const Node*> seen;
    if (has_ids) seen.reserve(node.items.size());
    for (std::size_t i = 0; i < node.items.size(); ++i) {
      Node& item = node.items[i];
      path_.push_back({{}, i});
      const Node* id = item.is_mapping() ? item.find("id") : nullptr;
      const bool is_named = has_ids && id != nullptr && id->is_scalar();
      record_.emplace_back(noun, is_named ? id->text : std::string_view(), i);
      if (!item.is_bad) section(item, element);
      record_.pop_back();
      if (is_named && !id->is_bad)
        if (const auto [at, is_new] = seen.emplace(id->text, id); !is_new)
          duplicate_id(*item.find("id"), noun, *at->second);
      path_.pop_back();
    }
  }

  void duplicate_id(Node& id, std::string_view noun, const Node& first) {
    const bool is_same_file = first.place.file == id.place.file;
    path_.push_back({"id", kNoIndex});
    fail(id, id.place, fmt::format("{} id \"{}\" is used twice", noun, id.text),
         is_same_file
             ? fmt::format("first at line {}", first.place.line)
             : fmt::format("first at {}:{}", tree_.position(first.place).file, first.place.line),
         Errc::kDuplicate);
    path_.pop_back();
  }

  void leaf(Node& node, const Key& key) {
    if (node.is_scalar()) return scalar(node, key);
    if (!key.is_list)
      return wrong_shape(node,
                         fmt::format("must be one value ({}), not a {}", key_type_name(key.type),
                                     node.is_sequence() ? "list" : "section"));
    if (!node.is_sequence())
      return wrong_shape(node, "must be a value or a list of values, not a section");
    if (node.items.empty())
      return fail(node, node.key_place, fmt::format("\"{}\" is an empty list", name_of(node)),
                  "leave the key out");
    if (node.items.size() > kMaxListLength)
      return fail(node, node.place,
                  fmt::format("{} values in one list are too many (at most {})", node.items.size(),
                              kMaxListLength),
                  "", Errc::kCapacity);
    for (std::size_t i = 0; i < node.items.size(); ++i) {
      Node& item = node.items[i];
      if (item.is_bad) continue;
      path_.push_back({{}, i});
      if (item.is_scalar()) {
        scalar(item, key);
      } else if (item.kind == Node::Kind::kNull) {
        fail(item, item.place, "an empty list item", "remove it or give it a value");
      } else {
        fail(item, item.place,
             fmt::format("a list item must be one value ({})", key_type_name(key.type)),
             item.is_sequence() ? "lists can't stand inside lists" : "");
      }
      path_.pop_back();
    }
  }

  void scalar(Node& node, const Key& key) {
    const base::Result<std::string> canonical = canonical_value(key, node.text, node.is_plain);
    if (!canonical) fail(node, node.place, canonical.error().message, canonical.error().hint);
  }

  // The short form of an address object: ranges and names together.
  void mixed_list(Node& node) {
    static const Key* const key = find_key("objects.addresses.*.members");
    leaf(node, *key);
    const auto check = [&](Node& item) {
      if (!item.is_scalar() || item.is_bad || is_id(item.text) || item.text.starts_with('!'))
        return;
      const auto range = base_range(item);
      if (!range.empty()) fail(item, item.place, range, range_hint_);
    };
    if (node.is_scalar()) return check(node);
    for (Node& item : node.items) check(item);
  }
  std::string base_range(const Node& node) {
    static const Key* const key = find_key("objects.addresses.*.ranges");
    const auto value = canonical_value(*key, node.text, node.is_plain);
    if (value) return {};
    range_hint_ = value.error().hint;
    return value.error().message;
  }

  // Returns the key that was probably meant.
  std::string_view unknown_key(Node& item, const SchemaNode& schema) {
    std::vector<std::string_view> words;
    for (const SchemaNode& n : schema.children) words.push_back(n.word);
    const std::string_view meant = nearest(item.key, words);
    std::string hint = meant.empty() ? std::string() : fmt::format("did you mean \"{}\"?", meant);
    if (hint.empty() && item.key == "<<")
      hint = "merge keys are not supported; write the values out";
    if (hint.empty() && words.size() <= 12) {
      hint = "known here: ";
      for (const std::string_view w : words)
        hint += fmt::format("{}{}", w == words.front() ? "" : ", ", w);
    }
    fail(item, item.key_place,
         fmt::format("unknown key \"{}\"{}", item.key.substr(0, 60), where(1)), hint,
         Errc::kUnknownKey);
    return meant;
  }
  void missing_key(Node& node, const Key& key, std::string_view word) {
    // A mapping's own place is that of its first key.
    const bool has_key = node.key_place.line != 0;
    const Place place = has_key              ? node.key_place
                        : node.items.empty() ? node.place
                                             : node.items.front().key_place;
    const std::string example = key.example.empty() ? "..." : std::string(key.example);
    path_.push_back({word, kNoIndex});
    fail(node, place.line != 0 ? place : node.place,
         fmt::format("missing key \"{}\"{}", word, where(1)),
         fmt::format("add \"{}: {}\"", word, example), Errc::kNotFound, false);
    path_.pop_back();
  }
  void wrong_shape(Node& node, std::string_view message) {
    const Place place = node.key_place.line != 0 && !node.is_scalar() ? node.key_place : node.place;
    const std::string name = name_of(node);
    fail(node, place,
         name.empty() ? fmt::format("this {}", message) : fmt::format("\"{}\" {}", name, message));
  }

  void fail(Node& node, const Place& place, std::string message, std::string hint = {},
            Errc code = Errc::kInvalidValue, bool makes_bad = true) {
    if (makes_bad) node.is_bad = true;
    errors_.push_back(Error{.code = code,
                            .message = std::move(message),
                            .where = tree_.position(place),
                            .hint = std::move(hint),
                            .path = path()});
    if (errors_.size() >= kMaxErrors) throw Full{};
  }

  std::string name_of(const Node& node) const { return std::string(node.key.substr(0, 60)); }

  // " in rule \"x\"", " in \"workers\"", or nothing at the top; the last `own` words of the path
  // are left out.
  std::string where(std::size_t own) const {
    if (!record_.empty()) {
      const auto& [noun, id, index] = record_.back();
      return id.empty() ? fmt::format(" in {} number {}", noun, index + 1)
                        : fmt::format(" in {} \"{}\"", noun, id);
    }
    if (!context_.empty()) return " in " + context_.back();
    for (std::size_t i = path_.size() - own; i-- > 0;)
      if (!path_[i].word.empty()) return fmt::format(" in \"{}\"", path_[i].word);
    return {};
  }

  std::string path() const {
    std::string out;
    for (const Step& step : path_) {
      if (step.index != kNoIndex) {
        out += fmt::format("[{}]", step.index);
      } else {
        out += fmt::format("{}{}", out.empty() ? "" : ".", step.word.substr(0, 63));
      }
    }
    return out;
  }

  const ConfigTree& tree_;
  Errors& errors_;
  std::vector<Step> path_;
  std::vector<std::string> context_;
  std::vector<std::tuple<std::string_view, std::string_view, std::size_t>> record_;
  std::string range_hint_;
};

}  // namespace

void limit_errors(Errors& errors) {
  if (errors.size() < kMaxErrors) return;
  errors.resize(kMaxErrors);
  errors.push_back(
      Error{.code = Errc::kCapacity,
            .message = fmt::format("{} errors; what comes after is not told", kMaxErrors)});
}

bool check_tree(ConfigTree& tree, Errors& errors) {
  if (!tree.root.is_mapping()) {
    if (!tree.root.is_bad)
      errors.push_back(Error{.code = Errc::kInvalidValue,
                             .message = "a configuration must be a section of KEY: VALUE lines",
                             .where = tree.position(tree.root.place),
                             .hint = "start with \"version: 1\""});
    tree.root.is_bad = true;
    return true;
  }
  try {
    Checker(tree, errors).section(tree.root, schema_root());
  } catch (const Full&) {
    return false;
  }
  return true;
}

}  // namespace merlon::control
