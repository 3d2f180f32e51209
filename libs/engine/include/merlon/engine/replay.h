// SPDX-License-Identifier: Apache-2.0
#pragma once
// Captures played through an engine without threads: the engine's ports are replaced by ReplayPorts
// that share one feed, and time is what the capture says. Deterministic: packets of one millisecond
// travel as a batch in capture order, sessions that end before a batch end first, and what leaves
// is put in order again by packet number, so that the number of workers makes no difference.
// control-only, one thread.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "merlon/base/result.h"
#include "merlon/engine/engine.h"
#include "merlon/io/buffer.h"
#include "merlon/io/pcap_file.h"

namespace merlon::engine {

// A frame that an engine sent in a replay.
struct SentFrame {
  io::Buffer* buffer;
  std::uint16_t port;
  std::uint64_t
      number;    // of the received packet; of the one that caused it when the engine made the frame
  bool is_ours;  // made by the engine (reject)
};

class ReplayFeed {
 public:
  // Chooses the input port of a packet.
  using PortChooser =
      std::function<std::uint16_t(const io::CapturePacket&, const io::CaptureInterface&)>;

  static base::Result<std::unique_ptr<ReplayFeed>> create(std::vector<std::string> port_names,
                                                          PortChooser choose);
  ~ReplayFeed();

  // The engine's ports, by number.
  std::vector<std::unique_ptr<io::Port>> make_ports();
  [[nodiscard]] const base::Nanos* clock() const noexcept { return &now_; }

  // The next capture; packet numbers go on counting.
  void read_from(io::CaptureReader& reader);
  // Takes the next batch from the capture; the ports deliver it after open(). False at the end.
  bool load();
  // Moves the clock towards the batch's time, by a day at most: ticks tell 24 days apart, and a
  // capture may pause for years. True when it got there.
  bool advance() noexcept;
  void open() noexcept { is_open_ = true; }
  // What was sent since the last call, in order; the frames are the caller's until give_back().
  const std::vector<SentFrame>& sent();
  void give_back();

  [[nodiscard]] base::Nanos now() const noexcept { return now_; }
  [[nodiscard]] base::Nanos first_time() const noexcept { return first_time_; }
  [[nodiscard]] io::LinkType link_type() const noexcept { return link_type_; }
  [[nodiscard]] std::uint64_t packets() const noexcept { return packets_; }
  // Packets of a link type that can't be judged; never delivered.
  [[nodiscard]] std::uint64_t unsupported() const noexcept { return unsupported_; }

 private:
  friend class ReplayPort;
  explicit ReplayFeed(std::vector<std::string> names, PortChooser choose)
      : names_(std::move(names)), choose_(std::move(choose)) {}
  bool fetch();
  void append(const io::CapturePacket& packet);

  struct Waiting {
    io::Buffer* buffer;
    std::uint16_t port;
  };

  std::vector<std::string> names_;
  PortChooser choose_;
  std::shared_ptr<io::BufferPool> pool_;
  io::CaptureReader* reader_ = nullptr;
  io::CapturePacket pending_{};
  bool has_pending_ = false, is_open_ = false;
  std::vector<Waiting> batch_;
  std::size_t next_ = 0;
  std::vector<SentFrame> sent_;
  base::Nanos now_ = 0, first_time_ = 0, batch_time_ = 0;
  unsigned days_passed_ = 0;  // since the last batch
  io::LinkType link_type_ = io::LinkType::kEthernet;
  std::uint64_t packets_ = 0, unsupported_ = 0, current_number_ = 0;
};

// The side of a wire or tap that a packet of a plain capture came in by: the interface's name when
// it is a port's name; else the port of the zone whose networks hold the source; else the far side
// of the port whose zone holds the destination; else the first port whose zone has no networks;
// else port 0.
ReplayFeed::PortChooser choose_by_zone(const EngineConfig& config,
                                       const policy::PolicyModel& model);

// Plays what `feed` was given through `engine`. `after_batch` is called when a batch is through,
// with the frames sent, and `drain` whenever the clock has moved or the event rings may be filling:
// many sessions can end at once.
void play(ReplayFeed& feed, Engine& engine, const std::function<void()>& drain,
          const std::function<void()>& after_batch);

}  // namespace merlon::engine
