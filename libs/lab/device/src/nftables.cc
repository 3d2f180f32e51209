// SPDX-License-Identifier: Apache-2.0
// nftables on a bridge or between two routed ports. Modes: linear and set differ in how the rules
// that don't match are looked up; ct lets a connection's further packets pass before them; "routed"
// forwards by address instead of bridging (its connection tracking needs no bridge module). The
// rules are one file, read by one `nft -f`: all or nothing.
#include <algorithm>

#include "drivers.h"
#include "linux_bridge.h"
#include "merlon/base/make_error.h"
#include "merlon/lab_device/loss.h"
#include "merlon/lab_host/capability.h"
#include "merlon/lab_host/file.h"
#include "nft_rules.h"

namespace merlon::lab {
namespace {

// Where frames of the tester are addressed to: its first client and server.
constexpr const char* kClientMac = "02:4d:4c:43:00:01";
constexpr const char* kServerMac = "02:4d:4c:53:00:01";

class Nftables final : public LinuxBridge {
 public:
  explicit Nftables(DeviceSpec spec)
      : LinuxBridge(std::move(spec)), style_(nft_style(spec_.mode)) {}
  ~Nftables() override { static_cast<void>(stop()); }
  [[nodiscard]] std::string version() const override {
    const auto said = run_command({"nft", "--version"});
    return (said.ok() ? std::string(trim(*said)) : std::string("nftables")) + ", " +
           LinuxBridge::version();
  }

 protected:
  [[nodiscard]] std::optional<Absence> find_absence() const override {
    if (auto missing = need_program("nft", "nftables")) return missing;
    if (style_.has_conntrack && !style_.is_routed) {
      const Capability conntrack = probe_bridge_conntrack();
      if (!conntrack.is_there) return Absence{conntrack.reason};
    }
    return std::nullopt;
  }
  base::Result<void> start_switch(bool is_again) override {
    const auto done = style_.is_routed ? make_router() : LinuxBridge::start_switch(is_again);
    return done.ok() ? apply_rules({}) : done;
  }
  base::Result<void> apply_rules(const RuleSet& rules) override;
  void add_counters(std::vector<LayerCounter>& counters) const override;
  [[nodiscard]] std::string middle_name() const override {
    return style_.is_routed ? "router+nft" : "bridge+nft";
  }

 private:
  base::Result<void> make_router();

  NftStyle style_;
};

base::Result<void> Nftables::make_router() {
  const std::vector<std::string> ports = built().device_ports();
  // Clients are behind the first port, servers behind the second; each port takes the address that
  // frames are sent to.
  const struct {
    const char *net, *peer_ip, *net6, *peer_ip6, *port_mac, *peer_mac;
  } sides[]{
      {"10.9.0.0/16", "10.9.255.254", "2001:2:0:9::/64", "fe80::9", kServerMac, kClientMac},
      {"10.10.0.0/16", "10.10.255.254", "2001:2:0:a::/64", "fe80::a", kClientMac, kServerMac}};
  if (auto done =
          run(inside({"sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv4.conf.all.rp_filter=0",
                      "net.ipv4.conf.default.rp_filter=0", "net.ipv6.conf.all.disable_ipv6=0",
                      "net.ipv6.conf.all.accept_dad=0", "net.ipv6.conf.all.forwarding=1"}));
      !done.ok()) {
    return done.error();
  }
  for (std::size_t i = 0; i < 2; ++i) {
    const Argv ip{"ip", "-n", built().device_namespace()};
    const auto& s = sides[i];
    for (const Argv& words :
         {Argv{"link", "set", ports[i], "address", s.port_mac},
          Argv{"neigh", "replace", s.peer_ip, "lladdr", s.peer_mac, "dev", ports[i], "nud",
               "permanent"},
          Argv{"route", "replace", s.net, "via", s.peer_ip, "dev", ports[i], "onlink"},
          Argv{"-6", "neigh", "replace", s.peer_ip6, "lladdr", s.peer_mac, "dev", ports[i], "nud",
               "permanent"},
          Argv{"-6", "route", "replace", s.net6, "via", s.peer_ip6, "dev", ports[i]}}) {
      if (auto done = run(ip + words); !done.ok()) return done.error();
    }
  }
  return {};
}

base::Result<void> Nftables::apply_rules(const RuleSet& rules) {
  NftStyle style = style_;
  style.has_conntrack = style.has_conntrack || (rules.is_per_connection && style.is_routed);
  const std::string text = nft_text(style, rules);
  const std::string path = folder() + "/rules.nft";
  if (auto written = write_file(path, text); !written.ok()) return written.error();
  const Argv argv = inside({"nft", "-f", path});
  note(shell_text(argv));
  const auto loaded = run_command(argv, {}, std::chrono::minutes(2));
  if (!loaded.ok()) return loaded.error();
  configuration_ = text.substr(0, 8192);
  return {};
}

void Nftables::add_counters(std::vector<LayerCounter>& counters) const {
  const auto listed = run_command({"ip", "netns", "exec", built().device_namespace(), "nft", "list",
                                   "counters", "table", style_.family(), "lab"});
  if (!listed.ok()) return;
  for (const auto& [name, packets] : parse_nft_counters(*listed)) {
    LayerCounter c;
    c.layer = "nftables " + name;
    c.counter = name == "oracle" || name == "blocked" || name == "invalid"
                    ? std::string(kDroppedByRule)
                    : "packets";
    c.delta = static_cast<std::int64_t>(packets);
    counters.push_back(std::move(c));
  }
}

}  // namespace

std::unique_ptr<Device> make_nftables(const DeviceSpec& spec) {
  return std::make_unique<Nftables>(spec);
}

}  // namespace merlon::lab
