// Definitions of the ops that change how a sparse tensor is laid out, and not its values.
//
//   SparseReorder        the entries in the order of their indices
//   SparseReshape        indices [n, r], shape [r], new shape [s] -> indices [n, s], shape [s]
//   SparseFillEmptyRows  sparse tensor, default_value [] -> sparse tensor, empty_row_indicator
//                        [rows], reverse_index_map [entries], which says where each entry went
//   RaggedFillEmptyRows  row numbers and values [n], nrows [] -> the same of a ragged tensor
//   SparseToDense        entries at indices of a dense tensor, and a default value elsewhere
//
// Values move with their entries, so that their gradients are gathers by where each entry went.
// Indices have no gradient. The kernels are in reorder_cpu.c, sparse_reshape_cpu.c,
// empty_rows_cpu.c and sparse_to_dense_cpu.c.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"
#include "ops/sparse/sparse_shape.h"

// ---- SparseReorder ------------------------------------------------------------------------------

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

// ---- SparseReshape ------------------------------------------------------------------------------

static leat_status_t reshape_shape(leat_inference_t* c) {
  leat_partial_shape_t shapes[3];
  for (int i = 0; i < 3; ++i) {
    LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, i), i == 0 ? 2 : 1,
                                                  &shapes[i]));
  }
  leat_inference_set_output(c, 1, shapes[2]);
  return leat_shape_set_matrix(c, 0, leat_partial_shape_dim(shapes[0], 0),
                               leat_partial_shape_dim(shapes[2], 0));
}

// ---- SparseFillEmptyRows ------------------------------------------------------------------------

static leat_status_t fill_shape(leat_inference_t* c) {
  leat_partial_shape_t dense;
  LEAT_RETURN_IF_ERROR(leat_shape_by_pattern(c));
  if (leat_partial_shape_dim(leat_inference_input(c, 2), 0) == 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "dense_shape must not be empty");
  }
  LEAT_RETURN_IF_ERROR(leat_inference_input_as_shape(c, 2, &dense));
  return leat_shape_set_matrix(c, 2, leat_partial_shape_dim(dense, 0), LEAT_SPARSE_VECTOR);
}

static leat_status_t fill_gradient_by(leat_gradient_t* g, const char* op) {
  int32_t node = leat_build_node(
      &g->builder, op, LEAT_INPUTS(leat_gradient_output(g, 3), leat_gradient_of_output(g, 1)),
      LEAT_NO_ATTRS);
  leat_gradient_set_input(g, 1, leat_node_output(node, 0));
  leat_gradient_set_input(g, 3, leat_node_output(node, 1));
  return leat_ok_status();
}

// The values and the default value have gradients; the map leads from entries to the gradient's
// elements.
static leat_status_t fill_gradient(leat_gradient_t* g) {
  return fill_gradient_by(g, "SparseFillEmptyRowsGrad");
}

static leat_status_t ragged_fill_gradient(leat_gradient_t* g) {
  return fill_gradient_by(g, "RaggedFillEmptyRowsGrad");
}

// ---- SparseToDense ------------------------------------------------------------------------------

