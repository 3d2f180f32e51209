// SPDX-License-Identifier: Apache-2.0
#include "json_read.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace merlon::lab {
namespace {

using base::Errc;
using base::Error;

// Members of the objects that are open while a text is parsed; finds members that occur twice.
class MemberNames {
 public:
  void open() { levels_.emplace_back(); }
  void close() { levels_.pop_back(); }
  void add(const std::string& name) {
    if (!levels_.back().insert(name).second && !twice_) twice_ = name;
  }
  [[nodiscard]] const std::optional<std::string>& twice() const { return twice_; }

 private:
  std::vector<std::set<std::string>> levels_;
  std::optional<std::string> twice_;
};

// Depth of nesting outside of strings, without parsing: what follows must not see a text that is
// deeper.
std::size_t depth_of(std::string_view text) {
  std::size_t depth = 0, deepest = 0;
  bool is_in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_in_string) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        is_in_string = false;
    } else if (c == '"') {
      is_in_string = true;
    } else if (c == '{' || c == '[') {
      deepest = std::max(deepest, ++depth);
    } else if ((c == '}' || c == ']') && depth > 0) {
      --depth;
    }
  }
  return deepest;
}

// nlohmann prefixes its messages with "[json.exception.parse_error.101] parse error at line 1,
// column 2: ".
std::string reason_of(const std::string& what) {
  const std::size_t colon = what.find(": ");
  return colon == std::string::npos ? what : what.substr(colon + 2);
}

base::SourcePos place_of(std::string_view text, std::size_t byte, unsigned first_line) {
  base::SourcePos place;
  const std::string_view before = text.substr(0, std::min(byte == 0 ? 0 : byte - 1, text.size()));
  place.line = first_line + static_cast<unsigned>(std::count(before.begin(), before.end(), '\n'));
  const std::size_t start = before.rfind('\n');
  place.column = static_cast<unsigned>(
                     start == std::string_view::npos ? before.size() : before.size() - start - 1) +
                 1;
  return place;
}

}  // namespace

base::Result<InputJson> parse_json(std::string_view text, const ReadLimits& limits, unsigned line) {
  if (text.size() > limits.text_size) {
    return Error{Errc::kCapacity, "the text has " + std::to_string(text.size()) +
                                      " bytes, the limit is " + std::to_string(limits.text_size)};
  }
  if (const std::size_t depth = depth_of(text); depth > limits.text_depth) {
    return Error{Errc::kCapacity, "objects and lists are nested " + std::to_string(depth) +
                                      " deep, the limit is " + std::to_string(limits.text_depth)};
  }
  MemberNames names;
  const auto watch = [&names](int, InputJson::parse_event_t event, InputJson& parsed) {
    if (event == InputJson::parse_event_t::object_start) names.open();
    if (event == InputJson::parse_event_t::object_end) names.close();
    if (event == InputJson::parse_event_t::key) names.add(parsed.get_ref<const std::string&>());
    return true;
  };
  try {
    InputJson json = InputJson::parse(text, watch);
    if (names.twice())
      return Error{Errc::kDuplicate,
                   "the member \"" + *names.twice() + "\" occurs twice in one object"};
    return json;
  } catch (const InputJson::parse_error& e) {
    return Error{Errc::kInvalidValue, "not JSON: " + reason_of(e.what()),
                 place_of(text, e.byte, line)};
  } catch (const InputJson::exception& e) {
    return Error{Errc::kInvalidValue, "not JSON: " + reason_of(e.what())};
  }
}

void ReadState::fail(Errc code, std::string message, std::string hint) {
  if (error_) return;
  error_ = Error{
      code, path_.empty() ? std::move(message) : path_ + " " + message, {}, std::move(hint), path_};
}

const char* type_word(const InputJson& json) noexcept {
  if (json.is_null()) return "null";
  if (json.is_boolean()) return "a truth value";
  if (json.is_number_float()) return "a fraction";
  if (json.is_number()) return "a whole number";
  if (json.is_string()) return "a text";
  return json.is_array() ? "a list" : "an object";
}

void read_value(const InputJson& json, std::string& value, ReadState& state) {
  if (!json.is_string())
    return state.fail(Errc::kInvalidValue, std::string("wants a text, has ") + type_word(json));
  value = json.get_ref<const std::string&>();
}

void read_value(const InputJson& json, bool& value, ReadState& state) {
  if (!json.is_boolean()) {
    return state.fail(Errc::kInvalidValue,
                      std::string("wants true or false, has ") + type_word(json));
  }
  value = json.get<bool>();
}

