// SPDX-License-Identifier: Apache-2.0
#include "merlon/client/table.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

namespace merlon::client {
namespace {

Table sample() {
  Table t;
  t.kind = "ports";
  t.columns = {{"port", "PORT"},
               {"link", "LINK"},
               {"bytes", "BYTES", Unit::kBytes, Align::kRight},
               {"mac", "MAC", Unit::kNone, Align::kLeft, true}};
  t.rows = {{"lan", "up", std::uint64_t{1'234'567}, "02:00:00:00:00:01"},
            {"wan-long", "down", std::uint64_t{42}, std::monostate{}}};
  return t;
}

std::string print(const Table& table, WriterOptions options) {
  std::string out;
  const auto done = write_table(table, options, [&out](std::string_view piece) {
    out += piece;
    return true;
  });
  return done ? out : "error: " + done.error().message + " | " + done.error().hint;
}

TEST(TableWriter, Text) {
  EXPECT_EQ(print(sample(), {.format = Format::kText}),
            "PORT      LINK    BYTES\n"
            "lan       up    1.23 MB\n"
            "wan-long  down     42 B\n");
  EXPECT_EQ(print(sample(), {.format = Format::kText, .limit = 1, .has_headers = false}),
            "lan  up  1.23 MB\n");
}

TEST(TableWriter, WideShowsAllColumns) {
  EXPECT_EQ(print(sample(), {.format = Format::kWide}),
            "PORT      LINK    BYTES  MAC\n"
            "lan       up    1.23 MB  02:00:00:00:00:01\n"
            "wan-long  down     42 B  -\n");
}

TEST(TableWriter, ColorsOnlyWhenAsked) {
  EXPECT_EQ(print(sample(), {.format = Format::kText, .columns = {"link"}, .has_color = true}),
            "\x1b[1mLINK\x1b[0m\n\x1b[32mup\x1b[0m\n\x1b[31mdown\x1b[0m\n");
}

TEST(TableWriter, Json) {
  EXPECT_EQ(
      print(sample(), {.format = Format::kJson}),
      "[\n{\"port\":\"lan\",\"link\":\"up\",\"bytes\":1234567,\"mac\":\"02:00:00:00:00:01\"},\n"
      "{\"port\":\"wan-long\",\"link\":\"down\",\"bytes\":42,\"mac\":null}\n]\n");
  EXPECT_EQ(print(Table{"x", {{"a", "A"}}, {}}, {.format = Format::kJson}), "[]\n");
}

TEST(TableWriter, JsonLinesAndCsv) {
  EXPECT_EQ(print(sample(), {.format = Format::kJsonLines, .columns = {"bytes", "port"}}),
            "{\"bytes\":1234567,\"port\":\"lan\"}\n{\"bytes\":42,\"port\":\"wan-long\"}\n");
  EXPECT_EQ(print(sample(), {.format = Format::kCsv}),
            "port,link,bytes,mac\nlan,up,1234567,02:00:00:00:00:01\nwan-long,down,42,\n");
}

TEST(TableWriter, CsvQuotes) {
  const Table t{"x", {{"a", "A"}, {"b", "B"}}, {{"say \"hi\", you", "two\nlines"}}};
  EXPECT_EQ(print(t, {.format = Format::kCsv}), "a,b\n\"say \"\"hi\"\", you\",\"two\nlines\"\n");
}

TEST(TableWriter, TableFormsKeepKindUnitsAndNumbers) {
  const auto whole = nlohmann::json::parse(print(sample(), {.format = Format::kTableJson}));
  EXPECT_EQ(whole["kind"], "ports");
  EXPECT_EQ(whole["columns"][2]["unit"], "bytes");
  EXPECT_EQ(whole["columns"][2]["align"], "right");
  EXPECT_EQ(whole["columns"][3]["wide"], true);
  EXPECT_EQ(whole["rows"][1], nlohmann::json({"wan-long", "down", 42, nullptr}));
  const std::string lines = print(sample(), {.format = Format::kTableLines});
  EXPECT_TRUE(lines.ends_with("[\"wan-long\",\"down\",42,null]\n{\"end\":true,\"rows\":2}\n"))
      << lines;
}

TEST(TableWriter, SortsByNumberAndDescending) {
  EXPECT_EQ(print(sample(), {.format = Format::kCsv, .columns = {"port"}, .sort = {"bytes"}}),
            "port\nwan-long\nlan\n");
  EXPECT_EQ(print(sample(),
                  {.format = Format::kCsv, .columns = {"port"}, .sort = {"-bytes"}, .limit = 1}),
            "port\nlan\n");
}

TEST(TableWriter, UnknownColumnHasAHint) {
  EXPECT_EQ(print(sample(), {.columns = {"prot"}}),
            "error: no column \"prot\" in ports | did you mean \"port\"?");
  EXPECT_EQ(print(sample(), {.sort = {"zzz"}}),
            "error: no column \"zzz\" in ports | columns are port, link, bytes, mac");
}

TEST(TableWriter, StopsWhenTheReaderHasGone) {
  int calls = 0;
  TableWriter writer({.format = Format::kJsonLines}, [&calls](std::string_view) {
    ++calls;
    return false;
  });
  ASSERT_TRUE(writer.begin("x", {{"a", "A"}}));
  std::uint64_t rows = 0;
  while (writer.row({std::string(1000, 'x')})) ASSERT_LT(++rows, 1000U);
  EXPECT_EQ(calls, 1);
  EXPECT_FALSE(writer.end());
}

TEST(TableWriter, StreamsInPiecesOfBoundedSize) {
  std::size_t largest = 0, total = 0;
  TableWriter writer({.format = Format::kText}, [&](std::string_view piece) {
    largest = std::max(largest, piece.size());
    total += piece.size();
    return true;
  });
  ASSERT_TRUE(writer.begin("x", {{"a", "A"}}));
  for (int i = 0; i < 100'000; ++i) ASSERT_TRUE(writer.row({std::string("0123456789")}));
  EXPECT_TRUE(writer.end());
  EXPECT_EQ(total, 11U * 100'000 + 11 - 9);  // rows and the head "A"
  EXPECT_LT(largest, 64U * 1024);
}

TEST(Cells, Units) {
  EXPECT_EQ(format_cell(std::uint64_t{999}, Unit::kCount), "999");
  EXPECT_EQ(format_cell(std::uint64_t{1000}, Unit::kCount), "1.00k");
  EXPECT_EQ(format_cell(std::uint64_t{999'999}, Unit::kCount), "1.00M");
  EXPECT_EQ(format_cell(12'345'678.0, Unit::kBitsPerSecond), "12.3 Mbit/s");
  EXPECT_EQ(format_cell(0.125, Unit::kRatio), "12.5 %");
  EXPECT_EQ(format_cell(0.25, Unit::kSeconds), "250ms");
  EXPECT_EQ(format_cell(7440.0, Unit::kSeconds), "2h4m");
  EXPECT_EQ(format_cell(std::int64_t{0}, Unit::kTime), "-");
  EXPECT_EQ(format_cell(std::int64_t{1787393472123456789}, Unit::kTime),
            "2026-08-22T10:11:12.123456+0000");
  EXPECT_EQ(format_cell(std::uint64_t{1787393472123456789}, Unit::kTime),
            "2026-08-22T10:11:12.123456+0000");
  EXPECT_EQ(format_cell(std::monostate{}, Unit::kCount), "-");
  EXPECT_EQ(format_cell(std::numeric_limits<double>::quiet_NaN(), Unit::kCount), "-");
  EXPECT_EQ(format_cell(true, Unit::kNone), "yes");
  EXPECT_EQ(format_cell("a\x1b[31m", Unit::kNone), "a\\x1b[31m");
}

TEST(Json, StringsAndNumbersAreAlwaysValid) {
  std::string out;
  append_json_string(out, "a\"\\\n\xff\xc3\xbc");
  EXPECT_EQ(nlohmann::json::parse(out), "a\"\\\n\xef\xbf\xbd\xc3\xbc");
  out.clear();
  append_json_value(out, std::numeric_limits<double>::infinity(), Unit::kNone);
  EXPECT_EQ(out, "null");
  out.clear();
  append_json_value(out, std::uint64_t{18446744073709551615U}, Unit::kNone);
  EXPECT_EQ(out, "18446744073709551615");
}

TEST(Formats, FromAcceptAndFromWords) {
  EXPECT_EQ(format_from_accept(""), Format::kJson);
  EXPECT_EQ(format_from_accept("text/html, text/csv;q=0.5"), Format::kCsv);
  EXPECT_EQ(format_from_accept("application/x-ndjson"), Format::kJsonLines);
  EXPECT_EQ(format_from_accept("application/vnd.merlon.table+jsonl"), Format::kTableLines);
  EXPECT_EQ(*parse_format("wide"), Format::kWide);
  EXPECT_EQ(parse_format("xml").error().hint, "one of table, wide, json, jsonl, csv");
  EXPECT_FALSE(parse_format(""));
}

}  // namespace
}  // namespace merlon::client
