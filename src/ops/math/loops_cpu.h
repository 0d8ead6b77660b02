// How elementwise loops are written: one line an op and type, LEAT_LOOP_x(name, type, expression).
// The lists say which C types there are and in which unsigned type integers are computed, so that
// overflow wraps. Loops carry no dependence from one element to the next even where the output is
// one of the inputs, which is what the pragma tells the compiler.
#ifndef LEAT_OPS_MATH_LOOPS_CPU_H_
#define LEAT_OPS_MATH_LOOPS_CPU_H_

#include "ops/math/elementwise_cpu.h"

#if defined(__clang__)
#define LEAT_LOOP_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define LEAT_LOOP_INDEPENDENT _Pragma("GCC ivdep")
#endif

// Called through tables, and by other loops over the same bytes: one copy is enough.
#define LEAT_LOOP_FUNCTION static __attribute__((noinline)) int

// |expression| over x, of type |out_type|.
#define LEAT_LOOP_UNARY(name, type, out_type, expression)                        \
  LEAT_LOOP_FUNCTION name(const void* const inputs[], void* output, int64_t n) { \
    const type* xs = inputs[0];                                                  \
    out_type* zs = output;                                                       \
    LEAT_LOOP_INDEPENDENT                                                        \
    for (int64_t i = 0; i < n; ++i) {                                            \
      const type x = xs[i];                                                      \
      zs[i] = (out_type)(expression);                                            \
    }                                                                            \
    return 0;                                                                    \
  }

// |expression| over x and y.
#define LEAT_LOOP_BINARY(name, type, out_type, expression)                       \
  LEAT_LOOP_FUNCTION name(const void* const inputs[], void* output, int64_t n) { \
    const type* xs = inputs[0];                                                  \
    const type* ys = inputs[1];                                                  \
    out_type* zs = output;                                                       \
    LEAT_LOOP_INDEPENDENT                                                        \
    for (int64_t i = 0; i < n; ++i) {                                            \
      const type x = xs[i], y = ys[i];                                           \
      zs[i] = (out_type)(expression);                                            \
    }                                                                            \
    return 0;                                                                    \
  }

// As LEAT_LOOP_BINARY; where |is_faulty| holds the element is 0 and |fault| is reported.
#define LEAT_LOOP_CHECKED(name, type, is_faulty, fault, expression)              \
  LEAT_LOOP_FUNCTION name(const void* const inputs[], void* output, int64_t n) { \
    const type* xs = inputs[0];                                                  \
    const type* ys = inputs[1];                                                  \
    type* zs = output;                                                           \
    int faults = 0;                                                              \
    for (int64_t i = 0; i < n; ++i) {                                            \
      const type x = xs[i], y = ys[i];                                           \
      if (LEAT_UNLIKELY(is_faulty)) {                                            \
        faults |= fault;                                                         \
        zs[i] = 0;                                                               \
      } else {                                                                   \
        zs[i] = (type)(expression);                                              \
      }                                                                          \
    }                                                                            \
    return faults;                                                               \
  }

// Over arrays of complex numbers as pairs: a + bi from x, c + di from y; |re| and |im| use them.
#define LEAT_LOOP_COMPLEX_BINARY(name, part, re, im)                             \
  LEAT_LOOP_FUNCTION name(const void* const inputs[], void* output, int64_t n) { \
    const part* xs = inputs[0];                                                  \
    const part* ys = inputs[1];                                                  \
    part* zs = output;                                                           \
    LEAT_LOOP_INDEPENDENT                                                        \
    for (int64_t i = 0; i < n; ++i) {                                            \
      const part a = xs[2 * i], b = xs[2 * i + 1];                               \
      const part c = ys[2 * i], d = ys[2 * i + 1];                               \
      (void)a, (void)b, (void)c, (void)d;                                        \
      zs[2 * i] = (re);                                                          \
      zs[2 * i + 1] = (im);                                                      \
    }                                                                            \
    return 0;                                                                    \
  }

// X(suffix, DTYPE, C type, unsigned type to compute in, ...)
#define LEAT_LOOP_SIGNED(X, ...)                    \
  X(i8, INT8, int8_t, uint32_t, __VA_ARGS__)        \
  X(i16, INT16, int16_t, uint32_t, __VA_ARGS__)     \
  X(i32, INT32, int32_t, uint32_t, __VA_ARGS__)     \
  X(i64, INT64, int64_t, uint64_t, __VA_ARGS__)
#define LEAT_LOOP_UNSIGNED(X, ...)                  \
  X(u8, UINT8, uint8_t, uint32_t, __VA_ARGS__)      \
  X(u16, UINT16, uint16_t, uint32_t, __VA_ARGS__)   \
  X(u32, UINT32, uint32_t, uint32_t, __VA_ARGS__)   \
  X(u64, UINT64, uint64_t, uint64_t, __VA_ARGS__)
#define LEAT_LOOP_INTEGERS(X, ...) \
  LEAT_LOOP_SIGNED(X, __VA_ARGS__) \
  LEAT_LOOP_UNSIGNED(X, __VA_ARGS__)
// In a file that is compiled per instruction set: the integers that deserve a loop for this one.
// The baseline has all; where a table has no entry the baseline's serves.
#if defined(__AVX2__)
#define LEAT_LOOP_ISA_SIGNED(X, ...)                \
  X(i32, INT32, int32_t, uint32_t, __VA_ARGS__)     \
  X(i64, INT64, int64_t, uint64_t, __VA_ARGS__)
#define LEAT_LOOP_ISA_INTEGERS LEAT_LOOP_ISA_SIGNED
#define LEAT_LOOP_ISA_RARE(X, ...)
#else
#define LEAT_LOOP_ISA_SIGNED LEAT_LOOP_SIGNED
#define LEAT_LOOP_ISA_INTEGERS LEAT_LOOP_INTEGERS
#define LEAT_LOOP_ISA_RARE(X, ...) X(__VA_ARGS__)
#endif
#define LEAT_LOOP_FLOATS(X, ...)                    \
  X(f32, FLOAT, float, float, __VA_ARGS__)          \
  X(f64, DOUBLE, double, double, __VA_ARGS__)
#define LEAT_LOOP_COMPLEXES(X, ...)                 \
  X(c64, COMPLEX64, leat_complex64_t, float, __VA_ARGS__) \
  X(c128, COMPLEX128, leat_complex128_t, double, __VA_ARGS__)

// |statement| over strings x, y (const TF_TString*) and the empty z.
#define LEAT_LOOP_STRINGS(name, out_type, statement)                             \
  LEAT_LOOP_FUNCTION name(const void* const inputs[], void* output, int64_t n) { \
    const TF_TString* xs = inputs[0];                                            \
    const TF_TString* ys = inputs[1];                                            \
    out_type* zs = output;                                                       \
    for (int64_t i = 0; i < n; ++i) {                                            \
      const TF_TString* x = &xs[i];                                              \
      const TF_TString* y = &ys[i];                                              \
      out_type* z = &zs[i];                                                      \
      statement;                                                                 \
    }                                                                            \
    return 0;                                                                    \
  }

// An entry of a table of loops: LEAT_LOOP_FLOATS(LEAT_LOOP_ENTRY, add)
#define LEAT_LOOP_ENTRY(suffix, DTYPE, type, wide, name) [LEAT_LOOP_TYPE_##DTYPE] = name##_##suffix,

#endif  // LEAT_OPS_MATH_LOOPS_CPU_H_