void read_value(const InputJson& json, double& value, ReadState& state) {
  if (json.is_null()) {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (json.is_number()) {
    value = json.get<double>();
  } else {
    state.fail(Errc::kInvalidValue, std::string("wants a number, has ") + type_word(json));
  }
}

bool read_whole(const InputJson& json, std::int64_t lowest, std::uint64_t highest,
                std::int64_t& low, std::uint64_t& high, ReadState& state) {
  if (!json.is_number_integer()) {
    state.fail(Errc::kInvalidValue, std::string("wants a whole number, has ") + type_word(json));
    return false;
  }
  if (json.is_number_unsigned()) {
    high = json.get<std::uint64_t>();
    low = static_cast<std::int64_t>(high);
    if (high <= highest) return true;
  } else {
    low = json.get<std::int64_t>();
    high = static_cast<std::uint64_t>(low);
    if (low >= lowest) return true;
  }
  state.fail(Errc::kInvalidValue, "is " + json.dump() + ", beyond " + std::to_string(lowest) +
                                      " to " + std::to_string(highest));
  return false;
}

void fail_word(const InputJson& json, const std::string_view* words, std::size_t count,
               ReadState& state) {
  std::string known;
  for (std::size_t i = 0; i < count; ++i) known.append(i == 0 ? "" : ", ").append(words[i]);
  const std::string has =
      json.is_string()
          ? "the unknown word \"" + json.get_ref<const std::string&>().substr(0, 40) + '"'
          : std::string(type_word(json));
  state.fail(Errc::kInvalidValue, "wants a word, has " + has, "words: " + known);
}

void read_value(const InputJson& json, Histogram& value, ReadState& state) {
  struct Form {
    std::int64_t minimum = 0, maximum = 0;
    std::vector<std::vector<std::uint64_t>> buckets;
  } form;
  if (!json.is_object())
    return state.fail(Errc::kInvalidValue, std::string("wants an object, has ") + type_word(json));
  FieldReader reader(json, state);
  reader.field("minimum", form.minimum, "");
  reader.field("maximum", form.maximum, "");
  reader.field("buckets", form.buckets, "");
  reader.finish();
  if (!state.ok()) return;

  std::vector<std::pair<std::int64_t, std::uint64_t>> buckets;
  std::uint64_t total = 0;
  for (const auto& pair : form.buckets) {
    if (pair.size() != 2 ||
        pair[0] > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return state.fail(Errc::kInvalidValue, "has a bucket that is not [highest value, count]");
    }
    if (pair[1] > std::numeric_limits<std::uint64_t>::max() - total) {
      return state.fail(Errc::kInvalidValue, "counts more values than 64 bits hold");
    }
    total += pair[1];
    buckets.emplace_back(static_cast<std::int64_t>(pair[0]), pair[1]);
  }
  value = Histogram::from_buckets(buckets, form.minimum, form.maximum);
  // Only what buckets() gives is taken: ends of buckets, ascending, none empty, extremes inside of
  // the outer ones.
  if (value.buckets() != buckets) {
    return state.fail(Errc::kInvalidValue,
                      "has buckets that are empty, out of order or not of this form");
  }
  Histogram extremes;
  if (total != 0) {
    extremes.record(form.minimum);
    extremes.record(form.maximum);
    const auto ends = extremes.buckets();
    const bool fits = form.minimum <= form.maximum && ends.front().first == buckets.front().first &&
                      ends.back().first == buckets.back().first;
    if (fits && value.minimum() == form.minimum && value.maximum() == form.maximum) return;
  } else if (form.minimum == 0 && form.maximum == 0) {
    return;
  }
  state.fail(Errc::kInvalidValue, "has a minimum or maximum outside of its buckets");
}

void FieldReader::finish() {
  if (!state_.ok() || seen_ == json_.size() || state_.minor() > kSchemaMinor) return;
  for (auto it = json_.begin(); it != json_.end(); ++it) {
    const auto is_name = [&it](const char* name) { return it.key() == name; };
    if (std::any_of(names_.begin(), names_.end(), is_name)) continue;
    std::string known;
    for (const char* name : names_) known.append(known.empty() ? "" : ", ").append(name);
    state_.enter(it.key().empty() ? "\"\"" : it.key().substr(0, 60));
    state_.fail(Errc::kUnknownKey, "is not a field of this version", "fields here: " + known);
    return state_.leave();
  }
}

}  // namespace merlon::lab
