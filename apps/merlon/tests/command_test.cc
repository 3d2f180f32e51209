// SPDX-License-Identifier: Apache-2.0
#include "command.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "batch.h"
#include "words.h"

namespace merlon::cli {
namespace {

using Words = std::vector<std::string>;

struct Ran {
  int code = 0;
  std::string data, messages;
};

Ran run_words(const Words& words) {
  Ran ran;
  const Output output{[&ran](std::string_view text) {
                        ran.data += text;
                        return true;
                      },
                      [&ran](std::string_view line) { ran.messages += std::string(line) + "\n"; },
                      false};
  ran.code = run(words, output);
  return ran;
}

TEST(Parse, FindsCommandOptionsAndWords) {
  const auto call = parse(Words{"-o", "json", "show", "sessions", "src=10.0.0.0/8", "--limit=5",
                                "port=443", "--no-headers"});
  ASSERT_TRUE(call) << call.error().to_string();
  EXPECT_EQ(call->command->path, "show sessions");
  EXPECT_EQ(call->words, (Words{"src=10.0.0.0/8", "port=443"}));
  EXPECT_EQ(call->value("--output"), "json");
  EXPECT_EQ(call->value("--limit"), "5");
  EXPECT_TRUE(call->has("--no-headers"));
  EXPECT_EQ(call->value("--sort", "none"), "none");
}

TEST(Parse, ShortForms) {
  EXPECT_EQ(parse(Words{"show", "ports", "-ocsv"})->value("--output"), "csv");
  EXPECT_EQ(parse(Words{"explain", "-c", "f.yaml", "packet", "a"})->value("--config"), "f.yaml");
  EXPECT_EQ(parse(Words{"show", "sessions", "--", "--x"})->words, (Words{"--x"}));
}

TEST(Parse, PassedCommandsKeepEveryWord) {
  const Words rest{"-c", "f.yaml", "--unknown", "x.pcap", "-o", "json"};
  Words words{"replay"};
  words.insert(words.end(), rest.begin(), rest.end());
  const auto call = parse(words);
  ASSERT_TRUE(call);
  EXPECT_EQ(call->command->path, "replay");
  EXPECT_EQ(call->words, rest);
}

struct Wrong {
  Words words;
  const char* message;
};

TEST(Parse, SaysWhatIsWrongAndWhatWasMeant) {
  const Wrong wrong[] = {
      {{"shwo", "ports"}, "unknown command \"shwo\" (did you mean \"show\"?)"},
      {{"show", "sesions"}, "unknown command \"show sesions\" (did you mean \"sessions\"?)"},
      {{"show", "zzzzz"},
       "unknown command \"show zzzzz\" (it is one of ports, workers, sessions, policy, drops, "
       "pools, config, "
       "status)"},
      {{"zzzzz"}, "unknown command \"zzzzz\" (merlon help lists the commands)"},
      {{"show"},
       "\"merlon show\" is not complete (one of ports, workers, sessions, policy, drops, pools, "
       "config, status)"},
      {{"show", "ports", "--colums", "a"},
       "unknown option \"--colums\" (did you mean \"--columns\"?)"},
      {{"show", "ports", "--limit"}, "option --limit needs a value: --limit N"},
      {{"show", "ports", "--no-headers=1"}, "option --no-headers takes no value"},
      {{"show", "ports", "-ojson", "-ocsv"}, "option --output is given twice"},
      {{"show", "ports", "lan"}, "show ports does not take \"lan\" (merlon show ports)"},
      {{"completion"}, "completion needs more words (merlon completion bash|zsh)"},
      {{"clear", "sessions"}, "clear sessions needs a filter (--all ends every session)"},
      {{"show", "sessions", "prot=tcp"},
       "unknown key \"prot\" in a session filter (did you mean \"port\"?)"},
      {{"explain", "packet", "lan"},
       "a packet needs IN SRC[:PORT] DST[:PORT] PROTO (for example packet lan 10.0.0.5:40000 "
       "192.0.2.9:23 tcp)"},
      {{"explain", "paket", "x"},
       "can't explain \"paket\" (packet IN SRC[:PORT] DST[:PORT] PROTO, or session ID)"},
      {{"show", "ports", "-o", "xml"},
       "\"xml\" is not an output format (one of table, wide, json, jsonl, csv)"},
      {{"show", "drops", "--reason", "x"}, "--reason needs --packets or --pcap"},
      {{"config", "rollback", "x"}, "revision \"x\" is not a number"},
      {{"show", "ports", "--timeout", "5"},
       "\"5\" is not a duration (write a number and a unit: 250ms, 10s, 5m, 2h, 1d)"},
  };
  for (const Wrong& w : wrong) {
    const Ran ran = run_words(w.words);
    EXPECT_EQ(ran.code, kUsage) << w.message;
    EXPECT_EQ(ran.messages, std::string("merlon: error: ") + w.message + "\n");
    EXPECT_EQ(ran.data, "");
  }
}

TEST(Run, WithoutADaemonTheCodeSaysSo) {
  const Ran ran = run_words({"show", "ports", "--socket", "/nonexistent/api.sock"});
  EXPECT_EQ(ran.code, kNotConnected);
  EXPECT_EQ(ran.messages,
            "merlon: error: no daemon answers on /nonexistent/api.sock (start one with merlon run "
            "-c FILE, or "
            "name its socket with --socket)\n");
}

TEST(Help, OfAllOfAGroupAndOfOne) {
  const Ran all = run_words({"help"});
  EXPECT_EQ(all.code, kDone);
  for (const Command& c : commands())
    EXPECT_EQ(all.data.find("merlon " + std::string(c.path) + " ") != std::string::npos,
              !c.is_hidden)
        << c.path;
  const Ran group = run_words({"help", "config"});
  EXPECT_NE(group.data.find("merlon config commit "), std::string::npos);
  EXPECT_EQ(group.data.find("merlon show"), std::string::npos);
  const Ran one = run_words({"config", "commit", "--help"});
  EXPECT_EQ(one.data, run_words({"help", "config", "commit"}).data);
  EXPECT_NE(one.data.find("--confirm MIN"), std::string::npos);
  const Ran wrong = run_words({"help", "shwo"});
  EXPECT_EQ(wrong.code, kUsage);
  EXPECT_NE(wrong.messages.find("did you mean \"show\"?"), std::string::npos);
}

TEST(Table, IsSound) {
  std::set<std::string_view> paths;
  for (const Command& c : commands()) {
    EXPECT_TRUE(paths.insert(c.path).second) << c.path;
    EXPECT_NE(c.run, nullptr) << c.path;
    EXPECT_FALSE(c.help.empty()) << c.path;
    EXPECT_FALSE(c.help.ends_with('.')) << c.path;
    EXPECT_LE(c.min_words, c.is_passed ? 256U : c.max_words) << c.path;
    std::set<std::string_view> names;
    std::set<char> letters;
    for (const Option* o : options_of(&c)) {
      EXPECT_TRUE(o->name.starts_with("--")) << o->name;
      EXPECT_TRUE(names.insert(o->name).second) << c.path << " " << o->name;
      if (o->letter != 0) {
        EXPECT_TRUE(letters.insert(o->letter).second) << c.path << " " << o->name;
      }
    }
  }
}

TEST(Reference, PageIsTheOneInTheRepository) {
  std::ifstream in(MERLON_SOURCE_DIR "/docs/reference/commands.md");
  std::ostringstream text;
  text << in.rdbuf();
  EXPECT_EQ(text.str(), reference_markdown())
      << "write it anew: merlon __reference > docs/reference/commands.md";
}

TEST(Batch, SplitsLikeAShell) {
  EXPECT_EQ(*split_line("  show  ports -o json # why"), (Words{"show", "ports", "-o", "json"}));
  EXPECT_EQ(*split_line(R"(a "b c" 'd\e' f\ g "" x#y)"),
            (Words{"a", "b c", "d\\e", "f g", "", "x#y"}));
  EXPECT_TRUE(split_line("# only a comment")->empty());
  EXPECT_EQ(split_line("a 'b").error().message, "' is not closed");
}

TEST(Batch, StopsAtTheFirstFailure) {
  std::istringstream in("help version\n\nshwo\nhelp\n");
  Ran ran;
  const Output output{[&ran](std::string_view text) {
                        ran.data += text;
                        return true;
                      },
                      [&ran](std::string_view line) { ran.messages += std::string(line) + "\n"; },
                      false};
  EXPECT_EQ(run_batch(in, output), kUsage);
  EXPECT_TRUE(ran.data.starts_with("merlon version\n"));
  EXPECT_EQ(ran.data.find("merlon: the Merlon"), std::string::npos);
  EXPECT_TRUE(ran.messages.ends_with("merlon: stopped at line 3\n")) << ran.messages;
}

}  // namespace
}  // namespace merlon::cli
