// SPDX-License-Identifier: Apache-2.0
#include "format.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>

#include "html.h"
#include "page.h"

namespace merlon::lab::report {
namespace {

TEST(Format, DigitsKeepThreeToFourSignificantOnes) {
  EXPECT_EQ(digits(0), "0");
  EXPECT_EQ(digits(1), "1");
  EXPECT_EQ(digits(0.5), "0.5");
  EXPECT_EQ(digits(3.14159), "3.142");
  EXPECT_EQ(digits(0.0123456), "0.0123");
  EXPECT_EQ(digits(123.46), "123.5");
  EXPECT_EQ(digits(1234.4), "1\u202f234");
  EXPECT_EQ(digits(-1234567), "-1\u202f234\u202f567");
  EXPECT_EQ(digits(0.00001), "1.00e-05");
  EXPECT_EQ(digits(std::numeric_limits<double>::quiet_NaN()), "–");
}

TEST(Format, QuantitiesChooseTheirPrefix) {
  EXPECT_EQ(quantity(412345, Unit::kPps), "412.3\u00a0kpps");
  EXPECT_EQ(quantity(999.96e3, Unit::kPps), "1\u00a0Mpps");
  EXPECT_EQ(quantity(12.1, Unit::kMicroseconds), "12.1\u00a0µs");
  EXPECT_EQ(quantity(1500, Unit::kMicroseconds), "1.5\u00a0ms");
  EXPECT_EQ(quantity(0.00013, Unit::kRatio), "0.013\u00a0%");
  EXPECT_EQ(quantity(10e9, Unit::kBps), "10\u00a0Gbit/s");
}

TEST(Format, NoLossIsToldWithItsUpperBound) {
  EXPECT_EQ(loss_text(0, 30000), "0 (<\u00a00.01\u00a0%)");
  EXPECT_EQ(loss_text(3, 300), "1\u00a0%");
  EXPECT_EQ(loss_text(0, 0), "–");
}

TEST(Format, NamesOfValuesTellTheirUnit) {
  EXPECT_EQ(value_info("latency_p99_us").unit, Unit::kMicroseconds);
  EXPECT_EQ(value_info("something_pps").unit, Unit::kPps);
  EXPECT_EQ(value_info("own_loss_ratio").better, Better::kLower);
  EXPECT_EQ(value_info("some_thing").title.en, "some thing");
}

TEST(Format, TimesOutsideTheCalendarAreADash) {
  EXPECT_EQ(utc_time(0), "–");
  EXPECT_EQ(utc_time(1e300), "–");
  EXPECT_EQ(utc_time(std::numeric_limits<double>::quiet_NaN()), "–");
  EXPECT_EQ(utc_time(1764500000), "2025-11-30 10:53:20 UTC");
}

RC_GTEST_PROP(Format, DigitsReadBackWithinTheirPrecision, (int mantissa, int exponent)) {
  const double value = mantissa * std::pow(10.0, exponent % 12);
  RC_PRE(std::fabs(value) < 1e15);
  std::string text = digits(value);
  for (std::size_t at; (at = text.find("\u202f")) != std::string::npos;) text.erase(at, 3);
  RC_ASSERT(std::fabs(std::stod(text) - value) <= std::fabs(value) * 0.006);
}

TEST(Html, EscapesMarkupControlsAndBrokenUtf8) {
  EXPECT_EQ(escape("<a href=\"x\">&'</a>"), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;&lt;/a&gt;");
  EXPECT_EQ(escape(std::string("a\0b", 3)), "a\ufffdb");
  EXPECT_EQ(escape("\x1b[31m"), "\ufffd[31m");
  EXPECT_EQ(escape("\xc0\xaf"), "\ufffd\ufffd");            // overlong
  EXPECT_EQ(escape("\xed\xa0\x80"), "\ufffd\ufffd\ufffd");  // surrogate
  EXPECT_EQ(escape("пакет"), "пакет");
}

TEST(Html, JsonStringsCantEndTheirElement) {
  std::string out;
  append_json_string("</script><!--\"\\\n", out);
  EXPECT_EQ(out, "\"\\u003c/script\\u003e\\u003c!--\\\"\\\\\\u000a\"");
}

TEST(Html, IdsOfDifferentTextsDiffer) {
  EXPECT_NE(make_id("row-", "a.b"), make_id("row-", "a_2eb"));
  EXPECT_EQ(make_id("row-", "a b\"").find_first_of(" \""), std::string::npos);
}

TEST(Page, HashesBecomeBase64) {
  EXPECT_EQ(base64_of_hex("4d616e"), "TWFu");
  EXPECT_EQ(base64_of_hex("4d61"), "TWE=");
  EXPECT_EQ(base64_of_hex("4D"), "TQ==");
}

}  // namespace
}  // namespace merlon::lab::report
