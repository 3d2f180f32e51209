// SPDX-License-Identifier: Apache-2.0
#include <functional>
#include <map>
#include <set>

#include "fields_journal.h"
#include "file.h"
#include "format_version.h"
#include "json_read.h"
#include "merlon/lab_model/journal.h"

namespace merlon::lab {

using base::Errc;
using base::Error;

namespace {

class JournalReader {
 public:
  explicit JournalReader(const ReadLimits& limits) : limits_(limits) {}
  base::Result<Journal> read(std::string_view text);

 private:
  using Handler = void (JournalReader::*)(const InputJson&);
  base::Result<void> read_line(std::string_view line);
  base::Result<void> read_first(InputJson& json);
  void read_record(const std::string& kind, const InputJson& body);
  void torn(std::string_view rest);

  void on_environment(const InputJson& json) { read_value(json, journal_.run.environment, state_); }
  void on_calibration(const InputJson& json) { append(json, journal_.run.calibrations); }
  void on_decision(const InputJson& json) { append(json, journal_.decisions); }
  void on_finding(const InputJson& json) { append(json, journal_.run.findings); }
  void on_row(const InputJson& json);
  void on_row_state(const InputJson& json);
  void on_row_result(const InputJson& json);
  void on_row_setup(const InputJson& json);
  void on_trial(const InputJson& json);
  void on_resume(const InputJson& json);
  void on_end(const InputJson& json);
  template <class T>
  void append(const InputJson& json, std::vector<T>& to) {
    T value;
    read_value(json, value, state_);
    if (state_.ok()) to.push_back(std::move(value));
  }
  Row* row_of(const std::string& id);
  void fail(Errc code, std::string message) { state_.fail(code, std::move(message)); }

