// The ops whose resources lie between steps and are filled and emptied by calls that may have to
// wait (section 4.6): queues, barriers, accumulators of gradients, mutexes.
#include "ops/family.h"

#define LEAT_QUEUE_SOURCES(X) \
  X(queue_handle)             \
  X(queue_access)             \
  X(barrier)                  \
  X(accumulator)              \
  X(sparse_accumulator)       \
  X(mutex)

LEAT_OP_FAMILY(queue, LEAT_QUEUE_SOURCES)
