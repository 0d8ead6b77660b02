// Definition of L2Loss, half the sum of squares of a tensor; its gradient is t dloss.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

static leat_status_t l2_loss_gradient(leat_gradient_t* g) {
  leat_gradient_set_input(g, 0,
                          leat_build_binary(&g->builder, "Mul", leat_gradient_input(g, 0),
                                            leat_gradient_of_output(g, 0)));
  return leat_ok_status();
}

const leat_op_row_t leat_l2_loss_ops[] = {
    {.name = "L2Loss",
     .inputs = "t: T",
     .outputs = "output: T",
     .attrs = "T: {half, bfloat16, float, double}",
     .shape = leat_shape_scalar_output,
     .gradient = l2_loss_gradient,
     .doc = "Half the sum of the squares."},
    LEAT_OP_ROWS_END,
};
