// SPDX-License-Identifier: Apache-2.0
#include "schema_check.h"

#include <fstream>

namespace merlon::telemetry::test {
namespace {

using nlohmann::json;

bool has_type(const json& value, const std::string& type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "integer") return value.is_number_integer();
  return type == "number" && value.is_number();
}

void append(std::vector<std::string>& to, const std::vector<std::string>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

void check_object(const json& schema, const json& value, const std::string& path,
                  std::vector<std::string>& errors) {
  for (const auto& name : schema.value("required", json::array()))
    if (!value.contains(name.get<std::string>()))
      errors.push_back(path + ": lacks " + name.get<std::string>());
  const json properties = schema.value("properties", json::object());
  for (const auto& [name, member] : value.items()) {
    if (properties.contains(name)) {
      append(errors, schema_errors(properties[name], member, path + "." + name));
    } else if (schema.contains("additionalProperties") && schema["additionalProperties"] == false) {
      errors.push_back(path + ": unknown member " + name);
    }
  }
}

}  // namespace

std::vector<std::string> schema_errors(const json& schema, const json& value,
                                       const std::string& path) {
  std::vector<std::string> errors;
  if (schema.is_boolean()) {
    if (!schema.get<bool>()) errors.push_back(path + ": not allowed here");
    return errors;
  }
  if (schema.contains("type") && !has_type(value, schema["type"]))
    errors.push_back(path + ": wrong type");
  if (schema.contains("const") && value != schema["const"])
    errors.push_back(path + ": not the constant");
  if (schema.contains("enum")) {
    bool is_found = false;
    for (const auto& v : schema["enum"]) is_found = is_found || v == value;
    if (!is_found) errors.push_back(path + ": not in enum: " + value.dump());
  }
  if (schema.contains("minimum") && value.is_number() && value < schema["minimum"])
    errors.push_back(path + ": too small");
  if (value.is_object()) check_object(schema, value, path, errors);
  if (value.is_array() && schema.contains("items"))
    for (const auto& item : value)
      append(errors, schema_errors(schema["items"], item, path + "[]"));
  if (schema.contains("allOf"))
    for (const auto& part : schema["allOf"]) append(errors, schema_errors(part, value, path));
  if (schema.contains("if") && schema_errors(schema["if"], value, path).empty())
    append(errors, schema_errors(schema["then"], value, path));
  return errors;
}

std::vector<std::string> event_errors(std::string_view line) {
  static const json kSchema = json::parse(std::ifstream(MERLON_REFERENCE_DIR "/eve.schema.json"));
  const json value = json::parse(line, nullptr, false);
  if (value.is_discarded()) return {"no JSON: " + std::string(line)};
  return schema_errors(kSchema, value);
}

}  // namespace merlon::telemetry::test
