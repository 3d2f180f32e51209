// SPDX-License-Identifier: Apache-2.0
// The life cycle of the configuration from the client's side.
#include <fmt/format.h>
#include <pwd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "api.h"
#include "merlon/client/words.h"
#include "verbs.h"

namespace merlon::cli {
namespace {

using base::Errc;
using base::Error;
using nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* kCandidate = "merlon-candidate.yaml";
constexpr std::size_t kMaxFiles = 64, kMaxSize = 64U * 1024 * 1024;

std::string author_of(const Invocation& call) {
  if (call.has("--author")) return call.value("--author");
  // Not the environment: it says what the user likes.
  const passwd* entry = ::getpwuid(::getuid());
  return entry != nullptr ? entry->pw_name : fmt::format("uid {}", ::getuid());
}

base::Result<std::string> read_file(const std::string& path) {
  std::error_code problem;
  if (fs::is_directory(path, problem)) return Error{Errc::kIo, fmt::format("{} is a folder", path)};
  std::ifstream in(path, std::ios::binary);
  if (!in) return Error{Errc::kIo, fmt::format("can't read {}: {}", path, std::strerror(errno))};
  std::ostringstream text;
  text << in.rdbuf();
  if (text.str().size() > kMaxSize)
    return Error{Errc::kIo, fmt::format("{} is larger than 64 MiB", path)};
  return text.str();
}

std::string candidate_path(const Invocation& call) {
  return call.words.empty() ? std::string(kCandidate) : call.words[0];
}

// The request's body with the candidate's files in it.
base::Result<json> candidate_body(const Invocation& call) {
  const auto files = read_candidate(candidate_path(call));
  if (!files) {
    Error error = files.error();
    if (call.words.empty()) error.hint = "merlon config edit makes it, or name a file";
    return error;
  }
  json list = json::array();
  for (const CandidateFile& f : *files) list.push_back({{"name", f.name}, {"text", f.text}});
  return json{{"files", std::move(list)}};
}

bool wants_text(const Invocation& call) {
  const auto format = wanted_format(call);
  return format && *format <= client::Format::kWide;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r'))
    text.remove_suffix(1);
  return text;
}

// A plain or quoted scalar without its comment.
std::string scalar(std::string_view text) {
  text = trim(text);
  if (text.size() > 1 && (text.front() == '"' || text.front() == '\'')) {
    const std::size_t end = text.find(text.front(), 1);
    return end == std::string_view::npos ? std::string() : std::string(text.substr(1, end - 1));
  }
  if (const std::size_t comment = text.find(" #"); comment != std::string_view::npos)
    text = trim(text.substr(0, comment));
  return text.starts_with('#') ? std::string() : std::string(text);
}

void add_list(std::string_view text, std::vector<std::string>& out) {
  text.remove_prefix(1);
  text = text.substr(0, text.find(']'));
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    if (std::string name = scalar(text.substr(0, end)); !name.empty())
      out.push_back(std::move(name));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

std::uint64_t number(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

// `becomes`: "would be dropped", or what a commit says of it.
std::string effect_text(const json& effect, std::string_view becomes) {
  const std::uint64_t examined = number(effect, "examined");
  const std::string_view which = effect.value("partial", false) ? "the first " : "";
  std::string out = fmt::format("{} of {}{} live session{} {}", number(effect, "dropped"), which,
                                examined, examined == 1 ? "" : "s", becomes);
  if (const auto kept = number(effect, "kept"); kept != 0) out += fmt::format(", {} kept", kept);
  if (const auto moved = number(effect, "changed_rule"); moved != 0)
    out += fmt::format(", {} by another rule", moved);
  out += '\n';
  if (const auto rules = effect.find("per_rule"); rules != effect.end() && rules->is_array())
    for (const json& r : *rules)
      if (number(r, "dropped") != 0)
        out += fmt::format("  rule {}: {}\n", client::printable(r.value("rule", "")),
                           number(r, "dropped"));
  return out;
}

std::string list_text(const json& answer, const char* key) {
  std::string out;
  if (const auto list = answer.find(key); list != answer.end() && list->is_array())
    for (const json& item : *list)
      if (item.is_string())
        out += (out.empty() ? "" : ", ") + client::printable(item.get<std::string>());
  return out;
}

int open_editor(const Invocation& call, const std::string& path) {
  const char* editor = std::getenv("VISUAL");
  if (editor == nullptr || *editor == '\0') editor = std::getenv("EDITOR");
  if (editor == nullptr || *editor == '\0') editor = "editor";
  const pid_t child = ::fork();
  if (child == 0) {
    // $EDITOR may hold options, so a shell splits it; the path is an argument of its own.
    const std::string line = std::string(editor) + " \"$1\"";
    ::execl("/bin/sh", "sh", "-c", line.c_str(), "merlon", path.c_str(), nullptr);
    ::_exit(127);
  }
  int status = 0;
  while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (child < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return fail(
        call,
        {Errc::kIo, fmt::format("the editor \"{}\" failed", editor), {}, "set VISUAL or EDITOR"});
  return kDone;
}

// Writes the running configuration beside the candidate's main file, includes in their places.
int write_candidate(const Invocation& call, const std::string& path) {
  json running;
  if (const int code = call_api(call, get("/api/v1/config"), running); code != kDone) return code;
  const auto files = running.find("files");
  if (files == running.end() || !files->is_array() || files->empty())
    return fail(call, {Errc::kIo, "the daemon sent no configuration"});
  const fs::path home = fs::path((*files)[0].value("name", "")).parent_path();
  bool is_main = true;
  for (const json& file : *files) {
    const fs::path name = fs::path(file.value("name", "")).lexically_relative(home);
    // A file from elsewhere stays there: the include names it by its whole path.
    const bool is_outside = name.empty() || *name.begin() == "..";
    const fs::path to = is_main ? fs::path(path) : fs::path(path).parent_path() / name;
    if (!is_main && (is_outside || fs::exists(to))) continue;
    std::error_code ignored;
    if (to.has_parent_path()) fs::create_directories(to.parent_path(), ignored);
    std::ofstream out(to, std::ios::binary);
    out << file.value("text", "");
    out.close();
    if (!out) return fail(call, {Errc::kIo, fmt::format("can't write {}", to.string())});
    is_main = false;
  }
  return kDone;
}

int tell_check(const Invocation& call, const json& answer, const std::string& path) {
  if (!wants_text(call)) return print_document(call, answer, {});
  std::string text = answer.value("text", "");
  while (text.ends_with('\n')) text.pop_back();
  if (!text.empty()) call.output->messages(text);
  if (answer.value("warnings", json::array()).empty())
    call.message(fmt::format("{}: no errors, no warnings", path));
  return kDone;
}

int check_file(const Invocation& call, const std::string& path) {
  const auto body = candidate_body(call);
  if (!body) return fail(call, body.error());
  json answer;
  const int code = call_api(call, post("/api/v1/config/check", *body), answer);
  if (code == kCheckFailed && !wants_text(call)) print_document(call, answer, {});
  return code == kDone ? tell_check(call, answer, path) : code;
}

}  // namespace

std::vector<std::string> included_files(std::string_view yaml) {
  std::vector<std::string> out;
  bool is_in_list = false;
  while (!yaml.empty()) {
    const std::size_t end = std::min(yaml.find('\n'), yaml.size());
    const std::string_view line = yaml.substr(0, end);
    yaml.remove_prefix(std::min(end + 1, yaml.size()));
    const std::string_view text = trim(line);
    if (line.starts_with("include:")) {
      const std::string_view value = trim(line.substr(8));
      is_in_list = value.empty() || value.starts_with('#');
      if (value.starts_with('[')) {
        add_list(value, out);
      } else if (!is_in_list) {
        out.push_back(scalar(value));
      }
    } else if (is_in_list && text.starts_with("- ")) {
      if (std::string name = scalar(text.substr(2)); !name.empty()) out.push_back(std::move(name));
    } else if (!text.empty() && !text.starts_with('#')) {
      is_in_list = false;
    }
  }
  return out;
}

base::Result<std::vector<CandidateFile>> read_candidate(const std::string& path) {
  std::vector<CandidateFile> files;
  std::size_t total = 0;
  std::vector<std::string> waiting{path};
  while (!waiting.empty()) {
    const std::string name = waiting.front();
    waiting.erase(waiting.begin());
    if (std::ranges::find(files, name, &CandidateFile::name) != files.end()) continue;
    if (files.size() == kMaxFiles) return Error{Errc::kIo, "more than 64 files are included"};
    auto text = read_file(name);
    // A missing include is told by the check, with its place; only the main file must be there.
    if (!text && files.empty()) return text.error();
    if (!text) continue;
    total += text->size();
    if (total > kMaxSize) return Error{Errc::kIo, "the configuration is larger than 64 MiB"};
    for (const std::string& include : included_files(*text)) {
      const fs::path file(include);
      waiting.push_back(file.is_absolute()
                            ? file.lexically_normal().string()
                            : (fs::path(name).parent_path() / file).lexically_normal().string());
    }
    files.push_back({name, std::move(*text)});
  }
  return files;
}

std::string diff_text(const json& answer) {
  std::string out = answer.value("text", "");
  if (!out.empty() && !out.ends_with('\n')) out += '\n';
  if (out.empty())
    return fmt::format("no difference from the running configuration (revision {})\n",
                       number(answer, "running"));
  if (const auto effect = answer.find("effect"); effect != answer.end() && effect->is_object())
    out += effect_text(*effect, "would be dropped");
  if (const std::string keys = list_text(answer, "restart_keys"); !keys.empty())
    out += fmt::format("take effect at the next start only: {}\n", keys);
  return out;
}

std::string commit_text(const json& answer) {
  if (answer.value("unchanged", false))
    return fmt::format("nothing to do: revision {} is the same\n", number(answer, "revision"));
  std::string out = answer.value("text", "");
  if (!out.empty() && !out.ends_with('\n')) out += '\n';
  if (const auto effect = answer.find("effect");
      effect != answer.end() && effect->is_object() && number(*effect, "examined") != 0)
    out += effect_text(*effect, "no longer permitted");
  const std::uint64_t blocked = number(answer, "blocked_ns");
  out += fmt::format("revision {} is running (before: {}); {}\n", number(answer, "revision"),
                     number(answer, "previous"),
                     blocked == 0 ? "no worker was held up"
                                  : fmt::format("workers were held up for {:.1f} us",
                                                static_cast<double>(blocked) / 1000));
  if (const std::string keys = list_text(answer, "restart_keys"); !keys.empty())
    out += fmt::format("take effect at the next start only: {}\n", keys);
  if (const auto deadline = answer.find("confirm_deadline");
      deadline != answer.end() && deadline->is_string())
    out += fmt::format("it is rolled back at {} unless you confirm: merlon config confirm\n",
                       deadline->get<std::string>());
  return out;
}

int config_check(const Invocation& call) { return check_file(call, candidate_path(call)); }

int config_diff(const Invocation& call) {
  const auto body = candidate_body(call);
  if (!body) return fail(call, body.error());
  json answer;
  const int code = call_api(call, post("/api/v1/config/diff", *body), answer);
  if (code != kDone) return code;
  return print_document(call, answer, [&answer] { return diff_text(answer); });
}

namespace {

void tell_warnings(const Invocation& call, const json& answer) {
  const auto warnings = answer.find("warnings");
  if (warnings == answer.end() || !warnings->is_array() || warnings->empty()) return;
  const std::size_t count = warnings->size();
  call.message(fmt::format("{} warning{}: merlon config check {} shows {}", count,
                           count == 1 ? "" : "s", candidate_path(call),
                           count == 1 ? "it" : "them"));
}

int tell_commit(const Invocation& call, const client::HttpRequest& request) {
  json answer;
  const int code = call_api(call, request, answer);
  if (code != kDone) return code;
  if (request.target.ends_with("/commit") && wants_text(call)) tell_warnings(call, answer);
  return print_document(call, answer, [&answer] { return commit_text(answer); });
}

}  // namespace

int config_commit(const Invocation& call) {
  auto body = candidate_body(call);
  if (!body) return fail(call, body.error());
  for (const auto& [option, key, last] : {std::tuple("--confirm", "confirm_minutes", 1440ULL),
                                          std::tuple("--base", "base_revision", ~0ULL)}) {
    if (!call.has(option)) continue;
    const auto value = client::parse_number(call.value(option), last);
    if (!value)
      return fail(call,
                  {Errc::kInvalidValue, fmt::format("{}: {}", option, value.error().message)});
    (*body)[key] = *value;
  }
  (*body)["comment"] = call.value("--comment");
  (*body)["author"] = author_of(call);
  if (call.has("--at-restart")) (*body)["allow_restart_keys"] = true;
  return tell_commit(call, post("/api/v1/config/commit", *body));
}

int config_confirm(const Invocation& call) {
  json answer;
  const int code =
      call_api(call, post("/api/v1/config/confirm", {{"author", author_of(call)}}), answer);
  if (code != kDone) return code;
  if (!wants_text(call)) return print_document(call, answer, {});
  call.message(fmt::format("revision {} is confirmed", number(answer, "revision")));
  return kDone;
}

int config_rollback(const Invocation& call) {
  json body{{"author", author_of(call)}, {"comment", call.value("--comment")}};
  if (!call.words.empty()) {
    const auto revision = client::parse_number(call.words[0], ~0ULL);
    if (!revision) return fail(call, {Errc::kInvalidValue, "revision " + revision.error().message});
    body["revision"] = *revision;
  }
  return tell_commit(call, post("/api/v1/config/rollback", body));
}

int config_history(const Invocation& call) { return print_list(call, "/api/v1/config/history"); }

int config_edit(const Invocation& call) {
  const std::string path = candidate_path(call);
  std::error_code ignored;
  if (fs::exists(path, ignored)) {
    call.message(fmt::format("{} is there already and is edited further", path));
  } else if (const int code = write_candidate(call, path); code != kDone) {
    return code;
  }
  if (const int code = open_editor(call, path); code != kDone) return code;
  const int code = check_file(call, path);
  if (code == kDone)
    call.message(fmt::format(
        "next: merlon config diff {0}, then merlon config commit {0} --confirm 5", path));
  return code;
}

}  // namespace merlon::cli
