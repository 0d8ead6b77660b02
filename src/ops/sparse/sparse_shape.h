// Shape functions that the definitions of this family share.
#ifndef LEAT_OPS_SPARSE_SPARSE_SHAPE_H_
#define LEAT_OPS_SPARSE_SPARSE_SHAPE_H_

#include "graph/inference/inference.h"

// INVALID_ARGUMENT unless inputs [first, first + 3) have the ranks of a sparse tensor: 2, 1 and 1.
LEAT_MUST_USE leat_status_t leat_shape_check_sparse(leat_inference_t* c, int first);
#define LEAT_SPARSE_VECTOR (-2)
// Sets output |index| to [rows, columns], or to [rows] where |columns| is LEAT_SPARSE_VECTOR.
LEAT_MUST_USE leat_status_t leat_shape_set_matrix(leat_inference_t* c, int index, int64_t rows,
                                                  int64_t columns);

#endif  // LEAT_OPS_SPARSE_SPARSE_SHAPE_H_
