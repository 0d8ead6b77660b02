// Shape functions, and words of errors, that the definitions of this family share.
#ifndef LEAT_OPS_SPARSE_SPARSE_SHAPE_H_
#define LEAT_OPS_SPARSE_SPARSE_SHAPE_H_

#include "graph/inference/inference.h"

// INVALID_ARGUMENT unless inputs [first, first + 3) have the ranks of a sparse tensor: 2, 1 and 1.
LEAT_MUST_USE leat_status_t leat_shape_check_sparse(leat_inference_t* c, int first);
#define LEAT_SPARSE_VECTOR (-2)
// Sets output |index| to [rows, columns], or to [rows] where |columns| is LEAT_SPARSE_VECTOR.
LEAT_MUST_USE leat_status_t leat_shape_set_matrix(leat_inference_t* c, int index, int64_t rows,
                                                  int64_t columns);

// For leat_op_row_t.misfits: what TensorFlow says of the three tensors of a sparse tensor, whose
// names are given, where its kernel checks it as a whole,
#define LEAT_SPARSE_MISFITS(indices, values, shape)                                             \
  indices ": Sparse indices must be rank 2 but is rank %r; " values                             \
          ": Sparse values must be rank 1 but is rank %r | Number of elements in indices and "  \
          "values do not match; " shape ": Sparse shape must be rank 1 but is rank %r | "       \
          "Index rank and shape rank do not match"
// where it makes one of them,
#define LEAT_MADE_SPARSE_MISFITS(indices, values, shape)                                        \
  indices ": indices must be a matrix, but got: % | " LEAT_ORDER_MISFIT "; " values             \
          ": vals must be a vec, but got: % | indices and values rows (indexing dimension) "    \
          "must match.; " shape ": Shape must be a 1D tensor. | " LEAT_ORDER_MISFIT
#define LEAT_ORDER_MISFIT "Order length must be SparseTensor rank."
// and where it looks at each of them.
#define LEAT_EACH_SPARSE_MISFITS(indices, values, shape, values_size, shape_size)               \
  indices ": Input indices should be a matrix but received shape %; " values                    \
          ": Input values should be a vector but received shape % | " values_size "; " shape    \
          ": Input shape should be a vector but received shape % | " shape_size
#define LEAT_ROWS_MISFIT "indices and values rows (indexing dimension) must match."

#endif  // LEAT_OPS_SPARSE_SPARSE_SHAPE_H_
