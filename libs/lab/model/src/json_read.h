// SPDX-License-Identifier: Apache-2.0
#pragma once
// JSON to values by their declared fields; the first thing that is wrong is kept with its path.
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "fields.h"
#include "json_write.h"
#include "merlon/base/result.h"
#include "merlon/lab_model/json.h"
#include "words.h"

namespace merlon::lab {

using InputJson =
    nlohmann::json;  // a std::map per object: hostile objects can't make look-ups quadratic

// Strict text to a tree: valid UTF-8, one value, no member twice, bounded size and depth. `line` is
// where the text starts in its file.
base::Result<InputJson> parse_json(std::string_view text, const ReadLimits& limits,
                                   unsigned line = 1);

// Where reading stands, shared by all levels of one document.
class ReadState {
 public:
  explicit ReadState(int minor) : minor_(minor) {}
  [[nodiscard]] bool ok() const noexcept { return !error_; }
  [[nodiscard]] const std::optional<base::Error>& error() const noexcept { return error_; }
  [[nodiscard]] int minor() const noexcept { return minor_; }
  // Keeps the first error only; `path_` at that time is its place.
  void fail(base::Errc code, std::string message, std::string hint = {});

  void enter(const std::string& step) {
    marks_.push_back(path_.size());
    if (!path_.empty() && step.front() != '[') path_ += '.';
    path_ += step;
  }
  void leave() {
    path_.resize(marks_.back());
    marks_.pop_back();
  }

 private:
  std::string path_;
  std::vector<std::size_t> marks_;
  std::optional<base::Error> error_;
  int minor_;
};

const char* type_word(const InputJson& json) noexcept;
void read_value(const InputJson& json, std::string& value, ReadState& state);
void read_value(const InputJson& json, bool& value, ReadState& state);
void read_value(const InputJson& json, double& value, ReadState& state);
void read_value(const InputJson& json, Histogram& value, ReadState& state);
// A whole number within [lowest, highest] as signed or unsigned 64 bits; false after an error.
bool read_whole(const InputJson& json, std::int64_t lowest, std::uint64_t highest,
                std::int64_t& low, std::uint64_t& high, ReadState& state);
void fail_word(const InputJson& json, const std::string_view* words, std::size_t count,
               ReadState& state);

class FieldReader {
 public:
  FieldReader(const InputJson& json, ReadState& state) : json_(json), state_(state) {}
  void object(const char*, const char*) {}
  template <class T>
  void field(const char* name, T& value, const char* help) {
    field_since(0, name, value, help);
  }
  template <class T>
  void field_since(int minor, const char* name, T& value, const char* help);
  // After the last field: nothing else may be there, unless the file is of a newer minor.
  void finish();

 private:
  const InputJson& json_;
  ReadState& state_;
  std::size_t seen_ = 0;
  std::vector<const char*> names_;
};

template <class T>
void read_value(const InputJson& json, T& value, ReadState& state) {
  if constexpr (std::is_enum_v<T>) {
    if (json.is_string()) {
      const auto& text = json.get_ref<const std::string&>();
      for (std::size_t i = 0; i < kWords<T>.size(); ++i) {
        if (kWords<T>[i] == text) {
          value = static_cast<T>(i);
          return;
        }
      }
    }
    fail_word(json, kWords<T>.data(), kWords<T>.size(), state);
  } else if constexpr (std::is_integral_v<T>) {
    std::int64_t low = 0;
    std::uint64_t high = 0;
    if (!read_whole(json, std::int64_t{std::numeric_limits<T>::min()},
                    std::uint64_t{std::numeric_limits<T>::max()}, low, high, state))
      return;
    value = std::is_signed_v<T> ? static_cast<T>(low) : static_cast<T>(high);
  } else if constexpr (IsVector<T>::value) {
    if (!json.is_array())
      return state.fail(base::Errc::kInvalidValue,
                        std::string("wants a list, has ") + type_word(json));
    value.clear();
    value.reserve(json.size());
    for (std::size_t i = 0; i < json.size() && state.ok(); ++i) {
      state.enter("[" + std::to_string(i) + "]");
      read_value(json[i], value.emplace_back(), state);
      state.leave();
    }
  } else if constexpr (IsMap<T>::value) {
    if (!json.is_object())
      return state.fail(base::Errc::kInvalidValue,
                        std::string("wants an object, has ") + type_word(json));
    value.clear();
    for (auto it = json.begin(); it != json.end() && state.ok(); ++it) {
      state.enter(it.key().empty() ? "\"\"" : it.key());
      read_value(it.value(), value[it.key()], state);
      state.leave();
    }
  } else {
    if (!json.is_object())
      return state.fail(base::Errc::kInvalidValue,
                        std::string("wants an object, has ") + type_word(json));
    FieldReader reader(json, state);
    describe(reader, value);
    reader.finish();
  }
}

template <class T>
void FieldReader::field_since(int minor, const char* name, T& value, const char*) {
  if (!state_.ok()) return;
  names_.push_back(name);
  const auto it = json_.find(name);
  if (it == json_.end()) {
    if (minor > state_.minor()) return;  // older than the field
    state_.enter(name);
    state_.fail(base::Errc::kInvalidValue, "is missing");
    return state_.leave();
  }
  ++seen_;
  state_.enter(name);
  read_value(it.value(), value, state_);
  state_.leave();
}

}  // namespace merlon::lab
