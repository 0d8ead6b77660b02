// Ops around stochastic dual coordinate ascent (SDCA), which trains linear models:
//
//   SdcaFprint    strings [n] -> [n, 2], the 128 bits by which an example is known again
//   SdcaShrinkL1  moves weights toward 0 by l1 / l2, as the L1 norm in the loss demands
//
// The kernels are in sdca_cpu.c.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

static leat_status_t fprint_shape(leat_inference_t* c) {
  leat_partial_shape_t input, output;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 1, &input));
  LEAT_RETURN_IF_ERROR(
      leat_inference_make(c, 2, (const int64_t[]){input.dims[0], 2}, &output));
  leat_inference_set_output(c, 0, output);
  return leat_ok_status();
}

const leat_op_row_t leat_sdca_ops[] = {
    {.name = "SdcaFprint",
     .inputs = "input: string",
     .outputs = "output: int64",
     .shape = fprint_shape,
     .gradient = leat_gradient_none,
     .contract = LEAT_RULES(LEAT_RULE_VECTOR(0)),
     .doc = "FarmHash's Fingerprint128 of each string."},
    {.name = "SdcaShrinkL1",
     .inputs = "weights: Ref(num_features * float)",
     .attrs = "num_features: int >= 0; l1: float; l2: float",
     .shape = leat_shape_none,
     .gradient = leat_gradient_none,
     .doc = "Moves each weight toward 0 by l1 / l2, and not beyond it."},
    LEAT_OP_ROWS_END,
};
