// Reducers per instruction set. Floats are folded in 64 lanes (doubles in 16), element i in lane
// i % 64, emptied into a double every RUN steps; integers as the compiler likes, for their order
// does not matter.
#include "ops/math/reduction_cpu.h"

#include <math.h>

#include "base/checked.h"
#include "device/cpu/half.h"
#include "device/cpu/vector_math.h"
#include "device/cpu/vector_math_lanes.h"
#include "ops/math/loops_cpu.h"

#define FLOAT_LANES 64
#define FLOAT_VECTORS (FLOAT_LANES / LANES)
#define DOUBLE_LANES 16
#define DOUBLE_VECTORS (DOUBLE_LANES / HALF_LANES)
#define RUN 64
#define BLOCK 512

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

// ---- Rows of floats and doubles -----------------------------------------------------------------

// Sums of the even and of the odd elements; |n| may be odd.
static void sum_pairs_f32(const float* x, int64_t n, double* out_even, double* out_odd) {
  double even = 0, odd = 0;
  int64_t i = 0;
  while (i + FLOAT_LANES <= n) {
    floats_t sums[FLOAT_VECTORS];
    LEAT_UNROLL for (int v = 0; v < FLOAT_VECTORS; ++v) sums[v] = (floats_t){0};
    const int64_t end = LEAT_MIN(n - FLOAT_LANES, i + (RUN - 1) * FLOAT_LANES);
    for (; i <= end; i += FLOAT_LANES) {
      LEAT_UNROLL for (int v = 0; v < FLOAT_VECTORS; ++v) sums[v] += load_floats(x + i + v * LANES);
    }
    float lanes[FLOAT_LANES];
    memcpy(lanes, sums, sizeof lanes);
    LEAT_UNROLL for (int l = 0; l < 16; ++l) {
      lanes[l] = (lanes[l] + lanes[l + 16]) + (lanes[l + 32] + lanes[l + 48]);
    }
    LEAT_UNROLL for (int l = 0; l < 16; l += 2) even += (double)lanes[l];
    LEAT_UNROLL for (int l = 1; l < 16; l += 2) odd += (double)lanes[l];
  }
  double later_even = 0, later_odd = 0;
  for (; i + 4 <= n; i += 4) {
    even += (double)x[i];
    odd += (double)x[i + 1];
    later_even += (double)x[i + 2];
    later_odd += (double)x[i + 3];
  }
  if (i + 2 <= n) {
    even += (double)x[i];
    odd += (double)x[i + 1];
    i += 2;
  }
  if (i < n) even += (double)x[i];
  *out_even = even + later_even;
  *out_odd = odd + later_odd;
}
static void sum_row_f32(const void* x, int64_t n, void* accumulator) {
  if (n < FLOAT_LANES) {  // too short for lanes
    const float* p = x;
    double sums[4] = {0};
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) {
      LEAT_UNROLL for (int l = 0; l < 4; ++l) sums[l] += (double)p[i + l];
    }
    for (int l = 0; i + l < n; ++l) sums[l] += (double)p[i + l];
    *(double*)accumulator += (sums[0] + sums[1]) + (sums[2] + sums[3]);
    return;
  }
  double even, odd;
  sum_pairs_f32(x, n, &even, &odd);
  *(double*)accumulator += even + odd;
}
// Defines |name|(x, n, lanes): folds elements [0, n - n % 16) into 16 lanes of double.
#define DOUBLE_FOLD(name, type, load, combine)                                     \
  static int64_t name(const type* x, int64_t n, double* lanes) {                   \
    doubles_t totals[DOUBLE_VECTORS];                                              \
    memcpy(totals, lanes, sizeof totals);                                          \
    int64_t i = 0;                                                                 \
    for (; i + DOUBLE_LANES <= n; i += DOUBLE_LANES) {                             \
      LEAT_UNROLL for (int v = 0; v < DOUBLE_VECTORS; ++v) {                       \
        const doubles_t value = load(x + i + v * HALF_LANES), total = totals[v];   \
        totals[v] = combine;                                                       \
      }                                                                            \
    }                                                                              \
    memcpy(lanes, totals, sizeof totals);                                          \
    return i;                                                                      \
  }
