// SPDX-License-Identifier: Apache-2.0
#pragma once
// A validator for the part of JSON Schema that eve.schema.json uses: type, properties (also
// `false`), required, additionalProperties, enum, const, items, minimum, allOf, if/then. For tests.
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "merlon/telemetry/eve.h"

namespace merlon::telemetry::test {

// Empty when `value` obeys `schema`; else one line per violation, with its path.
std::vector<std::string> schema_errors(const nlohmann::json& schema, const nlohmann::json& value,
                                       const std::string& path = "$");

// The violations of one event line against the schema that is checked in.
std::vector<std::string> event_errors(std::string_view line);

// Names as a small network has them.
class FixedNames final : public Names {
 public:
  std::string_view port(std::uint16_t number) const override {
    return number == 0 ? "wan" : number == 1 ? "lan" : "";
  }
  std::string_view zone(std::uint16_t number, std::uint32_t /*generation*/) const override {
    return number == 0 ? "outside" : number == 1 ? "inside" : "";
  }
  std::string_view rule(std::uint32_t slot) const override {
    return slot == 0 ? "default" : slot == 7 ? "allow-web" : "";
  }
  std::string_view rule_reason(std::uint32_t slot) const override {
    return slot == 7 ? "say \"please\"" : "";
  }
  std::string_view session_state(std::uint8_t state) const override {
    return state == 6 ? "time_wait" : "established";
  }
  FlowState flow_state(std::uint8_t state) const override {
    return state == 6 ? FlowState::kClosed : state == 1 ? FlowState::kNew : FlowState::kEstablished;
  }
};

}  // namespace merlon::telemetry::test
