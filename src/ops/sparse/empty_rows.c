// Definition of SparseFillEmptyRows, which gives rows of a sparse tensor without an entry one, and
// of its gradient.
//
//   sparse tensor, default_value [] -> sparse tensor, empty_row_indicator [rows],
//     reverse_index_map [entries], which says where each entry went
#include "graph/gradient.h"
#include "ops/op_rows.h"
#include "ops/sparse/sparse_shape.h"

static leat_status_t fill_shape(leat_inference_t* c) {
  leat_partial_shape_t shape, dense;
  LEAT_RETURN_IF_ERROR(leat_shape_check_sparse(c, 0));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 3), 0, &shape));
  leat_partial_shape_t indices = leat_inference_input(c, 0);
  int64_t count, rank, columns = leat_partial_shape_dim(leat_inference_input(c, 2), 0);
  LEAT_RETURN_IF_ERROR(leat_inference_merge_dim(
      leat_partial_shape_dim(indices, 0), leat_partial_shape_dim(leat_inference_input(c, 1), 0),
      &count));
  LEAT_RETURN_IF_ERROR(
      leat_inference_merge_dim(leat_partial_shape_dim(indices, 1), columns, &rank));
  if (columns == 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "dense_shape must not be empty");
  }
  LEAT_RETURN_IF_ERROR(leat_inference_input_as_shape(c, 2, &dense));
  LEAT_RETURN_IF_ERROR(leat_shape_set_matrix(c, 0, LEAT_DIM_UNKNOWN, columns));
  LEAT_RETURN_IF_ERROR(leat_shape_set_matrix(c, 1, LEAT_DIM_UNKNOWN, LEAT_SPARSE_VECTOR));
  LEAT_RETURN_IF_ERROR(
      leat_shape_set_matrix(c, 2, leat_partial_shape_dim(dense, 0), LEAT_SPARSE_VECTOR));
  return leat_shape_set_matrix(c, 3, count, LEAT_SPARSE_VECTOR);
}

static leat_status_t gradient_shape(leat_inference_t* c) {
  leat_partial_shape_t map, values;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 1, &map));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 1, &values));
  leat_inference_set_output(c, 0, map);
  leat_inference_set_output(c, 1, leat_partial_shape_scalar());
  return leat_ok_status();
}

// The values and the default value have gradients; the map leads from entries to the gradient's
// elements.
static leat_status_t fill_gradient(leat_gradient_t* g) {
  int32_t node = leat_build_node(
      &g->builder, "SparseFillEmptyRowsGrad",
      LEAT_INPUTS(leat_gradient_output(g, 3), leat_gradient_of_output(g, 1)), LEAT_NO_ATTRS);
  leat_gradient_set_input(g, 1, leat_node_output(node, 0));
  leat_gradient_set_input(g, 3, leat_node_output(node, 1));
  return leat_ok_status();
}

const leat_op_row_t leat_empty_rows_ops[] = {
    {.name = "SparseFillEmptyRows",
     .inputs = "indices: int64; values: T; dense_shape: int64; default_value: T",
     .outputs = "output_indices: int64; output_values: T; empty_row_indicator: bool; "
                "reverse_index_map: int64",
     .attrs = "T: type",
     .shape = fill_shape,
     .gradient = fill_gradient,
     .doc = "Gives every row without an entry a default one."},
    {.name = "SparseFillEmptyRowsGrad",
     .inputs = "reverse_index_map: int64; grad_values: T",
     .outputs = "d_values: T; d_default_value: T",
     .attrs = "T: type",
     .shape = gradient_shape,
     .doc = "The gradient of SparseFillEmptyRows."},
    LEAT_OP_ROWS_END,
};
