// SPDX-License-Identifier: Apache-2.0
#pragma once
// A plan file as a tree of values with places, and typed access that reports everything that is
// wrong. The file is untrusted: size, depth and number of values are bounded before the tree is
// built. control-only.
#include <yaml-cpp/node/node.h>

#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "merlon/base/result.h"
#include "merlon/lab_model/run.h"

namespace merlon::lab {

inline constexpr std::size_t kMaxPlanSize = 1 << 20;  // bytes
inline constexpr unsigned kMaxPlanDepth = 12;
inline constexpr unsigned kMaxPlanValues = 200'000;

// What a file may not contain at all (anchors, aliases, tags, several documents, too much); false
// when something of it is in `errors`.
bool guard_plan(std::string_view text, const std::string& file, base::Errors& errors);

// A mapping whose keys are read one by one; those that nobody asked for are reported by finish().
class PlanMap {
 public:
  PlanMap(const YAML::Node& node, std::string path, const std::string& file, base::Errors& errors);

  void text(const char* key, std::string& out);
  void text(const char* key, Text& out);  // one text for both languages, or {en: ..., ru: ...}
  void number(const char* key, double& out, double low, double high);
  void share(const char* key, double& out);  // 0..1, or "1 %"
  void seconds(const char* key, double& out);
  void rate(const char* key, double& out);
  void flag(const char* key, bool& out);
  void texts(const char* key, std::vector<std::string>& out);
  template <class T>
  void whole(const char* key, T& out, std::uint64_t low,
             std::uint64_t high = std::numeric_limits<T>::max()) {
    std::uint64_t value = out;
    whole_number(key, value, low, high);
    out = static_cast<T>(value);
  }
  template <class Words, class T>
  void word(const char* key, T& out, const Words& words) {
    std::string given;
    const YAML::Node node = take(key);
    if (!node || !scalar(node, key, given)) return;
    std::string known;
    for (const auto& [name, value] : words) {
      if (name == given) {
        out = value;
        return;
      }
      known += known.empty() ? std::string(name) : ", " + std::string(name);
    }
    fail(node, key, "\"" + given + "\" is not known here", "one of: " + known);
  }
  // The value as it is, marked as read; undefined when absent.
  YAML::Node take(const char* key);
  [[nodiscard]] bool is_map() const { return is_map_; }
  [[nodiscard]] const YAML::Node& node() const { return node_; }
  [[nodiscard]] std::string path_of(const std::string& key) const;
  bool scalar(const YAML::Node& node, const std::string& key, std::string& out);
  void fail(const YAML::Node& node, const std::string& key, std::string message,
            std::string hint = {});
  // The keys of a free mapping, in order; each counts as read.
  std::vector<std::pair<std::string, YAML::Node>> items();
  void finish();
  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] base::Errors& errors() { return errors_; }

 private:
  void whole_number(const char* key, std::uint64_t& out, std::uint64_t low, std::uint64_t high);

  YAML::Node node_;
  std::string path_;
  const std::string& file_;
  base::Errors& errors_;
  std::set<std::string> asked_;
  bool is_map_ = false;
};

}  // namespace merlon::lab
