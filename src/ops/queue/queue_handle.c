// The ops that make queues, each in two forms: the older one outputs a reference to two strings
// (the container and the name of the queue), the V2 form a resource handle.
#include "graph/gradient.h"
#include "graph/inference/handle_shape.h"
#include "ops/op_rows.h"

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

const leat_op_row_t leat_queue_handle_ops[] = {
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
    LEAT_OP_ROWS_END,
};
