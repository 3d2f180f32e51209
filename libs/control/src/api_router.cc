// SPDX-License-Identifier: Apache-2.0
#include "merlon/control/api_router.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <nlohmann/json.hpp>

#include "merlon/base/log.h"

namespace merlon::control {
namespace {

using base::Errc;
using base::Error;
using nlohmann::json;

std::vector<std::string_view> segments(std::string_view path) {
  std::vector<std::string_view> out;
  while (!path.empty()) {
    if (path.front() == '/') path.remove_prefix(1);
    const std::size_t end = std::min(path.find('/'), path.size());
    out.push_back(path.substr(0, end));
    path.remove_prefix(end);
    if (out.size() > 16) break;
  }
  return out;
}

bool fits(std::string_view pattern, const std::vector<std::string_view>& path,
          ApiRequest& request) {
  const auto parts = segments(pattern);
  if (parts.size() != path.size()) return false;
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (!parts[i].starts_with('{') && parts[i] != path[i]) return false;
  request.parameters.clear();
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (parts[i].starts_with('{'))
      request.parameters[std::string(parts[i].substr(1, parts[i].size() - 2))] = path[i];
  return true;
}

std::string dump(const json& document) {
  return document.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string_view ApiRequest::word(std::string_view key) const {
  const auto found = query.find(key);
  return found == query.end() ? std::string_view() : std::string_view(found->second);
}

base::Result<void> set_target(ApiRequest& request, std::string_view target) {
  const std::size_t mark = std::min(target.find('?'), target.size());
  if (!target.starts_with('/')) return Error{Errc::kInvalidValue, "a path begins with \"/\""};
  auto path = client::percent_decode(target.substr(0, mark));
  if (!path) return path.error();
  auto query = client::parse_query(target.substr(std::min(mark + 1, target.size())));
  if (!query) return query.error();
  request.path = *path;
  request.query = *query;
  return {};
}

int http_status(const base::Error& error) noexcept {
  switch (error.code) {
    case Errc::kInvalidValue:
    case Errc::kUnknownKey:
    case Errc::kDuplicate:
      return error.where.has_place() ? 422 : 400;
    case Errc::kNotFound:
      return error.where.has_place() ? 422 : 404;
    case Errc::kCapacity:
      return error.where.has_place() ? 422 : 503;
    case Errc::kConflict:
      return 409;
    case Errc::kRefused:
      return 403;
    case Errc::kTimeout:
      return 504;
    case Errc::kUnsupported:
      return 501;
    case Errc::kIo:
    case Errc::kInternal:
      return 500;
  }
  return 500;
}

json error_json(const base::Error& error) {
  json out{{"code", base::errc_name(error.code)}, {"message", error.message}};
  if (!error.hint.empty()) out["hint"] = error.hint;
  if (!error.path.empty()) out["path"] = error.path;
  if (!error.where.file.empty()) out["file"] = error.where.file;
  if (error.where.has_place()) {
    out["line"] = error.where.line;
    out["column"] = error.where.column;
    if (error.where.end_column != 0) out["end_column"] = error.where.end_column;
  }
  return out;
}

ApiAnswer ApiAnswer::json(const nlohmann::json& document, int status) {
  return {status, ApiText{"application/json", dump(document)}, {}};
}

ApiAnswer ApiAnswer::table(client::Table table) { return {200, std::move(table), {}}; }

ApiAnswer ApiAnswer::error(const base::Error& error) { return errors({error}, {}); }

ApiAnswer ApiAnswer::errors(const base::Errors& errors, const nlohmann::json& extra) {
  nlohmann::json body = extra.is_object() ? extra : nlohmann::json::object();
  nlohmann::json all = nlohmann::json::array();
  for (const Error& e : errors) all.push_back(error_json(e));
  if (!errors.empty()) body["error"] = all[0];
  body["errors"] = std::move(all);
  return json(body, errors.empty() ? 500 : http_status(errors.front()));
}

void ApiRouter::add(Route route) { routes_.push_back(std::move(route)); }

const Route* ApiRouter::find(ApiRequest& request, ApiAnswer& otherwise) const {
  const auto path = segments(request.path);
  std::string allowed;
  for (const Route& route : routes_) {
    if (!fits(route.pattern, path, request)) continue;
    if (route.method == request.method) {
      for (const auto& [key, value] : request.query) {
        if (std::ranges::find(route.words, key) != route.words.end()) continue;
        std::string hint = client::did_you_mean(key, route.words);
        if (hint.empty() && !route.words.empty())
          hint = fmt::format("it knows {}", fmt::join(route.words, ", "));
        otherwise = ApiAnswer::error({Errc::kUnknownKey,
                                      fmt::format("{} {} knows no query word \"{}\"", route.method,
                                                  route.pattern, client::printable(key)),
                                      {},
                                      std::move(hint)});
        return nullptr;
      }
      return &route;
    }
    allowed += (allowed.empty() ? "" : ", ") + route.method;
  }
  if (!allowed.empty()) {
    otherwise = ApiAnswer::error(
        {Errc::kUnsupported,
         fmt::format("{} is not possible on {}", request.method, client::printable(request.path)),
         {},
         "possible: " + allowed});
    otherwise.status = 405;
    otherwise.headers.emplace_back("Allow", allowed);
    return nullptr;
  }
  std::vector<std::string> patterns;
  for (const Route& route : routes_) patterns.push_back(route.pattern);
  std::string hint = client::did_you_mean(request.path, patterns);
  if (hint.empty()) hint = "GET /api/v1 lists what there is";
  otherwise = ApiAnswer::error({Errc::kNotFound,
                                fmt::format("there is no {}", client::printable(request.path)),
                                {},
                                std::move(hint)});
  return nullptr;
}

ApiAnswer ApiRouter::run(const Route& route, const ApiRequest& request) {
  try {
    return route.handler(request);
  } catch (const std::exception& problem) {
    base::log(base::LogLevel::kError, "api", "{} {} failed: {}", route.method, route.pattern,
              problem.what());
    return ApiAnswer::error({Errc::kInternal,
                             "the daemon met an internal error",
                             {},
                             "its log says more; please report it"});
  }
}

ApiAnswer ApiRouter::dispatch(ApiRequest& request) const {
  ApiAnswer otherwise;
  const Route* route = find(request, otherwise);
  return route == nullptr ? std::move(otherwise) : run(*route, request);
}

std::string routes_markdown(const ApiRouter& router) {
  std::string out =
      "# API\n\nHTTP/1.1 on the daemon's Unix socket. Lists answer as `application/json` (a list "
      "of "
      "objects),\n`application/jsonl`, `text/csv`, `application/vnd.merlon.table+json` or "
      "`application/vnd.merlon.table+jsonl`, as the\n`Accept` header asks. Errors are "
      "`{\"error\":{code,message,hint,file,line,column},\"errors\":[...]}`.\n\nThis page is made "
      "from the table of routes.\n\n| request | query | answer |\n| --- | --- | --- |\n";
  for (const Route& r : router.routes()) {
    std::string words;
    for (const std::string& w : r.words)
      words += fmt::format("{}`{}`", words.empty() ? "" : " ", w);
    out += fmt::format("| `{} {}` | {} | {} |\n", r.method, r.pattern, words, r.help);
  }
  return out;
}

}  // namespace merlon::control
