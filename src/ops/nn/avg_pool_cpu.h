// The inner loops of average pools, on wide tensors with the channels last. |average| computes the
// output rows [begin, end) (leat_pool_rows), |spread| the images [begin, end) of the gradient.
#ifndef LEAT_OPS_NN_AVG_POOL_CPU_H_
#define LEAT_OPS_NN_AVG_POOL_CPU_H_

#include "base/cpu.h"
#include "ops/nn/pool_cpu.h"

typedef struct leat_avg_pool_loops_s {
  void (*average_f32)(const leat_pool_t* pool, const void* x, void* y, int64_t begin, int64_t end);
  void (*average_f64)(const leat_pool_t* pool, const void* x, void* y, int64_t begin, int64_t end);
  void (*spread_f32)(const leat_pool_t* pool, const void* dy, void* dx, int64_t begin, int64_t end);
  void (*spread_f64)(const leat_pool_t* pool, const void* dy, void* dx, int64_t begin, int64_t end);
} leat_avg_pool_loops_t;
LEAT_ISA_DECLARE(leat_avg_pool_loops_t, leat_avg_pool_loops);

#endif  // LEAT_OPS_NN_AVG_POOL_CPU_H_
