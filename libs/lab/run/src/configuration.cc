// SPDX-License-Identifier: Apache-2.0
#include "configuration.h"

#include <array>
#include <regex>
#include <utility>

namespace merlon::lab {

std::string lasting_configuration(const std::string& dump, const std::string& instance) {
  std::string text = dump;
  for (std::size_t at = 0;
       !instance.empty() && (at = text.find(instance, at)) != std::string::npos;) {
    std::size_t end = at + instance.size();
    while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
    text.replace(at, end - at, "RUN");
    at += 3;
  }
  static const std::array<std::pair<std::regex, const char*>, 6> kPassing{{
      {std::regex("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "UUID"},
      {std::regex("\\b[0-9a-f]{1,2}(:[0-9a-f]{1,2}){5}\\b"), "MAC"},
      {std::regex("timer +[0-9.]+"), "timer -"},
      {std::regex("<[A-Z_,-]+>"), "<>"},
      {std::regex("\\bstate [A-Z]+"), "state -"},
      {std::regex("(^|\\n)[0-9]+: "), "$1"},
  }};
  for (const auto& [pattern, word] : kPassing) text = std::regex_replace(text, pattern, word);
  return text;
}

}  // namespace merlon::lab
