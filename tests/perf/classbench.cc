// SPDX-License-Identifier: Apache-2.0
#include "classbench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "rig.h"

namespace merlon::perf {
namespace {

std::uint32_t address_of(const unsigned (&parts)[4]) {
  return parts[0] << 24 | parts[1] << 16 | parts[2] << 8 | parts[3];
}

bool read_line(const std::string& text, ClassLine& line) {
  unsigned s[4], d[4], mask = 0;
  if (std::sscanf(text.c_str(), "@%u.%u.%u.%u/%u %u.%u.%u.%u/%u %u : %u %u : %u %x/%x", &s[0],
                  &s[1], &s[2], &s[3], &line.source_bits, &d[0], &d[1], &d[2], &d[3],
                  &line.destination_bits, &line.source_low, &line.source_high, &line.low,
                  &line.high, &line.protocol, &mask) != 16)
    return false;
  line.source = address_of(s);
  line.destination = address_of(d);
  line.has_protocol = mask != 0;
  return true;
}

std::uint32_t last_of(std::uint32_t prefix, std::uint32_t bits) {
  return bits == 0 ? 0xffff'ffffU : prefix | static_cast<std::uint32_t>(0xffff'ffffULL >> bits);
}

}  // namespace

bool ClassLine::matches(const policy::Query& q) const {
  const auto in = [](const base::IpAddress& a, std::uint32_t prefix, std::uint32_t bits) {
    return bits == 0 || ((a.v4_value() ^ prefix) >> (32 - bits)) == 0;
  };
  if (!in(q.source, source, source_bits) || !in(q.destination, destination, destination_bits))
    return false;
  if (has_protocol && q.protocol != protocol) return false;
  return !has_ports() || (q.source_port >= source_low && q.source_port <= source_high &&
                          q.destination_port >= low && q.destination_port <= high);
}

std::string ClassSet::scan(const policy::Query& q) const {
  const auto line = std::ranges::find_if(lines, [&q](const ClassLine& l) { return l.matches(q); });
  return line == lines.end() ? "default" : fmt::format("r{}", line - lines.begin());
}

std::vector<std::filesystem::path> class_files(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(folder, none))
    if (entry.path().extension() == ".rules") files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

ClassSet read_class_set(const std::filesystem::path& path) {
  ClassSet set;
  std::ifstream in(path);
  std::string text;
  while (std::getline(in, text)) {
    ClassLine line;
    if (!read_line(text, line)) continue;
    set.model.rules.push_back(rule_of(line, set.lines.size()));
    set.lines.push_back(line);
  }
  if (set.lines.empty()) fail("no rules in " + path.string());
  return set;
}

policy::Rule rule_of(const ClassLine& line, std::size_t number) {
  policy::Rule r;
  r.id = fmt::format("r{}", number);
  r.action = policy::Action::kPermit;
  const auto prefix = [](std::uint32_t address, std::uint32_t bits) {
    return policy::Name{.text =
                            fmt::format("{}/{}", base::IpAddress::v4(address).to_string(), bits)};
  };
  r.sources.push_back(prefix(line.source, line.source_bits));
  r.destinations.push_back(prefix(line.destination, line.destination_bits));
  if (line.has_ports()) {
    r.services.push_back(
        {.text = fmt::format("{}/{}-{}:{}-{}", line.protocol == 6 ? "tcp" : "udp", line.source_low,
                             line.source_high, line.low, line.high)});
  } else if (line.has_protocol) {
    r.services.push_back({.text = fmt::format("proto/{}", line.protocol)});
  }
  return r;
}

policy::Query aim(const ClassLine& l, std::mt19937_64& random) {
  const auto inside = [&random](std::uint32_t prefix, std::uint32_t bits) {
    const std::uint64_t width = std::uint64_t{1} << (32 - bits);
    return base::IpAddress::v4(prefix + static_cast<std::uint32_t>(random() % width));
  };
  const auto between = [&random](unsigned low, unsigned high) {
    return static_cast<std::uint16_t>(low + random() % (high - low + 1));
  };
  policy::Query q;
  q.source = inside(l.source, l.source_bits);
  q.destination = random() % 10 == 0 ? inside(0, 0) : inside(l.destination, l.destination_bits);
  q.protocol = static_cast<std::uint8_t>(l.has_protocol ? l.protocol : 6);
  if (q.protocol != 6 && q.protocol != 17) return q;
  q.source_port = l.has_ports() ? between(l.source_low, l.source_high) : between(1024, 65'535);
  q.destination_port = l.has_ports() ? between(l.low, l.high) : between(0, 65'535);
  return q;
}

void add_corners(const ClassLine& l, std::vector<policy::Query>& queries) {
  policy::Query q;
  q.protocol = static_cast<std::uint8_t>(l.has_protocol ? l.protocol : 17);
  const bool has_ports = q.protocol == 6 || q.protocol == 17;
  const auto add = [&](std::uint32_t source, std::uint32_t destination, unsigned source_port,
                       unsigned port) {
    q.source = base::IpAddress::v4(source);
    q.destination = base::IpAddress::v4(destination);
    q.source_port = static_cast<std::uint16_t>(has_ports ? source_port : 0);
    q.destination_port = static_cast<std::uint16_t>(has_ports ? port : 0);
    queries.push_back(q);
  };
  const std::uint32_t source_last = last_of(l.source, l.source_bits);
  const std::uint32_t last = last_of(l.destination, l.destination_bits);
  add(l.source, l.destination, l.source_low, l.low);
  add(source_last, last, l.source_high, l.high);
  add(l.source, last, l.source_high, l.low);
  add(source_last, l.destination, l.source_low, l.high);
  add(l.source - 1, l.destination, l.source_low, l.low);
  add(source_last + 1, last, l.source_high, l.high);
  add(l.source, l.destination - 1, l.source_low, l.low);
  add(l.source, last + 1, l.source_high, l.high);
  add(l.source, l.destination, l.source_low - 1, l.high);
  add(source_last, last, l.source_high, l.high + 1);
}

}  // namespace merlon::perf
