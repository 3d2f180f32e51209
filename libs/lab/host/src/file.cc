// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_host/file.h"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>

#include "merlon/base/make_error.h"

namespace merlon::lab {
namespace {

constexpr std::size_t kMaxFile = std::size_t{16} * 1024 * 1024;
constexpr std::string_view kBlank = " \t\r\n\v\f";

base::Error write_error(const std::string& path) {
  std::string hint;
  if (errno == ENOSPC || errno == EDQUOT) {
    hint = "make room there (df -h " + path.substr(0, path.rfind('/')) +
           "), or choose another folder with MERLON_LAB_RUN_DIR";
  } else if (errno == EACCES || errno == EPERM || errno == EROFS) {
    hint = "run it as root, or choose another folder with MERLON_LAB_RUN_DIR";
  }
  return base::system_error("can't write " + path, std::move(hint));
}

bool write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t n = ::write(fd, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    content.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

}  // namespace

std::optional<std::string> read_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  std::string content;
  char piece[16 * 1024];
  ssize_t n = 0;
  while (content.size() < kMaxFile) {
    n = ::read(fd, piece, sizeof piece);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    content.append(piece, static_cast<std::size_t>(n));
  }
  ::close(fd);
  if (n < 0) return std::nullopt;
  return content;
}

std::string read_line(const std::string& path) {
  const auto content = read_file(path);
  if (!content) return {};
  return std::string(trim(content->substr(0, content->find('\n'))));
}

base::Result<void> write_file(const std::string& path, std::string_view content) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return write_error(path);
  const bool is_written = write_all(fd, content);
  const int problem = errno;
  const bool is_closed = ::close(fd) == 0;
  if (is_written && is_closed) return {};
  if (!is_written) errno = problem;
  base::Error error = write_error(path);
  ::unlink(path.c_str());  // half a file must not be taken for a whole one
  return error;
}

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> words;
  std::size_t at = text.find_first_not_of(kBlank);
  while (at != std::string_view::npos) {
    const std::size_t end = text.find_first_of(kBlank, at);
    words.push_back(text.substr(at, end == std::string_view::npos ? end : end - at));
    at = end == std::string_view::npos ? end : text.find_first_not_of(kBlank, end);
  }
  return words;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  std::size_t at = 0;
  while (true) {
    const std::size_t end = text.find(separator, at);
    parts.push_back(text.substr(at, end == std::string_view::npos ? end : end - at));
    if (end == std::string_view::npos) return parts;
    at = end + 1;
  }
}

std::string_view trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

std::optional<std::uint64_t> parse_count(std::string_view text) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, value);
  if (text.empty() || problem != std::errc{} || stop != end) return std::nullopt;
  return value;
}

}  // namespace merlon::lab
