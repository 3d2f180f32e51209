// SPDX-License-Identifier: Apache-2.0
#include "files.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <system_error>

namespace merlon::lab::report {
namespace {

base::Error failed(std::string_view what, const std::string& path, int number) {
  base::Error error;
  error.code = number == ENOENT ? base::Errc::kNotFound : base::Errc::kIo;
  error.message =
      fmt::format("can't {} {}: {}", what, path, std::generic_category().message(number));
  return error;
}

int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return ::fsync(fd) == 0 ? 0 : errno;
}

}  // namespace

base::Result<void> write_file(const std::string& path, std::string_view text) {
  const std::string beside = fmt::format("{}.tmp{}", path, ::getpid());
  const int fd = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return failed("write", path, errno);
  int error = write_all(fd, text);
  if (::close(fd) != 0 && error == 0) error = errno;
  if (error == 0 && std::rename(beside.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return {};
  ::unlink(beside.c_str());
  return failed("write", path, error);
}

base::Result<std::string> read_file(const std::string& path, std::size_t limit) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return failed("read", path, errno);
  std::string text;
  std::array<char, 65536> block;
  int error = 0;
  for (;;) {
    const ssize_t n = ::read(fd, block.data(), block.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) error = errno;
    if (n <= 0 || text.size() > limit) break;
    text.append(block.data(), static_cast<std::size_t>(n));
  }
  ::close(fd);
  if (error != 0) return failed("read", path, error);
  if (text.size() > limit) {
    base::Error too_large;
    too_large.code = base::Errc::kCapacity;
    too_large.message = fmt::format("{} is larger than {} bytes", path, limit);
    return too_large;
  }
  return text;
}

}  // namespace merlon::lab::report
