// Sums as AddN computes them: term after term, with half and bfloat16 summed as float and rounded
// once. Kernels whose terms are not whole tensors use this too: they give each piece of a term on
// demand.
#ifndef LEAT_OPS_MATH_ADD_N_CPU_H_
#define LEAT_OPS_MATH_ADD_N_CPU_H_

#include "ops/math/elementwise_cpu.h"

// The state of a kernel whose output 0 is a sum. It is immutable after creation.
typedef struct leat_add_n_s {
  leat_elementwise_loop_t add;
  int64_t element_bytes;
  bool is_half, is_bfloat16;  // the terms are summed as float
} leat_add_n_t;

LEAT_MUST_USE leat_status_t leat_add_n_create(leat_kernel_creation_t* c, void* state);

// The terms of a sum.
typedef struct leat_add_n_terms_s {
  int count;             // at least 2
  bool overwrites_late;  // the output's bytes are those of a term after the first
  // Returns where elements [index, index + n) of term |i| lie. It may write them to |room| and
  // return that; NULL says that all of them are zero. Called on any thread.
  const void* (*at)(const void* data, int i, int64_t index, int64_t n, void* room);
  const void* data;
} leat_add_n_terms_t;

// Writes elements [begin, end) of the sum to |output|, the start of the whole output.
void leat_add_n_run(const leat_add_n_t* add_n, const leat_add_n_terms_t* terms, int64_t begin,
                    int64_t end, void* output);

#endif  // LEAT_OPS_MATH_ADD_N_CPU_H_
