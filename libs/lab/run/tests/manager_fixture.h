// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whole runs on simulated devices, each in a folder of its own.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "fakes.h"
#include "merlon/lab_model/json.h"

namespace merlon::lab {

class ManagerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("lab-run-test-" + std::to_string(::getpid()) + "-" +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static Row row(const std::string& id, const std::string& suite, double capacity,
                 double rate = 20'000) {
    Row r;
    r.id = id;
    r.title = {id, id};
    r.suite = suite;
    r.device.driver = "bridge";
    r.device.topology = "path7";
    r.device.options["capacity"] = std::to_string(capacity);
    r.rate_pps = rate;
    r.duration_s = 1;
    r.repeats = 2;
    return r;
  }
  static Plan plan(std::vector<Row> rows, double budget_s = 300) {
    Plan p;
    p.name = "test";
    p.title = {"Test", "Проверка"};
    p.budget_s = budget_s;
    p.rows = std::move(rows);
    return p;
  }
  RunOutcome run(const Plan& plan, bool is_resumed = false, const std::string& sub = "run") {
    RunOptions options;
    options.folder = folder_ / sub;
    options.is_resumed = is_resumed;
    stop_ = false;
    world_.stop = &stop_;
    Observer silent;
    return run_plan(plan, options, services_, silent, stop_);
  }
  static const Row& find(const lab::Run& run, const std::string& id) {
    for (const Row& r : run.rows)
      if (r.id == id) return r;
    static const Row kNone;
    ADD_FAILURE() << "no row " << id;
    return kNone;
  }
  // What must not depend on when and in how many sessions a run was done.
  static std::string essence(lab::Run run) {
    run.id = "";
    run.started = run.finished = 0;
    run.is_partial = false;
    run.partial_reason = {};
    for (TrialResult& trial : run.trials) {
      trial.started = 0;
      trial.kpis.erase("setup_s");  // a resumed session starts its device once more
      trial.kpis.erase("load_s");
    }
    return to_json(run);
  }

  std::filesystem::path folder_;
  World world_;
  FakeServices services_{world_};
  std::atomic<bool> stop_{false};
};

}  // namespace merlon::lab
