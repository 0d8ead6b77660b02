// The CPU kernel of StochasticCastToInt, with TensorFlow's results for the same key and counter. A
// number x is rounded with a uniform number u of [0, 1), in the arithmetic of its type:
//
//   x >= 0: floor(x + 1 - u)      x < 0: floor(x + u)
//
// The results are TensorFlow's bit for bit, which takes following its kernel in what looks odd:
//   - The first word of the counter seeds the key of the generator, and the key its counter.
//   - One number at a time, each that is no integer already takes a group of the generator and
//     uses its first word. Casts to int32 go by vectors instead (8 floats, 4 doubles, as TensorFlow
//     is built for x86-64): each vector takes one group, whose numbers are repeated until they fill
//     it, and computes x + (1 - u). What is left behind the last vector goes one at a time.
//   - Numbers beyond the limits of the integer become the limit, rounded to the type of x; where
//     that lies beyond the integer itself (2^31 as a float, 2^15 as a half), the conversion wraps
//     as the processor's does. NaN is 0.
//
// How many groups went before is known only when the numbers before were seen, so the loop runs on
// one thread, as TensorFlow's does.
#include <math.h>

#include "device/cpu/half.h"
#include "kernel/step_check.h"
#include "ops/kernel_rows.h"
#include "ops/random/fill_cpu.h"
#include "ops/random/stateless_cpu.h"

typedef struct rounding_s {
  leat_philox_t philox;
  int from;          // dtype of the input
  double low, high;  // limits of the output's type, rounded to |from|
} rounding_t;

// Rounds |x| to |dtype|. A sum or a difference of two numbers of a type, computed in double, has
// bits enough that rounding it twice does no harm.
static double narrow(int dtype, double x) {
  switch (dtype) {
    case LEAT_DTYPE_HALF: return leat_half_to_float(leat_half_from_float((float)x));
    case LEAT_DTYPE_BFLOAT16: return leat_bfloat16_to_float(leat_bfloat16_from_float((float)x));
    case LEAT_DTYPE_FLOAT: return (float)x;
    default: return x;
  }
}

static double number_at(const leat_tensor_t* input, int64_t i) {
  switch (input->dtype) {
    case LEAT_DTYPE_HALF: return leat_half_to_float(leat_tensor_data(input, const uint16_t)[i]);
    case LEAT_DTYPE_BFLOAT16:
      return leat_bfloat16_to_float(leat_tensor_data(input, const uint16_t)[i]);
    case LEAT_DTYPE_FLOAT: return leat_tensor_data(input, const float)[i];
    default: return leat_tensor_data(input, const double)[i];
  }
}

// Number |i| of the uniform numbers that a group of the generator gives in the type of the input.
static double uniform_of(int dtype, const uint32_t words[4], int i) {
  switch (dtype) {
    case LEAT_DTYPE_HALF: return (words[i] & 0x3ff) * 0x1p-10;
    case LEAT_DTYPE_BFLOAT16: return (words[i] & 0x7f) * 0x1p-7;
    case LEAT_DTYPE_FLOAT: return (words[i] & 0x7fffff) * 0x1p-23;
    default: return leat_random_uniform_double(words[2 * i], words[2 * i + 1]);
  }
}

// Whether the result follows from |x| alone; it is |*out_result| then.
static bool is_certain(const rounding_t* r, double x, double* out_result) {
  *out_result = isnan(x) ? 0 : x >= r->high ? r->high : x <= r->low ? r->low : x;
  return *out_result != x || floor(x) == x;
}

// Converts as x86-64 does: what no int32 holds is -2^31, and of it the low bits are kept.
static void store(leat_tensor_t* output, int64_t i, double x) {
  const int32_t whole = x >= -0x1p31 && x < 0x1p31 ? (int32_t)x : INT32_MIN;
  switch (output->dtype) {
    case LEAT_DTYPE_INT8: leat_tensor_data(output, uint8_t)[i] = (uint8_t)whole; break;
    case LEAT_DTYPE_INT16: leat_tensor_data(output, uint16_t)[i] = (uint16_t)whole; break;
    default: leat_tensor_data(output, int32_t)[i] = whole;
  }
}

static void round_one(rounding_t* r, const leat_tensor_t* input, int64_t i, leat_tensor_t* output) {
  const double x = number_at(input, i);
  double result;
  if (!is_certain(r, x, &result)) {
    uint32_t words[4];
    leat_philox_next(&r->philox, words);
    const double u = uniform_of(r->from, words, 0);
    result = floor(x < 0 ? narrow(r->from, x + u)
                         : narrow(r->from, narrow(r->from, x + 1) - u));
  }
  store(output, i, result);
}

static void round_vector(rounding_t* r, const leat_tensor_t* input, int64_t begin, int lanes,
                         leat_tensor_t* output) {
  const int distinct = r->from == LEAT_DTYPE_DOUBLE ? 2 : 4;
  uint32_t words[4];
  leat_philox_next(&r->philox, words);
  for (int k = 0; k < lanes; ++k) {
    const double x = number_at(input, begin + k);
    double result;
    if (!is_certain(r, x, &result)) {
      const double u = uniform_of(r->from, words, k % distinct);
      result = floor(narrow(r->from, x < 0 ? x + u : x + narrow(r->from, 1 - u)));
    }
    store(output, begin + k, result);
  }
}

// How many numbers TensorFlow rounds at a time.
static int vector_lanes(int from, int to) {
  if (to != LEAT_DTYPE_INT32) return 1;
  return from == LEAT_DTYPE_FLOAT ? 8 : from == LEAT_DTYPE_DOUBLE ? 4 : 1;
}

static leat_status_t stochastic_cast__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_stateless_check_key(c, 1, 1));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &input->shape, &output));
  const int bits = 8 * (int)leat_dtype_size(output->dtype);
  rounding_t r = {.philox = leat_philox_make(
                      *leat_tensor_data(leat_kernel_input(c, 2), const uint64_t),
                      *leat_tensor_data(leat_kernel_input(c, 1), const uint64_t)),
                  .from = input->dtype,
                  .low = narrow(input->dtype, -ldexp(1, bits - 1)),
                  .high = narrow(input->dtype, ldexp(1, bits - 1) - 1)};
  const int lanes = vector_lanes(r.from, output->dtype);
  const int64_t count = input->shape.element_count;
  leat_step_pace_t pace = leat_step_pace_of(c);
  int64_t i = 0;
  for (; lanes > 1 && i + lanes <= count; i += lanes) {
    round_vector(&r, input, i, lanes, output);
    LEAT_RETURN_IF_ERROR(leat_step_pace_count(&pace, 10 * lanes));
  }
  for (; i < count; ++i) {
    round_one(&r, input, i, output);
    LEAT_RETURN_IF_ERROR(leat_step_pace_count(&pace, 15));
  }
  return leat_ok_status();
}

const leat_kernel_row_t leat_stochastic_cast_kernels_cpu[] = {
    {.op = "StochasticCastToInt",
     .device_type = "CPU",
     .compute = stochastic_cast__cpu,
     .expensive = true},
    LEAT_KERNEL_ROWS_END,
};