  ReadLimits limits_;
  Journal journal_;
  ReadState state_{0};
  unsigned line_ = 0;
  std::map<std::string, std::size_t> rows_;
  std::set<std::string> trials_;
};

Row* JournalReader::row_of(const std::string& id) {
  const auto it = rows_.find(id);
  if (it != rows_.end()) return &journal_.run.rows[it->second];
  fail(Errc::kNotFound, "names the unknown row \"" + id.substr(0, 60) + '"');
  return nullptr;
}

void JournalReader::on_row(const InputJson& json) {
  Row row;
  read_value(json, row, state_);
  if (!state_.ok()) return;
  if (!row.parent.empty() && row_of(row.parent) == nullptr) return;
  if (!rows_.emplace(row.id, journal_.run.rows.size()).second) {
    return fail(Errc::kDuplicate, "repeats the row \"" + row.id.substr(0, 60) + '"');
  }
  journal_.run.rows.push_back(std::move(row));
}

void JournalReader::on_row_state(const InputJson& json) {
  RowStateRecord record;
  read_value(json, record, state_);
  if (!state_.ok()) return;
  if (Row* row = row_of(record.row)) {
    row->state = record.state;
    row->state_reason = record.reason;
  }
}

void JournalReader::on_row_result(const InputJson& json) {
  Row row;
  read_value(json, row, state_);
  if (!state_.ok()) return;
  if (Row* known = row_of(row.id)) *known = std::move(row);
}

void JournalReader::on_row_setup(const InputJson& json) {
  RowSetupRecord record;
  read_value(json, record, state_);
  if (!state_.ok()) return;
  if (Row* row = row_of(record.row)) {
    row->commands = std::move(record.commands);
    row->chain = std::move(record.chain);
    row->device_config = std::move(record.device_config);
  }
}

void JournalReader::on_trial(const InputJson& json) {
  TrialResult trial;
  read_value(json, trial, state_);
  if (!state_.ok()) return;
  if (!trial.spec.row.empty() && row_of(trial.spec.row) == nullptr) return;
  if (!trials_.insert(trial.spec.id).second) {
    return fail(Errc::kDuplicate, "repeats the trial \"" + trial.spec.id.substr(0, 60) + '"');
  }
  journal_.run.trials.push_back(std::move(trial));
}

void JournalReader::on_resume(const InputJson& json) {
  ResumeRecord record;
  read_value(json, record, state_);
  ++journal_.resume_count;
  journal_.is_finished = false;
  journal_.run.finished = 0;
  journal_.run.is_partial = true;
}

void JournalReader::on_end(const InputJson& json) {
  EndRecord record;
  read_value(json, record, state_);
  journal_.is_finished = true;
  journal_.run.finished = record.finished;
  journal_.run.is_partial = record.is_partial;
  journal_.run.partial_reason = record.reason;
}

void JournalReader::read_record(const std::string& kind, const InputJson& body) {
  static const std::map<std::string_view, Handler> kHandlers = {
      {"environment", &JournalReader::on_environment},
      {"calibration", &JournalReader::on_calibration},
      {"decision", &JournalReader::on_decision},
      {"finding", &JournalReader::on_finding},
      {"row", &JournalReader::on_row},
      {"row_state", &JournalReader::on_row_state},
      {"row_result", &JournalReader::on_row_result},
      {"row_setup", &JournalReader::on_row_setup},
      {"trial", &JournalReader::on_trial},
      {"resume", &JournalReader::on_resume},
      {"end", &JournalReader::on_end},
  };
  const auto handler = kHandlers.find(kind);
  if (handler == kHandlers.end()) {
    if (state_.minor() <= kSchemaMinor)
      fail(Errc::kUnknownKey, "the record \"" + kind.substr(0, 40) + "\" is not known");
    return;  // of a newer minor: additions only, so the rest stands without it
  }
  if (journal_.is_finished && kind != "resume")
    return fail(Errc::kConflict, "a record follows the end");
  state_.enter(kind);
  (this->*handler->second)(body);
  state_.leave();
}

base::Result<void> JournalReader::read_first(InputJson& json) {
  if (const auto version = check_version(json, kJournalSchema, state_); !version)
    return version.error();
  struct First {
    std::string plan_hash;
  } first;
  FieldReader reader(json, state_);
  reader.field("plan_hash", first.plan_hash, "");
  reader.field("run", journal_.run, "");
  reader.finish();
  const Run& run = journal_.run;
  if (!run.rows.empty() || !run.trials.empty() || !run.calibrations.empty() ||
      !run.findings.empty()) {
    fail(Errc::kInvalidValue, "the first record holds what has records of its own");
  }
  if (!state_.ok()) return *state_.error();
  journal_.plan_hash = first.plan_hash;
  journal_.run.is_partial = true;
  return {};
}

base::Result<void> JournalReader::read_line(std::string_view line) {
  auto json = parse_json(line, limits_, line_);
  if (!json) return json.error();
  if (!json->is_object()) return Error{Errc::kInvalidValue, "a record is no object"};
  std::uint64_t number = 0;
  std::string kind;
  FieldReader reader(*json, state_);
  reader.field("n", number, "");
  reader.field("record", kind, "");
  if (!state_.ok()) return *state_.error();
  if (number != journal_.record_count) {
    return Error{Errc::kConflict, "the record has number " + std::to_string(number) + ", " +
                                      std::to_string(journal_.record_count) +
                                      " was to come: lines are missing"};
  }
  json->erase("n");
  json->erase("record");
  if (number == 0) {
    if (kind != "run") return Error{Errc::kInvalidValue, "the first record is not \"run\""};
    return read_first(*json);
  }
  const auto body = json->find(kind);
  if (body == json->end())
    return Error{Errc::kInvalidValue, "the record lacks \"" + kind.substr(0, 40) + '"'};
  if (json->size() != 1 && state_.minor() <= kSchemaMinor) {
    return Error{Errc::kUnknownKey, "the record has members beside \"" + kind.substr(0, 40) + '"'};
  }
  read_record(kind, *body);
  if (!state_.ok()) return *state_.error();
  return {};
}

void JournalReader::torn(std::string_view rest) {
  const std::string bytes = std::to_string(rest.size()), line = std::to_string(line_);
  journal_.notes.push_back(
      {"line " + line + " was torn by an interruption: its " + bytes + " bytes were dropped",
       "строка " + line + " оборвана при прерывании: отброшено байт: " + bytes});
}

base::Result<Journal> JournalReader::read(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    ++line_;
    const std::size_t end = text.find('\n', at);
    if (end == std::string_view::npos) {
      torn(text.substr(at));
      break;
    }
    const auto done = read_line(text.substr(at, end - at));
    if (!done) {
      // A power cut can leave the last line's length without its bytes; those read as zeros, not as
      // text.
      const bool is_last = end + 1 == text.size();
      if (is_last && text.find('\0', at) != std::string_view::npos && line_ > 1) {
        torn(text.substr(at));
        break;
      }
      Error error = done.error();
      error.where.line = line_;
      if (error.where.column == 0) error.where.column = 1;
      return error;
    }
    at = end + 1;
    ++journal_.record_count;
  }
  if (journal_.record_count == 0)
    return Error{Errc::kNotFound, "nothing was recorded", {}, "start the run anew"};
  journal_.size = at;
  if (!journal_.is_finished)
    journal_.run.partial_reason = {"the run was interrupted", "прогон был прерван"};
  return std::move(journal_);
}

}  // namespace

base::Result<Journal> journal_from_text(std::string_view text, const ReadLimits& limits) {
  if (text.size() > limits.text_size) {
    return Error{Errc::kCapacity, "the journal has " + std::to_string(text.size()) +
                                      " bytes, the limit is " + std::to_string(limits.text_size)};
  }
  return JournalReader(limits).read(text);
}

base::Result<Journal> read_journal(const std::string& path, const ReadLimits& limits) {
  const auto text = read_file(path, limits.text_size);
  if (!text) return text.error();
  auto journal = journal_from_text(*text, limits);
  if (journal) return journal;
  Error error = journal.error();
  error.where.file = path;
  if (!error.where.has_place()) error.message = path + ": " + error.message;
  return error;
}

}  // namespace merlon::lab
