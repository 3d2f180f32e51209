// SPDX-License-Identifier: Apache-2.0
// Routes of the configuration's life cycle.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "api_routes.h"
#include "api_tables.h"
#include "merlon/control/config_print.h"

namespace merlon::control {
namespace {

using base::Errc;
using base::Error;
using nlohmann::json;

constexpr std::size_t kMaxComment = 1000;

Error wrong_body(std::string message) {
  return {Errc::kInvalidValue,
          std::move(message),
          {},
          "{\"files\":[{\"name\":\"merlon.yaml\",\"text\":\"...\"}]}, or the YAML itself with "
          "Content-Type "
          "application/yaml"};
}

// What a request says beside the files.
struct Wish {
  Bundle candidate;
  CommitRequest request;
  std::uint64_t revision = 0;
};

base::Result<std::uint64_t> number_in(const json& body, const char* key, std::uint64_t last) {
  const auto found = body.find(key);
  if (found == body.end() || found->is_null()) return std::uint64_t{0};
  if (!found->is_number_unsigned() || found->get<std::uint64_t>() > last)
    return Error{Errc::kInvalidValue,
                 fmt::format("\"{}\" must be a number from 0 to {}", key, last)};
  return found->get<std::uint64_t>();
}

base::Result<std::string> text_in(const json& body, const char* key, std::size_t longest) {
  const auto found = body.find(key);
  if (found == body.end() || found->is_null()) return std::string();
  if (!found->is_string() || found->get_ref<const std::string&>().size() > longest)
    return Error{Errc::kInvalidValue,
                 fmt::format("\"{}\" must be a text of at most {} bytes", key, longest)};
  return found->get<std::string>();
}

base::Result<Bundle> bundle_in(const json& body) {
  const auto files = body.find("files");
  if (files == body.end() || !files->is_array() || files->empty())
    return wrong_body("\"files\" must be a list with at least one file");
  if (files->size() > kMaxFiles)
    return Error{Errc::kCapacity, fmt::format("more than {} files", kMaxFiles)};
  Bundle bundle;
  for (const json& file : *files) {
    if (!file.is_object() || !file.contains("name") || !file.contains("text") ||
        !file["name"].is_string() || !file["text"].is_string())
      return wrong_body("each of \"files\" needs \"name\" and \"text\"");
    bundle.files.push_back({file["name"].get<std::string>(), file["text"].get<std::string>()});
  }
  return bundle;
}

// `If-Match: 41` or "base_revision": whichever is there.
base::Result<void> set_expected(Wish& wish, const ApiRequest& request, const json& body) {
  std::string_view match = request.if_match;
  if (match.size() >= 2 && match.front() == '"' && match.back() == '"')
    match = match.substr(1, match.size() - 2);
  if (!match.empty()) {
    const auto number = client::parse_number(match, ~0ULL);
    if (!number) return Error{Errc::kInvalidValue, "If-Match must be a revision number"};
    wish.request.expected_revision = *number;
  }
  const auto revision = number_in(body, "base_revision", ~0ULL);
  if (!revision) return revision.error();
  if (*revision != 0) wish.request.expected_revision = *revision;
  return {};
}

base::Result<Wish> wish_of(const ApiRequest& request, bool needs_files) {
  Wish wish;
  json body = json::object();
  if (request.content_type.find("yaml") != std::string::npos) {
    wish.candidate = Bundle::of(request.body);
  } else {
    auto parsed = json_body(request);
    if (!parsed) return parsed.error();
    body = std::move(*parsed);
    if (needs_files) {
      auto bundle = bundle_in(body);
      if (!bundle) return bundle.error();
      wish.candidate = std::move(*bundle);
    }
  }
  if (auto done = set_expected(wish, request, body); !done) return done.error();
  const auto minutes = number_in(body, "confirm_minutes", 24 * 60);
  if (!minutes) return minutes.error();
  const auto revision = number_in(body, "revision", ~0ULL);
  if (!revision) return revision.error();
  auto comment = text_in(body, "comment", kMaxComment);
  if (!comment) return comment.error();
  auto author = text_in(body, "author", 100);
  if (!author) return author.error();
  wish.revision = *revision;
  wish.request.confirm_within = static_cast<base::Nanos>(*minutes) * 60 * base::kNanosPerSecond;
  wish.request.comment = std::move(*comment);
  wish.request.author = author->empty() ? request.peer : std::move(*author);
  const auto restart = body.find("allow_restart_keys");
  wish.request.allow_restart_keys =
      restart != body.end() && restart->is_boolean() && restart->get<bool>();
  return wish;
}

json effect_json(const SessionEffect& e) {
  json per_rule = json::array();
  for (const auto& r : e.per_rule)
    per_rule.push_back({{"rule", r.rule},
                        {"dropped", r.dropped},
                        {"kept", r.kept},
                        {"changed_rule", r.changed_rule}});
  return {{"examined", e.examined},         {"partial", e.is_partial},
          {"dropped", e.dropped},           {"kept", e.kept},
          {"changed_rule", e.changed_rule}, {"per_rule", std::move(per_rule)}};
}

json warnings_json(const base::Errors& warnings) {
  json out = json::array();
  for (const Error& w : warnings) out.push_back(error_json(w));
  return out;
}

json changes_json(const std::vector<Change>& changes) {
  return json::parse(changes_to_json(changes), nullptr, false);
}

ApiAnswer findings(const base::Errors& errors, const base::Errors& warnings, const Bundle& bundle,
                   std::uint64_t running) {
  const std::string outcome = fmt::format("nothing was changed (running: revision {})", running);
  PrintOptions options;
  options.outcome = outcome;
  ApiAnswer answer =
      ApiAnswer::errors(errors, {{"ok", false},
                                 {"running", running},
                                 {"warnings", warnings_json(warnings)},
                                 {"text", format_findings(errors, warnings, bundle, options)}});
  // What is wrong is in the configuration that was sent, wherever the error has no place.
  if (answer.status == 400) answer.status = 422;
  return answer;
}

ApiAnswer check(RuntimeView& runtime, const ApiRequest& request) {
  const auto wish = wish_of(request, true);
  if (!wish) return ApiAnswer::error(wish.error());
  const CheckReport report = runtime.check_config(wish->candidate);
  const std::uint64_t running = runtime.status().config_revision;
  if (!report.errors.empty())
    return findings(report.errors, report.warnings, report.bundle, running);
  PrintOptions options;
  options.outcome = "nothing was changed";
  return ApiAnswer::json(
      {{"ok", true},
       {"running", running},
       {"warnings", warnings_json(report.warnings)},
       {"text", report.warnings.empty()
                    ? std::string()
                    : format_findings({}, report.warnings, report.bundle, options)}});
}

ApiAnswer diff_candidate(RuntimeView& runtime, const ApiRequest& request) {
  const auto wish = wish_of(request, true);
  if (!wish) return ApiAnswer::error(wish.error());
  const PreviewReport report = runtime.preview_config(wish->candidate);
  if (!report.check.errors.empty())
    return findings(report.check.errors, report.check.warnings, report.check.bundle,
                    report.running_revision);
  json body{{"running", report.running_revision},
            {"changes", changes_json(report.changes)},
            {"text", format_changes(report.changes)},
            {"restart_keys", report.restart_keys},
            {"warnings", warnings_json(report.check.warnings)}};
  if (report.effect) body["effect"] = effect_json(*report.effect);
  return ApiAnswer::json(body);
}

ApiAnswer outcome_answer(const CommitOutcome& outcome, RuntimeView& runtime) {
  if (!outcome.ok())
    return findings(outcome.errors, outcome.warnings, outcome.bundle,
                    runtime.status().config_revision);
  const CommitReport& r = *outcome.report;
  return ApiAnswer::json(
      {{"revision", r.revision},
       {"previous", r.previous},
       {"unchanged", r.is_unchanged},
       {"changes", changes_json(r.changes)},
       {"text", format_changes(r.changes)},
       {"restart_keys", r.restart_keys},
       {"warnings", warnings_json(r.warnings)},
       {"published", base::format_timestamp(r.apply.published)},
       {"blocked_ns", r.apply.blocked_ns},
       {"compile_ns", r.apply.compile_ns},
       {"memory_bytes", r.apply.memory_size},
       {"effect", effect_json(r.apply.effect)},
       {"confirm_deadline",
        r.confirm_deadline ? json(base::format_timestamp(*r.confirm_deadline)) : json(nullptr)}});
}

ApiAnswer commit(RuntimeView& runtime, const ApiRequest& request) {
  const auto wish = wish_of(request, true);
  if (!wish) return ApiAnswer::error(wish.error());
  const CommitOutcome outcome = runtime.commit_config(wish->candidate, wish->request, request.peer);
  return outcome_answer(outcome, runtime);
}

ApiAnswer rollback(RuntimeView& runtime, const ApiRequest& request) {
  const auto wish = wish_of(request, false);
  if (!wish) return ApiAnswer::error(wish.error());
  const CommitOutcome outcome =
      runtime.rollback_config(wish->revision, wish->request, request.peer);
  return outcome_answer(outcome, runtime);
}

ApiAnswer confirm(RuntimeView& runtime, const ApiRequest& request) {
  const auto wish = wish_of(request, false);
  if (!wish) return ApiAnswer::error(wish.error());
  const auto done = runtime.confirm_config(wish->request.author, request.peer);
  if (!done) return ApiAnswer::error(done.error());
  return ApiAnswer::json({{"revision", done->number}, {"reason", done->reason}});
}

ApiAnswer show(RuntimeView& runtime, const ApiRequest& request) {
  std::uint64_t revision = 0;
  if (const std::string_view word = request.word("revision"); !word.empty()) {
    const auto number = client::parse_number(word, ~0ULL);
    if (!number) return ApiAnswer::error(number.error());
    revision = *number;
  }
  const auto config = runtime.config(revision);
  if (!config) return ApiAnswer::error(config.error());
  json files = json::array();
  for (const SourceFile& file : config->bundle.files)
    files.push_back({{"name", file.name}, {"text", file.text}});
  ApiAnswer answer = ApiAnswer::json({{"revision", config->revision},
                                      {"files", std::move(files)},
                                      {"text", config->bundle.to_text()},
                                      {"canonical", config->canonical}});
  answer.headers.emplace_back("ETag", fmt::format("\"{}\"", config->revision));
  return answer;
}

}  // namespace

base::Result<json> json_body(const ApiRequest& request) {
  if (request.body.empty()) return json::object();
  // No request has more: 64 files of two texts, and some words. Without a bound a body of empty
  // lists would take thirty times its size.
  constexpr std::size_t kMaxValues = 1000;
  bool is_too_deep = false;
  std::size_t count = 0;
  const auto watch = [&](int depth, json::parse_event_t event, json&) {
    is_too_deep = is_too_deep || depth > 16;
    count += event != json::parse_event_t::object_end && event != json::parse_event_t::array_end;
    return !is_too_deep && count <= kMaxValues;  // false: the value is left out
  };
  json body = json::parse(request.body, watch, false);
  if (is_too_deep) return Error{Errc::kInvalidValue, "the body is nested deeper than 16"};
  if (count > kMaxValues)
    return Error{Errc::kInvalidValue, fmt::format("the body has more than {} values", kMaxValues)};
  if (body.is_discarded()) return Error{Errc::kInvalidValue, "the body is not JSON"};
  if (!body.is_object()) return Error{Errc::kInvalidValue, "the body must be a JSON object"};
  return body;
}

void add_config_routes(ApiRouter& router, RuntimeView& runtime) {
  RuntimeView* r = &runtime;
  router.add({"GET",
              "/api/v1/config",
              "the running configuration or that of a `revision`",
              RouteCost::kSlow,
              {"revision"},
              [r](const ApiRequest& q) { return show(*r, q); }});
  router.add({"GET",
              "/api/v1/config/history",
              "revisions with author, comment and reason",
              RouteCost::kQuick,
              {},
              [r](const ApiRequest&) {
                return ApiAnswer::table(history_table(r->history(), r->status().config_revision));
              }});
  const auto post = [&router](std::string pattern, std::string help, ApiHandler handler) {
    router.add(
        {"POST", std::move(pattern), std::move(help), RouteCost::kSlow, {}, std::move(handler)});
  };
  post("/api/v1/config/check", "all errors and warnings of a candidate; changes nothing",
       [r](const ApiRequest& q) { return check(*r, q); });
  post("/api/v1/config/diff", "what a commit of the candidate would change, also for live sessions",
       [r](const ApiRequest& q) { return diff_candidate(*r, q); });
  post("/api/v1/config/commit",
       "commits; `base_revision` or `If-Match` refuses when another revision came in between, "
       "`confirm_minutes` rolls back unless confirmed",
       [r](const ApiRequest& q) { return commit(*r, q); });
  post("/api/v1/config/confirm", "makes the waiting commit final",
       [r](const ApiRequest& q) { return confirm(*r, q); });
  post("/api/v1/config/rollback", "goes back to `revision`, or to the one before the running one",
       [r](const ApiRequest& q) { return rollback(*r, q); });
}

}  // namespace merlon::control
