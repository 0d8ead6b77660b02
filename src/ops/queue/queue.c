// What carries tensors from step to step or through a step (sections 4.6 and 4.7): queues,
// barriers, stages, accumulators, mutexes, stacks, arrays, lists and boxes of tensors.
#include "ops/family.h"

#define LEAT_QUEUE_SOURCES(X) \
  X(queue_handle)             \
  X(queue_access)             \
  X(barrier)                  \
  X(stage)                    \
  X(map_stage)                \
  X(accumulator)              \
  X(sparse_accumulator)       \
  X(mutex)                    \
  X(optional)                 \
  X(stack)                    \
  X(tensor_array)             \
  X(tensor_array_batch)       \
  X(tensor_list)              \
  X(tensor_list_batch)        \
  X(tensor_map)

LEAT_OP_FAMILY(queue, LEAT_QUEUE_SOURCES)
