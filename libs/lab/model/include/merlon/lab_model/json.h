// SPDX-License-Identifier: Apache-2.0
#pragma once
// result.json: a Run as text and back. One declaration per field (src/fields.h) yields writer,
// reader and JSON Schema (docs/reference/lab-result.schema.json), so that the three can't differ.
// Files are untrusted: comparisons read files of strangers. Immutable functions, control-only; cost
// linear in the text.
//
// Versions. `schema_version` must be Run::kSchemaVersion. `schema_minor` counts additions: a file
// of our minor or an older one must have exactly the fields that its minor knows (an unknown one is
// a misspelling or damage, and an error); in a file of a newer minor unknown fields are passed
// over, unknown words of enumerations are still errors. Numbers. A figure that is not finite is
// written as null and read as NaN, never as 0: an unknown loss must not look like no loss. Counts
// are whole numbers up to 2^64-1 (seeds need them all). Text. Bytes that are not UTF-8 (output of
// devices) become U+FFFD when written.
#include <cstddef>
#include <string>
#include <string_view>

#include "merlon/base/result.h"
#include "merlon/lab_model/run.h"

namespace merlon::lab {

inline constexpr int kSchemaMinor = 1;

struct ReadLimits {
  std::size_t text_size = std::size_t{256}
                          << 20;  // bytes; a parsed text takes about ten times its size
  std::size_t text_depth = 32;    // nested objects and arrays
};

// The whole run; one row, trial and finding per line, so that line tools and diffs work on it.
std::string to_json(const Run& run);

// Errors: kInvalidValue with Error::path such as "trials[3].frames.lost" and, where the text is no
// JSON at all, Error::where; kUnknownKey, kDuplicate; kUnsupported for another schema or version;
// kCapacity.
base::Result<Run> run_from_json(std::string_view text, const ReadLimits& limits = {});

// Written beside and renamed, so that a reader never meets half a file. kIo.
base::Result<void> write_run(const std::string& path, const Run& run);
base::Result<Run> read_run(const std::string& path, const ReadLimits& limits = {});

// The JSON Schema (2020-12) of what to_json() writes.
std::string result_schema();

// Words that stand for enumerators in files, command lines and reports: "clean", "tester_limited",
// ...
std::string_view word(Stamp value) noexcept;
std::string_view word(RowState value) noexcept;
std::string_view word(Variation value) noexcept;
std::string_view word(Pacing value) noexcept;
std::string_view word(AttackKind value) noexcept;

}  // namespace merlon::lab
