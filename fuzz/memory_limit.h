// The limit of a fuzz target's memory. Allocations above it are refused by an observer, so that a
// size which lies is an error of the code under test and not the end of the fuzzer.
#ifndef LEAT_FUZZ_MEMORY_LIMIT_H_
#define LEAT_FUZZ_MEMORY_LIMIT_H_

#include "base/observer.h"

static size_t memory_limit_bytes;  // of one allocation

static leat_status_t memory_limit_check(void* data, size_t size_bytes) {
  (void)data;
  if (size_bytes <= memory_limit_bytes) return leat_ok_status();
  return leat_make_status(LEAT_RESOURCE_EXHAUSTED, "The fuzz target's limit is %zu bytes",
                          memory_limit_bytes);
}

// Limits each allocation from now on; a second call has no other effect.
static inline void memory_limit_install(size_t most_bytes) {
  static const leat_observer_t kObserver = {.on_allocation = memory_limit_check};
  memory_limit_bytes = most_bytes;
  leat_observer_install(&kObserver);
}

#endif  // LEAT_FUZZ_MEMORY_LIMIT_H_
