// SPDX-License-Identifier: Apache-2.0
#pragma once
// The files of assets/, embedded by the build. Immutable.
#include <string_view>

namespace merlon::lab::report {

extern const std::string_view kReportCss;
extern const std::string_view kReportJs;
// SHA-256 of the script in hexadecimal: the report's content policy lets this script run and no
// other.
extern const std::string_view kReportJsSha256;

}  // namespace merlon::lab::report
