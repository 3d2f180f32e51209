// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_host/environment.h"

#include <unistd.h>

#include <chrono>
#include <ctime>
#include <filesystem>
#include <thread>

#include "merlon/base/time.h"
#include "merlon/lab_host/capability.h"
#include "merlon/lab_host/command.h"
#include "merlon/lab_host/file.h"

namespace merlon::lab {
namespace {

namespace fs = std::filesystem;

// Value of the first line "key<blanks>: value".
std::string_view colon_value(std::string_view text, std::string_view key) {
  for (const std::string_view line : split(text, '\n')) {
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos && trim(line.substr(0, colon)) == key)
      return trim(line.substr(colon + 1));
  }
  return {};
}

std::string machine_name() {
  const std::string vendor = read_line("/sys/class/dmi/id/sys_vendor");
  const std::string product = read_line("/sys/class/dmi/id/product_name");
  const std::string both = vendor + (vendor.empty() || product.empty() ? "" : " ") + product;
  return both.empty() ? read_line("/proc/sys/kernel/hostname") : both;
}

std::string virtualization(std::string_view cpuinfo) {
  if (!find_program("systemd-detect-virt").empty()) {
    const auto said = run_to_end({"systemd-detect-virt"});
    if (said.ok() && said->exit_code == 0) return std::string(trim(said->out));
  }
  std::string hypervisor = read_line("/sys/hypervisor/type");
  if (!hypervisor.empty()) return hypervisor;
  return has_hypervisor(cpuinfo) ? "guest of an unnamed hypervisor" : "none";
}

void add_mitigations(Environment& e) {
  std::error_code problem;
  const std::string folder = "/sys/devices/system/cpu/vulnerabilities";
  for (fs::directory_iterator it(folder, problem), end; !problem && it != end;
       it.increment(problem)) {
    const std::string state = read_line(it->path().string());
    if (state != "Not affected") e.mitigations[it->path().filename().string()] = state;
  }
}

// Against the clock that nobody adjusts, over 20 ms: within some 10 ppm, enough for a report.
double measure_tsc_hz() {
  const auto raw = [] {
    timespec t{};
    ::clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
  };
  const double begin = raw();
  const std::uint64_t tsc = base::read_tsc();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const double elapsed = raw() - begin;
  return static_cast<double>(base::read_tsc() - tsc) * 1e9 / elapsed;
}

// First line that each program says of itself; those that are not there are left out.
void add_versions(Environment& e) {
  const struct {
    const char* name;
    Argv argv;
  } programs[]{{"iproute2", {"ip", "-V"}},
               {"nftables", {"nft", "--version"}},
               {"openvswitch", {"ovs-vswitchd", "--version"}},
               {"dpdk-testpmd", {"dpdk-testpmd", "--version"}},
               {"qemu", {"qemu-system-x86_64", "--version"}}};
  for (const auto& p : programs) {
    if (find_program(p.argv[0]).empty()) continue;
    const auto said = run_to_end(p.argv, {}, std::chrono::seconds(5));
    if (!said.ok() || said->exit_code != 0) continue;
    const std::string_view text = trim(said->out.empty() ? said->err : said->out);
    e.versions[p.name] = std::string(text.substr(0, text.find('\n')));
  }
}

}  // namespace

std::string cpu_model(std::string_view cpuinfo) {
  return std::string(colon_value(cpuinfo, "model name"));
}

bool has_hypervisor(std::string_view cpuinfo) {
  for (const std::string_view flag : split_words(colon_value(cpuinfo, "flags"))) {
    if (flag == "hypervisor") return true;
  }
  return false;
}

std::string distribution_name(std::string_view os_release) {
  for (const std::string_view line : split(os_release, '\n')) {
    if (!line.starts_with("PRETTY_NAME=")) continue;
    std::string_view value = trim(line.substr(12));
    if (value.size() >= 2 && value.front() == '"') value = value.substr(1, value.size() - 2);
    return std::string(value);
  }
  return {};
}

Environment read_environment() {
  Environment e;
  const std::string cpuinfo = read_file("/proc/cpuinfo").value_or("");
  e.machine = machine_name();
  e.cpu = cpu_model(cpuinfo);
  e.kernel = read_line("/proc/sys/kernel/osrelease") + " " + read_line("/proc/sys/kernel/version");
  e.distribution = distribution_name(read_file("/etc/os-release").value_or(""));
  e.clock_source = read_line("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  e.virtualization = virtualization(cpuinfo);
  e.cores = static_cast<unsigned>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  e.memory_mib = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) *
                 static_cast<double>(::sysconf(_SC_PAGESIZE)) / 1048576;
  e.tsc_hz = measure_tsc_hz();
  add_mitigations(e);
  add_versions(e);
  e.versions["huge pages free, MiB"] = std::to_string(free_huge_mib());
  return e;
}

}  // namespace merlon::lab
