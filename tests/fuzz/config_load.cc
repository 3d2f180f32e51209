// SPDX-License-Identifier: Apache-2.0
// Configuration text from anywhere: the loader answers with a configuration or with errors whose
// places are in the text; the printer, the JSON form and the diff with itself hold for both.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "merlon/control/config_diff.h"
#include "merlon/control/config_load.h"
#include "merlon/control/config_print.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace merlon;
  const std::string text(reinterpret_cast<const char*>(data), size);
  // A line "%%" splits the input into two files.
  const std::size_t cut = text.find("\n%%\n");
  control::Bundle bundle = control::Bundle::of(text.substr(0, cut), "a.yaml");
  if (cut != std::string::npos) bundle.files.push_back({"b.yaml", text.substr(cut + 4)});
  const control::LoadResult result = control::load_bundle(bundle);
  if (result.config.has_value() == !result.errors.empty()) std::abort();
  for (const base::Error& e : result.errors)
    if (e.where.has_place() && e.where.end_column <= e.where.column) std::abort();
  static_cast<void>(control::format_findings(result.errors, result.warnings, result.bundle));
  static_cast<void>(control::findings_to_json(result.errors, result.warnings));
  if (result.config) {
    if (!control::diff(*result.config, *result.config).empty()) std::abort();
    const std::string canonical = control::canonical_text(*result.config);
    const control::LoadResult again =
        control::load_bundle(control::Bundle::of(canonical, "a.yaml"));
    if (!again.config || !control::diff(*result.config, *again.config).empty()) std::abort();
  }
  return 0;
}
