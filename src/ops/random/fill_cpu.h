// Arrays of random numbers from a generator. Output group g (four numbers; two of a type of 64
// bits) is made of the generator's group g; or of groups from a region of its own where a number
// may need several tries (truncated normal). So a group's numbers depend on nothing but the
// generator and g, and threads may share an array out as they like.
#ifndef LEAT_OPS_RANDOM_FILL_CPU_H_
#define LEAT_OPS_RANDOM_FILL_CPU_H_

#include "base/random.h"
#include "kernel/kernel.h"

typedef enum leat_random_kind_e {
  LEAT_RANDOM_UNIFORM,    // floating: [0, 1)
  LEAT_RANDOM_NORMAL,
  LEAT_RANDOM_TRUNCATED,  // normal, within two standard deviations
  LEAT_RANDOM_INTEGER,    // low + [0, range)
  LEAT_RANDOM_BITS,       // an integer type's whole range
} leat_random_kind_t;

// Samples (of 128 bits) that a generator sets aside for each number, as TensorFlow does.
#define LEAT_RANDOM_RESERVED 256

typedef struct leat_random_fill_s {
  leat_philox_t philox;
  leat_random_kind_t kind;
  int dtype;       // half, bfloat16, float, double; (u)int32, (u)int64
  int64_t low;     // of LEAT_RANDOM_INTEGER
  uint64_t range;  // likewise; > 0
} leat_random_fill_t;
void leat_random_fill(const leat_kernel_context_t* c, const leat_random_fill_t* fill, void* data,
                      int64_t count);

// The shape that input |index| states: a vector of sizes.
LEAT_MUST_USE leat_status_t leat_random_shape(const leat_kernel_context_t* c, int index,
                                              leat_shape_t* out_shape);
// Allocates output 0 of that shape.
LEAT_MUST_USE leat_status_t leat_random_output(leat_kernel_context_t* c, int shape_index,
                                               leat_tensor_t** out_tensor);
// low and range of [minval, maxval) given as scalar inputs |index| and |index| + 1.
LEAT_MUST_USE leat_status_t leat_random_bounds(const leat_kernel_context_t* c, int index,
                                               leat_random_fill_t* fill);

// Numbers one at a time, as the rejection samplers take them.
double leat_random_uniform_double(uint32_t high, uint32_t low);
// Two normal numbers from two words, or four. The C library's functions: TensorFlow's bits.
void leat_random_pair_float(const uint32_t words[2], float out_pair[2]);
void leat_random_pair_double(const uint32_t words[4], double out_pair[2]);

#endif  // LEAT_OPS_RANDOM_FILL_CPU_H_
