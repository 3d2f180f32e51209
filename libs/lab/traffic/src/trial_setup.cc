// SPDX-License-Identifier: Apache-2.0
#include "trial_setup.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "capture_frames.h"
#include "merlon/base/make_error.h"

namespace merlon::lab {
namespace {

constexpr double kNanos = 1e9;
constexpr base::Nanos kMinGrace = 20'000'000, kMaxGrace = 500'000'000;
constexpr std::uint64_t kL1Overhead = 20;  // preamble, start of frame, least gap
constexpr std::uint32_t kDefaultMtu = 1500;
constexpr double kCatchUpBurst = 256;  // frames: what fits the queues of most devices

// The least n with which the tag's 32 bits hold `span`.
unsigned shift_for(base::Nanos span) noexcept {
  unsigned n = 0;
  while (span >> n > 0xffff'ffffLL) ++n;
  return n;
}

// Frames that our own receiving side lost.
std::uint64_t explained_losses(const TrialResult& result) {
  std::int64_t lost = 0;
  for (const LayerCounter& c : result.layers) lost += c.is_loss ? c.delta : 0;
  return static_cast<std::uint64_t>(std::max<std::int64_t>(lost, 0));
}

base::Result<void> check_room(io::Port& port, std::uint32_t size) {
  base::Byte* data = nullptr;
  void* handle = port.allocate(0, size - kFcsSize, data);
  if (handle == nullptr)
    return base::invalid(fmt::format("sizes: frames of {} bytes don't fit the buffers of port {}",
                                     size, port.info().name));
  port.release(0, &handle, 1);
  return {};
}

}  // namespace

base::Result<Trial::Plan> Trial::plan_direction(const FrameOptions& options) const {
  const TrafficSpec& t = spec.traffic;
  const double share = t.is_bidirectional ? 0.5 : 1;
  Plan plan;
  if (t.capture.empty()) {
    auto frames = make_frames(t, options);
    if (!frames.ok()) return frames.error();
    plan.source = std::move(*frames);
  } else {
    if (t.is_bidirectional || t.drop_share > 0)
      return base::invalid("a capture is replayed one way and holds no frames to drop",
                           "leave is_bidirectional and drop_share alone");
    auto capture = load_capture(t.capture, options);
    if (!capture.ok()) return capture.error();
    plan.source = std::move(capture->source);
    if (spec.rate_pps == 0 && t.pacing == Pacing::kConstant) {
      auto own = Schedule::repeat(capture->times, capture->period, spec.duration_s);
      if (!own.ok()) return own.error();
      plan.schedule = *own;
      return plan;
    }
  }
  auto schedule =
      t.pacing == Pacing::kSteps
          ? Schedule::steps(t.steps, spec.rate_pps * share, spec.duration_s)
          : Schedule::create(t.pacing, spec.rate_pps * share, spec.duration_s, t.burst_frames);
  if (!schedule.ok()) return schedule.error();
  plan.schedule = *schedule;
  return plan;
}

base::Result<void> Trial::add_direction(Endpoint& from, Endpoint& to, bool is_reverse) {
  const std::uint16_t mtu = from.port().info().mtu;
  FrameOptions options;
  options.seed = spec.seed + (is_reverse ? 1 : 0);
  options.trial = tag;
  options.is_reverse = is_reverse;
  options.mtu = mtu != 0 ? mtu : kDefaultMtu;
  auto plan = plan_direction(options);
  if (!plan.ok()) return plan.error();
  if (auto ok = check_room(from.port(), plan->source->largest()); !ok.ok()) return ok;
  auto ledger = Ledger::create(plan->source, *plan->schedule);
  if (!ledger.ok()) return ledger.error();
  streams.push_back({&from.port(), 0, plan->source, *plan->schedule, ledger->get()});
  ears.push_back({&to.port(), 0, ledger->get(), is_reverse, to.has_kernel_stamps()});
  ledgers.push_back(std::move(*ledger));
  return {};
}

base::Result<void> Trial::add_attack(Endpoint& from) {
  if (spec.traffic.attack == AttackKind::kNone) return {};
  FrameOptions options;
  options.seed = spec.seed;
  auto frames = make_attack(spec.traffic, options);
  if (!frames.ok()) return frames.error();
  const auto schedule =
      Schedule::create(Pacing::kConstant, spec.traffic.attack_pps, spec.duration_s);
  if (!schedule.ok()) {
    base::Error e = schedule.error();
    e.message = "attack_pps: " + e.message;
    return e;
  }
  streams.push_back({&from.port(), 0, std::move(*frames), *schedule, nullptr});
  return {};
}

base::Result<std::unique_ptr<Trial>> Trial::create(const TrialSpec& spec, Endpoint& a, Endpoint* b,
                                                   std::uint16_t tag) {
  auto trial = std::make_unique<Trial>();
  trial->spec = spec;
  trial->tag = tag;
  if (spec.traffic.is_bidirectional && b == nullptr)
    return base::invalid("is_bidirectional needs two endpoints");
  Endpoint& far = b != nullptr ? *b : a;
  if (auto ok = trial->add_direction(a, far, false); !ok.ok()) return ok.error();
  if (spec.traffic.is_bidirectional)
    if (auto ok = trial->add_direction(far, a, true); !ok.ok()) return ok.error();
  if (auto ok = trial->add_attack(a); !ok.ok()) return ok.error();
  const base::Nanos duration = trial->ledgers.front()->schedule().duration();
  trial->grace = std::clamp(duration / 10, kMinGrace, kMaxGrace);
  trial->time_shift = shift_for(duration + trial->grace + 2 * base::kNanosPerSecond);
  if (b != nullptr && !spec.traffic.is_bidirectional) {
    // What comes back to the sender's port is read too, or its ring would fill up.
    Ledger* ledger = trial->ledgers.front().get();
    trial->ears.push_back({&a.port(), 0, ledger, true, a.has_kernel_stamps()});
  }
  const bool does_a_receive = b == nullptr || spec.traffic.is_bidirectional;
  trial->ports_.push_back({&a.port(), "sender port", does_a_receive, a.port().counters()});
  if (b != nullptr)
    trial->ports_.push_back({&b->port(), "receiver port", true, b->port().counters()});
  return trial;
}

Progress Trial::progress(const Clock& clock) const {
  Progress p;
  p.elapsed_s = static_cast<double>(std::max<base::Nanos>(clock.now(), 0)) / kNanos;
  for (const auto& l : ledgers) {
    p.offered += l->offered_count();
    p.received += l->received_count();
  }
  return p;
}

bool Trial::is_all_received() const noexcept {
  // With frames to drop the end can't be told: what is missing may be dropped or on its way.
  if (spec.traffic.drop_share > 0 || spec.traffic.attack != AttackKind::kNone) return false;
  return std::all_of(ledgers.begin(), ledgers.end(),
                     [](const auto& l) { return l->received_count() >= l->offered_count(); });
}

// Counters of our own ports.
void Trial::add_layers(TrialResult& result) const {
  for (const PortBefore& p : ports_) {
    const io::PortCounters now = p.port->counters();
    const auto add = [&](const char* counter, std::uint64_t before, std::uint64_t after,
                         bool is_loss) {
      const auto delta = static_cast<std::int64_t>(after - before);
      result.layers.push_back({p.name, counter, delta, is_loss});
    };
    add("tx_packets", p.counters.tx_packets, now.tx_packets, false);
    add("tx_dropped", p.counters.tx_dropped, now.tx_dropped, false);
    add("tx_errors", p.counters.tx_errors, now.tx_errors, false);
    add("rx_packets", p.counters.rx_packets, now.rx_packets, false);
    add("rx_dropped", p.counters.rx_dropped, now.rx_dropped, p.does_receive);
    add("rx_errors", p.counters.rx_errors, now.rx_errors, p.does_receive);
  }
}

void Trial::add_rates(TrialResult& result, const TesterSettings& settings) const {
  base::Nanos first = 0, last = 0;
  std::uint64_t bytes = 0;
  bool is_any = false;
  for (const auto& l : ledgers) {
    bytes += l->extras().bytes;
    if (l->offered_count() == 0) continue;
    first = is_any ? std::min(first, l->first_sent()) : l->first_sent();
    last = std::max(last, l->last_sent());
    is_any = true;
  }
  const FrameCounts& f = result.frames;
  const auto offered = static_cast<double>(f.offered);
  // From the first frame to the end of the last one's interval.
  const double streams_used = static_cast<double>(ledgers.size());
  if (f.offered > ledgers.size())
    result.sending_s =
        static_cast<double>(last - first) / kNanos * offered / (offered - streams_used);
  else if (f.offered > 0)
    result.sending_s = spec.duration_s;
  if (result.sending_s > 0) {
    result.offered_pps = offered / result.sending_s;
    result.received_pps = static_cast<double>(f.received) / result.sending_s;
    result.received_l1_bps =
        static_cast<double>((bytes + f.received * kL1Overhead) * 8) / result.sending_s;
  }
  const std::uint64_t delivered = f.received - f.false_accepts;
  const std::uint64_t offered_to_pass = f.offered - f.expected_drops;
  // Of frames that were not sent the share to drop is that of those sent.
  const double to_pass = f.offered > 0 ? static_cast<double>(offered_to_pass) / offered : 1;
  const double base = settings.is_unsent_loss ? static_cast<double>(f.intended) * to_pass
                                              : static_cast<double>(offered_to_pass);
  if (base > 0) result.loss_ratio = std::max(0.0, 1 - static_cast<double>(delivered) / base);
}

void Trial::add_stamp(TrialResult& result, const TesterSettings& settings, bool is_stopped) const {
  if (is_stopped) {
    result.stamp = Stamp::kFailed;
    result.stamp_reasons.push_back("interrupted");
    return;
  }
  if (result.frames.offered == 0) {
    result.stamp = Stamp::kFailed;
    result.stamp_reasons.push_back("the sender's port took no frame");
    return;
  }
  std::uint64_t refused = 0;
  for (const auto& l : ledgers) refused += l->refused_count();
  const FrameCounts& f = result.frames;
  const auto share_of = [&](std::uint64_t frames) {
    return f.intended > 0 ? static_cast<double>(frames) / static_cast<double>(f.intended) : 0;
  };
  const double gap_ms = static_cast<double>(sender.longest_gap) / 1e6;
  const double unsent = share_of(f.intended - std::min(f.intended, f.offered + refused));
  if (unsent > settings.lateness_limit) {
    result.stamp = Stamp::kTesterLimited;
    result.stamp_reasons.push_back(fmt::format(
        "{:.1f} % of {} frames were still unsent {} ms after the end; {:.0f} % of the time went "
        "into handing frames to the port, the sender was kept from its core for {:.1f} ms at most",
        unsent * 100, f.intended, grace / 1'000'000, result.kpis["sender_port_share"] * 100,
        gap_ms));
  }
  // A device has to take a burst that only our own absence made.
  const double caught_up = gap_ms / 1000 * spec.rate_pps;
  if (share_of(refused) > settings.lateness_limit && caught_up >= kCatchUpBurst) {
    if (result.stamp == Stamp::kClean) result.stamp = Stamp::kContaminated;
    result.stamp_reasons.push_back(
        fmt::format("the port refused {} frames; the sender, kept from its core for {:.1f} ms, had "
                    "sent {:.0f} late ones at once",
                    refused, gap_ms, caught_up));
  }
  const std::uint64_t lost_here = explained_losses(result);
  if (share_of(lost_here) > settings.own_loss_limit) {
    if (result.stamp == Stamp::kClean) result.stamp = Stamp::kContaminated;
    result.stamp_reasons.push_back(
        fmt::format("{} frames were lost in the tester's own receiving port; the receiver was kept "
                    "from its core for {:.1f} ms at most",
                    lost_here, static_cast<double>(receiver.longest_gap) / 1e6));
  }
}

void Trial::add_kpis(TrialResult& result) const {
  auto& k = result.kpis;
  const double span = std::max(result.sending_s, spec.duration_s);
  std::uint64_t refused = 0, impossible = 0;
  for (const auto& l : ledgers) {
    refused += l->refused_count();
    impossible += l->extras().impossible;
  }
  result.frames.corrupted += receiver_use.corrupted + impossible;
  result.frames.unexpected += receiver_use.foreign + receiver_use.stale + receiver_use.returned;
  k["clock_drift_ppm"] = drift_ppm;
  k["sender_port_share"] = static_cast<double>(sender_use.port_time) / kNanos / span;
  k["sender_port_longest_us"] = static_cast<double>(sender_use.longest_port_time) / 1000;
  k["sender_gap_us"] = static_cast<double>(sender.longest_gap) / 1000;
  k["receiver_gap_us"] = static_cast<double>(receiver.longest_gap) / 1000;
  k["frames_refused"] = static_cast<double>(refused);
  k["frames_stale"] = static_cast<double>(receiver_use.stale);
  k["frames_returned"] = static_cast<double>(receiver_use.returned);
  if (sender_use.unmeasured > 0)
    k["frames_unmeasured"] = static_cast<double>(sender_use.unmeasured);
  if (receiver_use.unmeasured > 0)
    k["frames_unmeasured_received"] = static_cast<double>(receiver_use.unmeasured);
  if (spec.traffic.attack != AttackKind::kNone) {
    k["attack_offered"] = static_cast<double>(sender_use.attack);
    k["attack_received"] = static_cast<double>(receiver_use.attack);
  }
}

TrialResult Trial::evaluate(const TesterSettings& settings, bool is_stopped) const {
  TrialResult result;
  result.spec = spec;
  add_layers(result);
  const std::uint64_t explained = explained_losses(result);
  for (const auto& l : ledgers) l->evaluate(result, explained);
  add_rates(result, settings);
  add_kpis(result);
  add_stamp(result, settings, is_stopped);
  for (const auto& [report, core] :
       {std::pair{&sender, settings.sender_core}, std::pair{&receiver, settings.receiver_core}}) {
    result.processes.push_back(report->use);
    if (core < 0 || !report->is_pinned) continue;
    CoreUse use;
    use.core = static_cast<unsigned>(core);
    use.longest_gap_us = static_cast<double>(report->longest_gap) / 1000;
    result.cores.push_back(use);
  }
  return result;
}

}  // namespace merlon::lab
