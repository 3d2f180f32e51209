// SPDX-License-Identifier: Apache-2.0
#include "store_files.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace merlon::control {

using base::Errc;
using base::Error;
using base::Result;
using Json = nlohmann::ordered_json;

namespace {

constexpr int kFormat = 1;

Error io_error(std::string_view what, const std::string& path) {
  return Error{.code = Errc::kIo,
               .message = fmt::format("can't {} \"{}\": {}", what, path, std::strerror(errno))};
}
Error abandoned(std::string_view step) {
  return Error{.code = Errc::kInternal, .message = fmt::format("abandoned before: {}", step)};
}

Result<void> write_all(int fd, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return io_error("write", path);
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

Result<void> sync_folder(const std::string& path, const StepHook& on_step) {
  if (on_step && !on_step("sync folder")) return abandoned("sync folder");
  const std::string folder = std::filesystem::path(path).parent_path().string();
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return io_error("open", folder);
  const int failed = ::fsync(fd);
  const Error error = failed != 0 ? io_error("sync", folder) : Error{};
  ::close(fd);
  return failed != 0 ? Result<void>(error) : Result<void>();
}

// Parses without exceptions; a discarded value when it is no JSON object.
Json parse_object(std::string_view text) {
  Json j = Json::parse(text, nullptr, false);
  return j.is_object() ? j : Json(Json::value_t::discarded);
}
std::uint64_t number_of(const Json& j, const char* key) {
  const auto at = j.find(key);
  return at != j.end() && at->is_number_unsigned() ? at->get<std::uint64_t>() : 0;
}
std::string text_of(const Json& j, const char* key) {
  const auto at = j.find(key);
  return at != j.end() && at->is_string() ? at->get<std::string>() : std::string();
}
base::Nanos time_of(const Json& j, const char* key) {
  const auto at = j.find(key);
  return at != j.end() && at->is_number_integer() ? at->get<base::Nanos>() : 0;
}
Error damaged(std::string_view why) {
  return Error{.code = Errc::kIo, .message = std::string(why)};
}
// A text that is no UTF-8 would end the JSON library by an exception.
std::string dump(const Json& j) { return j.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace

Result<void> write_durably(const std::string& path, std::string_view text,
                           const StepHook& on_step) {
  const std::string temporary = path + ".tmp";
  if (on_step && !on_step("create")) return abandoned("create");
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
  if (fd < 0) return io_error("create", temporary);
  Result<void> done;
  if (on_step && !on_step("write half")) {
    done = write_all(fd, text.substr(0, text.size() / 2), temporary);
    ::close(fd);
    return abandoned("write half");
  }
  done = write_all(fd, text, temporary);
  if (done && on_step && !on_step("sync file")) done = abandoned("sync file");
  if (done && ::fsync(fd) != 0) done = io_error("sync", temporary);
  if (::close(fd) != 0 && done) done = io_error("close", temporary);
  if (!done) return done;
  if (on_step && !on_step("rename")) return abandoned("rename");
  if (::rename(temporary.c_str(), path.c_str()) != 0) return io_error("rename", temporary);
  return sync_folder(path, on_step);
}

Result<void> remove_durably(const std::string& path, const StepHook& on_step) {
  if (on_step && !on_step("remove")) return abandoned("remove");
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return io_error("remove", path);
  return sync_folder(path, on_step);
}

std::string encode_revision(const Revision& revision) {
  const RevisionInfo& info = revision.info;
  Json head{{"format", kFormat},
            {"revision", info.number},
            {"time_ns", info.time},
            {"author", info.author},
            {"comment", info.comment},
            {"reason", info.reason},
            {"content_of", info.content_of},
            {"sha256", info.hash},
            {"files", Json::array()}};
  std::string body;
  for (const SourceFile& f : revision.bundle.files) {
    head["files"].push_back(Json{{"name", f.name}, {"size", f.text.size()}});
    body += f.text;
  }
  const std::string text = dump(head);
  // The head has a check of its own, so that a changed author or reason is seen too.
  return fmt::format("{} {}\n{}", Bundle::of(text, "head").hash(), text, body);
}

Result<Revision> decode_revision(const std::string& text) {
  const std::size_t space = text.find(' '), end = text.find('\n');
  if (space == std::string::npos || end == std::string::npos || space > end)
    return damaged("the first line is not whole");
  const std::string head_text = text.substr(space + 1, end - space - 1);
  if (Bundle::of(head_text, "head").hash() != text.substr(0, space))
    return damaged("the first line does not match its checksum");
  const Json head = parse_object(head_text);
  if (head.is_discarded() || number_of(head, "format") != kFormat)
    return damaged("the first line has an unknown form");
  Revision r;
  r.info = RevisionInfo{.number = number_of(head, "revision"),
                        .time = time_of(head, "time_ns"),
                        .author = text_of(head, "author"),
                        .comment = text_of(head, "comment"),
                        .reason = text_of(head, "reason"),
                        .content_of = number_of(head, "content_of"),
                        .hash = text_of(head, "sha256")};
  std::size_t at = end + 1;
  const auto files = head.find("files");
  if (files == head.end() || !files->is_array())
    return damaged("the first line has an unknown form");
  for (const Json& f : *files) {
    if (!f.is_object()) return damaged("the first line has an unknown form");
    const std::uint64_t size = number_of(f, "size");
    if (size > text.size() - at) return damaged("the file is cut");
    r.bundle.files.push_back({text_of(f, "name"), text.substr(at, size)});
    at += size;
  }
  if (at != text.size()) return damaged("the file is longer than it should be");
  if (r.bundle.hash() != r.info.hash) return damaged("the text does not match its checksum");
  return r;
}

std::string encode_state(const StoreState& state) {
  Json j{{"format", kFormat}, {"current", state.current}, {"start_sha256", state.start_hash}};
  if (state.pending)
    j["pending"] = Json{{"revision", state.pending->revision},
                        {"previous", state.pending->previous},
                        {"deadline_ns", state.pending->deadline}};
  const std::string text = dump(j);
  return fmt::format("{} {}\n", Bundle::of(text, "state").hash(), text);
}

Result<StoreState> decode_state(const std::string& text) {
  const std::size_t space = text.find(' ');
  if (space == std::string::npos || !text.ends_with('\n')) return damaged("the file is not whole");
  const std::string body = text.substr(space + 1, text.size() - space - 2);
  if (Bundle::of(body, "state").hash() != text.substr(0, space))
    return damaged("the file does not match its checksum");
  const Json j = parse_object(body);
  if (j.is_discarded() || number_of(j, "format") != kFormat)
    return damaged("the file has an unknown form");
  StoreState state{
      .current = number_of(j, "current"), .pending = {}, .start_hash = text_of(j, "start_sha256")};
  if (const auto p = j.find("pending"); p != j.end() && p->is_object())
    state.pending = PendingConfirm{.revision = number_of(*p, "revision"),
                                   .previous = number_of(*p, "previous"),
                                   .deadline = time_of(*p, "deadline_ns")};
  return state;
}

}  // namespace merlon::control
