// _FusedMatMul: a matrix product and the ops that follow it, which TensorFlow's remapper and this
// library's optimizer put in the place of MatMul, BiasAdd and the like. Which ops may follow is
// checked when the kernel is made (ops/nn/epilogue_cpu.h), as in TensorFlow.
#include "ops/matrix/matrix_shape.h"
#include "ops/op_rows.h"

const leat_op_row_t leat_fused_matmul_ops[] = {
    {.name = "_FusedMatMul",
     .cost = LEAT_COST_CONTRACTION,
     .inputs = "a: T; b: T; args: num_args * T",
     .outputs = "product: T",
     .attrs = "transpose_a: bool = false; transpose_b: bool = false; T: {bfloat16, half, float}; "
              "num_args: int >= 0; fused_ops: list(string) = []; epsilon: float = 0.0001; "
              "leakyrelu_alpha: float = 0.2",
     .shape = leat_shape_matmul,
     .contract = LEAT_RULES(LEAT_RULE_MATRIX(0), LEAT_RULE_MATRIX(1)),
     .doc = "The product of two matrices, and the ops in fused_ops on it."},
    LEAT_OP_ROWS_END,
};
