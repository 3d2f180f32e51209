// SPDX-License-Identifier: Apache-2.0
#include "merlon/client/table.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "merlon/base/time.h"

namespace merlon::client {
namespace {

using base::Errc;
using base::Error;

constexpr std::array<std::string_view, 8> kUnitNames = {
    "none", "count", "bytes", "bits_per_second", "per_second", "seconds", "ratio", "time"};

struct FormatWord {
  std::string_view name, content_type;
  Format format;
};
constexpr FormatWord kFormats[] = {
    {"table", "text/plain", Format::kText},
    {"wide", "text/plain", Format::kWide},
    {"json", "application/json", Format::kJson},
    {"jsonl", "application/jsonl", Format::kJsonLines},
    {"csv", "text/csv", Format::kCsv},
    {"", "application/vnd.merlon.table+json", Format::kTableJson},
    {"", "application/vnd.merlon.table+jsonl", Format::kTableLines},
};

bool is_plain_ascii(std::string_view text) {
  for (const char c : text)
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f || c == '"' ||
        c == '\\')
      return false;
  return true;
}

}  // namespace

std::string_view unit_name(Unit unit) noexcept {
  return kUnitNames[static_cast<std::size_t>(unit)];
}

Unit unit_from_name(std::string_view name) noexcept {
  for (std::size_t i = 0; i < kUnitNames.size(); ++i)
    if (kUnitNames[i] == name) return static_cast<Unit>(i);
  return Unit::kNone;
}

base::Result<Format> parse_format(std::string_view text) {
  for (const auto& f : kFormats)
    if (f.name == text && !text.empty()) return f.format;
  return Error{Errc::kInvalidValue,
               fmt::format("\"{}\" is not an output format", text.substr(0, 32)),
               {},
               "one of table, wide, json, jsonl, csv"};
}

std::string_view content_type(Format format) noexcept {
  for (const auto& f : kFormats)
    if (f.format == format) return f.content_type;
  return "application/json";
}

Format format_from_accept(std::string_view accept) noexcept {
  // The first type that we make wins; quality values are not weighed.
  while (!accept.empty()) {
    const std::size_t comma = std::min(accept.find(','), accept.size());
    std::string_view type = accept.substr(0, std::min(accept.find(';'), comma));
    accept.remove_prefix(std::min(comma + 1, accept.size()));
    while (!type.empty() && type.front() == ' ') type.remove_prefix(1);
    while (!type.empty() && type.back() == ' ') type.remove_suffix(1);
    if (type == "application/x-ndjson") return Format::kJsonLines;
    for (const auto& f : kFormats)
      if (f.content_type == type && f.format >= Format::kJson) return f.format;
  }
  return Format::kJson;
}

void append_json_string(std::string& out, std::string_view text) {
  if (is_plain_ascii(text)) {
    out += '"';
    out += text;
    out += '"';
    return;
  }
  out += nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void append_json_value(std::string& out, const Value& value, Unit unit) {
  const auto put = [&out](auto number) { out += fmt::format("{}", number); };
  if (unit == Unit::kTime) {
    std::int64_t time = 0;
    if (const auto* i = std::get_if<std::int64_t>(&value)) time = *i;
    if (const auto* u = std::get_if<std::uint64_t>(&value)) time = static_cast<std::int64_t>(*u);
    if (time == 0) {
      out += "null";
    } else {
      append_json_string(out, base::format_timestamp(time));
    }
    return;
  }
  switch (value.index()) {
    case 0:
      out += "null";
      return;
    case 1:
      out += std::get<bool>(value) ? "true" : "false";
      return;
    case 2:
      return put(std::get<std::int64_t>(value));
    case 3:
      return put(std::get<std::uint64_t>(value));
    case 4: {
      const double number = std::get<double>(value);
      if (!std::isfinite(number)) {
        out += "null";
      } else {
        put(number);
      }
      return;
    }
    default:
      append_json_string(out, std::get<std::string>(value));
  }
}

}  // namespace merlon::client
