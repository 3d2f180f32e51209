// SPDX-License-Identifier: Apache-2.0
#pragma once
// Numbered revisions in the state directory. Crash-safe: every step is a temporary file, fsync,
// rename, fsync of the directory, so a kill at any moment leaves the old or the new state.
// control-only, one process per directory (held by a lock file).
//
//   revisions/00000042.rev   one line of JSON (info, sizes, SHA-256), then the texts
//   state.json               current revision, revision that waits for confirmation, hash of the
//   start file
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "merlon/base/result.h"
#include "merlon/base/time.h"
#include "merlon/control/config_source.h"

namespace merlon::control {

struct RevisionInfo {
  std::uint64_t number = 0;
  base::Nanos time = 0;
  std::string author, comment;
  // start | committed | awaiting confirmation | confirmed | rolled back: timer | rolled back:
  // operator | rolled back: restart | fallback
  std::string reason;
  std::uint64_t content_of = 0;  // the revision whose content this one brings back; 0: its own
  std::string hash;              // of the bundle
};

struct Revision {
  RevisionInfo info;
  Bundle bundle;
};

// A commit that is undone unless it is confirmed.
struct PendingConfirm {
  std::uint64_t revision = 0, previous = 0;
  base::Nanos deadline = 0;
};

struct StoreState {
  std::uint64_t current = 0;  // 0: none yet
  std::optional<PendingConfirm> pending;
  std::string start_hash;  // of the start file when it was last taken over
};

struct StoreOptions {
  std::size_t keep =
      50;  // newest revisions kept; the current and the one before a pending one always are
  // For tests: called before each durable step with its name; returning false abandons the
  // operation as a kill would.
  std::function<bool(std::string_view step)> on_step;
};

class Store {
 public:
  // Creates the directory (mode 0750) when missing. kConflict when another process holds it.
  static base::Result<std::unique_ptr<Store>> open(const std::string& directory,
                                                   StoreOptions options = {});
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  [[nodiscard]] const StoreState& state() const noexcept;
  // Newest first; damaged revisions are not in it.
  [[nodiscard]] std::vector<RevisionInfo> history() const;
  // What was found broken at open and left out: one entry per file, with its reason.
  [[nodiscard]] const base::Errors& damage() const noexcept;

  // The number that add() gives next.
  [[nodiscard]] std::uint64_t next_number() const noexcept;
  // Writes a revision under the next number; it is not current until set_state() names it.
  base::Result<std::uint64_t> add(RevisionInfo info, const Bundle& bundle);
  base::Result<void> set_state(const StoreState& state);
  // Rewrites the reason of a revision.
  base::Result<void> set_reason(std::uint64_t number, std::string reason);
  // Takes back a revision that never became current.
  base::Result<void> remove(std::uint64_t number);
  // kNotFound, or kIo when the file was damaged since open.
  [[nodiscard]] base::Result<Revision> read(std::uint64_t number) const;

 private:
  struct Impl;
  explicit Store(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace merlon::control
