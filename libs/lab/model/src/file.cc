// SPDX-License-Identifier: Apache-2.0
#include "file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

namespace merlon::lab {

using base::Errc;
using base::Error;

File& File::operator=(File&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}
File::~File() {
  if (fd_ >= 0) ::close(fd_);
}

Error io_error(const std::string& what, const std::string& path, int number) {
  return {Errc::kIo, what + " " + path + ": " + std::generic_category().message(number)};
}

int write_all(int fd, std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

base::Result<std::string> read_file(const std::string& path, std::size_t limit) {
  const File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.fd() < 0) {
    Error error = io_error("can't read", path, errno);
    if (errno == ENOENT) error.code = Errc::kNotFound;
    return error;
  }
  std::string text;
  char block[65536];
  for (;;) {
    const ssize_t got = ::read(file.fd(), block, sizeof block);
    if (got == 0) return text;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return io_error("can't read", path, errno);
    if (text.size() + static_cast<std::size_t>(got) > limit) {
      return Error{Errc::kCapacity, path + " is larger than " + std::to_string(limit) + " bytes"};
    }
    text.append(block, static_cast<std::size_t>(got));
  }
}

base::Result<void> replace_file(const std::string& path, std::string_view text) {
  const std::string beside = path + ".tmp" + std::to_string(::getpid());
  {
    const File file(::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (file.fd() < 0) return io_error("can't write", beside, errno);
    int number = write_all(file.fd(), text);
    if (number == 0 && ::fsync(file.fd()) != 0) number = errno;
    if (number != 0) {
      ::unlink(beside.c_str());
      return io_error("can't write", beside, number);
    }
  }
  if (std::rename(beside.c_str(), path.c_str()) != 0) {
    const int number = errno;
    ::unlink(beside.c_str());
    return io_error("can't write", path, number);
  }
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "."
                             : slash == 0               ? "/"
                                                        : path.substr(0, slash);
  const File directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.fd() >= 0) ::fsync(directory.fd());  // best effort: some file systems refuse it
  return {};
}

}  // namespace merlon::lab
