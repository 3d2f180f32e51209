// SPDX-License-Identifier: Apache-2.0
#include "packets.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "merlon/packet/text.h"
#include "script.h"

namespace merlon::cases {
namespace {

using base::Errc;
using base::Error;
using base::SourcePos;
using packet::Layer;
using packet::LayerField;

// Layers that say what a packet carries or how its frame ends, not what it is.
bool is_tail(const Layer& l) {
  return l.name == "payload" || l.name == "trailer" || l.name == "truncate" || l.name == "quote";
}

void set_field(Layer& layer, LayerField field) {
  for (LayerField& f : layer.fields) {
    if (f.key != field.key) continue;
    f = std::move(field);
    return;
  }
  layer.fields.push_back(std::move(field));
}

// A bare number of a tag or label stands for its identifier; once it has its name it can be varied.
void name_positions(Layers& layers) {
  for (Layer& l : layers) {
    name_positions(l.quoted);
    const bool is_tag = l.name == "vlan" || l.name == "qinq";
    if (!is_tag && l.name != "mpls") continue;
    for (LayerField& f : l.fields) {
      if (f.has_value) continue;
      f = {.key = is_tag ? "id" : "label", .value = f.key, .has_value = true, .where = f.where};
      break;
    }
  }
}

base::Result<Layers> read_layers(std::string_view text, const SourcePos& where) {
  auto all = packet::layers_from_text(text, where);
  if (all) name_positions(*all);
  return all;
}

std::string field_or(const Layer& l, std::string_view key, std::string_view fallback) {
  for (const LayerField& f : l.fields)
    if (f.key == key) return f.value;
  return std::string(fallback);
}

void swap_fields(Layer& l, std::string_view a, std::string_view b, std::string_view default_a,
                 std::string_view default_b) {
  const std::string left = field_or(l, a, default_a), right = field_or(l, b, default_b);
  set_field(l, {.key = std::string(a), .value = right, .has_value = true, .where = {}});
  set_field(l, {.key = std::string(b), .value = left, .has_value = true, .where = {}});
}

// The same conversation seen from the other side.
void reverse(Layers& layers) {
  if (layers.empty() || (layers[0].name != "eth" && layers[0].name != "raw"))
    layers.insert(layers.begin(), Layer{.name = "eth", .fields = {}, .quoted = {}, .where = {}});
  for (Layer& l : layers) {
    if (l.name == "eth") swap_fields(l, "src", "dst", "02:00:00:00:00:01", "02:00:00:00:00:02");
    if (l.name == "ipv4") swap_fields(l, "src", "dst", "192.0.2.1", "198.51.100.1");
    if (l.name == "ipv6") swap_fields(l, "src", "dst", "2001:db8::1", "2001:db8:1::1");
    if (l.name == "tcp") {
      swap_fields(l, "sport", "dport", "40000", "80");
      swap_fields(l, "seq", "ack", "0", "0");
    }
    if (l.name == "udp" || l.name == "udplite") swap_fields(l, "sport", "dport", "40000", "53");
    if (l.name == "sctp") swap_fields(l, "sport", "dport", "40000", "2905");
  }
}

std::string escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c < ' ' || c > '~') {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out;
}

std::string_view name_at(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() &&
         (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_'))
    ++end;
  return text.substr(at, end - at);
}

Error unknown_name(std::string_view name, const SourcePos& where) {
  return {.code = Errc::kNotFound,
          .message = fmt::format("there is no packet \"${}\"", name),
          .where = where,
          .hint = "name it before by `let` or `fragment`"};
}

// Applies "layer.key=value" words of the first layer's text and returns the rest of it.
base::Result<std::string> apply_dotted(Layers& layers, std::string_view text,
                                       const SourcePos& where) {
  std::string rest;
  while (!(text = trim(text)).empty()) {
    std::string word = take_word(text);
    const auto dot = word.find('.'), equals = word.find('=');
    if (dot == std::string::npos || equals == std::string::npos || dot > equals) {
      rest += rest.empty() ? word : " " + word;
      continue;
    }
    const std::string name = word.substr(0, dot);
    const auto found = std::ranges::find(layers, name, &Layer::name);
    if (found == layers.end())
      return Error{.code = Errc::kNotFound,
                   .message = fmt::format("the packet has no layer \"{}\"", name),
                   .where = where,
                   .hint = "write LAYER.KEY=VALUE for a layer that it has"};
    set_field(*found, {.key = word.substr(dot + 1, equals - dot - 1),
                       .value = word.substr(equals + 1),
                       .has_value = true,
                       .where = where});
  }
  return rest;
}

// The end of the first layer in a text: the slash outside of strings, or the end.
std::size_t first_layer_end(std::string_view text) {
  bool is_quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') is_quoted = !is_quoted;
    if (text[i] == '/' && !is_quoted) return i;
  }
  return text.size();
}

bool rebuilds_to(const Layers& layers, base::ByteSpan frame) {
  const auto built = packet::build_packet(layers);
  return built && std::ranges::equal(*built, frame);
}

std::string compare_layers(base::ByteSpan frame, Layers& all, Layers& seen, const Layers& wanted);

// Setting a field to a value that it has already changes no byte.
std::string compare_fields(base::ByteSpan frame, Layers& all, Layer& have, const Layer& want) {
  const Layer before = have;
  if (want.name == "payload") have.fields.clear();
  for (const LayerField& f : want.fields) {
    set_field(have, f);
    if (want.name != "payload" && !rebuilds_to(all, frame)) {
      have = before;
      return fmt::format("{}{}{} differs", want.name + " " + f.key, f.has_value ? "=" : "",
                         f.value);
    }
  }
  const bool is_same = rebuilds_to(all, frame);
  have = before;
  return is_same ? "" : fmt::format("{} differs", want.name);
}

std::string compare_layers(base::ByteSpan frame, Layers& all, Layers& seen, const Layers& wanted) {
  std::size_t at = 0;
  for (const Layer& want : wanted) {
    if (want.name == "truncate") continue;
    while (at < seen.size() && seen[at].name != want.name) ++at;
    if (at == seen.size()) return fmt::format("there is no layer \"{}\"", want.name);
    if (want.name == "quote") {
      if (auto why = compare_layers(frame, all, seen[at].quoted, want.quoted); !why.empty())
        return "in the quote: " + why;
    } else if (auto why = compare_fields(frame, all, seen[at], want); !why.empty()) {
      return why;
    }
    ++at;
  }
  return "";
}

}  // namespace

