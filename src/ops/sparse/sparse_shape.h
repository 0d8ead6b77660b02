// Shape functions that sparse tensors share.
#ifndef LEAT_OPS_SPARSE_SPARSE_SHAPE_H_
#define LEAT_OPS_SPARSE_SPARSE_SHAPE_H_

#include "graph/inference.h"

// Inputs [first, first + 3) are a sparse tensor: their ranks.
LEAT_MUST_USE leat_status_t leat_shape_check_sparse(leat_inference_t* c, int first);
// Output |index| becomes [rows, columns], or [rows] where |columns| is LEAT_SPARSE_VECTOR.
#define LEAT_SPARSE_VECTOR (-2)
LEAT_MUST_USE leat_status_t leat_shape_set_matrix(leat_inference_t* c, int index, int64_t rows,
                                                  int64_t columns);
// Outputs 0, 1, 2 become a sparse tensor of which nothing is known.
LEAT_MUST_USE leat_status_t leat_shape_some_sparse(leat_inference_t* c);

#endif  // LEAT_OPS_SPARSE_SPARSE_SHAPE_H_
