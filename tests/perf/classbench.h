// SPDX-License-Identifier: Apache-2.0
#pragma once
// ClassBench sets (Taylor and Turner, 2007) as policies, and an oracle for them: a linear scan that
// shares no code with the classifier, reading addresses and ports from the file's text by itself.
// control-only.
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "merlon/policy/compile.h"

namespace merlon::perf {

// A line of a set: @source destination low : high low : high protocol/mask flags/mask. TCP flags
// are not looked at.
struct ClassLine {
  std::uint32_t source = 0, source_bits = 0, destination = 0, destination_bits = 0;
  unsigned source_low = 0, source_high = 0, low = 0, high = 0, protocol = 0;
  bool has_protocol = false;

  [[nodiscard]] bool has_ports() const { return has_protocol && (protocol == 6 || protocol == 17); }
  [[nodiscard]] bool matches(const policy::Query& q) const;
};

struct ClassSet {
  std::vector<ClassLine> lines;
  policy::PolicyModel model;  // one rule per line: r0, r1, ...

  // The id of the first line that matches, "default" when none does.
  [[nodiscard]] std::string scan(const policy::Query& q) const;
};

// *.rules in the folder, sorted; empty when there are none.
std::vector<std::filesystem::path> class_files(const std::string& folder);
// Ends the program when the file holds no rules.
ClassSet read_class_set(const std::filesystem::path& path);
policy::Rule rule_of(const ClassLine& line, std::size_t number);

// A packet into a rule; one of ten has a random destination instead.
policy::Query aim(const ClassLine& line, std::mt19937_64& random);
// The corners of a rule's box, and the packets just beyond them.
void add_corners(const ClassLine& line, std::vector<policy::Query>& queries);

}  // namespace merlon::perf
