// SPDX-License-Identifier: Apache-2.0
#pragma once
// The objects of a policy with their nesting, tags and negation worked out. Built once per model,
// shared by the snapshots that use it, immutable afterwards. control-only.
//
// Rule of all lists: the union of the plain members minus the union of the negated ones; where
// every member is negated, "any" stands for the union. An empty list means any.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "merlon/policy/finding.h"
#include "merlon/policy/model.h"
#include "merlon/policy/slots.h"
#include "merlon/policy/zones.h"
#include "rule.h"

namespace merlon::policy {

struct NameHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view s) const noexcept {
    return std::hash<std::string_view>{}(s);
  }
};
template <class T>
using NameMap = std::unordered_map<std::string, T, NameHash, std::equal_to<>>;

// A word of an address list as a literal: kYes with its ranges, kBad with the error, kNo for a
// name.
struct Literal {
  enum class Is { kNo, kYes, kBad } is = Is::kNo;
  AddressSet set;
  base::Error error;
};
Literal address_literal(const Name& name);

struct Objects {
  NameMap<AddressSetPtr> addresses;  // null: any
  NameMap<ServiceTerms> services;
  NameMap<std::shared_ptr<const ScheduleTable>> schedules;
  NameMap<std::uint16_t> ports;
  std::shared_ptr<const ZoneTable> zones;
  std::uint64_t fingerprint[2]{};
};

// All errors are appended; what is wrong resolves to an empty set so that more errors can be found.
std::shared_ptr<const Objects> resolve_objects(const PolicyModel& model, base::Errors& errors,
                                               std::vector<Finding>& findings);

// Of everything in the model but its rules.
void fingerprint_objects(const PolicyModel& model, std::uint64_t out[2]);
void fingerprint_rule(const Rule& rule, std::uint64_t out[2]);

SlotInfo slot_info(const Rule& rule);
// For a rule of which nothing is left.
Finding empty_match(const Rule& rule, const Compiled& made);

// Turns rules into Compiled ones; equal lists share one set, which is also what lets the classifier
// treat a group used by a thousand rules as one.
class RuleResolver {
 public:
  RuleResolver(const Objects& objects, base::Errors& errors, std::vector<Finding>& findings)
      : objects_(objects), errors_(errors), findings_(findings) {}

  // Without `order`.
  std::shared_ptr<Compiled> resolve(const Rule& rule, RuleSlots& slots);

 private:
  using ServicePtr = std::shared_ptr<const std::vector<ServiceRow>>;
  AddressSetPtr address_list(const std::vector<Name>& names);
  KeySetPtr zone_list(const std::vector<Name>& names);
  KeySetPtr applied_list(const std::vector<Name>& names);
  ServicePtr service_list(const std::vector<Name>& names);
  void one_service(const Name& name, ServiceTerms& terms);
  KeySetPtr intern(KeySet set);

  const Objects& objects_;
  base::Errors& errors_;
  std::vector<Finding>& findings_;
  NameMap<AddressSetPtr> address_lists_;
  NameMap<KeySetPtr> zone_lists_, applied_lists_;
  NameMap<ServicePtr> service_lists_;
  std::unordered_map<std::uint64_t, std::vector<KeySetPtr>> key_sets_;
};

}  // namespace merlon::policy
