// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>
#include <utility>

#include "merlon/base/make_error.h"
#include "merlon/telemetry/event_sink.h"

namespace merlon::telemetry {
namespace {

using base::Errc;
using base::Error;
using base::Nanos;
using base::Result;

class FileSink final : public EventSink {
 public:
  explicit FileSink(const FileSinkOptions& options)
      : EventSink(options.name, "file"), options_(options) {
    block_.reserve(options_.block_size + 4096);
  }
  ~FileSink() override {
    write_block();
    close_file();
  }

  // 0, or errno.
  int open_first() noexcept { return open_file(options_.truncate); }

  void write(std::string_view line, Severity /*severity*/, Nanos now) noexcept override {
    if (take_reopen()) reopen();
    if (is_rotation_due(line.size() + 1, now)) rotate(now);
    if (block_.size() + line.size() + 1 > options_.block_size) write_block();
    // The block's memory was reserved at start; only a line longer than that can need more.
    try {
      block_.append(line);
    } catch (...) {
      count_lost(1);
      return;
    }
    block_.push_back('\n');
    ++block_lines_;
  }

  void flush(Nanos /*now*/) noexcept override {
    write_block();
    if (take_reopen()) reopen();
  }

 private:
  int open_file(bool truncate) noexcept {
    if (options_.path == "-") {
      fd_ = STDOUT_FILENO;
      return 0;
    }
    const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_APPEND | (truncate ? O_TRUNC : 0);
    const int fd = ::open(options_.path.c_str(), flags, 0640);
    if (fd < 0) return errno;
    close_file();
    fd_ = fd;
    struct stat st {};
    is_regular_ = ::fstat(fd_, &st) == 0 && S_ISREG(st.st_mode);
    size_ = is_regular_ ? static_cast<std::uint64_t>(st.st_size) : 0;
    ends_in_half_line_ = false;
    return 0;
  }
  void close_file() noexcept {
    if (fd_ > STDERR_FILENO) ::close(fd_);
    fd_ = -1;
  }

  // After an outside rotation. The old file stays in use when the new one can't be opened: writing
  // into a renamed file is better than losing.
  void reopen() noexcept {
    write_block();
    if (const int error = open_file(false); error != 0) note_failure(options_.path, error);
  }

  bool is_rotation_due(std::size_t more, Nanos now) noexcept {
    if (!is_regular_ || now < next_rotation_) return false;
    if (options_.rotate_interval > 0) {
      const Nanos period = now / options_.rotate_interval;
      const Nanos before = std::exchange(period_, period);
      if (before >= 0 && period > before && size_ + block_.size() != 0) return true;
    }
    const std::uint64_t filled = size_ + block_.size();
    return options_.max_size != 0 && filled != 0 && filled + more > options_.max_size;
  }

  // path.N-1 -> path.N, ..., path -> path.1, then a new file.
  // A failure leaves the old file in use and is tried again after a second.
  void rotate(Nanos now) noexcept {
    write_block();
    int error = 0;
    try {
      error = shift_files();
    } catch (...) {
      error = ENOMEM;
    }
    if (error == 0) error = open_file(false);
    if (error == 0) return;
    note_failure(options_.path, error);
    next_rotation_ = now + base::kNanosPerSecond;
  }

  int shift_files() {
    // Already moved by an earlier try whose open failed: moving again would push a file out for
    // nothing.
    if (::access(options_.path.c_str(), F_OK) != 0) return 0;
    if (options_.keep == 0) return ::unlink(options_.path.c_str()) == 0 ? 0 : errno;
    for (unsigned i = options_.keep; i > 0; --i) {
      const std::string to = options_.path + "." + std::to_string(i);
      const std::string from = i == 1 ? options_.path : options_.path + "." + std::to_string(i - 1);
      if (::rename(from.c_str(), to.c_str()) != 0 && errno != ENOENT) return errno;
    }
    return 0;
  }

  void write_block() noexcept {
    if (block_.empty()) return;
    if (ends_in_half_line_) {
      // A pipe or device took part of a line before it failed; keep the next line whole.
      if (::write(fd_, "\n", 1) != 1) return lose_block(0, errno);
      ends_in_half_line_ = false;
    }
    std::size_t done = 0;
    while (done < block_.size()) {
      const ssize_t n = ::write(fd_, block_.data() + done, block_.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return lose_block(done, n < 0 ? errno : ENOSPC);
      done += static_cast<std::size_t>(n);
    }
    size_ += done;
    count_written(block_lines_, done);
    note_success();
    clear_block();
  }

  // `done` bytes of the block arrived before `error`. Whole lines among them stay, the half one is
  // cut off.
  void lose_block(std::size_t done, int error) noexcept {
    const auto lines_end = done == 0 ? std::string::npos : block_.rfind('\n', done - 1);
    const std::size_t whole = lines_end == std::string::npos ? 0 : lines_end + 1;
    const auto kept = static_cast<std::uint64_t>(
        std::count(block_.begin(), block_.begin() + static_cast<std::ptrdiff_t>(whole), '\n'));
    if (done > whole) {
      const bool is_cut = is_regular_ && ::ftruncate(fd_, static_cast<off_t>(size_ + whole)) == 0;
      ends_in_half_line_ = !is_cut;
      if (!is_cut) size_ += done - whole;
    }
    size_ += whole;
    count_written(kept, whole);
    note_failure(options_.path, error);
    count_lost(block_lines_ - kept);
    clear_block();
  }
  void clear_block() noexcept {
    block_.clear();
    block_lines_ = 0;
  }

  const FileSinkOptions options_;
  int fd_ = -1;
  bool is_regular_ = false;
  bool ends_in_half_line_ = false;
  std::uint64_t size_ = 0;                                   // of the file, without the block
  Nanos next_rotation_ = std::numeric_limits<Nanos>::min();  // after a failed one
  Nanos period_ = -1;  // number of the rotation interval of the last line
  std::string block_;
  std::uint64_t block_lines_ = 0;
};

}  // namespace

Result<std::unique_ptr<EventSink>> open_file_sink(const FileSinkOptions& options) {
  if (options.block_size == 0)
    return make_error(Errc::kInvalidValue,
                      "block size of event sink \"" + options.name + "\" is 0");
  auto sink = std::make_unique<FileSink>(options);
  if (const int error = sink->open_first(); error != 0)
    return make_error(Errc::kIo,
                      "can't open event file " + options.path + ": " + std::strerror(error),
                      "create the folder and let the user that runs Merlon write there");
  return std::unique_ptr<EventSink>(std::move(sink));
}

}  // namespace merlon::telemetry
