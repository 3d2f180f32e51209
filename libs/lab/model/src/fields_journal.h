// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fields of the journal's own records; see fields_trial.h.
#include "fields.h"
#include "merlon/lab_model/journal.h"

namespace merlon::lab {

template <class V, Is<JournalDecision> T>
void describe(V& v, T& t) {
  v.object("decision", "why a search measured what it measured");
  v.field("row", t.row, "id");
  v.field("trial", t.trial, "id it led to; empty: the end of the search");
  v.field("load_pps", t.load_pps, "frames/s");
  v.field("duration_s", t.duration_s, "seconds");
  v.field("why", t.why, "in words");
}

struct RowStateRecord {
  std::string row;
  RowState state = RowState::kPending;
  Text reason;
};
template <class V, Is<RowStateRecord> T>
void describe(V& v, T& t) {
  v.object("row_state", "where a row stands");
  v.field("row", t.row, "id");
  v.field("state", t.state, "state");
  v.field("reason", t.reason, "why");
}

struct RowSetupRecord {
  std::string row;
  std::vector<std::string> commands, chain;
  std::string device_config;
};
template <class V, Is<RowSetupRecord> T>
void describe(V& v, T& t) {
  v.object("row_setup", "how a row's device was set up");
  v.field("row", t.row, "id");
  v.field("commands", t.commands, "that set the device up");
  v.field("chain", t.chain, "boxes and links from generator to sink, as drawn");
  v.field("device_config", t.device_config, "dump of the device's configuration");
}

struct EndRecord {
  double finished = 0;
  bool is_partial = false;
  Text reason;
};
template <class V, Is<EndRecord> T>
void describe(V& v, T& t) {
  v.object("end", "the run's end");
  v.field("finished", t.finished, "Unix time, seconds");
  v.field("is_partial", t.is_partial, "some rows did not run");
  v.field("reason", t.reason, "why");
}

struct ResumeRecord {
  double time = 0;
};
template <class V, Is<ResumeRecord> T>
void describe(V& v, T& t) {
  v.object("resume", "the run goes on after an interruption");
  v.field("time", t.time, "Unix time, seconds");
}

}  // namespace merlon::lab
