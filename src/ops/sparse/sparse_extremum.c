// Definitions of SparseSparseMaximum and SparseSparseMinimum: elementwise, over two sparse tensors
// of one dense shape. As in TensorFlow, neither has a gradient.
#include "ops/op_rows.h"
#include "ops/sparse/sparse_shape.h"

// The number of entries depends on which indices the operands share.
static leat_status_t extremum_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(leat_shape_check_sparse(c, 0));
  LEAT_RETURN_IF_ERROR(leat_shape_check_sparse(c, 3));
  LEAT_RETURN_IF_ERROR(leat_shape_set_matrix(c, 0, LEAT_DIM_UNKNOWN, LEAT_DIM_UNKNOWN));
  return leat_shape_set_matrix(c, 1, LEAT_DIM_UNKNOWN, LEAT_SPARSE_VECTOR);
}

#define UNEQUAL_RANKS "Operands do not have the same ranks"
#define ROW(op, types, text)                                                              \
  LEAT_OP_ROW(op,                                                                         \
              "a_indices: int64; a_values: T; a_shape: int64; b_indices: int64; "         \
              "b_values: T; b_shape: int64",                                              \
              "output_indices: int64; output_values: T", "T: " types, extremum_shape,     \
              NULL, text,                                                                 \
              .shapes = "a_indices[n, r] a_values[n] a_shape[r] "                         \
                        "b_indices[m, r] b_values[m] b_shape[r]",                         \
              .misfits = LEAT_SPARSE_MISFITS("a_indices", "a_values", "a_shape")          \
                         "; b_indices: | " UNEQUAL_RANKS "; b_shape: | " UNEQUAL_RANKS)

const leat_op_row_t leat_sparse_extremum_ops[] = {
    ROW("SparseSparseMaximum",
        "{float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}",
        "The larger of two sparse tensors' elements."),
    ROW("SparseSparseMinimum",
        "{float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, "
        "bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}",
        "The smaller of two sparse tensors' elements."),
    LEAT_OP_ROWS_END,
};
