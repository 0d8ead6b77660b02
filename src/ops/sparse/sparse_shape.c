// Shape functions for sparse tensors, which are three tensors: indices, values and dense shape.
#include "ops/sparse/sparse_shape.h"

leat_status_t leat_shape_check_sparse(leat_inference_t* c, int first) {
  leat_partial_shape_t shape;
  for (int i = 0; i < 3; ++i) {
    LEAT_RETURN_IF_ERROR(
        leat_inference_with_rank(c, leat_inference_input(c, first + i), i == 0 ? 2 : 1, &shape));
  }
  return leat_ok_status();
}

leat_status_t leat_shape_set_matrix(leat_inference_t* c, int index, int64_t rows,
                                    int64_t columns) {
  leat_partial_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, columns == LEAT_SPARSE_VECTOR ? 1 : 2,
                                           (int64_t[]){rows, columns}, &shape));
  leat_inference_set_output(c, index, shape);
  return leat_ok_status();
}
