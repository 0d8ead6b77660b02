// Definitions of set operations. Sets are in the last dimension of a tensor, one for each place in
// the dimensions before it, which are called groups. A tensor of sets is dense, so that all sets
// have the same number of values (some may be equal), or sparse.
//
//   SetSize              sets -> size, of the shape of the groups
//   *SetOperation        set1, set2 of the same groups -> the differences, intersections or unions
//
// The result of an operation is always a sparse tensor, since its sets differ in size; how many
// values it has is not known before it runs.
#include "graph/gradient.h"
#include "ops/op_rows.h"
#include "ops/sparse/sparse_shape.h"

// Inputs [first, first + 3) must be a sparse tensor of sets, whose rank agrees with |*inout_rank|.
static leat_status_t check_sparse(leat_inference_t* c, int first, int64_t* inout_rank) {
  int64_t count, rank;
  LEAT_RETURN_IF_ERROR(leat_shape_check_sparse(c, first));
  leat_partial_shape_t indices = leat_inference_input(c, first);
  LEAT_RETURN_IF_ERROR(leat_inference_merge_dim(
      leat_partial_shape_dim(indices, 0),
      leat_partial_shape_dim(leat_inference_input(c, first + 1), 0), &count));
  int64_t stated = leat_partial_shape_dim(leat_inference_input(c, first + 2), 0);
  LEAT_RETURN_IF_ERROR(
      leat_inference_merge_dim(leat_partial_shape_dim(indices, 1), stated, &rank));
  return leat_inference_merge_dim(*inout_rank, stated, inout_rank);
}

// Input |index| must be a dense tensor of sets, whose rank agrees with |*inout_rank|.
static leat_status_t check_dense(leat_inference_t* c, int index, int64_t* inout_rank) {
  leat_partial_shape_t shape = leat_inference_input(c, index);
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, shape, 2));
  return leat_inference_merge_dim(*inout_rank, shape.rank < 0 ? LEAT_DIM_UNKNOWN : shape.rank,
                                  inout_rank);
}

static leat_status_t set_outputs(leat_inference_t* c, int64_t rank) {
  LEAT_RETURN_IF_ERROR(leat_shape_set_matrix(c, 0, LEAT_DIM_UNKNOWN, rank));
  LEAT_RETURN_IF_ERROR(leat_shape_set_matrix(c, 1, LEAT_DIM_UNKNOWN, LEAT_SPARSE_VECTOR));
  return leat_shape_set_matrix(c, 2, rank, LEAT_SPARSE_VECTOR);
}

static leat_status_t dense_to_dense_shape(leat_inference_t* c) {
  leat_partial_shape_t a = leat_inference_input(c, 0), b = leat_inference_input(c, 1), groups;
  int64_t rank = LEAT_DIM_UNKNOWN;
  LEAT_RETURN_IF_ERROR(check_dense(c, 0, &rank));
  LEAT_RETURN_IF_ERROR(check_dense(c, 1, &rank));
  if (a.rank >= 0 && b.rank >= 0) {
    LEAT_RETURN_IF_ERROR(leat_inference_subshape(c, a, 0, -1, &a));
    LEAT_RETURN_IF_ERROR(leat_inference_subshape(c, b, 0, -1, &b));
    LEAT_RETURN_IF_ERROR(leat_inference_merge(c, a, b, &groups));
  }
  return set_outputs(c, rank);
}

static leat_status_t dense_to_sparse_shape(leat_inference_t* c) {
  int64_t rank = LEAT_DIM_UNKNOWN;
  LEAT_RETURN_IF_ERROR(check_dense(c, 0, &rank));
  LEAT_RETURN_IF_ERROR(check_sparse(c, 1, &rank));
  return set_outputs(c, rank);
}

static leat_status_t sparse_to_sparse_shape(leat_inference_t* c) {
  int64_t rank = LEAT_DIM_UNKNOWN;
  LEAT_RETURN_IF_ERROR(check_sparse(c, 0, &rank));
  LEAT_RETURN_IF_ERROR(check_sparse(c, 3, &rank));
  if (rank == LEAT_DIM_UNKNOWN || rank >= 2) return set_outputs(c, rank);
  return leat_make_status(LEAT_INVALID_ARGUMENT, "rank of the sets is %lld, must be at least 2",
                          (long long)rank);
}

#define VALUE_TYPES "T: {int8, int16, int32, int64, uint8, uint16, string}"
#define OPERATION(op_name, op_inputs, shape_fn, text)                                 \
  {                                                                                   \
    .name = op_name, .inputs = op_inputs,                                             \
    .outputs = "result_indices: int64; result_values: T; result_shape: int64",        \
    .attrs = "set_operation: string; validate_indices: bool = true; " VALUE_TYPES,    \
    .shape = shape_fn, .gradient = leat_gradient_none, .doc = text                    \
  }

const leat_op_row_t leat_set_operation_ops[] = {
    {.name = "SetSize",
     .inputs = "set_indices: int64; set_values: T; set_shape: int64",
     .outputs = "size: int32",
     .attrs = "validate_indices: bool = true; " VALUE_TYPES,
     .shape = leat_shape_unknown,
     .gradient = leat_gradient_none,
     .doc = "Counts the different values in the last dimension of a sparse tensor."},
    OPERATION("DenseToDenseSetOperation", "set1: T; set2: T", dense_to_dense_shape,
              "Difference, intersection or union of sets, row by row of two dense tensors."),
    OPERATION("DenseToSparseSetOperation",
              "set1: T; set2_indices: int64; set2_values: T; set2_shape: int64",
              dense_to_sparse_shape,
              "Difference, intersection or union of sets, those of set2 in a sparse tensor."),
    OPERATION("SparseToSparseSetOperation",
              "set1_indices: int64; set1_values: T; set1_shape: int64; set2_indices: int64; "
              "set2_values: T; set2_shape: int64",
              sparse_to_sparse_shape,
              "Difference, intersection or union of sets, row by row of two sparse tensors."),
    LEAT_OP_ROWS_END,
};
