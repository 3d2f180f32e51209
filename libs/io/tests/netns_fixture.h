// SPDX-License-Identifier: Apache-2.0
#pragma once
// A network namespace with a veth pair va - vb, for as long as a test runs; root only.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace merlon::io::test {

inline bool run(const std::string& command) {
  return std::system((command + " >/dev/null 2>&1").c_str()) == 0;
}

class VethNamespace : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "network namespaces need root";
    home_ = ::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    if (home_ < 0 || ::unshare(CLONE_NEWNET) != 0) GTEST_SKIP() << "no network namespaces here";
    inside_ = true;
    run("sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1");
    if (!make_pair()) GTEST_SKIP() << "no veth here";
  }
  // The namespace dies with its last thread, and its interfaces with it.
  void TearDown() override {
    if (inside_) {
      ASSERT_EQ(::setns(home_, CLONE_NEWNET), 0);
    }
    if (home_ >= 0) ::close(home_);
  }
  static bool make_pair() {
    return run("ip link add va type veth peer name vb") && run("ip link set va up") &&
           run("ip link set vb up");
  }
  [[nodiscard]] int home() const { return home_; }

 private:
  int home_ = -1;
  bool inside_ = false;
};

}  // namespace merlon::io::test
