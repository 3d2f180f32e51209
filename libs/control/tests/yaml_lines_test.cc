// SPDX-License-Identifier: Apache-2.0
// The short way through lists of rules gives what the library gives, to the last place.
#include "yaml_lines.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace merlon::control {
namespace {

std::string place_text(const Place& p) {
  return fmt::format("{}:{}-{}/{}", p.line, p.column, p.end_column, p.file);
}

std::string dump(const Node& n) {
  std::string out =
      fmt::format("{}{}{} '{}' {} key '{}' {}(", static_cast<int>(n.kind), n.is_plain ? "p" : "q",
                  n.is_bad ? "b" : "", n.text, place_text(n.place), n.key, place_text(n.key_place));
  for (const Node& item : n.items) out += dump(item) + "\n";
  return out + ")";
}

// Tree and errors of a text by one way.
std::string read(const std::string& text, bool is_slow) {
  ConfigTree tree;
  Node root;
  base::Errors errors;
  const bool is_read = is_slow ? tree.parse_slowly({"m.yaml", text}, root, errors)
                               : tree.parse({"m.yaml", text}, root, errors);
  std::string out = fmt::format("{} {}\n", is_read, dump(root));
  for (const base::Error& e : errors) out += e.to_string() + "\n";
  return out;
}

void expect_equal(const std::string& text) {
  EXPECT_EQ(read(text, false), read(text, true)) << text;
}

std::string rules(std::size_t count, const std::string& indent = "    ") {
  std::string out;
  for (std::size_t n = 0; n < count; ++n)
    out += fmt::format(
        "{}- {{id: r{}, from: lan, source: [10.0.{}.0/24, office], service: [tcp/{}, udp/53], "
        "action: permit, expires: 2026-12-31, at: 08:00}}\n",
        indent, n, n % 256, n);
  return out;
}
std::string policy(std::size_t count) {
  return "version: 1\npolicy:\n  default: drop\n  rules:\n" + rules(count);
}

TEST(YamlLines, RunsAreLeftToOneLine) {
  const std::string text = policy(100);
  FastLines lines(text, 0);
  ASSERT_FALSE(lines.is_empty());
  EXPECT_EQ(lines.rest(), policy(1));
  EXPECT_EQ(lines.cut_before(lines.rest().size() - 1).bytes, 0U);
  EXPECT_EQ(lines.cut_before(lines.rest().size()).bytes, text.size() - lines.rest().size());
  EXPECT_EQ(lines.cut_before(lines.rest().size()).lines, 99U);
  EXPECT_EQ(lines.take({.line = 5, .column = 7}).size(), 99U);
  EXPECT_TRUE(lines.is_all_taken());
  EXPECT_TRUE(FastLines(policy(5), 0).is_empty());
}

TEST(YamlLines, GivesTheLibrarysTree) {
  for (const std::size_t n : {0U, 1U, 8U, 9U, 10U, 200U}) expect_equal(policy(n));
  const std::string run = rules(20);
  expect_equal(policy(20) + "    - id: other\n      action: drop\n" + rules(20) + "taps: x\n");
  expect_equal(policy(20) + "    - {id: quoted, source: \"!x\"}\n" + rules(20, "    "));
  expect_equal(policy(20) + "\n\n    # a remark\n" + rules(20));
  expect_equal("a:\n" + rules(12, "") + "b:\n" + rules(12, "  ") + "c: 1\n");
  expect_equal("a:\n  - b:\n" + rules(12, "    ") + "  - {x: y}\n");
  expect_equal(rules(12, ""));
  expect_equal("a: 1\n" + std::string("\xc3\xa9: 2\n") + "b:\n" + run);
}

TEST(YamlLines, WhatOnlyLooksLikeARunIsTheLibrarys) {
  const std::string run = rules(20, "      ");
  for (const char* head :
       {"a: |\n", "a: >\n", "a: \"\n", "a: '\n", "a: words\n", "a: [\n", "a: {\n", "a:\n    b: c\n",
        "a:\n    - c\n", "a: &x\n", "a: !t\n", "- a\n", "? a\n", "a: # b\n", "---\na:\n", "a:\n\t"})
    for (const char* tail : {"", "b: c\n", "    b\n", "          b\n", "  \"\n", "'\n", "]\n",
                             "}\n", "...\n", "---\n", "      - d\n", "      e: f\n"})
      expect_equal(std::string(head) + run + tail);
}

TEST(YamlLines, AnyChangeOfACharacterIsSeenTheSame) {
  std::mt19937 random(11);
  constexpr std::string_view kSigns = "{}[],:- \n#&*!|>'\"%@`?~\\\t=;/.0a\xc3\xa9nul";
  const std::string base =
      policy(12) + "    - {id: q, reason: \"a, b\"}\n" + rules(12) + "taps: x\n";
  for (unsigned n = 0; n < 2000; ++n) {
    std::string text = base;
    for (unsigned k = 1 + random() % 2; k != 0; --k) {
      const std::size_t at = random() % text.size();
      switch (random() % 3) {
        case 0:
          text[at] = kSigns[random() % kSigns.size()];
          break;
        case 1:
          text.insert(at, 1, kSigns[random() % kSigns.size()]);
          break;
        default:
          text.erase(at, 1 + random() % 3);
      }
    }
    ASSERT_EQ(read(text, false), read(text, true)) << text;
  }
}

TEST(YamlLines, WordsThatYamlReadsOtherwiseAreTheLibrarys) {
  for (const char* word :
       {"null", "~",   "Null", "NULL", "nullx", "x:y", "x:",   "12:30", "2001:db8::1", "a b",
        "-1",   "1.5", "0x10", ".a",   "a.",    "a-",  "true", "",      "'a'",         "*a"}) {
    std::string text = "version: 1\nrules:\n";
    for (unsigned n = 0; n < 12; ++n) text += fmt::format("  - {{id: r{}, value: {}}}\n", n, word);
    expect_equal(text);
    std::string list = "version: 1\nrules:\n";
    for (unsigned n = 0; n < 12; ++n) list += fmt::format("  - {{id: r{}, v: [a, {}]}}\n", n, word);
    expect_equal(list);
    std::string key = "version: 1\nrules:\n";
    for (unsigned n = 0; n < 12; ++n) key += fmt::format("  - {{id: r{}, {}: a}}\n", n, word);
    expect_equal(key);
  }
}

}  // namespace
}  // namespace merlon::control
