// SPDX-License-Identifier: Apache-2.0
// TableWriter: rows to text, JSON, JSON lines, CSV and the table forms of the API.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "merlon/base/time.h"
#include "merlon/client/table.h"
#include "merlon/client/words.h"

namespace merlon::client {
namespace {

using base::Errc;
using base::Error;

constexpr std::size_t kPieceSize = 32 * 1024;  // bytes collected before the sink is called

double as_number(const Value& value) {
  if (const auto* i = std::get_if<std::int64_t>(&value)) return static_cast<double>(*i);
  if (const auto* u = std::get_if<std::uint64_t>(&value)) return static_cast<double>(*u);
  if (const auto* d = std::get_if<double>(&value)) return *d;
  return 0;
}

// Three digits and a prefix of powers of 1000: "999", "1.23k", "45.6M".
std::string with_prefix(double value, std::string_view separator, std::string_view unit) {
  constexpr std::string_view kPrefixes[] = {"", "k", "M", "G", "T", "P", "E"};
  std::size_t p = 0;
  double v = std::fabs(value);
  while (v >= 999.5 && p + 1 < std::size(kPrefixes)) {
    v /= 1000;
    ++p;
  }
  const double shown = value < 0 ? -v : v;
  std::string number;
  if (p == 0 && v == std::floor(v)) {
    number = fmt::format("{:.0f}", shown);
  } else {
    number = fmt::format("{:.{}f}", shown, v < 9.995 ? 2 : v < 99.95 ? 1 : 0);
  }
  return fmt::format("{}{}{}{}", number, separator, kPrefixes[p], unit);
}

std::string duration_text(double seconds) {
  if (seconds < 0) return "-";
  if (seconds < 1) return fmt::format("{:.0f}ms", seconds * 1000);
  const auto s = static_cast<std::uint64_t>(std::min(seconds, 1e15));
  if (s < 60) return fmt::format("{}s", s);
  if (s < 3600)
    return s % 60 == 0 ? fmt::format("{}m", s / 60) : fmt::format("{}m{}s", s / 60, s % 60);
  if (s < 86'400) return fmt::format("{}h{}m", s / 3600, s % 3600 / 60);
  return fmt::format("{}d{}h", s / 86'400, s % 86'400 / 3600);
}

// Code points, which is what a terminal advances by for the letters we print.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string_view color_of(std::string_view cell) {
  for (const std::string_view good : {"up", "permit", "forward", "running", "active"})
    if (cell == good) return "\x1b[32m";
  for (const std::string_view bad : {"down", "drop", "reject", "failed"})
    if (cell == bad) return "\x1b[31m";
  return {};
}

std::strong_ordering compare(const Value& a, const Value& b) {
  const bool a_text = std::holds_alternative<std::string>(a);
  const bool b_text = std::holds_alternative<std::string>(b);
  if (a_text && b_text) return std::get<std::string>(a) <=> std::get<std::string>(b);
  if (a.index() == b.index()) {
    if (const auto* i = std::get_if<std::int64_t>(&a)) return *i <=> std::get<std::int64_t>(b);
    if (const auto* u = std::get_if<std::uint64_t>(&a)) return *u <=> std::get<std::uint64_t>(b);
    if (const auto* t = std::get_if<bool>(&a)) return *t <=> std::get<bool>(b);
  }
  const auto rank = [](const Value& v, bool is_text) {
    return v.index() == 0 ? 0 : is_text ? 2 : 1;
  };
  if (const auto order = rank(a, a_text) <=> rank(b, b_text); order != 0) return order;
  const double x = as_number(a), y = as_number(b);
  return x < y   ? std::strong_ordering::less
         : x > y ? std::strong_ordering::greater
                 : std::strong_ordering::equal;
}

std::string csv_cell(const Value& value, Unit unit) {
  std::string text;
  if (value.index() == 0) return text;
  if (const auto* s = std::get_if<std::string>(&value)) {
    text = *s;
  } else {
    append_json_value(text, value, unit);
    if (text == "null") return {};
    if (text.front() == '"') return text.substr(1, text.size() - 2);
    return text;
  }
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace

std::string format_cell(const Value& value, Unit unit) {
  if (value.index() == 0) return "-";
  if (const auto* s = std::get_if<std::string>(&value)) return s->empty() ? "-" : printable(*s);
  if (const auto* b = std::get_if<bool>(&value)) return *b ? "yes" : "no";
  const double number = as_number(value);
  if (!std::isfinite(number)) return "-";
  switch (unit) {
    case Unit::kBytes:
      return with_prefix(number, " ", "B");
    case Unit::kBitsPerSecond:
      return with_prefix(number, " ", "bit/s");
    case Unit::kPerSecond:
      return with_prefix(number, " ", "/s");
    case Unit::kCount:
      return with_prefix(number, "", "");
    case Unit::kSeconds:
      return duration_text(number);
    case Unit::kRatio:
      return fmt::format("{:.1f} %", number * 100);
    case Unit::kTime: {
      std::string time;
      append_json_value(time, value, unit);
      return time == "null" ? "-" : time.substr(1, time.size() - 2);
    }
    case Unit::kNone:
      break;
  }
  std::string text;
  if (std::holds_alternative<double>(value)) return fmt::format("{:.4g}", number);
  append_json_value(text, value, Unit::kNone);
  return text;
}

struct TableWriter::Impl {
  WriterOptions options;
  Sink sink;
  std::string kind;
  std::vector<Column> columns;
  std::vector<std::size_t> order;                  // of the source's columns
  std::vector<std::pair<std::size_t, bool>> sort;  // place in the source row, descending
  std::vector<Row> kept;                           // for sorting and for column widths
  std::vector<std::vector<std::string>> text_rows;
  std::vector<std::size_t> widths;
  std::string out;
  std::uint64_t count = 0;
  bool is_open = true, has_widths = false;

  [[nodiscard]] bool is_text() const {
    return options.format == Format::kText || options.format == Format::kWide;
  }

  bool flush(bool is_last) {
    if (!is_open || (!is_last && out.size() < kPieceSize)) return is_open;
    if (!out.empty()) is_open = sink(out);
    out.clear();
    return is_open;
  }

  base::Result<std::size_t> find(std::string_view name, const std::vector<Column>& from) const {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (from[i].name == name) return i;
      names.push_back(from[i].name);
    }
    std::string hint = did_you_mean(name, names);
    if (hint.empty()) hint = fmt::format("columns are {}", fmt::join(names, ", "));
    return Error{Errc::kInvalidValue,
                 fmt::format("no column \"{}\" in {}", name, kind),
                 {},
                 std::move(hint)};
  }

  base::Result<void> choose(const std::vector<Column>& from) {
    for (const std::string& name : options.columns) {
      auto place = find(name, from);
      if (!place) return place.error();
      order.push_back(*place);
    }
    if (options.columns.empty())
      for (std::size_t i = 0; i < from.size(); ++i)
        if (options.format != Format::kText || !from[i].is_wide) order.push_back(i);
    for (const std::size_t i : order) columns.push_back(from[i]);
    for (const std::string& word : options.sort) {
      const bool is_descending = word.starts_with('-');
      auto place = find(std::string_view(word).substr(is_descending ? 1 : 0), from);
      if (!place) return place.error();
      sort.emplace_back(*place, is_descending);
    }
    return {};
  }

  void head() {
    switch (options.format) {
      case Format::kJson:
        out += '[';
        break;
      case Format::kCsv:
        for (std::size_t i = 0; options.has_headers && i < columns.size(); ++i)
          out += (i == 0 ? "" : ",") + csv_cell(columns[i].name, Unit::kNone);
        if (options.has_headers) out += '\n';
        break;
      case Format::kTableJson:
      case Format::kTableLines:
        table_head();
        out += options.format == Format::kTableJson ? ",\"rows\":[" : "}\n";
        break;
      default:
        break;
    }
  }

  void table_head() {
    out += "{\"kind\":";
    append_json_string(out, kind);
    out += ",\"columns\":[";
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const Column& c = columns[i];
      out += i == 0 ? "{\"name\":" : ",{\"name\":";
      append_json_string(out, c.name);
      out += ",\"title\":";
      append_json_string(out, c.title);
      out += fmt::format(",\"unit\":\"{}\",\"align\":\"{}\",\"wide\":{}}}", unit_name(c.unit),
                         c.align == Align::kRight ? "right" : "left", c.is_wide);
    }
    out += ']';
  }

