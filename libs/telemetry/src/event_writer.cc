// SPDX-License-Identifier: Apache-2.0
#include "merlon/telemetry/event_writer.h"

#include <algorithm>
#include <chrono>
#include <tuple>

namespace merlon::telemetry {
namespace {

// Live: records taken from one ring before the next one has its turn.
constexpr std::size_t kRingTurn = 1024;

// Order of a replay: by packet; records without one (the end of the run) come last.
auto replay_key(const base::EventRecord& r) noexcept {
  return std::tuple(r.packet_number - 1, r.kind, r.time, r.flow_id);
}

EventType event_type(const base::EventRecord& record) noexcept {
  switch (record.kind) {
    case base::EventKind::kPolicy:
      return EventType::kPolicy;
    case base::EventKind::kFlow:
      return EventType::kFlow;
    case base::EventKind::kDrop:
      break;
  }
  return EventType::kDrop;
}

}  // namespace

Severity event_severity(const base::EventRecord& record) noexcept {
  const bool is_denied =
      record.kind == base::EventKind::kDrop ||
      (record.kind == base::EventKind::kPolicy && record.action != base::Action::kPermit);
  return is_denied ? Severity::kWarning : Severity::kInfo;
}

EventWriter::EventWriter(std::vector<base::EventRing*> rings, const Names& names,
                         const EventWriterOptions& options)
    : rings_(std::move(rings)), formatter_(names, options.eve), options_(options) {
  line_.reserve(2048);
}

EventWriter::~EventWriter() { stop(); }

void EventWriter::add_sink(std::unique_ptr<EventSink> sink) { sinks_.push_back(std::move(sink)); }

void EventWriter::start() {
  if (thread_.joinable()) return;
  is_stopping_ = false;
  thread_ = std::thread([this] { run(); });
}

void EventWriter::stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(wake_mutex_);
    is_stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void EventWriter::run() {
  base::Nanos last_flush = base::wall_clock_now();
  for (;;) {
    bool is_last = false;
    {
      const std::lock_guard lock(wake_mutex_);
      is_last = is_stopping_;
    }
    const base::Nanos now = base::wall_clock_now();
    const std::size_t count = drain(now);
    if (count != 0 && is_last) continue;  // empty the rings first
    if (is_last || now - last_flush >= options_.flush_interval || now < last_flush) {
      flush(now);
      last_flush = now;
    }
    if (is_last) return;
    if (count != 0) continue;
    std::unique_lock lock(wake_mutex_);
    wake_.wait_for(lock, std::chrono::nanoseconds(options_.poll_interval),
                   [this] { return is_stopping_; });
  }
}

std::size_t EventWriter::drain(base::Nanos now) {
  const std::lock_guard lock(sink_mutex_);
  std::size_t count = 0;
  base::EventRecord record;
  for (base::EventRing* ring : rings_) {
    for (std::size_t i = 0; i < kRingTurn && ring->pop(record); ++i) {
      emit(record, now);
      ++count;
    }
  }
  return count;
}

void EventWriter::gather() {
  base::EventRecord record;
  for (base::EventRing* ring : rings_) {
    // Bounded by what is there now, so that a producer on another thread can't keep us here.
    for (std::size_t left = ring->count(); left > 0 && ring->pop(record); --left)
      batch_.push_back(record);
  }
}

std::size_t EventWriter::pump(base::Nanos now) {
  const std::lock_guard lock(sink_mutex_);
  gather();
  std::stable_sort(batch_.begin(), batch_.end(),
                   [](const auto& a, const auto& b) { return replay_key(a) < replay_key(b); });
  for (const base::EventRecord& r : batch_) emit(r, now);
  const std::size_t count = batch_.size();
  batch_.clear();
  return count;
}

void EventWriter::finish(base::Nanos now) {
  while (pump(now) != 0) {
  }
  flush(now);
}

void EventWriter::emit(const base::EventRecord& record, base::Nanos now) {
  line_.clear();
  formatter_.append(record, line_);
  const Severity severity = event_severity(record);
  const EventType type = event_type(record);
  for (auto& sink : sinks_)
    if (sink->takes(type)) sink->write(line_, severity, now);
  events_.add();
}

void EventWriter::flush(base::Nanos now) {
  const std::lock_guard lock(sink_mutex_);
  for (auto& sink : sinks_) sink->flush(now);
}

void EventWriter::write(EventType type, std::string_view line, Severity severity, base::Nanos now) {
  const std::lock_guard lock(sink_mutex_);
  for (auto& sink : sinks_)
    if (sink->takes(type)) sink->write(line, severity, now);
}

void EventWriter::request_reopen() noexcept {
  for (auto& sink : sinks_) sink->request_reopen();
}

std::vector<SinkStatus> EventWriter::sinks() const {
  std::vector<SinkStatus> all;
  all.reserve(sinks_.size());
  for (const auto& sink : sinks_) all.push_back(sink->status());
  return all;
}

}  // namespace merlon::telemetry
