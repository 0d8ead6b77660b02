// Hooks at every queue, allocation, file call and message. Off (one relaxed load) until somebody
// installs a table: tracing does, and fault injection in tests. Installing is for tests and tools:
// it is process-wide and must not race with use.
#ifndef LEAT_BASE_OBSERVER_H_
#define LEAT_BASE_OBSERVER_H_

#include <stdatomic.h>
#include <stddef.h>

#include "base/status.h"

typedef struct leat_observer_s {
  void* data;
  // A non-OK result makes the operation fail with it. Each may be NULL.
  leat_status_t (*on_allocation)(void* data, size_t size_bytes);
  leat_status_t (*on_file)(void* data, const char* call, const char* path);
  leat_status_t (*on_message)(void* data, const char* kind, size_t size_bytes);
  void (*on_queue)(void* data, const char* queue, int depth);
} leat_observer_t;

extern _Atomic(const leat_observer_t*) leat_observer_current;

static inline const leat_observer_t* leat_observer_get(void) {
  return atomic_load_explicit(&leat_observer_current, memory_order_acquire);
}
// NULL removes. |observer| must outlive its use.
void leat_observer_install(const leat_observer_t* observer);

#endif  // LEAT_BASE_OBSERVER_H_
