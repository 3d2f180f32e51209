// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_model/journal.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "filled_run.h"

namespace merlon::lab {
namespace {

using base::Errc;
using test::filled;
using LabRun = Run;  // ::testing::Test has a Run of its own

class LabJournal : public ::testing::Test {
 protected:
  LabJournal()
      : path_(::testing::TempDir() + "/lab_journal_" + std::to_string(::getpid()) + "_" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::remove(path_.c_str());
  }
  ~LabJournal() override { std::remove(path_.c_str()); }

  std::string text() const {
    std::ifstream file(path_, std::ios::binary);
    std::stringstream all;
    all << file.rdbuf();
    return all.str();
  }
  void set_text(const std::string& text) const { std::ofstream(path_, std::ios::binary) << text; }

  // A run as it would be journalled; `run_` is what must come back.
  void write_all_of_it(JournalWriter& writer) {
    run_.environment.cores = 8;
    ASSERT_TRUE(writer.environment(run_.environment).ok());
    run_.calibrations.push_back(filled<Calibration>());
    ASSERT_TRUE(writer.calibration(run_.calibrations[0]).ok());
    Row first = filled<Row>(), second = filled<Row>();
    first.id = "r1";
    first.parent.clear();
    first.state = RowState::kPending;
    second.id = "r2";
    second.parent = "r1";
    ASSERT_TRUE(writer.row(first).ok());
    TrialResult trial = filled<TrialResult>();
    trial.spec.id = "r1.t1";
    trial.spec.row = "r1";
    ASSERT_TRUE(
        writer.decision({"r1", "r1.t1", 1000, 1, {"the maximum first", "сначала максимум"}}).ok());
    ASSERT_TRUE(writer.trial(trial).ok());
    ASSERT_TRUE(writer.row(second).ok());
    first.kpis["throughput_pps"] = 123456;
    first.state = RowState::kDone;
    ASSERT_TRUE(writer.row_result(first).ok());
    ASSERT_TRUE(writer.row_state("r2", RowState::kSkipped, {"no time", "нет времени"}).ok());
    second.state = RowState::kSkipped;
    second.state_reason = {"no time", "нет времени"};
    second.commands = {"ip link add"};
    second.chain = {"generator", "sink"};
    second.device_config = "nothing";
    ASSERT_TRUE(writer.row_setup(second).ok());
    run_.findings.push_back(filled<Finding>());
    ASSERT_TRUE(writer.finding(run_.findings[0]).ok());
    ASSERT_TRUE(writer.sync().ok());
    run_.rows = {first, second};
    run_.trials = {trial};
  }
  void begin() {
    run_ = filled<LabRun>();
    run_.rows.clear();
    run_.trials.clear();
    run_.calibrations.clear();
    run_.findings.clear();
  }

