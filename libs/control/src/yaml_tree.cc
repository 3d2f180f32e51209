// SPDX-License-Identifier: Apache-2.0
#include "yaml_tree.h"

#include <fmt/core.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <istream>
#include <streambuf>
#include <unordered_map>

#include "config_check.h"
#include "yaml_lines.h"
#include "yaml_messages.h"

namespace merlon::control {

using base::Errc;
using base::Error;
using base::Errors;

const Node* Node::find(std::string_view name) const noexcept {
  for (const Node& n : items)
    if (n.key == name) return &n;
  return nullptr;
}
Node* Node::find(std::string_view name) noexcept {
  for (Node& n : items)
    if (n.key == name) return &n;
  return nullptr;
}

namespace {

// Thrown through the YAML library to end its parsing after a limit was reported.
struct Stop {};

// A read-only stream over text that is not copied.
class TextBuffer final : public std::streambuf {
 public:
  explicit TextBuffer(std::string_view text) {
    // The interface wants a mutable pointer; nothing writes through it.
    char* p = const_cast<char*>(text.data());  // NOLINT(cppcoreguidelines-pro-type-const-cast)
    setg(p, p, p + text.size());
  }
};

bool is_continuation(char c) noexcept { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

}  // namespace

class TreeBuilder final : public YAML::EventHandler {
 public:
  // `lines` is null, or what the text that the library gets leaves out.
  TreeBuilder(ConfigTree& tree, std::uint32_t file, Errors& errors, FastLines* lines = nullptr)
      : tree_(tree), file_(file), text_(tree.files_[file].text), errors_(errors), lines_(lines) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ == 1) return;
    fail(place_of(mark, 1), Errc::kInvalidValue, "a second document starts here",
         "a configuration file is one document; remove the line \"---\"");
    throw Stop{};
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Node node;
    node.place = place_of(mark, 1);
    check_properties(mark, "", anchor);
    add(std::move(node));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override {
    const std::size_t length = word_length(mark);
    fail(place_of(mark, length), Errc::kUnsupported,
         fmt::format("the alias \"{}\" is not supported", word_at(mark)), "write the value out");
    Node node;
    node.place = place_of(mark, length);
    node.is_bad = true;
    add(std::move(node));
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    Node node;
    node.kind = Node::Kind::kScalar;
    node.is_plain = tag != "!";
    const std::size_t at = offset(mark);
    const bool is_verbatim = node.is_plain && text_.compare(at, value.size(), value) == 0;
    node.text = is_verbatim ? text_.substr(at, value.size()) : tree_.keep(value);
    node.place = place_of(mark, is_verbatim ? value.size() : source_length(at, node.is_plain));
    if (!node.is_plain && !is_closed(at)) {
      fail(node.place, Errc::kInvalidValue, "a quoted text is not closed", "add the closing quote");
      throw Stop{};
    }
    if (!check_properties(mark, tag, anchor)) node.is_bad = true;
    add(std::move(node));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style) override {
    open(Node::Kind::kSequence, mark, tag, anchor, style == YAML::EmitterStyle::Flow);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override {
    open(Node::Kind::kMapping, mark, tag, anchor, style == YAML::EmitterStyle::Flow);
  }
  void OnMapEnd() override {
    report_duplicates(stack_.back().node);
    close();
  }

  [[nodiscard]] bool has_root() const noexcept { return has_root_; }
  // Place of the innermost bracket that is open.
  [[nodiscard]] Place open_bracket() const noexcept {
    for (std::size_t i = stack_.size(); i-- > 0;)
      if (stack_[i].is_flow) return stack_[i].node.place;
    return {};
  }
  Node take_root() { return std::move(root_); }
  // Place of a library mark, for its exceptions.
  Place place_of(const YAML::Mark& mark, std::size_t length) {
    const std::size_t at = offset(mark);
    const std::uint32_t line = line_of(mark);
    // Marks come in order, so the column is counted on from the last one.
    if (at < cursor_ || line != cursor_line_) {
      cursor_ = at - std::min<std::size_t>(
                         at, mark.column < 0 ? 0 : static_cast<std::size_t>(mark.column));
      cursor_line_ = line;
      cursor_column_ = 1;
    }
    cursor_column_ += characters(cursor_, at);
    cursor_ = at;
    Place place;
    place.file = file_;
    place.line = line;
    place.column = cursor_column_;
    place.end_column = place.column + characters(at, std::min(at + length, text_.size()));
    return place;
  }

 private:
  struct Level {
    Node node;
    Node key;  // a mapping's key that waits for its value
    bool has_key = false;
    bool is_flow = false;  // written in brackets
  };

  std::size_t offset(const YAML::Mark& mark) const noexcept {
    if (mark.pos < 0) return 0;
    const auto pos = static_cast<std::size_t>(mark.pos);
    const std::size_t cut = lines_ == nullptr ? 0 : lines_->cut_before(pos).bytes;
    return std::min(pos + cut, text_.size());
  }
  std::uint32_t line_of(const YAML::Mark& mark) const noexcept {
    const auto line = static_cast<std::uint32_t>(std::max(mark.line, 0)) + 1;
    if (lines_ == nullptr || mark.pos < 0) return line;
    return line + lines_->cut_before(static_cast<std::size_t>(mark.pos)).lines;
  }
  std::uint32_t characters(std::size_t from, std::size_t to) const noexcept {
    std::uint32_t count = 0;
    for (std::size_t i = from; i < to && text_[i] != '\n'; ++i)
      count += is_continuation(text_[i]) ? 0U : 1U;
    return count;
  }
  std::size_t word_length(const YAML::Mark& mark) const noexcept {
    const std::size_t at = offset(mark);
    const std::size_t end = text_.find_first_of(" \t\r\n,]}", at);
    return (end == std::string_view::npos ? text_.size() : end) - at;
  }
  std::string_view word_at(const YAML::Mark& mark) const noexcept {
    return text_.substr(offset(mark), std::min<std::size_t>(word_length(mark), 60));
  }
  // The library takes the end of the file for the end of a quoted text.
  bool is_closed(std::size_t at) const noexcept {
    const char quote = at < text_.size() ? text_[at] : ' ';
    if (quote != '"' && quote != '\'') return true;
    for (std::size_t i = at + 1; i < text_.size(); ++i) {
      if (quote == '"' && text_[i] == '\\') {
        ++i;
      } else if (text_[i] == quote) {
        if (quote == '"' || i + 1 >= text_.size() || text_[i + 1] != quote) return true;
        ++i;
      }
    }
    return false;
  }
  // How far a scalar reaches in its first line.
  std::size_t source_length(std::size_t at, bool is_plain) const noexcept {
    const std::size_t line_end = std::min(text_.find('\n', at), text_.size());
    if (at >= line_end) return 1;
    const char quote = text_[at];
    if (is_plain || (quote != '"' && quote != '\'')) return std::max<std::size_t>(line_end - at, 1);
    for (std::size_t i = at + 1; i < line_end; ++i) {
      if (quote == '"' && text_[i] == '\\') {
        ++i;
      } else if (text_[i] == quote) {
        if (quote == '\'' && i + 1 < line_end && text_[i + 1] == '\'') {
          ++i;
        } else {
          return i + 1 - at;
        }
      }
    }
    return line_end - at;
  }

  void fail(const Place& place, Errc code, std::string message, std::string hint = {}) {
    errors_.push_back(Error{.code = code,
                            .message = std::move(message),
                            .where = tree_.position(place),
                            .hint = std::move(hint)});
    if (errors_.size() >= kMaxErrors) throw Stop{};
  }

  bool check_properties(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    if (anchor != 0) {
      fail(place_of(mark, word_length(mark)), Errc::kUnsupported,
           fmt::format("the anchor \"{}\" is not supported", word_at(mark)),
           "write the value out where it is used");
      return false;
    }
    const std::size_t at = offset(mark);
    const bool has_tag = at < text_.size() && text_[at] == '!';
    if (!has_tag && (tag.empty() || tag == "?" || tag == "!")) return true;
    fail(place_of(mark, word_length(mark)), Errc::kUnsupported,
         fmt::format("\"{}\" is read as a YAML tag, and tags are not supported", word_at(mark)),
         word_at(mark).starts_with("!!")
             ? "remove it"
             : fmt::format("to negate a name put it in quotes: \"{}\"", word_at(mark)));
    return false;
  }

  void open(Node::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
            bool is_flow) {
    Level level;
    level.is_flow = is_flow;
    level.node.kind = kind;
    level.node.place = place_of(mark, 1);
    if (!check_properties(mark, tag, anchor)) level.node.is_bad = true;
    if (stack_.size() >= kMaxDepth) {
      fail(level.node.place, Errc::kCapacity,
           fmt::format("nested deeper than {} levels", kMaxDepth));
      throw Stop{};
    }
    stack_.push_back(std::move(level));
  }
  void close() {
    Node node = std::move(stack_.back().node);
    stack_.pop_back();
    node.items.shrink_to_fit();
    const bool is_item = lines_ != nullptr && node.is_mapping() && !stack_.empty() &&
                         stack_.back().node.is_sequence() && !stack_.back().is_flow;
    const Place place = node.place;
    add(std::move(node));
    if (is_item) add_lines(place);
  }
  void add_lines(const Place& place) {
    std::vector<Node> more = lines_->take(place);
    count_ += FastLines::count(more);
    std::vector<Node>& items = stack_.back().node.items;
    std::move(more.begin(), more.end(), std::back_inserter(items));
  }
  void add(Node node) {
    if (++count_ > kMaxNodes) {
      fail(node.place, Errc::kCapacity, fmt::format("more than {} values in one file", kMaxNodes),
           "split the file with include:");
      throw Stop{};
    }
    if (stack_.empty()) {
      root_ = std::move(node);
      has_root_ = true;
      return;
    }
    Level& level = stack_.back();
    if (level.node.is_sequence()) {
      level.node.items.push_back(std::move(node));
    } else if (!level.has_key) {
      if (!node.is_scalar() && !node.is_bad) {
        fail(node.place, Errc::kInvalidValue, "a key must be a word", "write it as KEY: VALUE");
        node.is_bad = true;
      }
      level.key = std::move(node);
      level.has_key = true;
    } else {
      node.key = level.key.text;
      node.key_place = level.key.place;
      level.has_key = false;
      if (!level.key.is_bad) level.node.items.push_back(std::move(node));
    }
  }

  void report_duplicates(Node& mapping) {
    std::vector<Node>& items = mapping.items;
    if (items.size() < 2) return;
    const auto report = [&](Node& again, const Node& first) {
      fail(again.key_place, Errc::kDuplicate, fmt::format("duplicate key \"{}\"", again.key),
           fmt::format("first at line {}", first.key_place.line));
      again.is_bad = true;
    };
    if (items.size() <= 24) {
      for (std::size_t i = 1; i < items.size(); ++i)
        for (std::size_t k = 0; k < i; ++k)
          if (items[i].key == items[k].key) {
            report(items[i], items[k]);
            break;
          }
    } else {
      std::unordered_map<std::string_view, const Node*> seen;
      seen.reserve(items.size());
      for (Node& n : items)
        if (const auto [at, is_new] = seen.emplace(n.key, &n); !is_new) report(n, *at->second);
    }
  }

  ConfigTree& tree_;
  std::uint32_t file_;
  std::string_view text_;
  Errors& errors_;
  FastLines* lines_;
  std::vector<Level> stack_;
  Node root_;
  bool has_root_ = false;
  unsigned documents_ = 0;
  std::size_t count_ = 0;
  std::size_t cursor_ = 0;
  std::uint32_t cursor_line_ = 0;
  std::uint32_t cursor_column_ = 1;
};

base::SourcePos ConfigTree::position(const Place& place) const {
  if (place.line == 0) return {};
  return {files_[place.file].name, place.line, place.column, place.end_column};
}

std::string_view ConfigTree::keep(std::string text) {
  if (text.empty()) return {};
  kept_.push_back(std::move(text));
  return kept_.back();
}

bool ConfigTree::parse(SourceFile source, Node& out, Errors& errors) {
  files_.push_back(std::move(source));
  const auto number = static_cast<std::uint32_t>(files_.size() - 1);
  if (!check_characters(files_.back(), errors)) return false;
  return parse_quickly(number, out) || parse_file(number, out, errors);
}

bool ConfigTree::parse_slowly(SourceFile source, Node& out, Errors& errors) {
  files_.push_back(std::move(source));
  if (!check_characters(files_.back(), errors)) return false;
  return parse_file(static_cast<std::uint32_t>(files_.size() - 1), out, errors);
}

// False when there is nothing to gain or anything to complain about; then the library reads all.
bool ConfigTree::parse_quickly(std::uint32_t file, Node& out) {
  FastLines lines(files_[file].text, file);
  if (lines.is_empty()) return false;
  Errors errors;
  TreeBuilder builder(*this, file, errors, &lines);
  try {
    TextBuffer buffer(lines.rest());
    std::istream stream(&buffer);
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const Stop&) {
    return false;
  } catch (const YAML::Exception&) {
    return false;
  }
  if (!errors.empty() || !builder.has_root() || !lines.is_all_taken()) return false;
  out = builder.take_root();
  return out.kind != Node::Kind::kNull;
}

bool ConfigTree::parse_file(std::uint32_t number, Node& out, Errors& errors) {
  const SourceFile& file = files_[number];
  const std::size_t before = errors.size();
  TreeBuilder builder(*this, number, errors);
  try {
    TextBuffer buffer(file.text);
    std::istream stream(&buffer);
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const Stop&) {
    return false;
  } catch (const YAML::Exception& e) {
    errors.push_back(syntax_error(e, file, e.mark.is_null() ? Place{} : builder.place_of(e.mark, 1),
                                  builder.open_bracket()));
    return false;
  }
  if (!builder.has_root()) {
    errors.push_back(Error{.code = Errc::kInvalidValue,
                           .message = "the file is empty",
                           .where = {file.name, 1, 1, 2},
                           .hint = "a configuration starts with \"version: 1\""});
    return false;
  }
  out = builder.take_root();
  if (out.kind == Node::Kind::kNull && errors.size() == before) {
    errors.push_back(Error{.code = Errc::kInvalidValue,
                           .message = "the file is empty",
                           .where = position(out.place),
                           .hint = "a configuration starts with \"version: 1\""});
    return false;
  }
  return true;
}

}  // namespace merlon::control
