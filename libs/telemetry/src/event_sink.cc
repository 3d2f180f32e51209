// SPDX-License-Identifier: Apache-2.0
#include "merlon/telemetry/event_sink.h"

#include <cstring>

#include "merlon/base/log.h"

namespace merlon::telemetry {

std::optional<EventType> event_type_from_name(std::string_view name) noexcept {
  if (name == "policy") return EventType::kPolicy;
  if (name == "flow") return EventType::kFlow;
  if (name == "drop") return EventType::kDrop;
  if (name == "stats") return EventType::kStats;
  if (name == "config") return EventType::kConfig;
  return std::nullopt;
}

SinkStatus EventSink::status() const {
  SinkStatus s;
  s.name = name_;
  s.kind = kind_;
  s.written = written_.get();
  s.lost = lost_.get();
  s.bytes = bytes_.get();
  s.is_failing = failing_.load(std::memory_order_relaxed);
  return s;
}

void EventSink::note_failure(std::string_view what, int error) noexcept {
  if (failing_.exchange(true, std::memory_order_relaxed)) return;
  lost_before_outage_ = lost_.get();
  // A log line that can't be made must not end the writer's thread.
  try {
    base::log(base::LogLevel::kError, "events", "sink failed sink={} kind={} at={} error=\"{}\"",
              name_, kind_, what, std::strerror(error));
  } catch (...) {
  }
}

void EventSink::note_success() noexcept {
  if (!failing_.load(std::memory_order_relaxed)) return;
  failing_.store(false, std::memory_order_relaxed);
  try {
    base::log(base::LogLevel::kWarning, "events", "sink works again sink={} kind={} lost={}", name_,
              kind_, lost_.get() - lost_before_outage_);
  } catch (...) {
  }
}

}  // namespace merlon::telemetry
