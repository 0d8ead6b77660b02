// Ops around stochastic dual coordinate ascent (SDCA), which trains linear models:
//
//   SdcaFprint    strings [n] -> [n, 2], the 128 bits by which an example is known again
//   SdcaOptimizer, SdcaOptimizerV2
//                 one pass over a batch of examples: the steps that the weights should take, and
//                 the examples' state [examples, 4]: dual variable, loss, dual loss, weight
//   SdcaShrinkL1  moves weights toward 0 by l1 / l2, as the L1 norm in the loss demands
//
// The kernels are in sdca_cpu.c and sdca_optimizer_cpu.c.
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

// The deltas have the shapes of the weights, which stand before the last input.
static leat_status_t optimizer_shape(leat_inference_t* c) {
  leat_partial_shape_t states;
  LEAT_RETURN_IF_ERROR(
      leat_inference_make(c, 2, (const int64_t[]){LEAT_DIM_UNKNOWN, 4}, &states));
  leat_inference_set_output(c, 0, states);
  const int weights = c->node->output_count - 1;
  for (int i = 0; i < weights; ++i) {
    const int input = leat_inference_input_count(c) - 1 - weights + i;
    leat_inference_set_output(c, 1 + i, leat_inference_input(c, input));
  }
  return leat_ok_status();
}

#define OPTIMIZER(op, ADAPTIVE)                                                                 \
  {.name = op,                                                                                  \
   .inputs = "sparse_example_indices: num_sparse_features * int64; "                            \
             "sparse_feature_indices: num_sparse_features * int64; "                            \
             "sparse_feature_values: num_sparse_features_with_values * float; "                 \
             "dense_features: num_dense_features * float; example_weights: float; "             \
             "example_labels: float; sparse_indices: num_sparse_features * int64; "             \
             "sparse_weights: num_sparse_features * float; "                                    \
             "dense_weights: num_dense_features * float; example_state_data: float",            \
   .outputs = "out_example_state_data: float; "                                                 \
              "out_delta_sparse_weights: num_sparse_features * float; "                         \
              "out_delta_dense_weights: num_dense_features * float",                            \
   .attrs = "loss_type: {'logistic_loss', 'squared_loss', 'hinge_loss', 'smooth_hinge_loss', "  \
            "'poisson_loss'}; " ADAPTIVE ": bool = false; num_sparse_features: int >= 0; "      \
            "num_sparse_features_with_values: int >= 0; num_dense_features: int >= 0; "         \
            "l1: float; l2: float; num_loss_partitions: int >= 1; "                             \
            "num_inner_iterations: int >= 1",                                                   \
   .shape = optimizer_shape,                                                                    \
   .gradient = leat_gradient_none,                                                              \
   .doc = "A pass of stochastic dual coordinate ascent over examples of a linear model."}

const leat_op_row_t leat_sdca_ops[] = {
    OPTIMIZER("SdcaOptimizer", "adaptative"),
    OPTIMIZER("SdcaOptimizerV2", "adaptive"),
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
