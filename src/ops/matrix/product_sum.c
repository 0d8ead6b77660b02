// Ops for sums of products that a loop carries from iteration to iteration, such as the gradient of
// a weight that every iteration uses. The optimizer's pass "defer" rewrites such a sum to these
// ops, which delay the products so that many small ones become one deep one; product_sum_cpu.c says
// how.
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

static leat_status_t finish_shape(leat_inference_t* c) {
  leat_inference_set_output(c, 0, leat_partial_shape_unknown());
  return leat_ok_status();
}

#define FLOATS "T: {float, double}"

const leat_op_row_t leat_product_sum_ops[] = {
    {.name = "_StartProductSum",
     .inputs = "value: T",
     .outputs = "sum: variant",
     .attrs = FLOATS,
     .escaping_inputs = 1,
     .shape = leat_shape_scalar_output,
     .doc = "A sum that begins with a value."},
    {.name = "_AddToProductSum",
     .cost = LEAT_COST_CONTRACTION,
     .inputs = "a: T; b: T; sum: variant",
     .outputs = "new_sum: variant",
     .attrs = "transpose_a: bool = false; transpose_b: bool = false; " FLOATS
              "; grad_a: bool = false; grad_b: bool = false",
     .escaping_inputs = 1 << 2,
     .shape = leat_shape_scalar_output,
     .contract = LEAT_RULES(LEAT_RULE_MATRIX(0), LEAT_RULE_MATRIX(1)),
     .sums = LEAT_SUMS_IN_LOOPS,
     .sum = "_FinishProductSum",
     .doc = "Adds the product of two matrices, as _MatMulAdd does."},
    {.name = "_FinishProductSum",
     .inputs = "sum: variant",
     .outputs = "value: T",
     .attrs = FLOATS,
     .shape = finish_shape,
     .sums = LEAT_SUMS_IN_LOOPS,
     .sum = "_StartProductSum",
     .doc = "The sum's value."},
    LEAT_OP_ROWS_END,
};
