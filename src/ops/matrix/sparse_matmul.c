// SparseMatMul: the product of two matrices of which one has many zeros.
//
//   a [m, k], b [k, n], each perhaps transposed, float or bfloat16 -> product [m, n] float
//
// The matrices are dense tensors; that there are zeros is only a hint for the kernel
// (sparse_matmul_cpu.c). The gradients are those of MatMul, computed by it.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/math/arithmetic.h"
#include "ops/matrix/matrix_shape.h"
#include "ops/op_rows.h"

static leat_output_t build_product(leat_builder_t* b, leat_output_t x, bool transposed_x,
                                   leat_output_t y, bool transposed_y) {
  return leat_build(b, "MatMul", LEAT_INPUTS(x, y),
                    LEAT_ATTRS(LEAT_BOOL("transpose_a", transposed_x),
                               LEAT_BOOL("transpose_b", transposed_y)));
}

static leat_status_t sparse_matmul_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  const leat_node_t* node = leat_gradient_node(g);
  bool transposed_x = leat_node_attr_bool(node, "transpose_a", false);
  bool transposed_y = leat_node_attr_bool(node, "transpose_b", false);
  leat_output_t x = leat_gradient_input(g, 0), y = leat_gradient_input(g, 1);
  leat_output_t wide_x = leat_arithmetic_cast(b, x, LEAT_DTYPE_FLOAT);
  leat_output_t wide_y = leat_arithmetic_cast(b, y, LEAT_DTYPE_FLOAT);
  leat_output_t dz = leat_gradient_of_output(g, 0);
  leat_output_t dx = transposed_x ? build_product(b, wide_y, transposed_y, dz, true)
                                  : build_product(b, dz, false, wide_y, !transposed_y);
  leat_output_t dy = transposed_y ? build_product(b, dz, true, wide_x, transposed_x)
                                  : build_product(b, wide_x, !transposed_x, dz, false);
  leat_gradient_set_input(g, 0, leat_arithmetic_cast(b, dx, leat_build_type_of(b, x)));
  leat_gradient_set_input(g, 1, leat_arithmetic_cast(b, dy, leat_build_type_of(b, y)));
  return leat_ok_status();
}

const leat_op_row_t leat_sparse_matmul_ops[] = {
    {.name = "SparseMatMul",
     .inputs = "a: Ta; b: Tb",
     .outputs = "product: float",
     .attrs = "transpose_a: bool = false; transpose_b: bool = false; a_is_sparse: bool = false; "
              "b_is_sparse: bool = false; Ta: {float, bfloat16} = float; "
              "Tb: {float, bfloat16} = float",
     .shape = leat_shape_matmul,
     .gradient = sparse_matmul_gradient,
     .contract = LEAT_RULES(LEAT_RULE_MATRIX(0), LEAT_RULE_MATRIX(1)),
     .doc = "The product of two matrices, one of which has many zeros."},
    LEAT_OP_ROWS_END,
};
