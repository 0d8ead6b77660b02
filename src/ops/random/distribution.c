// Definitions of the random ops that draw from a distribution. The stateful ones have a generator
// that belongs to the node, so that their numbers differ from step to step. The stateless ones are
// functions of the seed, or of the key and counter, that they are given. They have no state, so
// that they may be folded and shared like any other op, and a step that is repeated gives the same
// numbers.
//
//   Random*, ...        shape [rank]                             -> numbers of that shape
//   Random* of rates    shape, parameters [...]                  -> [shape..., parameters...]
//   StatelessRandom*    shape, seed [2]                          -> numbers
//   StatelessRandom*V2  shape, key [1], counter [2], alg []      -> numbers
//
// The second versions take what StatelessRandomGetKeyCounterAlg makes of a seed, so that a program
// can derive several generators from one seed. A stateful op with parameters draws as many samples
// as |shape| states for each of them. A stateless one has |shape| as the shape of its output, which
// must end with that of the parameters. Gamma distributed numbers, and the stateless normal numbers
// within bounds, have gradients. The kernels are in distribution_cpu.c, bounded_normal_cpu.c,
// gamma_cpu.c, multinomial_cpu.c, poisson_cpu.c and stateless_cpu.c.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/math/arithmetic.h"
#include "ops/op_rows.h"
#include "ops/random/random_key.h"

#define SUB leat_arithmetic_sub
#define MUL leat_arithmetic_mul
#define DIV leat_arithmetic_div
#define SCALE leat_arithmetic_scale

// ---- Shapes -------------------------------------------------------------------------------------
// Input 0 of each op states the shape of the output; a seed [2], or key, counter and algorithm, may
// follow.

// Sets output 0 to the shape that input 0 states.
static leat_status_t stated_shape(leat_inference_t* c) {
  leat_partial_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_inference_input_as_shape(c, 0, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

// The output has the shape that input 0 states, followed by the dimensions of input 1: so many
// samples are drawn for each parameter.
static leat_status_t stated_samples_shape(leat_inference_t* c) {
  leat_partial_shape_t samples, shape;
  LEAT_RETURN_IF_ERROR(leat_inference_input_as_shape(c, 0, &samples));
  LEAT_RETURN_IF_ERROR(
      leat_inference_concatenate(c, samples, leat_inference_input(c, 1), &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

// INVALID_ARGUMENT unless input |index| is a seed, of shape [2].
static leat_status_t check_seed(leat_inference_t* c, int index) {
  leat_partial_shape_t seed;
  int64_t unused;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, index), 1, &seed));
  return leat_inference_dim_with_value(leat_partial_shape_dim(seed, 0), 2, &unused);
}

// stated_shape, where input 1 is a seed.
static leat_status_t stated_seed_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(check_seed(c, 1));
  return stated_shape(c);
}

// stated_shape, where inputs 1, 2 and 3 are key [1], counter [n] and algorithm [].
static leat_status_t stated_key_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(leat_random_check_key(c));
  return stated_shape(c);
}

// ---- Uniform and normal numbers -----------------------------------------------------------------

static leat_status_t random_integer_shape(leat_inference_t* c) {
  leat_partial_shape_t unused;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 0, &unused));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 2), 0, &unused));
  return stated_shape(c);
}

#define FLOATING_ROW(op_name, words)                                                          \
  {.name = op_name,                                                                           \
   .inputs = "shape: T",                                                                      \
   .outputs = "output: dtype",                                                                \
   .attrs = "seed: int = 0; seed2: int = 0; dtype: {half, bfloat16, float, double}; "         \
            "T: {int32, int64}",                                                              \
   .flags = LEAT_OP_STATEFUL,                                                                 \
   .shape = stated_shape,                                                                     \
   .gradient = leat_gradient_none,                                                            \
   .doc = words}

// ---- Normal numbers within bounds ---------------------------------------------------------------
// ParameterizedTruncatedNormal and its stateless form draw with means, deviations and bounds that
// differ from row to row.

// The parameters are scalars or vectors, one element for each row of the output.
static leat_status_t bounded_shape(leat_inference_t* c) {
  for (int i = 1; i <= 4; ++i) {
    LEAT_RETURN_IF_ERROR(leat_inference_with_rank_at_most(c, leat_inference_input(c, i), 1));
  }
  return stated_shape(c);
}

