// SPDX-License-Identifier: Apache-2.0
#include "guest_image.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "merlon/base/make_error.h"
#include "merlon/lab_host/file.h"

namespace merlon::lab {
namespace {

namespace fs = std::filesystem;

constexpr std::array kModules{"drivers/virtio/virtio",
                              "drivers/virtio/virtio_ring",
                              "drivers/virtio/virtio_pci_legacy_dev",
                              "drivers/virtio/virtio_pci_modern_dev",
                              "drivers/virtio/virtio_pci",
                              "net/core/failover",
                              "drivers/net/net_failover",
                              "drivers/net/virtio_net",
                              "net/llc/llc",
                              "net/802/stp",
                              "net/bridge/bridge"};

// Modules are tried in turns, because their order is the kernel's own business; those built in are
// not there.
constexpr const char* kInit = R"(#!/bin/sh
b=/bin/busybox
$b mount -t proc proc /proc
$b mount -t sysfs sys /sys
for turn in 1 2 3 4 5; do for m in /modules/*.ko; do $b insmod $m 2>/dev/null; done; done
echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
$b brctl addbr br0
for p in eth0 eth1; do $b ip link set $p up promisc on; $b brctl addif br0 $p || echo "no $p"; done
$b ip link set br0 up
[ -e /sys/class/net/br0/brif/eth1 ] && echo ")";

void add_hex(std::string& out, std::size_t value) {
  char text[9];
  std::snprintf(text, sizeof text, "%08zx", value & 0xffff'ffff);
  out += text;
}

void pad(std::string& out) { out.append((4 - out.size() % 4) % 4, '\0'); }

void add_entry(std::string& out, std::size_t number, const ArchiveFile& file) {
  out += "070701";
  add_hex(out, number);
  add_hex(out, file.mode);
  // Owner, group, links, time, size, device and its minor, the same of special files, name,
  // checksum.
  for (const std::size_t value :
       {std::size_t{0}, std::size_t{0}, std::size_t{1}, std::size_t{0}, file.content.size(),
        std::size_t{0}, std::size_t{0}, std::size_t{0}, std::size_t{0}, file.name.size() + 1,
        std::size_t{0}}) {
    add_hex(out, value);
  }
  out += file.name;
  out += '\0';
  pad(out);
  out += file.content;
  pad(out);
}

}  // namespace

std::optional<GuestKernel> find_guest_kernel() {
  const char* chosen = std::getenv("MERLON_LAB_GUEST");
  for (const std::string& root : {std::string(chosen != nullptr ? chosen : ""),
                                  std::string("/var/lib/merlon-lab/guest"), std::string("/")}) {
    if (root.empty()) continue;
    std::vector<std::string> releases;
    std::error_code problem;
    for (fs::directory_iterator it(root + "/boot", problem), end; !problem && it != end;
         it.increment(problem)) {
      const std::string name = it->path().filename().string();
      if (name.starts_with("vmlinuz-")) releases.push_back(name.substr(8));
    }
    std::sort(releases.rbegin(), releases.rend());
    for (const std::string& release : releases) {
      GuestKernel kernel{fmt::format("{}/boot/vmlinuz-{}", root, release),
                         fmt::format("{}/lib/modules/{}/kernel", root, release)};
      if (fs::exists(kernel.modules + "/drivers/net/virtio_net.ko", problem)) return kernel;
    }
  }
  return std::nullopt;
}

std::string make_cpio(const std::vector<ArchiveFile>& files) {
  std::string out;
  std::size_t number = 1;
  for (const ArchiveFile& file : files) add_entry(out, number++, file);
  ArchiveFile last;
  last.name = "TRAILER!!!";
  last.mode = 0;
  add_entry(out, 0, last);
  return out;
}

base::Result<std::string> make_bridge_guest(const GuestKernel& kernel, const std::string& busybox) {
  const auto program = read_file(busybox);
  if (!program) return make_error(base::Errc::kIo, "can't read " + busybox);
  constexpr unsigned kFolder = 040755, kProgram = 0100755, kLink = 0120777;
  std::vector<ArchiveFile> files;
  for (const char* folder : {"bin", "proc", "sys", "dev", "modules"})
    files.push_back({folder, kFolder, {}});
  files.push_back({"bin/busybox", kProgram, *program});
  files.push_back({"bin/sh", kLink, "busybox"});
  files.push_back({"init", kProgram,
                   std::string(kInit) + kGuestReady + "\"\nwhile :; do $b sleep 3600; done\n"});
  for (const char* module : kModules) {
    const auto content = read_file(kernel.modules + "/" + module + ".ko");
    if (content)
      files.push_back(
          {"modules/" + fs::path(module).filename().string() + ".ko", 0100644, *content});
  }
  return make_cpio(files);
}

}  // namespace merlon::lab
