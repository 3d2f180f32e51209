// SPDX-License-Identifier: Apache-2.0
#pragma once
// The run's book: every event goes to the journal first and into the Run after that, so the run can
// always be rebuilt. Holds the lock of the output folder. control-only; each entry costs one write
// and fsync.
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "merlon/base/result.h"
#include "merlon/lab_model/journal.h"
#include "merlon/lab_model/run.h"
#include "merlon/lab_search/search.h"

namespace merlon::lab {

// An exclusive lock on a folder, held by the process; the kernel drops it whatever happens to us.
class FolderLock {
 public:
  // kConflict when another laboratory works there.
  static base::Result<FolderLock> take(const std::filesystem::path& folder);
  FolderLock(FolderLock&& other) noexcept;
  FolderLock& operator=(FolderLock&&) = delete;
  ~FolderLock();

 private:
  explicit FolderLock(int fd) : fd_(fd) {}
  int fd_ = -1;
};

class Book {
 public:
  // A new journal; kConflict when the folder has one already.
  static base::Result<std::unique_ptr<Book>> create(const std::filesystem::path& folder, Run header,
                                                    const std::string& plan_hash);
  // Goes on with the journal that is there; kConflict when it belongs to another plan.
  static base::Result<std::unique_ptr<Book>> resume(const std::filesystem::path& folder,
                                                    const std::string& plan_hash, double now);

  [[nodiscard]] Run& run() noexcept { return run_; }
  // The trial of that id when it was finished, by this or an earlier session.
  [[nodiscard]] const TrialResult* finished(const std::string& id) const;
  [[nodiscard]] Row* row(const std::string& id);
  // What reading an interrupted journal had to leave out; empty when it was whole.
  [[nodiscard]] const std::vector<Text>& notes() const noexcept { return notes_; }

  base::Result<void> add_row(Row row);
  // The row as it stands in run(), state included.
  base::Result<void> row_state(const Row& row);
  // How its device was set up, as it stands in run().
  base::Result<void> row_setup(const Row& row) { return journal_.row_setup(row); }
  base::Result<void> trial(TrialResult result);
  // `number` counts the row's decisions from 1: those that an earlier session took are in the
  // journal already.
  base::Result<void> decision(const std::string& row, unsigned number, const Decision& decision);
  base::Result<void> calibration(Calibration calibration);
  base::Result<void> finding(Finding finding);
  base::Result<void> end(bool is_partial, const Text& reason, double now);

 private:
  Book(FolderLock lock, Run run, JournalWriter journal);

  FolderLock lock_;
  Run run_;
  JournalWriter journal_;
  std::map<std::string, std::size_t> trials_;  // id -> place in run_.trials
  std::map<std::string, unsigned> decisions_;  // row -> decisions that the journal has
  std::vector<Text> notes_;
};

}  // namespace merlon::lab
