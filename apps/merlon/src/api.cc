// SPDX-License-Identifier: Apache-2.0
#include "api.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "merlon/client/words.h"

namespace merlon::cli {
namespace {

using base::Errc;
using base::Error;
using client::Format;
using nlohmann::json;

constexpr std::size_t kMaxAnswer = 256U * 1024 * 1024;  // bytes of an answer that is collected
constexpr std::string_view kTableLines = "application/vnd.merlon.table+jsonl";

std::vector<std::string> split_commas(const std::string& text) {
  std::vector<std::string> out;
  std::size_t begin = 0;
  while (begin <= text.size() && !text.empty()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    if (end > begin) out.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

bool has_color(const Invocation& call) {
  const std::string when = call.value("--color", "auto");
  if (when == "always") return true;
  const char* no_color = std::getenv("NO_COLOR");
  return when == "auto" && call.output->is_terminal && (no_color == nullptr || *no_color == '\0');
}

client::Value value_of(const json& v) {
  if (v.is_boolean()) return v.get<bool>();
  if (v.is_number_unsigned()) return v.get<std::uint64_t>();
  if (v.is_number_integer()) return v.get<std::int64_t>();
  if (v.is_number_float()) return v.get<double>();
  if (v.is_string()) return v.get<std::string>();
  return std::monostate{};
}

// Columns and the one row's cells of a document; lists become one text.
void add_fields(const json& object, const std::string& before, client::Table& table) {
  for (const auto& [key, value] : object.items()) {
    const std::string name = before + key;
    if (value.is_object()) {
      add_fields(value, name + ".", table);
      continue;
    }
    std::string list;
    if (value.is_array())
      for (const json& item : value)
        list += (list.empty() ? "" : "; ") +
                (item.is_string() ? item.get<std::string>()
                                  : item.dump(-1, ' ', false, json::error_handler_t::replace));
    table.columns.push_back({.name = name, .title = name});
    table.rows.front().push_back(value.is_array() ? client::Value(list) : value_of(value));
  }
}

// What an answer with an error status says. With "text" it is a check's findings, which have their
// own form.
int tell_error(const Invocation& call, int status, const std::string& body, json& answer) {
  const int code = exit_code_of(status);
  answer = json::parse(body, nullptr, false);
  if (answer.is_discarded() || !answer.is_object()) {
    answer = json::object();
    call.output->messages(fmt::format("merlon: error: the daemon answered with status {}", status));
    return code;
  }
  const auto text = answer.find("text");
  if (text != answer.end() && text->is_string() && !text->get_ref<const std::string&>().empty()) {
    std::string findings = text->get<std::string>();
    while (findings.ends_with('\n')) findings.pop_back();
    call.output->messages(findings);
    return code;
  }
  const auto error = answer.find("error");
  if (error != answer.end() && error->is_object()) {
    const std::string hint = error->value("hint", std::string());
    call.output->messages(fmt::format("merlon: error: {}{}",
                                      client::printable(error->value("message", "unknown")),
                                      hint.empty() ? "" : " (" + client::printable(hint) + ")"));
  } else {
    call.output->messages(fmt::format("merlon: error: the daemon answered with status {}", status));
  }
  return code;
}

// Sends; a good answer's body goes to `sink` as it comes.
int send(const Invocation& call, const client::HttpRequest& request, json& answer,
         const std::function<bool(std::string_view)>& sink) {
  const auto options = api_options(call);
  if (!options) return fail(call, options.error());
  std::string error_body;
  const auto head =
      client::http_send(*options, request, [&](const client::HttpHead& h, std::string_view piece) {
        if (h.status < 400) return sink(piece);
        error_body += piece;
        return error_body.size() < kMaxAnswer;
      });
  if (!head) return fail(call, head.error());
  return head->status < 400 ? static_cast<int>(kDone)
                            : tell_error(call, head->status, error_body, answer);
}

client::HttpRequest with_accept(std::string target, std::string_view accept) {
  client::HttpRequest request = get(std::move(target));
  request.headers.emplace_back("Accept", accept);
  return request;
}

std::string with_limit(const std::string& target, const client::WriterOptions& options) {
  if (options.limit == 0 || !options.sort.empty() || !target.starts_with("/api/v1/sessions"))
    return target;
  return fmt::format("{}{}limit={}", target, target.find('?') == std::string::npos ? '?' : '&',
                     options.limit);
}

}  // namespace

int exit_code_of(int http_status) {
  switch (http_status) {
    case 400:
    case 413:
      return kUsage;
    case 401:
    case 403:
      return kRefused;
    case 409:
    case 412:
      return kConflict;
    case 422:
      return kCheckFailed;
    case 504:
      return kTimedOut;
    default:
      return http_status < 400 ? kDone : kFailed;
  }
}

int fail(const Invocation& call, const base::Error& error) {
  call.output->messages(fmt::format("merlon: error: {}{}", error.message,
                                    error.hint.empty() ? "" : " (" + error.hint + ")"));
  switch (error.code) {
    case Errc::kNotFound:
      return kNotConnected;
    case Errc::kRefused:
      return kRefused;
    case Errc::kConflict:
      return kConflict;
    case Errc::kTimeout:
      return kTimedOut;
    case Errc::kInvalidValue:
    case Errc::kUnknownKey:
      return kUsage;
    default:
      return kFailed;
  }
}

base::Result<client::HttpOptions> api_options(const Invocation& call) {
  client::HttpOptions options;
  const char* environment = std::getenv("MERLON_SOCKET");
  options.socket_path = call.value("--socket", environment != nullptr && *environment != '\0'
                                                   ? environment
                                                   : "/run/merlon/api.sock");
  const auto timeout = client::parse_duration_ms(call.value("--timeout", "10s"));
  if (!timeout) return timeout.error();
  options.timeout = std::chrono::milliseconds(*timeout);
  return options;
}

client::HttpRequest get(std::string target) { return {.target = std::move(target)}; }

client::HttpRequest post(std::string target, const json& body) {
  client::HttpRequest request{.method = "POST", .target = std::move(target)};
  request.headers.emplace_back("Content-Type", "application/json");
  request.body = body.dump(-1, ' ', false, json::error_handler_t::replace);
  return request;
}

int call_text(const Invocation& call, const client::HttpRequest& request, std::string& body) {
  json answer;
  bool is_too_large = false;
  const int code = send(call, request, answer, [&](std::string_view piece) {
    is_too_large = body.size() + piece.size() > kMaxAnswer;
    if (!is_too_large) body += piece;
    return !is_too_large;
  });
  if (code == kDone && is_too_large) return fail(call, {Errc::kIo, "the answer is too large"});
  return code;
}

int call_api(const Invocation& call, const client::HttpRequest& request, json& answer) {
  std::string body;
  json error;
  const int code = send(call, request, error, [&body](std::string_view piece) {
    body += piece;
    return body.size() < kMaxAnswer;
  });
  if (code != kDone) {
    answer = std::move(error);
    return code;
  }
  answer = json::parse(body, nullptr, false);
  if (answer.is_discarded()) return fail(call, {Errc::kIo, "the daemon's answer is not JSON"});
  return kDone;
}

base::Result<client::Format> wanted_format(const Invocation& call) {
  return client::parse_format(call.value("--output", "table"));
}

base::Result<client::WriterOptions> writer_options(const Invocation& call) {
  client::WriterOptions options;
  const auto format = wanted_format(call);
  if (!format) return format.error();
  options.format = *format;
  options.columns = split_commas(call.value("--columns"));
  options.sort = split_commas(call.value("--sort"));
  const auto limit = client::parse_number(call.value("--limit", "0"), ~0ULL);
  if (!limit) return Error{Errc::kInvalidValue, "--limit: " + limit.error().message};
  options.limit = *limit;
  options.has_headers = !call.has("--no-headers");
  options.has_color = has_color(call);
  const std::string when = call.value("--color", "auto");
  if (when != "auto" && when != "always" && when != "never")
    return Error{Errc::kInvalidValue,
                 fmt::format("--color \"{}\" is not known", client::printable(when)),
                 {},
                 "auto, always or never"};
  return options;
}

int print_table(const Invocation& call, const client::Table& table) {
  const auto options = writer_options(call);
  if (!options) return fail(call, options.error());
  const auto done = client::write_table(table, *options, call.output->data);
  return done ? static_cast<int>(kDone) : fail(call, done.error());
}

int print_document(const Invocation& call, const json& document,
                   const std::function<std::string()>& text) {
  const auto format = wanted_format(call);
  if (!format) return fail(call, format.error());
  if (*format == Format::kCsv) {
    client::Table table{"document", {}, {{}}};
    add_fields(document, "", table);
    return print_table(call, table);
  }
  const bool is_line = *format == Format::kJsonLines;
  call.print(*format == Format::kJson || is_line
                 ? document.dump(is_line ? -1 : 2, ' ', false, json::error_handler_t::replace) +
                       "\n"
                 : text());
  return kDone;
}

int print_list(const Invocation& call, const std::string& target) {
  const auto options = writer_options(call);
  if (!options) return fail(call, options.error());
  json unused;
  const std::string limited = with_limit(target, *options);
  // The daemon's own text is what the writer here would make of it.
  const bool is_plain = options->columns.empty() && options->sort.empty() && options->has_headers &&
                        (options->limit == 0 || limited != target);
  if (is_plain && options->format >= Format::kJson)
    return send(call, with_accept(limited, client::content_type(options->format)), unused,
                [&call](std::string_view piece) { return call.print(piece); });
  client::TableWriter writer(*options, call.output->data);
  TableLineReader reader;
  bool is_stopped = false;
  reader.on_head = [&writer](std::string_view kind, const std::vector<client::Column>& columns) {
    return writer.begin(kind, columns);
  };
  reader.on_row = [&](const client::Row& row) {
    is_stopped = !writer.row(row);
    return !is_stopped;
  };
  base::Result<void> problem;
  const int code =
      send(call, with_accept(limited, kTableLines), unused, [&](std::string_view piece) {
        problem = reader.feed(piece);
        return problem.ok() && !is_stopped;
      });
  if (code != kDone) return code;
  if (!problem && !is_stopped) return fail(call, problem.error());
  if (!reader.has_ended() && !is_stopped) return fail(call, {Errc::kIo, "the list was cut short"});
  writer.end();
  return kDone;
}

int fetch_table(const Invocation& call, const std::string& target, std::size_t limit,
                client::Table& table) {
  TableLineReader reader;
  reader.on_head = [&table](std::string_view kind, const std::vector<client::Column>& columns) {
    table = {std::string(kind), columns, {}};
    return base::Result<void>();
  };
  reader.on_row = [&](const client::Row& row) {
    if (table.rows.size() >= limit) return false;
    table.rows.push_back(row);
    return true;
  };
  base::Result<void> problem;
  json unused;
  const int code =
      send(call, with_accept(target, kTableLines), unused, [&](std::string_view piece) {
        problem = reader.feed(piece);
        return problem.ok();
      });
  if (code == kDone && !problem && problem.error().code != Errc::kRefused)
    return fail(call, problem.error());
  return code;
}

base::Result<void> TableLineReader::feed(std::string_view piece) {
  while (!piece.empty()) {
    const std::size_t end = piece.find('\n');
    if (pending_.size() + std::min(end, piece.size()) > kMaxLine)
      return Error{Errc::kInvalidValue, "a line of the list is too long"};
    if (end == std::string_view::npos) {
      pending_ += piece;
      return {};
    }
    base::Result<void> done;
    if (pending_.empty()) {
      done = line(piece.substr(0, end));
    } else {
      pending_ += piece.substr(0, end);
      done = line(pending_);
      pending_.clear();
    }
    if (!done) return done;
    piece.remove_prefix(end + 1);
  }
  return {};
}

base::Result<void> TableLineReader::line(std::string_view text) {
  const Error wrong{Errc::kInvalidValue,
                    "the daemon's list is not in the expected form",
                    {},
                    "daemon and client may be of different versions"};
  const json document = json::parse(text, nullptr, false);
  if (has_ended_ || document.is_discarded()) return wrong;
  if (!has_head_) {
    const auto columns = document.is_object() ? document.find("columns") : document.end();
    if (columns == document.end() || !columns->is_array()) return wrong;
    std::vector<client::Column> list;
    for (const json& c : *columns) {
      if (!c.is_object()) return wrong;
      list.push_back(
          {c.value("name", ""), c.value("title", ""),
           client::unit_from_name(c.value("unit", "none")),
           c.value("align", "left") == "right" ? client::Align::kRight : client::Align::kLeft,
           c.value("wide", false)});
    }
    has_head_ = true;
    column_count_ = list.size();
    return on_head(document.value("kind", ""), list);
  }
  if (document.is_object()) {
    has_ended_ = document.contains("end");
    return has_ended_ ? base::Result<void>() : wrong;
  }
  if (!document.is_array() || document.size() != column_count_) return wrong;
  client::Row row;
  row.reserve(column_count_);
  for (const json& cell : document) row.push_back(value_of(cell));
  if (!on_row(row)) return Error{Errc::kRefused, "no more rows are wanted"};
  return {};
}

}  // namespace merlon::cli
