// One row of |n| classes, n > 0. |x| and the result may be the same row.
#ifndef LEAT_OPS_NN_SOFTMAX_CPU_H_
#define LEAT_OPS_NN_SOFTMAX_CPU_H_

#include <stdint.h>

#include "base/cpu.h"

typedef struct leat_softmax_rows_s {
  void (*softmax)(const void* x, void* y, int64_t n);
  void (*log_softmax)(const void* x, void* y, int64_t n);
  // loss = sum labels (log sum exp(x) - x); dx = (softmax(x) - labels) scale
  void (*cross_entropy)(const void* x, const void* labels, double scale, void* loss, void* dx,
                        int64_t n);
  // The same with labels that are 1 at |label| and 0 elsewhere.
  void (*sparse_cross_entropy)(const void* x, int64_t label, double scale, void* loss, void* dx,
                               int64_t n);
} leat_softmax_rows_t;
LEAT_ISA_DECLARE(leat_softmax_rows_t, leat_softmax_rows_f32);
LEAT_ISA_DECLARE(leat_softmax_rows_t, leat_softmax_rows_f64);

static inline const leat_softmax_rows_t* leat_softmax_rows(int is_double) {
  return is_double ? LEAT_ISA_SELECT(leat_softmax_rows_f64)
                   : LEAT_ISA_SELECT(leat_softmax_rows_f32);
}

#endif  // LEAT_OPS_NN_SOFTMAX_CPU_H_
