// SPDX-License-Identifier: Apache-2.0
#pragma once
// What comparisons need of a run, and what a baseline keeps. control-only values.
#include <map>
#include <string>
#include <vector>

#include "merlon/base/result.h"
#include "merlon/lab_model/run.h"

namespace merlon::lab::report {

struct DigestMetric {
  std::vector<double> values;   // of the trials that speak for the row
  double lower = 0, upper = 0;  // bounds of a search; 0: none
  bool is_search = false;
};

struct DigestRow {
  std::string key;
  Text title;
  std::string configuration;  // hash of the device's dump without names and numbers of the run
  std::map<std::string, DigestMetric> metrics;
};

struct Digest {
  std::string id, plan;
  Text title;
  double started = 0, noise = 0;
  // In words; "kernel", "cpu", "machine", "cores", "version merlon", "mitigation meltdown", ...
  std::map<std::string, std::string> environment;
  std::vector<DigestRow> rows;
};

Digest digest(const Run& run);
std::string digest_json(const Digest& digest);
// Strict: kUnsupported for another version, kInvalidValue with the place otherwise.
base::Result<Digest> digest_from_json(std::string_view text);

// "nftables|linear|path1|host|rules=4000|..."; rows of equal keys measure the same.
std::string row_key(const Row& row);
// A dump without what differs between two runs of the same set-up: the run's id, numbers of
// interfaces and counters, addresses of hardware.
std::string normalised_dump(const std::string& dump, const std::string& run_id);

}  // namespace merlon::lab::report
