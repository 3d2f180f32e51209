// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "merlon/base/make_error.h"
#include "merlon/io/pcap_file.h"

namespace merlon::io {
namespace {

constexpr std::size_t kFlushAt = 256 * 1024;
constexpr std::uint32_t kSnapLength = 262'144;
constexpr std::size_t kMaxComment = 1024;
constexpr std::size_t kMaxName = 255;

constexpr std::size_t padding(std::size_t n) noexcept { return (4 - n % 4) % 4; }
constexpr std::size_t option_size(std::string_view value) noexcept {
  return value.empty() ? 0 : 4 + value.size() + padding(value.size());
}

}  // namespace

CaptureWriter::CaptureWriter(int fd, std::string path, CaptureFormat format)
    : fd_(fd), path_(std::move(path)), format_(format) {
  // The largest record still fits above the flush mark, so that write() never allocates for a file.
  buffer_.reserve(kFlushAt + kSnapLength + kMaxComment + 64);
}

CaptureWriter::~CaptureWriter() { static_cast<void>(close()); }

base::Result<std::unique_ptr<CaptureWriter>> CaptureWriter::create(
    const std::string& path, CaptureFormat format, LinkType link_type,
    std::string_view interface_name) {
  const int fd =
      path == "-" ? ::dup(1) : ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) {
    base::SourcePos where;
    where.file = path;
    return base::Error{
        base::Errc::kIo, fmt::format("can't create {}: {}", path, std::strerror(errno)), where, {}};
  }
  std::unique_ptr<CaptureWriter> writer(new CaptureWriter(fd, path, format));
  writer->write_start(link_type, interface_name);
  return writer;
}

std::unique_ptr<CaptureWriter> CaptureWriter::to_memory(CaptureFormat format, LinkType link_type,
                                                        std::string_view interface_name) {
  std::unique_ptr<CaptureWriter> writer(new CaptureWriter(-1, "memory", format));
  writer->write_start(link_type, interface_name);
  return writer;
}

void CaptureWriter::put(const void* bytes, std::size_t size) {
  const auto* p = static_cast<const base::Byte*>(bytes);
  buffer_.insert(buffer_.end(), p, p + size);
}

void CaptureWriter::put_option(std::uint16_t code, std::string_view value) {
  if (value.empty()) return;
  put16(code);
  put16(static_cast<std::uint16_t>(value.size()));
  put(value.data(), value.size());
  buffer_.insert(buffer_.end(), padding(value.size()), 0);
}

void CaptureWriter::write_start(LinkType link_type, std::string_view interface_name) {
  if (format_ == CaptureFormat::kPcapng) {
    put32(0x0a0d0d0a);
    put32(28);
    put32(0x1a2b3c4d);
    put16(1);
    put16(0);
    put32(0xffffffff);  // section length unknown
    put32(0xffffffff);
    put32(28);
    write_interface(interface_name, link_type);
    return;
  }
  put32(format_ == CaptureFormat::kPcapNanos ? 0xa1b23c4d : 0xa1b2c3d4);
  put16(2);
  put16(4);
  put32(0);
  put32(0);
  put32(kSnapLength);
  put32(static_cast<std::uint32_t>(link_type));
}

void CaptureWriter::write_interface(std::string_view name, LinkType link_type) {
  name = name.substr(0, kMaxName);
  const std::string_view resolution("\x09", 1);
  const std::size_t total = 20 + option_size(name) + option_size(resolution) + 4;
  put32(1);
  put32(static_cast<std::uint32_t>(total));
  put16(static_cast<std::uint16_t>(link_type));
  put16(0);
  put32(kSnapLength);
  put_option(2, name);
  put_option(9, resolution);
  put32(0);  // end of options
  put32(static_cast<std::uint32_t>(total));
}

base::Result<std::uint32_t> CaptureWriter::add_interface(std::string_view name,
                                                         LinkType link_type) {
  if (!status_.ok()) return status_.error();
  if (format_ != CaptureFormat::kPcapng)
    return make_error(base::Errc::kUnsupported, "a pcap file has one interface only",
                      "write pcapng");
  if (interfaces_ == kMaxCaptureInterfaces)
    return make_error(base::Errc::kCapacity,
                      fmt::format("more than {} interfaces in {}", kMaxCaptureInterfaces, path_));
  write_interface(name, link_type);
  return interfaces_++;
}

bool CaptureWriter::write(base::ByteSpan bytes, std::uint32_t length, base::Nanos time,
                          std::uint32_t interface, std::string_view comment) noexcept {
  if (is_closed_ || !status_.ok() || bytes.size() > kSnapLength || interface >= interfaces_) {
    ++refused_;
    return false;
  }
  const auto captured = static_cast<std::uint32_t>(bytes.size());
  length = std::max(length, captured);
  // Neither format can tell a time before 1970; pcap ends in 2106.
  const auto nanos = static_cast<std::uint64_t>(std::max<base::Nanos>(time, 0));
  if (format_ == CaptureFormat::kPcapng) {
    comment = comment.substr(0, kMaxComment);
    const std::size_t options = comment.empty() ? 0 : option_size(comment) + 4;
    const auto total = static_cast<std::uint32_t>(32 + captured + padding(captured) + options);
    put32(6);
    put32(total);
    put32(interface);
    put32(static_cast<std::uint32_t>(nanos >> 32));
    put32(static_cast<std::uint32_t>(nanos));
    put32(captured);
    put32(length);
    put(bytes.data(), captured);
    buffer_.insert(buffer_.end(), padding(captured), 0);
    if (options != 0) {
      put_option(1, comment);
      put32(0);
    }
    put32(total);
  } else {
    const auto fraction = static_cast<std::uint32_t>(nanos % 1'000'000'000);
    put32(static_cast<std::uint32_t>(std::min<std::uint64_t>(nanos / 1'000'000'000, 0xffffffff)));
    put32(format_ == CaptureFormat::kPcapNanos ? fraction : fraction / 1000);
    put32(captured);
    put32(length);
    put(bytes.data(), captured);
  }
  ++packets_;
  return fd_ < 0 || buffer_.size() < kFlushAt || drain();
}

bool CaptureWriter::drain() noexcept {
  std::size_t done = 0;
  while (done < buffer_.size()) {
    const ssize_t n = ::write(fd_, buffer_.data() + done, buffer_.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      base::SourcePos where;
      where.file = path_;
      status_ = base::Error{base::Errc::kIo,
                            fmt::format("can't write {}: {}", path_, std::strerror(errno)),
                            where,
                            {}};
      buffer_.clear();
      return false;
    }
    done += static_cast<std::size_t>(n);
  }
  buffer_.clear();
  return true;
}

base::Result<void> CaptureWriter::flush() {
  if (fd_ >= 0 && status_.ok()) drain();
  return status_;
}

base::Result<void> CaptureWriter::close() {
  is_closed_ = true;
  if (fd_ < 0) return status_;
  if (status_.ok()) drain();
  if (::close(fd_) != 0 && status_.ok()) {
    base::SourcePos where;
    where.file = path_;
    status_ = base::Error{
        base::Errc::kIo, fmt::format("can't close {}: {}", path_, std::strerror(errno)), where, {}};
  }
  fd_ = -1;
  return status_;
}

std::vector<base::Byte> CaptureWriter::take_bytes() {
  std::vector<base::Byte> out;
  out.swap(buffer_);
  return out;
}

}  // namespace merlon::io
