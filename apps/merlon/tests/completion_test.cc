// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "command.h"

namespace merlon::cli {
namespace {

using Words = std::vector<std::string>;

// What fits, without the help behind the tab.
Words fitting(const Words& words) {
  const auto ask = [](std::string_view type) -> Words {
    if (type == "rule") return {"web-out", "no-telnet"};
    if (type == "zone") return {"lan", "wan"};
    if (type == "port") return {"p0", "p1"};
    if (type == "state") return {"established", "syn_sent"};
    if (type == "reason") return {"policy_deny"};
    if (type == "revision") return {"41", "42"};
    return {};
  };
  Words out = complete(words, ask);
  for (std::string& line : out) line = line.substr(0, line.find('\t'));
  return out;
}

TEST(Complete, Commands) {
  EXPECT_EQ(fitting({"sho"}), (Words{"show"}));
  EXPECT_EQ(fitting({"show", "p"}), (Words{"ports", "policy", "pools"}));
  EXPECT_EQ(fitting({"config", "co"}), (Words{"commit", "confirm"}));
  EXPECT_EQ(fitting({"lab", "re"}), (Words{"report"}));
  EXPECT_EQ(fitting({"lab", "run", "--res"}), (Words{"--resume"}));
  EXPECT_EQ(fitting({"zzz"}), Words{});
  EXPECT_EQ(fitting({"__"}), Words{});
}

TEST(Complete, OptionsAndTheirValues) {
  EXPECT_EQ(fitting({"show", "ports", "--co"}), (Words{"--columns", "--color"}));
  EXPECT_EQ(fitting({"show", "ports", "-o", "j"}), (Words{"json", "jsonl"}));
  EXPECT_EQ(fitting({"--color", "n"}), (Words{"never"}));
  EXPECT_EQ(fitting({"config", "commit", "--base", ""}), (Words{"41", "42"}));
  EXPECT_EQ(fitting({"show", "drops", "--reason", "pol"}), (Words{"policy_deny"}));
  EXPECT_EQ(fitting({"show", "drops", "--pcap", "x"}), (Words{":files"}));
  EXPECT_EQ(fitting({"doctor", "--o"}), (Words{"--output"}));  // once
  EXPECT_EQ(fitting({"doctor", "-c"}), Words{});
  EXPECT_EQ(fitting({"do"}), (Words{"doctor"}));
  EXPECT_EQ(fitting({"-o", "json", "show", "po"}), (Words{"ports", "policy", "pools"}));
}

TEST(Complete, NamesFromTheDaemon) {
  EXPECT_EQ(fitting({"show", "sessions", "ru"}), (Words{"rule="}));
  EXPECT_EQ(fitting({"show", "sessions", "rule=no"}), (Words{"rule=no-telnet"}));
  EXPECT_EQ(fitting({"show", "sessions", "port=443", "from="}), (Words{"from=lan", "from=wan"}));
  EXPECT_EQ(fitting({"clear", "sessions", "state=e"}), (Words{"state=established"}));
  EXPECT_EQ(fitting({"config", "rollback", ""}), (Words{"41", "42"}));
}

TEST(Complete, Explain) {
  EXPECT_EQ(fitting({"explain", ""}), (Words{"packet", "session"}));
  EXPECT_EQ(fitting({"explain", "packet", ""}), (Words{"lan", "wan", "p0", "p1"}));
  EXPECT_EQ(fitting({"explain", "packet", "lan", "10.0.0.1", "10.0.0.2:1", "t"}), (Words{"tcp"}));
  EXPECT_EQ(fitting({"explain", "packet", "lan", "10.0.0.1", "10.0.0.2:1", "tcp", "s"}),
            (Words{"syn"}));
  EXPECT_EQ(fitting({"explain", "session", "10.0.0.1:1", "10.0.0.2:1", "u"}), (Words{"udp"}));
}

TEST(Complete, HelpStandsBehindATab) {
  const auto lines = complete(Words{"show", "wor"}, [](std::string_view) { return Words{}; });
  EXPECT_EQ(lines, (Words{"workers\tload, cycles per packet and sessions of each worker"}));
}

TEST(Complete, ScriptsExistForBothShells) {
  EXPECT_NE(completion_script("bash").find("__complete"), std::string::npos);
  EXPECT_NE(completion_script("zsh").find("__complete"), std::string::npos);
  EXPECT_EQ(completion_script("fish"), "");
}

}  // namespace
}  // namespace merlon::cli
