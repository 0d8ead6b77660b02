// Definition of SparseMatrixOrderingAMD: an order of the rows of a symmetric sparse matrix in which
// its Cholesky factor stays sparse. csr_ordering_cpu.c has the kernel.
#include "graph/inference/inference.h"
#include "ops/csr/csr_shape.h"
#include "ops/op_rows.h"

// A vector of rows, or one for each matrix of a batch.
static leat_status_t ordering_shape(leat_inference_t* c) {
  leat_partial_shape_t matrix, rows;
  LEAT_RETURN_IF_ERROR(leat_csr_shape_of_input(c, 0, &matrix));
  if (matrix.rank < 0) {
    leat_inference_set_output(c, 0, leat_partial_shape_unknown());
    return leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(leat_inference_subshape(c, matrix, 0, -1, &rows));
  leat_inference_set_output(c, 0, rows);
  return leat_ok_status();
}

const leat_op_row_t leat_csr_ordering_ops[] = {
    LEAT_OP_ROW("SparseMatrixOrderingAMD", "input: variant", "output: int32", NULL, ordering_shape,
                NULL, "An order of rows, by approximate minimum degree, for a sparse Cholesky."),
    LEAT_OP_ROWS_END,
};
