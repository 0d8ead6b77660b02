// The inner loops of the bias, compiled for each instruction set. A sum over one array runs in 64
// partial sums side by side: they fill the vector units, and rounding errors grow more slowly than
// in one running sum. The order of additions follows from the sizes alone. Sums over rows go by
// 1024 columns at a time, so that the sums stay in the first-level cache, and take four rows in one
// pass, so that each sum is loaded and stored once for four additions.
#include "base/checked.h"
#include "ops/nn/bias_cpu.h"

#define WIDTH 64        // partial sums of a whole array
#define COLUMNS 1024    // columns that sum_rows takes at a time

#define DEFINE(suffix, type)                                                                      \
  static void add_##suffix(const type* x, const type* bias, type* y, int64_t n) {                 \
    _Pragma("GCC ivdep") for (int64_t i = 0; i < n; ++i) y[i] = x[i] + bias[i];                   \
  }                                                                                               \
  static void shift_##suffix(const type* x, type bias, type* y, int64_t n) {                      \
    _Pragma("GCC ivdep") for (int64_t i = 0; i < n; ++i) y[i] = x[i] + bias;                      \
  }                                                                                               \
  static void sum_rows_##suffix(const type* x, int64_t rows, int64_t n, type* sums) {             \
    for (int64_t begin = 0; begin < n; begin += COLUMNS) {                                        \
      const int64_t count = LEAT_MIN(n - begin, COLUMNS);                                         \
      type* restrict to = sums + begin;                                                           \
      int64_t r = 0;                                                                              \
      for (; r + 4 <= rows; r += 4) {                                                             \
        const type* a = x + r * n + begin;                                                        \
        const type* b = a + n;                                                                    \
        const type* c = b + n;                                                                    \
        const type* d = c + n;                                                                    \
        for (int64_t i = 0; i < count; ++i) to[i] += (a[i] + b[i]) + (c[i] + d[i]);               \
      }                                                                                           \
      for (; r < rows; ++r) {                                                                     \
        const type* a = x + r * n + begin;                                                        \
        for (int64_t i = 0; i < count; ++i) to[i] += a[i];                                        \
      }                                                                                           \
    }                                                                                             \
  }                                                                                               \
  static type sum_##suffix(const type* x, int64_t n) {                                            \
    type sums[WIDTH] = {0};                                                                       \
    int64_t i = 0;                                                                                \
    for (; i + WIDTH <= n; i += WIDTH) {                                                          \
      LEAT_UNROLL for (int k = 0; k < WIDTH; ++k) sums[k] += x[i + k];                            \
    }                                                                                             \
    for (int k = 0; i < n; ++i, ++k) sums[k] += x[i];                                             \
    for (int half = WIDTH / 2; half > 0; half /= 2) {                                             \
      for (int k = 0; k < half; ++k) sums[k] += sums[k + half];                                   \
    }                                                                                             \
    return sums[0];                                                                               \
  }
DEFINE(f32, float)
DEFINE(f64, double)

extern const leat_bias_loops_t LEAT_ISA_NAME(leat_bias_loops);
const leat_bias_loops_t LEAT_ISA_NAME(leat_bias_loops) = {
    .add_f32 = add_f32,
    .add_f64 = add_f64,
    .shift_f32 = shift_f32,
    .shift_f64 = shift_f64,
    .sum_rows_f32 = sum_rows_f32,
    .sum_rows_f64 = sum_rows_f64,
    .sum_f32 = sum_f32,
    .sum_f64 = sum_f64,
};
