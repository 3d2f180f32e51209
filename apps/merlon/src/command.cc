// SPDX-License-Identifier: Apache-2.0
// Words to an invocation, and its run.
#include "command.h"

#include <fmt/format.h>

#include <algorithm>

#include "api.h"
#include "merlon/client/words.h"
#include "words.h"

namespace merlon::cli {

using base::Errc;
using base::Error;

std::string Invocation::value(std::string_view option, std::string_view otherwise) const {
  const auto found = options.find(option);
  return found == options.end() || found->second.empty() ? std::string(otherwise)
                                                         : found->second.back();
}

void Invocation::message(std::string_view line) const {
  if (!has("--quiet")) output->messages(line);
}

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> out;
  std::size_t begin = 0;
  while ((begin = text.find_first_not_of(' ', begin)) != std::string_view::npos) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    out.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return out;
}

std::vector<const Option*> options_of(const Command* command) {
  std::vector<const Option*> all;
  if (command != nullptr)
    for (const Option& o : command->options) all.push_back(&o);
  if (command != nullptr && command->has_list)
    for (const Option& o : list_options()) all.push_back(&o);
  // A command's own word for what all have.
  for (const Option& o : global_options())
    if (command == nullptr ||
        std::ranges::find(command->options, o.name, &Option::name) == command->options.end())
      all.push_back(&o);
  return all;
}

const Option* find_option(const Command* command, std::string_view word) {
  for (const Option* o : options_of(command)) {
    if (o->name == word) return o;
    if (o->letter != 0 && word.size() == 2 && word[0] == '-' && word[1] == o->letter) return o;
  }
  return nullptr;
}

const Command* find_command(std::span<const std::string> path, std::vector<std::string>* next) {
  const Command* found = nullptr;
  for (const Command& c : commands()) {
    const auto words = split_words(c.path);
    const std::size_t common = std::min(words.size(), path.size());
    if (!std::equal(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(common),
                    path.begin()))
      continue;
    if (words.size() == path.size()) found = &c;
    if (words.size() > path.size() && next != nullptr && !c.is_hidden &&
        (next->empty() || next->back() != words[path.size()]))
      next->emplace_back(words[path.size()]);
  }
  return found;
}

namespace {

Error usage(std::string message, std::string hint = {}) {
  return {Errc::kInvalidValue, std::move(message), {}, std::move(hint)};
}

Error unknown_option(const Command* command, std::string_view word) {
  std::vector<std::string> names;
  for (const Option* o : options_of(command)) names.emplace_back(o->name);
  std::string hint = client::did_you_mean(word, names);
  if (hint.empty())
    hint = command == nullptr ? "merlon help lists the commands"
                              : fmt::format("merlon help {} lists the options", command->path);
  return usage(fmt::format("unknown option \"{}\"", client::printable(word)), std::move(hint));
}

Error unknown_word(std::span<const std::string> path, const std::vector<std::string>& next) {
  const std::string& word = path.back();
  std::string before;
  for (const std::string& w : path.first(path.size() - 1)) before += w + " ";
  std::string hint = client::did_you_mean(word, next);
  if (hint.empty())
    hint = before.empty() ? "merlon help lists the commands"
                          : fmt::format("it is one of {}", fmt::join(next, ", "));
  return usage(fmt::format("unknown command \"{}{}\"", before, client::printable(word)),
               std::move(hint));
}

class Parser {
 public:
  explicit Parser(std::span<const std::string> words) : words_(words) {}

  base::Result<Invocation> parse() {
    for (; at_ < words_.size(); ++at_) {
      const std::string& word = words_[at_];
      if (call_.command != nullptr && call_.command->is_passed) {
        if ((word == "--help" || word == "-h") && call_.command->path != "__complete")
          call_.options["--help"].emplace_back();
        call_.words.push_back(word);
      } else if (word == "--" && !is_plain_) {
        is_plain_ = true;
      } else if (!is_plain_ && word.size() > 1 && word[0] == '-') {
        if (auto done = option(word); !done) return done.error();
      } else if (auto done = plain(word); !done) {
        return done.error();
      }
    }
    return finish();
  }

