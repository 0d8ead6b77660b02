// The ops of mutexes. MutexLock outputs a lock as a tensor value; the mutex is free again when the
// last copy of that value is released, so that a step that fails frees it too.
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

const leat_op_row_t leat_mutex_ops[] = {
    {.name = "MutexV2",
     .outputs = "resource: resource",
     .attrs = "container: string = ''; shared_name: string = ''",
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_scalar_output,
     .doc = "A handle to a mutex."},
    {.name = "MutexLock",
     .inputs = "mutex: resource",
     .outputs = "mutex_lock: variant",
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_scalar_output,
     .doc = "Locks a mutex; waits until it is free."},
    {.name = "ConsumeMutexLock",
     .inputs = "mutex_lock: variant",
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_none,
     .doc = "Sees that the lock is held here only, and ends it."},
    LEAT_OP_ROWS_END,
};
