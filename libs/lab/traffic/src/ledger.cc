// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_traffic/ledger.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "merlon/base/make_error.h"

namespace merlon::lab {
namespace {

constexpr base::Nanos kSlot = 1'000'000;  // of the timelines
// A lost frame is alone when none of so many before and behind it was lost.
constexpr std::uint64_t kLonely = 64;
// Above this share of lost frames single losses are no sign of a verdict.
constexpr double kMaxLonelyShare = 1e-4;
constexpr std::uint64_t kAlwaysLonely = 8;
// A frame that took longer than this waited in a queue: so many times the least latency, and more.
constexpr base::Nanos kSlowTimes = 8, kSlowMore = 200'000;
// Chance below which "every frame of a flow lost by overload" is not believed.
constexpr double kUnbelievable = 1e-3;

void add(std::vector<std::uint32_t>& to, const std::vector<std::uint32_t>& from) {
  if (to.size() < from.size()) to.resize(from.size(), 0);
  for (std::size_t i = 0; i < from.size(); ++i) to[i] += from[i];
}

}  // namespace

LazyMemory LazyMemory::allocate(std::size_t size) {
  LazyMemory m;
  void* p = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                 -1, 0);
  if (p == MAP_FAILED) return m;
  m.data_ = p;
  m.size_ = size;
  return m;
}

LazyMemory::~LazyMemory() {
  if (data_ != nullptr) munmap(data_, size_);
}

