// Definitions of StringJoin and ReduceJoin, which make one string of several.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/math/reduction.h"
#include "ops/op_rows.h"

// Inputs that are not scalars have one shape, which is the output's; scalars count for every
// element.
static leat_status_t join_shape(leat_inference_t* c) {
  leat_partial_shape_t shape = leat_partial_shape_unknown();
  bool all_scalar = true;
  for (int i = 0; i < leat_inference_input_count(c); ++i) {
    leat_partial_shape_t input = leat_inference_input(c, i);
    if (input.rank != 0) all_scalar = false;
    if (input.rank > 0) LEAT_RETURN_IF_ERROR(leat_inference_merge(c, shape, input, &shape));
  }
  leat_inference_set_output(c, 0, all_scalar ? leat_partial_shape_scalar() : shape);
  return leat_ok_status();
}

const leat_op_row_t leat_join_ops[] = {
    {.name = "StringJoin",
     .inputs = "inputs: N * string",
     .outputs = "output: string",
     .attrs = "N: int >= 0; separator: string = ''",
     .shape = join_shape,
     .gradient = leat_gradient_none,
     .doc = "Joins strings element by element, with a separator between."},
    {.name = "ReduceJoin",
     .inputs = "inputs: string; reduction_indices: int32",
     .outputs = "output: string",
     .attrs = "keep_dims: bool = false; separator: string = ''",
     .shape = leat_reduction_infer,
     .gradient = leat_gradient_none,
     .doc = "Joins the strings along dimensions, of which the first named runs fastest."},
    LEAT_OP_ROWS_END,
};
