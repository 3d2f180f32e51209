// SPDX-License-Identifier: Apache-2.0
#include "objects.h"

#include <fmt/format.h>

#include <algorithm>

#include "suggest.h"

namespace merlon::policy {

namespace {

using base::Errc;
using base::Error;
using base::Errors;

template <class T>
std::vector<std::string_view> names_of(const std::vector<T>& objects) {
  std::vector<std::string_view> out;
  for (const T& o : objects) out.push_back(o.name);
  return out;
}

// Depth-first over nested objects of one kind; a name on the stack closes a cycle.
template <class Object, class Value>
class Nesting {
 public:
  Nesting(const std::vector<Object>& objects, std::string_view kind, Errors& errors)
      : kind_(kind), errors_(errors), objects_(objects) {
    for (const Object& o : objects) {
      const auto [it, is_new] = by_name_.try_emplace(o.name, &o);
      if (is_new) continue;
      errors.push_back({Errc::kDuplicate,
                        fmt::format("{} object \"{}\" is defined twice", kind, o.name), o.where,
                        fmt::format("the first is at line {}", it->second->where.line)});
    }
  }

  // `make(object)` computes a value and calls get() for nested names.
  template <class Make>
  const Value* get(const Name& name, const Make& make) {
    const auto it = by_name_.find(name.text);
    if (it == by_name_.end()) {
      errors_.push_back({Errc::kNotFound,
                         fmt::format("{} object \"{}\" does not exist", kind_, name.text),
                         name.where, did_you_mean(name.text, names_of(objects_))});
      return nullptr;
    }
    const auto done = values_.find(name.text);
    if (done != values_.end()) return &done->second;
    const auto on_stack = std::find(stack_.begin(), stack_.end(), name.text);
    if (on_stack != stack_.end()) return report_cycle(on_stack, name);
    if (stack_.size() >= kMaxDepth) return report_depth(name);
    stack_.push_back(name.text);
    Value value = make(*it->second);
    stack_.pop_back();
    return &values_.emplace(name.text, std::move(value)).first->second;
  }
  [[nodiscard]] bool has(std::string_view name) const { return by_name_.contains(name); }
  NameMap<Value>& values() { return values_; }

 private:
  static constexpr std::size_t kMaxDepth = 64;

  const Value* report_cycle(std::vector<std::string>::iterator from, const Name& name) {
    std::string path;
    for (auto i = from; i != stack_.end(); ++i) path += fmt::format("{} → ", *i);
    errors_.push_back({Errc::kInvalidValue,
                       fmt::format("{} objects contain each other: {}{}", kind_, path, name.text),
                       name.where, "take one of them out"});
    return nullptr;
  }
  const Value* report_depth(const Name& name) {
    errors_.push_back({Errc::kCapacity,
                       fmt::format("{} object \"{}\" is nested deeper than {} levels", kind_,
                                   name.text, kMaxDepth),
                       name.where});
    return nullptr;
  }

  std::string_view kind_;
  Errors& errors_;
  const std::vector<Object>& objects_;
  NameMap<const Object*> by_name_;
  NameMap<Value> values_;
  std::vector<std::string> stack_;
};

void append(AddressSet& to, const AddressSet& from) {
  to.insert(to.end(), from.begin(), from.end());
}

class AddressObjects {
 public:
  AddressObjects(const PolicyModel& model, Errors& errors)
      : model_(model), errors_(errors), nesting_(model.addresses, "address", errors) {
    for (const AddressObject& o : model.addresses)
      for (const std::string& tag : o.tags) tagged_[tag].push_back(&o);
  }

  NameMap<AddressSet>& resolve() {
    for (const AddressObject& o : model_.addresses) get({o.name, false, o.where});
    return nesting_.values();
  }

 private:
  const AddressSet* get(const Name& name) {
    return nesting_.get(name, [this](const AddressObject& o) { return make(o); });
  }

  AddressSet make(const AddressObject& object) {
    AddressSet plus, minus;
    bool has_plus = !object.ranges.empty() || !object.with_tags.empty();
    for (const base::AddressRange& r : object.ranges) {
      if (r.first > r.last || r.first.is_v4() != r.last.is_v4())
        errors_.push_back({Errc::kInvalidValue,
                           fmt::format("address object \"{}\": {}-{} is not a range", object.name,
                                       r.first.to_string(), r.last.to_string()),
                           object.where, "both ends must be of one family, the lower one first"});
      else
        add_range(plus, r);
    }
    for (const Name& m : object.members) {
      has_plus |= !m.negated;
      add_member(m, m.negated ? minus : plus);
    }
    if (!object.with_tags.empty()) add_tagged(object, plus);
    if (!has_plus && !object.members.empty()) plus.push_back({0, kAddressLast});
    normalise(plus);
    normalise(minus);
    return minus.empty() ? plus : subtract(plus, minus);
  }

