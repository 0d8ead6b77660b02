// Functions over one row of |n| logits, n > 0, of float or double as the table says. The result may
// overwrite the logits. They neither allocate nor block. The kernels of the softmax and of the
// cross entropies call them for each row of a shard.
#ifndef LEAT_OPS_NN_SOFTMAX_CPU_H_
#define LEAT_OPS_NN_SOFTMAX_CPU_H_

#include <stdint.h>

#include "base/cpu.h"

typedef struct leat_softmax_rows_s {
  // y = exp(x) / sum exp(x); and its logarithm.
  void (*softmax)(const void* x, void* y, int64_t n);
  void (*log_softmax)(const void* x, void* y, int64_t n);
  // loss = sum labels (log sum exp(x) - x); dx = (softmax(x) - labels) scale.
  void (*cross_entropy)(const void* x, const void* labels, double scale, void* loss, void* dx,
                        int64_t n);
  // The same for labels that are 1 at |label|, which must be in [0, n), and 0 elsewhere.
  void (*sparse_cross_entropy)(const void* x, int64_t label, double scale, void* loss, void* dx,
                               int64_t n);
} leat_softmax_rows_t;
LEAT_ISA_DECLARE(leat_softmax_rows_t, leat_softmax_rows_f32);
LEAT_ISA_DECLARE(leat_softmax_rows_t, leat_softmax_rows_f64);

// The table of this machine's instruction set.
static inline const leat_softmax_rows_t* leat_softmax_rows(int is_double) {
  return is_double ? LEAT_ISA_SELECT(leat_softmax_rows_f64)
                   : LEAT_ISA_SELECT(leat_softmax_rows_f32);
}

#endif  // LEAT_OPS_NN_SOFTMAX_CPU_H_
