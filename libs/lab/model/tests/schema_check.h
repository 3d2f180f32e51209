// SPDX-License-Identifier: Apache-2.0
#pragma once
// The part of JSON Schema that the result's schema uses, for tests.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace merlon::lab::test {

// What of `value` the schema refuses, with paths.
std::vector<std::string> schema_errors(const nlohmann::json& schema, const nlohmann::json& value);

}  // namespace merlon::lab::test
