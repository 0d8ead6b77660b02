// The inner loops of batch normalisation, compiled for each instruction set in batch_norm_isa.c.
// They run over |rows| rows of |n| channels, dense arrays x[row * n + channel]; a vector has n
// elements, one for each channel. The kernels of batch_norm_cpu.c put the forward and the backward
// pass together from them, block of rows by block of rows, and the epilogue of fused convolutions
// (epilogue_cpu.c) uses |normalize|:
//
//   sum, squares  ─▶  mean, variance  ─▶  normalize        sum, products  ─▶  back
//
// Sums are added to what |sums| holds, so that a caller sets it to 0 first and can sum block by
// block. A column's sum is one running sum in the order of the rows. The outputs |y| and |dx| may
// be the input of the same shape. The loops touch nothing but their arguments; they neither
// allocate nor block, and may run on any thread.
#ifndef LEAT_OPS_NN_BATCH_NORM_CPU_H_
#define LEAT_OPS_NN_BATCH_NORM_CPU_H_

#include <stdint.h>

#include "base/cpu.h"

// The loops of one type; |factor| is scale / sqrt(variance + epsilon), and in |back| the vectors
// |dy_mean| and |slope| are 0 where mean and variance do not depend on x.
#define LEAT_BATCH_NORM_FIELDS(type, suffix)                                                   \
  /* sums += x */                                                                              \
  void (*sum_##suffix)(const type* x, int64_t rows, int64_t n, type* sums);                    \
  /* sums += (x - mean)^2 */                                                                   \
  void (*squares_##suffix)(const type* x, const type* mean, int64_t rows, int64_t n,           \
                           type* sums);                                                        \
  /* sums += dy (x - mean) */                                                                  \
  void (*products_##suffix)(const type* dy, const type* x, const type* mean, int64_t rows,     \
                            int64_t n, type* sums);                                            \
  /* y = (x - mean) factor + offset */                                                         \
  void (*normalize_##suffix)(const type* x, const type* mean, const type* factor,              \
                             const type* offset, type* y, int64_t rows, int64_t n);            \
  /* dx = factor (dy - dy_mean - (x - mean) slope) */                                          \
  void (*back_##suffix)(const type* dy, const type* x, const type* mean, const type* factor,   \
                        const type* dy_mean, const type* slope, type* dx, int64_t rows,        \
                        int64_t n);

typedef struct leat_batch_norm_loops_s {
  LEAT_BATCH_NORM_FIELDS(float, f32)
  LEAT_BATCH_NORM_FIELDS(double, f64)
} leat_batch_norm_loops_t;
LEAT_ISA_DECLARE(leat_batch_norm_loops_t, leat_batch_norm_loops);

#endif  // LEAT_OPS_NN_BATCH_NORM_CPU_H_
