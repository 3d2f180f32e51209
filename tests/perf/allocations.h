// SPDX-License-Identifier: Apache-2.0
#pragma once
// Counts the allocations of the whole process: malloc and its relatives are replaced in this
// program, which also takes in operator new and the libraries. shared-atomic.
#include <cstdint>

namespace merlon::perf {

// Allocations, reallocations and releases by threads that are not exempt.
std::uint64_t allocation_count() noexcept;
// The calling thread's own don't count from now on.
void exempt_this_thread() noexcept;
// False under a sanitiser, which has its own malloc.
bool counts_allocations() noexcept;

}  // namespace merlon::perf
