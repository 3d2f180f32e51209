// SPDX-License-Identifier: Apache-2.0
#pragma once
// A layout built on this host: namespaces, veth pairs, outer bridges, or the sockets of shared
// memory. Its owner is the device; it is gone with it. control-only.
#include <memory>
#include <string>
#include <vector>

#include "layout.h"
#include "merlon/base/result.h"
#include "merlon/lab_device/device.h"
#include "merlon/lab_host/net_namespace.h"

namespace merlon::lab {

// A veth pair, the end nearer to the generator first.
struct Cable {
  LinkEnd near, far;
};

class BuiltTopology final : public Topology {
 public:
  struct Wishes {
    unsigned mtu = 1500;
    std::string middle;         // what stands between the two ports, for the chain: "bridge"
    std::string socket_folder;  // for sockets of shared memory
    // On kernel links, how the tester holds its two interfaces: "native" (its own packet socket),
    // "af_packet" (DPDK's), "af_xdp".
    std::string tester_port = "native";
    int receive_core =
        -1;  // >= 0: frames that reach the device are handled there (RPS), not in the sender's call
  };
  static base::Result<std::unique_ptr<BuiltTopology>> build(std::shared_ptr<RunRegistry> registry,
                                                            const Layout& layout,
                                                            const Wishes& wishes);
  ~BuiltTopology() override = default;

  [[nodiscard]] EndpointSpec generator() const override { return generator_; }
  [[nodiscard]] EndpointSpec sink() const override { return sink_; }
  [[nodiscard]] std::string device_namespace() const override { return device_namespace_; }
  [[nodiscard]] std::vector<std::string> device_ports() const override { return device_ports_; }
  [[nodiscard]] std::vector<std::string> chain() const override { return chain_; }
  [[nodiscard]] const std::vector<std::string>& commands() const override { return commands_; }
  base::Result<void> flap(double seconds) override;

  [[nodiscard]] const Layout& layout() const noexcept { return layout_; }
  // From the generator to the sink; none with shared memory and taps.
  [[nodiscard]] const std::vector<Cable>& cables() const noexcept { return cables_; }

 private:
  BuiltTopology(std::shared_ptr<RunRegistry> registry, Layout layout)
      : registry_(std::move(registry)), layout_(std::move(layout)) {}
  base::Result<void> build_links(const Wishes& wishes);
  base::Result<void> build_taps(const Wishes& wishes);
  void build_sockets(const Wishes& wishes);
  base::Result<void> build_outer_bridges(const Wishes& wishes);
  base::Result<void> steer(int core);
  base::Result<std::string> space(const std::string& role);
  base::Result<void> connect(const LinkEnd& near, const LinkEnd& far, unsigned mtu);
  void draw_chain(const Wishes& wishes);

  std::shared_ptr<RunRegistry> registry_;
  Layout layout_;
  std::vector<std::unique_ptr<NetNamespace>> spaces_;
  std::vector<std::string> space_roles_;
  std::vector<Cable> cables_;
  EndpointSpec generator_, sink_;
  std::string device_namespace_;
  std::vector<std::string> device_ports_, chain_, commands_;
};

}  // namespace merlon::lab
