// SPDX-License-Identifier: Apache-2.0
#include "built_topology.h"

#include <chrono>
#include <thread>

#include "merlon/base/make_error.h"

namespace merlon::lab {
namespace {

EndpointSpec kernel_endpoint(const std::string& port, const std::string& net_namespace,
                             const std::string& interface) {
  EndpointSpec spec;
  spec.kind = port == "af_xdp" ? "af_xdp" : port == "af_packet" ? "dpdk" : "af_packet";
  spec.interface = interface;
  spec.net_namespace = net_namespace;
  if (spec.kind == "dpdk") spec.device = "net_af_packet_" + interface + ",iface=" + interface;
  return spec;
}

// With memif and virtio the device listens: it is there before the tester comes and stays when it
// goes. A switch's vhost ports look for their guests again and again, so there the guests listen.
EndpointSpec socket_endpoint(Medium medium, const std::string& socket) {
  EndpointSpec spec;
  spec.kind = medium == Medium::kMemif ? "memif" : medium == Medium::kVhost ? "virtio" : "vhost";
  spec.interface = socket;
  spec.is_server = medium == Medium::kVhost;
  return spec;
}

}  // namespace

base::Result<std::unique_ptr<BuiltTopology>> BuiltTopology::build(
    std::shared_ptr<RunRegistry> registry, const Layout& layout, const Wishes& wishes) {
  std::unique_ptr<BuiltTopology> t(new BuiltTopology(std::move(registry), layout));
  base::Result<void> built;
  if (layout.is_shared_memory())
    t->build_sockets(wishes);
  else if (layout.medium == Medium::kTap)
    built = t->build_taps(wishes);
  else
    built = t->build_links(wishes);
  if (!built.ok()) return built.error();
  t->draw_chain(wishes);
  return t;
}

void BuiltTopology::build_sockets(const Wishes& wishes) {
  device_ports_ = {wishes.socket_folder + "/m0.sock", wishes.socket_folder + "/m1.sock"};
  generator_ = socket_endpoint(layout_.medium, device_ports_[0]);
  sink_ = socket_endpoint(layout_.medium, device_ports_[1]);
}

// The interfaces stay when the tester lets go of them, so the device can have them before.
base::Result<void> BuiltTopology::build_taps(const Wishes& wishes) {
  auto middle = space(layout_.device_space);
  if (!middle.ok()) return middle.error();
  device_namespace_ = *middle;
  device_ports_ = {layout_.first_port, layout_.second_port};
  for (const std::string& port : device_ports_) {
    for (const Argv& words :
         {Argv{"tuntap", "add", port, "mode", "tap", "multi_queue"},
          Argv{"link", "set", port, "mtu", std::to_string(wishes.mtu), "promisc", "on", "up"}}) {
      const Argv argv = Argv{"ip", "-n", *middle} + words;
      commands_.push_back(shell_text(argv));
      if (auto done = run_command(argv); !done.ok()) return done.error();
    }
  }
  generator_ = kernel_endpoint("native", *middle, device_ports_[0]);
  sink_ = kernel_endpoint("native", *middle, device_ports_[1]);
  generator_.kind = sink_.kind = "tap";
  return {};
}

base::Result<std::string> BuiltTopology::space(const std::string& role) {
  for (std::size_t i = 0; i < spaces_.size(); ++i) {
    if (space_roles_[i] == role) return spaces_[i]->name();
  }
  auto made = NetNamespace::create(registry_, role, commands_);
  if (!made.ok()) return made.error();
  spaces_.push_back(std::move(*made));
  space_roles_.push_back(role);
  return spaces_.back()->name();
}

base::Result<void> BuiltTopology::connect(const LinkEnd& near, const LinkEnd& far, unsigned mtu) {
  if (auto made = make_veth(near, far, mtu, commands_); !made.ok()) return made.error();
  cables_.push_back({near, far});
  return {};
}

base::Result<void> BuiltTopology::build_links(const Wishes& wishes) {
  auto from = space(layout_.generator_space);
  if (!from.ok()) return from.error();
  generator_ = kernel_endpoint(wishes.tester_port, *from, "g0");
  auto to = layout_.is_loop ? from : space(layout_.sink_space);
  if (!to.ok()) return to.error();
  sink_ = layout_.is_loop ? generator_ : kernel_endpoint(wishes.tester_port, *to, "k0");
  if (!layout_.has_device) return connect({*from, "g0"}, {*to, "k0"}, wishes.mtu);
  auto middle = space(layout_.device_space);
  if (!middle.ok()) return middle.error();
  device_namespace_ = *middle;
  device_ports_ = {layout_.first_port};
  if (!layout_.is_loop) device_ports_.push_back(layout_.second_port);
  if (layout_.has_outer_bridges) return build_outer_bridges(wishes);
  if (auto near = connect({*from, "g0"}, {*middle, layout_.first_port}, wishes.mtu); !near.ok()) {
    return near.error();
  }
  if (!layout_.is_loop) {
    if (auto far = connect({*middle, layout_.second_port}, {*to, "k0"}, wishes.mtu); !far.ok()) {
      return far.error();
    }
  }
  return steer(wishes.receive_core);
}

base::Result<void> BuiltTopology::build_outer_bridges(const Wishes& wishes) {
  auto host = space("host");
  if (!host.ok()) return host.error();
  const LinkEnd g{generator_.net_namespace, "g0"}, k{sink_.net_namespace, "k0"};
  const LinkEnd first{device_namespace_, layout_.first_port};
  const LinkEnd second{device_namespace_, layout_.second_port};
  const std::vector<Cable> links{
      {g, {*host, "h0"}}, {{*host, "h1"}, first}, {second, {*host, "h2"}}, {{*host, "h3"}, k}};
  for (const Cable& link : links) {
    if (auto made = connect(link.near, link.far, wishes.mtu); !made.ok()) return made.error();
  }
  for (const auto& [bridge, left, right] :
       {std::tuple{"hb0", "h0", "h1"}, std::tuple{"hb1", "h2", "h3"}}) {
    for (const Argv& words :
         {Argv{"link", "add", bridge, "type", "bridge", "stp_state", "0", "mcast_snooping", "0"},
          Argv{"link", "set", left, "master", bridge}, Argv{"link", "set", right, "master", bridge},
          Argv{"link", "set", bridge, "up"}}) {
      const Argv argv = Argv{"ip", "-n", *host} + words;
      commands_.push_back(shell_text(argv));
      if (auto done = run_command(argv); !done.ok()) return done.error();
    }
  }
  return steer(wishes.receive_core);
}

base::Result<void> BuiltTopology::steer(int core) {
  if (core < 0) return {};
  for (const std::string& port : device_ports_) {
    char mask[20];
    std::snprintf(mask, sizeof mask, "%x", 1U << static_cast<unsigned>(core));
    const Argv argv{"ip",   "netns",
                    "exec", device_namespace_,
                    "tee",  "/sys/class/net/" + port + "/queues/rx-0/rps_cpus"};
    commands_.push_back("echo " + std::string(mask) + " | " + shell_text(argv));
    if (auto done = run_command(argv, mask); !done.ok()) return done.error();
  }
  return {};
}

void BuiltTopology::draw_chain(const Wishes& wishes) {
  if (layout_.is_shared_memory()) {
    chain_ = {"gen", layout_.name, wishes.middle, layout_.name, "snk"};
  } else if (layout_.medium == Medium::kTap) {
    chain_ = {"gen", "tap s0", wishes.middle, "tap s1", "snk"};
  } else if (!layout_.has_device) {
    chain_ = {layout_.generator_space, "g0", "k0", layout_.sink_space};
  } else if (layout_.is_loop) {
    chain_ = {"gen", "g0", layout_.first_port, wishes.middle, layout_.first_port, "g0", "gen"};
  } else if (layout_.has_outer_bridges) {
    chain_ = {"gen", "g0", "h0",     "bridge", "h1", "s0", wishes.middle,
              "s1",  "h2", "bridge", "h3",     "k0", "snk"};
  } else {
    chain_ = {layout_.generator_space, "g0", layout_.first_port, wishes.middle,
              layout_.second_port,     "k0", layout_.sink_space};
  }
}

base::Result<void> BuiltTopology::flap(double seconds) {
  if (cables_.empty()) {
    return make_error(base::Errc::kUnsupported,
                      "topology " + layout_.name + " has no link that could be interrupted");
  }
  // The far end of the generator's cable: the generator itself keeps its interface and sees the
  // carrier go.
  const LinkEnd& end = cables_.front().far;
  if (auto down = set_link(end, false); !down.ok()) return down.error();
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  return set_link(end, true);
}

}  // namespace merlon::lab
