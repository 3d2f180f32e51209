// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where configuration text comes from. The loader reads through FileProvider, so that a file tree,
// a stored revision and a test look the same. A Bundle is everything one configuration was read
// from, in one value: what a revision stores and what the API receives. control-only.
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "merlon/base/result.h"

namespace merlon::control {

// One file's text under the name that errors show.
struct SourceFile {
  std::string name;
  std::string text;
  friend bool operator==(const SourceFile&, const SourceFile&) = default;
};

// The main file first, then included files in the order they were read. Never empty when loading
// succeeded.
struct Bundle {
  std::vector<SourceFile> files;

  [[nodiscard]] const SourceFile* find(std::string_view name) const noexcept;
  // SHA-256 over names and texts, 64 hexadecimal digits; equal bundles have equal hashes.
  [[nodiscard]] std::string hash() const;
  // All files as one text: a line "# file: NAME" before each when there are several.
  [[nodiscard]] std::string to_text() const;
  // A bundle of one file, as the API gets it.
  static Bundle of(std::string text, std::string name = "config.yaml");
  friend bool operator==(const Bundle&, const Bundle&) = default;
};

class FileProvider {
 public:
  virtual ~FileProvider() = default;
  // The whole file; kNotFound, kIo or kCapacity (larger than kMaxFileSize) otherwise.
  [[nodiscard]] virtual base::Result<std::string> read(const std::string& name) = 0;
};

inline constexpr std::size_t kMaxFileSize = 64U << 20;     // bytes of one file
inline constexpr std::size_t kMaxBundleSize = 256U << 20;  // bytes of all files together
inline constexpr unsigned kMaxFiles = 64;                  // files of one configuration
inline constexpr unsigned kMaxIncludeDepth = 8;

class DiskFiles final : public FileProvider {
 public:
  [[nodiscard]] base::Result<std::string> read(const std::string& name) override;
};

class MemoryFiles final : public FileProvider {
 public:
  MemoryFiles() = default;
  explicit MemoryFiles(const Bundle& bundle);
  void add(std::string name, std::string text);
  [[nodiscard]] base::Result<std::string> read(const std::string& name) override;

 private:
  std::map<std::string, std::string, std::less<>> files_;
};

}  // namespace merlon::control
