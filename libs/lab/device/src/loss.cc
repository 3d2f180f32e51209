// SPDX-License-Identifier: Apache-2.0
#include "merlon/lab_device/loss.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace merlon::lab {
namespace {

using Key = std::pair<std::string, std::string>;

// Of a group of interfaces: what came in from outside and what went out again.
struct Passage {
  std::int64_t in = 0, out = 0;
};

bool is_interface(const std::string& layer, std::string_view group) {
  return layer.size() > group.size() && layer.starts_with(group) && layer[group.size()] == ' ';
}

bool is_link_layer(const std::string& layer) {
  for (const std::string_view group : {"generator", "device", "host", "sink"}) {
    if (is_interface(layer, group)) return true;
  }
  return false;
}

std::vector<LayerCounter> differences(const std::vector<LayerCounter>& before,
                                      const std::vector<LayerCounter>& after) {
  std::map<Key, std::int64_t> then;
  for (const LayerCounter& c : before) then[{c.layer, c.counter}] = c.delta;
  std::vector<LayerCounter> deltas;
  for (LayerCounter c : after) {
    const auto known = then.find({c.layer, c.counter});
    // A counter below its former value was begun anew, by a restart of its owner.
    if (known != then.end() && c.delta >= known->second) c.delta -= known->second;
    if (c.delta != 0) deltas.push_back(std::move(c));
  }
  return deltas;
}

Passage passage(const std::vector<LayerCounter>& deltas, std::string_view group) {
  Passage p;
  for (const LayerCounter& c : deltas) {
    if (!is_interface(c.layer, group)) continue;
    if (c.counter == "rx_packets") p.in += c.delta;
    // A full queue of the neighbour: it came to the device and was sent by it.
    if (c.counter == "tx_packets" || c.counter == "tx_dropped") p.out += c.delta;
  }
  return p;
}

// What is missing between the interfaces of a group beyond `explained`.
void add_missing(std::vector<LayerCounter>& deltas, std::string_view group,
                 std::int64_t explained) {
  const Passage p = passage(deltas, group);
  const std::int64_t missing = p.in - p.out - explained;
  if (missing <= 0) return;
  LayerCounter c;
  c.layer = std::string(group);
  c.counter = "lost_uncounted";
  c.delta = missing;
  c.is_loss = true;
  deltas.push_back(std::move(c));
}

// 12345 -> "12,345" or "12 345".
std::string grouped(std::uint64_t value, const char* separator) {
  const std::string digits = std::to_string(value);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i != 0 && (digits.size() - i) % 3 == 0) text += separator;
    text += digits[i];
  }
  return text;
}

struct Place {
  std::string layer, counter;
  std::uint64_t frames = 0;
};

std::string name_en(const Place& p) {
  if (p.counter == "lost_uncounted") return "inside the " + p.layer + ", not counted by it";
  return "at " + p.layer + " (" + p.counter + ")";
}

std::string name_ru(const Place& p) {
  if (p.counter == "lost_uncounted") {
    return p.layer == "host" ? "внутри мостов хоста, без учёта в счётчиках"
                             : "внутри устройства, без учёта в его счётчиках";
  }
  return "«" + p.layer + "» (" + p.counter + ")";
}

Text tell(std::vector<Place> places, std::uint64_t lost, std::uint64_t unaccounted) {
  if (lost == 0) return {"No frame was lost.", "Потерь нет."};
  std::stable_sort(places.begin(), places.end(),
                   [](const Place& a, const Place& b) { return a.frames > b.frames; });
  constexpr const char* kThinSpace = "\u202f";
  Text text{"Of " + grouped(lost, ",") + " lost frames ",
            "Потеряно кадров: " + grouped(lost, kThinSpace) + "; из них "};
  bool is_first = true;
  const auto add = [&](std::uint64_t frames, const std::string& en, const std::string& ru) {
    text.en += (is_first ? "" : ", ") + grouped(frames, ",") + " " + en;
    text.ru += (is_first ? "" : ", ") + grouped(frames, kThinSpace) + " — " + ru;
    is_first = false;
  };
  for (const Place& p : places) add(p.frames, name_en(p), name_ru(p));
  if (unaccounted != 0) {
    add(unaccounted, "unaccounted for by any layer", "не учтено ни одним уровнем");
  }
  text.en += ".";
  text.ru += ".";
  return text;
}

}  // namespace

LossReport locate_loss(const std::vector<LayerCounter>& before,
                       const std::vector<LayerCounter>& after, std::uint64_t frames_lost) {
  LossReport report;
  report.deltas = differences(before, after);
  std::int64_t explained = 0;
  for (const LayerCounter& c : report.deltas) {
    if (!is_link_layer(c.layer) && (c.is_loss || c.counter == kDroppedByRule)) explained += c.delta;
  }
  add_missing(report.deltas, "device", explained);
  add_missing(report.deltas, "host", 0);
  std::vector<Place> places;
  std::uint64_t left = frames_lost;
  for (const LayerCounter& c : report.deltas) {
    if (!c.is_loss || c.delta < 0) continue;
    const std::uint64_t frames = std::min(left, static_cast<std::uint64_t>(c.delta));
    if (frames != 0) places.push_back({c.layer, c.counter, frames});
    left -= frames;
  }
  report.unaccounted = left;
  report.sentence = tell(std::move(places), frames_lost, left);
  return report;
}

}  // namespace merlon::lab
