// SPDX-License-Identifier: Apache-2.0
#pragma once
// From the checked tree to plain values, with the checks that need more than one key. Bad nodes are
// left out, so one slip gives one error. control-only.
#include <optional>
#include <string_view>
#include <vector>

#include "config_value.h"
#include "merlon/control/config_load.h"
#include "yaml_tree.h"

namespace merlon::control {

struct Binding {
  const ConfigTree& tree;
  base::Errors& errors;
  base::Errors& warnings;

  base::Error& error(const Place& place, std::string path, std::string message,
                     std::string hint = {}, base::Errc code = base::Errc::kInvalidValue) const;
  void warning(const Place& place, std::string path, std::string message,
               std::string hint = {}) const;
};

// One section's keys; absent and bad ones leave the target as it is.
class Section {
 public:
  explicit Section(const Node* node)
      : node_(node != nullptr && node->is_mapping() && !node->is_bad ? node : nullptr) {}

  [[nodiscard]] const Node* get(std::string_view key) const noexcept;
  [[nodiscard]] Section section(std::string_view key) const noexcept { return Section(get(key)); }
  explicit operator bool() const noexcept { return node_ != nullptr; }
  [[nodiscard]] const Node* node() const noexcept { return node_; }
  // The elements of a list, or the one value that stands for it; without bad ones.
  [[nodiscard]] std::vector<const Node*> list(std::string_view key) const;
  // Items of a mapping or list of sections; without bad ones.
  [[nodiscard]] std::vector<const Node*> items(std::string_view key) const;

  void read(std::string_view key, std::string& out) const;
  void read(std::string_view key, bool& out) const;
  template <class T>
  void read_integer(std::string_view key, T& out) const {
    if (const Node* n = scalar(key))
      if (const auto v = parse_integer(n->text)) out = static_cast<T>(*v);
  }
  void read_ticks(std::string_view key, base::Ticks& out) const;  // duration in milliseconds
  void read_nanos(std::string_view key, base::Nanos& out) const;  // duration
  void read_size(std::string_view key, std::uint64_t& out) const;
  // `names` in the order of the enumerators.
  template <class E>
  void read_choice(std::string_view key, std::initializer_list<std::string_view> names,
                   E& out) const {
    const Node* n = scalar(key);
    if (n == nullptr) return;
    int value = 0;
    for (const std::string_view name : names) {
      if (n->text == name) out = static_cast<E>(value);
      ++value;
    }
  }
  [[nodiscard]] std::vector<std::string> texts(std::string_view key) const;

 private:
  [[nodiscard]] const Node* scalar(std::string_view key) const noexcept;
  const Node* node_;
};

void bind_engine(const Binding& binding, LoadedConfig& config);
void bind_settings(const Binding& binding, LoadedConfig& config);
// After bind_engine(): zones speak of ports.
void bind_policy(const Binding& binding, LoadedConfig& config);

}  // namespace merlon::control
