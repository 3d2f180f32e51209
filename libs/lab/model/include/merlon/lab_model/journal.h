// SPDX-License-Identifier: Apache-2.0
#pragma once
// The journal: what happened in a run, as it happens, one JSON record per line, append-only. A run
// that was killed is rebuilt from it and goes on; a finished one equals result.json. Files are
// untrusted input.
//
// Each line: {"n": 0, 1, 2, ..., "record": kind, ...}. Kinds: run (first: the run without rows and
// trials, plan_hash, versions), environment, calibration, row (added), row_state, row_result (the
// row as it ended), row_setup, decision, trial, finding, resume, end. A line counts when its
// newline is there.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "merlon/base/result.h"
#include "merlon/lab_model/json.h"
#include "merlon/lab_model/run.h"

namespace merlon::lab {

// Why the search of a row measured what it measured.
struct JournalDecision {
  std::string row;
  std::string trial;  // id it led to; empty: the end of the search
  double load_pps = 0, duration_s = 0;
  Text why;
};

struct Journal {
  Run run;                // rebuilt; is_partial until an "end" record
  std::string plan_hash;  // of the plan that the run follows; a resume compares it
  std::vector<JournalDecision> decisions;
  std::uint64_t record_count = 0;
  std::uint64_t size = 0;  // bytes of whole records; what follows them was torn
  unsigned resume_count = 0;
  bool is_finished = false;
  std::vector<Text> notes;  // what was dropped, and why
};

// Survives a torn last line: it is dropped and noted, and when even the first is torn the error is
// kNotFound
// ("nothing was recorded"). Damage before the last line is an error with its line (Error::where),
// since to go on behind a gap would be silently wrong; so are records out of order, unknown rows
// and repeated ids.
base::Result<Journal> journal_from_text(std::string_view text, const ReadLimits& limits = {});
base::Result<Journal> read_journal(const std::string& path, const ReadLimits& limits = {});

// Appends. control-only, one writer per file (an flock keeps a second one out: kConflict). A record
// is written whole at once, so that it survives kill -9; sync() makes it survive a power cut. The
// first failure (disk full) cuts the half line off, is kept, and is the answer of every later call:
// a journal with a gap would be no journal.
class JournalWriter {
 public:
  // kConflict when the file exists. Rows, trials, calibrations and findings of `run` are not
  // written.
  static base::Result<JournalWriter> create(const std::string& path, const Run& run,
                                            const std::string& plan_hash);
  // Goes on behind what read_journal() gave; cuts what was torn. kConflict when the file has
  // changed since.
  static base::Result<JournalWriter> resume(const std::string& path, const Journal& journal,
                                            double now);

  JournalWriter(JournalWriter&&) noexcept;
  JournalWriter& operator=(JournalWriter&&) noexcept;
  ~JournalWriter();  // syncs

  base::Result<void> environment(const Environment& environment);
  base::Result<void> calibration(const Calibration& calibration);
  base::Result<void> row(const Row& row);
  base::Result<void> row_state(const std::string& row, RowState state, const Text& reason);
  base::Result<void> row_result(const Row& row);
  // Its commands, chain and device's configuration, as soon as they are known: a row all of whose
  // trials are in the journal is not set up again.
  base::Result<void> row_setup(const Row& row);
  base::Result<void> decision(const JournalDecision& decision);
  base::Result<void> trial(const TrialResult& trial);
  base::Result<void> finding(const Finding& finding);
  base::Result<void> end(double finished, bool is_partial, const Text& reason);

  // After each batch of records that belong together.
  base::Result<void> sync();
  // What went wrong first; nothing is written after it.
  [[nodiscard]] const std::optional<base::Error>& error() const noexcept;

 private:
  struct State;
  explicit JournalWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace merlon::lab
