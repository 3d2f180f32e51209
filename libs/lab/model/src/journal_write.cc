// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "fields_journal.h"
#include "file.h"
#include "format_version.h"
#include "json_write.h"
#include "merlon/lab_model/journal.h"

namespace merlon::lab {

using base::Errc;
using base::Error;

struct JournalWriter::State {
  std::string path;
  File file;
  std::uint64_t next = 0;  // number of the next record
  std::uint64_t size = 0;  // bytes of whole records
  std::optional<Error> error;

  base::Result<void> append(const char* kind, Json body);
  template <class T>
  base::Result<void> append_value(const char* kind, const T& value) {
    Json body = Json::object();
    body[kind] = written(value);
    return append(kind, std::move(body));
  }
};

base::Result<void> JournalWriter::State::append(const char* kind, Json body) {
  if (error) return *error;
  Json record = Json::object();
  record["n"] = next;
  record["record"] = kind;
  record.update(body);
  const std::string line = line_of(record) + '\n';
  if (const int number = write_all(file.fd(), line); number != 0) {
    error = io_error("can't append to the journal", path, number);
    if (number == ENOSPC || number == EDQUOT) error->hint = "free some space, then resume the run";
    // Whole lines only. When even this fails the reader drops the torn line.
    if (::ftruncate(file.fd(), static_cast<off_t>(size)) != 0)
      error->message += "; half a record is left at its end";
    return *error;
  }
  ++next;
  size += line.size();
  return {};
}

namespace {

base::Result<void> lock(const File& file, const std::string& path) {
  if (::flock(file.fd(), LOCK_EX | LOCK_NB) == 0) return {};
  if (errno != EWOULDBLOCK) return io_error("can't lock", path, errno);
  return Error{Errc::kConflict,
               path + " is being written by another run",
               {},
               "wait for it or choose another folder"};
}

}  // namespace

JournalWriter::JournalWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
JournalWriter::JournalWriter(JournalWriter&&) noexcept = default;
JournalWriter& JournalWriter::operator=(JournalWriter&&) noexcept = default;
JournalWriter::~JournalWriter() {
  if (state_ && !state_->error) ::fsync(state_->file.fd());
}

base::Result<JournalWriter> JournalWriter::create(const std::string& path, const Run& run,
                                                  const std::string& plan_hash) {
  auto state = std::make_unique<State>();
  state->path = path;
  state->file =
      File(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644));
  if (state->file.fd() < 0) {
    Error error = io_error("can't create the journal", path, errno);
    if (errno == EEXIST) error.code = Errc::kConflict;
    return error;
  }
  if (const auto locked = lock(state->file, path); !locked) return locked.error();
  Run header = run;
  header.rows.clear();
  header.trials.clear();
  header.calibrations.clear();
  header.findings.clear();
  Json body = Json::object();
  body["schema"] = kJournalSchema;
  body["schema_version"] = Run::kSchemaVersion;
  body["schema_minor"] = kSchemaMinor;
  body["plan_hash"] = plan_hash;
  body["run"] = written(header);
  if (const auto done = state->append("run", std::move(body)); !done) return done.error();
  JournalWriter writer(std::move(state));
  if (const auto synced = writer.sync(); !synced) return synced.error();
  return writer;
}

base::Result<JournalWriter> JournalWriter::resume(const std::string& path, const Journal& journal,
                                                  double now) {
  auto state = std::make_unique<State>();
  state->path = path;
  state->file = File(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  if (state->file.fd() < 0) return io_error("can't append to the journal", path, errno);
  if (const auto locked = lock(state->file, path); !locked) return locked.error();
  struct stat info {};
  if (::fstat(state->file.fd(), &info) != 0) return io_error("can't read", path, errno);
  const bool is_torn = !journal.notes.empty();
  const auto size = static_cast<std::uint64_t>(info.st_size);
  if (size < journal.size || (size > journal.size && !is_torn)) {
    return Error{Errc::kConflict, path + " has changed since it was read", {}, "read it again"};
  }
  if (::ftruncate(state->file.fd(), static_cast<off_t>(journal.size)) != 0) {
    return io_error("can't cut the torn end of", path, errno);
  }
  state->next = journal.record_count;
  state->size = journal.size;
  if (const auto done = state->append_value("resume", ResumeRecord{now}); !done)
    return done.error();
  JournalWriter writer(std::move(state));
  if (const auto synced = writer.sync(); !synced) return synced.error();
  return writer;
}

base::Result<void> JournalWriter::environment(const Environment& environment) {
  return state_->append_value("environment", environment);
}
base::Result<void> JournalWriter::calibration(const Calibration& calibration) {
  return state_->append_value("calibration", calibration);
}
base::Result<void> JournalWriter::row(const Row& row) { return state_->append_value("row", row); }
base::Result<void> JournalWriter::row_state(const std::string& row, RowState state,
                                            const Text& reason) {
  return state_->append_value("row_state", RowStateRecord{row, state, reason});
}
base::Result<void> JournalWriter::row_result(const Row& row) {
  return state_->append_value("row_result", row);
}
base::Result<void> JournalWriter::row_setup(const Row& row) {
  return state_->append_value("row_setup",
                              RowSetupRecord{row.id, row.commands, row.chain, row.device_config});
}
base::Result<void> JournalWriter::decision(const JournalDecision& decision) {
  return state_->append_value("decision", decision);
}
base::Result<void> JournalWriter::trial(const TrialResult& trial) {
  return state_->append_value("trial", trial);
}
base::Result<void> JournalWriter::finding(const Finding& finding) {
  return state_->append_value("finding", finding);
}
base::Result<void> JournalWriter::end(double finished, bool is_partial, const Text& reason) {
  return state_->append_value("end", EndRecord{finished, is_partial, reason});
}

base::Result<void> JournalWriter::sync() {
  if (state_->error) return *state_->error;
  if (::fsync(state_->file.fd()) == 0) return {};
  state_->error = io_error("can't sync the journal", state_->path, errno);
  return *state_->error;
}

const std::optional<Error>& JournalWriter::error() const noexcept { return state_->error; }

}  // namespace merlon::lab
