// SPDX-License-Identifier: Apache-2.0
#pragma once
// The one form in which lists travel: columns with names and units, rows of plain values. Handlers
// of the API fill it, the client prints it, so text, JSON, JSON lines and CSV of a command can't
// disagree. Values, no owner, any thread. Encoding costs no allocation per cell beyond the output
// text.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "merlon/base/result.h"

namespace merlon::client {

// What a number counts. Machine formats carry the plain number in the base unit; text tables use SI
// prefixes.
enum class Unit : std::uint8_t {
  kNone,
  kCount,
  kBytes,
  kBitsPerSecond,
  kPerSecond,
  kSeconds,  // a duration
  kRatio,    // 0 to 1, text shows per cent
  kTime,     // nanoseconds since the epoch as an integer; every format shows a time stamp with zone
};
enum class Align : std::uint8_t { kLeft, kRight };

// "none", "bytes", ...: the word used in JSON.
std::string_view unit_name(Unit unit) noexcept;
Unit unit_from_name(std::string_view name) noexcept;  // kNone for an unknown word

struct Column {
  std::string name{};   // key in JSON and CSV, for --columns and --sort; lower_snake
  std::string title{};  // head of the text table
  Unit unit = Unit::kNone;
  Align align = Align::kLeft;
  bool is_wide = false;  // text shows it with -o wide only
};

using Value = std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string>;
using Row = std::vector<Value>;

struct Table {
  std::string kind{};  // "ports", "sessions", ...
  std::vector<Column> columns{};
  std::vector<Row> rows{};
};

// Fills `rows` with the next rows of a long list (replacing what it held) and returns true, or
// returns false at the end. Pulled by the writer when the reader has room, so a list of any length
// takes constant memory.
using RowSource = std::function<bool(std::vector<Row>& rows)>;

enum class Format : std::uint8_t {
  kText,        // columns for a person
  kWide,        // text with every column
  kJson,        // a list of objects
  kJsonLines,   // an object a line
  kCsv,         // RFC 4180 with plain line ends
  kTableJson,   // {"kind":..,"columns":[..],"rows":[[..]]}
  kTableLines,  // the same in lines: head, rows, {"end":true,"rows":N}; what the CLI asks for
};

// "table", "wide", "json", "jsonl", "csv"; kInvalidValue with the list otherwise.
base::Result<Format> parse_format(std::string_view text);

// Content type of the machine formats, and the format asked for by an Accept header (kJson when it
// names none).
std::string_view content_type(Format format) noexcept;
Format format_from_accept(std::string_view accept) noexcept;

// Appends `text` as a JSON string with quotes; bytes that are not UTF-8 become U+FFFD.
void append_json_string(std::string& out, std::string_view text);
// Appends a value as JSON; a kTime number becomes a time stamp, a number that isn't finite null.
void append_json_value(std::string& out, const Value& value, Unit unit);

// Bytes to wherever the output goes; false means the reader has gone and nothing more is wanted.
using Sink = std::function<bool(std::string_view)>;

struct WriterOptions {
  Format format = Format::kJson;
  std::vector<std::string> columns{};  // names, in the wanted order; empty: all
  std::vector<std::string> sort{};     // names, "-name" for descending; keeps all rows in memory
  std::uint64_t limit = 0;             // rows; 0: all
  bool has_headers = true;             // text and CSV
  bool has_color = false;              // text
};

// Writes one table in one format: begin, row..., end. One owner, one thread. Text collects the
// first kWidthRows rows to find its column widths; sorting collects everything; all else streams.
class TableWriter {
 public:
  static constexpr std::size_t kWidthRows = 1000;

  TableWriter(WriterOptions options, Sink sink);
  ~TableWriter();
  TableWriter(const TableWriter&) = delete;
  TableWriter& operator=(const TableWriter&) = delete;

  // kInvalidValue with a hint when options name a column that is not there.
  base::Result<void> begin(std::string_view kind, const std::vector<Column>& columns);
  // False when no more rows are wanted: the limit is reached or the sink has closed.
  bool row(const Row& values);
  // False when the sink has closed.
  bool end();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// A whole table at once.
base::Result<void> write_table(const Table& table, const WriterOptions& options, const Sink& sink);

// "1.2M", "3.4 GB", "45 s", "12.5 %", "-": a value as the text table shows it.
std::string format_cell(const Value& value, Unit unit);

}  // namespace merlon::client