  void write_object(const Row& row) {
    out += '{';
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (i != 0) out += ',';
      append_json_string(out, columns[i].name);
      out += ':';
      append_json_value(out, row[order[i]], columns[i].unit);
    }
    out += '}';
  }

  // The table forms keep numbers of time as numbers: the reader formats them.
  void write_list(const Row& row) {
    out += '[';
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (i != 0) out += ',';
      append_json_value(out, row[order[i]], Unit::kNone);
    }
    out += ']';
  }

  void write_row(const Row& row) {
    switch (options.format) {
      case Format::kJson:
        out += count == 0 ? "\n" : ",\n";
        write_object(row);
        break;
      case Format::kJsonLines:
        write_object(row);
        out += '\n';
        break;
      case Format::kCsv:
        for (std::size_t i = 0; i < columns.size(); ++i)
          out += (i == 0 ? "" : ",") + csv_cell(row[order[i]], columns[i].unit);
        out += '\n';
        break;
      case Format::kTableJson:
        out += count == 0 ? "\n" : ",\n";
        write_list(row);
        break;
      case Format::kTableLines:
        write_list(row);
        out += '\n';
        break;
      default:
        write_text(row);
    }
    ++count;
  }

  void write_text(const Row& row) {
    std::vector<std::string> cells;
    cells.reserve(columns.size());
    for (std::size_t i = 0; i < columns.size(); ++i)
      cells.push_back(format_cell(row[order[i]], columns[i].unit));
    if (has_widths) return write_cells(cells, false);
    text_rows.push_back(std::move(cells));
    if (text_rows.size() >= kWidthRows) settle_widths();
  }

  void settle_widths() {
    if (has_widths) return;
    has_widths = true;
    std::vector<std::string> titles;
    for (const Column& c : columns) {
      titles.push_back(c.title);
      widths.push_back(options.has_headers ? width_of(c.title) : 0);
    }
    for (const auto& cells : text_rows)
      for (std::size_t i = 0; i < cells.size(); ++i)
        widths[i] = std::max(widths[i], width_of(cells[i]));
    if (options.has_headers) write_cells(titles, true);
    for (const auto& cells : text_rows) write_cells(cells, false);
    text_rows.clear();
  }

  void write_cells(const std::vector<std::string>& cells, bool is_head) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::size_t width = width_of(cells[i]);
      const std::string pad(widths[i] > width ? widths[i] - width : 0, ' ');
      const std::string_view color = !options.has_color ? std::string_view()
                                     : is_head          ? "\x1b[1m"
                                                        : color_of(cells[i]);
      if (i != 0) out += "  ";
      if (columns[i].align == Align::kRight) out += pad;
      out += color;
      out += cells[i];
      if (!color.empty()) out += "\x1b[0m";
      if (columns[i].align == Align::kLeft && i + 1 != cells.size()) out += pad;
    }
    out += '\n';
  }

  void write_sorted() {
    std::ranges::stable_sort(kept, [this](const Row& a, const Row& b) {
      for (const auto& [place, is_descending] : sort) {
        const auto order_of = compare(a[place], b[place]);
        if (order_of != 0) return is_descending ? order_of > 0 : order_of < 0;
      }
      return false;
    });
    for (const Row& row : kept) {
      if (options.limit != 0 && count >= options.limit) break;
      write_row(row);
      if (!flush(false)) break;
    }
    kept.clear();
  }
};

