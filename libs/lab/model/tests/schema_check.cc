// SPDX-License-Identifier: Apache-2.0
#include "schema_check.h"

namespace merlon::lab::test {
namespace {

using nlohmann::json;

bool has_type(const json& value, const std::string& type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "null") return value.is_null();
  if (type == "integer") return value.is_number_integer();
  return type == "number" && value.is_number();
}

class Checker {
 public:
  explicit Checker(const json& root) : root_(root) {}
  std::vector<std::string> errors;

  void check(const json& schema, const json& value, const std::string& path) {
    if (schema.contains("$ref")) {
      const std::string reference = schema["$ref"].get<std::string>().substr(1);
      check(root_.at(json::json_pointer(reference)), value, path);
    }
    if (schema.contains("type") && !has_one_of(value, schema["type"]))
      errors.push_back(path + ": wrong type");
    if (schema.contains("const") && value != schema["const"])
      errors.push_back(path + ": not the constant");
    if (schema.contains("enum")) {
      bool is_found = false;
      for (const auto& word : schema["enum"]) is_found = is_found || word == value;
      if (!is_found) errors.push_back(path + ": not in the enumeration");
    }
    if (schema.contains("minimum") && value.is_number() && value < schema["minimum"]) {
      errors.push_back(path + ": too small");
    }
    if (value.is_object()) check_members(schema, value, path);
    if (value.is_array()) check_items(schema, value, path);
  }

 private:
  static bool has_one_of(const json& value, const json& types) {
    if (types.is_string()) return has_type(value, types);
    bool is_found = false;
    for (const auto& type : types) is_found = is_found || has_type(value, type);
    return is_found;
  }

  void check_items(const json& schema, const json& value, const std::string& path) {
    if (value.size() < schema.value("minItems", std::size_t{0}) ||
        value.size() > schema.value("maxItems", value.size())) {
      errors.push_back(path + ": wrong length");
    }
    if (!schema.contains("items")) return;
    for (std::size_t i = 0; i < value.size(); ++i) {
      check(schema["items"], value[i], path + "[" + std::to_string(i) + "]");
    }
  }

  void check_members(const json& schema, const json& value, const std::string& path) {
    for (const auto& name : schema.value("required", json::array())) {
      if (!value.contains(name.get<std::string>()))
        errors.push_back(path + ": lacks " + name.get<std::string>());
    }
    const json properties = schema.value("properties", json::object());
    const json others = schema.value("additionalProperties", json(true));
    for (const auto& [name, member] : value.items()) {
      if (properties.contains(name))
        check(properties[name], member, path + "." + name);
      else if (others.is_object())
        check(others, member, path + "." + name);
      else if (others == false)
        errors.push_back(path + ": unknown member " + name);
    }
  }
  const json& root_;
};

}  // namespace

std::vector<std::string> schema_errors(const json& schema, const json& value) {
  Checker checker(schema);
  checker.check(schema, value, "$");
  return checker.errors;
}

}  // namespace merlon::lab::test
