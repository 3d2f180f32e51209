// SPDX-License-Identifier: Apache-2.0
#include "merlon/control/schema.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "config_value.h"
#include "schema_index.h"
#include "schema_keys.h"

namespace merlon::control {

const SchemaNode* SchemaNode::child(std::string_view name) const noexcept {
  for (const SchemaNode& n : children)
    if (n.word == name) return &n;
  return nullptr;
}

namespace {

// Next word of a path: up to a dot or before "[". "[...]" is a word of its own.
std::string_view take_word(std::string_view& path) {
  if (path.starts_with('.')) path.remove_prefix(1);
  std::size_t end = 0;
  if (path.starts_with('[')) {
    end = std::min(path.find(']'), path.size() - 1) + 1;
  } else {
    end = std::min(path.find_first_of(".["), path.size());
  }
  const std::string_view word = path.substr(0, end);
  path.remove_prefix(end);
  return word;
}

SchemaNode build_index() {
  SchemaNode root;
  for (const Key& key : schema()) {
    SchemaNode* at = &root;
    std::string_view path = key.path;
    while (!path.empty()) {
      const std::string_view word = take_word(path);
      std::vector<SchemaNode>& list = word == "*" || word == "[]" ? at->element : at->children;
      const auto found = std::find_if(list.begin(), list.end(),
                                      [&](const SchemaNode& n) { return n.word == word; });
      if (found == list.end()) {
        list.emplace_back();
        at = &list.back();
        at->word = word;
      } else {
        at = &*found;
      }
    }
    at->key = &key;
  }
  return root;
}

const SchemaNode* walk(std::string_view path) {
  const SchemaNode* at = &schema_root();
  while (!path.empty() && at != nullptr) {
    const std::string_view word = take_word(path);
    if (word.empty()) return nullptr;
    if (!at->element.empty()) {
      at = &at->element.front();
    } else {
      at = at->child(word);
    }
  }
  return at;
}

// Damerau-Levenshtein distance with neighbours swapped as one step.
unsigned edit_distance(std::string_view a, std::string_view b) {
  std::vector<unsigned> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
  std::iota(last.begin(), last.end(), 0U);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = static_cast<unsigned>(i);
    for (std::size_t k = 1; k <= b.size(); ++k) {
      now[k] =
          std::min({last[k] + 1, now[k - 1] + 1, last[k - 1] + (a[i - 1] == b[k - 1] ? 0U : 1U)});
      if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
        now[k] = std::min(now[k], before[k - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, now);
  }
  return last[b.size()];
}

}  // namespace

std::span<const Key> schema() noexcept {
  static const std::vector<Key> all = [] {
    std::vector<Key> keys;
    for (const auto part : {network_keys(), policy_keys(), tracking_keys()})
      keys.insert(keys.end(), part.begin(), part.end());
    return keys;
  }();
  return all;
}

const SchemaNode& schema_root() {
  static const SchemaNode root = build_index();
  return root;
}

std::string_view element_noun(const SchemaNode& container) noexcept {
  static constexpr std::pair<std::string_view, std::string_view> kNouns[] = {
      {"ports", "port"},        {"wires", "wire"},       {"zones", "zone"},
      {"addresses", "address"}, {"services", "service"}, {"schedules", "schedule"},
      {"rules", "rule"}};
  if (container.element.empty()) return {};
  for (const auto& [word, noun] : kNouns)
    if (container.word == word) return noun;
  return {};
}

std::string_view nearest(std::string_view word, const std::vector<std::string_view>& candidates) {
  if (word.empty() || word.size() > 64) return {};
  std::string_view best;
  unsigned least = std::max(1U, static_cast<unsigned>(word.size() + 1) / 3) + 1;
  for (const std::string_view candidate : candidates) {
    if (candidate.size() > 64) continue;
    const unsigned distance = edit_distance(word, candidate);
    if (distance < least && distance < word.size()) least = distance, best = candidate;
  }
  return best;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& candidates) {
  const std::string_view best = nearest(word, candidates);
  return best.empty() ? std::string() : fmt::format("did you mean \"{}\"?", best);
}

std::vector<std::string_view> split_words(std::string_view words) {
  std::vector<std::string_view> out;
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    out.push_back(words.substr(0, end));
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return out;
}

const Key* find_key(std::string_view path) noexcept {
  if (path.empty()) return nullptr;
  const SchemaNode* node = walk(path);
  return node == nullptr ? nullptr : node->key;
}

std::string_view key_type_name(KeyType type) noexcept {
  switch (type) {
    case KeyType::kSection:
      return "section";
    case KeyType::kNamed:
      return "named sections";
    case KeyType::kRecords:
    case KeyType::kItems:
      return "list of sections";
    case KeyType::kBool:
      return "true or false";
    case KeyType::kInteger:
      return "whole number";
    case KeyType::kDuration:
      return "duration";
    case KeyType::kSize:
      return "size";
    case KeyType::kChoice:
      return "choice";
    case KeyType::kText:
      return "text";
    case KeyType::kId:
      return "name";
    case KeyType::kPath:
      return "path";
    case KeyType::kName:
      return "reference";
    case KeyType::kTime:
      return "date or time";
    case KeyType::kClock:
      return "time of day";
    case KeyType::kRange:
      return "address, prefix or range";
    case KeyType::kPciAddress:
      return "PCI address";
  }
  return "value";
}

std::string_view reload_name(Reload reload) noexcept {
  switch (reload) {
    case Reload::kLive:
      return "live";
    case Reload::kNewSessions:
      return "new-sessions";
    case Reload::kRestart:
      return "restart";
  }
  return "restart";
}

std::string explain_key(std::string_view path) {
  const Key* key = find_key(path);
  if (key == nullptr) {
    std::vector<std::string_view> paths;
    for (const Key& k : schema()) paths.push_back(k.path);
    const std::string hint = did_you_mean(path, paths);
    return fmt::format("unknown key \"{}\"{}\n", path, hint.empty() ? "" : "; " + hint);
  }
  std::string out = fmt::format("{}\n  {}\n", key->path, key->help);
  const auto line = [&](std::string_view name, std::string_view value) {
    if (!value.empty()) out += fmt::format("  {:<13}{}\n", name, value);
  };
  line("type", fmt::format("{}{}", key->is_list ? "list of: " : "", key_type_name(key->type)));
  line("choices", key->choices);
  line("range", format_range(*key));
  line("unit", key->unit);
  line("default", key->default_text);
  line("required", key->is_required ? "yes" : "");
  line("negation", key->can_negate ? "\"!name\" is accepted" : "");
  line("takes effect", key->reload == Reload::kLive          ? "at the commit"
                       : key->reload == Reload::kNewSessions ? "at the commit, for new sessions"
                                                             : "at restart");
  line("example", key->example);
  line("since", key->since);
  if (const SchemaNode* node = walk(path); node != nullptr) {
    const SchemaNode& inner = node->element.empty() ? *node : node->element.front();
    std::string keys;
    for (const SchemaNode& n : inner.children)
      keys += fmt::format("{}{}", keys.empty() ? "" : " ", n.word);
    line("keys", keys);
  }
  return out;
}

std::vector<std::string> complete_key(std::string_view prefix) {
  const std::size_t dot = prefix.rfind('.');
  const std::string_view base =
      dot == std::string_view::npos ? std::string_view() : prefix.substr(0, dot);
  const std::string_view word = dot == std::string_view::npos ? prefix : prefix.substr(dot + 1);
  std::vector<std::string> out;
  const SchemaNode* node = base.empty() ? &schema_root() : walk(base);
  if (node == nullptr) return out;
  for (const SchemaNode& n : node->children)
    if (n.word.starts_with(word))
      out.push_back(base.empty() ? std::string(n.word) : fmt::format("{}.{}", base, n.word));
  return out;
}

}  // namespace merlon::control
