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

// Sets the outputs to a sparse tensor whose rank is that of dense input |index|, as far as known.
static leat_status_t set_rank(leat_inference_t* c, int index) {
  int rank = leat_inference_input(c, index).rank;
  if (rank < 0) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_shape_set_matrix(c, 0, LEAT_DIM_UNKNOWN, rank));
  return leat_shape_set_matrix(c, 2, rank, LEAT_SPARSE_VECTOR);
}

static leat_status_t dense_to_dense_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(leat_shape_by_pattern(c));
  LEAT_RETURN_IF_ERROR(set_rank(c, 0));
  return set_rank(c, 1);
}

static leat_status_t dense_to_sparse_shape(leat_inference_t* c) {
  int64_t stated, rank = leat_inference_input(c, 0).rank;
  LEAT_RETURN_IF_ERROR(leat_shape_by_pattern(c));
  stated = leat_partial_shape_dim(leat_inference_input(c, 3), 0);
  if (rank < 0) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_inference_merge_dim(rank, stated, &rank));
  return set_rank(c, 0);
}

static leat_status_t sparse_to_sparse_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(leat_shape_by_pattern(c));
  for (int i = 2; i < 6; i += 3) {
    int64_t rank = leat_partial_shape_dim(leat_inference_input(c, i), 0);
    if (rank == LEAT_DIM_UNKNOWN || rank >= 2) continue;
    return leat_make_status(LEAT_INVALID_ARGUMENT, "rank of the sets is %lld, must be at least 2",
                            (long long)rank);
  }
  return leat_ok_status();
}

#define VALUE_TYPES "T: {int8, int16, int32, int64, uint8, uint16, string}"
#define SET_SHAPES " -> result_indices[_, r] result_values[_] result_shape[r]"
#define OPERATION(op_name, op_inputs, pattern, words, shape_fn, text)                 \
  {                                                                                   \
    .name = op_name, .inputs = op_inputs,                                             \
    .outputs = "result_indices: int64; result_values: T; result_shape: int64",        \
    .attrs = "set_operation: string; validate_indices: bool = true; " VALUE_TYPES,    \
    .shapes = pattern, .misfits = words, .shape = shape_fn,                           \
    .gradient = leat_gradient_none, .doc = text                                       \
  }

const leat_op_row_t leat_set_operation_ops[] = {
    {.name = "SetSize",
     .inputs = "set_indices: int64; set_values: T; set_shape: int64",
     .outputs = "size: int32",
     .attrs = "validate_indices: bool = true; " VALUE_TYPES,
     .shapes = "set_indices[n, r] set_values[n] set_shape[r]",
     .misfits = LEAT_MADE_SPARSE_MISFITS("set_indices", "set_values", "set_shape"),
     .shape = leat_shape_unknown,
     .gradient = leat_gradient_none,
     .doc = "Counts the different values in the last dimension of a sparse tensor."},
    OPERATION("DenseToDenseSetOperation", "set1: T; set2: T",
              "set1[..., g, _] set2[..., g, _] -> result_indices[_, _] result_values[_] "
              "result_shape[_]",
              "set1: Shape % has rank %r < 2 | Mismatched shapes; "
              "set2: Shape % has rank %r < 2 | Mismatched shapes",
              dense_to_dense_shape,
              "Difference, intersection or union of sets, row by row of two dense tensors."),
    OPERATION("DenseToSparseSetOperation",
              "set1: T; set2_indices: int64; set2_values: T; set2_shape: int64",
              "set1[..., _, _] set2_indices[n, r] set2_values[n] set2_shape[r]" SET_SHAPES,
              "set1: Shape % has rank %r < 2; "
              LEAT_MADE_SPARSE_MISFITS("set2_indices", "set2_values", "set2_shape"),
              dense_to_sparse_shape,
              "Difference, intersection or union of sets, those of set2 in a sparse tensor."),
    OPERATION("SparseToSparseSetOperation",
              "set1_indices: int64; set1_values: T; set1_shape: int64; set2_indices: int64; "
              "set2_values: T; set2_shape: int64",
              "set1_indices[n, r] set1_values[n] set1_shape[r] set2_indices[m, r] "
              "set2_values[m] set2_shape[r]" SET_SHAPES,
              LEAT_MADE_SPARSE_MISFITS("set1_indices", "set1_values", "set1_shape") "; "
              LEAT_MADE_SPARSE_MISFITS("set2_indices", "set2_values", "set2_shape"),
              sparse_to_sparse_shape,
              "Difference, intersection or union of sets, row by row of two sparse tensors."),
    LEAT_OP_ROWS_END,
};
