// SPDX-License-Identifier: Apache-2.0
#pragma once
// Values whose every field differs from its default, made by the fields' own declarations, and a
// count of a struct's members that does not know the declarations: a field that was forgotten in
// fields.h shows.
#include <cstddef>
#include <string>

#include "fields_journal.h"
#include "json_write.h"

namespace merlon::lab::test {

// Sets each field to the next value of a sequence; lists and maps get two entries.
class Filler {
 public:
  void object(const char*, const char*) {}
  template <class T>
  void field(const char*, T& value, const char*) {
    fill(value);
  }
  template <class T>
  void field_since(int, const char*, T& value, const char*) {
    fill(value);
  }

 private:
  template <class T>
  void fill(T& value) {
    ++next_;
    if constexpr (std::is_enum_v<T>) {
      value = static_cast<T>(1 + next_ % (kWords<T>.size() - 1));
    } else if constexpr (std::is_same_v<T, bool>) {
      value = !value;
    } else if constexpr (std::is_arithmetic_v<T>) {
      value = static_cast<T>(static_cast<T>(next_) + static_cast<T>(value));
      if constexpr (std::is_floating_point_v<T>) value += 0.1;
    } else if constexpr (std::is_same_v<T, std::string>) {
      value = "слово " + std::to_string(next_) + "\n\"\\";
    } else if constexpr (std::is_same_v<T, Histogram>) {
      for (std::size_t i = 1; i < 60; ++i)
        value.record(static_cast<std::int64_t>(i * i * i * next_), i);
    } else if constexpr (IsVector<T>::value) {
      fill(value.emplace_back());
      fill(value.emplace_back());
    } else if constexpr (IsMap<T>::value) {
      fill(value["one"]);
      fill(value["two " + std::to_string(next_)]);
    } else {
      describe(*this, value);
    }
  }
  std::size_t next_ = 0;
};

template <class T>
T filled() {
  T value;
  Filler filler;
  describe(filler, value);
  return value;
}

struct AnyValue {
  template <class T>
  operator T() const;  // NOLINT(google-explicit-constructor): for counting only, never called
};
template <class T, class... Values>
constexpr std::size_t member_count() {
  if constexpr (requires { T{Values{}..., AnyValue{}}; })
    return member_count<T, Values..., AnyValue>();
  else
    return sizeof...(Values);
}

class FieldCounter {
 public:
  void object(const char*, const char*) {}
  template <class T>
  void field(const char*, T&, const char*) {
    ++count;
  }
  template <class T>
  void field_since(int, const char*, T&, const char*) {
    ++count;
  }
  std::size_t count = 0;
};
template <class T>
std::size_t field_count() {
  T value;
  FieldCounter counter;
  describe(counter, value);
  return counter.count;
}

}  // namespace merlon::lab::test
