// Definitions of the ops that put sparse tensors into a map and take them out, so that a queue
// carries only a number for each.
#include "graph/gradient.h"
#include "ops/op_rows.h"
#include "ops/sparse/sparse_shape.h"

static leat_status_t add_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(leat_shape_check_sparse(c, 0));
  return leat_shape_scalar_output(c);
}

static leat_status_t add_many_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(leat_shape_check_sparse(c, 0));
  return leat_shape_set_matrix(c, 0, LEAT_DIM_UNKNOWN, LEAT_SPARSE_VECTOR);
}

#define ENTRIES "sparse_indices: int64; sparse_values: T; sparse_shape: int64"
#define ENTRY_SHAPES "sparse_indices[n, r] sparse_values[n] sparse_shape[r]"
#define MAP_MISFITS(values_size, shape_size)                                               \
  LEAT_EACH_SPARSE_MISFITS("sparse_indices", "sparse_values", "sparse_shape", values_size, \
                           shape_size)
#define NAMES "; container: string = ''; shared_name: string = ''"

const leat_op_row_t leat_tensors_map_ops[] = {
    {.name = "AddSparseToTensorsMap",
     .inputs = ENTRIES,
     .outputs = "sparse_handle: int64",
     .attrs = "T: type" NAMES,
     .flags = LEAT_OP_STATEFUL,
     .shapes = ENTRY_SHAPES,
     .misfits = MAP_MISFITS(LEAT_ROWS_MISFIT, LEAT_ORDER_MISFIT),
     .shape = add_shape,
     .doc = "Keeps a sparse tensor under a number."},
    {.name = "AddManySparseToTensorsMap",
     .inputs = ENTRIES,
     .outputs = "sparse_handles: int64",
     .attrs = "T: type" NAMES,
     .flags = LEAT_OP_STATEFUL,
     .shapes = ENTRY_SHAPES,
     .misfits = MAP_MISFITS("Number of values must match first dimension of indices.",
                            "Number of dimensions must match second dimension of indices."),
     .shape = add_many_shape,
     .doc = "Keeps each row of a sparse tensor under a number."},
    {.name = "TakeManySparseFromTensorsMap",
     .inputs = "sparse_handles: int64",
     .outputs = "sparse_indices: int64; sparse_values: dtype; sparse_shape: int64",
     .attrs = "dtype: type" NAMES,
     .flags = LEAT_OP_STATEFUL,
     .shapes = "sparse_handles[_] -> sparse_indices[_, _] sparse_values[_] sparse_shape[_]",
     .misfits = "sparse_handles: sparse_handles should be a vector but received shape %",
     .doc = "Takes sparse tensors out by their numbers, as the rows of one."},
    LEAT_OP_ROWS_END,
};
