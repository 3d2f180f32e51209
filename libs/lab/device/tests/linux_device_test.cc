// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <sys/mount.h>

#include <cstdlib>

#include "device_fixture.h"
#include "merlon/lab_device/loss.h"

namespace merlon::lab {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(DeviceTest, NullPathIsACable) {
  START_OR_SKIP(device_spec("null"));
  EXPECT_TRUE(passes({}));
  EXPECT_THAT(device_->topology().chain(), ElementsAre("gen", "g0", "k0", "snk"));
  EXPECT_TRUE(device_->processes().empty());
  EXPECT_EQ(device_->kill().error().code, base::Errc::kUnsupported);
  RuleSet rules;
  rules.count = 1;
  EXPECT_EQ(device_->load_rules(rules).error().code, base::Errc::kUnsupported);
}

TEST_F(DeviceTest, BridgeForwardsBothWaysAndCountsIt) {
  START_OR_SKIP(device_spec("bridge", "linux", "path7"));
  EXPECT_THAT(device_->topology().chain(),
              ElementsAre("gen", "g0", "s0", "bridge", "s1", "k0", "snk"));
  const auto before = device_->counters();
  EXPECT_TRUE(passes({}));
  const LossReport report = locate_loss(before, device_->counters(), 0);
  bool has_sent = false;
  for (const LayerCounter& c : report.deltas)
    has_sent |= c.layer == "device s1" && c.counter == "tx_packets" && c.delta > 0;
  EXPECT_TRUE(has_sent);
  FrameProbe back;
  ASSERT_TRUE(back.open(device_->topology().sink(), device_->topology().generator()).ok());
  EXPECT_TRUE(back.passes({}, std::chrono::seconds(3)));
  EXPECT_THAT(device_->configuration(), HasSubstr("br0"));
  EXPECT_FALSE(device_->commands().empty());
}

TEST_F(DeviceTest, FlapInterruptsAndComesBack) {
  START_OR_SKIP(device_spec("bridge"));
  ASSERT_TRUE(device_->topology().flap(0.01).ok());
  EXPECT_TRUE(passes({}));
}

TEST_F(DeviceTest, EveryPathForwards) {
  for (const char* path : {"path1", "path4", "path10", "chain3"}) {
    SCOPED_TRACE(path);
    START_OR_SKIP(device_spec("bridge", "linux", path));
    EXPECT_TRUE(passes({}));
    TearDown();
  }
  START_OR_SKIP(device_spec("bridge", "linux", "path1"));
  EXPECT_THAT(device_->configuration(), HasSubstr("# container-equivalent"));
  TearDown();
  START_OR_SKIP(device_spec("null", "veth", "path11"));
  EXPECT_TRUE(passes({}));
}

TEST_F(DeviceTest, NftablesDropsByRule) {
  for (const char* mode : {"linear", "set"}) {
    SCOPED_TRACE(mode);
    START_OR_SKIP(device_spec("nftables", mode));
    check_rules(1000);
    TearDown();
  }
}

TEST_F(DeviceTest, NftablesCountsWhatItDrops) {
  START_OR_SKIP(device_spec("nftables"));
  RuleSet rules;
  rules.has_drop_rule = true;
  ASSERT_TRUE(device_->load_rules(rules).ok());
  const auto before = device_->counters();
  EXPECT_FALSE(passes(to_port(kDropPort), 50));
  const LossReport report = locate_loss(before, device_->counters(), 0);
  std::int64_t by_rule = 0;
  for (const LayerCounter& c : report.deltas) {
    if (c.counter == kDroppedByRule) by_rule += c.delta;
    EXPECT_FALSE(c.is_loss) << c.layer << " " << c.counter;
  }
  EXPECT_GT(by_rule, 0);
}

TEST_F(DeviceTest, NftablesRoutes) {
  for (const char* mode : {"routed", "routed-set", "routed-ct"}) {
    SCOPED_TRACE(mode);
    START_OR_SKIP(device_spec("nftables", mode));
    check_rules(100);
    TearDown();
  }
}

TEST_F(DeviceTest, BridgeConntrackOrItsReason) {
  START_OR_SKIP(device_spec("nftables", "ct"));
  check_rules(10);
}

// Its folder is on a disk of 64 KiB; 4,000 rules are larger.
TEST_F(DeviceTest, FullDiskIsToldAndTheDeviceGoesOn) {
  if (::geteuid() != 0) GTEST_SKIP() << "skipped: mounting needs root";
  const std::string disk = ::testing::TempDir() + "lab-disk-" + std::to_string(::getpid());
  std::filesystem::create_directories(disk);
  ASSERT_EQ(::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=64k"), 0);
  ::setenv("MERLON_LAB_RUN_DIR", disk.c_str(), 1);
  const bool is_started = start(device_spec("nftables"));
  if (is_started) {
    RuleSet rules;
    rules.count = 4000;
    const auto loaded = device_->load_rules(rules);
    EXPECT_FALSE(loaded.ok());
    if (!loaded.ok()) {
      EXPECT_THAT(loaded.error().message, HasSubstr("No space left"));
      EXPECT_THAT(loaded.error().hint, HasSubstr("MERLON_LAB_RUN_DIR"));
    }
    EXPECT_TRUE(passes({}));
  }
  TearDown();
  run_id_.clear();
  ::unsetenv("MERLON_LAB_RUN_DIR");
  ::umount(disk.c_str());
  std::filesystem::remove(disk);
  if (!is_started && !skip_reason_.empty()) GTEST_SKIP() << skip_reason_;
}

TEST(MakeDevice, NamesWhatIsKnown) {
  const auto driver = make_device(device_spec("vpp"));
  ASSERT_FALSE(driver.ok());
  EXPECT_THAT(driver.error().hint, HasSubstr("nftables"));
  const auto mode = make_device(device_spec("nftables", "fast"));
  ASSERT_FALSE(mode.ok());
  EXPECT_THAT(mode.error().hint, HasSubstr("linear, set"));
  const auto topology = make_device(device_spec("bridge", "linux", "path12"));
  ASSERT_FALSE(topology.ok());
  EXPECT_THAT(topology.error().hint, HasSubstr("path11"));
  EXPECT_FALSE(make_device(device_spec("bridge", "linux", "memif")).ok());
}

TEST(MakeDevice, EveryListedCombinationIsAccepted) {
  for (const DriverInfo& info : drivers()) {
    EXPECT_FALSE(info.what.ru.empty());
    for (const std::string& mode : info.modes) {
      for (const std::string& topology : info.topologies) {
        EXPECT_TRUE(make_device(device_spec(info.name, mode, topology)).ok())
            << info.name << mode << topology;
      }
    }
  }
}

}  // namespace
}  // namespace merlon::lab
