// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <cctype>
#include <optional>

#include "merlon/packet/text.h"

namespace merlon::packet {
namespace {

constexpr std::size_t kMaxText = 1 << 20;
constexpr unsigned kMaxDepth = 8;  // quotes inside quotes

class TextReader {
 public:
  TextReader(std::string_view text, const base::SourcePos& where) : text_(text), where_(where) {
    if (where_.line == 0) where_.line = 1;
    if (where_.column == 0) where_.column = 1;
  }

  base::Result<std::vector<Layer>> read() {
    if (text_.size() > kMaxText) return fail("the packet text is longer than 1 MiB", "");
    std::vector<Layer> layers;
    if (!read_layers(layers, 0)) return *error_;
    if (at_ < text_.size()) return fail("\")\" without \"quote(\"", "remove it");
    return layers;
  }

 private:
  [[nodiscard]] bool at_end() const { return at_ >= text_.size(); }
  [[nodiscard]] char peek() const { return at_end() ? '\0' : text_[at_]; }
  char take() {
    const char c = text_[at_++];
    if (c == '\n') {
      ++where_.line;
      where_.column = 1;
    } else {
      ++where_.column;
    }
    return c;
  }
  void skip_space() {
    while (!at_end() && std::isspace(static_cast<unsigned char>(peek())) != 0) take();
  }
  base::Error fail(std::string message, std::string hint) {
    error_ = base::Error{base::Errc::kInvalidValue, std::move(message), where_, std::move(hint)};
    return *error_;
  }

  static bool ends_word(char c) {
    return std::isspace(static_cast<unsigned char>(c)) != 0 || c == '/' || c == '(' || c == ')' ||
           c == '=' || c == '"';
  }
  std::string read_word() {
    std::string word;
    while (!at_end() && !ends_word(peek())) word += take();
    return word;
  }

  bool read_layers(std::vector<Layer>& layers, unsigned depth) {
    for (;;) {
      skip_space();
      Layer layer;
      layer.where = where_;
      layer.name = read_word();
      if (layer.name.empty()) {
        fail("a layer's name is missing",
             "write for example: ipv4 src=10.0.0.1 dst=10.0.0.2 / udp dport=53");
        return false;
      }
      layer.where.end_column = where_.column;
      skip_space();
      if (layer.name == "quote" ? !read_quote(layer, depth) : !read_fields(layer)) return false;
      layers.push_back(std::move(layer));
      skip_space();
      if (at_end() || peek() == ')') return true;
      if (peek() != '/') {
        fail("\"/\" or the end of the packet is expected here", "separate layers by /");
        return false;
      }
      take();
    }
  }

  bool read_quote(Layer& layer, unsigned depth) {
    if (peek() != '(' || depth == kMaxDepth) {
      fail(depth == kMaxDepth ? "quotes are nested too deeply" : "\"(\" is expected after quote",
           "write quote(ipv4 ... / udp ...)");
      return false;
    }
    take();
    if (!read_layers(layer.quoted, depth + 1)) return false;
    if (peek() != ')') {
      fail("\")\" is missing at the end of quote(", "close the quoted packet");
      return false;
    }
    take();
    return true;
  }

  bool read_fields(Layer& layer) {
    for (;;) {
      skip_space();
      if (at_end() || peek() == '/' || peek() == ')') return true;
      LayerField field;
      field.where = where_;
      if (peek() == '"') {
        field.key = "text";
        field.has_value = true;
        if (!read_string(field.value)) return false;
      } else {
        field.key = read_word();
        if (field.key.empty()) {
          fail(fmt::format("\"{}\" does not belong here", peek()),
               "fields are key=value or a word");
          return false;
        }
        if (peek() == '=' && !read_value(field)) return false;
      }
      field.where.end_column = where_.column;
      layer.fields.push_back(std::move(field));
    }
  }

  bool read_value(LayerField& field) {
    take();
    field.has_value = true;
    if (peek() == '"') return read_string(field.value);
    field.value = read_word();
    if (!field.value.empty()) return true;
    fail(fmt::format("{} has no value", field.key), "write the value right behind the =");
    return false;
  }

  bool read_string(std::string& out) {
    take();
    while (!at_end() && peek() != '"') {
      const char c = take();
      if (c != '\\') {
        out += c;
      } else if (!read_escape(out)) {
        return false;
      }
    }
    if (!at_end()) {
      take();
      return true;
    }
    fail("the string has no end", "close it by \"");
    return false;
  }

  bool read_escape(std::string& out) {
    const char c = at_end() ? '\0' : take();
    switch (c) {
      case 'n':
        out += '\n';
        return true;
      case 'r':
        out += '\r';
        return true;
      case 't':
        out += '\t';
        return true;
      case '"':
      case '\\':
        out += c;
        return true;
      default:
        break;
    }
    if (c == 'x' && text_.size() - at_ >= 2) {
      const auto high = digit(take()), low = digit(take());
      if (high && low) {
        out += static_cast<char>(*high * 16 + *low);
        return true;
      }
    }
    fail("unknown escape in the string", "known are \\n \\r \\t \\\" \\\\ \\xHH");
    return false;
  }
  static std::optional<unsigned> digit(char c) {
    if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
    if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a') + 10;
    if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A') + 10;
    return std::nullopt;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  base::SourcePos where_;
  std::optional<base::Error> error_;
};

}  // namespace

base::Result<std::vector<Layer>> layers_from_text(std::string_view text,
                                                  const base::SourcePos& where) {
  return TextReader(text, where).read();
}

base::Result<std::vector<base::Byte>> packet_from_text(std::string_view text,
                                                       const base::SourcePos& where) {
  auto layers = layers_from_text(text, where);
  if (!layers) return layers.error();
  return build_packet(*layers);
}

}  // namespace merlon::packet
