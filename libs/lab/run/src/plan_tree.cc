// SPDX-License-Identifier: Apache-2.0
#include "plan_tree.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>
#include <yaml-cpp/yaml.h>

#include <charconv>
#include <cmath>
#include <sstream>

#include "merlon/lab_run/plan.h"

namespace merlon::lab {

using base::Errc;
using base::Error;
using base::Errors;

namespace {

base::SourcePos place(const std::string& file, const YAML::Mark& mark) {
  base::SourcePos at;
  at.file = file;
  at.line = mark.line < 0 ? 0 : static_cast<unsigned>(mark.line) + 1;
  at.column = mark.column < 0 ? 0 : static_cast<unsigned>(mark.column) + 1;
  return at;
}

struct Stop {};

// Looks at the events only; a tree of what it lets pass is bounded.
class Guard final : public YAML::EventHandler {
 public:
  Guard(const std::string& file, Errors& errors) : file_(file), errors_(errors) {}
  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) stop(mark, "a second document starts here", "one file is one plan");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { look(mark, "", anchor); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override {
    stop(mark, "aliases (\"*name\") are not supported", "write the value out");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& /*value*/) override {
    look(mark, tag, anchor);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    look(mark, tag, anchor);
    deeper(mark);
  }
  void OnSequenceEnd() override { --depth_; }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    look(mark, tag, anchor);
    deeper(mark);
  }
  void OnMapEnd() override { --depth_; }

 private:
  [[noreturn]] void stop(const YAML::Mark& mark, std::string message, std::string hint) {
    errors_.push_back(
        {Errc::kUnsupported, std::move(message), place(file_, mark), std::move(hint), {}});
    throw Stop{};
  }
  void look(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    if (anchor != 0) stop(mark, "anchors (\"&name\") are not supported", "write the value out");
    if (!tag.empty() && tag != "?" && tag != "!")
      stop(mark, "tags (\"!name\") are not supported", "put the value in quotes");
    if (++values_ > kMaxPlanValues)
      stop(mark, fmt::format("more than {} values", kMaxPlanValues), "divide the plan");
  }
  void deeper(const YAML::Mark& mark) {
    if (++depth_ > kMaxPlanDepth)
      stop(mark, fmt::format("values are nested deeper than {}", kMaxPlanDepth), "");
  }
  const std::string& file_;
  Errors& errors_;
  unsigned documents_ = 0, depth_ = 0, values_ = 0;
};

}  // namespace

bool guard_plan(std::string_view text, const std::string& file, Errors& errors) {
  if (text.size() > kMaxPlanSize) {
    errors.push_back(
        {Errc::kCapacity,
         fmt::format("the file has {} bytes, a plan at most {}", text.size(), kMaxPlanSize),
         {file, 0, 0, 0},
         "",
         {}});
    return false;
  }
  Guard guard(file, errors);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(guard)) {
    }
  } catch (const Stop&) {
    return false;
  } catch (const YAML::Exception& problem) {
    errors.push_back({Errc::kInvalidValue,
                      "this is no YAML: " + problem.msg,
                      place(file, problem.mark),
                      "",
                      {}});
    return false;
  }
  return true;
}

PlanMap::PlanMap(const YAML::Node& node, std::string path, const std::string& file, Errors& errors)
    : node_(node), path_(std::move(path)), file_(file), errors_(errors), is_map_(node.IsMap()) {
  if (!is_map_) {
    errors_.push_back(
        {Errc::kInvalidValue,
         fmt::format("{} must be a mapping \"key: value\"", path_.empty() ? "a plan" : path_),
         place(file_, node.Mark()), "", path_});
    return;
  }
  std::set<std::string> seen;
  for (const auto& item : node_)
    if (item.first.IsScalar() && !seen.insert(item.first.Scalar()).second)
      errors_.push_back({Errc::kDuplicate,
                         fmt::format("\"{}\" stands here twice", item.first.Scalar()),
                         place(file_, item.first.Mark()), "remove one of them", path_});
}

std::string PlanMap::path_of(const std::string& key) const {
  return path_.empty() ? key : path_ + "." + key;
}

void PlanMap::fail(const YAML::Node& node, const std::string& key, std::string message,
                   std::string hint) {
  errors_.push_back({Errc::kInvalidValue, fmt::format("{}: {}", path_of(key), message),
                     place(file_, node.Mark()), std::move(hint), path_of(key)});
}

YAML::Node PlanMap::take(const char* key) {
  asked_.insert(key);
  YAML::Node none(YAML::NodeType::Undefined);
  if (!is_map_) return none;
  for (const auto& item : node_)
    if (item.first.IsScalar() && item.first.Scalar() == key) return item.second;
  return none;
}

