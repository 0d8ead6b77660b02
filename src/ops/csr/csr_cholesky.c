// Definition of SparseMatrixSparseCholesky: the Cholesky factor of a sparse matrix whose rows and
// columns are put in another order first. csr_cholesky_cpu.c has the kernel.
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

static leat_status_t cholesky_shape(leat_inference_t* c) {
  leat_partial_shape_t permutation = leat_inference_input(c, 1);
  LEAT_RETURN_IF_ERROR(leat_shape_check_scalar(c, 0));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_least(c, permutation, 1));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_most(c, permutation, 2));
  return leat_shape_scalar_output(c);
}

const leat_op_row_t leat_csr_cholesky_ops[] = {
    LEAT_OP_ROW("SparseMatrixSparseCholesky", "input: variant; permutation: int32",
                "output: variant", "type: {float, double, complex64, complex128}", cholesky_shape,
                NULL, "The Cholesky factor of a permuted CSR sparse matrix."),
    LEAT_OP_ROWS_END,
};
