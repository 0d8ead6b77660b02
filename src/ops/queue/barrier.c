// The ops of barriers. A barrier collects the components of tuples by key; complete tuples can be
// taken in the order in which their keys came. Sparse, asynchronous producers that each make one
// component are joined by it. The kernels are in barrier_cpu.c.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

static leat_status_t insert_shape(leat_inference_t* c) {
  leat_partial_shape_t keys, values = leat_inference_input(c, 2);
  int64_t rows;
  LEAT_RETURN_IF_ERROR(leat_shape_check_two_strings(c, 0));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 1, &keys));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, values, 1));
  return leat_inference_merge_dim(leat_partial_shape_dim(keys, 0),
                                  leat_partial_shape_dim(values, 0), &rows);
}

const leat_op_row_t leat_barrier_ops[] = {
    {.name = "Barrier",
     .outputs = "handle: Ref(string)",
     .attrs = "component_types: list(type) >= 1; shapes: list(shape) >= 0 = []; "
              "capacity: int = -1; container: string = ''; shared_name: string = ''",
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_two_strings,
     .gradient = leat_gradient_none,
     .doc = "A barrier: tuples by key, handed out when all their components are there."},
    {.name = "BarrierInsertMany",
     .inputs = "handle: Ref(string); keys: string; values: T",
     .attrs = "T: type; component_index: int",
     .shape = insert_shape,
     .gradient = leat_gradient_none,
     .doc = "Gives a component of the tuples of some keys."},
    {.name = "BarrierTakeMany",
     .inputs = "handle: Ref(string); num_elements: int32",
     .outputs = "indices: int64; keys: string; values: component_types",
     .attrs = "component_types: list(type) >= 1; allow_small_batch: bool = false; "
              "wait_for_incomplete: bool = false; timeout_ms: int = -1",
     .shape = leat_shape_unknown,
     .gradient = leat_gradient_none,
     .doc = "Takes complete tuples, as batches; waits for them."},
    {.name = "BarrierClose",
     .inputs = "handle: Ref(string)",
     .attrs = "cancel_pending_enqueues: bool = false",
     .shape = leat_shape_of_two_strings,
     .gradient = leat_gradient_none,
     .doc = "From now on there are no new keys."},
    {.name = "BarrierReadySize",
     .inputs = "handle: Ref(string)",
     .outputs = "size: int32",
     .shape = leat_shape_of_two_strings,
     .gradient = leat_gradient_none,
     .doc = "How many tuples are complete."},
    {.name = "BarrierIncompleteSize",
     .inputs = "handle: Ref(string)",
     .outputs = "size: int32",
     .shape = leat_shape_of_two_strings,
     .gradient = leat_gradient_none,
     .doc = "How many tuples lack a component."},
    LEAT_OP_ROWS_END,
};
