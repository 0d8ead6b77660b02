// Definition of SparseReorder: the entries of a sparse tensor in the order of their indices.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

static leat_status_t reorder_shape(leat_inference_t* c) {
  static const int kRanks[] = {2, 1, 1};
  leat_partial_shape_t shape;
  for (int i = 0; i < 3; ++i) {
    LEAT_RETURN_IF_ERROR(
        leat_inference_with_rank(c, leat_inference_input(c, i), kRanks[i], &shape));
    if (i < 2) leat_inference_set_output(c, i, shape);
  }
  return leat_ok_status();
}

// The op is run again over the numbers 0, 1, 2, ... in place of the values; the result says where
// each entry came from, and its inverse where it went.
static leat_status_t reorder_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t indices = leat_gradient_input(g, 0);
  leat_output_t zero = leat_build_scalar(b, LEAT_DTYPE_INT32, 0);
  leat_output_t one = leat_build_scalar(b, LEAT_DTYPE_INT32, 1);
  leat_output_t count = leat_build(
      b, "GatherV2", LEAT_INPUTS(leat_build_shape_of(b, indices), zero, zero), LEAT_NO_ATTRS);
  leat_output_t numbers =
      leat_build(b, "Range", LEAT_INPUTS(zero, count, one), LEAT_NO_ATTRS);
  int32_t ordered =
      leat_build_node(b, "SparseReorder",
                      LEAT_INPUTS(indices, numbers, leat_gradient_input(g, 2)), LEAT_NO_ATTRS);
  leat_output_t places =
      leat_build_unary(b, "InvertPermutation", leat_node_output(ordered, 1));
  leat_gradient_set_input(
      g, 1,
      leat_build(b, "GatherV2", LEAT_INPUTS(leat_gradient_of_output(g, 1), places, zero),
                 LEAT_NO_ATTRS));
  return leat_ok_status();
}

const leat_op_row_t leat_reorder_ops[] = {
    {.name = "SparseReorder",
     .inputs = "input_indices: int64; input_values: T; input_shape: int64",
     .outputs = "output_indices: int64; output_values: T",
     .attrs = "T: type",
     .shape = reorder_shape,
     .gradient = reorder_gradient,
     .doc = "The entries of a sparse tensor, row by row."},
    LEAT_OP_ROWS_END,
};
