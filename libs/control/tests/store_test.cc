// SPDX-License-Identifier: Apache-2.0
#include "merlon/control/store.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "temporary_folder.h"

namespace merlon::control {
namespace {

namespace fs = std::filesystem;

Bundle bundle_of(int n) {
  return Bundle::of("version: 1\nname: c" + std::to_string(n) + "\n", "m.yaml");
}

RevisionInfo info_of(std::string reason) {
  RevisionInfo info;
  info.time = 1'700'000'000'000'000'000;
  info.author = "ann";
  info.comment = "a \"quoted\" comment\nof two lines";
  info.reason = std::move(reason);
  return info;
}

std::unique_ptr<Store> open(const std::string& folder, StoreOptions options = {}) {
  auto store = Store::open(folder, std::move(options));
  EXPECT_TRUE(store.ok()) << (store ? "" : store.error().to_string());
  return store ? std::move(*store) : nullptr;
}

TEST(Store, GivesBackWhatWasStored) {
  TemporaryFolder folder;
  Bundle bundle = bundle_of(1);
  bundle.files.push_back({"zones.yaml", std::string("a\0b\n\n", 5)});
  {
    const auto store = open(folder.path());
    EXPECT_EQ(store->state().current, 0U);
    ASSERT_EQ(*store->add(info_of("committed"), bundle), 1U);
    StoreState state;
    state.current = 1;
    state.start_hash = "abc";
    state.pending = PendingConfirm{1, 0, 77};
    ASSERT_TRUE(store->set_state(state).ok());
  }
  const auto store = open(folder.path());
  EXPECT_TRUE(store->damage().empty());
  EXPECT_EQ(store->state().current, 1U);
  EXPECT_EQ(store->state().start_hash, "abc");
  ASSERT_TRUE(store->state().pending.has_value());
  EXPECT_EQ(store->state().pending->deadline, 77);
  const auto revision = store->read(1);
  ASSERT_TRUE(revision.ok());
  EXPECT_EQ(revision->bundle, bundle);
  EXPECT_EQ(revision->info.author, "ann");
  EXPECT_EQ(revision->info.comment, info_of("").comment);
  EXPECT_EQ(revision->info.hash, bundle.hash());
  EXPECT_EQ(revision->info.time, 1'700'000'000'000'000'000);
}

TEST(Store, IsHeldByOneProcess) {
  TemporaryFolder folder;
  const auto store = open(folder.path());
  const auto second = Store::open(folder.path());
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, base::Errc::kConflict);
}

TEST(Store, KeepsTheNewestAndWhatIsNeeded) {
  TemporaryFolder folder;
  StoreOptions options;
  options.keep = 5;
  const auto store = open(folder.path(), options);
  for (int n = 1; n <= 12; ++n) {
    const auto number = store->add(info_of("committed"), bundle_of(n));
    ASSERT_TRUE(number.ok());
    StoreState state;
    state.current = *number;
    if (n >= 3) state.pending = PendingConfirm{*number, 2, 1};
    ASSERT_TRUE(store->set_state(state).ok());
  }
  std::vector<std::uint64_t> numbers;
  for (const RevisionInfo& i : store->history()) numbers.push_back(i.number);
  EXPECT_EQ(numbers, (std::vector<std::uint64_t>{12, 11, 10, 9, 2}));
  EXPECT_FALSE(store->read(3).ok());
  EXPECT_EQ(store->read(3).error().code, base::Errc::kNotFound);
}

TEST(Store, RefusesANameThatCouldNotBeReadAgain) {
  TemporaryFolder folder;
  const auto store = open(folder.path());
  Bundle bundle = bundle_of(1);
  bundle.files.front().name = "caf\xe9.yaml";
  EXPECT_FALSE(store->add(info_of("committed"), bundle).ok());
  EXPECT_TRUE(store->history().empty());
}

class DamagedStore : public testing::Test {
 protected:
  void SetUp() override {
    const auto store = open(folder_.path());
    for (int n = 1; n <= 3; ++n) {
      ASSERT_TRUE(store->add(info_of("committed"), bundle_of(n)).ok());
      StoreState state;
      state.current = static_cast<std::uint64_t>(n);
      ASSERT_TRUE(store->set_state(state).ok());
    }
  }
  [[nodiscard]] std::string revision(int n) const {
    return folder_.path() + "/revisions/0000000" + std::to_string(n) + ".rev";
  }
  static std::string slurp(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static void spill(const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
  }

  TemporaryFolder folder_;
};

TEST_F(DamagedStore, FindsEveryChangedByteAndEveryCut) {
  const std::string whole = slurp(revision(2));
  for (std::size_t i = 0; i < whole.size(); i += 7) {
    std::string changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    spill(revision(2), changed);
    EXPECT_EQ(open(folder_.path())->damage().size(), 1U) << "byte " << i;
    spill(revision(2), whole.substr(0, i));
    EXPECT_EQ(open(folder_.path())->damage().size(), 1U) << "cut at " << i;
  }
  spill(revision(2), whole + "x");
  const auto store = open(folder_.path());
  ASSERT_EQ(store->damage().size(), 1U);
  EXPECT_EQ(store->damage()[0].message,
            "revision 2 is damaged: the file is longer than it should be");
  EXPECT_EQ(store->state().current, 3U);
  EXPECT_EQ(store->history().size(), 2U);
  EXPECT_EQ(store->next_number(), 4U);
}

TEST_F(DamagedStore, TakesTheNewestFinalRevisionWhenTheStateIsLost) {
  {
    const auto store = open(folder_.path());
    ASSERT_TRUE(store->set_reason(3, "awaiting confirmation").ok());
  }
  spill(folder_.path() + "/state.json", "{}");
  const auto store = open(folder_.path());
  ASSERT_EQ(store->damage().size(), 1U);
  EXPECT_EQ(store->state().current, 2U);
  EXPECT_FALSE(store->state().pending.has_value());
}

TEST_F(DamagedStore, TakesAnotherWhenTheRunningRevisionIsLost) {
  fs::remove(revision(3));
  spill(revision(2), "x");
  const auto store = open(folder_.path());
  EXPECT_EQ(store->damage().size(), 2U);
  EXPECT_EQ(store->state().current, 1U);
}

TEST_F(DamagedStore, ARevisionUnderAnotherNumberIsDamaged) {
  fs::copy_file(revision(1), revision(7));
  const auto store = open(folder_.path());
  ASSERT_EQ(store->damage().size(), 1U);
  EXPECT_EQ(store->damage()[0].message, "revision 7 is damaged: holds revision 1");
  EXPECT_EQ(store->next_number(), 8U);
}

// One commit: revision, state, reason. The child kills itself before durable step number `die_at`.
void commit_until(const std::string& folder, int die_at) {
  int step = 0;
  StoreOptions options;
  options.on_step = [&](std::string_view) {
    if (step++ == die_at) ::kill(::getpid(), SIGKILL);
    return true;
  };
  auto store = Store::open(folder, options);
  if (!store) ::_exit(3);
  StoreState state;
  const auto number = (*store)->add(info_of("awaiting confirmation"), bundle_of(2));
  state.current = *number;
  state.pending = PendingConfirm{*number, 1, 99};
  if (!(*store)->set_state(state)) ::_exit(4);
  state.pending.reset();
  if (!(*store)->set_state(state)) ::_exit(5);
  if (!(*store)->set_reason(*number, "confirmed")) ::_exit(6);
  ::_exit(0);
}

TEST(StoreKill9, LeavesTheOldOrTheNewState) {
  int die_at = 0;
  for (bool was_killed = true; was_killed; ++die_at) {
    ASSERT_LT(die_at, 100);
    TemporaryFolder folder;
    {
      const auto store = open(folder.path());
      ASSERT_TRUE(store->add(info_of("committed"), bundle_of(1)).ok());
      StoreState state;
      state.current = 1;
      ASSERT_TRUE(store->set_state(state).ok());
    }
    const pid_t child = ::fork();
    if (child == 0) commit_until(folder.path(), die_at);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    was_killed = WIFSIGNALED(status);
    if (!was_killed) {
      ASSERT_EQ(WEXITSTATUS(status), 0);
    }
    const auto store = open(folder.path());
    ASSERT_NE(store, nullptr);
    EXPECT_TRUE(store->damage().empty()) << "killed before step " << die_at;
    const StoreState& state = store->state();
    ASSERT_TRUE(state.current == 1 || state.current == 2) << die_at;
    EXPECT_EQ(store->history().size(), state.current) << "an orphan is left at step " << die_at;
    const auto revision = store->read(state.current);
    ASSERT_TRUE(revision.ok());
    EXPECT_EQ(revision->bundle, bundle_of(static_cast<int>(state.current)));
    if (state.pending) {
      EXPECT_EQ(state.pending->previous, 1U);
      EXPECT_EQ(revision->info.reason, "awaiting confirmation");
    } else if (state.current == 2) {
      EXPECT_EQ(revision->info.reason, "confirmed") << die_at;
    }
    for (const auto& entry : fs::recursive_directory_iterator(folder.path()))
      EXPECT_NE(entry.path().extension(), ".tmp") << entry.path();
  }
  EXPECT_GE(die_at, 20);  // every durable step was met
}

}  // namespace
}  // namespace merlon::control
