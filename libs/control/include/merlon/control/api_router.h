// SPDX-License-Identifier: Apache-2.0
#pragma once
// Requests, answers and the table of routes; knows nothing of sockets. The Router is filled before
// the server starts and immutable then. A dispatch walks the routes (some thirty) once; handlers
// run on the caller's thread.
#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "merlon/base/result.h"
#include "merlon/client/table.h"
#include "merlon/client/words.h"

namespace merlon::control {

struct ApiRequest {
  std::string method;
  std::string path;  // decoded, without the query
  client::QueryWords query;
  std::string accept;
  std::string if_match;  // a revision number; empty: none
  std::string content_type;
  std::string body;
  std::string peer;                                            // who asks: "uid 1000"
  std::map<std::string, std::string, std::less<>> parameters;  // of the path pattern

  // The query's value or nothing.
  [[nodiscard]] std::string_view word(std::string_view key) const;
};

struct ApiText {
  std::string content_type, body;
};
// A list of any length; the head's rows are not used.
struct ApiTableStream {
  client::Table head;
  client::RowSource source;
  std::uint64_t limit = 0;
};
// Server-sent events: `next` is asked each `interval` for the text of one message (lines "event:",
// "id:", "data:" with the blank line); an empty text sends a comment that keeps the connection
// alive, nothing ends the stream.
struct ApiEventStream {
  std::chrono::milliseconds interval{1000};
  std::function<std::optional<std::string>()> next;
};

struct ApiAnswer {
  int status = 200;
  std::variant<ApiText, client::Table, ApiTableStream, ApiEventStream> content;
  std::vector<std::pair<std::string, std::string>> headers;

  static ApiAnswer json(const nlohmann::json& document, int status = 200);
  static ApiAnswer table(client::Table table);
  static ApiAnswer error(const base::Error& error);
  // {"error": first, "errors": all, "warnings": ..., "text": ...}; `extra` is merged in.
  static ApiAnswer errors(const base::Errors& errors, const nlohmann::json& extra);
};

// 400 invalid value, 404 not found, 409 conflict, 422 errors with a place in a text, 403, 503, 504,
// 500.
int http_status(const base::Error& error) noexcept;
nlohmann::json error_json(const base::Error& error);

using ApiHandler = std::function<ApiAnswer(const ApiRequest&)>;

enum class RouteCost : std::uint8_t {
  kQuick,  // on the API thread
  kSlow,   // on the config thread, one at a time; larger bodies allowed
};

struct Route {
  std::string method, pattern;  // "/api/v1/rules/{id}"
  std::string help;             // one sentence
  RouteCost cost = RouteCost::kQuick;
  std::vector<std::string> words;  // query keys it knows; others are an error
  ApiHandler handler;
};

class ApiRouter {
 public:
  void add(Route route);
  [[nodiscard]] const std::vector<Route>& routes() const noexcept { return routes_; }

  // The route for a request, its path parameters filled in; else the answer that says why not (404
  // with did-you-mean, 405 with Allow).
  [[nodiscard]] const Route* find(ApiRequest& request, ApiAnswer& otherwise) const;
  // Finds and runs; exceptions of the handler become 500.
  [[nodiscard]] ApiAnswer dispatch(ApiRequest& request) const;
  // Runs a route that find() gave.
  [[nodiscard]] static ApiAnswer run(const Route& route, const ApiRequest& request);

 private:
  std::vector<Route> routes_;
};

// Splits "/a/b?x=1" into path and query of `request`.
base::Result<void> set_target(ApiRequest& request, std::string_view target);

class RuntimeView;
// The routes of docs/reference/api.md over `runtime`, which must outlive the router.
void add_routes(ApiRouter& router, RuntimeView& runtime);
// The reference page of the routes.
std::string routes_markdown(const ApiRouter& router);

}  // namespace merlon::control
