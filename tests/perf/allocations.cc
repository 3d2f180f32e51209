// SPDX-License-Identifier: Apache-2.0
#include "allocations.h"

#include <malloc.h>

#include <atomic>
#include <cerrno>
#include <cstddef>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define MERLON_COUNTS_ALLOCATIONS 0
#else
#define MERLON_COUNTS_ALLOCATIONS 1
#endif

namespace merlon::perf {
namespace {

std::atomic<std::uint64_t> g_count{0};
// In the executable's own thread-local block: reading it allocates nothing.
thread_local bool t_is_exempt = false;

}  // namespace

std::uint64_t allocation_count() noexcept { return g_count.load(std::memory_order_relaxed); }
void exempt_this_thread() noexcept { t_is_exempt = true; }
bool counts_allocations() noexcept { return MERLON_COUNTS_ALLOCATIONS != 0; }

}  // namespace merlon::perf

#if MERLON_COUNTS_ALLOCATIONS
namespace {
void count() noexcept {
  if (!merlon::perf::t_is_exempt) merlon::perf::g_count.fetch_add(1, std::memory_order_relaxed);
}
}  // namespace

// glibc's own entry points under their other names.
extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* old, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
void __libc_free(void* memory);

void* malloc(std::size_t size) {
  count();
  return __libc_malloc(size);
}
void* calloc(std::size_t n, std::size_t size) {
  count();
  return __libc_calloc(n, size);
}
void* realloc(void* old, std::size_t size) {
  count();
  return __libc_realloc(old, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  count();
  return __libc_memalign(alignment, size);
}
void* memalign(std::size_t alignment, std::size_t size) {
  count();
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** out, std::size_t alignment, std::size_t size) {
  count();
  *out = __libc_memalign(alignment, size);
  return *out == nullptr ? ENOMEM : 0;
}
void free(void* memory) {
  if (memory != nullptr) count();
  __libc_free(memory);
}
}
#endif
