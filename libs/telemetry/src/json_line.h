// SPDX-License-Identifier: Apache-2.0
#pragma once
// Appends JSON to a string, one member after the other; commas are put where they are needed.
// Gathers in a buffer of its own, because small appends to a string cost several times the copy:
// finish() hands over the rest. A value for one call on one thread.
#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "merlon/base/address.h"
#include "merlon/base/time.h"

namespace merlon::telemetry {

class JsonLine {
 public:
  explicit JsonLine(std::string& out) noexcept : out_(out) {}
  JsonLine(const JsonLine&) = delete;
  JsonLine& operator=(const JsonLine&) = delete;

  // Call once, at the end.
  void finish() {
    out_.append(stage_.data(), used_);
    used_ = 0;
  }

  // `name` is empty for the outermost object and for items of an array; names need no escaping.
  void open(std::string_view name = {}) { begin(name, '{'); }
  void close() { end('}'); }
  void open_array(std::string_view name) { begin(name, '['); }
  void close_array() { end(']'); }

  void number(std::string_view name, std::uint64_t value) {
    key(name);
    char* const p = room(20);
    used_ += static_cast<std::size_t>(std::to_chars(p, p + 20, value).ptr - p);
  }
  void boolean(std::string_view name, bool value) {
    key(name);
    put(value ? std::string_view("true") : std::string_view("false"));
  }
  // Free text.
  void text(std::string_view name, std::string_view value);
  // A word of our own that needs no escaping.
  void word(std::string_view name, std::string_view value) {
    key(name);
    put("\"");
    put(value);
    put("\"");
  }
  void time(std::string_view name, base::Nanos value);
  void address(std::string_view name, const base::IpAddress& value);
  // Two hexadecimal digits as EVE writes TCP flags.
  void hex_byte(std::string_view name, std::uint8_t value);
  // Members that are JSON already, without a comma before them.
  void members(std::string_view json) {
    if (json.empty()) return;
    comma();
    put(json);
  }

 private:
  void comma() {
    if (needs_comma_) put(",");
    needs_comma_ = true;
  }
  void key(std::string_view name) {
    comma();
    if (name.empty()) return;
    put("\"");
    put(name);
    put("\":");
  }
  void begin(std::string_view name, char bracket) {
    key(name);
    put({&bracket, 1});
    needs_comma_ = false;
  }
  void end(char bracket) {
    put({&bracket, 1});
    needs_comma_ = true;
  }
  // Space for `size` characters, at most 64.
  char* room(std::size_t size) {
    if (stage_.size() - used_ < size) finish();
    return stage_.data() + used_;
  }
  void put(std::string_view s) {
    if (stage_.size() - used_ < s.size()) finish();
    if (s.size() > stage_.size()) {
      out_.append(s);
      return;
    }
    std::memcpy(stage_.data() + used_, s.data(), s.size());
    used_ += s.size();
  }

  std::string& out_;
  std::size_t used_ = 0;
  bool needs_comma_ = false;
  std::array<char, 1024> stage_;  // left uninitialised: only [0, used_) is read
};

}  // namespace merlon::telemetry
