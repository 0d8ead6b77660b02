// Puts reducers together: for each data type it chooses the fold, the function that widens elements
// to what the fold takes, and the function that narrows accumulators to results. The table |types|
// is the whole choice; reduction_isa.c has the folds that vectors help, and the others are here.
//
// Small integers are widened to int32 and accumulated in 64 bits; results wrap to the type, as in
// TensorFlow. half and bfloat16 are widened to float and rounded once, at the end. Kernels of
// reductions, segment ops and fused programs make a reducer when they are created and use it
// through reduction_cpu.h.
#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "device/cpu/half.h"
#include "device/cpu/vector_math.h"
#include "ops/math/loops_cpu.h"
#include "ops/math/reduction_cpu.h"

#define BLOCK 512  // elements widened at a time

// ---- Folds that vectors do not help -------------------------------------------------------------

// COMBINED is the next total, of |total| and the element |x|.
#define FN(name) prod_i32_##name
#define TYPE int32_t
#define TOTAL uint64_t
#define COMBINED (total * x)
#include "ops/math/reducer_fold.inc"

#define FN(name) prod_i64_##name
#define TYPE uint64_t
#define TOTAL uint64_t
#define COMBINED (total * x)
#include "ops/math/reducer_fold.inc"

#define FN(name) norm_i32_##name
#define TYPE int32_t
#define TOTAL uint64_t
#define COMBINED (total + x * x)
#include "ops/math/reducer_fold.inc"

#define FN(name) norm_i64_##name
#define TYPE uint64_t
#define TOTAL uint64_t
#define COMBINED (total + x * x)
#include "ops/math/reducer_fold.inc"

#define FN(name) max_u64_##name
#define TYPE uint64_t
#define TOTAL uint64_t
#define COMBINED (x > total ? x : total)
#include "ops/math/reducer_fold.inc"

#define FN(name) min_u64_##name
#define TYPE uint64_t
#define TOTAL uint64_t
#define COMBINED (x < total ? x : total)
#include "ops/math/reducer_fold.inc"

#define FN(name) sum_c128_##name
#define TYPE leat_complex128_t
#define TOTAL leat_complex128_t
#define COMBINED (total + x)
#include "ops/math/reducer_fold.inc"

#define FN(name) prod_c64_##name
#define TYPE leat_complex64_t
#define TOTAL leat_complex128_t
#define COMBINED (total * x)
#include "ops/math/reducer_fold.inc"

#define FN(name) prod_c128_##name
#define TYPE leat_complex128_t
#define TOTAL leat_complex128_t
#define COMBINED (total * x)
#include "ops/math/reducer_fold.inc"

#define SQUARED (__real__ x * __real__ x + __imag__ x * __imag__ x)

#define FN(name) norm_c64_##name
#define TYPE leat_complex64_t
#define TOTAL leat_complex128_t
#define COMBINED (total + SQUARED)
#include "ops/math/reducer_fold.inc"

#define FN(name) norm_c128_##name
#define TYPE leat_complex128_t
#define TOTAL leat_complex128_t
#define COMBINED (total + SQUARED)
#include "ops/math/reducer_fold.inc"

#define FOLD(KIND, name) [LEAT_FOLD_##KIND] = {name##_row, name##_rows}
static const leat_folds_t plain_folds = {.items = {
    [LEAT_REDUCTION_SUM] = {FOLD(C128, sum_c128)},
    [LEAT_REDUCTION_PROD] = {FOLD(I32, prod_i32), FOLD(I64, prod_i64), FOLD(U64, prod_i64),
                             FOLD(C64, prod_c64), FOLD(C128, prod_c128)},
    [LEAT_REDUCTION_MAX] = {FOLD(U64, max_u64)},
    [LEAT_REDUCTION_MIN] = {FOLD(U64, min_u64)},
    [LEAT_REDUCTION_NORM] = {FOLD(I32, norm_i32), FOLD(I64, norm_i64), FOLD(U64, norm_i64),
                             FOLD(C64, norm_c64), FOLD(C128, norm_c128)},
}};

static leat_fold_t find_fold(leat_reduction_t reduction, leat_fold_kind_t kind) {
  const leat_fold_t fold = LEAT_ISA_SELECT(leat_folds)->items[reduction][kind];
  return fold.rows ? fold : plain_folds.items[reduction][kind];
}

// ---- Widening elements, narrowing accumulators --------------------------------------------------

#define CONVERT(name, from_type, to_type, expression)                   \
  static void name(const void* from, void* to, int64_t n) {             \
    const from_type* xs = from;                                         \
    to_type* zs = to;                                                   \
    for (int64_t i = 0; i < n; ++i) {                                   \
      const from_type x = xs[i];                                        \
      zs[i] = (to_type)(expression);                                    \
    }                                                                   \
  }
