// SPDX-License-Identifier: Apache-2.0
// Session filters come from the network side of the API. Whatever parses must print to a text that
// parses to the same filter.
#include "merlon/client/session_filter.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "merlon/base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto filter = merlon::client::parse_session_filter(text);
  if (!filter) {
    MERLON_CHECK(!filter.error().message.empty());
    MERLON_CHECK(filter.error().where.column <= size + 1);
    return 0;
  }
  const std::string once = merlon::client::to_string(*filter);
  const auto again = merlon::client::parse_session_filter(once);
  MERLON_CHECK(again.ok());
  MERLON_CHECK(merlon::client::to_string(*again) == once);
  MERLON_CHECK(filter->is_empty() == again->is_empty());
  return 0;
}
