// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_traffic/sender.h"

#include <algorithm>

namespace merlon::lab {

void Sender::add(Stream stream) {
  const std::uint32_t room = stream.source->largest() - kFcsSize;
  const base::Nanos due = stream.schedule.due(0);
  const bool is_done = stream.schedule.count() == 0;
  streams_.push_back({std::move(stream), 0, due, 0, room, is_done});
}

void Sender::end(State& s) noexcept {
  s.is_done = true;
  if (!s.stream.schedule.is_maximum()) use_.late_at_end += s.stream.schedule.count() - s.next;
}

base::Nanos Sender::turn() noexcept {
  const base::Nanos now = clock_.now();
  State* first = nullptr;
  for (State& s : streams_) {
    if (s.is_done) continue;
    const Schedule& schedule = s.stream.schedule;
    if (now > schedule.duration() + (schedule.is_maximum() ? 0 : grace_)) {
      end(s);
      continue;
    }
    const bool wants_longer = first == nullptr || wanted_since(s) < wanted_since(*first) ||
                              (wanted_since(s) == wanted_since(*first) && s.next < first->next);
    if (wants_longer) first = &s;
  }
  if (first == nullptr) return kNever;
  if (now < 0) return 0;
  if (first->due <= now) send_due(*first, now);

  base::Nanos next = kNever;
  for (const State& s : streams_)
    if (!s.is_done) next = std::min(next, s.due);
  return next;
}

void Sender::send_due(State& s, base::Nanos now) noexcept {
  const Stream& stream = s.stream;
  const Schedule& schedule = stream.schedule;
  const std::uint64_t first = s.next;
  unsigned count = 0;
  while (count < kMaxBurst && s.next < schedule.count() && s.due <= now) {
    void* handle = stream.port->allocate(stream.queue, s.room, bytes_[count]);
    if (handle == nullptr) {
      ++use_.no_buffer;
      break;
    }
    built_[count].tag_offset = 0;
    built_[count].tag.flags = 0;
    stream.source->build(s.next, bytes_[count], built_[count]);
    stream.port->set_length(handle, built_[count].size);
    handles_[count++] = handle;
    s.due = schedule.due(++s.next);
  }
  if (count == 0) return;
  const base::Nanos time = clock_.now();
  const auto units = static_cast<std::uint32_t>(time >> time_shift_);
  for (unsigned i = 0; i < count; ++i)
    if (built_[i].tag_offset != 0) finish_frame(bytes_[i], built_[i], units);
  const unsigned sent = stream.port->transmit(stream.queue, handles_.data(), count);
  s.served = clock_.now();
  const base::Nanos spent = s.served - time;
  use_.port_time += spent;
  use_.longest_port_time = std::max(use_.longest_port_time, spent);
  ++use_.bursts;
  account(s, first, count, sent, time);
  if (s.next >= schedule.count()) s.is_done = true;
}

void Sender::account(State& s, std::uint64_t first, unsigned count, unsigned sent,
                     base::Nanos time) noexcept {
  for (unsigned i = 0; i < count; ++i) {
    if (s.stream.ledger == nullptr) {
      if (i < sent) ++use_.attack;
    } else if (built_[i].tag_offset == 0) {
      if (i < sent) ++use_.unmeasured;
    } else if (i < sent) {
      s.stream.ledger->offered(first + i, built_[i], time);
    } else {
      s.stream.ledger->refused(first + i);
    }
  }
}

}  // namespace merlon::lab
