// SPDX-License-Identifier: Apache-2.0
// Plans as YAML files: what differs from the defaults, in the order of docs/lab/plans.md.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "merlon/lab_run/plan.h"
#include "plan_words.h"
#include "plans.h"

namespace merlon::lab {

using base::Errc;
using base::Error;
using base::Result;

namespace {

// In double quotes, which can hold everything.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string text_value(const Text& text) {
  if (text.en == text.ru) return quoted(text.en);
  return fmt::format("{{en: {}, ru: {}}}", quoted(text.en), quoted(text.ru));
}

template <class Words, class T>
std::string_view word_of(const Words& words, T value) {
  for (const auto& [name, known] : words)
    if (known == value) return name;
  return words.front().first;
}

class Printer {
 public:
  void line(unsigned depth, std::string_view key, std::string_view value) {
    out_ += fmt::format("{:{}}{}: {}\n", "", depth * 2, key, value);
  }
  template <class T>
  void number(unsigned depth, std::string_view key, T value, T otherwise) {
    if (value != otherwise) line(depth, key, fmt::format("{}", value));
  }
  void text(unsigned depth, std::string_view key, const Text& value) {
    if (!value.en.empty() || !value.ru.empty()) line(depth, key, text_value(value));
  }
  void word(unsigned depth, std::string_view key, std::string_view value,
            std::string_view otherwise) {
    if (value != otherwise) line(depth, key, quoted(value));
  }
  void flag(unsigned depth, std::string_view key, bool value, bool otherwise = false) {
    if (value != otherwise) line(depth, key, value ? "true" : "false");
  }
  void family(unsigned depth, double ipv6_share, double otherwise) {
    if (ipv6_share == otherwise) return;
    std::string text = fmt::format("{}", ipv6_share);
    for (const auto& [name, share] : kFamilies)
      if (share == ipv6_share) text = name;
    line(depth, "family", text);
  }
  void pattern(unsigned depth, std::string_view key, const FieldPattern& p,
               const FieldPattern& otherwise) {
    if (p.variation != otherwise.variation || p.count != otherwise.count)
      line(depth, key,
           fmt::format("{{vary: {}, count: {}}}", word_of(kVariations, p.variation), p.count));
  }
  void raw(std::string_view text) { out_ += text; }
  std::string take() { return std::move(out_); }
  // Keeps `part` only when something was printed below its heading.
  template <class Body>
  void section(unsigned depth, std::string_view key, const Body& body) {
    const std::size_t before = out_.size();
    out_ += fmt::format("{:{}}{}:\n", "", depth * 2, key);
    const std::size_t heading = out_.size();
    body();
    if (out_.size() == heading) out_.resize(before);
  }

 private:
  std::string out_;
};

// What differs from `d`.
void print_traffic(Printer& p, const TrafficSpec& t, const TrafficSpec& d) {
  p.word(3, "sizes", t.sizes, d.sizes);
  p.word(3, "protocol", t.protocol, d.protocol);
  p.family(3, t.ipv6_share, d.ipv6_share);
  p.pattern(3, "source_mac", t.source_mac, d.source_mac);
  p.pattern(3, "destination_mac", t.destination_mac, d.destination_mac);
  p.pattern(3, "source_ip", t.source_ip, d.source_ip);
  p.pattern(3, "destination_ip", t.destination_ip, d.destination_ip);
  p.pattern(3, "source_port", t.source_port, d.source_port);
  p.pattern(3, "destination_port", t.destination_port, d.destination_port);
  p.pattern(3, "vlan", t.vlan, d.vlan);
  p.number(3, "flows", t.flows, d.flows);
  p.flag(3, "random_order", t.is_random_flow_order, d.is_random_flow_order);
  p.flag(3, "bidirectional", t.is_bidirectional, d.is_bidirectional);
  p.word(3, "pacing", word_of(kPacings, t.pacing), word_of(kPacings, d.pacing));
  p.number(3, "burst", t.burst_frames, d.burst_frames);
  p.section(3, "steps", [&] {
    for (const RateStep& s : t.steps)
      p.raw(fmt::format("        - {{factor: {}, share: {}}}\n", s.factor, s.share));
  });
  p.word(3, "capture", t.capture, d.capture);
  p.number(3, "drop_share", t.drop_share, d.drop_share);
  p.word(3, "attack", word_of(kAttacks, t.attack), word_of(kAttacks, d.attack));
  p.number(3, "attack_rate", t.attack_pps, d.attack_pps);
  p.number(3, "attack_sources", t.attack_sources, d.attack_sources);
}

void print_device(Printer& p, const DeviceSpec& device) {
  const DeviceSpec d;
  p.word(3, "driver", device.driver, "");
  p.word(3, "mode", device.mode, "");
  p.word(3, "topology", device.topology, "");
  p.word(3, "place", device.place, d.place);
  p.number(3, "rules", device.rules, d.rules);
  p.section(3, "options", [&] {
    for (const auto& [key, value] : device.options) p.line(4, quoted(key), quoted(value));
  });
}

// Side B of a paired row; the reader makes a row of it again.
void print_against(Printer& p, const Row& row, const Row& other) {
  p.section(2, "against", [&] {
    if (const Text usual = other_title(row);
        other.title.en != usual.en || other.title.ru != usual.ru)
      p.text(3, "title", other.title);
    // Never empty: a device without any word is one, too.
    if (other.device.driver.empty()) p.line(3, "driver", quoted(""));
    print_device(p, other.device);
  });
  p.section(2, "against_traffic", [&] { print_traffic(p, other.traffic, row.traffic); });
  p.section(2, "compare", [&] {
    for (const std::string& figure : row.compared) p.raw("      - " + quoted(figure) + "\n");
  });
}

void print_row(Printer& p, const Row& row, const Row* other) {
  const Row d;
  p.raw(fmt::format("  - id: {}\n", quoted(row.id)));
  p.text(2, "title", row.title);
  p.line(2, "suite", row.suite);
  p.section(2, "device", [&] { print_device(p, row.device); });
  p.section(2, "traffic", [&] { print_traffic(p, row.traffic, d.traffic); });
  p.number(2, "rate", row.rate_pps, d.rate_pps);
  p.number(2, "duration", row.duration_s, d.duration_s);
  p.number(2, "repeats", row.repeats, d.repeats);
  p.section(2, "goals", [&] {
    for (const Goal& g : row.goals)
      p.raw(
          fmt::format("      - {{name: {}, loss: {}, exceed: {}, final_duration: {}, duration_sum: "
                      "{}, initial_duration: {}, width: {}}}\n",
                      quoted(g.name), g.loss_ratio, g.exceed_ratio, g.final_duration_s,
                      g.duration_sum_s, g.initial_duration_s, g.width));
  });
  p.section(2, "parameters", [&] {
    for (const auto& [key, value] : row.parameters)
      p.line(3, quoted(key), fmt::format("{}", value));
  });
  if (other != nullptr) print_against(p, row, *other);
}

const Row* row_of_id(const Plan& plan, const std::string& id) {
  const auto found = std::find_if(plan.rows.begin(), plan.rows.end(),
                                  [&](const Row& row) { return row.id == id; });
  return id.empty() || found == plan.rows.end() ? nullptr : &*found;
}

void print_chart(Printer& p, const ChartSpec& chart) {
  p.raw(fmt::format("  - id: {}\n", quoted(chart.id)));
  p.line(2, "kind", chart.kind);
  p.text(2, "title", chart.title);
  p.text(2, "x_title", chart.x_title);
  p.text(2, "y_title", chart.y_title);
  p.word(2, "x", chart.x, "");
  p.word(2, "y", chart.y, "");
  p.word(2, "series", chart.series, "");
  p.word(2, "rows", chart.rows, "");
  p.flag(2, "log_x", chart.is_log_x);
  p.flag(2, "log_y", chart.is_log_y);
}

}  // namespace