DOUBLE_FOLD(fold_sum_f64, double, load_doubles, total + value)
DOUBLE_FOLD(fold_prod_f32, float, widen_floats, total * value)
DOUBLE_FOLD(fold_prod_f64, double, load_doubles, total * value)
DOUBLE_FOLD(fold_norm_f32, float, widen_floats, total + value * value)
DOUBLE_FOLD(fold_norm_f64, double, load_doubles, total + value * value)
#define LARGER_VECTOR select_doubles((value > total) | (value != value), value, total)
#define SMALLER_VECTOR select_doubles((value < total) | (value != value), value, total)
DOUBLE_FOLD(fold_max_f64, double, load_doubles, LARGER_VECTOR)
DOUBLE_FOLD(fold_min_f64, double, load_doubles, SMALLER_VECTOR)

ALWAYS_INLINE double larger(double total, double x) { return x > total || x != x ? x : total; }
ALWAYS_INLINE double smaller(double total, double x) { return x < total || x != x ? x : total; }
#define ADD(total, x) ((total) + (x))
#define MULTIPLY(total, x) ((total) * (x))
#define ADD_SQUARE(total, x) ((total) + (x) * (x))

// A row through lanes that begin as |identity|; |combine| takes an element, |join| another total.
// Lanes of a sum are emptied every 16 * RUN elements by the caller's blocks.
#define DOUBLE_ROW(name, type, fold, identity, combine, join)                      \
  static void name(const void* data, int64_t n, void* accumulator) {               \
    const type* x = data;                                                          \
    double total = *(double*)accumulator;                                          \
    while (n >= DOUBLE_LANES) {                                                    \
      double lanes[DOUBLE_LANES];                                                  \
      LEAT_UNROLL for (int l = 0; l < DOUBLE_LANES; ++l) lanes[l] = identity;      \
      const int64_t done = fold(x, LEAT_MIN(n, RUN * DOUBLE_LANES), lanes);        \
      LEAT_UNROLL for (int l = 0; l < DOUBLE_LANES; ++l) total = join(total, lanes[l]); \
      x += done;                                                                   \
      n -= done;                                                                   \
    }                                                                              \
    for (int64_t i = 0; i < n; ++i) total = combine(total, (double)x[i]);          \
    *(double*)accumulator = total;                                                 \
  }
#define INFINITE ((double)__builtin_inff())
DOUBLE_ROW(sum_row_f64, double, fold_sum_f64, 0, ADD, ADD)
DOUBLE_ROW(prod_row_f32, float, fold_prod_f32, 1, MULTIPLY, MULTIPLY)
DOUBLE_ROW(prod_row_f64, double, fold_prod_f64, 1, MULTIPLY, MULTIPLY)
DOUBLE_ROW(norm_row_f32, float, fold_norm_f32, 0, ADD_SQUARE, ADD)
DOUBLE_ROW(norm_row_f64, double, fold_norm_f64, 0, ADD_SQUARE, ADD)
DOUBLE_ROW(max_row_f64, double, fold_max_f64, -INFINITE, larger, larger)
DOUBLE_ROW(min_row_f64, double, fold_min_f64, INFINITE, smaller, smaller)

// Extrema of floats in as many lanes as there are; their order does not matter.
#define FLOAT_EXTREMUM(name, wins, join)                                              \
  static void name(const void* data, int64_t n, void* accumulator) {                  \
    const float* x = data;                                                            \
    double total = *(double*)accumulator;                                             \
    int64_t i = 0;                                                                    \
    if (n >= FLOAT_LANES) {                                                           \
      floats_t bests[FLOAT_VECTORS];                                                  \
      LEAT_UNROLL for (int v = 0; v < FLOAT_VECTORS; ++v) bests[v] = load_floats(x + v * LANES); \
      for (i = FLOAT_LANES; i + FLOAT_LANES <= n; i += FLOAT_LANES) {                 \
        LEAT_UNROLL for (int v = 0; v < FLOAT_VECTORS; ++v) {                         \
          const floats_t value = load_floats(x + i + v * LANES), best = bests[v];     \
          bests[v] = select_floats((value wins best) | (value != value), value, best); \
        }                                                                             \
      }                                                                               \
      LEAT_UNROLL for (int v = 1; v < FLOAT_VECTORS; ++v) {                           \
        const floats_t value = bests[v], best = bests[0];                             \
        bests[0] = select_floats((value wins best) | (value != value), value, best);  \
      }                                                                               \
      LEAT_UNROLL for (int l = 0; l < LANES; ++l) total = join(total, (double)bests[0][l]); \
    }                                                                                 \
    for (; i < n; ++i) total = join(total, (double)x[i]);                             \
    *(double*)accumulator = total;                                                    \
  }
