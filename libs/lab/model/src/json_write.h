// SPDX-License-Identifier: Apache-2.0
#pragma once
// Values to JSON by their declared fields, members in the declared order.
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>
#include <vector>

#include "fields.h"
#include "words.h"

namespace merlon::lab {

using Json = nlohmann::ordered_json;

template <class T>
Json written(const T& value);

class FieldWriter {
 public:
  void object(const char*, const char*) {}
  template <class T>
  void field(const char* name, const T& value, const char*) {
    json_[name] = written(value);
  }
  template <class T>
  void field_since(int, const char* name, const T& value, const char* help) {
    field(name, value, help);
  }
  Json take() { return std::move(json_); }

 private:
  Json json_ = Json::object();
};

inline Json written_histogram(const Histogram& histogram) {
  Json buckets = Json::array();
  for (const auto& [value, count] : histogram.buckets())
    buckets.push_back(Json::array({value, count}));
  Json json = Json::object();
  json["minimum"] = histogram.minimum();
  json["maximum"] = histogram.maximum();
  json["buckets"] = std::move(buckets);
  return json;
}

template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};
template <class T>
struct IsMap : std::false_type {};
template <class T>
struct IsMap<std::map<std::string, T>> : std::true_type {};

template <class T>
Json written(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return std::string(kWords<T>[static_cast<std::size_t>(value)]);
  } else if constexpr (std::is_floating_point_v<T>) {
    return std::isfinite(value) ? Json(value) : Json(nullptr);
  } else if constexpr (std::is_same_v<T, Histogram>) {
    return written_histogram(value);
  } else if constexpr (IsVector<T>::value) {
    Json array = Json::array();
    for (const auto& element : value) array.push_back(written(element));
    return array;
  } else if constexpr (IsMap<T>::value) {
    Json object = Json::object();
    for (const auto& [key, element] : value) object[key] = written(element);
    return object;
  } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
    return value;
  } else {
    FieldWriter writer;
    describe(writer, value);
    return writer.take();
  }
}

// One line of text without its end.
inline std::string line_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace merlon::lab
