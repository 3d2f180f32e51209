// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tester: two endpoints, a paced sender and a receiver. One tester serves many trials;
// endpoints stay open between them. control-only; it starts and joins its own measuring threads per
// trial.
#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "merlon/base/result.h"
#include "merlon/io/port.h"
#include "merlon/lab_model/trial.h"

namespace merlon::lab {

struct EndpointSpec {
  // af_packet: own port on a kernel interface; ring: a cable in this process, the two endpoints
  // opened with one name are its ends; any other: a DPDK device string's driver.
  // af_packet | af_xdp | memif | tap | vhost | virtio | dpdk | ring
  std::string kind = "af_packet";
  std::string interface;  // kernel interface, socket's path of memif, vhost, virtio, cable's name
  std::string net_namespace;  // name under /run/netns; empty: ours
  bool is_server = false;     // memif, vhost, virtio: makes the socket
  double peer_wait_s = 10;    // virtio that is the server
  std::string device;         // kind dpdk: device string or PCI address
};

// An open endpoint. Threads: as io::Port says.
class Endpoint {
 public:
  virtual ~Endpoint() = default;
  [[nodiscard]] virtual io::Port& port() noexcept = 0;
  [[nodiscard]] virtual const EndpointSpec& spec() const noexcept = 0;
  // The port tells when the kernel got a frame: the receiver need not hold a core to be exact.
  [[nodiscard]] virtual bool has_kernel_stamps() const noexcept { return false; }
};
// An endpoint over any port, for tests and devices in memory.
std::unique_ptr<Endpoint> make_endpoint(std::unique_ptr<io::Port> port, EndpointSpec spec = {});
// kUnsupported for DPDK kinds in a build without DPDK. Opens in the named namespace; the calling
// thread is back in its own afterwards. DPDK kinds start the EAL when it is not running. Waits up
// to 2 s for the link of a kernel interface.
base::Result<std::unique_ptr<Endpoint>> open_endpoint(const EndpointSpec& spec);

struct TesterSettings {
  int sender_core = -1, receiver_core = -1;  // -1: not pinned
  double drain_s = 0.3;  // silence after the last frame before counters are read (RFC 2544: 2)
  bool is_unsent_loss = true;  // frames of the schedule that could not be sent count as loss
  // Share of intended frames not offered that makes a trial tester-limited.
  double lateness_limit = 0.01;
  // Share of frames lost in our own receiving port that makes a trial contaminated.
  double own_loss_limit = 0;
};

// What runs while the trial does, once per 100 ms; called on the control thread.
struct Progress {
  double elapsed_s = 0;
  std::uint64_t offered = 0, received = 0;
};
using ProgressFn = std::function<void(const Progress&)>;

class Tester {
 public:
  // `a` sends, `b` receives; with is_bidirectional both do both. b == nullptr: a receives its own
  // (loop).
  static base::Result<std::unique_ptr<Tester>> create(std::unique_ptr<Endpoint> a,
                                                      std::unique_ptr<Endpoint> b,
                                                      const TesterSettings& settings);
  virtual ~Tester() = default;

  // Runs one trial to its end or until `stop`. Fills what the tester knows: frames, rates,
  // histograms, timelines, own threads' ProcessUse and gaps, stamp when the tester was the limit.
  // kInvalidValue for a spec that can't be sent, with the field and the limits.
  virtual base::Result<TrialResult> run(const TrialSpec& spec, const std::atomic<bool>& stop,
                                        const ProgressFn& progress = {}) = 0;
  [[nodiscard]] virtual Endpoint& a() noexcept = 0;
  [[nodiscard]] virtual Endpoint* b() noexcept = 0;
};

// Sends a few frames to the first server again and again until one arrives: joints of shared memory
// come up on their own time, port by port. False when none did.
base::Result<bool> wait_for_path(Tester& tester, double seconds);

}  // namespace merlon::lab
