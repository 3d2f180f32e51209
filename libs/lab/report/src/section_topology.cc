// SPDX-License-Identifier: Apache-2.0
// Each way between the endpoints that the run used, drawn once.
#include <fmt/core.h>

#include <algorithm>

#include "chart_parts.h"
#include "html.h"
#include "sections.h"
#include "words.h"

namespace merlon::lab::report {
namespace {

struct Drawing {
  Text title;
  std::vector<Text> chain;
  std::vector<const Row*> rows;
};

// Chains run box, port, port, box, ...; a chain of another length is drawn as boxes alone.
bool has_ports(const std::vector<Text>& chain) {
  return chain.size() >= 4 && (chain.size() - 1) % 3 == 0;
}

std::vector<Text> chain_of(const Row& row) {
  const Text from = word_title("generator"), to = word_title("sink");
  if (row.chain.empty() && (row.device.topology == "direct" || row.device.driver == "null"))
    return {from, to};
  if (row.chain.empty()) return {from, device_label(row.device), to};
  std::vector<Text> out;
  for (const std::string& part : row.chain)
    out.push_back(part == "wire" ? Text{"outside", "внешняя сеть"} : word_title(part));
  return out;
}

Text title_of_way(const DeviceSpec& device) {
  Text out = driver_mode(device);
  if (!device.topology.empty()) out = joined(joined(out, same(", ")), word_title(device.topology));
  if (!device.place.empty() && device.place != "host")
    out = joined(joined(out, same(" @")), word_title(device.place));
  return out;
}

std::vector<Drawing> drawings(const Run& run) {
  std::vector<Drawing> out;
  for (const Row& row : run.rows) {
    if (row.device.driver.empty() && row.chain.empty()) continue;
    Drawing d{title_of_way(row.device), chain_of(row), {&row}};
    const auto alike = std::find_if(out.begin(), out.end(), [&](const Drawing& o) {
      // Interface names may carry the run's id and differ; the way is the same.
      return o.title.en == d.title.en;
    });
    if (alike == out.end()) {
      out.push_back(std::move(d));
      continue;
    }
    alike->rows.push_back(&row);
    // A row that was left out knows its device only; one that was run knows the way.
    if (d.chain.size() > alike->chain.size()) alike->chain = std::move(d.chain);
  }
  return out;
}

void append_box(double x, double y, double width, const Text& label, bool is_end,
                std::string& out) {
  const auto fits = static_cast<std::size_t>(width / 7.4);
  out.append(
      fmt::format("<rect class=\"node{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"40\" rx=\"6\"/>",
                  is_end ? " end" : "", place(x), place(y), place(width)));
  const Text shown = shortened(label, fits);
  const std::string text =
      both_svg(shown, fmt::format("class=\"node\" x=\"{}\" y=\"{}\" text-anchor=\"middle\"",
                                  place(x + width / 2), place(y + 25)));
  if (shown.en == label.en)
    out.append(text);
  else
    out.append("<g><title>")
        .append(escape(label.en))
        .append("</title>")
        .append(text)
        .append("</g>");
}

void append_drawing(const Drawing& d, const std::string& id, std::string& out) {
  std::vector<Text> boxes;
  const bool ports = has_ports(d.chain);
  for (std::size_t i = 0; i < d.chain.size(); i += ports ? 3 : 1) boxes.push_back(d.chain[i]);
  const auto n = static_cast<double>(boxes.size());
  const double gap = ports ? 120 : 60;
  const double width = std::clamp((kChartWidth - 20 - gap * (n - 1)) / n, 64.0, 200.0);
  const double total = width * n + gap * (n - 1);
  const double left = std::max(10.0, (kChartWidth - total) / 2);
  out.append(fmt::format(
      "<figure id=\"{}\" class=\"topology\"><figcaption id=\"{}-title\">{}</figcaption>", id, id,
      both(d.title)));
  out.append(fmt::format("<svg viewBox=\"0 0 {} 70\" role=\"img\" aria-labelledby=\"{}-title\">",
                         place(std::max(kChartWidth, total + 20)), id));
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    const double x = left + static_cast<double>(i) * (width + gap);
    append_box(x, 14, width, boxes[i], i == 0 || i + 1 == boxes.size(), out);
    if (i + 1 == boxes.size()) break;
    const double from = x + width, to = from + gap;
    out.append(fmt::format("<line class=\"wire\" x1=\"{}\" x2=\"{}\" y1=\"34\" y2=\"34\"/>",
                           place(from), place(to)));
    out.append(fmt::format("<path class=\"wire-head\" d=\"M{} 34l-8 -4v8z\"/>", place(to)));
    if (!ports) continue;
    out.append(fmt::format("<text class=\"port\" x=\"{}\" y=\"28\">{}</text>", place(from + 4),
                           escape(shortened(d.chain[3 * i + 1].en, 8))));
    out.append(fmt::format("<text class=\"port\" x=\"{}\" y=\"50\" text-anchor=\"end\">{}</text>",
                           place(to - 4), escape(shortened(d.chain[3 * i + 2].en, 8))));
  }
  out.append("</svg><details class=\"note\"><summary>");
  out.append(both(counted(d.rows.size(), kRows))).append("</summary>");
  constexpr std::size_t kShown = 100;
  for (std::size_t i = 0; i < std::min(kShown, d.rows.size()); ++i)
    out.append(i == 0 ? "" : " · ").append(row_link(*d.rows[i]));
  if (d.rows.size() > kShown) out.append(fmt::format(" · +{}", d.rows.size() - kShown));
  out.append("</details></figure>\n");
}

}  // namespace

void append_topologies(const RunIndex& index, std::string& out) {
  const std::vector<Drawing> list = drawings(index.run());
  if (list.empty()) return;
  open_section("topology", {"Topologies", "Топологии"}, out);
  for (std::size_t i = 0; i < list.size(); ++i)
    append_drawing(list[i], fmt::format("topology-{}", i), out);
  close_section(out);
}

}  // namespace merlon::lab::report
