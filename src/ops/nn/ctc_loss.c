// Definition of CTCLoss, connectionist temporal classification (Graves et al., 2006): the loss of a
// sequence of labels whose positions in time are not known.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/nn/subgraph.h"
#include "ops/op_rows.h"

static leat_status_t loss_shape(leat_inference_t* c) {
  static const int kRanks[] = {3, 2, 1, 1};
  leat_partial_shape_t in[4], loss;
  int64_t unused, dims[3];
  for (int i = 0; i < 4; ++i) {
    LEAT_RETURN_IF_ERROR(
        leat_inference_with_rank(c, leat_inference_input(c, i), kRanks[i], &in[i]));
  }
  LEAT_RETURN_IF_ERROR(leat_inference_merge_dim(leat_partial_shape_dim(in[1], 0),
                                                leat_partial_shape_dim(in[2], 0), &unused));
  for (int d = 0; d < 3; ++d) dims[d] = leat_partial_shape_dim(in[0], d);
  LEAT_RETURN_IF_ERROR(
      leat_inference_merge_dim(dims[1], leat_partial_shape_dim(in[3], 0), &dims[1]));
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 1, &dims[1], &loss));
  leat_inference_set_output(c, 0, loss);
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 3, dims, &in[0]));
  leat_inference_set_output(c, 1, in[0]);
  return leat_ok_status();
}

// Output 1 of the op is already the gradient of the loss, so it is only scaled. PreventGradient
// stops a second differentiation, because the graph does not say how output 1 follows from the
// inputs.
static leat_status_t loss_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t fixed = leat_build_unary(b, "PreventGradient", leat_gradient_output(g, 1));
  leat_output_t scale = leat_subgraph_expand(b, leat_gradient_of_output(g, 0), -1);
  leat_gradient_set_input(g, 0, leat_build_binary(b, "Mul", scale, fixed));
  return leat_ok_status();
}

#define INPUTS(type) \
  "inputs: " type "; labels_indices: int64; labels_values: int32; sequence_length: int32"
#define ATTRS                                                                       \
  "preprocess_collapse_repeated: bool = false; ctc_merge_repeated: bool = true; "   \
  "ignore_longer_outputs_than_inputs: bool = false"

const leat_op_row_t leat_ctc_loss_ops[] = {
    {.name = "CTCLoss",
     .inputs = INPUTS("T"),
     .outputs = "loss: T; gradient: T",
     .attrs = ATTRS "; T: {float, double} = float",
     .shape = loss_shape,
     .gradient = loss_gradient,
     .doc = "Minus the log of the probability of each sequence of labels, with its gradient."},
    LEAT_OP_ROWS_END,
};
