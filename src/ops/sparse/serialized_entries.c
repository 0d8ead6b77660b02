// Definitions of the ops that turn a sparse tensor into three strings or variants (indices, values
// and dense shape) and back. Thus sparse tensors can be batched, queued and stored as dense ones.
#include "ops/op_rows.h"
#include "ops/sparse/sparse_shape.h"

static leat_status_t serialize_many_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(leat_shape_check_sparse(c, 0));
  return leat_shape_set_matrix(c, 0, LEAT_DIM_UNKNOWN, 3);
}

static leat_status_t deserialize_many_shape(leat_inference_t* c) {
  leat_partial_shape_t matrix;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 2, &matrix));
  return leat_shape_by_pattern(c);
}

#define ENTRIES "sparse_indices: int64; sparse_values: T; sparse_shape: int64"
#define RESULTS "sparse_indices: int64; sparse_values: dtype; sparse_shape: int64"
#define ENTRY_MISFITS                                                                           \
  LEAT_EACH_SPARSE_MISFITS("sparse_indices", "sparse_values", "sparse_shape", LEAT_ROWS_MISFIT, \
                           LEAT_ORDER_MISFIT)
#define DESERIALIZE \
  "serialized_sparse[..., 3] -> sparse_indices[_, _] sparse_values[_] sparse_shape[_]"

const leat_op_row_t leat_serialized_entries_ops[] = {
    {.name = "SerializeSparse",
     .inputs = ENTRIES,
     .outputs = "serialized_sparse: out_type",
     .attrs = "T: type; out_type: {string, variant} = string",
     .shapes = "sparse_indices[_, _] sparse_values[_] sparse_shape[_] -> serialized_sparse[3]",
     .misfits = ENTRY_MISFITS,
     .doc = "A sparse tensor as three strings or variants."},
    {.name = "SerializeManySparse",
     .inputs = ENTRIES,
     .outputs = "serialized_sparse: out_type",
     .attrs = "T: type; out_type: {string, variant} = string",
     .shapes = "sparse_indices[n, r] sparse_values[n] sparse_shape[r]",
     .misfits = ENTRY_MISFITS,
     .shape = serialize_many_shape,
     .doc = "Each row of a sparse tensor as three strings or variants."},
    {.name = "DeserializeSparse",
     .inputs = "serialized_sparse: Tserialized",
     .outputs = RESULTS,
     .attrs = "dtype: type; Tserialized: {string, variant} = string",
     .shapes = DESERIALIZE,
     .misfits = "serialized_sparse: Serialized sparse should have non-zero rank % | "
                "Serialized sparse should have 3 as the last dimension %",
     .doc = "The sparse tensors that threes of strings or variants hold, in one."},
    {.name = "DeserializeManySparse",
     .inputs = "serialized_sparse: string",
     .outputs = RESULTS,
     .attrs = "dtype: type",
     .shapes = DESERIALIZE,
     .misfits = "serialized_sparse: Serialized sparse should have non-zero rank % | "
                "Serialized sparse should have 3 as the last dimension %",
     .shape = deserialize_many_shape,
     .doc = "The sparse tensors that rows of three strings hold, in one."},
    LEAT_OP_ROWS_END,
};
