// SPDX-License-Identifier: Apache-2.0
#include "merlon/client/packet_words.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

namespace merlon::client {
namespace {

std::vector<std::string> split(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

TEST(PacketWords, PrintsWhatItRead) {
  const std::pair<const char*, const char*> cases[] = {
      {"lan 10.0.0.5:40000 192.0.2.9:23 tcp", "lan 10.0.0.5:40000 192.0.2.9:23 tcp syn"},
      {"lan 10.0.0.5 192.0.2.9:23 tcp syn,ack", "lan 10.0.0.5:40000 192.0.2.9:23 tcp syn,ack"},
      {"p0 10.0.0.5:1 192.0.2.9:53 udp vlan=10", "p0 10.0.0.5:1 192.0.2.9:53 udp vlan=10"},
      {"lan [2001:db8::1]:1 [2001:db8::2]:443 tcp fin ack",
       "lan [2001:db8::1]:1 [2001:db8::2]:443 tcp fin,ack"},
      {"lan 10.0.0.5 192.0.2.9 icmp", "lan 10.0.0.5 192.0.2.9 icmp type=8 code=0"},
      {"lan 2001:db8::1 2001:db8::2 icmpv6 echo-reply",
       "lan 2001:db8::1 2001:db8::2 icmpv6 type=129 code=0"},
      {"lan 10.0.0.5 192.0.2.9 icmp type=0 length=100",
       "lan 10.0.0.5 192.0.2.9 icmp type=0 code=0 length=100"},
      {"lan 10.0.0.5 192.0.2.9 gre", "lan 10.0.0.5 192.0.2.9 gre"},
  };
  for (const auto& [in, out] : cases) {
    const auto p = parse_packet_words(split(in));
    ASSERT_TRUE(p) << in << ": " << p.error().to_string();
    EXPECT_EQ(to_string(*p), out);
    const auto again = parse_packet_words(split(to_string(*p)));
    ASSERT_TRUE(again) << out;
    EXPECT_EQ(to_string(*again), out);
  }
}

TEST(PacketWords, NamesTheWrongWord) {
  const std::tuple<const char*, const char*, unsigned> cases[] = {
      {"lan 10.0.0.5:40000 192.0.2.9 tcp", "tcp needs a destination port", 3},
      {"lan 10.0.0.5:1 192.0.2.9:70000 tcp", "port 70000 is out of range (0 to 65535)", 3},
      {"lan 10.0.0.5:1 192.0.2.9:1 icmp", "icmp has no ports", 4},
      {"lan 10.0.0.5:1 192.0.2.9:1 tcp sin", "\"sin\" is not known for tcp", 5},
      {"lan 10.0.0.5:1 [2001:db8::1]:1 tcp", "source and destination are of different IP versions",
       3},
      {"lan 10.0.0.5:1 192.0.2.9:1 udp syn", "\"syn\" is not known for udp", 5},
      {"lan [2001:db8::1 [2001:db8::1]:1 tcp", "\"[2001:db8::1\" is not [ADDRESS]:PORT", 2},
  };
  for (const auto& [text, message, word] : cases) {
    const auto p = parse_packet_words(split(text));
    ASSERT_FALSE(p) << text;
    EXPECT_EQ(p.error().message, message);
    EXPECT_EQ(p.error().where.column, word) << text;
  }
  EXPECT_FALSE(parse_packet_words(split("lan 10.0.0.5")));
}

TEST(SessionWords, IdOrTuple) {
  EXPECT_EQ(*parse_session_words(split("77"))->id, 77U);
  const auto s = parse_session_words(split("10.0.0.5:40000 192.0.2.9:443 tcp"));
  ASSERT_TRUE(s);
  EXPECT_FALSE(s->id.has_value());
  EXPECT_EQ(s->source_port, 40000);
  EXPECT_EQ(s->destination_port, 443);
  EXPECT_EQ(s->protocol, 6);
  EXPECT_FALSE(parse_session_words(split("x")));
  EXPECT_FALSE(parse_session_words(split("a b")));
}

TEST(Explain, PrintsStepsAndVerdict) {
  const auto answer = nlohmann::json::parse(R"j({"steps":[
    {"stage":"ingress","text":["zone lan (port p0)"]},
    {"stage":"policy","text":["rule no-telnet","before it: 1"]}],
    "verdict":{"action":"drop","reason":"policy_deny"}})j");
  EXPECT_EQ(explain_text(answer),
            "ingress   zone lan (port p0)\n"
            "policy    rule no-telnet\n"
            "          before it: 1\n"
            "verdict   DROP  policy_deny\n");
  EXPECT_EQ(explain_text(nlohmann::json::parse("{\"steps\":3}")), "");
}

}  // namespace
}  // namespace merlon::client
