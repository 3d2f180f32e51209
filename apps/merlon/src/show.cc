// SPDX-License-Identifier: Apache-2.0
// show, clear, explain and version.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "api.h"
#include "merlon/client/packet_words.h"
#include "merlon/client/session_filter.h"
#include "merlon/client/words.h"
#include "verbs.h"
#include "words.h"

#ifndef MERLON_VERSION
#define MERLON_VERSION "unknown"
#endif

namespace merlon::cli {
namespace {

using base::Errc;
using base::Error;
using nlohmann::json;

std::string joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

// The filter as a query word, checked here so that a typo needs no daemon.
base::Result<std::string> filter_query(const Invocation& call) {
  const std::string text = joined(call.words);
  const auto filter = client::parse_session_filter(text);
  if (!filter) {
    Error error = filter.error();
    error.code = Errc::kInvalidValue;
    return error;
  }
  return text.empty() ? std::string() : "?filter=" + client::percent_encode(text);
}

int write_file(const Invocation& call, const std::string& path, const std::string& bytes) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
  std::string_view left = bytes;
  int problem = fd < 0 ? errno : 0;
  while (problem == 0 && !left.empty()) {
    const ssize_t written = ::write(fd, left.data(), left.size());
    if (written < 0 && errno != EINTR) problem = errno;
    if (written > 0) left.remove_prefix(static_cast<std::size_t>(written));
  }
  if (fd >= 0 && ::close(fd) != 0 && problem == 0) problem = errno;
  if (problem == 0) return kDone;
  return fail(call, {Errc::kIo, fmt::format("can't write {}: {}", path, std::strerror(problem))});
}

std::string text_or(const json& object, const char* key, std::string_view otherwise) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return std::string(otherwise);
  return client::printable(found->is_string() ? found->get<std::string>() : found->dump());
}

}  // namespace

int show_list(const Invocation& call) {
  return print_list(call, fmt::format("/api/v1/{}", split_words(call.command->path).back()));
}

int show_sessions(const Invocation& call) {
  const auto query = filter_query(call);
  if (!query) return fail(call, query.error());
  return print_list(call, "/api/v1/sessions" + *query);
}

int show_drops(const Invocation& call) {
  const std::string reason = call.value("--reason");
  const bool is_pcap = call.has("--pcap");
  if (!call.has("--packets") && !is_pcap) {
    if (!reason.empty())
      return fail(call, {Errc::kInvalidValue, "--reason needs --packets or --pcap"});
    return print_list(call, "/api/v1/drops");
  }
  std::string target = "/api/v1/drops/packets";
  if (!reason.empty()) target += "?reason=" + client::percent_encode(reason);
  if (!is_pcap) return print_list(call, target);
  target += reason.empty() ? "?format=pcap" : "&format=pcap";
  std::string bytes;
  if (const int code = call_text(call, get(target), bytes); code != kDone) return code;
  const std::string path = call.value("--pcap");
  if (const int code = write_file(call, path, bytes); code != kDone) return code;
  call.message(fmt::format("wrote {} ({} bytes)", path, bytes.size()));
  return kDone;
}

int show_config(const Invocation& call) {
  std::string target = "/api/v1/config";
  if (call.has("--revision"))
    target += "?revision=" + client::percent_encode(call.value("--revision"));
  json answer;
  if (const int code = call_api(call, get(target), answer); code != kDone) return code;
  return print_document(call, answer, [&] {
    std::string text = answer.value(call.has("--canonical") ? "canonical" : "text", std::string());
    if (!text.ends_with('\n')) text += '\n';
    return text;
  });
}

