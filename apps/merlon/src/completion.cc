// SPDX-License-Identifier: Apache-2.0
// Completion: the words that fit, and the scripts that ask for them.
#include <fmt/format.h>

#include <algorithm>

#include "api.h"
#include "merlon/client/words.h"
#include "verbs.h"
#include "words.h"

namespace merlon::cli {
namespace {

// Tells the script to offer file names.
constexpr std::string_view kFiles = ":files";

constexpr std::string_view kFilterKeys[][2] = {{"src=", "source address or prefix"},
                                               {"dst=", "destination address or prefix"},
                                               {"addr=", "either address"},
                                               {"sport=", "source port"},
                                               {"dport=", "destination port"},
                                               {"port=", "either port"},
                                               {"proto=", "protocol"},
                                               {"state=", "state"},
                                               {"rule=", "rule id"},
                                               {"zone=", "either zone"},
                                               {"from=", "source zone"},
                                               {"to=", "destination zone"},
                                               {"in=", "input port"},
                                               {"vlan=", "outer VLAN id"},
                                               {"older=", "age at least"},
                                               {"idle=", "idle at least"},
                                               {"id=", "session id"}};

std::vector<std::string> fixed(std::initializer_list<std::string_view> words) {
  return {words.begin(), words.end()};
}

// Candidates for "key=..." of a filter.
std::vector<std::string> filter_values(std::string_view word, const AskNames& ask) {
  const std::string key(word.substr(0, word.find('=')));
  std::vector<std::string> values;
  if (key == "proto") values = fixed({"tcp", "udp", "icmp", "icmpv6", "sctp", "gre", "esp"});
  if (key == "state" || key == "rule") values = ask(key);
  if (key == "zone" || key == "from" || key == "to") values = ask("zone");
  if (key == "in") values = ask("port");
  for (std::string& v : values) v = key + "=" + v;
  return values;
}

std::vector<std::string> explain_words(std::size_t place, std::string_view kind,
                                       const AskNames& ask) {
  if (place == 0) return fixed({"packet", "session"});
  if (kind == "packet" && place == 1) {
    std::vector<std::string> names = ask("zone");
    for (std::string& port : ask("port")) names.push_back(std::move(port));
    return names;
  }
  if (kind == (place == 4 ? "packet" : "session") && (place == 4 || place == 3))
    return fixed({"tcp", "udp", "icmp", "icmpv6", "sctp"});
  if (kind == "packet" && place > 4)
    return fixed({"syn", "ack", "fin", "rst", "vlan=", "type=", "code="});
  return {};
}

std::vector<std::string> values_for(Complete what, std::string_view word, const AskNames& ask) {
  switch (what) {
    case Complete::kFormat:
      return fixed({"table", "wide", "json", "jsonl", "csv"});
    case Complete::kColor:
      return fixed({"auto", "always", "never"});
    case Complete::kShell:
      return fixed({"bash", "zsh"});
    case Complete::kRule:
      return ask("rule");
    case Complete::kZone:
      return ask("zone");
    case Complete::kPort:
      return ask("port");
    case Complete::kState:
      return ask("state");
    case Complete::kReason:
      return ask("reason");
    case Complete::kRevision:
      return ask("revision");
    case Complete::kFilter: {
      if (word.find('=') != std::string_view::npos) return filter_values(word, ask);
      std::vector<std::string> keys;
      for (const auto& k : kFilterKeys) keys.push_back(fmt::format("{}\t{}", k[0], k[1]));
      return keys;
    }
    default:
      return {};
  }
}

// Where the last word stands: its command, the words before it, an option that waits for a value.
struct Place {
  const Command* command = nullptr;
  std::vector<std::string> path, words;
  const Option* waiting = nullptr;
};

Place place_of(std::span<const std::string> before) {
  Place p;
  for (const std::string& word : before) {
    if (p.waiting != nullptr) {
      p.waiting = nullptr;
    } else if (word.size() > 1 && word[0] == '-') {
      const Option* o = find_option(p.command, word);
      if (o != nullptr && !o->value.empty()) p.waiting = o;
    } else if (p.words.empty()) {
      p.path.push_back(word);
      std::vector<std::string> next;
      const Command* found = find_command(p.path, &next);
      if (found == nullptr && next.empty()) {
        p.path.pop_back();
        p.words.push_back(word);
      } else {
        p.command = found;
      }
    } else {
      p.words.push_back(word);
    }
  }
  return p;
}

}  // namespace

std::vector<std::string> complete(std::span<const std::string> words, const AskNames& ask) {
  const std::string last = words.empty() ? std::string() : words.back();
  const Place p = place_of(words.empty() ? words : words.first(words.size() - 1));
  std::vector<std::string> found;
  if (p.waiting != nullptr) {
    if (p.waiting->complete == Complete::kFile) return {std::string(kFiles)};
    found = values_for(p.waiting->complete, last, ask);
  } else if (last.starts_with('-')) {
    for (const Option* o : options_of(p.command))
      if (p.command == nullptr || !p.command->is_passed || o->name.starts_with("--h") ||
          std::ranges::any_of(p.command->options,
                              [o](const Option& own) { return own.name == o->name; }))
        found.push_back(fmt::format("{}\t{}", o->name, o->help));
  } else {
    if (p.words.empty()) {
      std::vector<std::string> next;
      find_command(p.path, &next);
      for (const std::string& word : next) {
        std::string path =
            p.path.empty() ? std::string() : fmt::format("{} ", fmt::join(p.path, " "));
        path += word;
        const auto c = std::ranges::find(commands(), path, &Command::path);
        found.push_back(c == commands().end() ? word : fmt::format("{}\t{}", word, c->help));
      }
    }
    if (p.command != nullptr && p.command->complete == Complete::kFile)
      return {std::string(kFiles)};
    if (p.command != nullptr && p.command->complete == Complete::kExplain)
      found = explain_words(p.words.size(), p.words.empty() ? "" : p.words[0], ask);
    else if (p.command != nullptr)
      for (std::string& v : values_for(p.command->complete, last, ask))
        found.push_back(std::move(v));
  }
  std::erase_if(found, [&last](const std::string& f) { return !f.starts_with(last); });
  return found;
}

std::string completion_script(std::string_view shell) {
  if (shell == "bash")
    return R"sh(# completion of merlon for bash: source <(merlon completion bash)
_merlon() {
  local line=${COMP_LINE:0:COMP_POINT} cur word keep
  local -a words
  read -ra words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=("")
  cur=${words[-1]}
  # bash cuts words at "=" and ":" and replaces the last piece only
  keep=${cur%"${cur##*[=:]}"}
  COMPREPLY=()
  while IFS=$'\t' read -r word _; do
    if [[ $word == :files ]]; then
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -f -- "$cur")
      return
    fi
    COMPREPLY+=("${word#"$keep"}")
  done < <("${words[0]}" __complete "${words[@]:1}" 2>/dev/null)
  [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
}
complete -F _merlon merlon
)sh";
  if (shell == "zsh")
    return R"sh(#compdef merlon
# completion of merlon for zsh: source <(merlon completion zsh)
_merlon() {
  local line word help
  local -a found
  for line in "${(@f)$(${words[1]} __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ -z $line ]] && continue
    word=${line%%$'\t'*}
    help=${line#*$'\t'}
    if [[ $word == :files ]]; then
      _files
      return
    fi
    found+=("${word//:/\\:}:${help}")
  done
  _describe -t words 'merlon' found
}
compdef _merlon merlon
)sh";
  return {};
}

