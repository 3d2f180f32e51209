// SPDX-License-Identifier: Apache-2.0
// 128-bit fingerprints of what people wrote, places left out, so that a commit finds what it
// changes without comparing or compiling the rest. Two independent multiplicative hashes: a false
// "unchanged" has a chance near 2^-128 and nobody but the author of the policy can choose the
// input.
#include "merlon/base/hash.h"
#include "objects.h"

namespace merlon::policy {

namespace {

class Mixer {
 public:
  void number(std::uint64_t v) noexcept {
    a_ = base::fold_multiply(a_ ^ v, 0x9e3779b97f4a7c15ULL);
    b_ = base::fold_multiply(b_ + v, 0xd1b54a32d192ed03ULL) + 0x2545f4914f6cdd1dULL;
  }
  void text(const std::string& s) noexcept {
    number(s.size());
    const auto* p = reinterpret_cast<const base::Byte*>(s.data());
    std::size_t n = s.size();
    for (; n >= 8; n -= 8, p += 8) number(base::load_raw<std::uint64_t>(p));
    std::uint64_t rest = 0;
    for (std::size_t i = 0; i < n; ++i) rest |= static_cast<std::uint64_t>(p[i]) << (8 * i);
    if (n > 0) number(rest);
  }
  void names(const std::vector<Name>& list) noexcept {
    number(list.size());
    for (const Name& n : list) {
      number(n.negated);
      text(n.text);
    }
  }
  void texts(const std::vector<std::string>& list) noexcept {
    number(list.size());
    for (const std::string& s : list) text(s);
  }
  template <class T>
  void optional(const std::optional<T>& v) noexcept {
    number(v.has_value());
    if (v) number(static_cast<std::uint64_t>(*v));
  }
  void range(const base::AddressRange& r) noexcept {
    for (const auto* a : {&r.first, &r.last}) {
      number(base::load_raw<std::uint64_t>(a->bytes.data()));
      number(base::load_raw<std::uint64_t>(a->bytes.data() + 8));
    }
  }
  void ports(const std::vector<PortRange>& list) noexcept {
    number(list.size());
    for (const PortRange& r : list) number(std::uint64_t{r.first} << 16 | r.last);
  }
  void finish(std::uint64_t out[2]) const noexcept {
    out[0] = a_;
    out[1] = b_;
  }

 private:
  std::uint64_t a_ = 0x6a09e667f3bcc908ULL, b_ = 0xbb67ae8584caa73bULL;
};

void mix(Mixer& m, const AddressObject& o) {
  m.text(o.name);
  m.number(o.ranges.size());
  for (const auto& r : o.ranges) m.range(r);
  m.names(o.members);
  m.texts(o.tags);
  m.names(o.with_tags);
}

void mix(Mixer& m, const ServiceObject& o) {
  m.text(o.name);
  m.number(o.terms.size());
  for (const ServiceTerm& t : o.terms) {
    m.optional(t.protocol);
    m.ports(t.source_ports);
    m.ports(t.destination_ports);
    m.optional(t.icmp_type);
    m.optional(t.icmp_code);
  }
  m.names(o.members);
}

void mix(Mixer& m, const Schedule& s) {
  m.text(s.name);
  m.number(static_cast<std::uint64_t>(s.utc_offset_minutes));
  m.number(s.windows.size());
  for (const ScheduleWindow& w : s.windows) {
    m.number(w.weekdays);
    m.number(std::uint64_t{w.from_minute} << 32 | w.to_minute);
    m.optional(w.not_before);
    m.optional(w.not_after);
  }
}

void mix(Mixer& m, const Zone& z) {
  m.text(z.name);
  m.names(z.ports);
  m.number(z.vlans.size());
  for (const std::uint16_t v : z.vlans) m.number(v);
  m.number(z.networks.size());
  for (const auto& r : z.networks) m.range(r);
}

}  // namespace

void fingerprint_objects(const PolicyModel& model, std::uint64_t out[2]) {
  Mixer m;
  m.number(model.addresses.size());
  for (const auto& o : model.addresses) mix(m, o);
  m.number(model.services.size());
  for (const auto& o : model.services) mix(m, o);
  m.number(model.schedules.size());
  for (const auto& s : model.schedules) mix(m, s);
  m.number(model.zones.size());
  for (const auto& z : model.zones) mix(m, z);
  m.texts(model.ports);
  m.finish(out);
}

void fingerprint_rule(const Rule& r, std::uint64_t out[2]) {
  Mixer m;
  m.text(r.id);
  m.number(static_cast<std::uint64_t>(r.category) | std::uint64_t{r.is_enabled} << 8 |
           static_cast<std::uint64_t>(r.action) << 16 | static_cast<std::uint64_t>(r.log) << 24 |
           static_cast<std::uint64_t>(r.on_change) << 32);
  for (const auto* list :
       {&r.from_zones, &r.to_zones, &r.sources, &r.destinations, &r.services, &r.applied_to})
    m.names(*list);
  m.number(r.schedule.has_value());
  if (r.schedule) {
    m.text(r.schedule->text);
    m.number(r.schedule->negated);
  }
  m.number(std::uint64_t{r.max_sessions} << 32 | r.max_sessions_per_source);
  m.optional(r.allow_midstream);
  m.optional(r.expires);
  for (const auto* t : {&r.owner, &r.ticket, &r.description, &r.reason}) m.text(*t);
  m.finish(out);
}

}  // namespace merlon::policy
