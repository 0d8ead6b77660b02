// The loops of casts, compiled per instruction set: loads widen a type to its pivot
// (elementwise_loops_cpu.h), stores convert a pivot to the target type. Only loops that wider
// vectors speed up are compiled again for AVX2 and above; the others exist in the baseline alone,
// which cast_cpu.c falls back to.
//
// Invariant: a cast gives the same result on every machine. Integers wrap. A float outside of the
// integer's range, or a NaN, gives what the conversion instruction of x86-64 gives: the least int32
// (for 64-bit integers and uint32 the least int64), of which narrower types keep the low bits. C
// leaves these conversions undefined, so that the macros TO_I32, TO_I64 and TO_U64 test the range
// first; the compiler turns the tests back into vector code.
#include "device/cpu/vector_math.h"
#include "ops/math/elementwise_loops_cpu.h"
#include "ops/math/float8_cpu.h"
#include "ops/math/loops_cpu.h"

#define STEP LEAT_LOOP_UNARY

// ---- Widening -----------------------------------------------------------------------------------

#if !defined(__AVX2__)
STEP(load_i4, int8_t, int32_t, (int8_t)(x << 4) >> 4)
STEP(load_u4, uint8_t, int32_t, x & 15)
STEP(load_e5m2, uint8_t, float, leat_float8_e5m2_to_float(x))
STEP(load_e4m3fn, uint8_t, float, leat_float8_e4m3fn_to_float(x))
STEP(real_c64, leat_complex64_t, float, __real__ x)
STEP(real_c128, leat_complex128_t, double, __real__ x)
#endif
STEP(load_bool, uint8_t, int32_t, x != 0)
STEP(load_u8, uint8_t, int32_t, x)
STEP(load_u16, uint16_t, int32_t, x)
STEP(load_i8, int8_t, int32_t, x)
STEP(load_i16, int16_t, int32_t, x)
STEP(load_u32, uint32_t, int64_t, x)
#define THROUGH_VECTOR_MATH(name, function)                                          \
  LEAT_LOOP_FUNCTION name(const void* const inputs[], void* output, int64_t n) {     \
    LEAT_ISA_NAME(leat_vector_math).function(inputs[0], output, n);                  \
    return 0;                                                                        \
  }
THROUGH_VECTOR_MATH(load_half, half_to_float)
THROUGH_VECTOR_MATH(load_bfloat16, bfloat16_to_float)

// ---- Storing ------------------------------------------------------------------------------------

// The conversions of a float |x| to integers, defined for every value.
#define TO_I32(x) ((x) >= -0x1p31f && (x) < 0x1p31f ? (int32_t)(x) : INT32_MIN)
#define TO_I64(x) ((x) >= -0x1p63f && (x) < 0x1p63f ? (int64_t)(x) : INT64_MIN)
#define TO_U64(x)                                                            \
  ((x) < 0x1p63f ? (uint64_t)TO_I64(x)                                       \
   : (x) < 0x1p64f ? (uint64_t)(int64_t)((x)-0x1p63f) ^ UINT64_C(1) << 63    \
                   : (x) == (x) ? 0 : UINT64_C(1) << 63)

// X(suffix, C type, expression over the pivot x): what each pivot can be stored as. AVX2 repeats
// the common ones only.
#if defined(__AVX2__)
#define INTEGER_STORES(X)         \
  X(i32, int32_t, x)              \
  X(i64, int64_t, x)              \
  X(f32, float, x)                \
  X(f64, double, x)
#define FLOAT_STORES(X)           \
  X(bool, uint8_t, x != 0)        \
  X(u8, uint8_t, TO_I32(x))       \
  X(i32, int32_t, TO_I32(x))      \
  X(i64, int64_t, TO_I64(x))      \
  X(f32, float, x)                \
  X(f64, double, x)
#else
#define INTEGER_STORES(X)         \
  X(bool, uint8_t, x != 0)        \
  X(u8, uint8_t, x)               \
  X(u16, uint16_t, x)             \
  X(u32, uint32_t, x)             \
  X(u64, uint64_t, x)             \
  X(i8, int8_t, x)                \
  X(i16, int16_t, x)              \
  X(i32, int32_t, x)              \
  X(i64, int64_t, x)              \
  X(f32, float, x)                \
  X(f64, double, x)               \
  X(c64, leat_complex64_t, (float)x)    \
  X(c128, leat_complex128_t, (double)x) \
  X(i4, int8_t, (int8_t)((uint8_t)x << 4) >> 4) \
  X(u4, uint8_t, x & 15)
#define FLOAT_STORES(X)               \
  X(bool, uint8_t, x != 0)            \
  X(u8, uint8_t, TO_I32(x))           \
  X(u16, uint16_t, TO_I32(x))         \
  X(u32, uint32_t, TO_I64(x))         \
  X(u64, uint64_t, TO_U64(x))         \
  X(i8, int8_t, TO_I32(x))            \
  X(i16, int16_t, TO_I32(x))          \
  X(i32, int32_t, TO_I32(x))          \
  X(i64, int64_t, TO_I64(x))          \
  X(f32, float, x)                    \
  X(f64, double, x)                   \
  X(c64, leat_complex64_t, (float)x)  \
  X(c128, leat_complex128_t, (double)x)
#endif

