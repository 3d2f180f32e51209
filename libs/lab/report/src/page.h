// SPDX-License-Identifier: Apache-2.0
#pragma once
// The page around a report's or a comparison's sections: head with content policy and styles,
// switches, navigation, the dialog for details, data and script. control-only.
#include <string>
#include <string_view>

#include "merlon/lab_report/report.h"

namespace merlon::lab::report {

void append_switches(std::string& out);
// Links to the sections that `body` has.
std::string navigation(std::string_view body);
std::string page(const Text& title, Language language, std::string_view body,
                 std::string_view json);
// Base64 of bytes given in hexadecimal; content policies want hashes so.
std::string base64_of_hex(std::string_view hex);

}  // namespace merlon::lab::report