CONVERT(widen_bool, uint8_t, int32_t, x != 0)
CONVERT(widen_i8, int8_t, int32_t, x)
CONVERT(widen_i16, int16_t, int32_t, x)
CONVERT(widen_u8, uint8_t, int32_t, x)
CONVERT(widen_u16, uint16_t, int32_t, x)
CONVERT(widen_u32, uint32_t, uint64_t, x)
static void widen_half(const void* from, void* to, int64_t n) {
  leat_vector_math()->half_to_float(from, to, n);
}
static void widen_bfloat16(const void* from, void* to, int64_t n) {
  leat_vector_math()->bfloat16_to_float(from, to, n);
}

CONVERT(narrow_f32, double, float, x)
CONVERT(narrow_half, double, uint16_t, leat_half_from_float((float)x))
CONVERT(narrow_bfloat16, double, uint16_t, leat_bfloat16_from_float((float)x))
CONVERT(narrow_8, uint64_t, uint8_t, x)
CONVERT(narrow_16, uint64_t, uint16_t, x)
CONVERT(narrow_32, uint64_t, uint32_t, x)
static void narrow_64(const void* from, void* to, int64_t n) { memcpy(to, from, (size_t)n * 8); }
static void narrow_c64(const void* from, void* to, int64_t n) { narrow_f32(from, to, 2 * n); }
static void narrow_c128(const void* from, void* to, int64_t n) { narrow_64(from, to, 2 * n); }

