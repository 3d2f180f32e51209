// SPDX-License-Identifier: Apache-2.0
#pragma once
// One trial between its specification and its result: the streams to send, the ledgers they are
// entered in, and the evaluation when all is over. Made and evaluated on the control thread.
#include <memory>
#include <optional>
#include <vector>

#include "measuring_thread.h"
#include "merlon/lab_traffic/receiver.h"
#include "merlon/lab_traffic/sender.h"
#include "merlon/lab_traffic/tester.h"

namespace merlon::lab {

struct Trial {
  // kInvalidValue for what can't be sent on these ports.
  static base::Result<std::unique_ptr<Trial>> create(const TrialSpec& spec, Endpoint& a,
                                                     Endpoint* b, std::uint16_t tag);

  [[nodiscard]] Progress progress(const Clock& clock) const;
  // Every frame taken by a port was seen: nothing is left to wait for. Approximate while sending.
  [[nodiscard]] bool is_all_received() const noexcept;
  [[nodiscard]] TrialResult evaluate(const TesterSettings& settings, bool is_stopped) const;

  TrialSpec spec;
  std::uint16_t tag = 0;
  unsigned time_shift = 0;
  base::Nanos grace = 0;
  std::vector<std::unique_ptr<Ledger>> ledgers;  // a to b, then b to a
  std::vector<Stream> streams;
  std::vector<Ear> ears;

  // Filled by the measuring threads.
  ThreadReport sender, receiver;
  SenderUse sender_use;
  ReceiverUse receiver_use;
  double drift_ppm = 0;

 private:
  struct PortBefore {
    io::Port* port;
    std::string name;
    bool does_receive;  // measured frames end here
    io::PortCounters counters;
  };
  struct Plan {
    std::shared_ptr<const FrameSource> source;
    std::optional<Schedule> schedule;
  };
  [[nodiscard]] base::Result<Plan> plan_direction(const FrameOptions& options) const;
  base::Result<void> add_direction(Endpoint& from, Endpoint& to, bool is_reverse);
  base::Result<void> add_attack(Endpoint& from);
  void add_layers(TrialResult& result) const;
  void add_rates(TrialResult& result, const TesterSettings& settings) const;
  void add_stamp(TrialResult& result, const TesterSettings& settings, bool is_stopped) const;
  void add_kpis(TrialResult& result) const;

  std::vector<PortBefore> ports_;
};

}  // namespace merlon::lab
