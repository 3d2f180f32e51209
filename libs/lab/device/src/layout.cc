// SPDX-License-Identifier: Apache-2.0
#include "layout.h"

#include <utility>

namespace merlon::lab {
namespace {

Layout guest_path(const std::string& name) {
  Layout l;
  l.name = name;
  l.device_space = "guest";
  return l;
}

Layout outside_path(const std::string& name) {
  Layout l;
  l.name = name;
  l.generator_space = "wire";
  l.first_port = "nic0";
  return l;
}

std::vector<Layout> make_layouts() {
  std::vector<Layout> all;
  Layout direct;
  direct.name = "direct";
  direct.has_device = false;
  all.push_back(direct);
  for (const char* name : {"path1", "path2", "path3"}) all.push_back(guest_path(name));
  for (const char* name : {"path4", "path5", "path6"}) all.push_back(outside_path(name));
  for (const char* name : {"path7", "path8", "path9"}) {
    all.emplace_back();
    all.back().name = name;
  }
  Layout both_outside = outside_path("path10");
  both_outside.sink_space = "wire";
  both_outside.second_port = "nic1";
  all.push_back(both_outside);
  Layout cable = outside_path("path11");
  cable.sink_space = "wire";
  cable.has_device = false;
  all.push_back(cable);
  Layout chain = guest_path("chain3");
  chain.has_outer_bridges = true;
  all.push_back(chain);
  for (const auto& [name, medium] :
       {std::pair{"tap", Medium::kTap}, std::pair{"memif", Medium::kMemif},
        std::pair{"vhost", Medium::kVhost}, std::pair{"virtio", Medium::kVirtio}}) {
    all.emplace_back();
    all.back().name = name;
    all.back().medium = medium;
  }
  Layout loop;
  loop.name = "loopback";
  loop.is_loop = true;
  all.push_back(loop);
  return all;
}

const std::vector<Layout>& layouts() {
  static const std::vector<Layout> kAll = make_layouts();
  return kAll;
}

}  // namespace

std::optional<Layout> find_layout(const std::string& name) {
  for (const Layout& l : layouts()) {
    if (l.name == name) return l;
  }
  return std::nullopt;
}

const std::vector<std::string>& layout_names() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> all;
    for (const Layout& l : layouts()) all.push_back(l.name);
    return all;
  }();
  return kNames;
}

}  // namespace merlon::lab
