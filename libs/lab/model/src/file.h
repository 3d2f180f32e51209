// SPDX-License-Identifier: Apache-2.0
#pragma once
// Files of this room: read whole, written whole. Errors are kIo with path and reason.
#include <cstddef>
#include <string>
#include <string_view>

#include "merlon/base/result.h"

namespace merlon::lab {

// Owns a file descriptor.
class File {
 public:
  File() = default;
  explicit File(int fd) : fd_(fd) {}
  File(File&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  File& operator=(File&& other) noexcept;
  ~File();
  [[nodiscard]] int fd() const noexcept { return fd_; }

 private:
  int fd_ = -1;
};

base::Error io_error(const std::string& what, const std::string& path, int number);
// All of `text` at the descriptor's place; the errno of the write that failed, or 0.
int write_all(int fd, std::string_view text) noexcept;
base::Result<std::string> read_file(const std::string& path, std::size_t limit);
// Beside, synced, renamed; the folder is synced too.
base::Result<void> replace_file(const std::string& path, std::string_view text);

}  // namespace merlon::lab
