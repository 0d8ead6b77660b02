// Definition of SparseReshape: the indices of a sparse tensor under another dense shape, indices
// [n, r], shape [r], new shape [s] -> indices [n, s], shape [s].
#include "ops/op_rows.h"
#include "ops/sparse/sparse_shape.h"

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

const leat_op_row_t leat_sparse_reshape_ops[] = {
    {.name = "SparseReshape",
     .inputs = "input_indices: int64; input_shape: int64; new_shape: int64",
     .outputs = "output_indices: int64; output_shape: int64",
     .shape = reshape_shape,
     .doc = "The indices under another dense shape."},
    LEAT_OP_ROWS_END,
};
