// Sums of squares, compiled for each instruction set. 64 partial sums run side by side: one sum
// would wait for each addition, and many small sums lose fewer bits than one large one.
#include "ops/nn/l2_loss_cpu.h"

#define WIDTH 64

#define DEFINE(name, type)                                               \
  static double name(const type* x, int64_t n) {                         \
    type sums[WIDTH] = {0};                                              \
    int64_t i = 0;                                                       \
    for (; i + WIDTH <= n; i += WIDTH) {                                 \
      LEAT_UNROLL for (int k = 0; k < WIDTH; ++k) {                      \
        sums[k] += x[i + k] * x[i + k];                                  \
      }                                                                  \
    }                                                                    \
    double total = 0;                                                    \
    for (int k = 0; k < WIDTH; ++k) total += (double)sums[k];            \
    for (; i < n; ++i) total += (double)x[i] * (double)x[i];             \
    return total;                                                        \
  }
DEFINE(sum_f32, float)
DEFINE(sum_f64, double)

extern const leat_square_sums_t LEAT_ISA_NAME(leat_square_sums);
const leat_square_sums_t LEAT_ISA_NAME(leat_square_sums) = {sum_f32, sum_f64};
