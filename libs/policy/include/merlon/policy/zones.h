// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which zone a packet is in. Compiled from PolicyModel::zones, part of a Snapshot. immutable.
// Cost: zone(port, vlan) is one or two loads; with networks one search over sorted ranges in
// addition.
//
// Order: a port entry with a VLAN list beats one without; a zone that has `networks` and also names
// ports takes only those addresses on these ports; with `networks` alone it takes them on every
// port. Among networks the narrowest range that holds the address wins; without one, the port's
// plain zone holds.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "merlon/base/address.h"
#include "merlon/base/event.h"
#include "merlon/policy/model.h"

namespace merlon::policy {

class ZoneTable {
 public:
  ZoneTable() = default;
  // Names of ports that the model does not know and two zones that claim one place are errors
  // appended to `errors`.
  ZoneTable(const PolicyModel& model, base::Errors& errors);

  // Of the port and outer VLAN id (0: untagged) alone; kNoZone when none.
  [[nodiscard]] std::uint16_t zone(std::uint16_t port, std::uint16_t vlan) const noexcept {
    if (port >= port_count_) return base::kNoZone;
    const std::uint32_t row = vlan_row_[port];
    if (row != kNoRow) {
      const std::uint16_t z = by_vlan_[row + (vlan & 0xfffU)];
      if (z != base::kNoZone) return z;
    }
    return by_port_[port];
  }
  // The same, refined by `networks` for the given side's address.
  [[nodiscard]] std::uint16_t zone(std::uint16_t port, std::uint16_t vlan,
                                   const base::IpAddress& address) const noexcept {
    const std::uint16_t z = zone(port, vlan);
    return spans_.empty() ? z : by_network(port, vlan, address, z);
  }
  // What an operator is told of a port: its zone's name; "by VLAN" or "by network" where these
  // decide alone; "" when nothing puts it into a zone.
  [[nodiscard]] std::string_view label(std::uint16_t port) const noexcept;
  // True when some zone has networks, so that the address matters.
  [[nodiscard]] bool has_networks() const noexcept { return !spans_.empty(); }

  [[nodiscard]] std::uint16_t count() const noexcept {
    return static_cast<std::uint16_t>(names_.size());
  }
  // "" for kNoZone and numbers that are not in the table.
  [[nodiscard]] std::string_view name(std::uint16_t zone) const noexcept {
    return zone < names_.size() ? std::string_view(names_[zone]) : std::string_view();
  }
  // kNoZone when there is no such zone.
  [[nodiscard]] std::uint16_t find(std::string_view name) const noexcept;

 private:
  static constexpr std::uint32_t kNoRow = 0xffffffff;
  // Disjoint sorted spans of the address space with the zones that may hold there, narrowest first.
  struct Span {
    base::IpAddress first, last;
    std::uint32_t begin = 0, end = 0;  // into claims_
  };
  struct Place {
    std::uint16_t port;
    std::uint16_t vlan;  // kAnyVlan: every one
  };
  static constexpr std::uint16_t kAnyVlan = 0xffff;

  [[nodiscard]] std::uint16_t by_network(std::uint16_t port, std::uint16_t vlan,
                                         const base::IpAddress& address,
                                         std::uint16_t fallback) const noexcept;
  [[nodiscard]] bool is_placed(std::uint16_t zone, std::uint16_t port,
                               std::uint16_t vlan) const noexcept;
  void place_ports(const PolicyModel& model, base::Errors& errors);
  void claim(std::uint16_t& cell, std::uint16_t zone, const PolicyModel& model,
             const std::string& port, base::Errors& errors);
  void build_spans(const PolicyModel& model);

  std::vector<std::string> names_;
  std::uint16_t port_count_ = 0;
  std::vector<std::uint16_t> by_port_;
  std::vector<std::uint32_t> vlan_row_;
  std::vector<std::uint16_t> by_vlan_;
  std::vector<Span> spans_;
  std::vector<std::uint16_t> claims_;
  std::vector<std::vector<Place>> places_;  // by zone; empty: everywhere (zones with networks)
};

}  // namespace merlon::policy
