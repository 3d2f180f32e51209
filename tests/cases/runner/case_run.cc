// SPDX-License-Identifier: Apache-2.0
// Reading a case and its actions.
#include "case_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "merlon/client/packet_words.h"

namespace merlon::cases {
namespace {

using base::SourcePos;

std::string place(const SourcePos& p) { return fmt::format("{}:{}:{}", p.file, p.line, p.column); }

std::optional<std::string> read_file(const std::string& path) {
  const std::ifstream in(path);
  if (!in) return std::nullopt;
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// "2026-12-01T12:00:00Z": a Tuesday.
constexpr base::Nanos kStart = 1'796'126'400LL * base::kNanosPerSecond;

}  // namespace

CaseRun::CaseRun(std::string folder, RunSettings settings)
    : folder_(std::move(folder)), settings_(std::move(settings)) {
  machine_settings_.config_file = folder_ + "/config.yaml";
  machine_settings_.store_directory = settings_.scratch + "/store";
  machine_settings_.workers = settings_.workers;
  machine_settings_.start = kStart;
}

void CaseRun::fail(const SourcePos& where, std::string message) {
  result_.failures.push_back(place(where) + ": " + std::move(message));
}

void CaseRun::stop(const SourcePos& where, std::string message) const {
  throw Stop(place(where) + ": " + std::move(message));
}

void CaseRun::stop(const base::Error& error) const { throw Stop(error.to_string()); }

CaseResult CaseRun::run() {
  try {
    const std::string file = folder_ + "/case.txt";
    const auto text = read_file(file);
    if (!text) throw Stop(file + ": can't be read");
    const auto about = read_file(folder_ + "/about.md");
    if (!about || trim(*about).empty())
      throw Stop(folder_ + "/about.md: says what the case is for, and is missing");
    auto script = parse_script(*text, file);
    if (!script) stop(script.error());
    read_settings(*script);
    if (result_.is_skipped) return std::move(result_);
    start();
    run_block(*script);
    finish();
  } catch (const Stop& e) {
    result_.failures.emplace_back(e.what());
  }
  return std::move(result_);
}

// Statements in front of all others that say how the machine is made.
void CaseRun::read_settings(std::vector<Statement>& script) {
  constexpr std::string_view kSettings[] = {"config", "clock", "workers", "link-layer", "gap"};
  const auto is_setting = [&](const Statement& s) {
    return std::ranges::find(kSettings, s.keyword) != std::end(kSettings);
  };
  const auto first = std::ranges::find_if_not(script, is_setting);
  for (auto it = script.begin(); it != first; ++it) read_setting(*it);
  for (auto it = first; it != script.end(); ++it)
    if (is_setting(*it))
      stop(it->where, fmt::format("\"{}\" belongs to the top of the case", it->keyword));
  script.erase(script.begin(), first);
}

void CaseRun::read_setting(const Statement& s) {
  if (s.keyword == "config") {
    machine_settings_.config_file = folder_ + "/" + s.rest;
  } else if (s.keyword == "clock") {
    machine_settings_.start = parse_time(s.rest);
    if (machine_settings_.start < 0) stop(s.rest_where, "write the time as 2026-12-01T12:00:00Z");
  } else if (s.keyword == "gap") {
    result_.gap = s.rest;
  } else if (s.keyword == "workers") {
    if (s.rest != "1")
      stop(s.rest_where, "only \"workers 1\" is known: the case is for one worker");
    result_.is_skipped = settings_.workers != 1;
  } else {
    const std::vector<std::string> words = split_words(s.rest);
    const std::map<std::string, io::LinkType> types = {{"raw", io::LinkType::kRaw},
                                                       {"cooked", io::LinkType::kLinuxCooked1},
                                                       {"cooked2", io::LinkType::kLinuxCooked2},
                                                       {"null", io::LinkType::kNull},
                                                       {"ppp", io::LinkType::kPpp}};
    if (words.size() != 2 || !types.contains(words[1]))
      stop(s.rest_where, "write: link-layer PORT raw|cooked|cooked2|null|ppp");
    machine_settings_.link_types[words[0]] = types.at(words[1]);
  }
}

void CaseRun::start() {
  auto machine = Machine::start(machine_settings_);
  if (!machine) stop(machine.error());
  machine_ = std::move(*machine);
  pending_.resize(machine_->port_count());
}

void CaseRun::finish() {
  const Statement end{
      .keyword = {}, .rest = {}, .where = last_where_, .rest_where = last_where_, .body = {}};
  check_nothing_left(end, "at the end of the case");
  for (unsigned r = 1; r < base::kDropReasonCount; ++r) {
    const std::string reason(base::drop_reason_name(static_cast<base::DropReason>(r)));
    if (const auto n = drop_count(reason); n != 0 && !result_.reasons.contains(reason))
      fail(last_where_,
           fmt::format("{} packets were dropped with {}, of which the case says nothing", n,
                       reason));
  }
  if (const std::string why = machine_->finish(); !why.empty()) fail(last_where_, why);
}

CaseRun::Action CaseRun::find_action(const std::string& keyword) {
  static const std::map<std::string, Action> kActions = {
      {"include", &CaseRun::do_include},   {"let", &CaseRun::do_let},
      {"fragment", &CaseRun::do_fragment}, {"send", &CaseRun::do_send},
      {"pass", &CaseRun::do_pass},         {"drop", &CaseRun::do_drop},
      {"hold", &CaseRun::do_hold},         {"repeat", &CaseRun::do_repeat},
      {"together", &CaseRun::do_together}, {"advance", &CaseRun::do_advance},
      {"commit", &CaseRun::do_commit},     {"preview", &CaseRun::do_preview},
      {"rollback", &CaseRun::do_rollback}, {"confirm", &CaseRun::do_confirm},
      {"clear", &CaseRun::do_clear},       {"link", &CaseRun::do_link},
      {"explain", &CaseRun::do_explain},   {"ignore", &CaseRun::do_ignore},
      {"expect", &CaseRun::do_expect}};
  const auto found = kActions.find(keyword);
  return found == kActions.end() ? nullptr : found->second;
}

void CaseRun::run_block(const std::vector<Statement>& block) {
  for (const Statement& s : block) run_one(s);
}

void CaseRun::run_one(const Statement& raw) {
  constexpr std::size_t kMaxFailures = 5;
  last_where_ = raw.where;
  const Action action = find_action(raw.keyword);
  if (action == nullptr)
    stop(raw.where,
         fmt::format("there is no statement \"{}\" (docs/test-cases.md lists them)", raw.keyword));
  Statement s = raw;
  auto rest = expand_numbers(raw.rest, variables_, raw.rest_where);
  if (!rest) stop(rest.error());
  s.rest = std::move(*rest);
  const bool is_act = s.keyword != "expect" && s.keyword != "let" && s.keyword != "fragment" &&
                      s.keyword != "ignore" && s.keyword != "include" && s.keyword != "repeat";
  if (is_act && !is_together_) check_nothing_left(s, "before this statement");
  (this->*action)(s);
  if (result_.failures.size() >= kMaxFailures) throw Stop("further failures are not told");
}

std::uint16_t CaseRun::port_of(const Statement& s, const std::string& name) {
  const std::uint16_t port = machine_->find_port(name);
  if (port == base::kNoPort) stop(s.rest_where, fmt::format("there is no port \"{}\"", name));
  return port;
}

// "PORT [cut=N] PACKET", PACKET being `again` for what was sent last.
CaseRun::Frames CaseRun::read_frames(const Statement& s, std::string_view text) {
  const std::string_view before = text;
  Frames f{.port = port_of(s, take_word(text)), .frames = {}};
  if (text.starts_with("cut=")) {
    const std::string word = take_word(text);
    if (std::from_chars(word.data() + 4, word.data() + word.size(), f.captured).ec != std::errc{})
      stop(s.rest_where, "write cut=BYTES");
  }
  if (text == "again") {
    if (!last_) stop(s.rest_where, "nothing was sent that could be sent again");
    f.frames = last_->frames;
    return f;
  }
  SourcePos where = s.rest_where;
  where.column +=
      static_cast<unsigned>(s.rest.size() - before.size() + (before.size() - text.size()));
  auto frames = book_.frames(text, where);
  if (!frames) stop(frames.error());
  f.frames = std::move(*frames);
  return f;
}

void CaseRun::send_frames(const Frames& f, const Statement& s) {
  for (const Frame& frame : f.frames) {
    const auto whole = static_cast<std::uint32_t>(frame.size());
    const std::size_t kept =
        f.captured != 0 ? std::min<std::size_t>(f.captured, frame.size()) : frame.size();
    if (!machine_->inject(f.port, base::ByteSpan(frame).first(kept), whole))
      stop(s.where, "the port did not take the packet: its link is down or its queue is full");
  }
  last_ = f;
  if (is_together_) return;
  machine_->turn();
  collect();
}

void CaseRun::collect() {
  for (std::uint16_t p = 0; p < machine_->port_count(); ++p)
    for (io::RingFrame& frame : machine_->port(p).take())
      if (!ignored_.contains(p)) pending_[p].push_back(std::move(frame.bytes));
}

// Statements that several cases share.
void CaseRun::do_include(const Statement& s) {
  const std::string file = folder_ + "/" + s.rest;
  const auto text = read_file(file);
  if (!text) stop(s.rest_where, fmt::format("{} can't be read", file));
  const auto script = parse_script(*text, file);
  if (!script) stop(script.error());
  run_block(*script);
}

void CaseRun::do_let(const Statement& s) {
  std::string_view text = s.rest;
  const std::string name = take_word(text);
  if (take_word(text) != "=") stop(s.rest_where, "write: let NAME = PACKET");
  if (auto done = book_.let(name, text, s.rest_where); !done) stop(done.error());
}

void CaseRun::do_fragment(const Statement& s) {
  const std::string_view text = s.rest;
  const std::size_t equals = text.find(" = ");
  if (equals == std::string_view::npos)
    stop(s.rest_where, "write: fragment NAME mtu=N [id=N] = PACKET");
  const std::vector<std::string> words = split_words(text.substr(0, equals));
  unsigned mtu = 0;
  std::uint32_t id = 1;
  for (std::size_t n = 1; n < words.size(); ++n) {
    const char* const end = words[n].data() + words[n].size();
    if (words[n].starts_with("mtu=")) std::from_chars(words[n].data() + 4, end, mtu);
    if (words[n].starts_with("id=")) std::from_chars(words[n].data() + 3, end, id);
  }
  if (words.empty() || mtu == 0) stop(s.rest_where, "write: fragment NAME mtu=N [id=N] = PACKET");
  if (auto done = book_.fragment(words[0], mtu, id, text.substr(equals + 3), s.rest_where); !done)
    stop(done.error());
}

void CaseRun::do_send(const Statement& s) { send_frames(read_frames(s, s.rest), s); }

// Explain and the way of a packet have to agree.
void CaseRun::check_foretold(const Statement& s, std::uint16_t port, const Frame& frame,
                             std::string_view outcome) {
  const auto reason = machine_->foretell(port, frame);
  if (reason && base::drop_reason_name(*reason) != outcome)
    fail(s.where, fmt::format("explain foretells {}, the case expects {}",
                              base::drop_reason_name(*reason), outcome));
}

// Each packet leaves as it came, through the other port of the wire, and nothing else happens.
void CaseRun::do_pass(const Statement& s) {
  const Frames all = read_frames(s, s.rest);
  const std::uint16_t out = machine_->peer(all.port);
  for (const Frame& frame : all.frames) {
    const std::uint64_t drops = all_drops();
    if (all.captured == 0) check_foretold(s, all.port, frame, "none");
    send_frames({.port = all.port, .frames = {frame}, .captured = all.captured}, s);
    if (all_drops() != drops) {
      std::string reasons;
      for (const auto& d : machine_->view().drops())
        reasons += fmt::format(" {}", base::drop_reason_name(d.reason));
      fail(s.where, fmt::format("the packet should have passed but was dropped (reasons so far:{})",
                                reasons));
      for (auto& queue : pending_) queue.clear();
      return;
    }
    if (out == base::kNoPort) continue;
    const std::size_t kept =
        all.captured != 0 ? std::min<std::size_t>(all.captured, frame.size()) : frame.size();
    check_frames(s, out, "the same packet", true,
                 {Frame(frame.begin(), frame.begin() + static_cast<long>(kept))}, {});
  }
}

// "REASON PORT PACKET": one more packet is dropped, for this reason, and nothing leaves by the far
// port.
void CaseRun::do_drop(const Statement& s) {
  std::string_view text = s.rest;
  const std::string reason = take_word(text);
  name_reason(s, reason);
  const Frames all = read_frames(s, text);
  const std::uint16_t out = machine_->peer(all.port);
  for (const Frame& frame : all.frames) {
    const std::uint64_t before = drop_count(reason), before_all = all_drops();
    if (all.captured == 0) check_foretold(s, all.port, frame, reason);
    send_frames({.port = all.port, .frames = {frame}, .captured = all.captured}, s);
    const std::uint64_t of_reason = drop_count(reason) - before, of_all = all_drops() - before_all;
    if (of_reason != 1 || of_all != 1) {
      std::string counts;
      for (const auto& d : machine_->view().drops())
        counts += fmt::format(" {}={}", base::drop_reason_name(d.reason), d.packets);
      fail(s.where,
           fmt::format("expected one packet dropped with {}, came {} of {} drops (so far:{})",
                       reason, of_reason, of_all, counts.empty() ? " none" : counts));
    }
    if (out != base::kNoPort) check_frames(s, out, "nothing", true, {}, {});
  }
}

// The packet neither leaves nor is dropped: a fragment that waits.
void CaseRun::do_hold(const Statement& s) {
  const std::uint64_t drops = all_drops();
  const std::uint32_t held = machine_->gauges().fragments_held;
  const Frames all = read_frames(s, s.rest);
  send_frames(all, s);
  if (all_drops() != drops || machine_->gauges().fragments_held != held + all.frames.size())
    fail(s.where,
         fmt::format("expected the packet to be held, came {} drops and {} held fragments more",
                     all_drops() - drops, machine_->gauges().fragments_held - held));
}

void CaseRun::do_repeat(const Statement& s) {
  const std::vector<std::string> words = split_words(s.rest);
  long long count = 0;
  const bool has_name = words.size() == 3 && words[1] == "as";
  if ((words.size() != 1 && !has_name) ||
      std::from_chars(words[0].data(), words[0].data() + words[0].size(), count).ec != std::errc{})
    stop(s.rest_where, "write: repeat COUNT [as NAME] {");
  const std::string name = has_name ? words[2] : "i";
  for (long long n = 0; n < count; ++n) {
    variables_[name] = n;
    run_block(s.body);
  }
  variables_.erase(name);
}

// All packets of the block arrive at once, in one burst per port.
void CaseRun::do_together(const Statement& s) {
  is_together_ = true;
  run_block(s.body);
  is_together_ = false;
  machine_->turn();
  collect();
}

void CaseRun::do_advance(const Statement& s) {
  const long long by = parse_duration(s.rest);
  if (by < 0) stop(s.rest_where, "write a duration: 250ms, 30s, 5m, 2h, 1d");
  machine_->advance(by);
  collect();
}

// "FILE [confirm=5m]" and, behind ->, `error TEXT`, `warning TEXT` or `unchanged`.
void CaseRun::do_commit(const Statement& s) {
  const std::size_t arrow = s.rest.find("->");
  std::vector<std::string> words = split_words(s.rest.substr(0, arrow));
  std::string_view wanted = arrow == std::string::npos
                                ? std::string_view()
                                : trim(std::string_view(s.rest).substr(arrow + 2));
  base::Nanos confirm = 0;
  if (words.size() == 2 && words[1].starts_with("confirm="))
    confirm = parse_duration(words[1].substr(8));
  if (words.empty() || confirm < 0)
    stop(s.rest_where, "write: commit FILE [confirm=DURATION] [-> error \"TEXT\"]");
  const control::CommitOutcome outcome = machine_->commit(folder_ + "/" + words[0], confirm);
  collect();
  const std::string kind = take_word(wanted);
  const std::string text = wanted.empty() ? "" : split_words(wanted).front();
  const auto join = [](const base::Errors& list) {
    std::string all;
    for (const base::Error& e : list) all += (all.empty() ? "" : "; ") + e.to_string();
    return all;
  };
  const std::string errors = join(outcome.errors), warnings = join(outcome.warnings);
  if (kind == "error") {
    if (outcome.ok() || errors.find(text) == std::string::npos)
      fail(s.where, fmt::format("expected an error with \"{}\", came: {}", text,
                                outcome.ok() ? "success" : errors));
    return;
  }
  if (!outcome.ok()) fail(s.where, "the commit was refused: " + errors);
  if (kind == "unchanged" && outcome.report && !outcome.report->is_unchanged)
    fail(s.where, "the commit should have changed nothing");
  if (kind == "warning" && warnings.find(text) == std::string::npos)
    fail(s.where, fmt::format("expected a warning with \"{}\", came: {}", text, warnings));
}

// "FILE -> examined=N dropped=N kept=N changed=N changes=N".
void CaseRun::do_preview(const Statement& s) {
  const std::size_t arrow = s.rest.find("->");
  if (arrow == std::string::npos) stop(s.rest_where, "write: preview FILE -> dropped=N kept=N");
  const control::PreviewReport report =
      machine_->preview(folder_ + "/" + std::string(trim(s.rest.substr(0, arrow))));
  if (!report.effect)
    stop(s.where, "the candidate is refused: " + (report.check.errors.empty()
                                                      ? std::string("no effect")
                                                      : report.check.errors.front().to_string()));
  const std::map<std::string, std::uint64_t> have = {{"examined", report.effect->examined},
                                                     {"dropped", report.effect->dropped},
                                                     {"kept", report.effect->kept},
                                                     {"changed", report.effect->changed_rule},
                                                     {"changes", report.changes.size()}};
  for (const std::string& word : split_words(s.rest.substr(arrow + 2))) {
    const auto equals = word.find('=');
    const auto found = have.find(word.substr(0, equals));
    if (equals == std::string::npos || found == have.end())
      stop(s.rest_where,
           fmt::format("\"{}\" is not one of examined, dropped, kept, changed, changes", word));
    if (std::to_string(found->second) != word.substr(equals + 1))
      fail(s.where, fmt::format("expected {}, came {}={}", word, found->first, found->second));
  }
}

void CaseRun::do_rollback(const Statement& s) {
  std::uint64_t number = 0;
  std::from_chars(s.rest.data(), s.rest.data() + s.rest.size(), number);
  const control::CommitOutcome outcome = machine_->lifecycle().rollback(
      number, {.author = "case", .comment = {}, .expected_revision = {}});
  for (const base::Error& e : outcome.errors)
    fail(s.where, "the roll back was refused: " + e.to_string());
  machine_->turn();
}

void CaseRun::do_confirm(const Statement& s) {
  if (auto done = machine_->lifecycle().confirm("case"); !done)
    fail(s.where, done.error().to_string());
}

// "FILTER [-> N]".
void CaseRun::do_clear(const Statement& s) {
  const std::size_t arrow = s.rest.find("->");
  const auto filter = client::parse_session_filter(trim(std::string_view(s.rest).substr(0, arrow)));
  if (!filter) stop(filter.error());
  const auto cleared = machine_->view().clear_sessions(*filter, "case");
  if (!cleared) stop(cleared.error());
  machine_->turn();
  if (arrow == std::string::npos) return;
  const std::string wanted(trim(std::string_view(s.rest).substr(arrow + 2)));
  if (std::to_string(*cleared) != wanted)
    fail(s.where, fmt::format("expected {} sessions cleared, came {}", wanted, *cleared));
}

void CaseRun::do_link(const Statement& s) {
  const std::vector<std::string> words = split_words(s.rest);
  if (words.size() != 2 || (words[1] != "up" && words[1] != "down"))
    stop(s.rest_where, "write: link PORT up|down");
  machine_->set_carrier(port_of(s, words[0]), words[1] == "up");
}

// "PACKET WORDS -> verdict=V reason=R rule=ID session=TEXT ...".
void CaseRun::do_explain(const Statement& s) {
  const std::size_t arrow = s.rest.find("->");
  if (arrow == std::string::npos)
    stop(s.rest_where, "write: explain IN SRC DST PROTO ... -> verdict=V");
  const auto words = client::parse_packet_words(split_words(s.rest.substr(0, arrow)));
  if (!words) stop(words.error());
  const auto told = control::explain_packet(machine_->runtime(), *words, machine_->now());
  if (!told) stop(told.error());
  std::map<std::string, std::string> have = {
      {"verdict", told->verdict},
      {"reason", std::string(base::drop_reason_name(told->reason))},
      {"rule", told->rule},
      {"session", told->session},
      {"action", told->action},
      {"zone_in", told->zone_in},
      {"zone_out", told->zone_out},
      {"port_out", told->port_out},
      {"before", std::to_string(told->before)}};
  for (const auto& [stage, text] : told->notes) have.try_emplace(stage, text);
  for (const std::string& word : split_words(s.rest.substr(arrow + 2))) {
    const auto equals = word.find('=');
    const std::string wanted = equals == std::string::npos ? "" : word.substr(equals + 1);
    const auto found = have.find(word.substr(0, equals));
    if (found == have.end() && wanted == "absent") continue;
    if (equals == std::string::npos || found == have.end())
      stop(s.rest_where, fmt::format("explain does not tell \"{}\"", word));
    if (found->second != wanted && wanted != "*")
      fail(s.where, fmt::format("expected {}, came {}={}", word, found->first, found->second));
  }
}

void CaseRun::do_ignore(const Statement& s) {
  const std::uint16_t port = port_of(s, s.rest);
  ignored_.insert(port);
  pending_[port].clear();
}

}  // namespace merlon::cases