namespace {

std::string status_text(const json& s) {
  const auto uptime = s.find("uptime_seconds");
  const double seconds = uptime != s.end() && uptime->is_number() ? uptime->get<double>() : 0;
  std::string out;
  const auto line = [&out](std::string_view name, const std::string& text) {
    out += fmt::format("{:<14} {}\n", name, text);
  };
  line("name", text_or(s, "name", "-"));
  line("version", text_or(s, "version", "-"));
  line("state", text_or(s, "state", "-"));
  line("mode", text_or(s, "mode", "-"));
  line("up", client::format_cell(seconds, client::Unit::kSeconds));
  line("configuration", "revision " + text_or(s, "config_revision", "-"));
  if (s.contains("confirm_deadline") && s["confirm_deadline"].is_string())
    line("", "waits for confirmation until " + text_or(s, "confirm_deadline", ""));
  line("sessions", text_or(s, "sessions", "-") + " of " + text_or(s, "session_limit", "-"));
  if (const auto warnings = s.find("warnings"); warnings != s.end() && warnings->is_array())
    for (const json& w : *warnings)
      if (w.is_string()) line("warning", client::printable(w.get<std::string>()));
  return out;
}

}  // namespace

int show_status(const Invocation& call) {
  json s;
  if (const int code = call_api(call, get("/api/v1/status"), s); code != kDone) return code;
  return print_document(call, s, [&s] { return status_text(s); });
}

int clear_sessions(const Invocation& call) {
  auto query = filter_query(call);
  if (!query) return fail(call, query.error());
  if (query->empty() && !call.has("--all"))
    return fail(
        call,
        {Errc::kInvalidValue, "clear sessions needs a filter", {}, "--all ends every session"});
  if (!query->empty() && call.has("--all"))
    return fail(call, {Errc::kInvalidValue, "--all and a filter contradict each other"});
  client::HttpRequest request = get("/api/v1/sessions" + (query->empty() ? "?all=true" : *query));
  request.method = "DELETE";
  json answer;
  if (const int code = call_api(call, request, answer); code != kDone) return code;
  if (const auto format = wanted_format(call); !format || *format > client::Format::kWide)
    return print_document(call, answer, {});
  const std::uint64_t cleared = answer.value("cleared", std::uint64_t{0});
  call.message(fmt::format("{} session{} ended", cleared, cleared == 1 ? "" : "s"));
  return kDone;
}

int explain(const Invocation& call) {
  if (call.has("--config") && !call.has("--live")) return run_daemon(call);
  const std::span<const std::string> rest = std::span(call.words).subspan(1);
  if (call.words[0] == "packet") {
    if (const auto packet = client::parse_packet_words(rest); !packet)
      return fail(call, packet.error());
  } else if (call.words[0] == "session") {
    if (const auto session = client::parse_session_words(rest); !session)
      return fail(call, session.error());
  } else {
    return fail(call, {Errc::kInvalidValue,
                       fmt::format("can't explain \"{}\"", client::printable(call.words[0])),
                       {},
                       "packet IN SRC[:PORT] DST[:PORT] PROTO, or session ID"});
  }
  json answer;
  if (const int code = call_api(call, post("/api/v1/explain", {{"words", call.words}}), answer);
      code != kDone)
    return code;
  return print_document(call, answer, [&answer] { return client::explain_text(answer); });
}

int print_version(const Invocation& call) {
  Invocation question = call;
  const Output silent{[](std::string_view) { return true; }, [](std::string_view) {}, false};
  question.output = &silent;
  if (!question.has("--timeout")) question.options["--timeout"] = {"500ms"};
  json s, versions{{"client", MERLON_VERSION}, {"daemon", nullptr}};
  std::string text = "merlon " MERLON_VERSION "\n";
  if (call_api(question, get("/api/v1/status"), s) == kDone) {
    versions["daemon"] = s.value("version", json());
    versions["daemon_source_revision"] = s.value("source_revision", json());
    const std::string source = text_or(s, "source_revision", "");
    text += fmt::format("daemon {}{}\n", text_or(s, "version", "unknown"),
                        source.empty() ? "" : " (" + source + ")");
  }
  return print_document(call, versions, [&text] { return text; });
}

}  // namespace merlon::cli
