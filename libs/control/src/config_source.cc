// SPDX-License-Identifier: Apache-2.0
#include "merlon/control/config_source.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "merlon/base/check.h"

namespace merlon::control {

using base::Errc;
using base::Error;

const SourceFile* Bundle::find(std::string_view name) const noexcept {
  for (const SourceFile& f : files)
    if (f.name == name) return &f;
  return nullptr;
}

std::string Bundle::hash() const {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  MERLON_CHECK(context != nullptr && EVP_DigestInit_ex(context, EVP_sha256(), nullptr) == 1);
  const auto add = [&](std::string_view bytes) {
    const std::string length = fmt::format("{}:", bytes.size());
    EVP_DigestUpdate(context, length.data(), length.size());
    EVP_DigestUpdate(context, bytes.data(), bytes.size());
  };
  for (const SourceFile& f : files) add(f.name), add(f.text);
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  EVP_DigestFinal_ex(context, digest, &size);
  EVP_MD_CTX_free(context);
  std::string out;
  for (unsigned i = 0; i < size; ++i) out += fmt::format("{:02x}", digest[i]);
  return out;
}

std::string Bundle::to_text() const {
  if (files.size() == 1) return files.front().text;
  std::string out;
  for (const SourceFile& f : files) {
    out += fmt::format("# file: {}\n{}", f.name, f.text);
    if (!f.text.ends_with('\n')) out += '\n';
  }
  return out;
}

Bundle Bundle::of(std::string text, std::string name) {
  Bundle bundle;
  bundle.files.push_back({std::move(name), std::move(text)});
  return bundle;
}

base::Result<std::string> DiskFiles::read(const std::string& name) {
  const auto io_error = [&](Errc code) {
    return Error{.code = code,
                 .message = fmt::format("can't read \"{}\": {}", name, std::strerror(errno))};
  };
  const int fd = ::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return io_error(errno == ENOENT ? Errc::kNotFound : Errc::kIo);
  struct stat info {};
  std::string text;
  base::Result<std::string> result = text;
  if (::fstat(fd, &info) != 0) {
    result = io_error(Errc::kIo);
  } else if (!S_ISREG(info.st_mode)) {
    result = Error{.code = Errc::kIo,
                   .message = fmt::format("can't read \"{}\": not a regular file", name)};
  } else if (static_cast<std::size_t>(info.st_size) > kMaxFileSize) {
    result = Error{.code = Errc::kCapacity,
                   .message = fmt::format("\"{}\" has {} bytes, more than the {} allowed", name,
                                          info.st_size, kMaxFileSize)};
  } else {
    text.resize(static_cast<std::size_t>(info.st_size));
    std::size_t done = 0;
    ssize_t n = 1;
    while (done < text.size() && (n = ::read(fd, text.data() + done, text.size() - done)) > 0)
      done += static_cast<std::size_t>(n);
    text.resize(done);
    result = n < 0 ? base::Result<std::string>(io_error(Errc::kIo))
                   : base::Result<std::string>(std::move(text));
  }
  ::close(fd);
  return result;
}

MemoryFiles::MemoryFiles(const Bundle& bundle) {
  for (const SourceFile& f : bundle.files) add(f.name, f.text);
}

void MemoryFiles::add(std::string name, std::string text) {
  files_.insert_or_assign(std::move(name), std::move(text));
}

base::Result<std::string> MemoryFiles::read(const std::string& name) {
  const auto found = files_.find(name);
  if (found == files_.end())
    return Error{.code = Errc::kNotFound,
                 .message = fmt::format("can't read \"{}\": no such file in the bundle", name)};
  if (found->second.size() > kMaxFileSize)
    return Error{.code = Errc::kCapacity,
                 .message = fmt::format("\"{}\" has {} bytes, more than the {} allowed", name,
                                        found->second.size(), kMaxFileSize)};
  return found->second;
}

}  // namespace merlon::control
