// SPDX-License-Identifier: Apache-2.0
#pragma once
// A folder that ends with its test.
#include <stdlib.h>

#include <filesystem>
#include <string>

namespace merlon::control {

class TemporaryFolder {
 public:
  TemporaryFolder() { make(); }
  ~TemporaryFolder() { remove(); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  // Ends the folder and takes another.
  void renew() {
    remove();
    make();
  }
  // Does not exist yet.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  void make() {
    std::string name = (std::filesystem::temp_directory_path() / "merlon-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name + "/state";
    root_ = name;
  }
  void remove() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }

  std::string root_, path_;
};

}  // namespace merlon::control
