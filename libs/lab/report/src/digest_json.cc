// SPDX-License-Identifier: Apache-2.0
// Baseline files. Read strictly: they lie in folders that others may write to.
#include <fmt/core.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "digest.h"

namespace merlon::lab::report {
namespace {

using nlohmann::json;

constexpr int kVersion = 1;
constexpr std::size_t kMaxValues = 100000;

// Thrown and caught in this file only.
struct Bad {
  std::string what;
};

const json& member(const json& object, const char* name, const std::string& at) {
  if (!object.is_object()) throw Bad{at + " is no object"};
  const auto found = object.find(name);
  if (found == object.end()) throw Bad{at + "." + name + " is missing"};
  return *found;
}

std::string text(const json& object, const char* name, const std::string& at) {
  const json& value = member(object, name, at);
  if (!value.is_string()) throw Bad{at + "." + name + " is no string"};
  return value.get<std::string>();
}

double number(const json& value, const std::string& at) {
  if (!value.is_number()) throw Bad{at + " is no number"};
  const double v = value.get<double>();
  if (!std::isfinite(v)) throw Bad{at + " is not finite"};
  return v;
}

Text both_texts(const json& object, const std::string& at) {
  const json& title = member(object, "title", at);
  return {text(title, "en", at + ".title"), text(title, "ru", at + ".title")};
}

DigestMetric read_metric(const json& object, const std::string& at) {
  DigestMetric m;
  const json& values = member(object, "values", at);
  if (!values.is_array() || values.size() > kMaxValues)
    throw Bad{at + ".values is no list of a sane length"};
  for (const json& v : values) m.values.push_back(number(v, at + ".values"));
  m.lower = number(member(object, "lower", at), at + ".lower");
  m.upper = number(member(object, "upper", at), at + ".upper");
  const json& is_search = member(object, "is_search", at);
  if (!is_search.is_boolean()) throw Bad{at + ".is_search is no boolean"};
  m.is_search = is_search.get<bool>();
  return m;
}

Digest read(const json& object) {
  const std::string at = "baseline";
  Digest d;
  d.id = text(object, "id", at);
  d.plan = text(object, "plan", at);
  d.title = both_texts(object, at);
  d.started = number(member(object, "started", at), at + ".started");
  d.noise = number(member(object, "noise", at), at + ".noise");
  const json& environment = member(object, "environment", at);
  if (!environment.is_object()) throw Bad{"baseline.environment is no object"};
  for (const auto& [name, value] : environment.items()) {
    if (!value.is_string()) throw Bad{"baseline.environment." + name + " is no string"};
    d.environment[name] = value.get<std::string>();
  }
  const json& rows = member(object, "rows", at);
  if (!rows.is_array()) throw Bad{"baseline.rows is no list"};
  for (const json& r : rows) {
    const std::string place = fmt::format("baseline.rows[{}]", d.rows.size());
    DigestRow row;
    row.key = text(r, "key", place);
    row.title = both_texts(r, place);
    row.configuration = text(r, "configuration", place);
    const json& metrics = member(r, "metrics", place);
    if (!metrics.is_object()) throw Bad{place + ".metrics is no object"};
    for (const auto& [name, m] : metrics.items())
      row.metrics[name] = read_metric(m, place + ".metrics." + name);
    d.rows.push_back(std::move(row));
  }
  return d;
}

base::Error bad(base::Errc code, std::string message) {
  base::Error error;
  error.code = code;
  error.message = std::move(message);
  error.hint = "save it again with: merlon lab baseline save";
  return error;
}

}  // namespace

std::string digest_json(const Digest& d) {
  json rows = json::array();
  for (const DigestRow& r : d.rows) {
    json metrics = json::object();
    for (const auto& [name, m] : r.metrics)
      metrics[name] = {
          {"values", m.values}, {"lower", m.lower}, {"upper", m.upper}, {"is_search", m.is_search}};
    rows.push_back({{"key", r.key},
                    {"title", {{"en", r.title.en}, {"ru", r.title.ru}}},
                    {"configuration", r.configuration},
                    {"metrics", metrics}});
  }
  const json object{{"schema", "merlon-lab-baseline"},
                    {"schema_version", kVersion},
                    {"id", d.id},
                    {"plan", d.plan},
                    {"title", {{"en", d.title.en}, {"ru", d.title.ru}}},
                    {"started", d.started},
                    {"noise", d.noise},
                    {"environment", d.environment},
                    {"rows", rows}};
  return object.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

base::Result<Digest> digest_from_json(std::string_view text_in) {
  try {
    const json object = json::parse(text_in);
    if (text(object, "schema", "baseline") != "merlon-lab-baseline")
      return bad(base::Errc::kInvalidValue, "this is no baseline of the laboratory");
    const json& version = member(object, "schema_version", "baseline");
    if (!version.is_number_integer() || version.get<std::int64_t>() != kVersion)
      return bad(base::Errc::kUnsupported,
                 fmt::format("baseline of another version; {} is known", kVersion));
    return read(object);
  } catch (const Bad& e) {
    return bad(base::Errc::kInvalidValue, e.what);
  } catch (const json::exception& e) {
    return bad(base::Errc::kInvalidValue, std::string("baseline can't be read: ") + e.what());
  }
}

}  // namespace merlon::lab::report
