// Definitions of the stateless random ops: their output is a function of the seed, or of the key
// and counter, that they are given. They have no state, so that they may be folded and shared like
// any other op, and a step that is repeated gives the same numbers. stateless_cpu.c has the
// kernels.
//
//   StatelessRandom*    shape, seed [2]                    -> numbers
//   StatelessRandom*V2  shape, key [1], counter [2], alg []  -> numbers
//
// The second versions take what StatelessRandomGetKeyCounterAlg makes of a seed, so that a program
// can derive several generators from one seed. None of them has a gradient with respect to shape or
// seed.
#include "graph/gradient.h"
#include "ops/op_rows.h"
#include "ops/random/stated_shape.h"

// minval and maxval, at inputs |index| and |index| + 1, are scalars.
static leat_status_t check_bounds(leat_inference_t* c, int index) {
  leat_partial_shape_t unused;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, index), 0, &unused));
  return leat_inference_with_rank(c, leat_inference_input(c, index + 1), 0, &unused);
}

static leat_status_t seed_integer_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(check_bounds(c, 2));
  return leat_shape_stated_seed(c);
}

static leat_status_t key_integer_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(check_bounds(c, 4));
  return leat_shape_stated_key(c);
}

// The third output, the algorithm, exists only in StatelessRandomGetKeyCounterAlg.
static leat_status_t get_key_shape(leat_inference_t* c) {
  leat_partial_shape_t key, counter;
  LEAT_RETURN_IF_ERROR(leat_shape_check_seed(c, 0));
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

const leat_op_row_t leat_stateless_ops[] = {
    ROW("StatelessRandomUniform", SEED_INPUTS, FLOATING SEED_ATTRS, leat_shape_stated_seed,
        "Uniform random numbers in [0, 1) of a seed."),
    ROW("StatelessRandomNormal", SEED_INPUTS, FLOATING SEED_ATTRS, leat_shape_stated_seed,
        "Normal random numbers of a seed."),
    ROW("StatelessTruncatedNormal", SEED_INPUTS, FLOATING SEED_ATTRS, leat_shape_stated_seed,
        "Normal random numbers within two deviations, of a seed."),
    ROW("StatelessRandomUniformInt", SEED_INPUTS "; minval: dtype; maxval: dtype",
        "dtype: {int32, int64}; T: {int32, int64}; Tseed: {int32, int64} = int64",
        seed_integer_shape, "Uniform random integers in [minval, maxval) of a seed."),
    ROW("StatelessRandomUniformFullInt", SEED_INPUTS,
        "dtype: {int32, int64, uint32, uint64} = uint64; T: {int32, int64} = int32; "
        "Tseed: {int32, int64, uint32, uint64} = int64",
        leat_shape_stated_seed, "Uniform random integers of a type's whole range, of a seed."),
    ROW("StatelessRandomUniformV2", KEY_INPUTS, FLOATING KEY_ATTRS, leat_shape_stated_key,
        "Uniform random numbers in [0, 1) of a key and counter."),
    ROW("StatelessRandomNormalV2", KEY_INPUTS, FLOATING KEY_ATTRS, leat_shape_stated_key,
        "Normal random numbers of a key and counter."),
    ROW("StatelessTruncatedNormalV2", KEY_INPUTS, FLOATING KEY_ATTRS, leat_shape_stated_key,
        "Normal random numbers within two deviations, of a key and counter."),
    ROW("StatelessRandomUniformIntV2", KEY_INPUTS "; minval: dtype; maxval: dtype",
        "dtype: {int32, int64, uint32, uint64}; " KEY_ATTRS, key_integer_shape,
        "Uniform random integers in [minval, maxval) of a key and counter."),
    ROW("StatelessRandomUniformFullIntV2", KEY_INPUTS,
        "dtype: {int32, int64, uint32, uint64} = uint64; " KEY_ATTRS, leat_shape_stated_key,
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