// How one data type is reduced: the kind of its fold, the kind of its accumulator, and conversions
// (NULL: none is needed).
typedef struct leat_reduced_type_s {
  leat_fold_kind_t kind, total;
  void (*widen)(const void* x, void* out, int64_t n);
  void (*narrow)(const void* accumulators, void* out, int64_t n);
} leat_reduced_type_t;
#define TYPE(DTYPE, kind, total, widen, narrow) \
  [LEAT_DTYPE_##DTYPE] = {LEAT_FOLD_##kind, LEAT_FOLD_##total, widen, narrow}
static const leat_reduced_type_t types[LEAT_DTYPE_COUNT] = {
    TYPE(FLOAT, F32, F64, NULL, narrow_f32),
    TYPE(DOUBLE, F64, F64, NULL, narrow_64),
    TYPE(HALF, F32, F64, widen_half, narrow_half),
    TYPE(BFLOAT16, F32, F64, widen_bfloat16, narrow_bfloat16),
    TYPE(BOOL, I32, I64, widen_bool, narrow_8),
    TYPE(INT8, I32, I64, widen_i8, narrow_8),
    TYPE(INT16, I32, I64, widen_i16, narrow_16),
    TYPE(INT32, I32, I64, NULL, narrow_32),
    TYPE(INT64, I64, I64, NULL, narrow_64),
    TYPE(UINT8, I32, I64, widen_u8, narrow_8),
    TYPE(UINT16, I32, I64, widen_u16, narrow_16),
    TYPE(UINT32, U64, U64, widen_u32, narrow_32),
    TYPE(UINT64, U64, U64, NULL, narrow_64),
    TYPE(COMPLEX64, C64, C128, NULL, narrow_c64),
    TYPE(COMPLEX128, C128, C128, NULL, narrow_c128),
};

// ---- The reducer --------------------------------------------------------------------------------

static uint64_t double_bits(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

// The bits of the accumulator that leaves any value of the type as it is. All is a minimum and Any
// a maximum of bool, whose only bit counts.
static uint64_t neutral(leat_reduction_t reduction, int dtype) {
  const bool is_real = leat_dtype_in(dtype, LEAT_DTYPES_FLOATING | LEAT_DTYPES_COMPLEX);
  const int bits = dtype == LEAT_DTYPE_BOOL ? 1 : 8 * (int)leat_dtype_size(dtype);
  const bool is_signed = leat_dtype_in(dtype, LEAT_DTYPES_SIGNED);
  if (reduction == LEAT_REDUCTION_PROD) return is_real ? double_bits(1) : 1;
  if (reduction == LEAT_REDUCTION_MAX) {
    return is_real ? double_bits(-INFINITY) : is_signed ? UINT64_MAX << (bits - 1) : 0;
  }
  if (reduction == LEAT_REDUCTION_MIN) {
    return is_real ? double_bits(INFINITY) : UINT64_MAX >> (64 - bits + is_signed);
  }
  return 0;
}

leat_status_t leat_reducer_create(const leat_kernel_creation_t* c, leat_reduction_t reduction,
                                  leat_reducer_t* out_reducer) {
  const int dtype = leat_dtype_base(c->kernel->input_types[0]);
  if (reduction == LEAT_REDUCTION_ALL) reduction = LEAT_REDUCTION_MIN;
  if (reduction == LEAT_REDUCTION_ANY) reduction = LEAT_REDUCTION_MAX;
  const leat_reduced_type_t* type = &types[dtype];
  const bool is_norm = reduction == LEAT_REDUCTION_NORM;
  // The extremum of zeros with different signs depends on the lane, that is on the place in the
  // row, so that a row of float extrema cannot be folded in pieces.
  const bool is_extremum = reduction == LEAT_REDUCTION_MAX || reduction == LEAT_REDUCTION_MIN;
  *out_reducer = (leat_reducer_t){
      .fold = find_fold(reduction, type->kind),
      .merge = find_fold(is_norm ? LEAT_REDUCTION_SUM : reduction, type->total).rows,
      .widen = type->widen,
      .narrow = type->narrow,
      .start = neutral(reduction, dtype),
      .accumulator_bytes = type->total == LEAT_FOLD_C128 ? 16 : 8,
      .element_bytes = (int)leat_dtype_size(dtype),
      .total = type->total,
      .resumes = !(is_extremum && (type->kind == LEAT_FOLD_F32 || type->kind == LEAT_FOLD_F64)),
  };
  if (type->narrow && out_reducer->fold.rows) return leat_ok_status();
  return leat_make_status(LEAT_UNIMPLEMENTED,
                          "Create failed for node '%.*s' (%s): T is %s, must be a type that folds",
                          LEAT_SV_ARG(c->kernel->node_name), c->kernel->row->op,
                          leat_dtype_name(dtype));
}

void leat_reducer_start(const leat_reducer_t* reducer, void* accumulators, int64_t n) {
  const uint64_t first = reducer->start;
  const bool is_wide = reducer->accumulator_bytes == 16;
  uint64_t* totals = accumulators;
  for (int64_t i = 0; i < n << is_wide; ++i) totals[i] = first;
  for (int64_t i = 0; is_wide && i < n; ++i) totals[2 * i + 1] = 0;
}

void leat_reducer_widened_row(const leat_reducer_t* reducer, const void* x, int64_t n,
                              void* accumulator) {
  uint64_t block[BLOCK];
  for (int64_t i = 0; i < n; i += BLOCK) {
    const int64_t count = LEAT_MIN(n - i, BLOCK);
    reducer->widen((const char*)x + i * reducer->element_bytes, block, count);
    reducer->fold.row(block, count, accumulator);
  }
}

void leat_reducer_widened_rows(const leat_reducer_t* reducer, const void* data, int64_t stride,
                               int64_t rows, int64_t n, void* accumulators) {
  uint64_t block[BLOCK];
  const char* x = data;
  for (int64_t r = 0; r < rows; ++r, x += stride * reducer->element_bytes) {
    for (int64_t i = 0; i < n; i += BLOCK) {
      const int64_t count = LEAT_MIN(n - i, BLOCK);
      reducer->widen(x + i * reducer->element_bytes, block, count);
      reducer->fold.rows(block, 0, 1, count,
                         (char*)accumulators + i * reducer->accumulator_bytes);
    }
  }
}

#define EACH_TOTAL(type, expression)                                      \
  for (int64_t i = 0; i < n; ++i) {                                       \
    const type total = ((const type*)totals)[i];                          \
    ((type*)totals)[i] = (type)(expression);                              \
  }
static void take_mean(leat_fold_kind_t kind, void* totals, int64_t n, int64_t count) {
  if (kind == LEAT_FOLD_F64) {
    EACH_TOTAL(double, total / (double)count)
  } else if (kind == LEAT_FOLD_I64) {
    EACH_TOTAL(int64_t, count ? total / count : 0)
  } else {
    EACH_TOTAL(uint64_t, count ? total / (uint64_t)count : 0)
  }
}
static void take_root(leat_fold_kind_t kind, void* totals, int64_t n) {
  if (kind == LEAT_FOLD_F64) {
    EACH_TOTAL(double, sqrt(total))
  } else if (kind == LEAT_FOLD_I64) {
    EACH_TOTAL(int64_t, sqrt((double)total))
  } else {
    EACH_TOTAL(uint64_t, sqrt((double)total))
  }
}

void leat_reducer_finish(const leat_reducer_t* reducer, leat_finish_t finish, void* accumulators,
                         void* out, int64_t n, int64_t count) {
  const bool is_complex = reducer->total == LEAT_FOLD_C128;  // an accumulator is two doubles
  const leat_fold_kind_t kind = is_complex ? LEAT_FOLD_F64 : reducer->total;
  if (finish == LEAT_FINISH_MEAN) take_mean(kind, accumulators, is_complex ? 2 * n : n, count);
  if (finish == LEAT_FINISH_ROOT) take_root(kind, accumulators, is_complex ? 2 * n : n);
  reducer->narrow(accumulators, out, n);
}