bool PlanMap::scalar(const YAML::Node& node, const std::string& key, std::string& out) {
  if (!node.IsScalar()) {
    fail(node, key, "a single value is wanted here");
    return false;
  }
  out = node.Scalar();
  return true;
}

void PlanMap::text(const char* key, std::string& out) {
  const YAML::Node node = take(key);
  if (node) scalar(node, key, out);
}

void PlanMap::text(const char* key, Text& out) {
  const YAML::Node node = take(key);
  if (!node) return;
  if (node.IsScalar()) {
    out = {node.Scalar(), node.Scalar()};
    return;
  }
  PlanMap both(node, path_of(key), file_, errors_);
  both.text("en", out.en);
  both.text("ru", out.ru);
  both.finish();
  if (out.ru.empty()) out.ru = out.en;
}

void PlanMap::number(const char* key, double& out, double low, double high) {
  const YAML::Node node = take(key);
  std::string given;
  if (!node || !scalar(node, key, given)) return;
  double value = 0;
  const auto [end, problem] = std::from_chars(given.data(), given.data() + given.size(), value);
  if (problem != std::errc{} || end != given.data() + given.size() || !std::isfinite(value)) {
    fail(node, key, fmt::format("\"{}\" is no number", given));
  } else if (value < low || value > high) {
    fail(node, key, fmt::format("{} is not within {} and {}", given, low, high));
  } else {
    out = value;
  }
}

void PlanMap::whole_number(const char* key, std::uint64_t& out, std::uint64_t low,
                           std::uint64_t high) {
  const YAML::Node node = take(key);
  std::string given;
  if (!node || !scalar(node, key, given)) return;
  std::uint64_t value = 0;
  const auto [end, problem] = std::from_chars(given.data(), given.data() + given.size(), value);
  if (problem != std::errc{} || end != given.data() + given.size() || value < low || value > high) {
    fail(node, key, fmt::format("\"{}\" is no whole number from {} to {}", given, low, high));
    return;
  }
  out = value;
}

void PlanMap::share(const char* key, double& out) {
  const YAML::Node node = take(key);
  std::string given;
  if (!node || !scalar(node, key, given)) return;
  const bool is_percent = given.ends_with('%');
  std::string digits = is_percent ? given.substr(0, given.size() - 1) : given;
  while (digits.ends_with(' ')) digits.pop_back();
  double value = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (is_percent) value /= 100;
  if (problem != std::errc{} || end != digits.data() + digits.size() || !(value >= 0) ||
      value > 1) {
    fail(node, key, fmt::format("\"{}\" is no share", given), "0 to 1, or 0 % to 100 %");
    return;
  }
  out = value;
}

void PlanMap::seconds(const char* key, double& out) {
  const YAML::Node node = take(key);
  std::string given;
  if (!node || !scalar(node, key, given)) return;
  auto value = parse_seconds(given);
  if (value) {
    out = *value;
  } else {
    fail(node, key, value.error().message, value.error().hint);
  }
}

void PlanMap::rate(const char* key, double& out) {
  const YAML::Node node = take(key);
  std::string given;
  if (!node || !scalar(node, key, given)) return;
  auto value = parse_rate(given);
  if (value) {
    out = *value;
  } else {
    fail(node, key, value.error().message, value.error().hint);
  }
}

void PlanMap::flag(const char* key, bool& out) {
  const YAML::Node node = take(key);
  std::string given;
  if (!node || !scalar(node, key, given)) return;
  if (given == "true" || given == "false") {
    out = given == "true";
  } else {
    fail(node, key, fmt::format("\"{}\" is neither true nor false", given));
  }
}

void PlanMap::texts(const char* key, std::vector<std::string>& out) {
  const YAML::Node node = take(key);
  if (!node) return;
  if (!node.IsSequence()) {
    fail(node, key, "a list is wanted here", "[one, two]");
    return;
  }
  out.clear();
  for (const auto& item : node)
    if (std::string one; scalar(item, key, one)) out.push_back(one);
}

std::vector<std::pair<std::string, YAML::Node>> PlanMap::items() {
  std::vector<std::pair<std::string, YAML::Node>> out;
  if (!is_map_) return out;
  for (const auto& item : node_)
    if (std::string key; scalar(item.first, "", key)) {
      asked_.insert(key);
      out.emplace_back(key, item.second);
    }
  return out;
}

void PlanMap::finish() {
  if (!is_map_) return;
  std::string known;
  for (const std::string& key : asked_) known += (known.empty() ? "" : ", ") + key;
  for (const auto& item : node_) {
    const std::string key = item.first.IsScalar() ? item.first.Scalar() : "?";
    if (asked_.contains(key)) continue;
    errors_.push_back({Errc::kUnknownKey, fmt::format("{}: this key is not known", path_of(key)),
                       place(file_, item.first.Mark()), "one of: " + known, path_of(key)});
  }
}

}  // namespace merlon::lab
