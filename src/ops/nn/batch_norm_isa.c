// The inner loops of batch normalisation, compiled once for each instruction set. The compiler
// makes vector instructions of them: channels are consecutive and independent. batch_norm_cpu.h
// says what each computes.
#include "ops/nn/batch_norm_cpu.h"

#define ROWS(statement)                                                                    \
  for (int64_t r = 0; r < rows; ++r) {                                                     \
    const int64_t row = r * n;                                                             \
    _Pragma("GCC ivdep") for (int64_t i = 0; i < n; ++i) { statement; }                    \
  }

#define DEFINE(type, suffix)                                                               \
  static void sum_##suffix(const type* x, int64_t rows, int64_t n, type* sums) {           \
    ROWS(sums[i] += x[row + i])                                                            \
  }                                                                                        \
  static void squares_##suffix(const type* x, const type* mean, int64_t rows, int64_t n,   \
                               type* sums) {                                               \
    ROWS(const type d = x[row + i] - mean[i]; sums[i] += d * d)                            \
  }                                                                                        \
  static void products_##suffix(const type* dy, const type* x, const type* mean,           \
                                int64_t rows, int64_t n, type* sums) {                     \
    ROWS(sums[i] += dy[row + i] * (x[row + i] - mean[i]))                                  \
  }                                                                                        \
  static void normalize_##suffix(const type* x, const type* mean, const type* factor,      \
                                 const type* offset, type* y, int64_t rows, int64_t n) {   \
    ROWS(y[row + i] = (x[row + i] - mean[i]) * factor[i] + offset[i])                      \
  }                                                                                        \
  static void back_##suffix(const type* dy, const type* x, const type* mean,               \
                            const type* factor, const type* dy_mean, const type* slope,    \
                            type* dx, int64_t rows, int64_t n) {                           \
    ROWS(dx[row + i] =                                                                     \
             factor[i] * ((dy[row + i] - dy_mean[i]) - (x[row + i] - mean[i]) * slope[i])) \
  }
DEFINE(float, f32)
DEFINE(double, f64)

#define FIELDS(suffix)                                                                        \
  .sum_##suffix = sum_##suffix, .squares_##suffix = squares_##suffix,                         \
  .products_##suffix = products_##suffix, .normalize_##suffix = normalize_##suffix,           \
  .back_##suffix = back_##suffix
extern const leat_batch_norm_loops_t LEAT_ISA_NAME(leat_batch_norm_loops);
const leat_batch_norm_loops_t LEAT_ISA_NAME(leat_batch_norm_loops) = {FIELDS(f32), FIELDS(f64)};
