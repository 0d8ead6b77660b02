// The ops Transpose, ConjugateTranspose and InvertPermutation: their shapes, values, gradients and
// registration. transpose_cpu.c has the kernels. Dimension d of the output is dimension perm[d] of
// the input:
//
//   x [d_0, ..., d_n], perm [n + 1] -> y [d_perm[0], ..., d_perm[n]]
//
// Where perm is a constant, its items are known to shape inference; otherwise only the rank is. The
// gradient transposes by the inverse permutation, which a graph with a constant perm folds.
// InvertPermutation has a value function for the same reason: the inverse of a known permutation is
// known while the graph is built.
#include "graph/gradient.h"
#include "graph/inference/inference_index.h"
#include "ops/op_rows.h"

// Returns the rank as the input or perm tells it, or -1.
static int64_t rank_of(leat_partial_shape_t input, leat_partial_shape_t perm,
                       leat_partial_value_t value) {
  if (input.rank >= 0) return input.rank;
  if (perm.rank == 1 && perm.dims[0] != LEAT_DIM_UNKNOWN) return perm.dims[0];
  if (perm.rank == 0) return 1;
  return value.rank >= 0 ? value.count : -1;
}

// A dimension of the output is known where the item of perm is, and the dimension of the input that
// it names.
static leat_status_t transpose_shape(leat_inference_t* c) {
  leat_partial_shape_t input = leat_inference_input(c, 0), perm = leat_inference_input(c, 1);
  leat_partial_value_t value;
  LEAT_RETURN_IF_ERROR(leat_inference_input_value(c, 1, &value));
  int64_t rank = rank_of(input, perm, value), dims[LEAT_SHAPE_MAX_RANK];
  if (rank < 0 || (input.rank < 0 && rank < 2)) return leat_ok_status();
  if (rank > LEAT_SHAPE_MAX_RANK) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Shape must be at most rank %d but is rank %lld",
                            LEAT_SHAPE_MAX_RANK, (long long)rank);
  }
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, input, (int)rank, &input));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, perm, 1, &perm));
  LEAT_RETURN_IF_ERROR(leat_inference_dim_with_value(perm.dims[0], rank, &dims[0]));
  for (int d = 0; d < rank; ++d) {
    int64_t axis = value.rank == 1 ? value.items[d] : LEAT_VALUE_UNKNOWN;
    dims[d] = LEAT_DIM_UNKNOWN;
    if (axis == LEAT_VALUE_UNKNOWN) continue;
    if (!leat_axis_resolve(&axis, rank)) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "perm dim %lld is out of range of input rank %lld", (long long)axis,
                              (long long)rank);
    }
    dims[d] = input.dims[axis];
  }
  leat_partial_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, (int)rank, dims, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

static leat_status_t invert_shape(leat_inference_t* c) {
  leat_partial_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 1, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

// Inverts a known permutation. What is none is left for the kernel to refuse.
static leat_status_t invert_value(leat_inference_t* c) {
  leat_partial_value_t value;
  bool is_known;
  LEAT_RETURN_IF_ERROR(leat_inference_indices(c, 0, &is_known, &value));
  if (!is_known || value.rank != 1 || value.count > LEAT_SHAPE_MAX_RANK) return leat_ok_status();
  int64_t inverse[LEAT_SHAPE_MAX_RANK];
  for (int i = 0; i < value.count; ++i) inverse[i] = LEAT_VALUE_UNKNOWN;
  for (int i = 0; i < value.count; ++i) {
    int64_t at = value.items[i];
    if (at < 0 || at >= value.count) return leat_ok_status();
    inverse[at] = i;
  }
  return leat_inference_set_output_value(c, 0, 1, value.count, inverse);
}

static leat_status_t transpose_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  const char* op = leat_gradient_node(g)->op->row->name;
  leat_output_t inverse = leat_build_unary(b, "InvertPermutation", leat_gradient_input(g, 1));
  leat_gradient_set_input(
      g, 0, leat_build_named(b, "transpose", op,
                             LEAT_INPUTS(leat_gradient_of_output(g, 0), inverse), LEAT_NO_ATTRS));
  return leat_ok_status();
}

const leat_op_row_t leat_transpose_ops[] = {
    {.name = "Transpose",
     .inputs = "x: T; perm: Tperm",
     .outputs = "y: T",
     .attrs = "T: type; Tperm: {int32, int64} = int32",
     .shape = transpose_shape,
     .gradient = transpose_gradient,
     .identities = LEAT_IDENTITY_PERMUTES,
     .flags = LEAT_OP_CHEAP,
     .doc = "Dimension i of the result is dimension perm[i] of x."},
    {.name = "ConjugateTranspose",
     .inputs = "x: T; perm: Tperm",
     .outputs = "y: T",
     .attrs = "T: type; Tperm: {int32, int64} = int32",
     .shape = transpose_shape,
     .gradient = transpose_gradient,
     .doc = "Transpose, with the complex conjugates of the elements."},
    {.name = "InvertPermutation",
     .inputs = "x: T",
     .outputs = "y: T",
     .attrs = "T: {int32, int64} = int32",
     .shape = invert_shape,
     .value = invert_value,
     .gradient = leat_gradient_none,
     .doc = "The permutation y with y[x[i]] = i."},
    LEAT_OP_ROWS_END,
};
