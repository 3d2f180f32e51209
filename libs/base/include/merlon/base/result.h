// SPDX-License-Identifier: Apache-2.0
#pragma once
// Errors as values for control code. A Result holds a value or an Error; an Error says what is
// wrong, where, and what to do. Text parsers return every error at once (Errors). The data path
// never uses these types: it has verdicts and drop reasons.
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace merlon::base {

enum class Errc {
  kInvalidValue,
  kUnknownKey,
  kDuplicate,
  kNotFound,
  kCapacity,
  kConflict,
  kRefused,
  kTimeout,
  kUnsupported,
  kIo,
  kInternal,
};

// Name used in JSON and in tests, for example "invalid_value".
std::string_view errc_name(Errc code) noexcept;

// Place in a text, 1-based; line 0 means "no place". end_column is one past the last column, 0 if
// unknown.
struct SourcePos {
  std::string file;
  unsigned line = 0;
  unsigned column = 0;
  unsigned end_column = 0;

  [[nodiscard]] bool has_place() const noexcept { return line != 0; }
};

struct Error {
  Errc code = Errc::kInternal;
  std::string message;  // one sentence, lower case, with the value and the limit in it
  SourcePos where{};
  std::string hint{};  // what to do next; may be empty
  std::string path{};  // configuration path such as "policy.rules[3].action"; may be empty

  // "file:line:column: error: message" and the hint in brackets; one line, no source excerpt.
  [[nodiscard]] std::string to_string() const;
};

using Errors = std::vector<Error>;

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value)
      : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT(google-explicit-constructor)
  Result(Error error)
      : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool ok() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }

  [[nodiscard]] T& operator*() & { return *std::get_if<0>(&state_); }
  [[nodiscard]] const T& operator*() const& { return *std::get_if<0>(&state_); }
  [[nodiscard]] T&& operator*() && { return std::move(*std::get_if<0>(&state_)); }
  [[nodiscard]] T* operator->() { return std::get_if<0>(&state_); }
  [[nodiscard]] const T* operator->() const { return std::get_if<0>(&state_); }
  [[nodiscard]] const Error& error() const { return *std::get_if<1>(&state_); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool ok() const noexcept { return !error_.has_value(); }
  explicit operator bool() const noexcept { return ok(); }
  // Of a result that is not ok.
  [[nodiscard]] const Error& error() const { return *error_; }

 private:
  std::optional<Error> error_;
};

}  // namespace merlon::base
