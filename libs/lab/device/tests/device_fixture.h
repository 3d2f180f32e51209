// SPDX-License-Identifier: Apache-2.0
#pragma once
// Devices started for real, in namespaces with names of their own; skipped, with the reason, where
// the device or the rights are absent. What a device leaves behind fails its test.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "frame_probe.h"
#include "merlon/lab_device/device.h"
#include "merlon/lab_host/file.h"
#include "merlon/lab_host/run_registry.h"

namespace merlon::lab {

inline std::string fresh_run_id() {
  static unsigned number = 0;
  return "dtest" + std::to_string(::getpid()) + "-" + std::to_string(++number);
}

class DeviceTest : public ::testing::Test {
 protected:
  // What a test that was killed has left; nobody living loses anything.
  static void SetUpTestSuite() { clean_leftovers(); }
  void TearDown() override {
    if (device_) {
      EXPECT_TRUE(device_->stop().ok());
    }
    device_.reset();
    if (run_id_.empty()) return;
    EXPECT_FALSE(std::filesystem::exists(runs_folder() + "/" + run_id_));
    std::error_code problem;
    for (const auto& entry : std::filesystem::directory_iterator("/run/netns", problem)) {
      EXPECT_FALSE(entry.path().filename().string().starts_with("mlab-" + run_id_ + "-"))
          << entry.path();
    }
  }

  // False: the test is skipped or has failed already.
  bool start(DeviceSpec spec) {
    auto made = make_device(spec);
    EXPECT_TRUE(made.ok()) << made.error().to_string();
    if (!made.ok()) return false;
    device_ = std::move(*made);
    if (const auto absent = device_->probe()) {
      skip_reason_ = spec.driver + " skipped: " + absent->reason.en;
      EXPECT_FALSE(absent->reason.ru.empty());
      return false;
    }
    run_id_ = fresh_run_id();
    const auto started = device_->start(run_id_);
    EXPECT_TRUE(started.ok()) << started.error().to_string();
    return started.ok();
  }

  bool passes(const ProbeFrame& frame, int milliseconds = 3000) {
    FrameProbe probe;
    const auto open = probe.open(device_->topology().generator(), device_->topology().sink());
    EXPECT_TRUE(open.ok()) << open.error().to_string();
    return open.ok() && probe.passes(frame, std::chrono::milliseconds(milliseconds));
  }

  static ProbeFrame to_port(std::uint16_t port, std::uint8_t protocol = 17) {
    ProbeFrame frame;
    frame.destination_port = port;
    frame.protocol = protocol;
    return frame;
  }

  // The oracle's rule drops its port in both protocols, the allow passes the rest; without rules
  // all passes.
  void check_rules(unsigned count) {
    RuleSet rules;
    rules.count = count;
    rules.has_drop_rule = true;
    const auto loaded = device_->load_rules(rules);
    ASSERT_TRUE(loaded.ok()) << loaded.error().to_string();
    EXPECT_GT(*loaded, 0);
    EXPECT_TRUE(passes(to_port(kDestinationPort)));
    EXPECT_TRUE(passes(to_port(kDestinationPort, 6)));
    EXPECT_FALSE(passes(to_port(kDropPort), 100));
    EXPECT_FALSE(passes(to_port(kDropPort, 6), 100));
    const auto none = device_->load_rules({});
    ASSERT_TRUE(none.ok()) << none.error().to_string();
    EXPECT_TRUE(passes(to_port(kDropPort)));
  }

  std::unique_ptr<Device> device_;
  std::string run_id_, skip_reason_;
};

inline DeviceSpec device_spec(const std::string& driver, const std::string& mode = {},
                              const std::string& topology = {}) {
  DeviceSpec spec;
  spec.driver = driver;
  spec.mode = mode;
  spec.topology = topology;
  return spec;
}

// Ends a test in which the device could not be started.
#define START_OR_SKIP(spec)                                    \
  do {                                                         \
    if (!start(spec)) {                                        \
      if (!skip_reason_.empty()) GTEST_SKIP() << skip_reason_; \
      return;                                                  \
    }                                                          \
  } while (false)

}  // namespace merlon::lab
