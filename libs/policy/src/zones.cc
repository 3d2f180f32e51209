// SPDX-License-Identifier: Apache-2.0
#include "merlon/policy/zones.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "intervals.h"
#include "suggest.h"

namespace merlon::policy {

using base::Errc;

ZoneTable::ZoneTable(const PolicyModel& model, base::Errors& errors)
    : port_count_(static_cast<std::uint16_t>(model.ports.size())),
      by_port_(model.ports.size(), base::kNoZone),
      vlan_row_(model.ports.size(), kNoRow),
      places_(model.zones.size()) {
  for (const Zone& z : model.zones) {
    if (find(z.name) != base::kNoZone)
      errors.push_back(
          {Errc::kDuplicate, fmt::format("zone \"{}\" is defined twice", z.name), z.where});
    for (const std::uint16_t v : z.vlans)
      if (v > 4095)
        errors.push_back(
            {Errc::kInvalidValue, fmt::format("VLAN {} is out of range (0 to 4095)", v), z.where});
    for (const base::AddressRange& r : z.networks)
      if (r.first > r.last || r.first.is_v4() != r.last.is_v4())
        errors.push_back({Errc::kInvalidValue,
                          fmt::format("zone \"{}\": {}-{} is not a range", z.name,
                                      r.first.to_string(), r.last.to_string()),
                          z.where, "both ends must be of one family, the lower one first"});
    names_.push_back(z.name);
  }
  if (model.zones.size() >= base::kNoZone || model.ports.size() >= base::kNoPort) {
    base::Error e;
    e.code = Errc::kCapacity;
    e.message = "there are 65,535 zones or ports or more";
    errors.push_back(std::move(e));
    return;
  }
  place_ports(model, errors);
  build_spans(model);
}

std::uint16_t ZoneTable::find(std::string_view name) const noexcept {
  for (std::size_t i = 0; i < names_.size(); ++i)
    if (names_[i] == name) return static_cast<std::uint16_t>(i);
  return base::kNoZone;
}

std::string_view ZoneTable::label(std::uint16_t port) const noexcept {
  const std::uint16_t plain = port < port_count_ ? by_port_[port] : base::kNoZone;
  if (plain != base::kNoZone) return name(plain);
  if (port < port_count_ && vlan_row_[port] != kNoRow) return "by VLAN";
  const bool is_claimed = std::ranges::any_of(claims_, [&](std::uint16_t zone) {
    return places_[zone].empty() ||
           std::ranges::any_of(places_[zone], [&](const Place& p) { return p.port == port; });
  });
  return is_claimed ? "by network" : "";
}

void ZoneTable::claim(std::uint16_t& cell, std::uint16_t zone, const PolicyModel& model,
                      const std::string& port, base::Errors& errors) {
  if (cell != base::kNoZone && cell != zone) {
    errors.push_back({Errc::kConflict,
                      fmt::format("zones \"{}\" and \"{}\" both take port \"{}\"", names_[cell],
                                  names_[zone], port),
                      model.zones[zone].where, "give them different VLANs or networks"});
    return;
  }
  cell = zone;
}

void ZoneTable::place_ports(const PolicyModel& model, base::Errors& errors) {
  const std::vector<std::string_view> known(model.ports.begin(), model.ports.end());
  for (std::size_t i = 0; i < model.zones.size(); ++i) {
    const Zone& z = model.zones[i];
    const auto number = static_cast<std::uint16_t>(i);
    for (const Name& p : z.ports) {
      const auto it = std::find(model.ports.begin(), model.ports.end(), p.text);
      if (it == model.ports.end()) {
        errors.push_back({Errc::kNotFound, fmt::format("port \"{}\" does not exist", p.text),
                          p.where, did_you_mean(p.text, known)});
        continue;
      }
      const auto port = static_cast<std::uint16_t>(it - model.ports.begin());
      if (z.vlans.empty()) {
        places_[i].push_back({port, kAnyVlan});
        if (z.networks.empty()) claim(by_port_[port], number, model, p.text, errors);
        continue;
      }
      if (z.networks.empty() && vlan_row_[port] == kNoRow) {
        vlan_row_[port] = static_cast<std::uint32_t>(by_vlan_.size());
        by_vlan_.resize(by_vlan_.size() + 4096, base::kNoZone);
      }
      for (const std::uint16_t v : z.vlans) {
        if (v > 4095) continue;
        places_[i].push_back({port, v});
        if (z.networks.empty()) claim(by_vlan_[vlan_row_[port] + v], number, model, p.text, errors);
      }
    }
  }
}

// Elementary spans between all ends of all networks; each lists the zones whose network holds it,
// the narrowest first, so that a look-up takes the first one that may stand on the port.
void ZoneTable::build_spans(const PolicyModel& model) {
  struct Net {
    Interval<Key128> span;
    std::uint16_t zone;
  };
  std::vector<Net> nets;
  std::vector<Key128> cuts;
  for (std::size_t i = 0; i < model.zones.size(); ++i) {
    AddressSet set;
    for (const auto& r : model.zones[i].networks)
      if (r.first <= r.last) add_range(set, r);
    for (const auto& s : set) {
      nets.push_back({s, static_cast<std::uint16_t>(i)});
      cuts.push_back(s.first);
      if (s.last != kAddressLast) cuts.push_back(s.last + 1);
    }
  }
  std::sort(nets.begin(), nets.end(), [](const Net& a, const Net& b) {
    return a.span.last - a.span.first < b.span.last - b.span.first;
  });
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  for (std::size_t i = 0; i < cuts.size(); ++i) {
    const Key128 last = i + 1 < cuts.size() ? cuts[i + 1] - 1 : kAddressLast;
    const auto begin = static_cast<std::uint32_t>(claims_.size());
    for (const Net& n : nets)
      if (n.span.first <= cuts[i] && last <= n.span.last) claims_.push_back(n.zone);
    const auto end = static_cast<std::uint32_t>(claims_.size());
    if (begin != end) spans_.push_back({key_address(cuts[i]), key_address(last), begin, end});
  }
}

bool ZoneTable::is_placed(std::uint16_t zone, std::uint16_t port,
                          std::uint16_t vlan) const noexcept {
  const auto& places = places_[zone];
  if (places.empty()) return true;
  return std::any_of(places.begin(), places.end(), [&](const Place& p) {
    return p.port == port && (p.vlan == kAnyVlan || p.vlan == (vlan & 0xfffU));
  });
}

std::uint16_t ZoneTable::by_network(std::uint16_t port, std::uint16_t vlan,
                                    const base::IpAddress& address,
                                    std::uint16_t fallback) const noexcept {
  auto it = std::upper_bound(spans_.begin(), spans_.end(), address,
                             [](const base::IpAddress& a, const Span& s) { return a < s.first; });
  if (it == spans_.begin()) return fallback;
  --it;
  if (it->last < address) return fallback;
  for (std::uint32_t c = it->begin; c < it->end; ++c)
    if (is_placed(claims_[c], port, vlan)) return claims_[c];
  return fallback;
}

}  // namespace merlon::policy
