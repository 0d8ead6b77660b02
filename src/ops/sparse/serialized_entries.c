// Definitions of the ops that turn a sparse tensor into three strings or variants (indices, values
// and dense shape) and back. Thus sparse tensors can be batched, queued and stored as dense ones.
#include "ops/op_rows.h"
#include "ops/sparse/sparse_shape.h"

static leat_status_t serialize_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(leat_shape_check_sparse(c, 0));
  return leat_shape_set_matrix(c, 0, 3, LEAT_SPARSE_VECTOR);
}

static leat_status_t serialize_many_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(leat_shape_check_sparse(c, 0));
  return leat_shape_set_matrix(c, 0, LEAT_DIM_UNKNOWN, 3);
}

// The last dimension is 3; what is in the strings is not known.
static leat_status_t deserialize_shape(leat_inference_t* c) {
  leat_partial_shape_t input = leat_inference_input(c, 0);
  int64_t three;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, input, 1));
  LEAT_RETURN_IF_ERROR(leat_inference_dim_with_value(leat_partial_shape_dim(input, -1), 3, &three));
  return leat_shape_some_sparse(c);
}

static leat_status_t deserialize_many_shape(leat_inference_t* c) {
  leat_partial_shape_t matrix;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 2, &matrix));
  return deserialize_shape(c);
}

#define ENTRIES "sparse_indices: int64; sparse_values: T; sparse_shape: int64"
#define RESULTS "sparse_indices: int64; sparse_values: dtype; sparse_shape: int64"

const leat_op_row_t leat_serialized_entries_ops[] = {
    {.name = "SerializeSparse",
     .inputs = ENTRIES,
     .outputs = "serialized_sparse: out_type",
     .attrs = "T: type; out_type: {string, variant} = string",
     .shape = serialize_shape,
     .doc = "A sparse tensor as three strings or variants."},
    {.name = "SerializeManySparse",
     .inputs = ENTRIES,
     .outputs = "serialized_sparse: out_type",
     .attrs = "T: type; out_type: {string, variant} = string",
     .shape = serialize_many_shape,
     .doc = "Each row of a sparse tensor as three strings or variants."},
    {.name = "DeserializeSparse",
     .inputs = "serialized_sparse: Tserialized",
     .outputs = RESULTS,
     .attrs = "dtype: type; Tserialized: {string, variant} = string",
     .shape = deserialize_shape,
     .doc = "The sparse tensors that threes of strings or variants hold, in one."},
    {.name = "DeserializeManySparse",
     .inputs = "serialized_sparse: string",
     .outputs = RESULTS,
     .attrs = "dtype: type",
     .shape = deserialize_many_shape,
     .doc = "The sparse tensors that rows of three strings hold, in one."},
    LEAT_OP_ROWS_END,
};
