// SPDX-License-Identifier: Apache-2.0
#pragma once
// The configuration that the laboratory gives Merlon, as text, and what its API answers. Pure
// functions; the form is the documented one, no code of Merlon is used.
#include <string>
#include <string_view>
#include <vector>

#include "merlon/base/result.h"
#include "merlon/lab_device/device.h"

namespace merlon::lab {

struct MerlonSetup {
  std::string mode = "wire";         // wire | tap
  std::string port_kind = "native";  // native | af_packet | af_xdp | memif | vhost
  std::vector<std::string> ports;    // interfaces, or socket paths of memif and vhost
  std::string folder;                // for state, events
  std::string sessions;              // largest number of sessions; empty: Merlon's own default
  std::vector<int> cores;            // one worker on each; empty: one worker, unbound
  std::string sections;              // further sections, as text (option "config")
};

// The whole file. Rules: the oracle's drop, those that don't match, the allow.
std::string merlon_config(const MerlonSetup& setup, const RuleSet& rules);
// Body of POST /api/v1/config/commit.
std::string merlon_commit_body(const std::string& path, const std::string& text);
// First error of an answer to a commit, with its hint.
base::Error merlon_error(int status, std::string_view body);
// Counters out of GET /api/v1/ports and GET /api/v1/drops; an answer that is not what is documented
// gives none.
void add_merlon_ports(std::string_view json, std::vector<LayerCounter>& counters);
void add_merlon_drops(std::string_view json, std::vector<LayerCounter>& counters);

}  // namespace merlon::lab