std::string layers_to_text(const Layers& layers) {
  std::string out;
  for (const Layer& l : layers) {
    if (!out.empty()) out += " / ";
    if (l.name == "quote") {
      out += "quote(" + layers_to_text(l.quoted) + ")";
      continue;
    }
    out += l.name;
    for (const LayerField& f : l.fields) {
      if (f.key == "text") {
        out += " \"" + escape(f.value) + "\"";
      } else {
        out += " " + f.key + (f.has_value ? "=" + f.value : "");
      }
    }
  }
  return out;
}

base::Result<std::string> PacketBook::expand_quotes(std::string_view text,
                                                    const SourcePos& where) const {
  std::string out;
  for (;;) {
    const std::size_t begin = text.find("quote($");
    out += text.substr(0, begin);
    if (begin == std::string_view::npos) return out;
    std::size_t end = begin + 6, depth = 1;
    while (end < text.size() && depth != 0) {
      depth += text[end] == '(' ? 1U : 0U;
      depth -= text[end] == ')' ? 1U : 0U;
      ++end;
    }
    auto inner = variation(text.substr(begin + 6, end - begin - 7), where);
    if (!inner) return inner.error();
    std::erase_if(*inner, [](const Layer& l) {
      return l.name == "eth" || l.name == "vlan" || l.name == "qinq";
    });
    out += "quote(" + layers_to_text(*inner) + ")";
    text.remove_prefix(end);
  }
}

