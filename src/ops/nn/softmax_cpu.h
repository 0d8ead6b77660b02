// Functions over one row of |n| logits, n > 0, of float or double as the table says. The kernels of
// the softmax and of the cross entropies call them for each row of a shard:
//
//   leat_softmax_rows(dtype == LEAT_DTYPE_DOUBLE)->softmax(x, y, classes);
//
// The largest logit is subtracted first, so that no exponential overflows, and sums are in double.
// A NaN among the logits makes the whole result NaN. The results |y| and |dx| may overwrite the
// logits, but not the labels. The functions neither allocate nor block. softmax_isa.c has them,
// compiled for each instruction set.
#ifndef LEAT_OPS_NN_SOFTMAX_CPU_H_
#define LEAT_OPS_NN_SOFTMAX_CPU_H_

#include <stdint.h>

#include "base/cpu.h"

// The functions over one type. |x|, |labels|, |y| and |dx| are arrays of |n| of its elements.
typedef struct leat_softmax_rows_s {
  // y = exp(x) / sum exp(x); and its logarithm.
  void (*softmax)(const void* x, void* y, int64_t n);
  void (*log_softmax)(const void* x, void* y, int64_t n);
  // loss = sum labels (log sum exp(x) - x), one element; dx = (softmax(x) - labels) scale, which is
  // the gradient only where the labels add up to 1, as TensorFlow has it.
  void (*cross_entropy)(const void* x, const void* labels, double scale, void* loss, void* dx,
                        int64_t n);
  // The cross entropy with labels that are 1 at |label|, which must be in [0, n), and 0 elsewhere.
  void (*sparse_cross_entropy)(const void* x, int64_t label, double scale, void* loss, void* dx,
                               int64_t n);
} leat_softmax_rows_t;
LEAT_ISA_DECLARE(leat_softmax_rows_t, leat_softmax_rows_f32);
LEAT_ISA_DECLARE(leat_softmax_rows_t, leat_softmax_rows_f64);

// The table of this machine's instruction set, for double or for float.
static inline const leat_softmax_rows_t* leat_softmax_rows(int is_double) {
  return is_double ? LEAT_ISA_SELECT(leat_softmax_rows_f64)
                   : LEAT_ISA_SELECT(leat_softmax_rows_f32);
}

#endif  // LEAT_OPS_NN_SOFTMAX_CPU_H_
