// Sums as AddN computes them: term after term, halves rounded once, after the last addition.
#ifndef LEAT_OPS_MATH_ADD_N_CPU_H_
#define LEAT_OPS_MATH_ADD_N_CPU_H_

#include "ops/math/elementwise_cpu.h"

// The state of a kernel whose output 0 is the sum.
typedef struct leat_add_n_s {
  leat_elementwise_loop_t add;
  int64_t element_bytes;
  bool is_half, is_bfloat16;  // summed as float
} leat_add_n_t;

LEAT_MUST_USE leat_status_t leat_add_n_create(leat_kernel_creation_t* c, void* state);

// What is added.
typedef struct leat_add_n_terms_s {
  int count;             // at least 2
  bool overwrites_late;  // the sum's bytes are those of a term after the first
  // Where elements [index, index + n) of term |i| lie: in |room|, if they had to be put together;
  // NULL: all are zero.
  const void* (*at)(const void* data, int i, int64_t index, int64_t n, void* room);
  const void* data;
} leat_add_n_terms_t;

// Writes elements [begin, end) of the sum, which is |output|.
void leat_add_n_run(const leat_add_n_t* add_n, const leat_add_n_terms_t* terms, int64_t begin,
                    int64_t end, void* output);

#endif  // LEAT_OPS_MATH_ADD_N_CPU_H_
