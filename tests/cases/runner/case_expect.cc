// SPDX-License-Identifier: Apache-2.0
// Expectations of a case: packets, events, counts, sessions, rules.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "case_run.h"
#include "merlon/packet/text.h"

namespace merlon::cases {
namespace {

// A packet for a message; long payloads say nothing that their beginning does not.
std::string words_of(const Frame& frame) {
  constexpr std::size_t kMost = 400;
  std::string words = packet::packet_to_text(frame);
  if (words.size() > kMost)
    words = fmt::format("{}... ({} bytes in all)", words.substr(0, kMost), frame.size());
  return words;
}

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t n = 0;
  const auto r = std::from_chars(text.data(), text.data() + text.size(), n);
  if (r.ec != std::errc{} || r.ptr != text.data() + text.size()) return std::nullopt;
  return n;
}

std::string value_text(const nlohmann::json& v) {
  return v.is_string() ? v.get<std::string>() : v.dump();
}

std::map<std::string, std::uint64_t> counter_values(const telemetry::CounterTotals& t,
                                                    const engine::Gauges::Values& g) {
  std::map<std::string, std::uint64_t> out = {{"sessions", g.sessions},
                                              {"half_open", g.half_open},
                                              {"sources", g.sources},
                                              {"fragments_held", g.fragments_held},
                                              {"fragment_datagrams", g.fragment_datagrams},
                                              {"table_full", g.table_full},
                                              {"window_passed", g.window_passed},
                                              {"syn_passed", g.syn_passed},
                                              {"icmp_errors", g.icmp_errors}};
#define MERLON_X(field, help) out[#field] = t.field;
  MERLON_WORKER_COUNTERS(MERLON_X)
#undef MERLON_X
  return out;
}

std::string describe(const control::SessionRow& r) {
  return fmt::format("{} {}:{} > {}:{} {} rule={} packets={}/{}", r.protocol, r.source.to_string(),
                     r.source_port, r.destination.to_string(), r.destination_port, r.state, r.rule,
                     r.packets[0], r.packets[1]);
}

// What a session's row has beside the fields that a filter can ask for.
std::map<std::string, std::string> row_values(const control::SessionRow& r) {
  return {{"packets", fmt::format("{}/{}", r.packets[0], r.packets[1])},
          {"bytes", fmt::format("{}/{}", r.bytes[0], r.bytes[1])},
          {"out", r.out_port},
          {"action", r.action},
          {"revision", std::to_string(r.revision)},
          {"idle_ms", std::to_string(r.idle_ms)},
          {"expires_ms", std::to_string(r.expires_in_ms)}};
}

}  // namespace

std::string compare_event(const nlohmann::json& event, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    const auto equals = word.find('=');
    std::string path = "/" + word.substr(0, equals);
    const std::string wanted = equals == std::string::npos ? "" : word.substr(equals + 1);
    std::ranges::replace(path, '.', '/');
    const nlohmann::json::json_pointer pointer(path);
    const bool is_there = event.contains(pointer);
    if (wanted == "absent"
            ? is_there
            : !is_there || (wanted != "*" && value_text(event.at(pointer)) != wanted))
      return word;
  }
  return "";
}

std::uint64_t CaseRun::drop_count(const std::string& reason) const {
  const auto r = base::drop_reason_from_name(reason);
  return r ? machine_->totals().drop_packets[static_cast<std::size_t>(*r)] : 0;
}

std::uint64_t CaseRun::all_drops() const { return machine_->totals().dropped_packets; }

void CaseRun::name_reason(const Statement& s, const std::string& reason) {
  if (!base::drop_reason_from_name(reason) || reason == "none")
    stop(
        s.rest_where,
        fmt::format("there is no drop reason \"{}\" (docs/reference/drops.md lists them)", reason));
  result_.reasons.insert(reason);
}

void CaseRun::check_nothing_left(const Statement& s, std::string_view before) {
  for (std::uint16_t p = 0; p < machine_->port_count(); ++p) {
    if (pending_[p].empty()) continue;
    fail(s.where,
         fmt::format("{} nobody expected the {} packet(s) that left by {}, first\n    {}", before,
                     pending_[p].size(), machine_->port_name(p), words_of(pending_[p].front())));
    pending_[p].clear();
  }
}

