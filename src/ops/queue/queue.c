// Definitions of the ops of queues (section 4.6): those that make a queue, that put tuples into it
// and take tuples out of it, and that close it. Each exists in two forms, which differ in the type
// of the handle: the older one is a reference to two strings (the container and the name of the
// queue), the V2 form a resource handle. Mutexes stand here too, because taking one is a call that
// may have to wait, as an Enqueue is.
//
// MutexLock outputs a lock as a tensor value; the mutex is free again when the last copy of that
// value is released, so that a step that fails frees it too. The kernels are in queue_handle_cpu.c,
// queue_access_cpu.c and mutex_cpu.c; how a call waits, tuple_queue_cpu.c says.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

// ---- Making queues ------------------------------------------------------------------------------

#define QUEUE(op_name, queue_attrs, words)                                            \
  {.name = op_name,                                                                   \
   .outputs = "handle: Ref(string)",                                                  \
   .attrs = queue_attrs "; container: string = ''; shared_name: string = ''",         \
   .flags = LEAT_OP_STATEFUL,                                                         \
   .shape = leat_shape_two_strings,                                                   \
   .gradient = leat_gradient_none,                                                    \
   .doc = words},                                                                     \
  {                                                                                   \
    .name = op_name "V2", .outputs = "handle: resource",                              \
    .attrs = queue_attrs "; container: string = ''; shared_name: string = ''",        \
    .flags = LEAT_OP_STATEFUL, .shape = leat_shape_scalar_output,                     \
    .gradient = leat_gradient_none, .doc = words                                      \
  }

#define COMPONENTS \
  "component_types: list(type) >= 1; shapes: list(shape) >= 0 = []; capacity: int = -1"

// ---- Using queues -------------------------------------------------------------------------------

// Rejects a constant negative |n|; the shapes of the batches are not known.
static leat_status_t dequeue_many_shape(leat_inference_t* c) {
  const leat_tensor_t* n = leat_inference_input_tensor(c, 1);
  if (n && n->shape.rank == 0 && leat_tensor_index_at(n, 0) < 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Input 'n' must be >= 0, but is %lld",
                            (long long)leat_tensor_index_at(n, 0));
  }
  return leat_shape_unknown(c);
}

// The rows of an op and of its V2 form.
#define TWICE(op_name, more_inputs, op_outputs, op_attrs, old_shape, new_shape, words)     \
  {.name = op_name,                                                                        \
   .inputs = "handle: Ref(string)" more_inputs,                                            \
   .outputs = op_outputs,                                                                  \
   .attrs = op_attrs,                                                                      \
   .shape = old_shape,                                                                     \
   .gradient = leat_gradient_none,                                                         \
   .doc = words},                                                                          \
  {                                                                                        \
    .name = op_name "V2", .inputs = "handle: resource" more_inputs, .outputs = op_outputs, \
    .attrs = op_attrs, .flags = LEAT_OP_STATEFUL, .shape = new_shape,                      \
    .gradient = leat_gradient_none, .doc = words                                           \
  }

#define ENQUEUE(op_name, words)                                                                 \
  TWICE(op_name, "; components: Tcomponents", NULL,                                             \
        "Tcomponents: list(type) >= 1; timeout_ms: int = -1", leat_shape_none, leat_shape_none, \
        words)
#define DEQUEUE(op_name, more_inputs, new_shape, words)                                          \
  TWICE(op_name, more_inputs, "components: component_types",                                     \
        "component_types: list(type) >= 1; timeout_ms: int = -1", leat_shape_unknown, new_shape, \
        words)

const leat_op_row_t leat_queue_ops[] = {
    QUEUE("FIFOQueue", COMPONENTS, "A queue whose tuples come out as they came in."),
    QUEUE("RandomShuffleQueue",
          COMPONENTS "; min_after_dequeue: int = 0; seed: int = 0; seed2: int = 0",
          "A queue whose tuples come out in random order."),
    QUEUE("PaddingFIFOQueue", COMPONENTS,
          "A queue whose batches pad tuples of different sizes with zeros."),
    QUEUE("PriorityQueue",
          "component_types: list(type) >= 0 = []; shapes: list(shape) >= 0; capacity: int = -1",
          "A queue whose tuples come out by their first component, the smallest first."),
    {.name = "FakeQueue",
     .inputs = "resource: resource",
     .outputs = "handle: Ref(string)",
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_two_strings,
     .doc = "The older form of a queue's handle."},
    ENQUEUE("QueueEnqueue", "Puts a tuple in; waits while the queue is full."),
    ENQUEUE("QueueEnqueueMany", "Puts in the rows of batches; waits while the queue is full."),
    DEQUEUE("QueueDequeue", "", leat_shape_unknown, "Takes a tuple out when there is one."),
    DEQUEUE("QueueDequeueMany", "; n: int32", dequeue_many_shape,
            "Takes n tuples out, as batches."),
    DEQUEUE("QueueDequeueUpTo", "; n: int32", leat_shape_unknown,
            "Takes n tuples out, fewer when the queue is closed."),
    TWICE("QueueClose", "", NULL, "cancel_pending_enqueues: bool = false",
          leat_shape_of_two_strings, leat_shape_none,
          "From now on nothing can be put in; what is in may be taken out."),
    TWICE("QueueSize", "", "size: int32", NULL, leat_shape_of_two_strings, leat_shape_unchanged,
          "How many tuples there are now."),
    TWICE("QueueIsClosed", "", "is_closed: bool", NULL, leat_shape_scalar_output,
          leat_shape_scalar_output, "Whether the queue is closed."),
    // Mutexes.
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
