// The folds of reductions, compiled once per instruction set; reducer_cpu.c chooses among them. A
// sum of floats depends on the order of the additions, and all instruction sets must give the same
// bits. The order is therefore fixed here as if a vector always had 64 floats (16 doubles), however
// many registers that takes:
//
//   element i ─▶ lane i % 64 of float sums ─▶ every 16 additions: lanes added up ─▶ double
//
// Floats are added in float for at most FLOAT_RUN additions per lane and then added to a double.
// This keeps the speed of float vectors with almost the accuracy of double sums. Integers, maxima
// and minima do not depend on the order, so that the compiler vectorizes them as it likes.
// vector_math_lanes.h defines the width of the instruction set's vectors.
#include "ops/math/reduction_cpu.h"

#include <stdbool.h>

#include "base/checked.h"
#include "device/cpu/vector_math_lanes.h"
#include "ops/math/loops_cpu.h"

#define FLOAT_LANES 64
#define FLOAT_VECTORS (FLOAT_LANES / LANES)
#define DOUBLE_LANES 16
#define DOUBLE_VECTORS (DOUBLE_LANES / HALF_LANES)
#define FLOAT_RUN 16  // additions of a lane before its float sum is added to a double
#define RUN 64  // the same for doubles, and rows for sums of columns
#define BLOCK 512  // columns whose float sums are kept at once

ALWAYS_INLINE doubles_t load_doubles(const double* p) {
  doubles_t v;
  memcpy(&v, p, sizeof v);
  return v;
}
ALWAYS_INLINE doubles_t widen_floats(const float* p) {
  half_floats_t v;
  memcpy(&v, p, sizeof v);
  return __builtin_convertvector(v, doubles_t);
}

typedef float float_lanes_t __attribute__((vector_size(64)));
typedef double double_lanes_t __attribute__((vector_size(64)));
typedef double quad_doubles_t __attribute__((vector_size(32)));
typedef double pair_t __attribute__((vector_size(16)));
// Neighbouring lanes of |v| from lane |i| on.
#define TWO_OF(v, i) __builtin_shufflevector(v, v, i, (i) + 1)
#define FOUR_OF(v, i) __builtin_shufflevector(v, v, i, (i) + 1, (i) + 2, (i) + 3)
#define EIGHT_OF(v, i)                                                                         \
  __builtin_shufflevector(v, v, i, (i) + 1, (i) + 2, (i) + 3, (i) + 4, (i) + 5, (i) + 6, (i) + 7)
ALWAYS_INLINE quad_doubles_t widen_quad(const float* p) {
#if defined(__AVX2__)
  return (quad_doubles_t)_mm256_cvtps_pd(_mm_loadu_ps(p));
#else
  return (quad_doubles_t){(double)p[0], (double)p[1], (double)p[2], (double)p[3]};
#endif
}

// ---- Rows of floats and doubles -----------------------------------------------------------------

// Adds the lanes to two sums, one of the even and one of the odd lanes, by adding halves to each
// other. A complex number needs both; a float adds them up.
ALWAYS_INLINE pair_t add_lanes(const floats_t sums[FLOAT_VECTORS]) {
  float_lanes_t quarters[4];
  memcpy(quarters, sums, sizeof quarters);
  const float_lanes_t all = (quarters[0] + quarters[1]) + (quarters[2] + quarters[3]);
  const double_lanes_t wide = __builtin_convertvector(EIGHT_OF(all, 0), double_lanes_t) +
                              __builtin_convertvector(EIGHT_OF(all, 8), double_lanes_t);
  const quad_doubles_t four = FOUR_OF(wide, 0) + FOUR_OF(wide, 4);
  return TWO_OF(four, 0) + TWO_OF(four, 2);
}

// Computes the sums of the even and of the odd elements of fewer than 64.
ALWAYS_INLINE pair_t sum_few_f32(const float* x, int64_t n) {
  quad_doubles_t sums = {0};
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) sums += widen_quad(x + i);
  const double a = i < n ? (double)x[i] : 0, b = i + 1 < n ? (double)x[i + 1] : 0;
  const double c = i + 2 < n ? (double)x[i + 2] : 0;
  return (TWO_OF(sums, 0) + (pair_t){a, b}) + (TWO_OF(sums, 2) + (pair_t){c, 0});
}

// Computes the sums of the even and of the odd ones of |n| elements, a multiple of 64 and at most
// one run.
ALWAYS_INLINE pair_t sum_run_f32(const float* x, int64_t n) {
  floats_t sums[FLOAT_VECTORS];
  LEAT_UNROLL for (int v = 0; v < FLOAT_VECTORS; ++v) sums[v] = (floats_t){0};
  for (int64_t i = 0; i < n; i += FLOAT_LANES) {
    LEAT_UNROLL for (int v = 0; v < FLOAT_VECTORS; ++v) sums[v] += load_floats(x + i + v * LANES);
  }
  return add_lanes(sums);
}

