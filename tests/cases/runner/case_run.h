// SPDX-License-Identifier: Apache-2.0
#pragma once
// One case from its folder to its result: reads case.txt, drives the machine statement by
// statement, compares. docs/test-cases.md is the reference of the language. One thread.
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "machine.h"
#include "packets.h"
#include "script.h"

namespace merlon::cases {

struct CaseResult {
  std::string gap;                    // known not to hold, and why; then it has to fail
  bool is_skipped = false;            // made for one worker only
  std::vector<std::string> failures;  // "file:line: what"
  std::set<std::string> reasons;      // drop reasons that the case names
};

struct RunSettings {
  unsigned workers = 1;
  std::string scratch;  // folder for stores
};

class CaseRun {
 public:
  CaseRun(std::string folder, RunSettings settings);
  CaseResult run();

 private:
  // The script is wrong or goes no further: ends the case. Expectations that fail don't throw.
  struct Stop : std::runtime_error {
    using std::runtime_error::runtime_error;
  };
  struct Frames {
    std::uint16_t port;
    std::vector<Frame> frames;
    std::uint32_t captured = 0;  // 0: whole
  };
  using Action = void (CaseRun::*)(const Statement&);

  void read_settings(std::vector<Statement>& script);
  void read_setting(const Statement& s);
  void start();
  void finish();
  void run_block(const std::vector<Statement>& block);
  void run_one(const Statement& s);
  static Action find_action(const std::string& keyword);

  // Actions (case_run.cc)
  void do_include(const Statement& s);
  void do_let(const Statement& s);
  void do_fragment(const Statement& s);
  void do_send(const Statement& s);
  void do_pass(const Statement& s);
  void do_drop(const Statement& s);
  void do_hold(const Statement& s);
  void do_repeat(const Statement& s);
  void do_together(const Statement& s);
  void do_advance(const Statement& s);
  void do_commit(const Statement& s);
  void do_preview(const Statement& s);
  void do_rollback(const Statement& s);
  void do_confirm(const Statement& s);
  void do_clear(const Statement& s);
  void do_link(const Statement& s);
  void do_explain(const Statement& s);
  void do_ignore(const Statement& s);

  // Expectations (case_expect.cc)
  void do_expect(const Statement& s);
  void expect_packet(const Statement& s, std::uint16_t port, std::string_view text);
  void expect_event(const Statement& s, std::string_view text);
  void expect_no_event(const Statement& s, std::string_view text);
  void expect_drop(const Statement& s, std::string_view text);
  void expect_counter(const Statement& s, std::string_view text);
  void expect_session(const Statement& s, std::string_view text);
  void expect_sessions(const Statement& s, std::string_view text);
  void expect_rule(const Statement& s, std::string_view text);
  void expect_link(const Statement& s, std::string_view text);
  void expect_metric(const Statement& s, std::string_view text);

  void check_frames(const Statement& s, std::uint16_t port, std::string_view what, bool is_whole,
                    const std::vector<Frame>& wanted, const Layers& partly);
  void check_nothing_left(const Statement& s, std::string_view before);
  void collect();
  void send_frames(const Frames& f, const Statement& s);
  void check_foretold(const Statement& s, std::uint16_t port, const Frame& frame,
                      std::string_view outcome);
  std::uint64_t drop_count(const std::string& reason) const;
  std::uint64_t all_drops() const;
  std::vector<control::SessionRow> list_sessions(const client::SessionFilter& filter);

  std::uint16_t port_of(const Statement& s, const std::string& name);
  Frames read_frames(const Statement& s, std::string_view text);
  void name_reason(const Statement& s, const std::string& reason);
  void fail(const base::SourcePos& where, std::string message);
  [[noreturn]] void stop(const base::SourcePos& where, std::string message) const;
  [[noreturn]] void stop(const base::Error& error) const;

  const std::string folder_;
  const RunSettings settings_;
  MachineSettings machine_settings_;
  std::unique_ptr<Machine> machine_;
  PacketBook book_;
  Variables variables_;
  std::vector<std::deque<Frame>> pending_;  // by port: what left and is not yet expected
  std::set<std::uint16_t> ignored_;
  std::optional<Frames> last_;  // for `again` and `same`
  bool is_together_ = false;
  base::SourcePos last_where_;
  CaseResult result_;
};

// JSON paths and values against an event: "" when all hold, else the first that does not.
std::string compare_event(const nlohmann::json& event, const std::vector<std::string>& words);

}  // namespace merlon::cases
