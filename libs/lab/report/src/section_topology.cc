// SPDX-License-Identifier: Apache-2.0
// Each way between the endpoints that the run used, drawn once.
#include <fmt/core.h>

#include <algorithm>

#include "chart_parts.h"
#include "html.h"
#include "sections.h"

namespace merlon::lab::report {
namespace {

struct Drawing {
  std::string title;
  std::vector<std::string> chain;
  std::vector<const Row*> rows;
};

// Chains run box, port, port, box, ...; a chain of another length is drawn as boxes alone.
bool has_ports(const std::vector<std::string>& chain) {
  return chain.size() >= 4 && (chain.size() - 1) % 3 == 0;
}

std::vector<std::string> chain_of(const Row& row) {
  if (!row.chain.empty()) return row.chain;
  if (row.device.topology == "direct" || row.device.driver == "null") return {"generator", "sink"};
  return {"generator", device_label(row.device), "sink"};
}

std::vector<Drawing> drawings(const Run& run) {
  std::vector<Drawing> out;
  for (const Row& row : run.rows) {
    if (row.device.driver.empty() && row.chain.empty()) continue;
    Drawing d{
        row.device.driver + (row.device.mode.empty() ? "" : " " + row.device.mode) +
            (row.device.topology.empty() ? "" : ", " + row.device.topology) +
            (row.device.place.empty() || row.device.place == "host" ? "" : " @" + row.device.place),
        chain_of(row),
        {&row}};
    const auto same = std::find_if(out.begin(), out.end(), [&](const Drawing& o) {
      // Interface names may carry the run's id and differ; the way is the same.
      return o.title == d.title && o.chain.size() == d.chain.size();
    });
    if (same == out.end())
      out.push_back(std::move(d));
    else
      same->rows.push_back(&row);
  }
  return out;
}

void append_box(double x, double y, double width, const std::string& label, bool is_end,
                std::string& out) {
  const auto fits = static_cast<std::size_t>(width / 7.4);
  out.append(
      fmt::format("<rect class=\"node{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"40\" rx=\"6\"/>",
                  is_end ? " end" : "", place(x), place(y), place(width)));
  out.append(fmt::format(
      "<text class=\"node\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}<title>{}</title></text>",
      place(x + width / 2), place(y + 25), escape(shortened(label, fits)), escape(label)));
}

void append_drawing(const Drawing& d, const std::string& id, std::string& out) {
  std::vector<std::string> boxes;
  const bool ports = has_ports(d.chain);
  for (std::size_t i = 0; i < d.chain.size(); i += ports ? 3 : 1) boxes.push_back(d.chain[i]);
  const auto n = static_cast<double>(boxes.size());
  const double gap = ports ? 120 : 60;
  const double width = std::clamp((kChartWidth - 20 - gap * (n - 1)) / n, 64.0, 200.0);
  const double total = width * n + gap * (n - 1);
  const double left = std::max(10.0, (kChartWidth - total) / 2);
  out.append(fmt::format(
      "<figure id=\"{}\" class=\"topology\"><figcaption id=\"{}-title\">{}</figcaption>", id, id,
      escape(d.title)));
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
                           escape(shortened(d.chain[3 * i + 1], 8))));
    out.append(fmt::format("<text class=\"port\" x=\"{}\" y=\"50\" text-anchor=\"end\">{}</text>",
                           place(to - 4), escape(shortened(d.chain[3 * i + 2], 8))));
  }
  out.append("</svg><details class=\"note\"><summary>");
  out.append(both({"rows", "строки"})).append(fmt::format(" ({})</summary>", d.rows.size()));
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
