// Arrays of random numbers from a Philox generator, with the bits that TensorFlow gives for the
// same generator. Output group g (four numbers; two of a type of 64 bits) is made of the
// generator's group g, or of a region of groups where a number may need several tries (truncated
// normal). So the numbers of a group depend on nothing but the generator and g, and threads may
// share out an array in any way.
//
// All functions may be called by several kernels at once; leat_random_fill runs on the step's pool
// and blocks until the array is full.
#ifndef LEAT_OPS_RANDOM_FILL_CPU_H_
#define LEAT_OPS_RANDOM_FILL_CPU_H_

#include "base/random.h"
#include "kernel/kernel.h"

// The distributions that an array is filled with.
typedef enum leat_random_kind_e {
  LEAT_RANDOM_UNIFORM,    // floating-point numbers in [0, 1)
  LEAT_RANDOM_NORMAL,
  LEAT_RANDOM_TRUNCATED,  // normal, within two standard deviations
  LEAT_RANDOM_INTEGER,    // integers in [low, low + range)
  LEAT_RANDOM_BITS,       // integers of the whole range of their type
} leat_random_kind_t;

// Samples (of 128 bits) that a generator sets aside for each number, as TensorFlow does, so that a
// number may need any practical number of tries.
#define LEAT_RANDOM_RESERVED 256

// What to fill with.
typedef struct leat_random_fill_s {
  leat_philox_t philox;
  leat_random_kind_t kind;
  int dtype;       // half, bfloat16, float, double; (u)int32, (u)int64
  int64_t low;     // of LEAT_RANDOM_INTEGER only
  uint64_t range;  // of LEAT_RANDOM_INTEGER only; > 0
} leat_random_fill_t;
// Fills |data| with |count| numbers.
void leat_random_fill(const leat_kernel_context_t* c, const leat_random_fill_t* fill, void* data,
                      int64_t count);

// Reads a shape from input |index|, a vector of sizes; the caller releases it. INVALID_ARGUMENT
// when it is none.
LEAT_MUST_USE leat_status_t leat_random_shape(const leat_kernel_context_t* c, int index,
                                              leat_shape_t* out_shape);
// Allocates output 0 with the shape that input |shape_index| holds.
LEAT_MUST_USE leat_status_t leat_random_output(leat_kernel_context_t* c, int shape_index,
                                               leat_tensor_t** out_tensor);
// Sets low and range of |fill| from minval and maxval, the scalar inputs |index| and |index| + 1.
// INVALID_ARGUMENT unless minval < maxval.
LEAT_MUST_USE leat_status_t leat_random_bounds(const leat_kernel_context_t* c, int index,
                                               leat_random_fill_t* fill);

// A uniform number in [0, 1) from 52 bits of two words.
double leat_random_uniform_double(uint32_t high, uint32_t low);
// Two normal numbers (Box-Muller) from two words, or from four. They use the functions of the C
// library, and so have TensorFlow's bits.
void leat_random_pair_float(const uint32_t words[2], float out_pair[2]);
void leat_random_pair_double(const uint32_t words[4], double out_pair[2]);

#endif  // LEAT_OPS_RANDOM_FILL_CPU_H_
