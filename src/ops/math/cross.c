// The op Cross: the cross product of vectors of three numbers along the last dimension; a and b
// have one shape [..., 3], which is the output's too.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

static leat_status_t cross_shape(leat_inference_t* c) {
  leat_partial_shape_t a = leat_inference_input(c, 0), b = leat_inference_input(c, 1), both;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, a, 1));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, b, 1));
  LEAT_RETURN_IF_ERROR(leat_inference_merge(c, a, b, &both));
  if (both.rank > 0) {
    int64_t three;
    LEAT_RETURN_IF_ERROR(leat_inference_dim_with_value(both.dims[both.rank - 1], 3, &three));
  }
  leat_inference_set_output(c, 0, both);
  return leat_ok_status();
}

// d(a x b) = da x b + a x db, so that dC/da = b x g and dC/db = g x a.
static leat_status_t cross_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t grad = leat_gradient_of_output(g, 0);
  leat_output_t left = leat_gradient_input(g, 0), right = leat_gradient_input(g, 1);
  leat_gradient_set_input(g, 0, leat_build_binary(b, "Cross", right, grad));
  leat_gradient_set_input(g, 1, leat_build_binary(b, "Cross", grad, left));
  return leat_ok_status();
}

const leat_op_row_t leat_cross_ops[] = {
    {.name = "Cross",
     .inputs = "a: T; b: T",
     .outputs = "product: T",
     .attrs = "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, "
              "uint32, uint64}",
     .shape = cross_shape,
     .gradient = cross_gradient,
     .contract = LEAT_RULES(LEAT_RULE_SAME_SHAPE(0, 1), LEAT_RULE_RANK_AT_LEAST(0, 1)),
     .doc = "The cross products of vectors of three numbers."},
    LEAT_OP_ROWS_END,
};