  void add_member(const Name& m, AddressSet& to) {
    const Literal literal = address_literal(m);
    if (literal.is == Literal::Is::kYes) return append(to, literal.set);
    if (literal.is == Literal::Is::kBad && !nesting_.has(m.text))
      return errors_.push_back(literal.error);
    if (const AddressSet* set = get(m)) append(to, *set);
  }

  // All objects that carry every plain tag and no negated one.
  void add_tagged(const AddressObject& group, AddressSet& to) {
    for (const Name& t : group.with_tags)
      if (!tagged_.contains(t.text)) report_tag(t);
    for (const AddressObject& o : model_.addresses) {
      if (&o == &group) continue;
      const bool fits = std::all_of(group.with_tags.begin(), group.with_tags.end(), [&](auto& t) {
        const bool has = std::find(o.tags.begin(), o.tags.end(), t.text) != o.tags.end();
        return has != t.negated;
      });
      if (!fits) continue;
      if (const AddressSet* set = get({o.name, false, group.where})) append(to, *set);
    }
  }

  void report_tag(const Name& tag) {
    std::vector<std::string_view> names;
    for (const auto& [name, unused] : tagged_) names.push_back(name);
    std::sort(names.begin(), names.end());
    errors_.push_back({Errc::kNotFound,
                       fmt::format("no address object has the tag \"{}\"", tag.text), tag.where,
                       did_you_mean(tag.text, names)});
  }

  const PolicyModel& model_;
  Errors& errors_;
  Nesting<AddressObject, AddressSet> nesting_;
  NameMap<std::vector<const AddressObject*>> tagged_;
};

class ServiceObjects {
 public:
  ServiceObjects(const PolicyModel& model, Errors& errors)
      : model_(model), errors_(errors), nesting_(model.services, "service", errors) {}

  NameMap<ServiceTerms>& resolve() {
    for (const ServiceObject& o : model_.services) get({o.name, false, o.where});
    return nesting_.values();
  }

 private:
  const ServiceTerms* get(const Name& name) {
    return nesting_.get(name, [this](const ServiceObject& o) { return make(o); });
  }

  ServiceTerms make(const ServiceObject& object) {
    ServiceTerms out = object.terms;
    for (const ServiceTerm& t : object.terms) check(object, t);
    for (const Name& m : object.members) {
      if (m.negated) {
        errors_.push_back({Errc::kUnsupported,
                           fmt::format("service \"{}\" can't be negated", m.text), m.where,
                           "put a rule for it before this one"});
      } else if (nesting_.has(m.text)) {
        if (const auto* terms = get(m)) out.insert(out.end(), terms->begin(), terms->end());
      } else if (const auto parsed = parse_service(m.text, m.where); parsed.ok()) {
        out.insert(out.end(), parsed->begin(), parsed->end());
      } else if (is_service_literal(m.text)) {
        errors_.push_back(parsed.error());
      } else {
        get(m);  // reports the unknown name with the nearest object
      }
    }
    return out;
  }

  void check(const ServiceObject& object, const ServiceTerm& t) {
    const auto complain = [&](std::string what) {
      errors_.push_back({Errc::kInvalidValue,
                         fmt::format("service object \"{}\": {}", object.name, what),
                         object.where});
    };
    const bool is_icmp = t.protocol && (*t.protocol == kProtoIcmp || *t.protocol == kProtoIcmpv6);
    if ((t.icmp_type || t.icmp_code) && !is_icmp)
      complain("an ICMP type needs protocol icmp or icmpv6");
    if (t.icmp_code && !t.icmp_type) complain("an ICMP code needs a type");
    const bool names_ports = !t.source_ports.empty() || !t.destination_ports.empty();
    if (names_ports && t.protocol && !has_ports(*t.protocol))
      complain(fmt::format("protocol {} has no ports", *t.protocol));
    for (const auto* list : {&t.source_ports, &t.destination_ports})
      for (const PortRange& r : *list)
        if (r.first > r.last)
          complain(fmt::format("port range {}-{} ends before it begins", r.first, r.last));
  }