// The parameters must broadcast against each other.
static leat_status_t stateless_bounded_shape(leat_inference_t* c) {
  leat_partial_shape_t all = leat_inference_input(c, 2);
  LEAT_RETURN_IF_ERROR(check_seed(c, 1));
  for (int i = 3; i <= 5; ++i) {
    LEAT_RETURN_IF_ERROR(leat_inference_broadcast(c, leat_inference_input(c, i), all, &all));
  }
  return stated_shape(c);
}

// With the random draws held fixed, a sample y of the stateless form is a smooth function of its
// parameters. Let z, a and b be the sample and the bounds, less the mean and over the deviation,
// and F the distribution of normal numbers. What stays is c = (F(z) - F(a)) / (F(b) - F(a)). Then
//
//   dy/dmean = 1     dy/ddeviation = z     dy/dlow = exp((z^2 - a^2) / 2) (1 - c)
//                                          dy/dhigh = exp((z^2 - b^2) / 2) c
//
// where c is kept away from 0 and 1, because the kernel computes c and 1 - c by their logarithms.

// (value - mean) / deviation of the node's parameters.
static leat_output_t build_standard(leat_gradient_t* g, leat_output_t value) {
  leat_builder_t* b = &g->builder;
  return DIV(b, SUB(b, value, leat_gradient_input(g, 2)), leat_gradient_input(g, 3));
}

// F(x) = erfc(-x / sqrt(2)) / 2
static leat_output_t build_normal_distribution(leat_builder_t* b, leat_output_t x) {
  return SCALE(b, leat_build_unary(b, "Erfc", SCALE(b, x, -0.70710678118654752)), 0.5);
}

// exp((z^2 - bound^2) / 2 + logarithm)
static leat_output_t build_bound_slope(leat_builder_t* b, leat_output_t z, leat_output_t bound,
                                       leat_output_t logarithm) {
  leat_output_t squares = SUB(b, leat_build_unary(b, "Square", z),
                              leat_build_unary(b, "Square", bound));
  return leat_build_unary(b, "Exp", leat_build_binary(b, "AddV2", SCALE(b, squares, 0.5),
                                                      logarithm));
}

// c, between the least normal number and 1 less the type's precision.
static leat_output_t build_share(leat_builder_t* b, leat_output_t z, leat_output_t low,
                                 leat_output_t high) {
  const int dtype = leat_build_type_of(b, z);
  const double least = dtype == LEAT_DTYPE_DOUBLE  ? 0x1p-1022
                       : dtype == LEAT_DTYPE_FLOAT ? 0x1p-126
                                                   : 0x1p-14;
  const double precision = dtype == LEAT_DTYPE_DOUBLE  ? 0x1p-52
                           : dtype == LEAT_DTYPE_FLOAT ? 0x1p-23
                                                       : 0x1p-10;
  leat_output_t below = build_normal_distribution(b, low);
  leat_output_t share = DIV(b, SUB(b, build_normal_distribution(b, z), below),
                            SUB(b, build_normal_distribution(b, high), below));
  share = leat_build_binary(b, "Minimum", share, leat_build_scalar(b, dtype, 1 - precision));
  return leat_build_binary(b, "Maximum", share, leat_build_scalar(b, dtype, least));
}

// Sets the gradient of input |index| to dy |slope|, summed over what the parameter was repeated
// for: the samples, and dimensions along which it was broadcast.
static void set_parameter_gradient(leat_gradient_t* g, int index, leat_output_t slope) {
  leat_builder_t* b = &g->builder;
  leat_output_t product = MUL(b, leat_gradient_of_output(g, 0), slope);
  leat_output_t shape = leat_build_unary(b, "Shape", leat_gradient_input(g, index));
  leat_output_t axes = leat_build_binary(b, "BroadcastGradientArgs", shape,
                                         leat_build_unary(b, "Shape", product));
  leat_gradient_set_input(
      g, index,
      leat_build_binary(b, "Reshape", leat_build_binary(b, "Sum", product, axes), shape));
}

static leat_status_t stateless_bounded_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  leat_output_t z = build_standard(g, leat_gradient_output(g, 0));
  leat_output_t low = build_standard(g, leat_gradient_input(g, 4));
  leat_output_t high = build_standard(g, leat_gradient_input(g, 5));
  leat_output_t share = build_share(b, z, low, high);
  leat_output_t rest = leat_build_unary(b, "Log1p", leat_build_unary(b, "Neg", share));
  set_parameter_gradient(g, 2, leat_build_unary(b, "OnesLike", z));
  set_parameter_gradient(g, 3, z);
  set_parameter_gradient(g, 4, build_bound_slope(b, z, low, rest));
  set_parameter_gradient(g, 5, build_bound_slope(b, z, high, leat_build_unary(b, "Log", share)));
  return leat_ok_status();
}

