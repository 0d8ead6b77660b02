// The paddings of a kernel, read and checked: a matrix [rank, 2] of int32 or int64, in which row d
// says how many elements are added before and after those of dimension d. The kernels of Pad,
// MirrorPad and the fused sum of pads (pad_sum_cpu.c) read theirs with this in each step, since
// paddings may be computed.
//
//   x [2, 3], paddings [[1, 0], [0, 2]]  ->  [3, 5]
#ifndef LEAT_OPS_ARRAY_PADDINGS_CPU_H_
#define LEAT_OPS_ARRAY_PADDINGS_CPU_H_

#include "kernel/kernel.h"

// The numbers of added elements, for |rank| dimensions. Plain data, owned by whoever declares it;
// it is 4 KiB large.
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
// Makes |shape| with the paddings added; the caller releases it. The rank must be that of the
// paddings. INVALID_ARGUMENT where a size or the number of elements would reach 2^63.
LEAT_MUST_USE leat_status_t leat_paddings_shape(const leat_kernel_context_t* c,
                                                const leat_paddings_t* paddings,
                                                const leat_shape_t* shape,
                                                leat_shape_t* out_shape);

#endif  // LEAT_OPS_ARRAY_PADDINGS_CPU_H_
