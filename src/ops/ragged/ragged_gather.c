// Definition of RaggedGather: rows of a ragged tensor by their numbers. ragged_gather_cpu.c has the
// kernel.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

static leat_status_t gather_shape(leat_inference_t* c) {
  static const int64_t kUnknown = LEAT_DIM_UNKNOWN;
  int splits = leat_inference_input_count(c) - 2, outputs = c->node->output_count;
  leat_partial_shape_t vector, values, any;
  for (int i = 0; i < splits; ++i) {
    LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, i), 1, &any));
  }
  values = leat_inference_input(c, splits);
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, values, 1));
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 1, &kUnknown, &vector));
  for (int i = 0; i < outputs - 1; ++i) leat_inference_set_output(c, i, vector);
  LEAT_RETURN_IF_ERROR(leat_inference_subshape(c, values, 1, INT32_MAX, &values));
  LEAT_RETURN_IF_ERROR(leat_inference_concatenate(c, vector, values, &values));
  leat_inference_set_output(c, outputs - 1, values);
  return leat_ok_status();
}

// A row of the params is a range of their flat values, whose ends the splits give when they are
// looked up one in the other. The ranges of the gathered rows, one after the other, say which flat
// value each gradient belongs to.
static leat_status_t gather_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  int splits = leat_gradient_node(g)->input_count - 2;
  int outputs = leat_gradient_node(g)->output_count;
  leat_output_t zero = leat_build_scalar(b, LEAT_DTYPE_INT32, 0);
  leat_output_t ends = leat_gradient_input(g, 0);
  for (int i = 1; i < splits; ++i) {
    ends = leat_build(b, "GatherV2", LEAT_INPUTS(leat_gradient_input(g, i), ends, zero),
                      LEAT_NO_ATTRS);
  }
  leat_output_t rows = leat_build_binary(b, "Reshape", leat_gradient_input(g, splits + 1),
                                         leat_build_int32_vector(b, (const int32_t[]){-1}, 1));
  leat_output_t after = leat_build(b, "Slice",
                                   LEAT_INPUTS(ends, leat_build_int32_vector(b, (int32_t[]){1}, 1),
                                               leat_build_int32_vector(b, (int32_t[]){-1}, 1)),
                                   LEAT_NO_ATTRS);
  leat_output_t start = leat_build(b, "GatherV2", LEAT_INPUTS(ends, rows, zero), LEAT_NO_ATTRS);
  leat_output_t limit = leat_build(b, "GatherV2", LEAT_INPUTS(after, rows, zero), LEAT_NO_ATTRS);
  leat_output_t one = leat_build_scalar(b, leat_build_type_of(b, start), 1);
  int32_t range = leat_build_node(b, "RaggedRange", LEAT_INPUTS(start, limit, one), LEAT_NO_ATTRS);
  leat_gradient_set_input_rows(g, splits, leat_gradient_of_output(g, outputs - 1),
                               leat_node_output(range, 1),
                               leat_build_shape_of(b, leat_gradient_input(g, splits)));
  return leat_ok_status();
}

const leat_op_row_t leat_ragged_gather_ops[] = {
    {.name = "RaggedGather",
     .inputs = "params_nested_splits: PARAMS_RAGGED_RANK * Tsplits; params_dense_values: Tvalues; "
               "indices: Tindices",
     .outputs = "output_nested_splits: OUTPUT_RAGGED_RANK * Tsplits; "
                "output_dense_values: Tvalues",
     .attrs = "Tvalues: type; Tindices: {int32, int64}; Tsplits: {int32, int64} = int64; "
              "PARAMS_RAGGED_RANK: int >= 1; OUTPUT_RAGGED_RANK: int >= 0",
     .shape = gather_shape,
     .gradient = gather_gradient,
     .doc = "Rows of a ragged tensor by their numbers."},
    LEAT_OP_ROWS_END,
};