// ---- Gamma distributed numbers ------------------------------------------------------------------
// A sample has a derivative by alpha although it is random: with the random draws held fixed, it is
// a smooth function of alpha. RandomGammaGrad computes it by implicit differentiation (Figurnov,
// Mohamed, Mnih: "Implicit reparameterization gradients", 2018). The gradient sums dy times this
// derivative over all samples of one alpha. Shape and seed get none.

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

// ---- Classes ------------------------------------------------------------------------------------
// Multinomial and its stateless form draw classes from unnormalised log probabilities, logits
// [batch, classes], num_samples -> [batch, num_samples].

static leat_status_t multinomial_shape(leat_inference_t* c) {
  leat_partial_shape_t logits, unused, shape;
  leat_partial_value_t count;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 2, &logits));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 0, &unused));
  LEAT_RETURN_IF_ERROR(leat_inference_input_value(c, 1, &count));
  int64_t dims[2] = {leat_partial_shape_dim(logits, 0), LEAT_DIM_UNKNOWN};
  if (count.rank == 0 && count.items[0] != LEAT_VALUE_UNKNOWN) {
    if (count.items[0] < 0) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Shape inference failed: num_samples is %lld, must not be negative",
                              (long long)count.items[0]);
    }
    dims[1] = count.items[0];
  }
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 2, dims, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

static leat_status_t stateless_multinomial_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(check_seed(c, 2));
  return multinomial_shape(c);
}

#define LOGITS                                                                                  \
  "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}"

// Poisson and binomially distributed numbers.

#define RATE "{half, float, double, int32, int64}"

// ---- Stateless forms ----------------------------------------------------------------------------

// minval and maxval, at inputs |index| and |index| + 1, are scalars.
static leat_status_t check_bounds(leat_inference_t* c, int index) {
  leat_partial_shape_t unused;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, index), 0, &unused));
  return leat_inference_with_rank(c, leat_inference_input(c, index + 1), 0, &unused);
}

static leat_status_t seed_integer_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(check_bounds(c, 2));
  return stated_seed_shape(c);
}

static leat_status_t key_integer_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(check_bounds(c, 4));
  return stated_key_shape(c);
}

// The third output, the algorithm, exists only in StatelessRandomGetKeyCounterAlg.
static leat_status_t get_key_shape(leat_inference_t* c) {
  leat_partial_shape_t key, counter;
  LEAT_RETURN_IF_ERROR(check_seed(c, 0));
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 1, (const int64_t[]){1}, &key));
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 1, (const int64_t[]){2}, &counter));
  leat_inference_set_output(c, 0, key);
  leat_inference_set_output(c, 1, counter);
  if (c->node->output_count > 2) leat_inference_set_output(c, 2, leat_partial_shape_scalar());
  return leat_ok_status();
}

#define ROW(op_name, in, attributes, shape_fn, words) \
  {.name = op_name,                                   \
   .inputs = in,                                      \
   .outputs = "output: dtype",                        \
   .attrs = attributes,                               \
   .shape = shape_fn,                                 \
   .gradient = leat_gradient_none,                    \
   .doc = words}
#define FLOATING "dtype: {half, bfloat16, float, double} = float; "
#define SEED_INPUTS "shape: T; seed: Tseed"
#define SEED_ATTRS "T: {int32, int64} = int32; Tseed: {int32, int64} = int64"
#define KEY_INPUTS "shape: Tshape; key: uint64; counter: uint64; alg: int32"
#define KEY_ATTRS "Tshape: {int32, int64} = int32"

