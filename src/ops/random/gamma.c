// Definitions of the ops that draw gamma distributed numbers, and their gradients. gamma_cpu.c has
// the kernels. The stateful op draws as many samples as shape states for each alpha; the stateless
// ones take the whole output's shape, which must end with that of alpha.
//
// A sample has a derivative by alpha although it is random: with the random draws held fixed, it is
// a smooth function of alpha. RandomGammaGrad computes it by implicit differentiation (Figurnov,
// Mohamed, Mnih: "Implicit reparameterization gradients", 2018). The gradient sums dy times this
// derivative over all samples of one alpha. Shape and seed get none.
#include "graph/gradient.h"
#include "ops/op_rows.h"
#include "ops/random/stated_shape.h"

// ---- Gradients ----------------------------------------------------------------------------------

// Sets the gradient of input |alpha_index|. The samples of an alpha lie in the leading dimensions
// of the output; |extra| is their number, an int32 scalar. Alpha is reshaped so that it broadcasts
// against the samples, and the products are summed over these dimensions.
static void set_alpha_gradient(leat_gradient_t* g, int alpha_index, leat_output_t extra) {
  leat_builder_t* b = &g->builder;
  leat_output_t alpha = leat_gradient_input(g, alpha_index);
  leat_output_t zero = leat_build_scalar(b, LEAT_DTYPE_INT32, 0);
  leat_output_t one = leat_build_scalar(b, LEAT_DTYPE_INT32, 1);
  leat_output_t count = leat_build_binary(b, "ExpandDims", extra, zero);
  leat_output_t ones = leat_build_binary(b, "Fill", count, one);
  leat_output_t shape = leat_build(b, "ConcatV2",
                                   LEAT_INPUTS(ones, leat_build_shape_of(b, alpha), zero),
                                   LEAT_NO_ATTRS);
  leat_output_t spread = leat_build_binary(b, "Reshape", alpha, shape);
  leat_output_t partial =
      leat_build_binary(b, "RandomGammaGrad", spread, leat_gradient_output(g, 0));
  leat_output_t axes =
      leat_build(b, "Range", LEAT_INPUTS(zero, extra, one), LEAT_NO_ATTRS);
  leat_output_t product =
      leat_build_binary(b, "Mul", leat_gradient_of_output(g, 0), partial);
  leat_gradient_set_input(g, alpha_index, leat_build_binary(b, "Sum", product, axes));
}

static leat_status_t stateful_gradient(leat_gradient_t* g) {
  set_alpha_gradient(g, 1, leat_build_unary(&g->builder, "Size", leat_gradient_input(g, 0)));
  return leat_ok_status();
}

static void set_stateless_gradient(leat_gradient_t* g, int alpha_index) {
  leat_builder_t* b = &g->builder;
  leat_output_t rank = leat_build_unary(b, "Rank", leat_gradient_input(g, alpha_index));
  leat_output_t all = leat_build_unary(b, "Size", leat_gradient_input(g, 0));
  set_alpha_gradient(g, alpha_index, leat_build_binary(b, "Sub", all, rank));
}

static leat_status_t stateless_v2_gradient(leat_gradient_t* g) {
  set_stateless_gradient(g, 2);
  return leat_ok_status();
}

static leat_status_t stateless_v3_gradient(leat_gradient_t* g) {
  set_stateless_gradient(g, 4);
  return leat_ok_status();
}

const leat_op_row_t leat_gamma_ops[] = {
    {.name = "RandomGamma",
     .inputs = "shape: S; alpha: T",
     .outputs = "output: T",
     .attrs = "seed: int = 0; seed2: int = 0; S: {int32, int64}; T: {half, float, double}",
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_stated_samples,
     .gradient = stateful_gradient,
     .doc = "Gamma distributed numbers, for each alpha as many as shape states."},
    {.name = "StatelessRandomGammaV2",
     .inputs = "shape: T; seed: Tseed; alpha: dtype",
     .outputs = "output: dtype",
     .attrs = "dtype: {half, float, double}; T: {int32, int64}; Tseed: {int32, int64} = int64",
     .shape = leat_shape_stated_seed,
     .gradient = stateless_v2_gradient,
     .doc = "Gamma distributed numbers of a seed; shape ends with alpha's."},
    {.name = "StatelessRandomGammaV3",
     .inputs = "shape: shape_dtype; key: uint64; counter: uint64; alg: int32; alpha: dtype",
     .outputs = "output: dtype",
     .attrs = "dtype: {half, float, double}; shape_dtype: {int32, int64} = int32",
     .shape = leat_shape_stated_key,
     .gradient = stateless_v3_gradient,
     .doc = "Gamma distributed numbers of a key and counter; shape ends with alpha's."},
    {.name = "RandomGammaGrad",
     .inputs = "alpha: T; sample: T",
     .outputs = "output: T",
     .attrs = "T: {float, double}",
     .shape = leat_shape_broadcast_binary,
     .doc = "The derivative of a gamma distributed sample by alpha."},
    LEAT_OP_ROWS_END,
};
