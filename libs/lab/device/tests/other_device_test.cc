// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "device_fixture.h"
#include "dpdk_telemetry.h"
#include "guest_image.h"
#include "merlon/lab_device/loss.h"
#include "merlon/lab_host/command.h"

namespace merlon::lab {
namespace {

using ::testing::HasSubstr;

bool has_counter(const std::vector<LayerCounter>& counters, const std::string& layer,
                 const std::string& name) {
  for (const LayerCounter& c : counters) {
    if (c.layer == layer && c.counter == name) return true;
  }
  return false;
}

TEST_F(DeviceTest, TestpmdForwards) {
  for (const char* port : {"af_packet", "af_xdp"}) {
    SCOPED_TRACE(port);
    DeviceSpec spec = device_spec("testpmd");
    spec.options["port"] = port;
    START_OR_SKIP(spec);
    EXPECT_TRUE(passes({}));
    EXPECT_TRUE(has_counter(device_->counters(), "testpmd port 0", "received"));
    TearDown();
  }
}

TEST_F(DeviceTest, TestpmdLoopsBack) {
  START_OR_SKIP(device_spec("testpmd", "io", "loopback"));
  EXPECT_EQ(device_->topology().generator().interface, device_->topology().sink().interface);
  EXPECT_TRUE(passes({}));
}

TEST_F(DeviceTest, TestpmdListensOnSharedMemory) {
  START_OR_SKIP(device_spec("testpmd", "io", "memif"));
  EXPECT_TRUE(std::filesystem::exists(device_->topology().sink().interface));
}

TEST_F(DeviceTest, ExternalCommandIsADevice) {
  DeviceSpec spec = device_spec("external");
  spec.options["setup"] =
      "ip link add b0 type bridge stp_state 0 && ip link set $MERLON_LAB_PORT_0 master b0 && "
      "ip link set $MERLON_LAB_PORT_1 master b0 && ip link set b0 up";
  spec.options["start"] = "sleep 60; true";  // the shell stays and has a child
  spec.options["rules"] =
      "wc -l <$MERLON_LAB_RULES >$MERLON_LAB_FOLDER/count; echo $MERLON_LAB_DROP_PORT "
      ">>$MERLON_LAB_FOLDER/count";
  spec.options["counters"] =
      "printf 'mine\\tqueue full\\t7\\tloss\\nmine\\tcount\\t'; head -n 1 $MERLON_LAB_FOLDER/count";
  START_OR_SKIP(spec);
  EXPECT_TRUE(passes({}));
  RuleSet rules;
  rules.count = 12;
  rules.has_drop_rule = true;
  ASSERT_TRUE(device_->load_rules(rules).ok());
  std::int64_t lost = 0, count = 0;
  for (const LayerCounter& c : device_->counters()) {
    if (c.layer == "mine" && c.is_loss) lost = c.delta;
    if (c.layer == "mine" && c.counter == "count") count = c.delta;
  }
  EXPECT_EQ(lost, 7);
  EXPECT_EQ(count, 12);
  ASSERT_EQ(device_->processes().size(), 1U);
  EXPECT_TRUE(device_->kill().ok());
  EXPECT_FALSE(device_->is_alive());
}

TEST_F(DeviceTest, ExternalCommandThatFailsSaysWhy) {
  DeviceSpec spec = device_spec("external");
  spec.options["setup"] = "echo no licence >&2; exit 4";
  auto made = make_device(spec);
  ASSERT_TRUE(made.ok());
  if ((*made)->probe()) GTEST_SKIP() << "skipped: " << (*made)->probe()->reason.en;
  run_id_ = fresh_run_id();
  const auto started = (*made)->start(run_id_);
  ASSERT_FALSE(started.ok());
  EXPECT_THAT(started.error().message, HasSubstr("no licence"));
}

TEST_F(DeviceTest, ExternalWithoutACommandIsAbsent) {
  auto made = make_device(device_spec("external"));
  ASSERT_TRUE(made.ok());
  if (::geteuid() != 0) GTEST_SKIP() << "skipped: " << (*made)->probe()->reason.en;
  ASSERT_TRUE((*made)->probe().has_value());
  EXPECT_THAT((*made)->probe()->reason.en, HasSubstr("option start"));
}

// With an emulated processor: it takes some ten seconds to come up, nothing is timed.
TEST_F(DeviceTest, BridgeInAVirtualMachineForwards) {
  DeviceSpec spec = device_spec("bridge", "linux", "path1");
  spec.place = "vm";
  spec.options["accel"] = "tcg";
  START_OR_SKIP(spec);
  EXPECT_TRUE(passes({}));
  EXPECT_THAT(device_->caveat().en, HasSubstr("functional only"));
  EXPECT_EQ(device_->processes().size(), 1U);
}

TEST_F(DeviceTest, DeviceWithoutAGuestImageSaysSo) {
  DeviceSpec spec = device_spec("ovs", "normal", "path2");
  spec.place = "vm";
  auto made = make_device(spec);
  ASSERT_TRUE(made.ok());
  const auto absent = (*made)->probe();
  ASSERT_TRUE(absent.has_value());
  EXPECT_THAT(absent->reason.en, HasSubstr("namespace"));
  EXPECT_FALSE(absent->reason.ru.empty());
}

TEST(GuestImage, ArchiveIsReadByOthers) {
  const std::string archive =
      make_cpio({{"a", 040755, {}}, {"a/file", 0100644, "content\n"}, {"a/odd", 0100644, "x"}});
  EXPECT_EQ(archive.size() % 4, 0U);
  if (find_program("busybox").empty())
    GTEST_SKIP() << "skipped: busybox is not installed: apt-get install busybox-static";
  const auto listed = run_to_end({"busybox", "cpio", "-t"}, archive);
  ASSERT_TRUE(listed.ok());
  EXPECT_EQ(listed->out, "a\na/file\na/odd\n");
}

TEST(DpdkTelemetry, ReadsPortStatistics) {
  std::vector<LayerCounter> counters;
  add_dpdk_port(R"({"/ethdev/stats":{"ipackets":10,"opackets":8,"imissed":2,"q_ipackets":[10]}})",
                "p", counters);
  ASSERT_EQ(counters.size(), 3U);
  EXPECT_EQ(counters[0].delta, 10);
  EXPECT_TRUE(counters[2].is_loss);
  for (const char* nonsense :
       {"", "[]", "{\"/ethdev/stats\":5}", "{\"/ethdev/stats\":{\"ipackets\":\"x\"}}"}) {
    add_dpdk_port(nonsense, "p", counters);
  }
  EXPECT_EQ(counters.size(), 3U);
}

}  // namespace
}  // namespace merlon::lab
