// Definitions of the random ops whose generator lies in a variable, so that a program can make,
// save, restore and fork it. The variable is a vector of int64; for Philox it holds the counter in
// two elements and the key in the third.
//
//   Stateful*             resource, algorithm [], shape [rank]  -> numbers of that shape
//   RngSkip               resource, algorithm [], delta []      moves the generator on
//   RngReadAndSkip        resource, alg [], delta []            -> the state before the move [3]
//   NonDeterministicInts  shape [rank]                          -> numbers that no seed repeats
//
// An op moves the generator on by as much as any op does that draws so many numbers.
// StatefulStandardNormal, which is older, finds the algorithm in the variable's first element. The
// kernels are in variable_generator_cpu.c and poisson_cpu.c.
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

// Sets output 0 to the shape that input |index| states, and checks the scalars at inputs 1 to
// |index| - 1 and behind |index|.
static leat_status_t stated_at(leat_inference_t* c, int index, bool scalars_follow) {
  leat_partial_shape_t shape;
  for (int i = 1; i < (scalars_follow ? leat_inference_input_count(c) : index); ++i) {
    if (i != index) LEAT_RETURN_IF_ERROR(leat_shape_check_scalar(c, i));
  }
  LEAT_RETURN_IF_ERROR(leat_inference_input_as_shape(c, index, &shape));
  leat_inference_set_output(c, 0, shape);
  return leat_ok_status();
}

static leat_status_t numbers_shape(leat_inference_t* c) { return stated_at(c, 2, false); }
static leat_status_t integers_shape(leat_inference_t* c) { return stated_at(c, 2, true); }
static leat_status_t first_version_shape(leat_inference_t* c) { return stated_at(c, 1, false); }
static leat_status_t system_shape(leat_inference_t* c) { return stated_at(c, 0, false); }

static leat_status_t skip_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(leat_shape_check_scalar(c, 1));
  return leat_shape_check_scalar(c, 2);
}

static leat_status_t read_and_skip_shape(leat_inference_t* c) {
  static const int64_t kThree[] = {3};
  leat_partial_shape_t state;
  LEAT_RETURN_IF_ERROR(skip_shape(c));
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 1, kThree, &state));
  leat_inference_set_output(c, 0, state);
  return leat_ok_status();
}

#define RATE "{half, float, double, int32, int64}"
// Behind the description may stand further fields.
#define ROW(op, more_inputs, default_type, shape_fn, ...)                \
  {.name = op,                                                           \
   .inputs = "resource: resource; " more_inputs,                         \
   .outputs = "output: dtype",                                           \
   .attrs = "dtype: type = " default_type "; shape_dtype: type = int64", \
   .flags = LEAT_OP_STATEFUL,                                            \
   .shape = shape_fn,                                                    \
   .doc = __VA_ARGS__}
#define SHAPE "algorithm: int64; shape: shape_dtype"

const leat_op_row_t leat_variable_generator_ops[] = {
    ROW("StatefulUniform", SHAPE, "float", numbers_shape,
        "Uniform random numbers in [0, 1) of a generator in a variable."),
    ROW("StatefulStandardNormalV2", SHAPE, "float", numbers_shape,
        "Normal random numbers of a generator in a variable."),
    ROW("StatefulTruncatedNormal", SHAPE, "float", numbers_shape,
        "Normal random numbers within two deviations, of a generator in a variable."),
    ROW("StatefulUniformInt", SHAPE "; minval: dtype; maxval: dtype", "int64", integers_shape,
        "Uniform random integers in [minval, maxval) of a generator in a variable."),
    ROW("StatefulUniformFullInt", SHAPE, "uint64", numbers_shape,
        "Uniform random integers of a type's whole range, of a generator in a variable."),
    ROW("StatefulStandardNormal", "shape: shape_dtype", "float", first_version_shape,
        "Normal random numbers of a generator in a variable, which names the algorithm.",
        .deprecated_since = 29, .deprecation = "Use StatefulStandardNormalV2 instead"),
    {.name = "StatefulRandomBinomial",
     .inputs = "resource: resource; algorithm: int64; shape: S; counts: T; probs: T",
     .outputs = "output: dtype",
     .attrs = "S: {int32, int64}; T: " RATE " = double; dtype: " RATE " = int64",
     .flags = LEAT_OP_STATEFUL,
     .shape = numbers_shape,
     .doc = "How many of counts tries of probability probs succeed, of a generator in a variable."},
    {.name = "RngSkip",
     .inputs = "resource: resource; algorithm: int64; delta: int64",
     .flags = LEAT_OP_STATEFUL,
     .shape = skip_shape,
     .doc = "Moves a generator in a variable on by delta numbers."},
    {.name = "RngReadAndSkip",
     .inputs = "resource: resource; alg: int32; delta: uint64",
     .outputs = "value: int64",
     .flags = LEAT_OP_STATEFUL,
     .shape = read_and_skip_shape,
     .doc = "Moves a generator in a variable on by delta numbers, and gives what it was before."},
    {.name = "NonDeterministicInts",
     .inputs = "shape: shape_dtype",
     .outputs = "output: dtype",
     .attrs = "dtype: type = int64; shape_dtype: type = int64",
     .flags = LEAT_OP_STATEFUL,
     .shape = system_shape,
     .doc = "Random integers of a type's whole range that no seed repeats."},
    LEAT_OP_ROWS_END,
};