#define STORE_I32(suffix, type, expression) STEP(i32_##suffix, int32_t, type, expression)
#define STORE_I64(suffix, type, expression) STEP(i64_##suffix, int64_t, type, expression)
#define STORE_U64(suffix, type, expression) STEP(u64_##suffix, uint64_t, type, expression)
#define STORE_F32(suffix, type, expression) STEP(f32_##suffix, float, type, expression)
#define STORE_F64(suffix, type, expression) STEP(f64_##suffix, double, type, expression)
INTEGER_STORES(STORE_I32)
INTEGER_STORES(STORE_I64)
FLOAT_STORES(STORE_F32)
FLOAT_STORES(STORE_F64)
#if !defined(__AVX2__)
INTEGER_STORES(STORE_U64)
STEP(f32_e5m2, float, uint8_t, leat_float8_e5m2_from_float(x))
STEP(f32_e4m3fn, float, uint8_t, leat_float8_e4m3fn_from_float(x))
STEP(c64_c64, leat_complex64_t, leat_complex64_t, x)
STEP(c128_c128, leat_complex128_t, leat_complex128_t, x)
STEP(c64_c128, leat_complex64_t, leat_complex128_t, x)
STEP(c128_c64, leat_complex128_t, leat_complex64_t, x)
#endif
THROUGH_VECTOR_MATH(f32_half, half_from_float)
THROUGH_VECTOR_MATH(f32_bfloat16, bfloat16_from_float)

#define COMMON_ENTRIES(pivot)                                                                \
  [LEAT_DTYPE_INT32] = pivot##_i32, [LEAT_DTYPE_INT64] = pivot##_i64,                        \
  [LEAT_DTYPE_FLOAT] = pivot##_f32, [LEAT_DTYPE_DOUBLE] = pivot##_f64
#define FLOAT_ENTRIES(pivot)                                                                 \
  COMMON_ENTRIES(pivot), [LEAT_DTYPE_BOOL] = pivot##_bool, [LEAT_DTYPE_UINT8] = pivot##_u8
#define REAL_ENTRIES(pivot)                                                                  \
  FLOAT_ENTRIES(pivot), [LEAT_DTYPE_UINT16] = pivot##_u16,                                   \
      [LEAT_DTYPE_UINT32] = pivot##_u32, [LEAT_DTYPE_UINT64] = pivot##_u64,                  \
      [LEAT_DTYPE_INT8] = pivot##_i8, [LEAT_DTYPE_INT16] = pivot##_i16,                      \
      [LEAT_DTYPE_COMPLEX64] = pivot##_c64, [LEAT_DTYPE_COMPLEX128] = pivot##_c128
#define INTEGER_ENTRIES(pivot) \
  REAL_ENTRIES(pivot), [LEAT_DTYPE_INT4] = pivot##_i4, [LEAT_DTYPE_UINT4] = pivot##_u4
#define COMMON_LOADS                                                                         \
  [LEAT_DTYPE_BOOL] = load_bool, [LEAT_DTYPE_UINT8] = load_u8,                               \
  [LEAT_DTYPE_UINT16] = load_u16, [LEAT_DTYPE_UINT32] = load_u32,                            \
  [LEAT_DTYPE_INT8] = load_i8, [LEAT_DTYPE_INT16] = load_i16,                                \
  [LEAT_DTYPE_HALF] = load_half, [LEAT_DTYPE_BFLOAT16] = load_bfloat16
#define HALF_ENTRIES [LEAT_DTYPE_HALF] = f32_half, [LEAT_DTYPE_BFLOAT16] = f32_bfloat16

extern const leat_cast_steps_t LEAT_ISA_NAME(leat_cast_steps);
#if defined(__AVX2__)
const leat_cast_steps_t LEAT_ISA_NAME(leat_cast_steps) = {
    .load = {COMMON_LOADS},
    .store =
        {
            [LEAT_CAST_I32] = {COMMON_ENTRIES(i32)},
            [LEAT_CAST_I64] = {COMMON_ENTRIES(i64)},
            [LEAT_CAST_F32] = {FLOAT_ENTRIES(f32), HALF_ENTRIES},
            [LEAT_CAST_F64] = {FLOAT_ENTRIES(f64)},
        },
};
#else
const leat_cast_steps_t LEAT_ISA_NAME(leat_cast_steps) = {
    .load =
        {
            COMMON_LOADS,
            [LEAT_DTYPE_INT4] = load_i4,
            [LEAT_DTYPE_UINT4] = load_u4,
            [LEAT_DTYPE_FLOAT8_E5M2] = load_e5m2,
            [LEAT_DTYPE_FLOAT8_E4M3FN] = load_e4m3fn,
        },
    .store =
        {
            [LEAT_CAST_I32] = {INTEGER_ENTRIES(i32)},
            [LEAT_CAST_I64] = {INTEGER_ENTRIES(i64)},
            [LEAT_CAST_U64] = {INTEGER_ENTRIES(u64)},
            [LEAT_CAST_F32] = {REAL_ENTRIES(f32), HALF_ENTRIES,
                               [LEAT_DTYPE_FLOAT8_E5M2] = f32_e5m2,
                               [LEAT_DTYPE_FLOAT8_E4M3FN] = f32_e4m3fn},
            [LEAT_CAST_F64] = {REAL_ENTRIES(f64)},
            [LEAT_CAST_C64] = {[LEAT_DTYPE_COMPLEX64] = c64_c64,
                               [LEAT_DTYPE_COMPLEX128] = c64_c128},
            [LEAT_CAST_C128] = {[LEAT_DTYPE_COMPLEX64] = c128_c64,
                                [LEAT_DTYPE_COMPLEX128] = c128_c128},
        },
    .real_c64 = real_c64,
    .real_c128 = real_c128,
};
#endif
