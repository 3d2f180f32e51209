// SPDX-License-Identifier: Apache-2.0
#include "replay_summary.h"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>

namespace merlon::control {

using nlohmann::ordered_json;

void ReplaySummary::add_capture(const std::string& path, const io::CaptureReader& reader) {
  Capture c{.path = path,
            .error = {},
            .packets = reader.counters().packets,
            .bytes = reader.counters().bytes};
  if (!reader.status().ok()) {
    c.error = reader.status().error().to_string();
    has_errors_ = true;
  }
  captures_.push_back(std::move(c));
}

void ReplaySummary::take(const engine::ReplayFeed& feed, Runtime& runtime) {
  engine::Engine& e = *runtime.engine();
  totals_ = telemetry::sum_counters(e.counter_rows());
  first_ = feed.first_time();
  last_ = feed.now();
  packets_ = feed.packets();
  unsupported_ = feed.unsupported();
  for (unsigned w = 0; w < e.worker_count(); ++w)
    peak_sessions_ += e.read_worker(w).gauges.sessions_peak;
  const auto policy = runtime.policy();
  for (std::uint32_t slot = 0; slot < policy->slot_count(); ++slot) {
    const policy::SlotInfo* info = policy->slot(slot);
    if (info == nullptr) continue;
    ++rules_;
    const policy::RuleHits hits = e.hits().read(slot);
    if (hits.sessions != 0)
      hits_.push_back({info->id, std::string(telemetry::action_name(info->action)), hits.sessions,
                       hits.packets, hits.bytes});
  }
}

base::Result<void> ReplaySummary::write(const std::string& path) const {
  ordered_json out;
  out["schema"] = 1;
  for (const Capture& c : captures_) {
    ordered_json row{{"file", c.path}, {"packets", c.packets}, {"bytes", c.bytes}};
    if (!c.error.empty()) row["error"] = c.error;
    out["captures"].push_back(std::move(row));
  }
  if (packets_ != 0) {
    out["first_packet"] = base::format_timestamp(first_);
    out["last_packet"] = base::format_timestamp(last_);
  }
  out["packets"] = packets_;
  out["link_type_unsupported"] = unsupported_;
  out["received"] = totals_.received_packets;
  out["forwarded"] = totals_.forwarded_packets;
  out["tapped"] = totals_.tapped_packets;
  out["would_drop"] = totals_.would_drop_packets;
  out["dropped"] = totals_.dropped_packets;
  out["fragments"] = totals_.fragment_packets;
  out["rejects_sent"] = totals_.rejects_sent;
  out["events_lost"] = totals_.events_lost;
  out["sessions"]["created"] = totals_.sessions_created;
  for (unsigned e = 1; e < telemetry::kSessionEndCount; ++e)
    if (totals_.sessions_ended[e] != 0)
      out["sessions"]["ended"]
         [std::string(telemetry::session_end_name(static_cast<base::SessionEnd>(e)))] =
             totals_.sessions_ended[e];
  out["drops"] = ordered_json::object();
  for (unsigned r = 1; r < base::kDropReasonCount; ++r)
    if (totals_.drop_packets[r] != 0)
      out["drops"][std::string(base::drop_reason_name(static_cast<base::DropReason>(r)))] =
          totals_.drop_packets[r];
  out["rules"] = ordered_json::object();
  for (const Hit& h : hits_)
    out["rules"][h.rule] = {
        {"action", h.action}, {"sessions", h.sessions}, {"packets", h.packets}, {"bytes", h.bytes}};
  std::ofstream file(path, std::ios::trunc);
  file << out.dump(2) << '\n';
  file.close();
  if (!file)
    return base::Error{.code = base::Errc::kIo, .message = fmt::format("can't write {}", path)};
  return {};
}

std::string ReplaySummary::to_text(const std::string& directory) const {
  std::string out;
  const auto line = [&](std::string_view name, const std::string& text) {
    out += fmt::format("{:<10}{}\n", name, text);
  };
  for (const Capture& c : captures_)
    if (!c.error.empty()) out += c.error + "\n";
  line("packets",
       fmt::format("{} in {} capture{}, {:.3f} s of traffic", packets_, captures_.size(),
                   captures_.size() == 1 ? "" : "s", static_cast<double>(last_ - first_) / 1e9));
  if (unsupported_ != 0)
    line("", fmt::format("{} of a link type that can't be judged", unsupported_));
  line("sessions",
       fmt::format("{} opened, {} at most at once", totals_.sessions_created, peak_sessions_));
  if (totals_.tapped_packets != 0) {
    line("tap", fmt::format("{} watched, {} would have been dropped", totals_.tapped_packets,
                            totals_.would_drop_packets));
  } else {
    line("wire", fmt::format("{} forwarded, {} dropped", totals_.forwarded_packets,
                             totals_.dropped_packets));
  }
  if (totals_.rejects_sent != 0) line("", fmt::format("{} rejects sent", totals_.rejects_sent));
  bool is_first = true;
  for (const Hit& h : hits_) {
    line(is_first ? "rules" : "", fmt::format("{:<24} {:<7} {:>8} session{}", h.rule, h.action,
                                              h.sessions, h.sessions == 1 ? "" : "s"));
    is_first = false;
  }
  is_first = true;
  for (unsigned r = 1; r < base::kDropReasonCount; ++r) {
    if (totals_.drop_packets[r] == 0) continue;
    const auto reason = static_cast<base::DropReason>(r);
    line(is_first ? "drops" : "",
         fmt::format("{:<24} {:>8}  {}", base::drop_reason_name(reason), totals_.drop_packets[r],
                     base::drop_reason_sentence(reason)));
    is_first = false;
  }
  line("files", fmt::format("{0}/eve.json, {0}/summary.json", directory));
  return out;
}

}  // namespace merlon::control
