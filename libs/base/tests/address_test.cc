// SPDX-License-Identifier: Apache-2.0
#include "merlon/base/address.h"

#include <gtest/gtest.h>

namespace merlon::base {
namespace {

TEST(Address, ReadsAndWritesBothFamilies) {
  for (const char* text :
       {"0.0.0.0", "192.0.2.1", "255.255.255.255", "::", "::1", "2001:db8::1", "fe80::1"}) {
    const auto a = parse_address(text);
    ASSERT_TRUE(a.ok()) << text;
    EXPECT_EQ(a->to_string(), text);
  }
  EXPECT_TRUE(parse_address("192.0.2.1")->is_v4());
  EXPECT_FALSE(parse_address("::1")->is_v4());
}

TEST(Address, RefusesWhatIsNotAnAddress) {
  for (const char* text :
       {"", "1.2.3", "1.2.3.4.5", "01.2.3.4", "256.0.0.1", "2001:db8::g", "host"})
    EXPECT_FALSE(parse_address(text).ok()) << text;
}

TEST(AddressRange, RoundTrips) {
  for (const char* text :
       {"10.0.0.0/8", "0.0.0.0/0", "192.0.2.7", "192.0.2.1-192.0.2.9", "2001:db8::/32", "::/0"}) {
    const auto r = parse_address_range(text);
    ASSERT_TRUE(r.ok()) << text;
    EXPECT_EQ(r->to_string(), text);
  }
}

TEST(AddressRange, NamesThePrefixThatWasMeant) {
  const auto r = parse_address_range("10.0.0.1/24");
  ASSERT_FALSE(r.ok());
  EXPECT_NE(r.error().hint.find("10.0.0.0/24"), std::string::npos);
}

TEST(AddressRange, RefusesNonsense) {
  for (const char* text :
       {"10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/08", "10.0.0.9-10.0.0.1", "10.0.0.1-::1", "/8"})
    EXPECT_FALSE(parse_address_range(text).ok()) << text;
}

TEST(Mac, RoundTripsAndRefuses) {
  EXPECT_EQ(parse_mac("02:00:5e:00:53:ff")->to_string(), "02:00:5e:00:53:ff");
  for (const char* text :
       {"02:00:5e:00:53", "02-00-5e-00-53-ff", "0g:00:00:00:00:00", " 2:00:00:00:00:00"})
    EXPECT_FALSE(parse_mac(text).ok()) << text;
}

}  // namespace
}  // namespace merlon::base
