// SPDX-License-Identifier: Apache-2.0
#pragma once
// A strict reading of the reports' XML-like HTML: every element closed in order, every attribute
// quoted and once, ids unique, links inside, numbers of drawings finite. For tests.
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace merlon::lab {

struct HtmlElement {
  std::string name;
  std::map<std::string, std::string> attributes;  // as written, entities kept
  std::string text;                               // own text, without that of children
};

struct HtmlDocument {
  std::vector<std::string> problems;  // empty: the document is sound
  std::vector<HtmlElement> elements;  // in order of opening

  [[nodiscard]] std::size_t count(std::string_view name) const;
  [[nodiscard]] const HtmlElement* by_id(std::string_view id) const;
};

HtmlDocument check_html(std::string_view html);

}  // namespace merlon::lab
