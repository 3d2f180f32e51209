// SPDX-License-Identifier: Apache-2.0
#include "book.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace merlon::lab {

using base::Errc;
using base::Error;
using base::Result;

namespace {

std::string journal_path(const std::filesystem::path& folder) {
  return (folder / "journal.jsonl").string();
}

}  // namespace

Result<FolderLock> FolderLock::take(const std::filesystem::path& folder) {
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  const std::string path = (folder / ".lock").string();
  const int fd = ::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644);
  if (fd < 0)
    return Error{Errc::kIo,
                 fmt::format("can't write to {}: {}", folder.string(), std::strerror(errno)),
                 {},
                 "choose another folder with --out",
                 {}};
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    ::close(fd);
    return Error{Errc::kConflict,
                 fmt::format("another laboratory works in {}", folder.string()),
                 {},
                 "wait for it, or choose another folder with --out",
                 {}};
  }
  return FolderLock(fd);
}

FolderLock::FolderLock(FolderLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

FolderLock::~FolderLock() {
  if (fd_ >= 0) ::close(fd_);
}

Book::Book(FolderLock lock, Run run, JournalWriter journal)
    : lock_(std::move(lock)), run_(std::move(run)), journal_(std::move(journal)) {}

Result<std::unique_ptr<Book>> Book::create(const std::filesystem::path& folder, Run header,
                                           const std::string& plan_hash) {
  auto lock = FolderLock::take(folder);
  if (!lock) return lock.error();
  auto journal = JournalWriter::create(journal_path(folder), header, plan_hash);
  if (!journal) {
    Error error = journal.error();
    if (error.code == Errc::kConflict)
      error.hint = fmt::format("go on with it: merlon lab run --resume {}", folder.string());
    return error;
  }
  auto book =
      std::unique_ptr<Book>(new Book(std::move(*lock), std::move(header), std::move(*journal)));
  if (auto kept = book->journal_.environment(book->run_.environment); !kept) return kept.error();
  return book;
}

Result<std::unique_ptr<Book>> Book::resume(const std::filesystem::path& folder,
                                           const std::string& plan_hash, double now) {
  if (!std::filesystem::exists(journal_path(folder)))
    return Error{Errc::kNotFound,
                 fmt::format("{} has no journal of a run", folder.string()),
                 {},
                 "--resume wants the folder that an interrupted `merlon lab run` wrote",
                 {}};
  auto lock = FolderLock::take(folder);
  if (!lock) return lock.error();
  auto read = read_journal(journal_path(folder));
  if (!read) return read.error();
  if (read->plan_hash != plan_hash)
    return Error{
        Errc::kConflict,
        fmt::format("{} belongs to another plan, or the plan has changed since", folder.string()),
        {},
        "resume it without naming a plan, or start anew with --out",
        {}};
  auto journal = JournalWriter::resume(journal_path(folder), *read, now);
  if (!journal) return journal.error();
  auto book =
      std::unique_ptr<Book>(new Book(std::move(*lock), std::move(read->run), std::move(*journal)));
  for (std::size_t i = 0; i < book->run_.trials.size(); ++i)
    book->trials_[book->run_.trials[i].spec.id] = i;
  for (const JournalDecision& decision : read->decisions) ++book->decisions_[decision.row];
  book->notes_ = std::move(read->notes);
  return book;
}

const TrialResult* Book::finished(const std::string& id) const {
  const auto found = trials_.find(id);
  return found == trials_.end() ? nullptr : &run_.trials[found->second];
}

Row* Book::row(const std::string& id) {
  for (Row& row : run_.rows)
    if (row.id == id) return &row;
  return nullptr;
}

Result<void> Book::add_row(Row row) {
  if (auto kept = journal_.row(row); !kept) return kept;
  run_.rows.push_back(std::move(row));
  return {};
}

Result<void> Book::row_state(const Row& row) {
  if (auto kept = journal_.row_result(row); !kept) return kept;
  return journal_.sync();
}

Result<void> Book::trial(TrialResult result) {
  if (auto kept = journal_.trial(result); !kept) return kept;
  if (auto kept = journal_.sync(); !kept) return kept;
  trials_[result.spec.id] = run_.trials.size();
  run_.trials.push_back(std::move(result));
  return {};
}

Result<void> Book::decision(const std::string& row, unsigned number, const Decision& decision) {
  unsigned& known = decisions_[row];
  if (number <= known) return {};
  ++known;
  return journal_.decision(
      {row, decision.trial, decision.load_pps, decision.duration_s, decision.why});
}

Result<void> Book::calibration(Calibration calibration) {
  if (auto kept = journal_.calibration(calibration); !kept) return kept;
  run_.calibrations.push_back(std::move(calibration));
  // The noise grade came with it.
  return journal_.environment(run_.environment);
}

Result<void> Book::finding(Finding finding) {
  for (Finding& old : run_.findings)
    if (old.id == finding.id) return {};
  if (auto kept = journal_.finding(finding); !kept) return kept;
  run_.findings.push_back(std::move(finding));
  return {};
}

Result<void> Book::end(bool is_partial, const Text& reason, double now) {
  run_.is_partial = is_partial;
  run_.partial_reason = reason;
  run_.finished = now;
  if (auto kept = journal_.end(now, is_partial, reason); !kept) return kept;
  return journal_.sync();
}

}  // namespace merlon::lab
