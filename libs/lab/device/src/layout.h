// SPDX-License-Identifier: Apache-2.0
#pragma once
// The named topologies as values: which namespaces, which links, where the device stands. The
// study's paths 1 to 3 have it in a guest (here a namespace of that name), 4 to 6 on the host with
// one leg through an outside network, 7 to 9 on the host, 10 between two outside legs, 11 is the
// outside cable alone. control-only.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace merlon::lab {

// What joins the tester with the device.
enum class Medium : std::uint8_t {
  kLinks,   // kernel links: veth pairs
  kTap,     // the kernel's tap interfaces; the tester holds them, as a hypervisor would
  kMemif,   // shared memory by memif; the device listens
  kVhost,   // vhost-user: the device is the switch, the tester is its guests and listens
  kVirtio,  // vhost-user: the device is the guest and listens, the tester is the switch
};

struct Layout {
  std::string name;
  bool has_device = true;  // false: generator and sink hold the ends of one cable
  Medium medium = Medium::kLinks;
  bool is_loop = false;            // one link; the device sends back what came
  bool has_outer_bridges = false;  // a bridge of the host on either side of the device
  std::string generator_space = "gen", device_space = "sut", sink_space = "snk";
  std::string first_port = "s0", second_port = "s1";  // of the device

  // Memory that two processes share: no kernel interface anywhere.
  [[nodiscard]] bool is_shared_memory() const noexcept {
    return medium != Medium::kLinks && medium != Medium::kTap;
  }
};

// Nothing for an unknown name.
std::optional<Layout> find_layout(const std::string& name);
// All names, in the order of the list for people.
const std::vector<std::string>& layout_names();

}  // namespace merlon::lab
