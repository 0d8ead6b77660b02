// Cross: the cross product of vectors of three.
#include "graph/inference.h"
#include "ops/family.h"
#include "ops/math/arithmetic.h"

static leat_status_t cross_shape(leat_inference_t* c) {
  leat_partial_shape_t a = leat_inference_input(c, 0), b = leat_inference_input(c, 1);
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, a, 1));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, b, 1));
  LEAT_RETURN_IF_ERROR(leat_inference_merge(c, a, b, &a));
  if (a.rank > 0) {
    int64_t three;
    LEAT_RETURN_IF_ERROR(leat_inference_merge_dim(a.dims[a.rank - 1], 3, &three));
  }
  leat_inference_set_output(c, 0, a);
  return leat_ok_status();
}

static leat_status_t cross_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t dz = leat_gradient_of_output(g, 0);
  leat_output_t du = leat_build_binary(b, "Cross", leat_gradient_input(g, 1), dz);
  leat_output_t dv = leat_build_binary(b, "Cross", dz, leat_gradient_input(g, 0));
  leat_gradient_set_input(g, 0, du);
  leat_gradient_set_input(g, 1, dv);
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
     .contract = {LEAT_RULE_SAME_SHAPE(0, 1), LEAT_RULE_RANK_AT_LEAST(0, 1)},
     .doc = "The cross products of the vectors of three along the last dimension."},
    LEAT_OP_ROWS_END,
};
