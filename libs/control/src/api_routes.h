// SPDX-License-Identifier: Apache-2.0
#pragma once
// The parts of add_routes(), by subject, and what they share.
#include <nlohmann/json_fwd.hpp>

#include "merlon/control/api_router.h"
#include "merlon/control/api_runtime.h"

namespace merlon::control {

void add_show_routes(ApiRouter& router, RuntimeView& runtime);
void add_session_routes(ApiRouter& router, RuntimeView& runtime);
void add_explain_routes(ApiRouter& router, RuntimeView& runtime);
void add_config_routes(ApiRouter& router, RuntimeView& runtime);

// A table as a JSON list of objects.
nlohmann::json table_objects(const client::Table& table);
nlohmann::json status_json(const Status& status);
// The answer of POST /api/v1/explain; client::explain_text() prints it.
nlohmann::json explanation_json(const Explanation& found);
// A JSON object from a request's body; an error that says what is wrong with it.
base::Result<nlohmann::json> json_body(const ApiRequest& request);

}  // namespace merlon::control
