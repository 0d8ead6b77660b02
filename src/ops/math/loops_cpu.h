// Macros that define elementwise loops, one line an op and type: LEAT_LOOP_x(name, type,
// expression). The lists (LEAT_LOOP_FLOATS and so on) apply a macro to each C type with its name,
// its data type and the unsigned type in which integers are computed, so that overflow wraps
// instead of being undefined.
//
// A loop computes element i of the output from element i of the inputs alone. No iteration depends
// on another even where the output is one of the inputs, and the pragma LEAT_LOOP_INDEPENDENT tells
// the compiler so: it need not check for overlap before it uses vectors. Loops return the faults
// that they met, 0 in most. The files *_isa.c and *_loops_cpu.c use these macros and collect the
// loops in tables.
#ifndef LEAT_OPS_MATH_LOOPS_CPU_H_
#define LEAT_OPS_MATH_LOOPS_CPU_H_

#include "ops/math/elementwise_cpu.h"

#if defined(__clang__)
#define LEAT_LOOP_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define LEAT_LOOP_INDEPENDENT _Pragma("GCC ivdep")
#endif

// A loop is called through tables and by other loops over the same bytes: inlining copies would
// only make the program larger.
#define LEAT_LOOP_FUNCTION static __attribute__((noinline)) int

// Defines a loop of |expression| over the element |x|; the result has the type |out_type|.
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

// Defines a loop of |expression| over the elements |x| and |y|.
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

// Defines a loop like LEAT_LOOP_BINARY in which an element with |is_faulty| is 0 and |fault| is
// returned.
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

// Defines a loop over complex numbers as pairs of reals: a + bi from x, c + di from y. |re| and
// |im| are expressions over a, b, c and d.
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
// The integers that get a loop in a file that is compiled per instruction set. The baseline has
// loops for all of them; for AVX2 and above only int32 and int64 are worth the code, and a table
// without an entry falls back to the baseline.
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

// Defines a loop of |statement| over the strings x and y, pointers to TF_TString, and the result
// |z|, an empty string or a number that the statement writes.
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

// An entry of a table of loops, as in LEAT_LOOP_FLOATS(LEAT_LOOP_ENTRY, add).
#define LEAT_LOOP_ENTRY(suffix, DTYPE, type, wide, name) [LEAT_LOOP_TYPE_##DTYPE] = name##_##suffix,

#endif  // LEAT_OPS_MATH_LOOPS_CPU_H_
