// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the manager needs from the world: clock, devices, testers, accounts of CPU time. One
// interface, so that the manager, the searches and the resume are tested on simulated devices in
// simulated time. control-only.
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "merlon/base/result.h"
#include "merlon/lab_device/device.h"
#include "merlon/lab_model/run.h"
#include "merlon/lab_tcp/tls_spec.h"
#include "merlon/lab_traffic/tester.h"

namespace merlon::lab {

using Kpis = std::map<std::string, double>;

// CPU accounts around one trial: begin() before, end() after it fills processes, cores and the CPU
// sums of the result, and stamps it contaminated when others used the measuring cores.
class Accountant {
 public:
  virtual ~Accountant() = default;
  virtual void begin(const std::vector<int>& device_processes) = 0;
  virtual void end(TrialResult& result) = 0;
};

// A trial of whole TCP connections instead of single frames.
struct TcpRequest {
  std::string kind = "connections";  // connections | rate | throughput | latency | concurrent
  double connections_per_s = 1000;
  double object_kib = 1;      // 0: connections without payload
  unsigned transactions = 1;  // per connection
  double concurrent = 0;      // kind concurrent: the target
  double ramp_s = 0.5, sustain_s = 2;
  unsigned client_addresses = 16, server_addresses = 4;
  TlsSpec tls;
};

// Where the frames of a trial were lost, by counters of the layers.
struct LossPlace {
  std::vector<LayerCounter> layers;
  Text sentence;
};

// One row's connection between a device and the two ends.
class Services {
 public:
  virtual ~Services() = default;
  // Unix time, seconds.
  virtual double now() = 0;
  virtual void sleep(double seconds) = 0;
  virtual Environment environment() = 0;
  // Takes away what labs that died left behind; returns what that was.
  virtual std::vector<std::string> clean() = 0;
  virtual base::Result<std::unique_ptr<Device>> device(const DeviceSpec& spec) = 0;
  virtual base::Result<std::unique_ptr<Tester>> tester(Topology& topology) = 0;
  virtual std::unique_ptr<Accountant> accountant() = 0;
  virtual LossPlace locate(const std::vector<LayerCounter>& before,
                           const std::vector<LayerCounter>& after, std::uint64_t lost) = 0;
  // A function that not every build of the device has ("detection", "ddos", "offload"): why it is
  // missing.
  virtual std::optional<Absence> missing(const DeviceSpec& spec, const std::string& function) = 0;
  // Opens its own endpoints; the frame tester of the topology must be closed.
  virtual base::Result<TrialResult> connections(Topology& topology, const TcpRequest& request,
                                                const TrialSpec& spec,
                                                const std::atomic<bool>& stop,
                                                const ProgressFn& progress) = 0;
  // Starts a process that keeps `core` busy until the returned handle goes; the neighbour of a
  // starved device.
  virtual std::shared_ptr<void> hog(unsigned core) = 0;
};

// The machine itself. `merlond`: the daemon's binary for devices that need one; empty: beside this
// program.
std::unique_ptr<Services> machine_services(const std::string& merlond);

}  // namespace merlon::lab
