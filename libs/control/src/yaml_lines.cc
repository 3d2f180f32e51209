// SPDX-License-Identifier: Apache-2.0
#include "yaml_lines.h"

#include <algorithm>

namespace merlon::control {
namespace {

// Shorter runs are not worth a run.
constexpr std::size_t kShortestRun = 8;
// The library takes no key that ends farther to the right.
constexpr std::size_t kLongestLine = 1000;

bool is_letter(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_alphanumeric(char c) noexcept { return is_letter(c) || (c >= '0' && c <= '9'); }

// Reads one line from `at` on; `failed` once it is not of the plain form.
class LineReader {
 public:
  LineReader(std::string_view line, std::uint32_t file, std::uint32_t number)
      : line_(line), file_(file), number_(number) {}

  bool item(Node& node) {
    while (at_ < line_.size() && line_[at_] == ' ') ++at_;
    if (!take("- ")) return false;
    node.place = place(at_, 1);
    node.kind = Node::Kind::kMapping;
    if (!take("{")) return false;
    do {
      Node value;
      value.key_place = place(at_, 0);
      value.key = word(false);
      value.key_place.end_column = column(at_);
      if (value.key.empty() || !take(": ") || !read_value(value)) return false;
      for (const Node& other : node.items)
        if (other.key == value.key) return false;
      node.items.push_back(std::move(value));
    } while (take(", "));
    return take("}") && at_ == line_.size();
  }

 private:
  [[nodiscard]] static std::uint32_t column(std::size_t at) noexcept {
    return static_cast<std::uint32_t>(at) + 1;
  }
  [[nodiscard]] Place place(std::size_t at, std::size_t length) const noexcept {
    return {number_, column(at), column(at + length), file_};
  }
  bool take(std::string_view what) noexcept {
    if (line_.substr(at_, what.size()) != what) return false;
    at_ += what.size();
    return true;
  }
  // A word that YAML reads as itself: no null, no indicator; a colon only inside.
  std::string_view word(bool may_be_number) noexcept {
    const std::size_t begin = at_;
    const auto inside = [&](std::size_t i) {
      const char c = line_[i];
      if (c == ':') return i + 1 < line_.size() && is_alphanumeric(line_[i + 1]);
      return is_alphanumeric(c) || c == '_' || c == '.' || c == '/' || c == '-';
    };
    if (at_ < line_.size() && (may_be_number ? is_alphanumeric(line_[at_]) : is_letter(line_[at_])))
      while (at_ < line_.size() && inside(at_)) ++at_;
    const std::string_view found = line_.substr(begin, at_ - begin);
    return found == "null" || found == "Null" || found == "NULL" ? std::string_view() : found;
  }
  bool read_scalar(Node& node) {
    node.kind = Node::Kind::kScalar;
    const std::size_t begin = at_;
    node.text = word(true);
    node.place = place(begin, node.text.size());
    return !node.text.empty();
  }
  bool read_value(Node& node) {
    if (at_ >= line_.size() || line_[at_] != '[') return read_scalar(node);
    node.kind = Node::Kind::kSequence;
    node.place = place(at_++, 1);
    do {
      Node& element = node.items.emplace_back();
      if (!read_scalar(element)) return false;
    } while (take(", "));
    return take("]");
  }

  std::string_view line_;
  std::uint32_t file_, number_;
  std::size_t at_ = 0;
};

}  // namespace

FastLines::FastLines(std::string_view text, std::uint32_t file) : text_(text) {
  Run run;
  std::size_t second = 0;  // where the run's second line begins
  std::uint32_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    ++number;
    Node node;
    const bool is_plain = line.size() < kLongestLine && LineReader(line, file, number).item(node);
    const bool continues = is_plain && run.line != 0 && node.place.column == run.column;
    if (continues) {
      run.items.push_back(std::move(node));
    } else {
      finish_run(run, second, at);
      run = {};
      if (is_plain) {
        run.line = number;
        run.column = node.place.column;
        second = std::min(end + 1, text.size());
      }
    }
    at = end + 1;
  }
  finish_run(run, second, text.size());
  if (!runs_.empty()) rest_ += text.substr(copied_);
}

void FastLines::finish_run(Run& run, std::size_t second, std::size_t end) {
  if (run.items.size() < kShortestRun) return;
  rest_ += text_.substr(copied_, second - copied_);
  copied_ = end;
  if (!runs_.empty()) run.cut = runs_.back().cut;
  run.cut_at = rest_.size();
  run.cut.bytes += end - second;
  run.cut.lines += static_cast<std::uint32_t>(run.items.size());
  runs_.push_back(std::move(run));
}

FastLines::Cut FastLines::cut_before(std::size_t offset) const noexcept {
  const auto next = std::ranges::upper_bound(runs_, offset, {}, &Run::cut_at);
  return next == runs_.begin() ? Cut{} : (next - 1)->cut;
}

std::vector<Node> FastLines::take(const Place& mapping) noexcept {
  const auto run = std::ranges::lower_bound(runs_, mapping.line, {}, &Run::line);
  if (run == runs_.end() || run->line != mapping.line || run->column != mapping.column ||
      run->items.empty())
    return {};
  ++taken_;
  return std::move(run->items);
}

std::size_t FastLines::count(const std::vector<Node>& items) noexcept {
  std::size_t sum = 0;
  // A mapping's item comes as two values of the library, its key and itself.
  for (const Node& n : items) sum += 1 + (n.key.empty() ? 0 : 1) + count(n.items);
  return sum;
}

}  // namespace merlon::control