static leat_status_t to_dense_shape(leat_inference_t* c) {
  leat_partial_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 1, &shape));
  LEAT_RETURN_IF_ERROR(leat_inference_input_as_shape(c, 1, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

static leat_output_t sum_of_all(leat_builder_t* b, leat_output_t x) {
  leat_output_t zero = leat_build_scalar(b, LEAT_DTYPE_INT32, 0);
  leat_output_t axes =
      leat_build(b, "Range",
                 LEAT_INPUTS(zero, leat_build_unary(b, "Rank", x),
                             leat_build_scalar(b, LEAT_DTYPE_INT32, 1)),
                 LEAT_NO_ATTRS);
  return leat_build_binary(b, "Sum", x, axes);
}

// The values get dy at their indices, and the default value the sum of dy elsewhere.
static leat_status_t to_dense_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t dy = leat_gradient_of_output(g, 0);
  leat_output_t values = leat_build_binary(b, "GatherNd", dy, leat_gradient_input(g, 0));
  leat_gradient_set_input(g, 0, leat_build_zeros_of(b, leat_gradient_input(g, 0)));
  leat_gradient_set_input(g, 1, leat_build_zeros_of(b, leat_gradient_input(g, 1)));
  leat_gradient_set_input(g, 2, values);
  leat_gradient_set_input(
      g, 3, leat_build_binary(b, "Sub", sum_of_all(b, dy), sum_of_all(b, values)));
  return leat_ok_status();
}

#define FILL_GRADIENT "reverse_index_map[n] grad_values[_] -> d_values[n] d_default_value[]"

#define SAW_NO_VECTOR(name) name ": " name " must be a vector, saw: %"
#define SAW_NO_SCALAR(name) name ": " name " must be a scalar, saw: %"

const leat_op_row_t leat_sparse_layout_ops[] = {
    {.name = "SparseReorder",
     .inputs = "input_indices: int64; input_values: T; input_shape: int64",
     .outputs = "output_indices: int64; output_values: T",
     .attrs = "T: type",
     .shapes = "input_indices[n, r] input_values[n] input_shape[r]",
     .misfits = LEAT_SPARSE_MISFITS("input_indices", "input_values", "input_shape"),
     .shape = reorder_shape,
     .gradient = reorder_gradient,
     .doc = "The entries of a sparse tensor, row by row."},
    {.name = "SparseReshape",
     .inputs = "input_indices: int64; input_shape: int64; new_shape: int64",
     .outputs = "output_indices: int64; output_shape: int64",
     .shapes = "input_indices[_, r] input_shape[r] new_shape[_]",
     .misfits = "input_indices: Input must be a matrix.; input_shape: Input shape must be a "
                "vector. | Input tensor rank must match input shape length.; "
                "new_shape: Target shape should be a vector but received shape %",
     .shape = reshape_shape,
     .doc = "The indices under another dense shape."},
    {.name = "SparseFillEmptyRows",
     .inputs = "indices: int64; values: T; dense_shape: int64; default_value: T",
     .outputs = "output_indices: int64; output_values: T; empty_row_indicator: bool; "
                "reverse_index_map: int64",
     .attrs = "T: type",
     .shapes = "indices[n, r] values[n] dense_shape[r] default_value[] -> output_indices[_, r] "
               "output_values[_] reverse_index_map[n]",
     .misfits = "indices: indices must be a matrix, saw: %; " SAW_NO_VECTOR("values")
                " | The length of `values` must match the first dimension of `indices`.; "
                SAW_NO_VECTOR("dense_shape") " | The length of `dense_shape` must match the second "
                "dimension of `indices`.; " SAW_NO_SCALAR("default_value"),
     .shape = fill_shape,
     .gradient = fill_gradient,
     .doc = "Gives every row without an entry a default one."},
    {.name = "SparseFillEmptyRowsGrad",
     .inputs = "reverse_index_map: int64; grad_values: T",
     .outputs = "d_values: T; d_default_value: T",
     .attrs = "T: type",
     .shapes = FILL_GRADIENT,
     .misfits = SAW_NO_VECTOR("reverse_index_map") "; " SAW_NO_VECTOR("grad_values"),
     .doc = "The gradient of SparseFillEmptyRows."},
    {.name = "RaggedFillEmptyRows",
     .inputs = "value_rowids: int64; values: T; nrows: int64; default_value: T",
     .outputs = "output_value_rowids: int64; output_values: T; empty_row_indicator: bool; "
                "reverse_index_map: int64",
     .attrs = "T: type",
     .shapes = "value_rowids[n] values[n] nrows[] default_value[] -> output_value_rowids[_] "
               "output_values[_] empty_row_indicator[_] reverse_index_map[n]",
     .misfits = SAW_NO_VECTOR("value_rowids") "; " SAW_NO_VECTOR("values")
                " | The length of `values` must match the first dimension of `value_rowids`.; "
                SAW_NO_SCALAR("nrows") "; " SAW_NO_SCALAR("default_value"),
     .gradient = ragged_fill_gradient,
     .doc = "Gives every row of a ragged tensor without a value a default one."},
    {.name = "RaggedFillEmptyRowsGrad",
     .inputs = "reverse_index_map: int64; grad_values: T",
     .outputs = "d_values: T; d_default_value: T",
     .attrs = "T: type",
     .shapes = FILL_GRADIENT,
     .misfits = SAW_NO_VECTOR("reverse_index_map") "; " SAW_NO_VECTOR("grad_values"),
     .doc = "The gradient of RaggedFillEmptyRows."},
    {.name = "SparseToDense",
     .inputs = "sparse_indices: Tindices; output_shape: Tindices; sparse_values: T; "
               "default_value: T",
     .outputs = "dense: T",
     .attrs = "validate_indices: bool = true; T: type; Tindices: {int32, int64}",
     .shapes = "output_shape[_] default_value[]",
     .misfits = "output_shape: output_shape must be rank 1, got shape %; "
                "default_value: default_value should be a scalar.",
     .shape = to_dense_shape,
     .gradient = to_dense_gradient,
     .doc = "A dense tensor of a default value with entries at indices."},
    LEAT_OP_ROWS_END,
};