TableWriter::TableWriter(WriterOptions options, Sink sink) : impl_(std::make_unique<Impl>()) {
  impl_->options = std::move(options);
  impl_->sink = std::move(sink);
}
TableWriter::~TableWriter() = default;

base::Result<void> TableWriter::begin(std::string_view kind, const std::vector<Column>& columns) {
  impl_->kind = kind;
  if (auto chosen = impl_->choose(columns); !chosen) return chosen;
  impl_->head();
  return {};
}

bool TableWriter::row(const Row& values) {
  Impl& w = *impl_;
  if (!w.sort.empty()) {
    w.kept.push_back(values);
    return true;
  }
  if (w.options.limit != 0 && w.count >= w.options.limit) return false;
  w.write_row(values);
  return w.flush(false) && (w.options.limit == 0 || w.count < w.options.limit);
}

bool TableWriter::end() {
  Impl& w = *impl_;
  if (!w.sort.empty()) w.write_sorted();
  if (w.is_text()) w.settle_widths();
  if (w.options.format == Format::kJson) w.out += w.count == 0 ? "]\n" : "\n]\n";
  if (w.options.format == Format::kTableJson) w.out += w.count == 0 ? "]}\n" : "\n]}\n";
  if (w.options.format == Format::kTableLines)
    w.out += fmt::format("{{\"end\":true,\"rows\":{}}}\n", w.count);
  return w.flush(true);
}

base::Result<void> write_table(const Table& table, const WriterOptions& options, const Sink& sink) {
  TableWriter writer(options, sink);
  if (auto begun = writer.begin(table.kind, table.columns); !begun) return begun;
  for (const Row& row : table.rows)
    if (!writer.row(row)) break;
  writer.end();
  return {};
}

}  // namespace merlon::client
