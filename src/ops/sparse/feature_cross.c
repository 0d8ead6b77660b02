// Definitions of SparseCross in its versions and of RaggedCross: every combination of one feature
// from each column, row by row.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

static leat_status_t cross_shape(leat_inference_t* c) {
  static const int64_t kIndices[] = {LEAT_DIM_UNKNOWN, 2};
  leat_partial_shape_t indices, values, shape;
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 2, kIndices, &indices));
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 1, &kIndices[0], &values));
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 1, &kIndices[1], &shape));
  leat_inference_set_output(c, 0, indices);
  leat_inference_set_output(c, 1, values);
  leat_inference_set_output(c, 2, shape);
  return leat_ok_status();
}

static leat_status_t ragged_cross_shape(leat_inference_t* c) {
  static const int64_t kUnknown = LEAT_DIM_UNKNOWN;
  leat_partial_shape_t vector;
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 1, &kUnknown, &vector));
  leat_inference_set_output(c, 0, vector);
  leat_inference_set_output(c, 1, vector);
  return leat_ok_status();
}

#define COLUMNS "indices: N * int64; values: sparse_types; shapes: N * int64; " \
                "dense_inputs: dense_types"
#define TYPES "sparse_types: list({int64, string}) >= 0; dense_types: list({int64, string}) >= 0"

const leat_op_row_t leat_feature_cross_ops[] = {
    {.name = "SparseCross",
     .inputs = COLUMNS,
     .outputs = "output_indices: int64; output_values: out_type; output_shape: int64",
     .attrs = "N: int >= 0; hashed_output: bool; num_buckets: int >= 0; hash_key: int; " TYPES
              "; out_type: {int64, string}; internal_type: {int64, string}",
     .shape = cross_shape,
     .gradient = leat_gradient_none,
     .doc = "Crosses of the features of columns, as texts or hashes."},
    {.name = "SparseCrossV2",
     .inputs = COLUMNS "; sep: string",
     .outputs = "output_indices: int64; output_values: string; output_shape: int64",
     .attrs = "N: int >= 0; " TYPES,
     .shape = cross_shape,
     .gradient = leat_gradient_none,
     .doc = "Crosses of the features of columns, as texts around a separator."},
    {.name = "SparseCrossHashed",
     .inputs = COLUMNS "; num_buckets: int64; strong_hash: bool; salt: int64",
     .outputs = "output_indices: int64; output_values: int64; output_shape: int64",
     .attrs = "N: int >= 0; " TYPES,
     .shape = cross_shape,
     .gradient = leat_gradient_none,
     .doc = "Crosses of the features of columns, as hashes."},
    {.name = "RaggedCross",
     .inputs = "ragged_values: ragged_values_types; ragged_row_splits: ragged_splits_types; "
               "sparse_indices: Nsparse * int64; sparse_values: sparse_values_types; "
               "sparse_shape: Nsparse * int64; dense_inputs: dense_types",
     .outputs = "output_values: out_values_type; output_row_splits: out_row_splits_type",
     .attrs = "Nsparse: int >= 0; input_order: string; hashed_output: bool; "
              "num_buckets: int >= 0; hash_key: int; "
              "ragged_values_types: list({int64, string}) >= 0; "
              "ragged_splits_types: list({int32, int64}) >= 0; "
              "sparse_values_types: list({int64, string}) >= 0; "
              "dense_types: list({int64, string}) >= 0; out_values_type: {int64, string}; "
              "out_row_splits_type: {int32, int64}",
     .shape = ragged_cross_shape,
     .doc = "Crosses of the features of columns, as a ragged tensor."},
    LEAT_OP_ROWS_END,
};
