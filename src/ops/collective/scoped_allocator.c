// The ops of scoped allocators. TensorFlow's optimizer adds them where several tensors are reduced
// by collectives, so that one collective reduces all of them:
//
//   _ScopedAllocator -> backing [n]           one array with room for all tensors
//   _ScopedAllocatorConcat (backing, inputs)  the array with each input at its place
//   _ScopedAllocatorSplit (array, inputs)     the tensors out of the array again
//
// In TensorFlow the nodes that compute the inputs write straight into the array, which the
// attributes sa_name and id find for them. Here they write to memory of their own and are copied;
// the values are the same.
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

static leat_status_t split_shape(leat_inference_t* c) {
  const leat_attr_value_t* shapes = leat_node_attr(c->node, LEAT_SV("shapes"));
  if (!shapes || (int)shapes->count != c->node->output_count) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "shapes has %d values, must have N, %d",
                            shapes ? (int)shapes->count : 0, c->node->output_count);
  }
  for (int i = 0; i < c->node->output_count; ++i) {
    leat_inference_set_output(c, i, shapes->shapes[i]);
  }
  return leat_ok_status();
}

#define OF "T: type; "
#define NAMED "sa_name: string; id: int"

const leat_op_row_t leat_scoped_allocator_ops[] = {
    {.name = "_ScopedAllocator",
     .outputs = "output: T",
     .attrs = "shapes: list(shape); shape: shape; " OF NAMED "; expected_call_count: int",
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_unknown,
     .doc = "An array with room for tensors of the given shapes."},
    {.name = "_ScopedAllocatorConcat",
     .inputs = "backing: T; inputs: N * T",
     .outputs = "output: T",
     .attrs = "shape: shape; " OF "reshape: bool = false; " NAMED "; N: int >= 2",
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_unknown,
     .doc = "The array of a _ScopedAllocator with the inputs at their places."},
    {.name = "_ScopedAllocatorSplit",
     .inputs = "concat: T; split: N * T",
     .outputs = "output: N * T",
     .attrs = OF NAMED "; N: int >= 2; shapes: list(shape)",
     .flags = LEAT_OP_STATEFUL,
     .shape = split_shape,
     .doc = "The tensors of the given shapes at their places in the array."},
    LEAT_OP_ROWS_END,
};
