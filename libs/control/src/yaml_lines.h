// SPDX-License-Identifier: Apache-2.0
#pragma once
// A short way through long lists of rules: runs of lines like
//   - {id: web, from: lan, service: [tcp/80, tcp/443], action: permit}
// are read here, and the YAML library sees the first line of each run only; its places are counted
// on by what was cut out. Only lines of the plainest form take part; where
// anything is wrong with a file, or a run turns out to be something else (lines of a quoted text),
// the whole file is read by the library alone, so that nobody can tell the two ways apart but by
// their time. control-only; some 30 times as fast as the library.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "yaml_tree.h"

namespace merlon::control {

class FastLines {
 public:
  // `text` must outlive the nodes, whose words point into it.
  FastLines(std::string_view text, std::uint32_t file);

  [[nodiscard]] bool is_empty() const noexcept { return runs_.empty(); }
  // The text without all lines of runs but the first ones.
  [[nodiscard]] const std::string& rest() const noexcept { return rest_; }
  // What was cut out in front of an offset in rest().
  struct Cut {
    std::size_t bytes = 0;
    std::uint32_t lines = 0;
  };
  [[nodiscard]] Cut cut_before(std::size_t offset) const noexcept;

  // The items that follow the one whose mapping begins there; each run is given once.
  std::vector<Node> take(const Place& mapping) noexcept;
  // Values in `items`, themselves and inside.
  static std::size_t count(const std::vector<Node>& items) noexcept;
  [[nodiscard]] bool is_all_taken() const noexcept { return taken_ == runs_.size(); }

 private:
  struct Run {
    std::uint32_t line = 0, column = 0;  // of the first mapping
    std::vector<Node> items;
    std::size_t cut_at = 0;  // in rest()
    Cut cut;                 // up to this run's end
  };
  void finish_run(Run& run, std::size_t second, std::size_t end);

  std::string_view text_;
  std::string rest_;
  std::vector<Run> runs_;
  std::size_t taken_ = 0;
  std::size_t copied_ = 0;  // of text_ into rest_, or cut out
};

}  // namespace merlon::control