// Sums the next run of a row, or its rest when no 64 elements are left, and advances the row behind
// it.
ALWAYS_INLINE pair_t take_run_f32(const float** inout_x, int64_t* inout_n) {
  const float* x = *inout_x;
  const int64_t n = *inout_n;
  const int64_t whole = LEAT_MIN(n - n % FLOAT_LANES, FLOAT_RUN * FLOAT_LANES);
  *inout_x += whole ? whole : n;
  *inout_n -= whole ? whole : n;
  return whole ? sum_run_f32(x, whole) : sum_few_f32(x, n);
}

// Adds a row, run by run: because every run ends in the double total, a row that is given in pieces
// of whole runs has the same sum.
static void sum_row_f32(const void* data, int64_t n, void* accumulator) {
  const float* x = data;
  double total = *(double*)accumulator;
  while (n > 0) {
    const pair_t sum = take_run_f32(&x, &n);
    total += sum[0] + sum[1];
  }
  *(double*)accumulator = total;
}
static void sum_row_c64(const void* data, int64_t n, void* accumulator) {
  const float* x = data;
  pair_t total;
  memcpy(&total, accumulator, sizeof total);
  for (n *= 2; n > 0;) total += take_run_f32(&x, &n);
  memcpy(accumulator, &total, sizeof total);
}
#define ADD(total, x) ((total) + (x))
#define MULTIPLY(total, x) ((total) * (x))
#define ADD_SQUARE(total, x) ((total) + (x) * (x))

// Folds of rows in double: sum_row_f64, prod_row_f32, prod_row_f64, norm_row_f32, norm_row_f64.
#define FN(name) sum_##name##_f64
#define TYPE double
#define LOAD load_doubles
#define IDENTITY 0
#define COMBINE ADD
#define JOIN ADD
#include "ops/math/reduction_lanes.inc"

#define FN(name) prod_##name##_f32
#define TYPE float
#define LOAD widen_floats
#define IDENTITY 1
#define COMBINE MULTIPLY
#define JOIN MULTIPLY
#include "ops/math/reduction_lanes.inc"

#define FN(name) prod_##name##_f64
#define TYPE double
#define LOAD load_doubles
#define IDENTITY 1
#define COMBINE MULTIPLY
#define JOIN MULTIPLY
#include "ops/math/reduction_lanes.inc"

#define FN(name) norm_##name##_f32
#define TYPE float
#define LOAD widen_floats
#define IDENTITY 0
#define COMBINE ADD_SQUARE
#define JOIN ADD
#include "ops/math/reduction_lanes.inc"

#define FN(name) norm_##name##_f64
#define TYPE double
#define LOAD load_doubles
#define IDENTITY 0
#define COMBINE ADD_SQUARE
#define JOIN ADD
#include "ops/math/reduction_lanes.inc"

// Extrema of rows: max_row_f32, min_row_f32, max_row_f64, min_row_f64.
#define FN(name) max_##name##_f32
#define TYPE float
#define VECTOR floats_t
#define WIDTH LANES
#define LOAD load_floats
#define SELECT select_floats
#define WINS >
#include "ops/math/reduction_extremum.inc"

#define FN(name) min_##name##_f32
#define TYPE float
#define VECTOR floats_t
#define WIDTH LANES
#define LOAD load_floats
#define SELECT select_floats
#define WINS <
#include "ops/math/reduction_extremum.inc"

#define FN(name) max_##name##_f64
#define TYPE double
#define VECTOR doubles_t
#define WIDTH HALF_LANES
#define LOAD load_doubles
#define SELECT select_doubles
#define WINS >
#include "ops/math/reduction_extremum.inc"

#define FN(name) min_##name##_f64
#define TYPE double
#define VECTOR doubles_t
#define WIDTH HALF_LANES
#define LOAD load_doubles
#define SELECT select_doubles
#define WINS <
#include "ops/math/reduction_extremum.inc"

// ---- Rows folded into one another ---------------------------------------------------------------

