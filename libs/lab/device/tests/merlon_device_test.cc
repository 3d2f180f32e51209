// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <sys/stat.h>

#include "device_fixture.h"
#include "merlon/lab_device/loss.h"
#include "merlon_config.h"

namespace merlon::lab {
namespace {

using ::testing::HasSubstr;

DeviceSpec merlon_on(const std::string& port, const std::string& mode = "wire") {
  DeviceSpec spec = device_spec("merlon", mode);
  spec.options["port"] = port;
  return spec;
}

std::int64_t moved(const LossReport& report, const std::string& layer, std::string_view counter) {
  std::int64_t sum = 0;
  for (const LayerCounter& c : report.deltas) {
    if (c.layer == layer && c.counter == counter) sum += c.delta;
  }
  return sum;
}

TEST_F(DeviceTest, MerlonWireKeepsItsRules) {
  for (const char* port : {"af_packet", "native", "af_xdp"}) {
    SCOPED_TRACE(port);
    START_OR_SKIP(merlon_on(port));
    check_rules(200);
    TearDown();
  }
}

TEST_F(DeviceTest, MerlonCountsWhatItDropsByRule) {
  START_OR_SKIP(merlon_on("af_packet"));
  RuleSet rules;
  rules.has_drop_rule = true;
  ASSERT_TRUE(device_->load_rules(rules).ok());
  const auto before = device_->counters();
  EXPECT_FALSE(passes(to_port(kDropPort), 50));
  const LossReport report = locate_loss(before, device_->counters(), 0);
  EXPECT_GT(moved(report, "merlon policy_deny", kDroppedByRule), 0);
  EXPECT_EQ(report.sentence.en, "No frame was lost.");
}

TEST_F(DeviceTest, MerlonIsKilledAndStartedAgainWithItsRules) {
  START_OR_SKIP(merlon_on("af_packet"));
  RuleSet rules;
  rules.has_drop_rule = true;
  ASSERT_TRUE(device_->load_rules(rules).ok());
  ASSERT_EQ(device_->processes().size(), 1U);
  const int first = device_->processes()[0];
  ASSERT_TRUE(device_->kill().ok());
  EXPECT_FALSE(device_->is_alive());
  EXPECT_FALSE(passes({}, 50));
  const auto again = device_->restart();
  ASSERT_TRUE(again.ok()) << again.error().to_string();
  EXPECT_TRUE(device_->is_alive());
  EXPECT_NE(device_->processes()[0], first);
  EXPECT_TRUE(passes({}));
  EXPECT_FALSE(passes(to_port(kDropPort), 100));
}

TEST_F(DeviceTest, MerlonTapHearsAndForwardsNothing) {
  START_OR_SKIP(merlon_on("af_packet", "tap"));
  RuleSet rules;
  rules.has_drop_rule = true;
  ASSERT_TRUE(device_->load_rules(rules).ok());
  const auto before = device_->counters();
  EXPECT_TRUE(passes(to_port(kDropPort)));  // it can't stop what it only hears
  std::int64_t heard = 0, would_drop = 0;
  for (int i = 0; i < 200 && would_drop == 0; ++i) {
    const LossReport report = locate_loss(before, device_->counters(), 0);
    heard = moved(report, "merlon port p0", "received");
    would_drop = moved(report, "merlon policy_deny", "would_drop");
  }
  EXPECT_GT(heard, 0);
  EXPECT_GT(would_drop, 0);
}

TEST_F(DeviceTest, MerlonOnSharedMemoryListens) {
  START_OR_SKIP(device_spec("merlon", "wire", "memif"));
  EXPECT_EQ(device_->topology().generator().kind, "memif");
  EXPECT_TRUE(std::filesystem::exists(device_->topology().generator().interface));
  RuleSet rules;
  rules.count = 10;
  EXPECT_TRUE(device_->load_rules(rules).ok());
}

TEST_F(DeviceTest, ProgramThatEndsAtOnceIsAnErrorWithItsWords) {
  DeviceSpec spec = merlon_on("af_packet");
  spec.options["binary"] = "/bin/false";
  auto made = make_device(spec);
  ASSERT_TRUE(made.ok());
  if ((*made)->probe()) GTEST_SKIP() << "skipped: " << (*made)->probe()->reason.en;
  run_id_ = fresh_run_id();
  const auto started = (*made)->start(run_id_);
  ASSERT_FALSE(started.ok());
  EXPECT_THAT(started.error().message, HasSubstr("ended with code 1"));
}

TEST_F(DeviceTest, ProgramThatHangsIsGivenUp) {
  DeviceSpec spec = merlon_on("af_packet");
  const std::string program = ::testing::TempDir() + "hangs-" + std::to_string(::getpid());
  ASSERT_TRUE(write_file(program, "#!/bin/sh\nexec sleep 60\n").ok());
  ASSERT_EQ(::chmod(program.c_str(), 0755), 0);
  spec.options["binary"] = program;
  spec.options["start_timeout_s"] = "1";
  auto made = make_device(spec);
  ASSERT_TRUE(made.ok());
  if ((*made)->probe()) GTEST_SKIP() << "skipped: " << (*made)->probe()->reason.en;
  run_id_ = fresh_run_id();
  const auto started = (*made)->start(run_id_);
  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.error().code, base::Errc::kTimeout);
  EXPECT_THAT(started.error().hint, HasSubstr("start_timeout_s"));
  ::unlink(program.c_str());
}

TEST(MerlonConfig, HasTheRulesInOrder) {
  MerlonSetup setup;
  setup.ports = {"s0", "s1"};
  setup.folder = "/f";
  RuleSet rules;
  rules.count = 2;
  rules.has_drop_rule = true;
  const std::string text = merlon_config(setup, rules);
  const std::size_t oracle = text.find("id: oracle"), block = text.find("id: block-1"),
                    allow = text.find("id: allow");
  EXPECT_LT(oracle, block);
  EXPECT_LT(block, text.find("id: block-2"));
  EXPECT_LT(text.find("id: block-2"), allow);
  EXPECT_EQ(text.find("id: block-3"), std::string::npos);
  EXPECT_THAT(text, HasSubstr("midstream: true"));
  rules.ipv6_share = 1;
  EXPECT_THAT(merlon_config(setup, rules), HasSubstr("source: \"2001:2:0:ac10::"));
  setup.sections = "limits:\n  x: 1";  // given by a plan
  const std::string once = merlon_config(setup, rules);
  EXPECT_EQ(once.find("limits:"), once.rfind("limits:"));
  EXPECT_THAT(once, HasSubstr("x: 1\n"));
  rules.is_per_connection = true;
  EXPECT_EQ(merlon_config(setup, rules).find("midstream"), std::string::npos);
}

TEST(MerlonConfig, ReadsCountersAndBearsNonsense) {
  std::vector<LayerCounter> counters;
  add_merlon_ports(R"([{"port":"p0","rx_packets":5,"rx_dropped":2,"tx_packets":null}])", counters);
  add_merlon_drops(
      R"([{"reason":"policy_deny","packets":7},{"reason":"state_invalid","packets":3},{"reason":"transmit_full","packets":9}])",
      counters);
  std::int64_t loss = 0, by_rule = 0;
  for (const LayerCounter& c : counters) {
    if (c.is_loss) loss += c.delta;
    if (c.counter == kDroppedByRule) by_rule += c.delta;
  }
  EXPECT_EQ(loss, 5);
  EXPECT_EQ(by_rule, 7);
  const std::size_t before = counters.size();
  for (const char* nonsense : {"", "{}", "[1,\"x\",null]", "[{\"reason\":5}]", "not json"}) {
    add_merlon_drops(nonsense, counters);
  }
  EXPECT_EQ(counters.size(), before);
}

TEST(MerlonConfig, TellsTheFirstError) {
  const base::Error e =
      merlon_error(422, R"({"error":{"message":"no such zone","hint":"declare it"}})");
  EXPECT_THAT(e.message, HasSubstr("no such zone"));
  EXPECT_EQ(e.hint, "declare it");
}

}  // namespace
}  // namespace merlon::lab
