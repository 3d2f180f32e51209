// SPDX-License-Identifier: Apache-2.0
// The command table: the only place where commands and options are named.
#include "command.h"
#include "verbs.h"

namespace merlon::cli {
namespace {

const Option kConfigFile{.name = "--config",
                         .letter = 'c',
                         .value = "FILE",
                         .help = "configuration file",
                         .complete = Complete::kFile};
const Option kDocument{.name = "--output",
                       .letter = 'o',
                       .value = "FORMAT",
                       .help = "table, json or jsonl",
                       .complete = Complete::kFormat};
const Option kAuthor{
    .name = "--author", .value = "NAME", .help = "who does it; default: your login"};
const Option kComment{.name = "--comment", .value = "TEXT", .help = "why, for the history"};

std::vector<Command> daemon_commands() {
  return {
      {.path = "run",
       .arguments = "-c FILE",
       .help = "run the daemon in the foreground",
       .details = "Options go to merlond as they are; merlond run --help tells all of them.",
       .options = {kConfigFile},
       .is_passed = true,
       .run = run_daemon},
      {.path = "replay",
       .arguments = "[OPTION...] PCAP...",
       .help = "run the whole engine on captures, without root",
       .details = "Writes eve.json and summary.json. Options go to merlond as they are; merlond "
                  "replay --help "
                  "tells all of them.",
       .complete = Complete::kFile,
       .options = {kConfigFile,
                   {.name = "--policy",
                    .value = "FILE",
                    .help = "policy alone, without a configuration",
                    .complete = Complete::kFile},
                   {.name = "--out",
                    .value = "DIR",
                    .help = "folder for the results",
                    .complete = Complete::kFile},
                   {.name = "--out-pcap",
                    .value = "FILE",
                    .help = "write forwarded packets",
                    .complete = Complete::kFile},
                   {.name = "--mode", .value = "MODE", .help = "tap or wire"}},
       .is_passed = true,
       .run = run_daemon},
      {.path = "check",
       .arguments = "-c FILE",
       .help = "check a configuration without a daemon: all errors, shadowed rules, sizes",
       .details =
           "Exit code 3 when it has errors. `merlon config check` asks a running daemon instead.",
       .complete = Complete::kFile,
       .options = {kConfigFile, kDocument},
       .is_passed = true,
       .run = run_daemon},
      {.path = "doctor",
       .arguments = "[-c FILE]",
       .help = "look whether this host is fit for a configuration, and say what mends it",
       .details =
           "Cores, clock, memory, huge pages, rights, ports, files. Changes nothing. -o json "
           "for programs.\nExit code 3 when something does not work as configured.",
       .complete = Complete::kFile,
       .options = {kConfigFile, kDocument},
       .is_passed = true,
       .run = run_daemon},
      {.path = "explain",
       .arguments = "[-c FILE | --live] packet IN SRC[:PORT] DST[:PORT] PROTO [FLAG...]",
       .help = "what would happen to a packet, or happens to a session, and why",
       .details = "With -c FILE the question goes to that configuration, without it (or with "
                  "--live) to the "
                  "running\ndaemon. A session is named by `session ID` or `session SRC:PORT "
                  "DST:PORT PROTO`.\n"
                  "Flags of TCP: syn ack fin rst psh urg; of ICMP: type=N code=N; of all: vlan=N "
                  "length=N.",
       .min_words = 1,
       .max_words = 32,
       .complete = Complete::kExplain,
       .options = {kConfigFile,
                   {.name = "--live", .help = "ask the running daemon (default without -c)"}},
       .run = explain},
  };
}

std::vector<Command> show_commands() {
  return {
      {.path = "show ports",
       .help = "link, speed, driver, counters and rates of each port",
       .has_list = true,
       .run = show_list},
      {.path = "show workers",
       .help = "load, cycles per packet and sessions of each worker",
       .has_list = true,
       .run = show_list},
      {.path = "show sessions",
       .arguments = "[FILTER...]",
       .help = "sessions, all or those that pass a filter",
       .details = "A filter is words that must all hold: src=10.0.0.0/8 dst= addr= (either side) "
                  "sport= dport= "
                  "port=443\n(either side) proto=tcp state=established rule=ID zone=ZONE (either "
                  "side) from= to= "
                  "in=PORT vlan=\nolder=10s idle=5m id=N.",
       .max_words = 32,
       .complete = Complete::kFilter,
       .has_list = true,
       .run = show_sessions},
      {.path = "show policy",
       .help = "rules in order of evaluation with hits, first and last hit",
       .has_list = true,
       .run = show_list},
      {.path = "show drops",
       .help = "why packets were dropped, by reason",
       .options = {{.name = "--packets", .help = "the last dropped packets instead of the counts"},
                   {.name = "--reason",
                    .value = "REASON",
                    .help = "packets of this reason only",
                    .complete = Complete::kReason},
                   {.name = "--pcap",
                    .value = "FILE",
                    .help = "write these packets as a capture",
                    .complete = Complete::kFile}},
       .has_list = true,
       .run = show_drops},
      {.path = "show pools",
       .help = "bounded resources: use, limit, peak, failures",
       .has_list = true,
       .run = show_list},
      {.path = "show config",
       .help = "the running configuration",
       .options = {{.name = "--revision",
                    .value = "N",
                    .help = "an older one",
                    .complete = Complete::kRevision},
                   {.name = "--canonical", .help = "with all defaults filled in"}},
       .run = show_config},
      {.path = "show status",
       .help = "version, mode, uptime, configuration, warnings",
       .run = show_status},
      {.path = "clear sessions",
       .arguments = "FILTER...",
       .help = "end sessions that pass a filter",
       .details = "The filter is that of `show sessions`.",
       .max_words = 32,
       .complete = Complete::kFilter,
       .options = {{.name = "--all", .help = "every session; instead of a filter"}},
       .run = clear_sessions},
      {.path = "watch",
       .help = "live view: ports, workers, rules, drops, pools",
       .details = "Keys: 1 to 6 choose the view, p pauses, q ends. Not on a terminal it prints one "
                  "picture after "
                  "the other.",
       .options = {{.name = "--once", .help = "one picture, then end"},
                   {.name = "--interval",
                    .value = "TIME",
                    .help = "between two pictures; default 1s"}},
       .run = watch},
  };
}

std::vector<Command> config_commands() {
  constexpr std::string_view kCandidate =
      "FILE is the candidate; without it merlon-candidate.yaml, which `merlon config edit` makes.";
  return {
      {.path = "config edit",
       .arguments = "[FILE]",
       .help = "edit the running configuration into a candidate file and check it",
       .details = "Opens $VISUAL or $EDITOR. A candidate that is there already is edited further.",
       .max_words = 1,
       .complete = Complete::kFile,
       .run = config_edit},
      {.path = "config check",
       .arguments = "[FILE]",
       .help = "all errors and warnings of a candidate, as the daemon sees it",
       .details = kCandidate,
       .max_words = 1,
       .complete = Complete::kFile,
       .run = config_check},
      {.path = "config diff",
       .arguments = "[FILE]",
       .help = "what a commit would change, object by object, and in live sessions",
       .details = kCandidate,
       .max_words = 1,
       .complete = Complete::kFile,
       .run = config_diff},
      {.path = "config commit",
       .arguments = "[FILE]",
       .help = "make a candidate the running configuration, all or nothing",
       .details = kCandidate,
       .max_words = 1,
       .complete = Complete::kFile,
       .options = {{.name = "--confirm",
                    .value = "MIN",
                    .help = "roll back by itself unless confirmed within MIN minutes"},
                   kComment,
                   kAuthor,
                   {.name = "--base",
                    .value = "N",
                    .help = "only if revision N is running",
                    .complete = Complete::kRevision},
                   {.name = "--at-restart",
                    .help = "accept keys that take effect at the next start only"}},
       .run = config_commit},
      {.path = "config confirm",
       .help = "keep the commit that waits for its confirmation",
       .options = {kAuthor},
       .run = config_confirm},
      {.path = "config rollback",
       .arguments = "[N]",
       .help = "go back to revision N, or to the one before the running one",
       .max_words = 1,
       .complete = Complete::kRevision,
       .options = {kComment, kAuthor},
       .run = config_rollback},
      {.path = "config history",
       .help = "revisions with time, author, comment and reason",
       .has_list = true,
       .run = config_history},
      {.path = "config explain",
       .arguments = "[KEY]",
       .help = "what a configuration key is: meaning, type, range, default, when it takes effect",
       .details =
           "KEY is a path: tcp.window, ports.wan.mtu, policy.rules[].action. Without one the "
           "keys at the top.\nNeeds no running daemon.",
       .max_words = 1,
       .run = config_explain},
      {.path = "config show",
       .help = "the running configuration",
       .options = {{.name = "--revision",
                    .value = "N",
                    .help = "an older one",
                    .complete = Complete::kRevision},
                   {.name = "--canonical", .help = "with all defaults filled in"}},
       .run = show_config},
  };
}

const Option kLanguage{.name = "--lang", .value = "LANG", .help = "en or ru"};

std::vector<Command> lab_commands() {
  return {
      {.path = "lab run",
       .arguments = "PLAN | --resume DIR",
       .help = "run a plan of the laboratory: topologies, traffic, searches, report",
       .details =
           "PLAN is a name of `merlon lab list` or a YAML file. Ctrl-C leaves a valid partial "
           "result; --resume goes on with it.",
       .complete = Complete::kFile,
       .options = {{.name = "--budget", .value = "TIME", .help = "for the whole run, such as 10m"},
                   {.name = "--out",
                    .value = "DIR",
                    .help = "folder for the results; default ./merlon-lab/PLAN-TIME",
                    .complete = Complete::kFile},
                   {.name = "--resume",
                    .value = "DIR",
                    .help = "go on with the interrupted run of this folder",
                    .complete = Complete::kFile},
                   {.name = "--seed", .value = "N", .help = "seed of everything that is random"},
                   {.name = "--only",
                    .value = "ID",
                    .help = "only rows whose id starts so; may be given again"},
                   {.name = "--merlond",
                    .value = "PATH",
                    .help = "the daemon to measure; default: beside merlon-lab",
                    .complete = Complete::kFile},
                   kLanguage},
       .is_passed = true,
       .run = run_lab},
      {.path = "lab list",
       .help = "plans, suites and devices; what is absent here, and why",
       .options = {kLanguage},
       .is_passed = true,
       .run = run_lab},
      {.path = "lab show-plan",
       .arguments = "PLAN",
       .help = "print a plan as YAML, to start one's own from",
       .complete = Complete::kFile,
       .is_passed = true,
       .run = run_lab},
      {.path = "lab report",
       .arguments = "DIR",
       .help = "write the files of a run again from its journal or result",
       .complete = Complete::kFile,
       .options = {kLanguage},
       .is_passed = true,
       .run = run_lab},
      {.path = "lab compare",
       .arguments = "DIR DIR...",
       .help = "compare runs, the reference first; exit code 1 when a later one is worse",
       .complete = Complete::kFile,
       .options = {{.name = "--force", .help = "also runs of different machines or devices"},
                   {.name = "--html",
                    .value = "FILE",
                    .help = "write the comparison as a page, too",
                    .complete = Complete::kFile},
                   kLanguage},
       .is_passed = true,
       .run = run_lab},
      {.path = "lab baseline",
       .arguments = "save DIR|list|check DIR",
       .help = "keep a run as baseline, list these, or judge a run by one; exit code 1 when worse",
       .complete = Complete::kFile,
       .options = {{.name = "--store",
                    .value = "DIR",
                    .help = "folder of the baselines; default merlon-lab/baselines",
                    .complete = Complete::kFile},
                   {.name = "--threshold",
                    .value = "SHARE",
                    .help = "smallest relative change that counts; default 0.05"},
                   kLanguage},
       .is_passed = true,
       .run = run_lab},
      {.path = "lab clean",
       .help = "take away what killed runs left: namespaces and processes",
       .is_passed = true,
       .run = run_lab},
  };
}

std::vector<Command> other_commands() {
  return {
      {.path = "completion",
       .arguments = "bash|zsh",
       .help = "print the completion script of a shell",
       .details = "bash: source <(merlon completion bash)\nzsh:  source <(merlon completion zsh)",
       .min_words = 1,
       .max_words = 1,
       .complete = Complete::kShell,
       .run = completion},
      {.path = "version",
       .help = "version of this program and of the running daemon",
       .run = print_version},
      {.path = "help",
       .arguments = "[COMMAND...]",
       .help = "this list, or all about a command",
       .max_words = 4,
       .run = print_help},
      {.path = "__complete",
       .help = "words for a shell",
       .max_words = 256,
       .is_passed = true,
       .is_hidden = true,
       .run = complete_words},
      {.path = "__reference",
       .help = "the reference page",
       .is_hidden = true,
       .run = print_reference},
  };
}

}  // namespace

const std::vector<Command>& commands() {
  static const std::vector<Command> all = [] {
    std::vector<Command> list;
    for (auto part :
         {daemon_commands(), show_commands(), config_commands(), lab_commands(), other_commands()})
      list.insert(list.end(), part.begin(), part.end());
    return list;
  }();
  return all;
}

const std::vector<Option>& global_options() {
  static const std::vector<Option> options = {
      {.name = "--output",
       .letter = 'o',
       .value = "FORMAT",
       .help = "table, wide, json, jsonl or csv",
       .complete = Complete::kFormat},
      {.name = "--socket",
       .value = "PATH",
       .help = "socket of the daemon; default $MERLON_SOCKET or /run/merlon/api.sock",
       .complete = Complete::kFile},
      {.name = "--timeout",
       .value = "TIME",
       .help = "how long to wait for the daemon; default 10s"},
      {.name = "--color",
       .value = "WHEN",
       .help = "auto, always or never; NO_COLOR is respected",
       .complete = Complete::kColor},
      {.name = "--quiet", .letter = 'q', .help = "no messages but errors"},
      {.name = "--help", .letter = 'h', .help = "all about the command"},
  };
  return options;
}

const std::vector<Option>& list_options() {
  static const std::vector<Option> options = {
      {.name = "--columns", .value = "A,B,...", .help = "these columns, in this order"},
      {.name = "--sort", .value = "A,-B,...", .help = "sort by columns, \"-\" for descending"},
      {.name = "--limit", .value = "N", .help = "at most N rows"},
      {.name = "--no-headers", .help = "no column titles in table and csv"},
  };
  return options;
}

}  // namespace merlon::cli
