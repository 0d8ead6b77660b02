// The ops that put tuples into queues and take tuples out of them. Each op exists in two forms,
// which differ in the type of the handle: a reference to two strings, or (V2) a resource handle.
#include "graph/gradient.h"
#include "graph/inference/handle_shape.h"
#include "ops/op_rows.h"

// Rejects a constant negative |n|; the shapes of the batches are not known.
static leat_status_t dequeue_many_shape(leat_inference_t* c) {
  const leat_tensor_t* n = leat_inference_input_tensor(c, 1);
  if (n && n->shape.rank == 0 && leat_tensor_index_at(n, 0) < 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Input 'n' must be >= 0, but is %lld",
                            (long long)leat_tensor_index_at(n, 0));
  }
  return leat_shape_unknown(c);
}

// The rows of an op and of its V2 form. |escaping| has a bit for each input that the kernel keeps
// beyond its call.
#define TWICE(op_name, more_inputs, op_outputs, op_attrs, old_shape, new_shape, escaping, words) \
  {.name = op_name,                                                                              \
   .inputs = "handle: Ref(string)" more_inputs,                                                  \
   .outputs = op_outputs,                                                                        \
   .attrs = op_attrs,                                                                            \
   .escaping_inputs = escaping,                                                                  \
   .shape = old_shape,                                                                           \
   .gradient = leat_gradient_none,                                                               \
   .doc = words},                                                                                \
  {                                                                                              \
    .name = op_name "V2", .inputs = "handle: resource" more_inputs, .outputs = op_outputs,       \
    .attrs = op_attrs, .flags = LEAT_OP_STATEFUL, .escaping_inputs = escaping,                   \
    .shape = new_shape, .gradient = leat_gradient_none, .doc = words                             \
  }

#define ENQUEUE(op_name, words)                                                              \
  TWICE(op_name, "; components: Tcomponents", NULL,                                          \
        "Tcomponents: list(type) >= 1; timeout_ms: int = -1", leat_shape_none,               \
        leat_shape_none, ~UINT64_C(1), words)
#define DEQUEUE(op_name, more_inputs, new_shape, words)                                      \
  TWICE(op_name, more_inputs, "components: component_types",                                 \
        "component_types: list(type) >= 1; timeout_ms: int = -1", leat_shape_unknown,        \
        new_shape, 0, words)

const leat_op_row_t leat_queue_access_ops[] = {
    ENQUEUE("QueueEnqueue", "Puts a tuple in; waits while the queue is full."),
    ENQUEUE("QueueEnqueueMany", "Puts in the rows of batches; waits while the queue is full."),
    DEQUEUE("QueueDequeue", "", leat_shape_unknown, "Takes a tuple out when there is one."),
    DEQUEUE("QueueDequeueMany", "; n: int32", dequeue_many_shape,
            "Takes n tuples out, as batches."),
    DEQUEUE("QueueDequeueUpTo", "; n: int32", leat_shape_unknown,
            "Takes n tuples out, fewer when the queue is closed."),
    TWICE("QueueClose", "", NULL, "cancel_pending_enqueues: bool = false",
          leat_shape_of_two_strings, leat_shape_none, 0,
          "From now on nothing can be put in; what is in may be taken out."),
    TWICE("QueueSize", "", "size: int32", NULL, leat_shape_of_two_strings, leat_shape_unchanged, 0,
          "How many tuples there are now."),
    TWICE("QueueIsClosed", "", "is_closed: bool", NULL, leat_shape_scalar_output,
          leat_shape_scalar_output, 0, "Whether the queue is closed."),
    LEAT_OP_ROWS_END,
};
