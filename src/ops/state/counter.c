// The ops CountUpTo and ResourceCountUpTo: each run gives the number that a variable holds and
// raises it by one, until the limit is reached.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

static leat_status_t count_shape(leat_inference_t* c) {
  leat_partial_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 0, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

static leat_status_t resource_count_shape(leat_inference_t* c) {
  int dtype;
  leat_partial_shape_t shape;
  if (leat_inference_input_handle(c, 0, &dtype, &shape)) {
    if (dtype != leat_node_attr_type(c->node, "T")) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Shape inference failed: T is %s, must be the variable's, %s",
                              leat_dtype_name(leat_node_attr_type(c->node, "T")),
                              leat_dtype_name(dtype));
    }
    LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, shape, 0, &shape));
  }
  leat_inference_set_output(c, 0, leat_partial_shape_scalar());
  return leat_ok_status();
}

const leat_op_row_t leat_counter_ops[] = {
    {.name = "CountUpTo",
     .inputs = "ref: Ref(T)",
     .outputs = "output: T",
     .attrs = "limit: int; T: {int32, int64}",
     .shape = count_shape,
     .gradient = leat_gradient_none,
     .doc = "The variable's value, which then grows by one; OUT_OF_RANGE at the limit."},
    {.name = "ResourceCountUpTo",
     .inputs = "resource: resource",
     .outputs = "output: T",
     .attrs = "limit: int; T: {int32, int64}",
     .flags = LEAT_OP_STATEFUL,
     .shape = resource_count_shape,
     .gradient = leat_gradient_none,
     .doc = "The variable's value, which then grows by one; OUT_OF_RANGE at the limit."},
    LEAT_OP_ROWS_END,
};