// Takes the wanted frames, or one that has `partly`, from what left by the port. One worker keeps
// the order of packets; between workers there is none.
void CaseRun::check_frames(const Statement& s, std::uint16_t port, std::string_view what,
                           bool is_whole, const std::vector<Frame>& wanted, const Layers& partly) {
  std::deque<Frame>& queue = pending_[port];
  const std::string name = machine_->port_name(port);
  const std::size_t reach = settings_.workers == 1 ? 1 : queue.size();
  if (is_whole && wanted.empty()) {
    for (const Frame& frame : queue)
      fail(s.where, fmt::format("expected nothing to leave by {}, came {}", name, words_of(frame)));
    queue.clear();
    return;
  }
  for (std::size_t n = 0; n < (is_whole ? wanted.size() : 1); ++n) {
    if (queue.empty())
      return fail(s.where, fmt::format("expected {} to leave by {}, came nothing", what, name));
    const auto end = queue.begin() + static_cast<long>(std::min(reach, queue.size()));
    std::string why;
    const auto found = std::find_if(queue.begin(), end, [&](const Frame& f) {
      if (is_whole) return f == wanted[n];
      why = compare_partly(f, partly);
      return why.empty();
    });
    if (found != end) {
      queue.erase(found);
      continue;
    }
    fail(s.where,
         is_whole ? fmt::format("by {} left\n    {}\n  expected\n    {}", name,
                                words_of(queue.front()), words_of(wanted[n]))
                  : fmt::format("by {} left\n    {}\n  {}", name, words_of(queue.front()), why));
    queue.pop_front();
  }
}

void CaseRun::expect_packet(const Statement& s, std::uint16_t port, std::string_view text) {
  if (text == "nothing") return check_frames(s, port, text, true, {}, {});
  if (text == "same") {
    if (!last_) stop(s.rest_where, "nothing was sent");
    return check_frames(s, port, "the packets sent", true, last_->frames, {});
  }
  if (text.starts_with("like ")) {
    const auto wanted = book_.layers(text.substr(5), s.rest_where);
    if (!wanted) stop(wanted.error());
    return check_frames(s, port, text, false, {}, *wanted);
  }
  const auto wanted = book_.frames(text, s.rest_where);
  if (!wanted) stop(wanted.error());
  check_frames(s, port, text, true, *wanted, {});
}

void CaseRun::expect_event(const Statement& s, std::string_view text) {
  const std::vector<std::string> words = split_words(text);
  auto& events = machine_->events();
  const auto found =
      std::ranges::find_if(events, [&](const auto& e) { return compare_event(e, words).empty(); });
  if (found != events.end()) {
    events.erase(found);
    return;
  }
  std::string came;
  for (const auto& e : events)
    came += fmt::format("\n    {}   [{}]", e.dump(), compare_event(e, words));
  fail(s.where, fmt::format("no such event; there are{}", came.empty() ? " none" : came));
}

void CaseRun::expect_no_event(const Statement& s, std::string_view text) {
  const std::vector<std::string> words = split_words(text);
  for (const auto& e : machine_->events())
    if (compare_event(e, words).empty()) fail(s.where, "there is such an event: " + e.dump());
}

void CaseRun::expect_drop(const Statement& s, std::string_view text) {
  const std::string reason = take_word(text);
  name_reason(s, reason);
  const std::uint64_t have = drop_count(reason);
  if (text.empty() ? have == 0 : std::to_string(have) != text)
    fail(s.where, fmt::format("expected {} drops with {}, came {}", text.empty() ? "some" : text,
                              reason, have));
}

void CaseRun::expect_counter(const Statement& s, std::string_view text) {
  const std::string name = take_word(text);
  const auto values = counter_values(machine_->totals(), machine_->gauges());
  const auto found = values.find(name);
  if (found == values.end()) stop(s.rest_where, fmt::format("there is no counter \"{}\"", name));
  if (std::to_string(found->second) != text)
    fail(s.where, fmt::format("expected {} {}, came {}", name, text, found->second));
}

std::vector<control::SessionRow> CaseRun::list_sessions(const client::SessionFilter& filter) {
  std::vector<control::SessionRow> all, rows;
  for (const auto cursor = machine_->view().sessions(filter); cursor->next(rows);)
    std::ranges::move(rows, std::back_inserter(all));
  return all;
}

// "FILTER [packets=A/B] [bytes=A/B] [out=PORT] [count=N]": at least one, or just N sessions that
// have all this.
void CaseRun::expect_session(const Statement& s, std::string_view text) {
  std::string filter_text;
  std::vector<std::pair<std::string, std::string>> further;
  std::optional<std::uint64_t> count;
  const auto known = row_values({});
  for (const std::string& word : split_words(text)) {
    const auto equals = word.find('=');
    const std::string key = word.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
    if (key == "count") {
      count = number_of(value);
    } else if (known.contains(key)) {
      further.emplace_back(key, value);
    } else {
      filter_text += (filter_text.empty() ? "" : " ") + word;
    }
  }
  const auto filter = client::parse_session_filter(filter_text);
  if (!filter) stop(filter.error());
  std::uint64_t matching = 0;
  std::string others;
  for (const control::SessionRow& row : list_sessions(*filter)) {
    const auto values = row_values(row);
    const bool fits =
        std::ranges::all_of(further, [&](const auto& f) { return values.at(f.first) == f.second; });
    matching += fits ? 1 : 0;
    if (fits) continue;
    for (const auto& f : further)
      others += fmt::format("\n    {} has {}={}", describe(row), f.first, values.at(f.first));
  }
  if (count ? matching == *count : matching != 0) return;
  for (const control::SessionRow& row : list_sessions({}))
    if (others.size() < 2000) others += "\n    " + describe(row);
  fail(s.where, fmt::format("expected {} such session(s), came {}; there are{}",
                            count ? std::to_string(*count) : "some", matching,
                            others.empty() ? " none" : others));
}

