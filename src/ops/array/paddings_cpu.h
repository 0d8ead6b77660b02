// The paddings of a kernel, read and checked: a matrix [rank, 2].
#ifndef LEAT_OPS_ARRAY_PADDINGS_CPU_H_
#define LEAT_OPS_ARRAY_PADDINGS_CPU_H_

#include "kernel/kernel.h"

typedef struct leat_paddings_s {
  int rank;
  int64_t before[LEAT_SHAPE_MAX_RANK];
  int64_t after[LEAT_SHAPE_MAX_RANK];
  bool is_none;  // all are 0
} leat_paddings_t;

// Reads input |input| of a kernel as the paddings of a tensor of |rank|. INVALID_ARGUMENT for a
// wrong shape or a negative number.
LEAT_MUST_USE leat_status_t leat_paddings_read(const leat_kernel_context_t* c, int input, int rank,
                                               leat_paddings_t* out_paddings);
// Makes |shape| with the paddings added; the caller releases it. INVALID_ARGUMENT where a size
// would reach 2^63.
LEAT_MUST_USE leat_status_t leat_paddings_shape(const leat_kernel_context_t* c,
                                                const leat_paddings_t* paddings,
                                                const leat_shape_t* shape,
                                                leat_shape_t* out_shape);

#endif  // LEAT_OPS_ARRAY_PADDINGS_CPU_H_
