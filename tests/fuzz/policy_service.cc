// SPDX-License-Identifier: Apache-2.0
// Service and address literals from hostile text: no crash, no quadratic time, and what is accepted
// means the same when it is printed and read again.
#include <cstdint>
#include <string>
#include <string_view>

#include "merlon/base/address.h"
#include "merlon/base/check.h"
#include "merlon/policy/compile.h"
#include "merlon/policy/service.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace merlon;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto terms = policy::parse_service(text);
  if (terms) {
    for (const policy::ServiceTerm& t : *terms) {
      const std::string once = policy::format_service(t);
      const auto again = policy::parse_service(once);
      MERLON_CHECK(again.ok() && again->size() == 1);
      MERLON_CHECK(policy::format_service((*again)[0]) == once);
    }
  }
  // The same words through the compiler, as an address and as a service of one rule.
  policy::PolicyModel model;
  policy::Rule rule;
  rule.id = "r";
  const std::string word = text.substr(0, text.find('\n'));
  const std::string rest = word.size() < text.size() ? text.substr(word.size() + 1) : std::string();
  rule.sources.push_back({word, !rest.empty() && rest[0] == '!', {}});
  if (!rest.empty()) rule.services.push_back({rest, false, {}});
  model.rules.push_back(rule);
  policy::RuleSlots slots;
  const policy::CompileResult result = policy::compile(model, slots);
  MERLON_CHECK((result.snapshot != nullptr) == result.errors.empty());
  return 0;
}
