// SPDX-License-Identifier: Apache-2.0
#include "html_check.h"

#include <algorithm>
#include <cctype>
#include <set>

namespace merlon::lab {
namespace {

constexpr std::string_view kPlain =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_:";

bool is_void(std::string_view name) { return name == "meta" || name == "input" || name == "br"; }
bool is_raw(std::string_view name) { return name == "script" || name == "style"; }

class Reader {
 public:
  explicit Reader(std::string_view html) : html_(html) {}

  HtmlDocument read() {
    constexpr std::string_view kDoctype = "<!DOCTYPE html>";
    if (!html_.starts_with(kDoctype)) problem("no doctype");
    at_ = kDoctype.size();
    while (at_ < html_.size() && document_.problems.size() < 20) {
      if (html_[at_] == '<')
        tag();
      else
        text();
    }
    if (!open_.empty()) problem("not closed: " + document_.elements[open_.back()].name);
    check_references();
    return std::move(document_);
  }

 private:
  void problem(const std::string& what) {
    document_.problems.push_back(what + " at " + std::to_string(at_) + ": " +
                                 std::string(html_.substr(at_ > 40 ? at_ - 40 : 0, 100)));
  }

  void text() {
    const std::size_t end = std::min(html_.find('<', at_), html_.size());
    const std::string_view part = html_.substr(at_, end - at_);
    entities(part);
    if (part.find('>') != std::string_view::npos) problem("bare >");
    if (!open_.empty()) document_.elements[open_.back()].text.append(part);
    at_ = end;
  }

  void entities(std::string_view part) {
    for (std::size_t i = part.find('&'); i != std::string_view::npos; i = part.find('&', i + 1)) {
      const std::string_view rest = part.substr(i);
      if (!rest.starts_with("&amp;") && !rest.starts_with("&lt;") && !rest.starts_with("&gt;") &&
          !rest.starts_with("&quot;") && !rest.starts_with("&#39;"))
        problem("bare &");
    }
  }

  std::string name() {
    const std::size_t end = std::min(html_.find_first_not_of(kPlain, at_), html_.size());
    std::string out(html_.substr(at_, end - at_));
    at_ = end;
    return out;
  }

  void tag() {
    ++at_;
    if (at_ < html_.size() && html_[at_] == '/') {
      ++at_;
      const std::string closed = name();
      if (open_.empty() || document_.elements[open_.back()].name != closed)
        problem("</" + closed + "> closes nothing of that name");
      else
        open_.pop_back();
      if (at_ >= html_.size() || html_[at_] != '>') problem("end of </");
      ++at_;
      return;
    }
    HtmlElement element;
    element.name = name();
    if (element.name.empty()) {
      problem("bare <");
      return;
    }
    const bool is_closed = attributes(element);
    const bool is_svg = std::any_of(open_.begin(), open_.end(), [&](std::size_t i) {
      return document_.elements[i].name == "svg";
    });
    if (is_closed && !is_void(element.name) && !is_svg)
      problem("<" + element.name + "/> is no void element");
    if (!is_closed && is_void(element.name)) problem("<" + element.name + "> is not closed");
    document_.elements.push_back(element);
    if (is_closed) return;
    open_.push_back(document_.elements.size() - 1);
    if (is_raw(element.name)) raw(element.name);
  }

  bool attributes(HtmlElement& element) {
    while (at_ < html_.size()) {
      if (html_[at_] == '>') return ++at_, false;
      if (html_.substr(at_, 2) == "/>") return at_ += 2, true;
      if (html_[at_] != ' ') {
        problem("in <" + element.name);
        return ++at_, false;
      }
      ++at_;
      const std::string key = name();
      if (key.empty() || html_.substr(at_, 2) != "=\"") {
        problem("attribute without a quoted value in <" + element.name);
        return ++at_, false;
      }
      const std::size_t end = html_.find('"', at_ + 2);
      if (end == std::string_view::npos) return problem("open quote"), at_ = html_.size(), false;
      const std::string_view value = html_.substr(at_ + 2, end - at_ - 2);
      entities(value);
      if (value.find('<') != std::string_view::npos) problem("< in an attribute");
      if (!element.attributes.emplace(key, value).second) problem(key + " twice");
      at_ = end + 1;
    }
    return false;
  }

  void raw(const std::string& element) {
    const std::size_t end = html_.find("</" + element + ">", at_);
    if (end == std::string_view::npos) return problem("open " + element), void(at_ = html_.size());
    document_.elements.back().text = html_.substr(at_, end - at_);
    at_ = end;
  }

  void check_references() {
    std::set<std::string> ids;
    for (const HtmlElement& e : document_.elements)
      for (const auto& [key, value] : e.attributes) {
        if (key == "id" && !ids.insert(value).second)
          document_.problems.push_back("id twice: " + value);
        if (key.starts_with("on")) document_.problems.push_back("event handler " + key);
        if (key == "src" || key == "srcset" || key == "action" || key == "data")
          document_.problems.push_back(key + " in " + e.name);
        if (key == "href" && !value.starts_with("#"))
          document_.problems.push_back("outside link " + value);
        if (key == "style" && value.find("url") != std::string::npos)
          document_.problems.push_back("url in style");
        for (const char* bad : {"nan", "inf"})
          if (is_number(key) && value.find(bad) != std::string::npos)
            document_.problems.push_back(key + "=" + value + " in " + e.name);
      }
    for (const HtmlElement& e : document_.elements) {
      if (e.name == "link" || e.name == "img" || e.name == "iframe" || e.name == "object" ||
          e.name == "base")
        document_.problems.push_back("element " + e.name);
      const auto href = e.attributes.find("href");
      if (href != e.attributes.end() && ids.count(href->second.substr(1)) == 0)
        document_.problems.push_back("link to nowhere " + href->second);
      const auto label = e.attributes.find("aria-labelledby");
      if (label != e.attributes.end() && ids.count(label->second) == 0)
        document_.problems.push_back("label from nowhere " + label->second);
    }
  }

  static bool is_number(const std::string& key) {
    static const std::set<std::string> kKeys{"x",      "y",     "x1",     "x2",      "y1",
                                             "y2",     "cx",    "cy",     "r",       "d",
                                             "points", "width", "height", "viewBox", "transform"};
    return kKeys.count(key) != 0;
  }

  std::string_view html_;
  std::size_t at_ = 0;
  std::vector<std::size_t> open_;
  HtmlDocument document_;
};

}  // namespace

std::size_t HtmlDocument::count(std::string_view name) const {
  return static_cast<std::size_t>(std::count_if(
      elements.begin(), elements.end(), [&](const HtmlElement& e) { return e.name == name; }));
}

const HtmlElement* HtmlDocument::by_id(std::string_view id) const {
  for (const HtmlElement& e : elements) {
    const auto found = e.attributes.find("id");
    if (found != e.attributes.end() && found->second == id) return &e;
  }
  return nullptr;
}

HtmlDocument check_html(std::string_view html) { return Reader(html).read(); }

}  // namespace merlon::lab
