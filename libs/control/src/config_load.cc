// SPDX-License-Identifier: Apache-2.0
#include "merlon/control/config_load.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <unordered_map>

#include "config_bind.h"
#include "config_check.h"

namespace merlon::control {

using base::Errc;
using base::Error;
using base::Errors;

namespace {

// Sections that several files may fill together.
constexpr std::array<std::string_view, 17> kJoined{
    "workers",  "ports",     "wires",  "zones",    "objects",  "addresses",
    "services", "schedules", "policy", "sessions", "timeouts", "tcp",
    "packets",  "fragments", "events", "drops",    "api"};

class FileSet {
 public:
  FileSet(ConfigTree& tree, FileProvider& provider, Errors& errors)
      : tree_(tree), provider_(provider), errors_(errors) {}

  // Reads one file and what it includes into the root. `from` is the place of the include, nullptr
  // for the main file.
  void read(const std::string& name, const Place* from) {
    const auto fail = [&](Errc code, std::string message, std::string hint = {}) {
      Error error{.code = code,
                  .message = std::move(message),
                  .hint = std::move(hint),
                  .path = from != nullptr ? "include" : ""};
      if (from != nullptr) {
        error.where = tree_.position(*from);
      } else {
        error.where.file = name;
      }
      errors_.push_back(std::move(error));
    };
    if (std::find(open_.begin(), open_.end(), name) != open_.end()) {
      std::string way;
      for (const std::string& n : open_) way += n + " → ";
      return fail(Errc::kRefused, fmt::format("\"{}\" includes itself", name), way + name);
    }
    if (open_.size() > kMaxIncludeDepth)
      return fail(Errc::kCapacity,
                  fmt::format("files include files deeper than {} levels", kMaxIncludeDepth));
    for (const SourceFile& f : tree_.files())
      if (f.name == name)
        return fail(Errc::kDuplicate, fmt::format("\"{}\" is included twice", name),
                    "remove one of the two");
    if (tree_.files().size() >= kMaxFiles)
      return fail(Errc::kCapacity, fmt::format("more than {} files", kMaxFiles));
    base::Result<std::string> text = provider_.read(name);
    if (!text) return fail(text.error().code, text.error().message, text.error().hint);
    total_size_ += text->size();
    if (total_size_ > kMaxBundleSize)
      return fail(Errc::kCapacity,
                  fmt::format("the files have more than {} bytes together", kMaxBundleSize));

    open_.push_back(name);
    Node root;
    is_complete_ = tree_.parse({name, std::move(*text)}, root, errors_) && is_complete_;
    if (root.is_mapping() && !root.is_bad) {
      includes(root, name);
      if (!tree_.root.is_mapping()) {
        tree_.root = std::move(root);
      } else {
        join(tree_.root, root, true);
      }
    } else if (root.kind != Node::Kind::kNull && !root.is_bad) {
      errors_.push_back(Error{.code = Errc::kInvalidValue,
                              .message = "a configuration must be a section of KEY: VALUE lines",
                              .where = tree_.position(root.place),
                              .hint = "start with \"version: 1\""});
      is_complete_ = false;
    }
    open_.pop_back();
  }
  // Every file could be parsed.
  [[nodiscard]] bool is_complete() const noexcept { return is_complete_; }

 private:
  void includes(Node& root, const std::string& name) {
    const auto at = std::find_if(root.items.begin(), root.items.end(),
                                 [](const Node& n) { return n.key == "include"; });
    if (at == root.items.end()) return;
    const Node include = std::move(*at);
    root.items.erase(at);
    const auto one = [&](const Node& n) {
      if (n.is_bad) return;
      if (!n.is_scalar() || n.text.empty()) {
        errors_.push_back(
            Error{.code = Errc::kInvalidValue,
                  .message = "\"include\" must be a file name or a list of file names",
                  .where = tree_.position(n.key_place.line != 0 ? n.key_place : n.place),
                  .path = "include"});
        return;
      }
      read(resolve(name, n.text), &n.place);
    };
    if (!include.is_sequence()) return one(include);
    for (const Node& n : include.items) one(n);
  }

