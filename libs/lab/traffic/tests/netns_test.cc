// SPDX-License-Identifier: Apache-2.0
// Trials over a veth pair between two network namespaces. Skipped without root.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "merlon/lab_traffic/null_path.h"
#include "merlon/lab_traffic/tester.h"

namespace merlon::lab {
namespace {

bool shell(const std::string& command) {
  return std::system((command + " >/dev/null 2>&1").c_str()) == 0;
}

class Veth : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0 || !shell("ip netns add " + gen_)) GTEST_SKIP() << "needs root and ip";
    ASSERT_TRUE(shell("ip netns add " + sink_));
    for (const std::string& n : {gen_, sink_})
      shell("ip netns exec " + n + " sysctl -qw net.ipv6.conf.default.disable_ipv6=1");
    ASSERT_TRUE(shell("ip link add g0 netns " + gen_ + " type veth peer name k0 netns " + sink_));
    ASSERT_TRUE(shell("ip -n " + gen_ + " link set g0 up"));
    ASSERT_TRUE(shell("ip -n " + sink_ + " link set k0 up"));
    EndpointSpec a, b;
    a.interface = "g0";
    a.net_namespace = gen_;
    b.interface = "k0";
    b.net_namespace = sink_;
    auto left = open_endpoint(a), right = open_endpoint(b);
    ASSERT_TRUE(left.ok() && right.ok());
    auto tester = Tester::create(std::move(*left), std::move(*right), {});
    ASSERT_TRUE(tester.ok());
    tester_ = std::move(*tester);
  }
  void TearDown() override {
    tester_.reset();
    shell("ip netns del " + gen_);
    shell("ip netns del " + sink_);
  }

  const std::string gen_ = "labt-" + std::to_string(getpid()) + "-g";
  const std::string sink_ = "labt-" + std::to_string(getpid()) + "-k";
  std::unique_ptr<Tester> tester_;
  const std::atomic<bool> stop_{false};
};

TEST_F(Veth, BothWaysWithVlansAndSizes) {
  TrialSpec spec;
  spec.rate_pps = 20'000;
  spec.duration_s = 0.5;
  spec.traffic.sizes = "68,1522,333";
  spec.traffic.vlan = {Variation::kCycle, 3};
  spec.traffic.flows = 100;
  spec.traffic.is_bidirectional = true;
  const auto r = tester_->run(spec, stop_);
  ASSERT_TRUE(r.ok()) << r.error().message;
  EXPECT_EQ(r->frames.intended, 10'000u);
  EXPECT_GT(r->frames.offered, 0u);
  EXPECT_EQ(r->frames.lost, 0u);
  EXPECT_EQ(r->frames.corrupted, 0u);
  EXPECT_EQ(r->frames.reordered, 0u);
  EXPECT_EQ(r->frames.received, r->frames.offered);
  // The kernel's stamps are on our time scale: an arrival is after its hand-over and soon.
  EXPECT_LT(r->latency_actual.percentile(0.5), 1'000'000'000);
}

TEST_F(Veth, TheKernelCountsTheSame) {
  const auto counter = [](const std::string& space, const std::string& name) {
    const std::string command = "ip netns exec " + space + " cat /sys/class/net/" + name;
    FILE* out = popen(command.c_str(), "r");
    unsigned long value = 0;
    EXPECT_TRUE(out != nullptr && std::fscanf(out, "%lu", &value) == 1);
    if (out != nullptr) pclose(out);
    return value;
  };
  const auto sent = counter(gen_, "g0/statistics/tx_packets");
  const auto bytes = counter(sink_, "k0/statistics/rx_bytes");
  const auto got = counter(sink_, "k0/statistics/rx_packets");
  TrialSpec spec;
  spec.rate_pps = 50'000;
  spec.duration_s = 0.5;
  spec.traffic.sizes = "100";
  const auto r = tester_->run(spec, stop_);
  ASSERT_TRUE(r.ok()) << r.error().message;
  // Some frames may be the system's own.
  constexpr unsigned long kOthers = 10;
  const auto near = [](unsigned long value, unsigned long least, unsigned long more) {
    return value >= least && value <= least + more;
  };
  const unsigned long offered = r->frames.offered;
  EXPECT_TRUE(near(counter(gen_, "g0/statistics/tx_packets") - sent, offered, kOthers));
  EXPECT_TRUE(near(counter(sink_, "k0/statistics/rx_packets") - got, offered, kOthers));
  EXPECT_TRUE(near(counter(sink_, "k0/statistics/rx_bytes") - bytes, offered * 96, kOthers * 1500));
  EXPECT_EQ(r->frames.received, offered);
}

TEST_F(Veth, NullPathIsCalibrated) {
  NullPathSettings settings;
  settings.trial_s = 0.5;  // a busy machine may keep a thread waiting for half of it
  const auto n = calibrate_null_path(*tester_, settings, stop_);
  ASSERT_TRUE(n.ok()) << n.error().message;
  EXPECT_GT(n->calibration.ceiling_pps, 0);
  EXPECT_GT(n->calibration.cpu_s_per_packet, 0);
  EXPECT_GE(n->calibration.latency_p99_ns, n->calibration.latency_p50_ns);
  ASSERT_EQ(n->trials.size(), 2u);
  EXPECT_EQ(n->trials[0].spec.id, "null.before.ceiling");
}

TEST_F(Veth, ALinkThatIsDownIsNoLossOfOurs) {
  ASSERT_TRUE(shell("ip -n " + sink_ + " link set k0 down"));
  TrialSpec spec;
  spec.rate_pps = 1000;
  spec.duration_s = 0.05;
  const auto r = tester_->run(spec, stop_);
  ASSERT_TRUE(r.ok());
  EXPECT_EQ(r->frames.received, 0u);
  EXPECT_NEAR(r->loss_ratio, 1, 1e-9);
}

// DPDK alone would wait for ever.
TEST(Endpoints, AGuestThatNoSwitchLooksForIsAnError) {
  EndpointSpec spec;
  spec.kind = "virtio";
  spec.interface = "/tmp/labt-" + std::to_string(getpid()) + ".sock";
  spec.is_server = true;
  spec.peer_wait_s = 0.2;
  EXPECT_FALSE(open_endpoint(spec).ok());
  unlink(spec.interface.c_str());
}

}  // namespace
}  // namespace merlon::lab
