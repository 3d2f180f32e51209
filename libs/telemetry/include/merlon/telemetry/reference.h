// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reference pages and the event schema, made from the tables that the program itself uses. Pure;
// used by the merlon-docgen tool and by a test that compares the files in docs/reference.
#include <span>
#include <string>
#include <string_view>

namespace merlon::telemetry {

// One field of the event schema. The path is dotted, "[]" marks the items of an array: "vlan[]".
struct EveField {
  std::string_view path;
  std::string_view type;     // string | integer | boolean | object | array | number
  std::string_view events;   // space separated event types that can carry it; "*" is every one
  bool is_required = false;  // in those events, or in the enclosing object
  std::string_view help;
  std::string_view values;  // space separated, for an enumeration; empty: any
};
std::span<const EveField> eve_fields() noexcept;

std::string eve_schema();         // docs/reference/eve.schema.json
std::string events_reference();   // docs/reference/events.md
std::string metrics_reference();  // docs/reference/metrics.md
std::string drops_reference();    // docs/reference/drops.md

}  // namespace merlon::telemetry