LazyMemory::LazyMemory(LazyMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(other.size_) {}

LazyMemory& LazyMemory::operator=(LazyMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

Ledger::Ledger(std::shared_ptr<const FrameSource> source, const Schedule& schedule)
    : source_(std::move(source)),
      schedule_(schedule),
      refused_(schedule.count()),
      seen_(schedule.count()),
      slow_(schedule.count()),
      flows_(LazyMemory::allocate(std::size_t{source_->flow_count()} * sizeof(std::uint32_t))) {
  sent_.timeline.resize(static_cast<std::size_t>((schedule.duration() + kSlot - 1) / kSlot), 0);
}

base::Result<std::unique_ptr<Ledger>> Ledger::create(std::shared_ptr<const FrameSource> source,
                                                     const Schedule& schedule) {
  std::unique_ptr<Ledger> l(new Ledger(std::move(source), schedule));
  if (!l->refused_.has_memory() || !l->seen_.has_memory() || !l->slow_.has_memory() ||
      l->flows_.data() == nullptr)
    return make_error(base::Errc::kCapacity,
                      fmt::format("no memory to keep account of {} frames", schedule.count()),
                      "a shorter trial, a lower rate or fewer flows need less");
  return l;
}

std::size_t Ledger::slot(base::Nanos time) const noexcept {
  const auto at = static_cast<std::size_t>(std::max<base::Nanos>(time, 0) / kSlot);
  return std::min(at, sent_.timeline.size() - 1);
}

void Ledger::offered(std::uint64_t number, const BuiltFrame& frame, base::Nanos time) noexcept {
  if (sent_.offered++ == 0) sent_.first = time;
  sent_.last = time;
  sent_.next = number + 1;
  if ((frame.tag.flags & FrameTag::kMustDrop) != 0) ++sent_.expected_drops;
  const base::Nanos due = schedule_.is_maximum() ? time : schedule_.due(number);
  sent_.lateness.record(time - due);
  ++sent_.timeline[slot(due)];
  shown_offered_.store(sent_.offered, std::memory_order_relaxed);
}

void Ledger::refused(std::uint64_t number) noexcept {
  ++sent_.refused;
  sent_.next = number + 1;
  refused_.set(number);
}

void Ledger::received(const FrameTag& tag, base::Nanos time, base::Nanos sent,
                      std::uint32_t size) noexcept {
  if (tag.sequence >= schedule_.count() || tag.flow >= source_->flow_count()) {
    ++got_.extras.impossible;
    return;
  }
  if (got_.distinct == 0) got_.extras.first = time;
  got_.extras.last = time;
  if (seen_.set(tag.sequence)) {
    ++got_.duplicated;
    return;
  }
  ++got_.distinct;
  got_.extras.bytes += size;
  shown_received_.store(got_.distinct, std::memory_order_relaxed);
  std::uint32_t& expected = flow_table()[tag.flow];
  if (tag.sequence < expected) {
    ++got_.reordered;
  } else {
    expected = tag.sequence + 1;
  }
  if ((tag.flags & FrameTag::kMustDrop) != 0) {
    ++got_.false_accepts;
    return;
  }
  const base::Nanos latency = time - sent;
  got_.least = std::min(got_.least, latency);
  if (latency > kSlowTimes * std::max<base::Nanos>(got_.least, 0) + kSlowMore)
    slow_.set(tag.sequence);
  got_.actual.record(latency);
  got_.intended.record(time - (schedule_.is_maximum() ? sent : schedule_.due(tag.sequence)));
}

// Calls visit(number, facts) for every frame offered, to be forwarded and never seen, in order.
template <class Visit>
void Ledger::for_each_lost(Visit visit) const {
  for (std::uint64_t number = 0; number < sent_.next; ++number) {
    if (number % 64 == 0 && ~seen_.word_of(number) == 0) {
      number += 63;
      continue;
    }
    if (seen_.test(number) || refused_.test(number)) continue;
    const FrameFacts facts = source_->facts(number);
    if (facts.is_measured && !facts.must_drop) visit(number, facts);
  }
}

void Ledger::add_lost_timeline(TrialResult& result) const {
  std::vector<std::uint32_t> lost(sent_.timeline.size(), 0);
  const double stretch = static_cast<double>(schedule_.duration()) /
                         static_cast<double>(std::max<std::uint64_t>(sent_.next, 1));
  for_each_lost([&](std::uint64_t number, const FrameFacts&) {
    // At the maximum rate a number has no due time; numbers are spread over the trial.
    const auto time = schedule_.is_maximum()
                          ? static_cast<base::Nanos>(static_cast<double>(number) * stretch)
                          : schedule_.due(number);
    ++lost[slot(time)];
  });
  add(result.timeline_lost, lost);
}

// Flows of which frames were lost and none was seen, where overload can't be the reason.
struct Ledger::Denials {
  std::vector<std::uint32_t> lost;  // frames per flow, 0 for flows that were seen
  std::uint32_t least = 0;          // frames that make a denial; 0: none can
  std::uint64_t frames = 0;

  [[nodiscard]] bool has(std::uint32_t flow) const noexcept {
    return least > 0 && lost[flow] >= least;
  }
};

Ledger::Denials Ledger::denied_flows(std::uint64_t lost) const {
  Denials d;
  d.lost.resize(source_->flow_count(), 0);
  std::uint64_t never_seen = 0;
  for_each_lost([&](std::uint64_t, const FrameFacts& f) {
    if (flow_table()[f.flow] != 0) return;
    ++d.lost[f.flow];
    ++never_seen;
  });
  const std::uint64_t wanted = sent_.offered - sent_.expected_drops - never_seen;
  if (never_seen == 0 || wanted == 0) return d;
  // With loss ratio r among flows that came through, k frames of one flow are all lost by chance
  // with r^k; the least k for which that is unbelievable for any of the flows.
  const double r = static_cast<double>(lost - never_seen) / static_cast<double>(wanted);
  for (std::uint32_t k = 4; k <= 64 && d.least == 0; ++k)
    if (std::pow(r, k) * source_->flow_count() < kUnbelievable) d.least = k;
  for (const std::uint32_t frames : d.lost)
    if (d.least > 0 && frames >= d.least) d.frames += frames;
  return d;
}

bool Ledger::has_slow_neighbour(std::uint64_t number) const noexcept {
  const std::uint64_t first = number > kLonely ? number - kLonely : 0;
  const std::uint64_t last = std::min(number + kLonely + 1, sent_.next);
  for (std::uint64_t n = first; n < last; ++n)
    if (slow_.test(n)) return true;
  return false;
}

std::uint64_t Ledger::count_false_denies(std::uint64_t lost, std::uint64_t explained) const {
  if (lost == 0) return 0;
  const Denials flows = denied_flows(lost);
  const std::uint64_t rest = lost - flows.frames;
  const bool may_be_lonely =
      explained == 0 &&
      (rest <= kAlwaysLonely ||
       static_cast<double>(rest) <= kMaxLonelyShare * static_cast<double>(sent_.offered));
  if (rest == 0 || !may_be_lonely) return flows.frames;
  std::uint64_t lonely = 0;
  std::uint64_t gap_before = kLonely + 1, previous = 0;
  bool has_previous = false;
  for_each_lost([&](std::uint64_t number, const FrameFacts& f) {
    if (flows.has(f.flow)) return;
    if (has_previous) {
      const std::uint64_t gap = number - previous;
      if (gap_before > kLonely && gap > kLonely && !has_slow_neighbour(previous)) ++lonely;
      gap_before = gap;
    }
    previous = number;
    has_previous = true;
  });
  if (has_previous && gap_before > kLonely && !has_slow_neighbour(previous)) ++lonely;
  return flows.frames + lonely;
}

void Ledger::evaluate(TrialResult& result, std::uint64_t explained) const {
  FrameCounts& f = result.frames;
  const std::uint64_t lost =
      sent_.offered - sent_.expected_drops - (got_.distinct - got_.false_accepts);
  f.intended += schedule_.is_maximum() ? sent_.offered : source_->measured_among(schedule_.count());
  f.offered += sent_.offered;
  f.received += got_.distinct;
  f.lost += lost;
  f.duplicated += got_.duplicated;
  f.reordered += got_.reordered;
  f.expected_drops += sent_.expected_drops;
  f.false_accepts += got_.false_accepts;
  f.false_denies += count_false_denies(lost, explained);
  result.latency_actual.merge(got_.actual);
  result.latency_intended.merge(got_.intended);
  result.lateness.merge(sent_.lateness);
  add(result.timeline_offered, sent_.timeline);
  add_lost_timeline(result);
}

}  // namespace merlon::lab
