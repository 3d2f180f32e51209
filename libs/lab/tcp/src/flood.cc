// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_tcp/flood.h"

#include <cstring>

namespace merlon::lab::tcp {
namespace {

constexpr unsigned kFramesPerTurn = 64;

}  // namespace

base::Result<std::unique_ptr<Flood>> Flood::create(const TcpLoadSpec& spec, io::Port& port,
                                                   const base::MacAddress& mac) {
  if (spec.attack == AttackKind::kNone) return std::unique_ptr<Flood>();
  TrafficSpec traffic;
  traffic.attack = spec.attack;
  traffic.attack_pps = spec.attack_pps;
  traffic.attack_sources = spec.attack_sources;
  FrameOptions options;
  options.seed = spec.seed;
  auto frames = make_attack(traffic, options);
  if (!frames) return frames.error();
  return std::unique_ptr<Flood>(new Flood(std::move(*frames), spec.attack_pps, port, mac));
}

Flood::Flood(std::unique_ptr<FrameSource> frames, double rate, io::Port& port,
             const base::MacAddress& mac)
    : frames_(std::move(frames)), interval_(1e9 / rate), mac_(mac), out_(port) {}

void Flood::start(base::Nanos start, base::Nanos end, const base::MacAddress& to) noexcept {
  start_ = start;
  end_ = end;
  to_ = to;
}

bool Flood::turn(base::Nanos now) noexcept {
  if (now < start_ || now >= end_) return false;
  const auto due = static_cast<std::uint64_t>(static_cast<double>(now - start_) / interval_) + 1;
  const std::uint64_t first = number_;
  for (; number_ < due && number_ - first < kFramesPerTurn; ++number_) {
    base::Byte* frame = out_.begin(frames_->largest());
    if (frame == nullptr) break;
    BuiltFrame built;
    frames_->build(number_, frame, built);
    std::memcpy(frame, to_.bytes.data(), 6);
    std::memcpy(frame + 6, mac_.bytes.data(), 6);
    out_.end(built.size);
  }
  out_.flush();
  return number_ != first;
}

}  // namespace merlon::lab::tcp