void CaseRun::expect_sessions(const Statement& s, std::string_view text) {
  const auto rows = list_sessions({});
  if (std::to_string(rows.size()) == text) return;
  std::string all;
  for (std::size_t n = 0; n < std::min<std::size_t>(rows.size(), 10); ++n)
    all += "\n    " + describe(rows[n]);
  fail(s.where, fmt::format("expected {} sessions, came {}{}", text, rows.size(), all));
}

// "ID hits=N packets=N bytes=N sessions=N limit_drops=N state=WORD".
void CaseRun::expect_rule(const Statement& s, std::string_view text) {
  const std::string id = take_word(text);
  for (const control::RuleStatus& r : machine_->view().rules()) {
    if (r.id != id) continue;
    const std::map<std::string, std::string> have = {{"hits", std::to_string(r.hits)},
                                                     {"packets", std::to_string(r.packets)},
                                                     {"bytes", std::to_string(r.bytes)},
                                                     {"sessions", std::to_string(r.sessions)},
                                                     {"limit_drops", std::to_string(r.limit_drops)},
                                                     {"state", r.state}};
    for (const std::string& word : split_words(text)) {
      const auto equals = word.find('=');
      const auto found = have.find(word.substr(0, equals));
      if (found == have.end()) stop(s.rest_where, fmt::format("a rule has no \"{}\"", word));
      if (found->second != word.substr(equals + 1))
        fail(s.where, fmt::format("expected {}, came {}={}", word, found->first, found->second));
    }
    return;
  }
  fail(s.where, fmt::format("there is no rule \"{}\"", id));
}

void CaseRun::expect_link(const Statement& s, std::string_view text) {
  const std::uint16_t port = port_of(s, take_word(text));
  const bool is_up = machine_->port(port).is_peer_told_up();
  if (text != (is_up ? "up" : "down"))
    fail(s.where, fmt::format("expected the far side to see the link {}, it sees it {}", text,
                              is_up ? "up" : "down"));
}

// "NAME{LABELS} VALUE", as in the exposition.
void CaseRun::expect_metric(const Statement& s, std::string_view text) {
  const std::string all = "\n" + machine_->view().metrics_text();
  if (all.find(fmt::format("\n{}\n", text)) != std::string::npos) return;
  const std::string_view name = text.substr(0, text.find(' '));
  const std::size_t at = all.find(fmt::format("\n{} ", name));
  fail(s.where,
       fmt::format("expected {}, came {}", text,
                   at == std::string::npos ? "no such metric"
                                           : all.substr(at + 1, all.find('\n', at + 1) - at - 1)));
}

void CaseRun::do_expect(const Statement& s) {
  using Expectation = void (CaseRun::*)(const Statement&, std::string_view);
  static const std::map<std::string, Expectation> kinds = {
      {"event", &CaseRun::expect_event},       {"drop", &CaseRun::expect_drop},
      {"counter", &CaseRun::expect_counter},   {"session", &CaseRun::expect_session},
      {"sessions", &CaseRun::expect_sessions}, {"rule", &CaseRun::expect_rule},
      {"link", &CaseRun::expect_link},         {"metric", &CaseRun::expect_metric}};
  std::string_view text = s.rest;
  const std::string first = take_word(text);
  if (first == "no" && take_word(text) == "event") return expect_no_event(s, text);
  if (first == "revision") {
    if (const auto n = machine_->lifecycle().running_revision(); std::to_string(n) != text)
      fail(s.where, fmt::format("expected revision {}, running is {}", text, n));
    return;
  }
  if (const auto found = kinds.find(first); found != kinds.end())
    return (this->*found->second)(s, text);
  if (const std::uint16_t port = machine_->find_port(first); port != base::kNoPort)
    return expect_packet(s, port, text);
  stop(s.rest_where,
       fmt::format(
           "\"{}\" is neither a port nor one of event, no event, drop, counter, session, sessions, "
           "rule, link, metric, revision",
           first));
}

}  // namespace merlon::cases
