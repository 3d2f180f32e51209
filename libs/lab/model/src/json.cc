// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_model/json.h"

#include "file.h"
#include "format_version.h"
#include "json_read.h"
#include "json_write.h"

namespace merlon::lab {

using base::Errc;
using base::Error;

namespace {

template <class E>
std::string_view word_of(E value) noexcept {
  const auto index = static_cast<std::size_t>(value);
  return index < kWords<E>.size() ? kWords<E>[index] : std::string_view("unknown");
}

// A list of objects with one of them per line; all else on its line.
void append_member(std::string& text, const std::string& name, const Json& value) {
  text += (text.empty() ? "{\n" : ",\n");
  text += "\"" + name + "\":";
  const bool is_list = value.is_array() && !value.empty() && value.front().is_object();
  if (!is_list) {
    text += line_of(value);
    return;
  }
  const char* separator = "[\n ";
  for (const Json& element : value) {
    text += separator + line_of(element);
    separator = ",\n ";
  }
  text += ']';
}

}  // namespace

std::string_view word(Stamp value) noexcept { return word_of(value); }
std::string_view word(RowState value) noexcept { return word_of(value); }
std::string_view word(Variation value) noexcept { return word_of(value); }
std::string_view word(Pacing value) noexcept { return word_of(value); }
std::string_view word(AttackKind value) noexcept { return word_of(value); }

std::string to_json(const Run& run) {
  std::string text;
  append_member(text, "schema", kResultSchema);
  append_member(text, "schema_version", Run::kSchemaVersion);
  append_member(text, "schema_minor", kSchemaMinor);
  const Json json = written(run);
  for (const auto& [name, value] : json.items()) append_member(text, name, value);
  return text + "\n}\n";
}

base::Result<void> check_version(InputJson& json, const char* schema, ReadState& state) {
  std::string name;
  int version = 0, minor = 0;
  FieldReader reader(json, state);
  if (!json.is_object()) return Error{Errc::kInvalidValue, "the file holds no object at its top"};
  reader.field("schema", name, "");
  reader.field("schema_version", version, "");
  reader.field("schema_minor", minor, "");
  if (!state.ok()) return *state.error();
  if (name != schema) {
    return Error{Errc::kUnsupported,
                 "schema is \"" + name.substr(0, 40) + "\", not \"" + schema + '"',
                 {},
                 {},
                 "schema"};
  }
  if (version != Run::kSchemaVersion) {
    return Error{Errc::kUnsupported,
                 "schema_version is " + std::to_string(version) + ", this program reads " +
                     std::to_string(Run::kSchemaVersion),
                 {},
                 version > Run::kSchemaVersion ? "use a newer merlon" : "repeat the run",
                 "schema_version"};
  }
  if (minor < 0)
    return Error{Errc::kInvalidValue, "schema_minor is negative", {}, {}, "schema_minor"};
  json.erase("schema");
  json.erase("schema_version");
  json.erase("schema_minor");
  state = ReadState(minor);
  return {};
}

base::Result<Run> run_from_json(std::string_view text, const ReadLimits& limits) {
  auto json = parse_json(text, limits);
  if (!json) return json.error();
  ReadState state(0);
  if (const auto version = check_version(*json, kResultSchema, state); !version)
    return version.error();
  Run run;
  read_value(*json, run, state);
  if (!state.ok()) return *state.error();
  return run;
}

base::Result<void> write_run(const std::string& path, const Run& run) {
  return replace_file(path, to_json(run));
}

base::Result<Run> read_run(const std::string& path, const ReadLimits& limits) {
  const auto text = read_file(path, limits.text_size);
  if (!text) return text.error();
  auto run = run_from_json(*text, limits);
  if (run) return run;
  Error error = run.error();
  error.where.file = path;
  if (!error.where.has_place()) error.message = path + ": " + error.message;
  return error;
}

}  // namespace merlon::lab