std::string print_plan(const Plan& plan) {
  Printer p;
  p.line(0, "plan", quoted(plan.name));
  p.text(0, "title", plan.title);
  p.text(0, "question", plan.question);
  p.line(0, "budget", fmt::format("{}s", plan.budget_s));
  if (plan.growth.is_on)
    p.line(
        0, "growth",
        fmt::format("{{loss_ok: {}, loss_high: {}, width: {}, max_rows: {}}}", plan.growth.loss_ok,
                    plan.growth.loss_high, plan.growth.width, plan.growth.max_rows));
  p.section(0, "rows", [&] {
    for (const Row& row : plan.rows)
      if (row.parent.empty()) print_row(p, row, row_of_id(plan, row.against));
  });
  p.section(0, "charts", [&] {
    for (const ChartSpec& chart : plan.charts) print_chart(p, chart);
  });
  p.section(0, "checks", [&] {
    for (const std::string& check : plan.checks) p.raw("  - " + quoted(check) + "\n");
  });
  return p.take();
}

std::string plan_hash(const Plan& plan) {
  std::uint64_t h = 0xcbf29ce484222325ULL;
  for (const char c : print_plan(plan)) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return fmt::format("{:016x}", h);
}

Result<void> choose_rows(Plan& plan, const std::vector<std::string>& starts) {
  if (starts.empty()) return {};
  std::string known;
  for (const Row& row : plan.rows) known += (known.empty() ? "" : ", ") + row.id;
  for (const std::string& start : starts)
    if (std::none_of(plan.rows.begin(), plan.rows.end(),
                     [&](const Row& row) { return row.id.starts_with(start); }))
      return Error{Errc::kNotFound,
                   fmt::format("no row starts with \"{}\"", start),
                   {},
                   "rows: " + known,
                   {}};
  const auto is_wanted = [&](const Row& row) {
    return std::any_of(starts.begin(), starts.end(),
                       [&](const std::string& start) { return row.id.starts_with(start); });
  };
  std::set<std::string> wanted;
  for (const Row& row : plan.rows) {
    if (!is_wanted(row)) continue;
    // Neither side of a pair says anything alone.
    for (const std::string& id : {row.id, row.against, row.parent}) wanted.insert(id);
  }
  std::erase_if(plan.rows, [&](const Row& row) { return !wanted.contains(row.id); });
  return {};
}

Text other_title(const Row& a) {
  return {a.title.en.empty() ? a.id + ", side B" : a.title.en + ", side B",
          a.title.ru.empty() ? a.id + ", сторона B" : a.title.ru + ", сторона B"};
}

Row other_side(Row& a, Text title, DeviceSpec device, TrafficSpec traffic) {
  Row b = a;
  b.id = a.id + ".b";
  b.parent = a.id;
  b.reason = {"side B of " + a.id, "сторона B строки " + a.id};
  b.title = title.en.empty() ? other_title(a) : std::move(title);
  b.device = std::move(device);
  b.traffic = std::move(traffic);
  b.compared.clear();
  b.against.clear();
  a.against = b.id;
  return b;
}

Row at_interval(Row row, double interval_us) {
  row.rate_pps = 1e6 / interval_us;
  row.parameters["interval_us"] = interval_us;
  return row;
}

bool is_same_device(const DeviceSpec& a, const DeviceSpec& b) {
  return a.driver == b.driver && a.mode == b.mode && a.topology == b.topology &&
         a.place == b.place && a.rules == b.rules && a.options == b.options;
}

}  // namespace merlon::lab
