// SPDX-License-Identifier: Apache-2.0
#include "merlon/io/pci.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace merlon::io {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// A made-up /sys with one card, bound to ixgbe.
class Sysfs : public ::testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/merlon-sysfs-XXXXXX";
    ASSERT_NE(::mkdtemp(path), nullptr);
    root_ = path;
    for (const char* driver : {"ixgbe", "vfio-pci"}) {
      fs::create_directories(root_ / "bus/pci/drivers" / driver);
      put(root_ / "bus/pci/drivers" / driver / "unbind", "");
    }
    put(root_ / "bus/pci/drivers_probe", "");
    device_ = root_ / "bus/pci/devices/0000:3b:00.0";
    fs::create_directories(device_ / "net/ens1");
    put(device_ / "vendor", "0x8086\n");
    put(device_ / "device", "0x10fb\n");
    put(device_ / "numa_node", "1\n");
    put(device_ / "driver_override", "");
    put(device_ / "net/ens1/operstate", "down\n");
    bound_to("ixgbe");
  }
  void TearDown() override { fs::remove_all(root_); }

  void put(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }
  std::string get(const fs::path& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void bound_to(const std::string& driver) {
    fs::remove(device_ / "driver");
    fs::create_symlink(root_ / "bus/pci/drivers" / driver, device_ / "driver");
  }
  PciBindOptions options(bool may_bind) {
    PciBindOptions o;
    o.sysfs = root_.string();
    o.may_bind = may_bind;
    return o;
  }

  fs::path root_, device_;
};

TEST(PciAddress, Forms) {
  EXPECT_TRUE(is_pci_address("3b:00.0"));
  EXPECT_TRUE(is_pci_address("0000:3B:1f.7"));
  for (const char* bad :
       {"", "3b:00", "3b:00.8", "0000-3b:00.0", "net_null0", "00000:3b:00.0", "gb:00.0"})
    EXPECT_FALSE(is_pci_address(bad)) << bad;
  EXPECT_EQ(full_pci_address("3B:00.0"), "0000:3b:00.0");
}

TEST_F(Sysfs, DeviceIsRead) {
  const auto d = read_pci_device("3b:00.0", root_.string());
  ASSERT_TRUE(d.ok());
  EXPECT_EQ((*d).address, "0000:3b:00.0");
  EXPECT_EQ((*d).driver, "ixgbe");
  EXPECT_EQ((*d).id, "8086:10fb");
  EXPECT_EQ((*d).network_interface, "ens1");
  EXPECT_FALSE((*d).is_interface_up);
  EXPECT_EQ((*d).numa_node, 1);
}

TEST_F(Sysfs, MissingDevice) {
  const auto d = read_pci_device("3c:00.0", root_.string());
  ASSERT_FALSE(d.ok());
  EXPECT_EQ(d.error().code, base::Errc::kNotFound);
  EXPECT_EQ(d.error().message, "there is no PCI device 0000:3c:00.0");
}

TEST_F(Sysfs, TheHintIsTheCommand) {
  const auto r = ensure_pci_driver("3b:00.0", "vfio-pci", options(false));
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.error().message, "PCI device 0000:3b:00.0 is bound to ixgbe, not to vfio-pci");
  EXPECT_EQ(r.error().hint, "dpdk-devbind.py -b vfio-pci 0000:3b:00.0");
  EXPECT_EQ(get(device_ / "driver_override"), "");
}

TEST_F(Sysfs, RightOrUnaskedDriverIsLeftAlone) {
  EXPECT_TRUE(ensure_pci_driver("3b:00.0", "ixgbe", options(true)).ok());
  EXPECT_TRUE(ensure_pci_driver("3b:00.0", "", options(true)).ok());
  EXPECT_EQ(get(root_ / "bus/pci/drivers_probe"), "");
}

TEST_F(Sysfs, BindsByOverride) {
  auto o = options(true);
  o.after_probe = [this] { bound_to("vfio-pci"); };
  ASSERT_TRUE(ensure_pci_driver("3b:00.0", "vfio-pci", o).ok());
  EXPECT_EQ(get(device_ / "driver_override"), "vfio-pci\n");
  EXPECT_EQ(get(root_ / "bus/pci/drivers/ixgbe/unbind"), "0000:3b:00.0");
  EXPECT_EQ(get(root_ / "bus/pci/drivers_probe"), "0000:3b:00.0");
}

TEST_F(Sysfs, TellsWhenTheKernelRefuses) {
  const auto r = ensure_pci_driver("3b:00.0", "vfio-pci", options(true));
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.error().code, base::Errc::kRefused);
  EXPECT_THAT(r.error().message, HasSubstr("(now: ixgbe)"));
}

TEST_F(Sysfs, DriverMustBeLoaded) {
  const auto r = ensure_pci_driver("3b:00.0", "igb_uio", options(true));
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.error().hint, "modprobe igb_uio");
}

TEST_F(Sysfs, AnInterfaceInUseIsNotTaken) {
  put(device_ / "net/ens1/operstate", "up\n");
  const auto r = ensure_pci_driver("3b:00.0", "vfio-pci", options(true));
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.error().code, base::Errc::kConflict);
  EXPECT_THAT(r.error().message, HasSubstr("ens1, which is up"));
  EXPECT_EQ(get(device_ / "driver_override"), "");
}

}  // namespace
}  // namespace merlon::io