int completion(const Invocation& call) {
  const std::string script = completion_script(call.words[0]);
  if (script.empty()) {
    call.output->messages(
        fmt::format("merlon: error: no completion for \"{}\" (bash or zsh)", call.words[0]));
    return kUsage;
  }
  call.print(script);
  return kDone;
}

int complete_words(const Invocation& call) {
  // A daemon that is slow or away costs the user 200 ms, not the completion of fixed words.
  const auto ask = [&call](std::string_view type) {
    Invocation question;
    const Output silent{[](std::string_view) { return true; }, [](std::string_view) {}, false};
    question.output = &silent;
    question.options["--timeout"] = {"200ms"};
    for (std::size_t i = 0; i + 1 < call.words.size(); ++i)
      if (call.words[i] == "--socket") question.options["--socket"] = {call.words[i + 1]};
    client::Table table;
    const std::string target =
        type == "revision" ? "/api/v1/config/history" : "/api/v1/names?type=" + std::string(type);
    std::vector<std::string> names;
    if (fetch_table(question, target, 1000, table) != kDone) return names;
    for (const client::Row& row : table.rows)
      if (!row.empty()) names.push_back(client::format_cell(row[0], client::Unit::kNone));
    return names;
  };
  for (const std::string& line : complete(call.words, ask)) call.print(line + "\n");
  return kDone;
}

}  // namespace merlon::cli