  static std::string resolve(const std::string& from, std::string_view name) {
    const std::filesystem::path path(name);
    if (path.is_absolute()) return path.lexically_normal().string();
    return (std::filesystem::path(from).parent_path() / path).lexically_normal().string();
  }

  void join(Node& into, Node& from, bool is_top) {
    std::unordered_map<std::string_view, std::size_t> known;
    if (into.items.size() > 16)
      for (std::size_t i = 0; i < into.items.size(); ++i) known.emplace(into.items[i].key, i);
    for (Node& item : from.items) {
      Node* same = nullptr;
      if (into.items.size() > 16 && !known.empty()) {
        const auto found = known.find(item.key);
        same = found == known.end() ? into.find(item.key) : &into.items[found->second];
      } else {
        same = into.find(item.key);
      }
      if (same == nullptr) {
        into.items.push_back(std::move(item));
      } else if (same->is_mapping() && item.is_mapping() &&
                 std::find(kJoined.begin(), kJoined.end(), item.key) != kJoined.end()) {
        join(*same, item, false);
      } else if (same->is_sequence() && item.is_sequence() && item.key == "rules") {
        std::move(item.items.begin(), item.items.end(), std::back_inserter(same->items));
      } else if (!(is_top && item.key == "version" && same->text == item.text)) {
        errors_.push_back(
            Error{.code = Errc::kDuplicate,
                  .message = fmt::format("duplicate key \"{}\"", item.key),
                  .where = tree_.position(item.key_place),
                  .hint = fmt::format("first at {}:{}", tree_.position(same->key_place).file,
                                      same->key_place.line)});
      }
    }
  }

  ConfigTree& tree_;
  FileProvider& provider_;
  Errors& errors_;
  std::vector<std::string> open_;
  std::size_t total_size_ = 0;
  bool is_complete_ = true;
};

}  // namespace

void sort_by_place(Errors& errors, const Bundle& sources) {
  std::unordered_map<std::string_view, std::size_t> order;
  for (const SourceFile& f : sources.files) order.emplace(f.name, order.size());
  const auto rank = [&](const Error& e) {
    const auto found = order.find(e.where.file);
    return std::tuple(found == order.end() ? order.size() : found->second, e.where.line,
                      e.where.column);
  };
  std::stable_sort(errors.begin(), errors.end(),
                   [&](const Error& a, const Error& b) { return rank(a) < rank(b); });
}

LoadedConfig default_config() {
  LoadedConfig config;
  config.name = "merlon";
  return config;
}

LoadResult load(const std::string& name, FileProvider& files) {
  LoadResult result;
  const auto tree = std::make_shared<ConfigTree>();
  FileSet set(*tree, files, result.errors);
  set.read(name, nullptr);
  for (const SourceFile& f : tree->files()) result.bundle.files.push_back(f);
  // After a syntax error only a part is known, and what is missing there would be reported as
  // missing here.
  if (set.is_complete() && tree->root.is_mapping() && check_tree(*tree, result.errors)) {
    LoadedConfig config = default_config();
    const Binding binding{*tree, result.errors, result.warnings};
    bind_engine(binding, config);
    bind_settings(binding, config);
    bind_policy(binding, config);
    config.bundle = result.bundle;
    result.state_directory = config.state_directory;
    config.tree = tree;
    if (result.errors.empty()) {
      result.config = std::move(config);
    } else {
      result.draft = std::move(config.policy);
    }
  }
  sort_by_place(result.errors, result.bundle);
  limit_errors(result.errors);
  sort_by_place(result.warnings, result.bundle);
  return result;
}

LoadResult load_file(const std::string& path) {
  DiskFiles files;
  return load(path, files);
}

LoadResult load_bundle(const Bundle& bundle) {
  if (bundle.files.empty()) {
    LoadResult result;
    result.errors.push_back(
        Error{.code = Errc::kInvalidValue, .message = "the configuration is empty"});
    return result;
  }
  MemoryFiles files(bundle);
  return load(bundle.files.front().name, files);
}

}  // namespace merlon::control
