// SPDX-License-Identifier: Apache-2.0
#include "merlon/io/pci.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "merlon/base/make_error.h"

namespace merlon::io {
namespace {

namespace fs = std::filesystem;

bool is_hex(std::string_view s) noexcept {
  for (const char c : s)
    if ((c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F')) return false;
  return !s.empty();
}

// First line of a sysfs file, empty when it can't be read.
std::string first_line(const fs::path& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

std::string without_0x(const std::string& s) {
  return s.size() > 2 && s[1] == 'x' ? s.substr(2) : s;
}

base::Result<void> write_file(const fs::path& path, const std::string& text) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  const ssize_t n = fd < 0 ? -1 : ::write(fd, text.data(), text.size());
  const int error = errno;
  if (fd >= 0) ::close(fd);
  if (n == static_cast<ssize_t>(text.size())) return {};
  return make_error(base::Errc::kIo,
                    fmt::format("can't write {}: {}", path.string(), std::strerror(error)),
                    error == EACCES ? "binding a driver needs root" : "");
}

fs::path device_folder(const std::string& sysfs, const std::string& address) {
  return fs::path(sysfs) / "bus/pci/devices" / address;
}

std::string bind_command(const std::string& driver, const std::string& address) {
  return fmt::format("dpdk-devbind.py -b {} {}", driver, address);
}

base::Result<void> bind(const PciDevice& device, const std::string& driver,
                        const PciBindOptions& options) {
  const fs::path folder = device_folder(options.sysfs, device.address);
  const fs::path bus = fs::path(options.sysfs) / "bus/pci";
  if (!fs::exists(bus / "drivers" / driver))
    return make_error(base::Errc::kNotFound, fmt::format("kernel driver {} is not loaded", driver),
                      fmt::format("modprobe {}", driver));
  if (auto r = write_file(folder / "driver_override", driver + "\n"); !r.ok()) return r;
  if (!device.driver.empty())
    if (auto r = write_file(folder / "driver/unbind", device.address); !r.ok()) return r;
  if (auto r = write_file(bus / "drivers_probe", device.address); !r.ok()) return r;
  if (options.after_probe) options.after_probe();
  const auto now = read_pci_device(device.address, options.sysfs);
  if (now.ok() && (*now).driver == driver) return {};
  return make_error(
      base::Errc::kRefused,
      fmt::format("the kernel did not bind {} to {} (now: {})", device.address, driver,
                  now.ok() && !(*now).driver.empty() ? (*now).driver : "none"),
      driver == "vfio-pci"
          ? "is the IOMMU on? (kernel command line: intel_iommu=on or amd_iommu=on)"
          : fmt::format("look at dmesg; {}", bind_command(driver, device.address)));
}

}  // namespace

bool is_pci_address(std::string_view t) noexcept {
  if (t.size() == 12) {
    if (t[4] != ':' || !is_hex(t.substr(0, 4))) return false;
    t.remove_prefix(5);
  }
  return t.size() == 7 && is_hex(t.substr(0, 2)) && t[2] == ':' && is_hex(t.substr(3, 2)) &&
         t[5] == '.' && t[6] >= '0' && t[6] <= '7';
}

std::string full_pci_address(std::string_view text) {
  std::string s = text.size() == 7 ? fmt::format("0000:{}", text) : std::string(text);
  for (char& c : s)
    if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
  return s;
}

base::Result<PciDevice> read_pci_device(std::string_view address, const std::string& sysfs) {
  if (!is_pci_address(address))
    return make_error(base::Errc::kInvalidValue, fmt::format("'{}' is no PCI address", address),
                      "write it like 0000:3b:00.0");
  PciDevice d;
  d.address = full_pci_address(address);
  const fs::path folder = device_folder(sysfs, d.address);
  std::error_code error;
  if (!fs::exists(folder, error))
    return make_error(base::Errc::kNotFound, fmt::format("there is no PCI device {}", d.address),
                      "list network devices with: lspci -D -d ::02xx");
  const fs::path driver = fs::read_symlink(folder / "driver", error);
  if (!error) d.driver = driver.filename().string();
  d.id =
      without_0x(first_line(folder / "vendor")) + ":" + without_0x(first_line(folder / "device"));
  const std::string node = first_line(folder / "numa_node");
  std::from_chars(node.data(), node.data() + node.size(), d.numa_node);
  for (const auto& entry : fs::directory_iterator(folder / "net", error)) {
    const bool up = first_line(entry.path() / "operstate") == "up";
    if (d.network_interface.empty() || up) d.network_interface = entry.path().filename().string();
    d.is_interface_up |= up;
  }
  return d;
}

base::Result<void> ensure_pci_driver(std::string_view address, const std::string& driver,
                                     const PciBindOptions& options) {
  auto device = read_pci_device(address, options.sysfs);
  if (!device.ok()) return device.error();
  const PciDevice& d = *device;
  if (driver.empty() || d.driver == driver) return {};
  const std::string command = bind_command(driver, d.address);
  if (d.is_interface_up)
    return make_error(
        base::Errc::kConflict,
        fmt::format("PCI device {} is network interface {}, which is up", d.address,
                    d.network_interface),
        fmt::format("if it is not the one you are logged in by: ip link set {} down; {}",
                    d.network_interface, command));
  if (!options.may_bind)
    return make_error(base::Errc::kConflict,
                      fmt::format("PCI device {} is bound to {}, not to {}", d.address,
                                  d.driver.empty() ? "no driver" : d.driver, driver),
                      command);
  return bind(d, driver, options);
}

}  // namespace merlon::io
