// SPDX-License-Identifier: Apache-2.0
#pragma once
// Network namespaces and the links between them. Nothing of the host's own network is touched:
// links are made inside the namespaces. control-only; in_namespace() changes the calling thread
// only and brings it back.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "merlon/base/result.h"
#include "merlon/lab_host/command.h"
#include "merlon/lab_host/run_registry.h"

namespace merlon::lab {

// Runs `fn` with the calling thread inside the namespace /run/netns/<name>; an empty name runs it
// where it is. Sockets that it opens stay in that namespace. kNotFound, kRefused without the right,
// else what `fn` gives. A thread that can't get back is a broken invariant: the program ends.
base::Result<void> in_namespace(const std::string& name,
                                const std::function<base::Result<void>()>& fn);

// Takes the namespace of that name away. Processes in it are killed first, whoever started them: it
// would live on with its links while one is left. kNotFound when there is none.
base::Result<void> delete_namespace(const std::string& name);
bool has_namespace(const std::string& name);

// Counters of an interface, as /proc/net/dev tells them.
struct InterfaceCounters {
  std::uint64_t rx_packets = 0, rx_errors = 0, rx_dropped = 0;
  std::uint64_t tx_packets = 0, tx_errors = 0, tx_dropped = 0;
};
using InterfaceTable = std::map<std::string, InterfaceCounters>;
InterfaceTable parse_net_dev(const std::string& text);
// Empty when the namespace can't be entered.
InterfaceTable interface_counters(const std::string& net_namespace);

// A namespace that this run made: IPv6 off, loopback up. Removed with the object.
class NetNamespace {
 public:
  // Named "mlab-<run>-<role>". Appends what it did to `commands`.
  static base::Result<std::unique_ptr<NetNamespace>> create(std::shared_ptr<RunRegistry> registry,
                                                            const std::string& role,
                                                            std::vector<std::string>& commands);
  ~NetNamespace();
  NetNamespace(const NetNamespace&) = delete;
  NetNamespace& operator=(const NetNamespace&) = delete;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }

 private:
  NetNamespace(std::shared_ptr<RunRegistry> registry, std::string name);

  std::shared_ptr<RunRegistry> registry_;
  std::string name_;
};

struct LinkEnd {
  std::string net_namespace, interface;
};

// A veth pair with both ends up, promiscuous, without IPv6 and without off-loads that would leave
// checksums or segments to hardware that is not there.
base::Result<void> make_veth(const LinkEnd& left, const LinkEnd& right, unsigned mtu,
                             std::vector<std::string>& commands);
// Switches checksum, segmentation and receive off-loads off (SIOCETHTOOL); what a driver does not
// know is left.
base::Result<void> switch_offloads_off(const LinkEnd& end);
// Flag IFF_UP on or off.
base::Result<void> set_link(const LinkEnd& end, bool up);

}  // namespace merlon::lab