  std::string path_;
  LabRun run_;
};

TEST_F(LabJournal, RebuildsTheRun) {
  begin();
  {
    auto writer = JournalWriter::create(path_, run_, "hash");
    ASSERT_TRUE(writer.ok()) << writer.error().to_string();
    write_all_of_it(*writer);
    run_.finished = 42;
    run_.is_partial = false;
    run_.partial_reason = {};
    ASSERT_TRUE(writer->end(42, false, {}).ok());
  }
  const auto journal = read_journal(path_);
  ASSERT_TRUE(journal.ok()) << journal.error().to_string();
  EXPECT_EQ(to_json(journal->run), to_json(run_));
  EXPECT_TRUE(journal->is_finished);
  EXPECT_EQ(journal->plan_hash, "hash");
  EXPECT_EQ(journal->record_count, 12U);
  EXPECT_EQ(journal->size, text().size());
  EXPECT_TRUE(journal->notes.empty());
  ASSERT_EQ(journal->decisions.size(), 1U);
  EXPECT_EQ(journal->decisions[0].why.ru, "сначала максимум");
}

// The crash: whatever was written up to any byte, the whole records before it come back and nothing
// else.
TEST_F(LabJournal, SurvivesAnEndAtAnyByte) {
  begin();
  {
    auto writer = JournalWriter::create(path_, run_, "hash");
    ASSERT_TRUE(writer.ok());
    write_all_of_it(*writer);
    ASSERT_TRUE(writer->end(42, false, {}).ok());
  }
  const std::string whole = text();
  const std::size_t first = whole.find('\n') + 1;
  const std::size_t step = whole.size() / 300 + 1;
  for (std::size_t size = 1; size < whole.size(); size += step) {
    const std::string cut = whole.substr(0, size);
    const auto journal = journal_from_text(cut);
    if (size < first) {
      ASSERT_FALSE(journal.ok());
      EXPECT_EQ(journal.error().code, Errc::kNotFound);
      continue;
    }
    ASSERT_TRUE(journal.ok()) << size << ": " << journal.error().to_string();
    const std::size_t good = cut.rfind('\n') + 1;
    EXPECT_EQ(journal->size, good);
    EXPECT_EQ(journal->record_count,
              static_cast<std::uint64_t>(std::count(cut.begin(), cut.end(), '\n')));
    EXPECT_EQ(journal->notes.size(), good == size ? 0U : 1U);
    EXPECT_FALSE(journal->is_finished);
    EXPECT_TRUE(journal->run.is_partial);
  }
}

TEST_F(LabJournal, ResumesBehindATornLine) {
  begin();
  {
    auto writer = JournalWriter::create(path_, run_, "hash");
    ASSERT_TRUE(writer.ok());
    write_all_of_it(*writer);
  }
  set_text(text() + "{\"n\":10,\"record\":\"tri");
  auto journal = read_journal(path_);
  ASSERT_TRUE(journal.ok()) << journal.error().to_string();
  ASSERT_EQ(journal->notes.size(), 1U);
  EXPECT_NE(journal->notes[0].en.find("21 bytes"), std::string::npos) << journal->notes[0].en;
  {
    auto writer = JournalWriter::resume(path_, *journal, 50);
    ASSERT_TRUE(writer.ok()) << writer.error().to_string();
    EXPECT_EQ(JournalWriter::resume(path_, *journal, 50).error().code, Errc::kConflict);
    ASSERT_TRUE(writer->row_state("r2", RowState::kDone, {}).ok());
    ASSERT_TRUE(writer->end(60, false, {}).ok());
  }
  journal = read_journal(path_);
  ASSERT_TRUE(journal.ok()) << journal.error().to_string();
  EXPECT_EQ(journal->resume_count, 1U);
  EXPECT_EQ(journal->run.rows[1].state, RowState::kDone);
  EXPECT_DOUBLE_EQ(journal->run.finished, 60);
  EXPECT_FALSE(journal->run.is_partial);
}

TEST_F(LabJournal, RefusesToResumeWhatHasChanged) {
  begin();
  ASSERT_TRUE(JournalWriter::create(path_, run_, "hash").ok());
  const auto journal = read_journal(path_);
  ASSERT_TRUE(journal.ok());
  ASSERT_TRUE(JournalWriter::resume(path_, *journal, 1).ok());
  EXPECT_EQ(JournalWriter::resume(path_, *journal, 2).error().code, Errc::kConflict);
}

TEST_F(LabJournal, DoesNotOverwrite) {
  begin();
  ASSERT_TRUE(JournalWriter::create(path_, run_, "hash").ok());
  EXPECT_EQ(JournalWriter::create(path_, run_, "hash").error().code, Errc::kConflict);
  EXPECT_EQ(JournalWriter::create("/proc/none/journal", run_, "h").error().code, Errc::kIo);
}

TEST_F(LabJournal, RefusesDamageBeforeTheEnd) {
  begin();
  {
    auto writer = JournalWriter::create(path_, run_, "hash");
    ASSERT_TRUE(writer.ok());
    write_all_of_it(*writer);
  }
  const std::string whole = text();
  std::vector<std::string> lines;
  std::istringstream in(whole);
  for (std::string line; std::getline(in, line);) lines.push_back(line + "\n");
  const auto joined = [&lines](std::size_t skip, const std::string& instead) {
    std::string text;
    for (std::size_t i = 0; i < lines.size(); ++i) text += i == skip ? instead : lines[i];
    return text;
  };
  for (std::size_t i = 1; i + 1 < lines.size(); ++i) {
    const auto lost = journal_from_text(joined(i, ""));
    ASSERT_FALSE(lost.ok()) << i;
    EXPECT_EQ(lost.error().where.line, i + 1);
    const auto broken =
        journal_from_text(joined(i, lines[i].substr(0, lines[i].size() / 2) + "\n"));
    ASSERT_FALSE(broken.ok()) << i;
    EXPECT_EQ(broken.error().where.line, i + 1);
    EXPECT_FALSE(journal_from_text(joined(i, lines[i] + lines[i])).ok()) << i;
  }
  // A power cut may leave the length of the last line but zeros for its bytes.
  const auto zeros = journal_from_text(joined(lines.size() - 1, std::string(40, '\0') + "\n"));
  ASSERT_TRUE(zeros.ok()) << zeros.error().to_string();
  EXPECT_EQ(zeros->record_count, lines.size() - 1);
}

TEST_F(LabJournal, RefusesRecordsThatFitNothing) {
  begin();
  ASSERT_TRUE(JournalWriter::create(path_, run_, "hash").ok());
  const std::string head = text();
  const auto error = [&head](const std::string& line) {
    const auto journal = journal_from_text(head + line + "\n");
    return journal.ok() ? std::string("read") : journal.error().message;
  };
  EXPECT_EQ(
      error(
          R"({"n":1,"record":"row_state","row_state":{"row":"r9","state":"done","reason":{"en":"","ru":""}}})"),
      "row_state names the unknown row \"r9\"");
  EXPECT_EQ(error(R"({"n":1,"record":"tea","tea":{}})"), "the record \"tea\" is not known");
  EXPECT_EQ(error(R"({"n":1,"record":"tea"})"), "the record lacks \"tea\"");
  EXPECT_EQ(
      error(
          R"({"n":1,"record":"end","end":{"finished":1,"is_partial":1,"reason":{"en":"","ru":""}}})"),
      "end.is_partial wants true or false, has a whole number");
  EXPECT_EQ(error(R"({"n":1,"record":"resume","resume":{"time":1},"more":1})"),
            "the record has members beside \"resume\"");
  EXPECT_EQ(error("[]"), "a record is no object");
  EXPECT_EQ(journal_from_text("").error().code, Errc::kNotFound);
  EXPECT_EQ(journal_from_text(R"({"n":0,"record":"row"})"
                              "\n")
                .error()
                .message,
            "the first record is not \"run\"");
}

// A file-size limit stops the write in the middle of a line, as a full disk does.
TEST_F(LabJournal, KeepsWholeLinesWhenTheDiskIsFull) {
  begin();
  auto writer = JournalWriter::create(path_, run_, "hash");
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE(writer->calibration(filled<Calibration>()).ok());
  const std::string before = text();

  struct rlimit old {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  struct rlimit tight = old;
  tight.rlim_cur = before.size() + 100;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
  const auto failed = writer->trial(filled<TrialResult>());
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old), 0);
  std::signal(SIGXFSZ, handler);

  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code, Errc::kIo);
  EXPECT_EQ(text(), before);
  // Space is back, but the record in between is lost: the journal stays closed.
  EXPECT_FALSE(writer->finding(filled<Finding>()).ok());
  EXPECT_FALSE(writer->sync().ok());
  EXPECT_TRUE(writer->error().has_value());
  EXPECT_EQ(text(), before);
  EXPECT_TRUE(read_journal(path_).ok());
}

TEST_F(LabJournal, ResultFilesAreNoJournals) {
  set_text(to_json(LabRun{}));
  EXPECT_FALSE(read_journal(path_).ok());
  begin();
  std::remove(path_.c_str());
  ASSERT_TRUE(JournalWriter::create(path_, run_, "hash").ok());
  EXPECT_FALSE(read_run(path_).ok());
}

}  // namespace
}  // namespace merlon::lab
