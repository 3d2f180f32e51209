// SPDX-License-Identifier: Apache-2.0
// What is made of the declarations: JSON Schema and the reference page.
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "config_value.h"
#include "merlon/control/schema.h"
#include "schema_index.h"

namespace merlon::control {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kIdPattern = "^[A-Za-z][A-Za-z0-9_.-]{0,62}$";

Json scalar_schema(const Key& key) {
  switch (key.type) {
    case KeyType::kBool:
      return {{"type", "boolean"}};
    case KeyType::kInteger:
      return {{"type", "integer"}, {"minimum", key.min}, {"maximum", key.max}};
    case KeyType::kChoice: {
      Json list = Json::array();
      for (const std::string_view c : split_words(key.choices)) list.push_back(c);
      return {{"enum", list}};
    }
    case KeyType::kId:
      return {{"type", "string"}, {"pattern", kIdPattern}};
    case KeyType::kDuration:
      return {{"type", "string"}, {"pattern", "^([0-9]+(d|h|m|s|ms|us|ns))+$"}};
    case KeyType::kSize:
      return {{"type", Json::array({"string", "integer"})},
              {"pattern", "^[0-9]+([kMGT]B?|[KMGT]iB|B)?$"}};
    case KeyType::kClock:
      return {{"type", "string"}, {"pattern", "^[0-2][0-9]:[0-5][0-9]$"}};
    case KeyType::kPciAddress:
      return {{"type", "string"},
              {"pattern", "^[0-9A-Fa-f]{4}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\\.[0-7]$"}};
    default:
      return {{"type", "string"}, {"minLength", 1}};
  }
}

Json schema_of(const SchemaNode& node);

Json object_of(const SchemaNode& node) {
  Json properties = Json::object(), required = Json::array();
  for (const SchemaNode& child : node.children) {
    properties[std::string(child.word)] = schema_of(child);
    if (child.key->is_required) required.push_back(child.word);
  }
  Json out{{"type", "object"}, {"additionalProperties", false}, {"properties", properties}};
  if (!required.empty()) out["required"] = required;
  return out;
}

Json list_or_one(const Json& one) {
  return {{"anyOf", Json::array({one, Json{{"type", "array"}, {"items", one}, {"minItems", 1}}})}};
}

Json schema_of(const SchemaNode& node) {
  const Key& key = *node.key;
  Json out;
  switch (key.type) {
    case KeyType::kSection:
      out = object_of(node);
      if (key.path == "objects.addresses.*")
        out = Json{{"anyOf", Json::array({out, list_or_one(Json{{"type", "string"}})})}};
      break;
    case KeyType::kNamed:
      out = {{"type", "object"},
             {"propertyNames", {{"pattern", kIdPattern}}},
             {"additionalProperties", schema_of(node.element.front())}};
      break;
    case KeyType::kRecords:
    case KeyType::kItems:
      out = {{"type", "array"}, {"items", schema_of(node.element.front())}};
      break;
    default:
      out = key.is_list ? list_or_one(scalar_schema(key)) : scalar_schema(key);
  }
  out["description"] = key.help;
  if (!key.default_text.empty()) out["x-default"] = key.default_text;
  if (!key.unit.empty()) out["x-unit"] = key.unit;
  out["x-reload"] = reload_name(key.reload);
  out["x-since"] = key.since;
  return out;
}

void describe(std::string& out, const Key& key) {
  out += fmt::format("\n### `{}`\n\n{}\n\n", key.path, key.help);
  const auto fact = [&](std::string_view name, std::string_view value) {
    if (!value.empty()) out += fmt::format("- {}: {}\n", name, value);
  };
  const bool is_value = key.type != KeyType::kSection && key.type != KeyType::kNamed &&
                        key.type != KeyType::kRecords && key.type != KeyType::kItems;
  fact("type", fmt::format("{}{}", key.is_list ? "list of: " : "", key_type_name(key.type)));
  std::string choices;
  for (const std::string_view c : split_words(key.choices))
    choices += fmt::format("{}`{}`", choices.empty() ? "" : ", ", c);
  fact("choices", choices);
  fact("range", format_range(key));
  fact("unit", key.unit);
  if (!key.default_text.empty()) fact("default", fmt::format("`{}`", key.default_text));
  if (key.is_required) fact("required", "yes");
  if (key.can_negate) fact("negation", "`\"!name\"`, in quotes");
  if (is_value || key.type == KeyType::kNamed || key.type == KeyType::kRecords)
    fact("takes effect", key.reload == Reload::kLive          ? "at the commit"
                         : key.reload == Reload::kNewSessions ? "at the commit, for new sessions"
                                                              : "at restart");
  if (!key.example.empty()) fact("example", fmt::format("`{}`", key.example));
  fact("since", key.since);
}

constexpr std::string_view kIntroduction = R"(# Configuration reference

Made from the declarations in `libs/control/src/schema_keys_*.cc`; do not edit by hand.

A configuration is one YAML file and the files that it includes. The form is a strict part of YAML: mappings, lists and
values. Anchors, aliases, tags, merge keys, several documents, duplicate keys, unknown keys, tabs in the indentation,
numbers with leading zeros and `yes`/`no` for true and false are errors. All errors of all files are reported at once.

- **Lists** of values may be written as one value: `from: lan` is `from: [lan]`. An empty list is an error; leave the key out.
- **Names** start with a letter; letters, digits, `_`, `-` and `.` follow, at most 63 in all.
- **Durations** have a unit: `250ms`, `30s`, `5m`, `2h4m`, `1d`. **Sizes** may have one: `10k`, `1M` (powers of 1000), `64MiB`.
- **Negation** needs quotes, because YAML gives `!` a meaning of its own: `source: "!guests"`.
- In paths, `*` stands for a name of your choice and `[]` for an element of a list.
- **Takes effect**: *at the commit* for all packets that follow; *for new sessions* leaves running ones as they are; a commit
  that changes a key which takes effect *at restart* is refused unless it allows that, and is then stored for the next start.
- Limits: a file has at most 64 MiB, a configuration at most 64 files, nesting at most 32 levels.
)";

}  // namespace

std::string json_schema() {
  Json out{{"$schema", "https://json-schema.org/draft/2020-12/schema"},
           {"title", "Merlon configuration"}};
  out.update(object_of(schema_root()));
  return out.dump(2) + "\n";
}

std::string configuration_reference() {
  std::string out(kIntroduction);
  for (const Key& key : schema()) {
    const bool is_top = key.path.find('.') == std::string_view::npos;
    if (is_top) out += fmt::format("\n## {}\n", key.path);
    describe(out, key);
  }
  return out;
}

}  // namespace merlon::control
