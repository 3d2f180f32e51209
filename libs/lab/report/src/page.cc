// SPDX-License-Identifier: Apache-2.0
#include "page.h"

#include <fmt/core.h>

#include <cstdint>
#include <vector>

#include "assets.h"
#include "html.h"

namespace merlon::lab::report {

void append_switches(std::string& out) {
  out.append("<div class=\"switches\" hidden=\"hidden\">");
  for (const auto& [code, name] : std::initializer_list<std::pair<const char*, const char*>>{
           {"en", "English"}, {"ru", "Русский"}})
    out.append(fmt::format(
        "<button type=\"button\" data-set-lang=\"{}\" aria-pressed=\"false\">{}</button>", code,
        name));
  for (const auto& [code, name] :
       std::initializer_list<std::pair<const char*, Text>>{{"auto", {"auto", "авто"}},
                                                           {"light", {"light", "светлая"}},
                                                           {"dark", {"dark", "тёмная"}}})
    out.append(fmt::format(
        "<button type=\"button\" data-set-theme=\"{}\" aria-pressed=\"false\">{}</button>", code,
        both(name)));
  out.append("</div>\n");
}

std::string navigation(std::string_view body) {
  std::string out = "<nav class=\"wide\" aria-label=\"sections\"><ul>";
  constexpr std::string_view kOpen = "<section id=\"";
  for (std::size_t at = body.find(kOpen); at != std::string_view::npos;
       at = body.find(kOpen, at + 1)) {
    const std::size_t id = at + kOpen.size();
    const std::string_view name = body.substr(id, body.find('"', id) - id);
    const std::size_t title = body.find('>', body.find("<h2", id)) + 1;
    out.append("<li><a href=\"#").append(name).append("\">");
    out.append(body.substr(title, body.find("</h2>", title) - title)).append("</a></li>");
  }
  return out + "</ul></nav>\n";
}

std::string base64_of_hex(std::string_view hex) {
  constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const auto nibble = [](char c) {
    return static_cast<std::uint32_t>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
  };
  std::vector<std::uint32_t> bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(nibble(hex[i]) << 4 | nibble(hex[i + 1]));
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t n = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t word = bytes[i] << 16;
    if (n > 1) word |= bytes[i + 1] << 8;
    if (n > 2) word |= bytes[i + 2];
    for (std::size_t k = 0; k < 4; ++k)
      out.push_back(k <= n ? kAlphabet[word >> (18 - 6 * k) & 63] : '=');
  }
  return out;
}

std::string page(const Text& title, Language language, std::string_view body,
                 std::string_view json) {
  const std::string_view lang = language == Language::kRussian ? "ru" : "en";
  const std::string& name =
      language == Language::kRussian && !title.ru.empty() ? title.ru : title.en;
  std::string out;
  out.reserve(body.size() + json.size() + kReportCss.size() + kReportJs.size() + 2048);
  out.append(fmt::format(
      "<!DOCTYPE html>\n<html lang=\"{0}\" data-lang=\"{0}\">\n<head>\n<meta charset=\"utf-8\"/>\n",
      lang));
  out.append(fmt::format(
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'; script-src 'sha256-{}'; base-uri 'none'; form-action 'none'\"/>\n",
      base64_of_hex(kReportJsSha256)));
  out.append("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>");
  out.append(escape(name))
      .append(" — Merlon</title>\n<style>")
      .append(kReportCss)
      .append("</style>\n</head>\n<body>\n");
  out.append(body);
  out.append("<footer>")
      .append(both({"Made by merlon lab. Hollow marks: contaminated, tester-limited or irregular. "
                    "An arrow down: no event, the mark is the 95 % upper bound 3/n.",
                    "Создано merlon lab. Полые метки: загрязнено, предел тестера или нерегулярно. "
                    "Стрелка вниз: событий не было, метка — верхняя граница 3/n (95 %)."}));
  out.append(
         "</footer>\n<dialog id=\"details\" aria-labelledby=\"details-h\"><header><h2 "
         "id=\"details-h\"></h2>"
         "<button type=\"button\">")
      .append(both({"Close", "Закрыть"}))
      .append("</button></header><div class=\"body\"></div></dialog>\n");
  out.append("<script type=\"application/json\" id=\"run-data\">")
      .append(json)
      .append("</script>\n<script>");
  out.append(kReportJs).append("</script>\n</body>\n</html>\n");
  return out;
}

}  // namespace merlon::lab::report
