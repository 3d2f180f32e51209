// SPDX-License-Identifier: Apache-2.0
#pragma once
// The attack beside the load: frames of the traffic room's attack source, evenly paced.
// worker-owned.
#include <cstdint>
#include <memory>

#include "merlon/base/result.h"
#include "merlon/lab_tcp/tcp_load.h"
#include "merlon/lab_tcp/transmitter.h"
#include "merlon/lab_traffic/frames.h"

namespace merlon::lab::tcp {

class Flood {
 public:
  // Null without an attack in the spec; errors are those of make_attack().
  static base::Result<std::unique_ptr<Flood>> create(const TcpLoadSpec& spec, io::Port& port,
                                                     const base::MacAddress& mac);

  void start(base::Nanos start, base::Nanos end, const base::MacAddress& to) noexcept;
  // Sends what is due, at most a burst's worth. True when something left.
  bool turn(base::Nanos now) noexcept;
  [[nodiscard]] std::uint64_t sent() const noexcept { return number_; }

 private:
  Flood(std::unique_ptr<FrameSource> frames, double rate, io::Port& port,
        const base::MacAddress& mac);

  const std::unique_ptr<FrameSource> frames_;
  const double interval_;  // ns
  const base::MacAddress mac_;
  base::MacAddress to_{};
  Transmitter out_;
  base::Nanos start_ = 0, end_ = 0;
  std::uint64_t number_ = 0;
};

}  // namespace merlon::lab::tcp