base::Result<Layers> PacketBook::variation(std::string_view text, const SourcePos& where) const {
  const std::string_view name = name_at(text, 1);
  text.remove_prefix(1 + name.size());
  Layers out;
  if (text.starts_with('[')) {
    const auto found = pieces_.find(std::string(name));
    if (found == pieces_.end()) return unknown_name(name, where);
    std::size_t n = 0;
    std::from_chars(text.data() + 1, text.data() + text.size(), n);
    if (n == 0 || n > found->second.size())
      return Error{.code = Errc::kNotFound,
                   .message = fmt::format("${} has pieces 1 to {}", name, found->second.size()),
                   .where = where};
    auto layers = read_layers(packet::packet_to_text(found->second[n - 1]), where);
    if (!layers) return layers.error();
    out = std::move(*layers);
    text.remove_prefix(std::min(text.find(']'), text.size() - 1) + 1);
  } else {
    const auto found = templates_.find(std::string(name));
    if (found == templates_.end()) return unknown_name(name, where);
    out = found->second;
  }
  text = trim(text);
  if (text.starts_with("with ")) text = trim(text.substr(5));
  if (text.empty()) return out;
  const std::size_t border = first_layer_end(text);
  const auto fields = apply_dotted(out, text.substr(0, border), where);
  if (!fields) return fields.error();
  const auto target =
      std::find_if(out.rbegin(), out.rend(), [](const Layer& l) { return !is_tail(l); });
  if (target == out.rend()) return unknown_name(name, where);
  const std::string changes = target->name + " " + *fields + std::string(text.substr(border));
  auto parsed = read_layers(changes, where);
  if (!parsed) return parsed.error();
  for (LayerField& f : (*parsed)[0].fields) set_field(*target, std::move(f));
  if (parsed->size() == 1) return out;
  // Added layers take the place of what the packet carried.
  const auto kept = out.rend() - target;
  out.erase(out.begin() + kept, out.end());
  std::move(parsed->begin() + 1, parsed->end(), std::back_inserter(out));
  return out;
}

base::Result<Layers> PacketBook::layers(std::string_view text, const SourcePos& where) const {
  const auto expanded = expand_quotes(trim(text), where);
  if (!expanded) return expanded.error();
  if (expanded->starts_with('$')) return variation(*expanded, where);
  return read_layers(*expanded, where);
}

base::Result<std::vector<Frame>> PacketBook::frames(std::string_view text,
                                                    const SourcePos& where) const {
  text = trim(text);
  if (text.starts_with('$')) {
    const std::string_view name = name_at(text, 1);
    const std::string_view rest = trim(text.substr(1 + name.size()));
    const auto found = pieces_.find(std::string(name));
    if (rest == "[*]") {
      if (found == pieces_.end()) return unknown_name(name, where);
      return found->second;
    }
    // A piece as it is, without the way through words.
    std::size_t n = 0;
    if (found != pieces_.end() && rest.starts_with('[') && rest.find(']') == rest.size() - 1 &&
        std::from_chars(rest.data() + 1, rest.data() + rest.size(), n).ec == std::errc{} &&
        n >= 1 && n <= found->second.size())
      return std::vector<Frame>{found->second[n - 1]};
  }
  const auto all = layers(text, where);
  if (!all) return all.error();
  auto frame = packet::build_packet(*all);
  if (!frame) return frame.error();
  return std::vector<Frame>{std::move(*frame)};
}

base::Result<void> PacketBook::let(const std::string& name, std::string_view text,
                                   const SourcePos& where) {
  text = trim(text);
  const bool is_reverse = text.starts_with("reverse ");
  if (is_reverse) text = trim(text.substr(8));
  auto all = layers(text, where);
  if (!all) return all.error();
  if (is_reverse) reverse(*all);
  templates_[name] = std::move(*all);
  return {};
}

base::Result<void> PacketBook::fragment(const std::string& name, unsigned mtu, std::uint32_t id,
                                        std::string_view text, const SourcePos& where) {
  const auto whole = frames(text, where);
  if (!whole) return whole.error();
  auto pieces = packet::fragment_packet(whole->front(), mtu, id);
  if (!pieces) {
    Error e = pieces.error();
    e.where = where;
    return e;
  }
  pieces_[name] = std::move(*pieces);
  return {};
}

std::string compare_partly(base::ByteSpan frame, const Layers& wanted) {
  auto have = read_layers(packet::packet_to_text(frame), {});
  if (!have) return "the frame can't be told in words";
  Layers seen = std::move(*have);
  return compare_layers(frame, seen, seen, wanted);
}

}  // namespace merlon::cases
