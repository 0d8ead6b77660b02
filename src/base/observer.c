// The one process-wide table of hooks.
#include "base/observer.h"

_Atomic(const leat_observer_t*) leat_observer_current = NULL;

void leat_observer_install(const leat_observer_t* observer) {
  atomic_store_explicit(&leat_observer_current, observer, memory_order_release);
}
