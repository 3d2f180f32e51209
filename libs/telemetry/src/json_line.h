// SPDX-License-Identifier: Apache-2.0
#pragma once
// Appends JSON to a string, one member after the other; commas are put where they are needed. A
// value for one call on one thread; cost: the appended characters.
#include <array>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include "merlon/base/address.h"
#include "merlon/base/time.h"

namespace merlon::telemetry {

class JsonLine {
 public:
  explicit JsonLine(std::string& out) noexcept : out_(out) {}

  // `name` is empty for the outermost object and for items of an array; names need no escaping.
  void open(std::string_view name = {}) { begin(name, '{'); }
  void close() { out_.push_back('}'); }
  void open_array(std::string_view name) { begin(name, '['); }
  void close_array() { out_.push_back(']'); }

  void number(std::string_view name, std::uint64_t value) {
    key(name);
    append_number(value);
  }
  void boolean(std::string_view name, bool value) {
    key(name);
    out_.append(value ? "true" : "false");
  }
  // Free text.
  void text(std::string_view name, std::string_view value);
  // A word of our own that needs no escaping.
  void word(std::string_view name, std::string_view value) {
    key(name);
    out_.push_back('"');
    out_.append(value);
    out_.push_back('"');
  }
  void time(std::string_view name, base::Nanos value);
  void address(std::string_view name, const base::IpAddress& value);
  // Two hexadecimal digits as EVE writes TCP flags.
  void hex_byte(std::string_view name, std::uint8_t value);

 private:
  void begin(std::string_view name, char bracket) {
    key(name);
    out_.push_back(bracket);
  }
  void key(std::string_view name) {
    if (!out_.empty() && out_.back() != '{' && out_.back() != '[') out_.push_back(',');
    if (name.empty()) return;
    out_.push_back('"');
    out_.append(name);
    out_.append("\":", 2);
  }
  void append_number(std::uint64_t value) {
    std::array<char, 20> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    out_.append(digits.data(), static_cast<std::size_t>(end - digits.data()));
  }

  std::string& out_;
};

}  // namespace merlon::telemetry