// Adds up to RUN rows in float, four rows at a time, per block of columns, and then to the doubles.
static void sum_rows_f32(const void* data, int64_t stride, int64_t rows, int64_t n,
                         void* accumulators) {
  double* totals = accumulators;
  for (int64_t begin = 0; begin < n; begin += BLOCK) {
    const int64_t width = LEAT_MIN(n - begin, BLOCK);
    for (int64_t first = 0; first < rows; first += RUN) {
      const int64_t end = LEAT_MIN(rows, first + RUN);
      const float* x = (const float*)data + first * stride + begin;
      float sums[BLOCK];
      memcpy(sums, x, (size_t)width * sizeof *sums);
      int64_t r = first + 1;
      x += stride;
      for (; r + 4 <= end; r += 4, x += 4 * stride) {
        const float *a = x, *b = x + stride, *c = b + stride, *d = c + stride;
        for (int64_t j = 0; j < width; ++j) sums[j] += (a[j] + b[j]) + (c[j] + d[j]);
      }
      for (; r < end; ++r, x += stride) {
        for (int64_t j = 0; j < width; ++j) sums[j] += x[j];
      }
      for (int64_t j = 0; j < width; ++j) totals[begin + j] += (double)sums[j];
    }
  }
}

// Defines a fold of rows by the expression |combine| over |total| and |x|.
#define ROWS(name, type, total_type, combine)                                       \
  static void name(const void* data, int64_t stride, int64_t rows, int64_t n,       \
                   void* accumulators) {                                            \
    total_type* totals = accumulators;                                              \
    for (int64_t r = 0; r < rows; ++r) {                                            \
      const type* xs = (const type*)data + r * stride;                              \
      LEAT_LOOP_INDEPENDENT                                                         \
      for (int64_t j = 0; j < n; ++j) {                                             \
        const total_type x = (total_type)xs[j], total = totals[j];                  \
        totals[j] = combine;                                                        \
      }                                                                             \
    }                                                                               \
  }
ROWS(sum_rows_f64, double, double, total + x)
ROWS(prod_rows_f32, float, double, total * x)
ROWS(prod_rows_f64, double, double, total * x)
ROWS(norm_rows_f32, float, double, total + x * x)
ROWS(norm_rows_f64, double, double, total + x * x)
ROWS(max_rows_f32, float, double, x > total || x != x ? x : total)
ROWS(max_rows_f64, double, double, x > total || x != x ? x : total)
ROWS(min_rows_f32, float, double, x < total || x != x ? x : total)
ROWS(min_rows_f64, double, double, x < total || x != x ? x : total)
static void sum_rows_c64(const void* data, int64_t stride, int64_t rows, int64_t n, void* totals) {
  sum_rows_f32(data, 2 * stride, rows, 2 * n, totals);
}

// ---- Integers -----------------------------------------------------------------------------------

#define INTEGER_ROW(name, type, total_type, combine)                                \
  static void name(const void* data, int64_t n, void* accumulator) {                \
    const type* xs = data;                                                          \
    total_type total = *(total_type*)accumulator;                                   \
    for (int64_t i = 0; i < n; ++i) {                                               \
      const total_type x = (total_type)xs[i];                                       \
      total = combine;                                                              \
    }                                                                               \
    *(total_type*)accumulator = total;                                              \
  }
#define INTEGER(suffix, type)                                                       \
  INTEGER_ROW(sum_row_##suffix, type, uint64_t, total + x)                          \
  INTEGER_ROW(max_row_##suffix, type, int64_t, x > total ? x : total)               \
  INTEGER_ROW(min_row_##suffix, type, int64_t, x < total ? x : total)               \
  ROWS(sum_rows_##suffix, type, uint64_t, total + x)                                \
  ROWS(max_rows_##suffix, type, int64_t, x > total ? x : total)                     \
  ROWS(min_rows_##suffix, type, int64_t, x < total ? x : total)
INTEGER(i32, int32_t)
INTEGER(i64, int64_t)

// ---- The table ----------------------------------------------------------------------------------

#define FOLD(KIND, op, suffix) [LEAT_FOLD_##KIND] = {op##_row_##suffix, op##_rows_##suffix}
#define FLOATS_OF(op) FOLD(F32, op, f32), FOLD(F64, op, f64)
#define INTEGERS_OF(op) FOLD(I32, op, i32), FOLD(I64, op, i64)

extern const leat_folds_t LEAT_ISA_NAME(leat_folds);
const leat_folds_t LEAT_ISA_NAME(leat_folds) = {.items = {
    [LEAT_REDUCTION_SUM] = {FLOATS_OF(sum), INTEGERS_OF(sum), FOLD(U64, sum, i64),
                            FOLD(C64, sum, c64)},
    [LEAT_REDUCTION_PROD] = {FLOATS_OF(prod)},
    [LEAT_REDUCTION_MAX] = {FLOATS_OF(max), INTEGERS_OF(max)},
    [LEAT_REDUCTION_MIN] = {FLOATS_OF(min), INTEGERS_OF(min)},
    [LEAT_REDUCTION_NORM] = {FLOATS_OF(norm)},
}};
