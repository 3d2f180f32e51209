// SPDX-License-Identifier: Apache-2.0
// Results and journals are files of strangers. What is read must be written and read again to the
// same text, also what a resume would go on from. The first byte chooses: 'j' a journal, else a
// result.
#include <cstdint>
#include <string_view>

#include "merlon/base/check.h"
#include "merlon/lab_model/journal.h"
#include "merlon/lab_model/json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace merlon::lab;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  const bool is_journal = text.starts_with('j');
  if (is_journal) text.remove_prefix(1);
  Run run;
  if (is_journal) {
    auto journal = journal_from_text(text);
    if (!journal) {
      MERLON_CHECK(!journal.error().message.empty());
      return 0;
    }
    MERLON_CHECK(journal->size <= text.size());
    const auto again = journal_from_text(text.substr(0, journal->size));
    MERLON_CHECK(again.ok() && again->notes.empty() &&
                 again->record_count == journal->record_count);
    run = std::move(journal->run);
  } else {
    auto read = run_from_json(text);
    if (!read) {
      MERLON_CHECK(!read.error().message.empty());
      return 0;
    }
    run = *std::move(read);
  }
  const std::string once = to_json(run);
  const auto back = run_from_json(once);
  MERLON_CHECK(back.ok());
  MERLON_CHECK(to_json(*back) == once);
  return 0;
}