const leat_op_row_t leat_distribution_ops[] = {
    FLOATING_ROW("RandomUniform", "Uniform random numbers in [0, 1)."),
    FLOATING_ROW("RandomStandardNormal", "Normal random numbers of mean 0 and deviation 1."),
    FLOATING_ROW("TruncatedNormal",
                 "Normal random numbers; those beyond two deviations are drawn again."),
    {.name = "RandomUniformInt",
     .inputs = "shape: T; minval: Tout; maxval: Tout",
     .outputs = "output: Tout",
     .attrs = "seed: int = 0; seed2: int = 0; Tout: {int32, int64}; T: {int32, int64}",
     .flags = LEAT_OP_STATEFUL,
     .shape = random_integer_shape,
     .doc = "Uniform random integers in [minval, maxval)."},
    {.name = "ParameterizedTruncatedNormal",
     .inputs = "shape: T; means: dtype; stdevs: dtype; minvals: dtype; maxvals: dtype",
     .outputs = "output: dtype",
     .attrs = "seed: int = 0; seed2: int = 0; dtype: {half, bfloat16, float, double}; "
              "T: {int32, int64}",
     .flags = LEAT_OP_STATEFUL,
     .shape = bounded_shape,
     .gradient = leat_gradient_none,
     .doc = "Normal numbers within bounds; a row of the output for each set of parameters."},
    {.name = "StatelessParameterizedTruncatedNormal",
     .inputs = "shape: S; seed: Tseed; means: dtype; stddevs: dtype; minvals: dtype; "
               "maxvals: dtype",
     .outputs = "output: dtype",
     .attrs = "S: {int32, int64}; Tseed: {int32, int64} = int64; dtype: {half, float, double}",
     .shape = stateless_bounded_shape,
     .gradient = stateless_bounded_gradient,
     .doc = "Normal numbers within bounds, of a seed; shape ends with that of the parameters."},
    {.name = "RandomGamma",
     .inputs = "shape: S; alpha: T",
     .outputs = "output: T",
     .attrs = "seed: int = 0; seed2: int = 0; S: {int32, int64}; T: {half, float, double}",
     .flags = LEAT_OP_STATEFUL,
     .shape = stated_samples_shape,
     .gradient = stateful_gradient,
     .doc = "Gamma distributed numbers, for each alpha as many as shape states."},
    {.name = "StatelessRandomGammaV2",
     .inputs = "shape: T; seed: Tseed; alpha: dtype",
     .outputs = "output: dtype",
     .attrs = "dtype: {half, float, double}; T: {int32, int64}; Tseed: {int32, int64} = int64",
     .shape = stated_seed_shape,
     .gradient = stateless_v2_gradient,
     .doc = "Gamma distributed numbers of a seed; shape ends with alpha's."},
    {.name = "StatelessRandomGammaV3",
     .inputs = "shape: shape_dtype; key: uint64; counter: uint64; alg: int32; alpha: dtype",
     .outputs = "output: dtype",
     .attrs = "dtype: {half, float, double}; shape_dtype: {int32, int64} = int32",
     .shape = stated_key_shape,
     .gradient = stateless_v3_gradient,
     .doc = "Gamma distributed numbers of a key and counter; shape ends with alpha's."},
    {.name = "RandomGammaGrad",
     .inputs = "alpha: T; sample: T",
     .outputs = "output: T",
     .attrs = "T: {float, double}",
     .shape = leat_shape_broadcast_binary,
     .doc = "The derivative of a gamma distributed sample by alpha."},
    {.name = "Multinomial",
     .inputs = "logits: T; num_samples: int32",
     .outputs = "output: output_dtype",
     .attrs = "seed: int = 0; seed2: int = 0; " LOGITS "; output_dtype: {int32, int64} = int64",
     .flags = LEAT_OP_STATEFUL,
     .shape = multinomial_shape,
     .gradient = leat_gradient_none,
     .doc = "For each row of unnormalised log probabilities, classes drawn with them."},
    {.name = "StatelessMultinomial",
     .inputs = "logits: T; num_samples: int32; seed: Tseed",
     .outputs = "output: output_dtype",
     .attrs = LOGITS "; Tseed: {int32, int64} = int64; output_dtype: {int32, int64} = int64",
     .shape = stateless_multinomial_shape,
     .gradient = leat_gradient_none,
     .doc = "For each row of unnormalised log probabilities, classes drawn of a seed."},
    {.name = "RandomPoisson",
     .inputs = "shape: S; rate: dtype",
     .outputs = "output: dtype",
     .attrs = "seed: int = 0; seed2: int = 0; S: {int32, int64}; dtype: {half, float, double}",
     .flags = LEAT_OP_STATEFUL,
     .shape = stated_samples_shape,
     .doc = "Poisson distributed numbers; use RandomPoissonV2.",
     .deprecated_since = 25,
     .deprecation = "Replaced by RandomPoissonV2"},
    {.name = "RandomPoissonV2",
     .inputs = "shape: S; rate: R",
     .outputs = "output: dtype",
     .attrs = "seed: int = 0; seed2: int = 0; S: {int32, int64}; R: " RATE " = double; "
              "dtype: " RATE " = int64",
     .flags = LEAT_OP_STATEFUL,
     .shape = stated_samples_shape,
     .doc = "Poisson distributed numbers, for each rate as many as shape states."},
    {.name = "StatelessRandomPoisson",
     .inputs = "shape: T; seed: Tseed; lam: Rtype",
     .outputs = "output: dtype",
     .attrs = "Rtype: " RATE "; dtype: " RATE "; T: {int32, int64}; "
              "Tseed: {int32, int64} = int64",
     .shape = stated_seed_shape,
     .gradient = leat_gradient_none,
     .doc = "Poisson distributed numbers of a seed; shape ends with that of the rates."},
    {.name = "StatelessRandomBinomial",
     .inputs = "shape: S; seed: Tseed; counts: T; probs: T",
     .outputs = "output: dtype",
     .attrs = "S: {int32, int64}; Tseed: {int32, int64} = int64; T: " RATE " = double; "
              "dtype: " RATE " = int64",
     .shape = stated_seed_shape,
     .gradient = leat_gradient_none,
     .doc = "How many of counts tries of probability probs succeed, of a seed."},
    ROW("StatelessRandomUniform", SEED_INPUTS, FLOATING SEED_ATTRS, stated_seed_shape,
        "Uniform random numbers in [0, 1) of a seed."),
    ROW("StatelessRandomNormal", SEED_INPUTS, FLOATING SEED_ATTRS, stated_seed_shape,
        "Normal random numbers of a seed."),
    ROW("StatelessTruncatedNormal", SEED_INPUTS, FLOATING SEED_ATTRS, stated_seed_shape,
        "Normal random numbers within two deviations, of a seed."),
    ROW("StatelessRandomUniformInt", SEED_INPUTS "; minval: dtype; maxval: dtype",
        "dtype: {int32, int64}; T: {int32, int64}; Tseed: {int32, int64} = int64",
        seed_integer_shape, "Uniform random integers in [minval, maxval) of a seed."),
    ROW("StatelessRandomUniformFullInt", SEED_INPUTS,
        "dtype: {int32, int64, uint32, uint64} = uint64; T: {int32, int64} = int32; "
        "Tseed: {int32, int64, uint32, uint64} = int64",
        stated_seed_shape, "Uniform random integers of a type's whole range, of a seed."),
    ROW("StatelessRandomUniformV2", KEY_INPUTS, FLOATING KEY_ATTRS, stated_key_shape,
        "Uniform random numbers in [0, 1) of a key and counter."),
    ROW("StatelessRandomNormalV2", KEY_INPUTS, FLOATING KEY_ATTRS, stated_key_shape,
        "Normal random numbers of a key and counter."),
    ROW("StatelessTruncatedNormalV2", KEY_INPUTS, FLOATING KEY_ATTRS, stated_key_shape,
        "Normal random numbers within two deviations, of a key and counter."),
    ROW("StatelessRandomUniformIntV2", KEY_INPUTS "; minval: dtype; maxval: dtype",
        "dtype: {int32, int64, uint32, uint64}; " KEY_ATTRS, key_integer_shape,
        "Uniform random integers in [minval, maxval) of a key and counter."),
    ROW("StatelessRandomUniformFullIntV2", KEY_INPUTS,
        "dtype: {int32, int64, uint32, uint64} = uint64; " KEY_ATTRS, stated_key_shape,
        "Uniform random integers of a type's whole range, of a key and counter."),
    {.name = "StatelessRandomGetKeyCounter",
     .inputs = "seed: Tseed",
     .outputs = "key: uint64; counter: uint64",
     .attrs = "Tseed: {int32, int64} = int64",
     .shape = get_key_shape,
     .doc = "The key and counter that a seed is scrambled to."},
    {.name = "StatelessRandomGetKeyCounterAlg",
     .inputs = "seed: Tseed",
     .outputs = "key: uint64; counter: uint64; alg: int32",
     .attrs = "Tseed: {int32, int64} = int64",
     .shape = get_key_shape,
     .doc = "The key, counter and algorithm that a seed stands for."},
    {.name = "StatelessRandomGetAlg",
     .outputs = "alg: int32",
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_scalar_output,
     .doc = "The algorithm of the device's generators."},
    LEAT_OP_ROWS_END,
};
