// SPDX-License-Identifier: Apache-2.0
#include "merlon/policy/service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace merlon::policy {
namespace {

using testing::HasSubstr;

// Parsed and printed again.
std::string canonical(const char* text) {
  const auto r = parse_service(text);
  if (!r) return "error: " + r.error().message;
  std::string out;
  for (const ServiceTerm& t : *r) out += (out.empty() ? "" : " ") + format_service(t);
  return out;
}

TEST(Service, LiteralsKeepTheirMeaning) {
  EXPECT_EQ(canonical("any"), "any");
  EXPECT_EQ(canonical("tcp"), "tcp");
  EXPECT_EQ(canonical("tcp/443"), "tcp/443");
  EXPECT_EQ(canonical("tcp/any"), "tcp");
  EXPECT_EQ(canonical("tcp/1000-2000"), "tcp/1000-2000");
  EXPECT_EQ(canonical("tcp/80,443,8000-8100"), "tcp/80,443,8000-8100");
  EXPECT_EQ(canonical("udp/any:53"), "udp/53");
  EXPECT_EQ(canonical("tcp/1024-65535:443"), "tcp/1024-65535:443");
  EXPECT_EQ(canonical("sctp/5060"), "sctp/5060");
  EXPECT_EQ(canonical("icmp/echo-request"), "icmp/8");
  EXPECT_EQ(canonical("icmp/3/4"), "icmp/3/4");
  EXPECT_EQ(canonical("icmpv6/128"), "icmpv6/128");
  EXPECT_EQ(canonical("proto/47"), "gre");
  EXPECT_EQ(canonical("proto/200"), "proto/200");
  EXPECT_EQ(canonical("esp"), "esp");
}

TEST(Service, SourcePortsAreBeforeTheColon) {
  const auto r = parse_service("tcp/1024-65535:443");
  ASSERT_TRUE(r.ok());
  ASSERT_EQ(r->size(), 1U);
  EXPECT_EQ((*r)[0].source_ports[0].first, 1024);
  EXPECT_EQ((*r)[0].source_ports[0].last, 65535);
  EXPECT_EQ((*r)[0].destination_ports[0].first, 443);
}

TEST(Service, BuiltinNamesAllParse) {
  for (const BuiltinService& b : builtin_services())
    EXPECT_TRUE(parse_service(b.name).ok()) << b.name;
  EXPECT_EQ(canonical("dns"), "udp/53 tcp/53");
  EXPECT_EQ(canonical("ping"), "icmp/8 icmpv6/128");
}

TEST(Service, ErrorsSayWhatAndWhere) {
  const auto message = [](const char* text) { return canonical(text); };
  EXPECT_THAT(message("tcp/70000"), HasSubstr("port 70000 is out of range (0 to 65535)"));
  EXPECT_THAT(message("tcp/99999999999999999999"), HasSubstr("out of range"));
  EXPECT_THAT(message("tcp/2000-1000"), HasSubstr("ends before it begins"));
  EXPECT_THAT(message("tcp/"), HasSubstr("is not a port"));
  EXPECT_THAT(message("tcp/80,"), HasSubstr("is not a port"));
  EXPECT_THAT(message("tcp/080"), HasSubstr("\"080\" is not a port"));
  EXPECT_THAT(message("tcp/+80"), HasSubstr("is not a port"));
  EXPECT_THAT(message("gre/1"), HasSubstr("has no ports"));
  EXPECT_THAT(message("icmp/256"), HasSubstr("out of range (0 to 255)"));
  EXPECT_THAT(message("icmp/3/x"), HasSubstr("ICMP code"));
  EXPECT_THAT(message("proto/256"), HasSubstr("out of range"));
  const auto r = parse_service("tpc/80", {"f.yaml", 4, 2, 8});
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.error().where.line, 4U);
  EXPECT_THAT(r.error().hint, HasSubstr("\"tcp\""));
  EXPECT_THAT(parse_service("htttp").error().hint, HasSubstr("\"http\""));
  EXPECT_EQ(parse_service("nothing-like-it").error().code, base::Errc::kNotFound);
}

TEST(Service, KnowsLiteralsFromNames) {
  EXPECT_TRUE(is_service_literal("tcp/80"));
  EXPECT_TRUE(is_service_literal("gre"));
  EXPECT_FALSE(is_service_literal("http"));
  EXPECT_FALSE(is_service_literal("my-app"));
}

}  // namespace
}  // namespace merlon::policy
