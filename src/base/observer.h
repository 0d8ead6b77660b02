// Hooks at every queue, allocation, file call and message of the process. They are off, at the
// price of one load, until somebody installs a table; fault injection in tests does (base/fault.h).
// There is one table, and installing another replaces it.
//
// Installing is for tests and tools: it is process-wide and must not race with use. The hooks are
// called on whichever thread does the work, on several at once, and must not call back into the
// library.
#ifndef LEAT_BASE_OBSERVER_H_
#define LEAT_BASE_OBSERVER_H_

#include <stdatomic.h>
#include <stddef.h>

#include "base/status.h"

typedef struct leat_observer_s {
  void* data;
  // A result that is not OK makes the operation fail with it. Each hook may be NULL. Allocations
  // are those of the system's allocator (base/allocator.h) and of tensors' buffers.
  leat_status_t (*on_allocation)(void* data, size_t size_bytes);
  // |call| is "open", "write" and so on; both texts are borrowed for the call.
  leat_status_t (*on_file)(void* data, const char* call, const char* path);
  // Before a message goes to another task; |size_bytes| is that of its encoding.
  leat_status_t (*on_message)(void* data, const char* kind, size_t size_bytes);
  // After a task was queued; |depth| tasks wait then.
  void (*on_queue)(void* data, const char* queue, int depth);
} leat_observer_t;

extern _Atomic(const leat_observer_t*) leat_observer_current;

// NULL when none is installed, the usual case, for which callers are laid out.
static inline const leat_observer_t* leat_observer_get(void) {
  return atomic_load_explicit(&leat_observer_current, memory_order_acquire);
}
// NULL removes. |observer| must outlive its use.
void leat_observer_install(const leat_observer_t* observer);

#endif  // LEAT_BASE_OBSERVER_H_