  const PolicyModel& model_;
  Errors& errors_;
  Nesting<ServiceObject, ServiceTerms> nesting_;
};

void resolve_schedules(const PolicyModel& model, Objects& out, Errors& errors) {
  for (const Schedule& s : model.schedules) {
    auto table = std::make_shared<ScheduleTable>();
    table->offset_seconds = std::int64_t{s.utc_offset_minutes} * 60;
    table->windows = s.windows;
    for (const ScheduleWindow& w : s.windows) {
      if (w.from_minute > 1440 || w.to_minute > 1440)
        errors.push_back({Errc::kInvalidValue,
                          fmt::format("schedule \"{}\": a day has 1440 minutes", s.name), s.where});
      if (w.not_before && w.not_after && *w.not_after <= *w.not_before)
        errors.push_back({Errc::kInvalidValue,
                          fmt::format("schedule \"{}\" ends before it begins", s.name), s.where});
    }
    if (!out.schedules.emplace(s.name, std::move(table)).second)
      errors.push_back(
          {Errc::kDuplicate, fmt::format("schedule \"{}\" is defined twice", s.name), s.where});
  }
}

void remark_objects(const PolicyModel& model, const Objects& out, std::vector<Finding>& findings) {
  for (const AddressObject& o : model.addresses) {
    const auto it = out.addresses.find(o.name);
    if (it == out.addresses.end() || !it->second || !it->second->empty()) continue;
    findings.push_back({FindingCode::kEmptyObject,
                        Severity::kWarning,
                        o.name,
                        {},
                        o.where,
                        {},
                        fmt::format("address object \"{}\" holds no address", o.name)});
  }
  for (const ServiceObject& o : model.services) {
    const auto builtin = builtin_services();
    if (std::any_of(builtin.begin(), builtin.end(), [&](auto& b) { return b.name == o.name; }))
      findings.push_back(
          {FindingCode::kNameShadows,
           Severity::kWarning,
           o.name,
           {},
           o.where,
           {},
           fmt::format("service object \"{}\" takes the place of the built-in service", o.name)});
    const auto it = out.services.find(o.name);
    if (it != out.services.end() && it->second.empty())
      findings.push_back({FindingCode::kEmptyObject,
                          Severity::kWarning,
                          o.name,
                          {},
                          o.where,
                          {},
                          fmt::format("service object \"{}\" holds no service", o.name)});
  }
}

}  // namespace

Literal address_literal(const Name& name) {
  Literal out;
  const std::string& t = name.text;
  if (t == "any") {
    out.is = Literal::Is::kYes;
    out.set.push_back({0, kAddressLast});
    return out;
  }
  // Object names may begin with a digit; only text made of address characters is taken for a
  // literal.
  const bool has_colon = t.find(':') != std::string::npos;
  const bool looks = has_colon || (t.find_first_not_of("0123456789./-") == std::string::npos &&
                                   t.find_first_of("./") != std::string::npos);
  if (!looks) return out;
  const auto range = base::parse_address_range(t);
  if (!range) {
    out.is = Literal::Is::kBad;
    out.error = range.error();
    out.error.where = name.where;
    return out;
  }
  out.is = Literal::Is::kYes;
  add_range(out.set, *range);
  return out;
}

std::shared_ptr<const Objects> resolve_objects(const PolicyModel& model, Errors& errors,
                                               std::vector<Finding>& findings) {
  auto out = std::make_shared<Objects>();
  AddressObjects addresses(model, errors);
  for (auto& [name, set] : addresses.resolve()) {
    const bool is_any = set.size() == 1 && set[0] == Interval<Key128>{0, kAddressLast};
    out->addresses.emplace(name,
                           is_any ? nullptr : std::make_shared<const AddressSet>(std::move(set)));
  }
  out->services = std::move(ServiceObjects(model, errors).resolve());
  resolve_schedules(model, *out, errors);
  for (std::size_t i = 0; i < model.ports.size(); ++i)
    out->ports.emplace(model.ports[i], static_cast<std::uint16_t>(i));
  out->zones = std::make_shared<const ZoneTable>(model, errors);
  remark_objects(model, *out, findings);
  fingerprint_objects(model, out->fingerprint);
  return out;
}

}  // namespace merlon::policy
