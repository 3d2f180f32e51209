// SPDX-License-Identifier: Apache-2.0
#include "merlon/telemetry/reference.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "merlon/base/drop_reason.h"
#include "schema_check.h"

namespace merlon::telemetry {
namespace {

std::string checked_in(const std::string& name) {
  std::ostringstream s;
  s << std::ifstream(std::string(MERLON_REFERENCE_DIR) + "/" + name, std::ios::binary).rdbuf();
  return s.str();
}

// When one of these fails: build merlon-docgen and run it on docs/reference.
TEST(Reference, CheckedInPagesAreCurrent) {
  EXPECT_EQ(checked_in("eve.schema.json"), eve_schema());
  EXPECT_EQ(checked_in("events.md"), events_reference());
  EXPECT_EQ(checked_in("metrics.md"), metrics_reference());
  EXPECT_EQ(checked_in("drops.md"), drops_reference());
}

TEST(Reference, EveryDropReasonHasARow) {
  const std::string page = drops_reference();
  for (unsigned i = 1; i < base::kDropReasonCount; ++i) {
    const auto name = base::drop_reason_name(static_cast<base::DropReason>(i));
    EXPECT_NE(page.find("| `" + std::string(name) + "` | "), std::string::npos) << name;
  }
}

TEST(Reference, FieldsAreUniqueDescribedAndHaveTheirParent) {
  std::set<std::string_view> paths;
  for (const EveField& f : eve_fields()) {
    EXPECT_FALSE(f.help.empty()) << f.path;
    EXPECT_TRUE(paths.insert(f.path).second) << f.path;
    const auto dot = f.path.rfind('.');
    if (dot != std::string_view::npos) {
      EXPECT_TRUE(paths.contains(f.path.substr(0, dot))) << f.path;
    }
  }
  EXPECT_TRUE(paths.contains("stats.counters.events_lost"));
  EXPECT_TRUE(paths.contains("stats.drops.tcp_window"));
}

// The validator refuses what the schema does not allow: else the event tests prove nothing.
TEST(Reference, SchemaRefuses) {
  const std::string drop =
      R"("timestamp":"t","event_type":"drop","drop":{"len":1,"reason":"non_ip"})";
  EXPECT_TRUE(test::event_errors("{" + drop + "}").empty());
  for (
      const std::string& bad : {
          "{" + drop + R"(,"colour":1})",                               // unknown
          "{" + drop + R"(,"src_port":"80"})",                          // type
          "{" + drop + R"(,"src_port":-1})",                            // minimum
          "{" + drop + R"(,"policy":{"action":"drop","revision":1}})",  // of another event
          std::string(R"({"timestamp":"t","event_type":"drop","drop":{"len":1}})"),  // required
          std::string(R"({"timestamp":"t","event_type":"drop"})"),  // required by type
          std::string(
              R"({"timestamp":"t","event_type":"drop","drop":{"len":1,"reason":"bad_luck"}})"),
          std::string(
              R"({"timestamp":"t","event_type":"flow","flow":{"start":"t"},"policy":{"action":"drop","revision":1}})"),
          std::string(R"({"timestamp":"t","event_type":"party"})"),
          "{" + drop + R"(,"vlan":["x"]})",
      })
    EXPECT_FALSE(test::event_errors(bad).empty()) << bad;
}

}  // namespace
}  // namespace merlon::telemetry