FLOAT_EXTREMUM(max_row_f32, >, larger)
FLOAT_EXTREMUM(min_row_f32, <, smaller)

// ---- Rows folded into one another ---------------------------------------------------------------

// A block of columns sums up to RUN rows as floats, four at a time, before it is added to doubles.
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

// |combine| over total and x, for any type.
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
#define MERGE(name, total_type, combine)                                            \
  static void name(const void* from, void* accumulators, int64_t n) {               \
    const total_type* xs = from;                                                    \
    total_type* totals = accumulators;                                              \
    for (int64_t j = 0; j < n; ++j) {                                               \
      const total_type x = xs[j], total = totals[j];                                \
      totals[j] = combine;                                                          \
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
MERGE(sum_merge_f, double, total + x)
MERGE(prod_merge_f, double, total * x)
MERGE(max_merge_f, double, x > total || x != x ? x : total)
MERGE(min_merge_f, double, x < total || x != x ? x : total)

// ---- Integers and booleans ----------------------------------------------------------------------

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
#define INTEGER(suffix, DTYPE, type, wide, total_type)                              \
  INTEGER_ROW(sum_row_##suffix, type, uint64_t, total + x)                          \
  INTEGER_ROW(max_row_##suffix, type, total_type, x > total ? x : total)            \
  INTEGER_ROW(min_row_##suffix, type, total_type, x < total ? x : total)            \
  ROWS(sum_rows_##suffix, type, uint64_t, total + x)                                \
  ROWS(max_rows_##suffix, type, total_type, x > total ? x : total)                  \
  ROWS(min_rows_##suffix, type, total_type, x < total ? x : total)
INTEGER(i32, INT32, int32_t, uint32_t, int64_t)
INTEGER(i64, INT64, int64_t, uint64_t, int64_t)
MERGE(sum_merge_i, uint64_t, total + x)
MERGE(max_merge_signed, int64_t, x > total ? x : total)
MERGE(min_merge_signed, int64_t, x < total ? x : total)

// ---- half and bfloat16, through float -----------------------------------------------------------

#define HALF(op, half)                                                                           \
  static void op##_row_##half(const void* data, int64_t n, void* accumulator) {                  \
    float block[BLOCK];                                                                          \
    for (int64_t i = 0; i < n; i += BLOCK) {                                                     \
      const int64_t count = LEAT_MIN(n - i, BLOCK);                                              \
      LEAT_ISA_NAME(leat_vector_math).half##_to_float((const uint16_t*)data + i, block, count);  \
      op##_row_f32(block, count, accumulator);                                                   \
    }                                                                                            \
  }                                                                                              \
  static void op##_rows_##half(const void* data, int64_t stride, int64_t rows, int64_t n,        \
                               void* totals) {                                                   \
    float block[BLOCK];                                                                          \
    for (int64_t r = 0; r < rows; ++r) {                                                         \
      for (int64_t i = 0; i < n; i += BLOCK) {                                                   \
        const int64_t count = LEAT_MIN(n - i, BLOCK);                                            \
        LEAT_ISA_NAME(leat_vector_math)                                                          \
            .half##_to_float((const uint16_t*)data + r * stride + i, block, count);              \
        op##_rows_f32(block, 0, 1, count, (double*)totals + i);                                  \
      }                                                                                          \
    }                                                                                            \
  }
#define BOTH_HALVES(op) HALF(op, half) HALF(op, bfloat16)
BOTH_HALVES(sum)
BOTH_HALVES(prod)
BOTH_HALVES(max)
BOTH_HALVES(min)
BOTH_HALVES(norm)

// ---- Beginning and end --------------------------------------------------------------------------

#define START(name, total_type, value)                          \
  static void name(void* accumulators, int64_t n) {             \
    for (int64_t j = 0; j < n; ++j) ((total_type*)accumulators)[j] = value; \
  }
START(start_zero, uint64_t, 0)
START(start_one_f, double, 1)
START(start_low, double, -INFINITE)
START(start_high, double, INFINITE)
START(start_low_i32, int64_t, INT32_MIN)
START(start_high_i32, int64_t, INT32_MAX)
START(start_low_i64, int64_t, INT64_MIN)
START(start_high_i64, int64_t, INT64_MAX)

#define FINISH(name, total_type, type, expression)                                   \
  static void name(const void* accumulators, void* out, int64_t n, int64_t count) {  \
    const total_type* totals = accumulators;                                         \
    type* zs = out;                                                                  \
    for (int64_t j = 0; j < n; ++j) {                                                \
      const total_type total = totals[j];                                            \
      zs[j] = (type)(expression);                                                    \
    }                                                                                \
  }
#define FINISH_FLOAT(suffix, type, convert)                                          \
  FINISH(finish_##suffix, double, type, convert(total))                              \
  FINISH(finish_mean_##suffix, double, type, convert(total / (double)count))         \
  FINISH(finish_root_##suffix, double, type, convert(sqrt(total)))
#define AS_IS(x) (x)
#define AS_HALF(x) leat_half_from_float((float)(x))
#define AS_BFLOAT16(x) leat_bfloat16_from_float((float)(x))
FINISH_FLOAT(f32, float, AS_IS)
FINISH_FLOAT(f64, double, AS_IS)
FINISH_FLOAT(half, uint16_t, AS_HALF)
FINISH_FLOAT(bfloat16, uint16_t, AS_BFLOAT16)
#define FINISH_INTEGER(suffix, DTYPE, type, wide, total_type)                                    \
  FINISH(finish_##suffix, total_type, type, total)                                               \
  FINISH(finish_mean_##suffix, total_type, type, count ? total / (total_type)count : 0)          \
  FINISH(finish_root_##suffix, total_type, type, (total_type)sqrt((double)total))
FINISH_INTEGER(i32, INT32, int32_t, uint32_t, int64_t)
FINISH_INTEGER(i64, INT64, int64_t, uint64_t, int64_t)

// ---- What only the baseline has -----------------------------------------------------------------

#if !defined(__AVX2__)
static void sum_row_c64(const void* x, int64_t n, void* accumulator) {
  double re, im;
  sum_pairs_f32(x, 2 * n, &re, &im);
  ((double*)accumulator)[0] += re;
  ((double*)accumulator)[1] += im;
}

static void norm_row_c64(const void* x, int64_t n, void* accumulator) {
  norm_row_f32(x, 2 * n, accumulator);
}
static void norm_row_c128(const void* x, int64_t n, void* accumulator) {
  norm_row_f64(x, 2 * n, accumulator);
}
static void sum_row_c128(const void* data, int64_t n, void* accumulator) {
  const double* x = data;
  double* total = accumulator;
  double lanes[DOUBLE_LANES] = {0};
  const int64_t done = fold_sum_f64(x, 2 * n, lanes) / 2;
  LEAT_UNROLL for (int l = 0; l < DOUBLE_LANES; ++l) total[l % 2] += lanes[l];
  for (int64_t i = done; i < n; ++i) {
    total[0] += x[2 * i];
    total[1] += x[2 * i + 1];
  }
}
#define COMPLEX_PROD(name, part)                                       \
  static void name(const void* data, int64_t n, void* accumulator) {   \
    const part* x = data;                                              \
    double* total = accumulator;                                       \
    for (int64_t i = 0; i < n; ++i) {                                  \
      const double a = total[0], b = total[1];                         \
      const double c = (double)x[2 * i], d = (double)x[2 * i + 1];     \
      total[0] = a * c - b * d;                                        \
      total[1] = a * d + b * c;                                        \
    }                                                                  \
  }
COMPLEX_PROD(prod_row_c64, float)
COMPLEX_PROD(prod_row_c128, double)

static void sum_rows_c64(const void* data, int64_t stride, int64_t rows, int64_t n, void* totals) {
  sum_rows_f32(data, 2 * stride, rows, 2 * n, totals);
}
static void sum_rows_c128(const void* data, int64_t stride, int64_t rows, int64_t n, void* totals) {
  sum_rows_f64(data, 2 * stride, rows, 2 * n, totals);
}
static void sum_merge_c(const void* from, void* totals, int64_t n) {
  sum_merge_f(from, totals, 2 * n);
}
static void prod_merge_c(const void* from, void* totals, int64_t n) {
  for (int64_t j = 0; j < n; ++j) {
    prod_row_c128((const double*)from + 2 * j, 1, (double*)totals + 2 * j);
  }
}
#define EACH_COLUMN(name, row, element_bytes, accumulator_bytes)                                 \
  static void name(const void* data, int64_t stride, int64_t rows, int64_t n, void* totals) {    \
    for (int64_t r = 0; r < rows; ++r) {                                                         \
      for (int64_t j = 0; j < n; ++j) {                                                          \
        row((const char*)data + (r * stride + j) * (element_bytes), 1,                           \
            (char*)totals + j * (accumulator_bytes));                                            \
      }                                                                                          \
    }                                                                                            \
  }
EACH_COLUMN(prod_rows_c64, prod_row_c64, 8, 16)
EACH_COLUMN(prod_rows_c128, prod_row_c128, 16, 16)
EACH_COLUMN(norm_rows_c64, norm_row_c64, 8, 8)
EACH_COLUMN(norm_rows_c128, norm_row_c128, 16, 8)

#define RARE_INTEGER(suffix, DTYPE, type, wide, unused)          \
  INTEGER_ROW(prod_row_##suffix, type, uint64_t, total * x)      \
  INTEGER_ROW(norm_row_##suffix, type, uint64_t, total + x * x)  \
  ROWS(prod_rows_##suffix, type, uint64_t, total * x)            \
  ROWS(norm_rows_##suffix, type, uint64_t, total + x * x)
LEAT_LOOP_INTEGERS(RARE_INTEGER, )
INTEGER(i8, INT8, int8_t, uint32_t, int64_t)
INTEGER(i16, INT16, int16_t, uint32_t, int64_t)
LEAT_LOOP_UNSIGNED(INTEGER, uint64_t)
INTEGER_ROW(all_row_bool, uint8_t, uint64_t, total & (x != 0))
INTEGER_ROW(any_row_bool, uint8_t, uint64_t, total | (x != 0))
ROWS(all_rows_bool, uint8_t, uint64_t, total & (x != 0))
ROWS(any_rows_bool, uint8_t, uint64_t, total | (x != 0))
MERGE(prod_merge_i, uint64_t, total * x)
MERGE(max_merge_unsigned, uint64_t, x > total ? x : total)
MERGE(min_merge_unsigned, uint64_t, x < total ? x : total)
MERGE(all_merge, uint64_t, total & x)
MERGE(any_merge, uint64_t, total | x)

static void start_zero_c(void* accumulators, int64_t n) { start_zero(accumulators, 2 * n); }
static void start_one_c(void* accumulators, int64_t n) {
  for (int64_t j = 0; j < 2 * n; ++j) ((double*)accumulators)[j] = j % 2 == 0;
}
START(start_one_i, uint64_t, 1)
START(start_low_i8, int64_t, INT8_MIN)
START(start_high_i8, int64_t, INT8_MAX)
START(start_low_i16, int64_t, INT16_MIN)
START(start_high_i16, int64_t, INT16_MAX)
START(start_high_unsigned, uint64_t, UINT64_MAX)
#define FINISH_COMPLEX(suffix, DTYPE, type, part, unused)                                        \
  FINISH(finish_##suffix, leat_complex128_t, type, total)                                        \
  FINISH(finish_mean_##suffix, leat_complex128_t, type, total / (double)count)                   \
  FINISH(finish_root_##suffix, double, type, sqrt(total))
LEAT_LOOP_COMPLEXES(FINISH_COMPLEX, )
FINISH_INTEGER(i8, INT8, int8_t, uint32_t, int64_t)
FINISH_INTEGER(i16, INT16, int16_t, uint32_t, int64_t)
LEAT_LOOP_UNSIGNED(FINISH_INTEGER, uint64_t)
FINISH(finish_bool, uint64_t, uint8_t, total)
#endif

// ---- The table ----------------------------------------------------------------------------------

#define REDUCER(DTYPE, suffix, op, bytes, start_fn, merge_fn)                                    \
  [LEAT_DTYPE_##DTYPE] = {bytes, start_fn, op##_row_##suffix, op##_rows_##suffix, merge_fn,      \
                          finish_##suffix, finish_mean_##suffix, finish_root_##suffix},
#define REAL_REDUCERS(op, start_fn, merge_fn)                       \
  REDUCER(FLOAT, f32, op, 8, start_fn, merge_fn)             \
  REDUCER(DOUBLE, f64, op, 8, start_fn, merge_fn)            \
  REDUCER(HALF, half, op, 8, start_fn, merge_fn)             \
  REDUCER(BFLOAT16, bfloat16, op, 8, start_fn, merge_fn)
#define COMMON_INTEGERS(op, start_32, start_64, merge_fn)    \
  REDUCER(INT32, i32, op, 8, start_32, merge_fn)             \
  REDUCER(INT64, i64, op, 8, start_64, merge_fn)
#if defined(__AVX2__)
#define IF_BASE(...)
#else
#define IF_BASE(...) __VA_ARGS__
#endif
#define OTHER_INTEGERS(op, start_fn, merge_fn)               \
  REDUCER(INT8, i8, op, 8, start_fn, merge_fn)               \
  REDUCER(INT16, i16, op, 8, start_fn, merge_fn)             \
  UNSIGNED(op, start_fn, merge_fn)
#define UNSIGNED(op, start_fn, merge_fn)                     \
  REDUCER(UINT8, u8, op, 8, start_fn, merge_fn)              \
  REDUCER(UINT16, u16, op, 8, start_fn, merge_fn)            \
  REDUCER(UINT32, u32, op, 8, start_fn, merge_fn)            \
  REDUCER(UINT64, u64, op, 8, start_fn, merge_fn)
#define OTHER_BOUNDED(op, end, unsigned_start)                               \
  REDUCER(INT8, i8, op, 8, start_##end##_i8, op##_merge_signed)              \
  REDUCER(INT16, i16, op, 8, start_##end##_i16, op##_merge_signed)           \
  UNSIGNED(op, unsigned_start, op##_merge_unsigned)
#define COMPLEXES(op, bytes, start_fn, merge_fn)             \
  REDUCER(COMPLEX64, c64, op, bytes, start_fn, merge_fn)     \
  REDUCER(COMPLEX128, c128, op, bytes, start_fn, merge_fn)
#define BOOL(start_fn, op) \
  [LEAT_DTYPE_BOOL] = {8, start_fn, op##_row_bool, op##_rows_bool, op##_merge, finish_bool, 0, 0}

extern const leat_reducers_t LEAT_ISA_NAME(leat_reducers);
const leat_reducers_t LEAT_ISA_NAME(leat_reducers) = {.items = {
    [LEAT_REDUCTION_SUM] =
        {REAL_REDUCERS(sum, start_zero, sum_merge_f)
             COMMON_INTEGERS(sum, start_zero, start_zero, sum_merge_i)
                 IF_BASE(OTHER_INTEGERS(sum, start_zero, sum_merge_i)
                             COMPLEXES(sum, 16, start_zero_c, sum_merge_c))},
    [LEAT_REDUCTION_PROD] =
        {REAL_REDUCERS(prod, start_one_f, prod_merge_f)
             IF_BASE(COMMON_INTEGERS(prod, start_one_i, start_one_i, prod_merge_i)
                         OTHER_INTEGERS(prod, start_one_i, prod_merge_i)
                             COMPLEXES(prod, 16, start_one_c, prod_merge_c))},
    [LEAT_REDUCTION_MAX] =
        {REAL_REDUCERS(max, start_low, max_merge_f)
             COMMON_INTEGERS(max, start_low_i32, start_low_i64, max_merge_signed)
                 IF_BASE(OTHER_BOUNDED(max, low, start_zero))},
    [LEAT_REDUCTION_MIN] =
        {REAL_REDUCERS(min, start_high, min_merge_f)
             COMMON_INTEGERS(min, start_high_i32, start_high_i64, min_merge_signed)
                 IF_BASE(OTHER_BOUNDED(min, high, start_high_unsigned))},
    [LEAT_REDUCTION_NORM] =
        {REAL_REDUCERS(norm, start_zero, sum_merge_f)
             IF_BASE(COMMON_INTEGERS(norm, start_zero, start_zero, sum_merge_i)
                         OTHER_INTEGERS(norm, start_zero, sum_merge_i)
                             COMPLEXES(norm, 8, start_zero, sum_merge_f))},
    [LEAT_REDUCTION_ALL] = {IF_BASE(BOOL(start_one_i, all))},
    [LEAT_REDUCTION_ANY] = {IF_BASE(BOOL(start_zero, any))},
}};