 private:
  base::Result<void> plain(const std::string& word) {
    if (call_.command == nullptr || can_grow_) {
      path_.push_back(word);
      std::vector<std::string> next;
      const Command* found = find_command(path_, &next);
      if (found != nullptr || !next.empty()) {
        call_.command = found;
        can_grow_ = !next.empty();
        return {};
      }
      if (call_.command == nullptr) {
        next.clear();
        find_command(std::span(path_).first(path_.size() - 1), &next);
        return unknown_word(path_, next);
      }
    }
    can_grow_ = false;
    call_.words.push_back(word);
    return {};
  }

  base::Result<void> option(const std::string& word) {
    std::string name = word, value;
    bool has_value = false;
    if (const std::size_t equals = word.find('=');
        word.starts_with("--") && equals != std::string::npos) {
      name = word.substr(0, equals);
      value = word.substr(equals + 1);
      has_value = true;
    } else if (word[1] != '-' && word.size() > 2) {  // -ojson
      name = word.substr(0, 2);
      value = word.substr(2);
      has_value = true;
    }
    const Option* known = find_option(call_.command, name);
    // Options of a command may stand before its words only when every command has them.
    if (known == nullptr) return unknown_option(call_.command, name);
    if (known->value.empty() && has_value)
      return usage(fmt::format("option {} takes no value", known->name));
    if (!known->value.empty() && !has_value) {
      if (at_ + 1 == words_.size())
        return usage(
            fmt::format("option {} needs a value: {} {}", known->name, known->name, known->value));
      value = words_[++at_];
    }
    auto& values = call_.options[std::string(known->name)];
    if (!values.empty() && !known->is_many)
      return usage(fmt::format("option {} is given twice", known->name));
    values.push_back(std::move(value));
    return {};
  }

  base::Result<Invocation> finish() {
    if (call_.command == nullptr) {
      if (call_.has("--help")) return std::move(call_);
      std::vector<std::string> next;
      find_command(path_, &next);
      std::string before;
      for (const std::string& w : path_) before += " " + w;
      return usage(path_.empty() ? std::string("a command is missing")
                                 : fmt::format("\"merlon{}\" is not complete", before),
                   fmt::format("one of {}", fmt::join(next, ", ")));
    }
    const Command& c = *call_.command;
    if (call_.has("--help") || c.is_passed) return std::move(call_);
    const std::string form =
        fmt::format("merlon {}{}{}", c.path, c.arguments.empty() ? "" : " ", c.arguments);
    if (call_.words.size() < c.min_words)
      return usage(fmt::format("{} needs more words", c.path), form);
    if (call_.words.size() > c.max_words)
      return usage(fmt::format("{} does not take \"{}\"", c.path,
                               client::printable(call_.words[c.max_words])),
                   form);
    return std::move(call_);
  }

  std::span<const std::string> words_;
  std::size_t at_ = 0;
  std::vector<std::string> path_;
  Invocation call_;
  bool is_plain_ = false;
  bool can_grow_ = true;
};

}  // namespace

base::Result<Invocation> parse(std::span<const std::string> words) { return Parser(words).parse(); }

int run(std::span<const std::string> words, const Output& output) {
  auto call = parse(words);
  if (!call) {
    output.messages("merlon: error: " + call.error().message +
                    (call.error().hint.empty() ? "" : " (" + call.error().hint + ")"));
    return kUsage;
  }
  call->output = &output;
  if (const auto format = wanted_format(*call); !format) return fail(*call, format.error());
  if (call->has("--help")) {
    // merlond tells its own options.
    if (call->command != nullptr && call->command->is_passed) return call->command->run(*call);
    output.data(help_text(call->command == nullptr ? std::string_view() : call->command->path));
    return kDone;
  }
  return call->command->run(*call);
}

}  // namespace merlon::cli
