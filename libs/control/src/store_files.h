// SPDX-License-Identifier: Apache-2.0
#pragma once
// Durable writes and the form of a revision file. control-only.
#include <functional>
#include <string>
#include <string_view>

#include "merlon/base/result.h"
#include "merlon/control/store.h"

namespace merlon::control {

// Called before each durable step; false abandons the operation.
using StepHook = std::function<bool(std::string_view step)>;

// Temporary file, fsync, rename, fsync of the folder. At any moment `path` holds the old or the new
// text.
base::Result<void> write_durably(const std::string& path, std::string_view text,
                                 const StepHook& on_step);
base::Result<void> remove_durably(const std::string& path, const StepHook& on_step);

[[nodiscard]] std::string encode_revision(const Revision& revision);
// The reason when the text is no whole revision: cut, changed, or of another form.
[[nodiscard]] base::Result<Revision> decode_revision(const std::string& text);
[[nodiscard]] std::string encode_state(const StoreState& state);
[[nodiscard]] base::Result<StoreState> decode_state(const std::string& text);

}  // namespace merlon::control
