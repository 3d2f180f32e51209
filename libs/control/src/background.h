// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where threads that are no workers run. Each call is for the calling thread and those that it
// starts later on.
#include <span>

namespace merlon::control {

// Leaves the processors that belong to workers to them, as long as any other is allowed.
void leave_cores(std::span<const unsigned> worker_cores) noexcept;

// Compiling takes long: on a processor that it shares with a worker, the worker gets nine tenths.
void yield_to_workers() noexcept;

}  // namespace merlon::control
