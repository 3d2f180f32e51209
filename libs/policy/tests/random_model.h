// SPDX-License-Identifier: Apache-2.0
#pragma once
// Random policies and queries over a small universe, so that overlaps, nesting and near misses are
// common.
#include <fmt/format.h>

#include <random>
#include <string>

#include "merlon/policy/model.h"
#include "merlon/policy/query.h"

namespace merlon::policy::test {

class Maker {
 public:
  explicit Maker(std::uint64_t seed) : random_(seed) {}

  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }
  bool chance(std::uint32_t percent) { return below(100) < percent; }

  std::string address_text() {
    switch (below(7)) {
      case 0:
        return fmt::format("10.0.{}.{}", below(3), below(8));
      case 1:
        return fmt::format("10.0.{}.0/24", below(3));
      case 2:
        return fmt::format("10.{}.0.0/16", below(2));
      case 3:
        return fmt::format("10.0.0.{}-10.0.{}.{}", below(4), below(3), 4 + below(4));
      case 4:
        return fmt::format("2001:db8:{}::/48", below(2));
      case 5:
        return fmt::format("2001:db8::{}", below(4));
      default:
        return chance(50) ? "::/0" : "0.0.0.0/0";
    }
  }
  base::IpAddress address() {
    const std::string t = chance(70) ? fmt::format("10.{}.{}.{}", below(2), below(3), below(9))
                                     : fmt::format("2001:db8:{}::{}", below(2), below(5));
    return *base::parse_address(t);
  }
  std::string service_text() {
    static const char* const kTexts[] = {
        "tcp/80",      "tcp/443",     "tcp/80,443", "udp/53",     "tcp/1000-2000", "udp/any:53",
        "tcp/5:80",    "icmp/8",      "icmp/3/4",   "icmpv6/128", "gre",           "tcp",
        "tcp/5-6:any", "udp/5:50-60", "any",        "ping",       "dns",           "sctp/80",
        "proto/47",    "tcp/0-65535", "icmp"};
    return kTexts[below(static_cast<std::uint32_t>(std::size(kTexts)))];
  }

  std::vector<Name> list(std::uint32_t objects, const char* prefix, std::uint32_t negate,
                         std::string (Maker::*literal)()) {
    std::vector<Name> out;
    const std::uint32_t n = chance(35) ? 0 : 1 + below(3);
    for (std::uint32_t i = 0; i < n; ++i) {
      const bool is_object = objects > 0 && (literal == nullptr || chance(60));
      out.push_back({is_object ? fmt::format("{}{}", prefix, below(objects)) : (this->*literal)(),
                     chance(negate),
                     {}});
    }
    return out;
  }

  PolicyModel model(std::uint32_t rules) {
    PolicyModel m;
    m.ports = {"p0", "p1", "p2"};
    for (const char* z : {"z0", "z1", "z2", "z3"}) m.zones.push_back({z, {}, {}, {}, {}});
    for (std::uint32_t i = 0; i < 6; ++i) {
      AddressObject o;
      o.name = fmt::format("a{}", i);
      for (std::uint32_t k = below(3); k > 0; --k)
        o.ranges.push_back(*base::parse_address_range(address_text()));
      for (std::uint32_t k = i > 0 ? below(3) : 0; k > 0; --k)
        o.members.push_back({fmt::format("a{}", below(i)), chance(30), {}});
      if (chance(40)) o.tags.push_back(fmt::format("t{}", below(2)));
      m.addresses.push_back(std::move(o));
    }
    m.addresses[0].tags = {"t0", "t1"};
    m.addresses.push_back({"a6", {}, {}, {}, {{"t0", false, {}}}, {}});
    for (std::uint32_t i = 0; i < 4; ++i) {
      ServiceObject o;
      o.name = fmt::format("s{}", i);
      for (std::uint32_t k = below(3); k > 0; --k) o.members.push_back({service_text(), false, {}});
      if (i > 0 && chance(50)) o.members.push_back({fmt::format("s{}", below(i)), false, {}});
      m.services.push_back(std::move(o));
    }
    for (std::uint32_t i = 0; i < 2; ++i) {
      Schedule s;
      s.name = fmt::format("h{}", i);
      s.utc_offset_minutes = static_cast<std::int32_t>(below(5)) * 60 - 120;
      s.windows.push_back(
          {static_cast<std::uint8_t>(below(128)), below(1441), below(1441), {}, {}});
      m.schedules.push_back(std::move(s));
    }
    m.default_action = chance(50) ? Action::kDrop : Action::kPermit;
    for (std::uint32_t i = 0; i < rules; ++i) m.rules.push_back(rule(fmt::format("r{}", i)));
    return m;
  }

  Rule rule(std::string id) {
    Rule r;
    r.id = std::move(id);
    r.category = static_cast<Category>(chance(70) ? 3 : below(4));
    r.is_enabled = !chance(8);
    r.from_zones = list(4, "z", 20, nullptr);
    r.to_zones = chance(50) ? list(4, "z", 20, nullptr) : std::vector<Name>{};
    if (chance(15))
      r.applied_to = {
          {chance(50) ? fmt::format("p{}", below(3)) : fmt::format("z{}", below(4)), false, {}}};
    r.sources = list(7, "a", 20, &Maker::address_text);
    r.destinations = list(7, "a", 20, &Maker::address_text);
    r.services = list(4, "s", 0, &Maker::service_text);
    if (chance(10)) r.schedule = Name{fmt::format("h{}", below(2)), false, {}};
    if (chance(10)) r.expires = moment();
    r.action = static_cast<Action>(below(3));
    r.log = static_cast<LogMode>(below(4));
    r.max_sessions = below(10);
    return r;
  }

  base::Nanos moment() {
    return (1'790'000'000 + static_cast<base::Nanos>(below(14 * 86400))) * base::kNanosPerSecond;
  }

  Query query() {
    static constexpr std::uint8_t kProtocols[] = {6, 6, 6, 17, 17, 1, 58, 47, 132, 50};
    static constexpr std::uint16_t kPorts[] = {80, 443, 53, 1000, 1500, 2001, 55, 0, 65535};
    Query q;
    q.source = address();
    q.destination = address();
    q.protocol = kProtocols[below(10)];
    if (q.protocol == 6 || q.protocol == 17 || q.protocol == 132) {
      q.source_port = static_cast<std::uint16_t>(4 + below(4));
      q.destination_port = kPorts[below(9)];
    } else if (q.protocol == 1 || q.protocol == 58) {
      q.icmp_type = static_cast<std::uint8_t>(chance(50) ? 8 : (chance(50) ? 3 : 128));
      q.icmp_code = static_cast<std::uint8_t>(chance(50) ? 4 : 0);
    }
    q.in_port = static_cast<std::uint16_t>(below(3));
    q.out_port = static_cast<std::uint16_t>(chance(80) ? below(3) : base::kNoPort);
    q.zone_source = static_cast<std::uint16_t>(chance(90) ? below(4) : base::kNoZone);
    q.zone_destination = static_cast<std::uint16_t>(chance(90) ? below(4) : base::kNoZone);
    return q;
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace merlon::policy::test
