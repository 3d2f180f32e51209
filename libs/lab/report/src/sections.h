// SPDX-License-Identifier: Apache-2.0
#pragma once
// The report's sections in their order. Each appends nothing, or a whole <section>. control-only.
#include <string>

#include "values.h"

namespace merlon::lab::report {

void append_verdict(const RunIndex& index, std::string& out);
void append_paired(const RunIndex& index, std::string& out);
void append_environment(const RunIndex& index, std::string& out);
void append_topologies(const RunIndex& index, std::string& out);
void append_charts(const RunIndex& index, std::string& out);
void append_rule_costs(const RunIndex& index, std::string& out);
void append_trials(const RunIndex& index, std::string& out);
void append_configurations(const RunIndex& index, std::string& out);
void append_standards(const RunIndex& index, std::string& out);

// What the script shows when a point is opened: rows and trials as JSON, texts that repeat held
// once.
std::string detail_json(const RunIndex& index);

void open_section(std::string_view id, const Text& title, std::string& out);
void close_section(std::string& out);
// A link to a row's details; its title where it has one.
std::string row_link(const Row& row);
// A search's result with its bounds, and "irregular" where it is.
std::string goal_text(const GoalResult& result);
std::string badge(std::string_view css, const Text& text);
std::string irregular_badge();
std::string state_badge(RowState state);
std::string stamp_badge(Stamp stamp);
std::string verdict_badge(Verdict verdict);

}  // namespace merlon::lab::report
