// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the commands do; the table in commands.cc points here.
#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

#include "command.h"
#include "merlon/client/table.h"

namespace merlon::cli {

int run_daemon(const Invocation& call);  // run, replay, check: becomes merlond
int run_lab(const Invocation& call);     // lab ...: becomes merlon-lab
int show_list(const Invocation& call);   // ports, workers, policy, pools
int show_sessions(const Invocation& call);
int show_drops(const Invocation& call);
int show_config(const Invocation& call);
int show_status(const Invocation& call);
int clear_sessions(const Invocation& call);
int explain(const Invocation& call);
int watch(const Invocation& call);
int config_check(const Invocation& call);
int config_diff(const Invocation& call);
int config_commit(const Invocation& call);
int config_confirm(const Invocation& call);
int config_rollback(const Invocation& call);
int config_history(const Invocation& call);
int config_edit(const Invocation& call);
int config_explain(const Invocation& call);  // becomes merlond
int completion(const Invocation& call);
int complete_words(const Invocation& call);
int print_reference(const Invocation& call);
int print_version(const Invocation& call);
int print_help(const Invocation& call);

// The main file and what it includes, under the names that the loader looks them up with.
struct CandidateFile {
  std::string name, text;
};
base::Result<std::vector<CandidateFile>> read_candidate(const std::string& path);
// File names in the top-level `include:` of a YAML text.
std::vector<std::string> included_files(std::string_view yaml);

// Answers of the configuration routes for a person.
std::string diff_text(const nlohmann::json& answer);
std::string commit_text(const nlohmann::json& answer);

// What `watch` shows of one moment, `width` columns wide.
struct WatchPicture {
  nlohmann::json* status;
  client::Table ports, workers, policy, drops, pools;
};
std::string watch_text(const WatchPicture& picture, unsigned tab, unsigned width, unsigned height,
                       bool has_color);

}  // namespace merlon::cli
