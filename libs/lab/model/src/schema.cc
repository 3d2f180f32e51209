// SPDX-License-Identifier: Apache-2.0
#include "format_version.h"
#include "json_write.h"
#include "merlon/lab_model/json.h"

namespace merlon::lab {
namespace {

template <class T>
Json schema_of(Json& definitions);

// Collects the fields of one type; types it holds go to `definitions` once.
class SchemaBuilder {
 public:
  explicit SchemaBuilder(Json& definitions) : definitions_(definitions) {}

  void object(const char* name, const char* help) {
    name_ = name;
    json_["description"] = help;
    json_["type"] = "object";
    json_["additionalProperties"] = false;
    json_["required"] = Json::array();
    json_["properties"] = Json::object();
  }
  template <class T>
  void field(const char* name, T&, const char* help) {
    add<std::remove_const_t<T>>(name, help);
    json_["required"].push_back(name);
  }
  template <class T>
  void field_since(int, const char* name, T&, const char* help) {
    add<std::remove_const_t<T>>(name, help);
  }
  [[nodiscard]] const std::string& name() const { return name_; }
  Json& json() { return json_; }

 private:
  template <class T>
  void add(const char* name, const char* help) {
    Json entry = Json::object();
    entry["description"] = help;
    entry.update(schema_of<T>(definitions_));
    json_["properties"][name] = std::move(entry);
  }
  Json& definitions_;
  Json json_ = Json::object();
  std::string name_;
};

Json reference(const std::string& name) {
  Json json = Json::object();
  json["$ref"] = "#/$defs/" + name;
  return json;
}

Json histogram_schema() {
  return Json::parse(
      R"({"description": "durations in ns; each value is kept within 1/64 of it", "type": "object",
    "additionalProperties": false, "required": ["minimum", "maximum", "buckets"], "properties": {
      "minimum": {"description": "exact, ns", "type": "integer", "minimum": 0},
      "maximum": {"description": "exact, ns", "type": "integer", "minimum": 0},
      "buckets": {"description": "[highest value of the bucket in ns, count], ascending, occupied ones only",
        "type": "array", "items": {"type": "array", "items": {"type": "integer", "minimum": 0},
        "minItems": 2, "maxItems": 2}}}})");
}

template <class T>
Json schema_of(Json& definitions) {
  Json json = Json::object();
  if constexpr (std::is_enum_v<T>) {
    json["enum"] = Json::array();
    for (const std::string_view w : kWords<T>) json["enum"].push_back(std::string(w));
  } else if constexpr (std::is_same_v<T, bool>) {
    json["type"] = "boolean";
  } else if constexpr (std::is_integral_v<T>) {
    json["type"] = "integer";
    if (std::is_unsigned_v<T>) json["minimum"] = 0;
  } else if constexpr (std::is_floating_point_v<T>) {
    json["type"] = Json::array({"number", "null"});
  } else if constexpr (std::is_same_v<T, std::string>) {
    json["type"] = "string";
  } else if constexpr (std::is_same_v<T, Histogram>) {
    if (!definitions.contains("histogram")) definitions["histogram"] = histogram_schema();
    return reference("histogram");
  } else if constexpr (IsVector<T>::value) {
    json["type"] = "array";
    json["items"] = schema_of<typename T::value_type>(definitions);
  } else if constexpr (IsMap<T>::value) {
    json["type"] = "object";
    json["additionalProperties"] = schema_of<typename T::mapped_type>(definitions);
  } else {
    SchemaBuilder builder(definitions);
    T value;
    describe(builder, value);
    definitions[builder.name()] = std::move(builder.json());
    return reference(builder.name());
  }
  return json;
}

}  // namespace

std::string result_schema() {
  Json definitions = Json::object();
  SchemaBuilder builder(definitions);
  Run run;
  describe(builder, run);

  Json json = Json::object();
  json["$schema"] = "https://json-schema.org/draft/2020-12/schema";
  json["title"] = "Merlon laboratory result";
  json.update(builder.json());
  json["description"] =
      "A run of the laboratory. Readers refuse another schema_version; a higher schema_minor only "
      "adds fields. Numbers "
      "that are null are not known. Whole numbers go up to 2^64-1.";
  Json properties = Json::object();
  properties["schema"]["const"] = kResultSchema;
  properties["schema_version"]["const"] = Run::kSchemaVersion;
  properties["schema_minor"]["const"] = kSchemaMinor;
  properties.update(json["properties"]);
  json["properties"] = std::move(properties);
  Json required = Json::array({"schema", "schema_version", "schema_minor"});
  for (const Json& name : json["required"]) required.push_back(name);
  json["required"] = std::move(required);
  json["$defs"] = std::move(definitions);
  return json.dump(2) + "\n";
}

}  // namespace merlon::lab
