// Macros that define elementwise loops, one line an op and type: LEAT_LOOP_x(name, type,
// expression). Each use defines a static function |name| of the type leat_elementwise_loop_t
// (elementwise_cpu.h). The lists (LEAT_LOOP_FLOATS and so on) apply a macro to each C type with its
// name, its data type and the unsigned type in which integers are computed, so that overflow wraps
// instead of being undefined. A file of loops is a few lines an op:
//
//   #define ADD(suffix, DTYPE, t, wide, name) LEAT_LOOP_BINARY(name##_##suffix, t, t, (wide)x + y)
//   LEAT_LOOP_INTEGERS(ADD, add)  // defines add_i8, add_i16 and so on
//   const leat_elementwise_loops_t loops = {LEAT_LOOP_INTEGERS(LEAT_LOOP_ENTRY, add)};
//
// A loop computes element i of the output from element i of the inputs alone. No iteration depends
// on another even where the output is one of the inputs, and the pragma LEAT_LOOP_INDEPENDENT tells
// the compiler so: it need not check for overlap before it uses vectors. Loops return the faults
// that they met, 0 in most. The files *_isa.c and *_loops_cpu.c use these macros and collect the
// loops in tables.
#ifndef LEAT_OPS_MATH_LOOPS_CPU_H_
#define LEAT_OPS_MATH_LOOPS_CPU_H_

#include "ops/math/elementwise_cpu.h"

// Stands directly before a `for` whose iterations do not depend on each other. It is a promise to
// the compiler: a loop that breaks it may be compiled to code that computes something else.
#if defined(__clang__)
#define LEAT_LOOP_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define LEAT_LOOP_INDEPENDENT _Pragma("GCC ivdep")
#endif

// A loop is called through tables and by other loops over the same bytes: inlining copies would
// only make the program larger. Every loop has the parameters (inputs, output, n).
#define LEAT_LOOP_FUNCTION static __attribute__((noinline)) int

// Defines a loop of |expression| over the element |x| of input 0, whose C type is |type|. The value
// is converted to |out_type|, the type of the output's elements. The two types differ where the op
// is a test (IsNan gives uint8_t, a bool) or a conversion.
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

// Defines a loop of |expression| over the elements |x| of input 0 and |y| of input 1, which both
// have the C type |type|. An expression over integers converts its operands to the list's unsigned
// type first, as in (wide)x + (wide)y; the conversion to |out_type| then keeps the low bits.
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

// Defines a loop like LEAT_LOOP_BINARY for an expression that some operands make undefined, such as
// an integer division. |is_faulty| is a condition over x and y. Where it holds, the expression is
// not computed and the result is 0; the loop goes on and returns |fault|, a bit of
// leat_elementwise_fault_t, at its end. The loop is not declared independent, since it is scalar
// code anyway.
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

// Defines a loop over complex numbers as pairs of reals of the C type |part|: a + bi from input 0,
// c + di from input 1. |re| and |im| are expressions over a, b, c and d. |n| counts complex
// numbers, so that 2n reals are read of each input. A product that is written out in reals becomes
// vector code; C's own complex product does not, because it must repair infinities.
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

// Lists of the numeric types. Each expands X(suffix, DTYPE, C type, type to compute in, ...) once a
// type. |suffix| ends the names of functions (add_i32), |DTYPE| completes LEAT_DTYPE_x and
// LEAT_LOOP_TYPE_x, and the arguments after X are passed on. Integers are computed in an unsigned
// type of at least 32 bits: a smaller one would be promoted to int, whose overflow is undefined.
#define LEAT_LOOP_SIGNED(X, ...)                    \
  X(i8, INT8, int8_t, uint32_t, __VA_ARGS__)        \
  X(i16, INT16, int16_t, uint32_t, __VA_ARGS__)     \
  X(i32, INT32, int32_t, uint32_t, __VA_ARGS__)     \
  X(i64, INT64, int64_t, uint64_t, __VA_ARGS__)
// The unsigned integers: no sign has to be looked at, so that ops may leave a case out.
#define LEAT_LOOP_UNSIGNED(X, ...)                  \
  X(u8, UINT8, uint8_t, uint32_t, __VA_ARGS__)      \
  X(u16, UINT16, uint16_t, uint32_t, __VA_ARGS__)   \
  X(u32, UINT32, uint32_t, uint32_t, __VA_ARGS__)   \
  X(u64, UINT64, uint64_t, uint64_t, __VA_ARGS__)
// All integers of 8 to 64 bits.
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
#else
#define LEAT_LOOP_ISA_SIGNED LEAT_LOOP_SIGNED
#define LEAT_LOOP_ISA_INTEGERS LEAT_LOOP_INTEGERS
#endif
// The real types. half and bfloat16 are not among them: the engine converts their elements to float
// (elementwise_cpu.h). The type to compute in is the type itself.
#define LEAT_LOOP_FLOATS(X, ...)                    \
  X(f32, FLOAT, float, float, __VA_ARGS__)          \
  X(f64, DOUBLE, double, double, __VA_ARGS__)
// The complex types. The fourth argument of X is the real type here, of which a number has two.
#define LEAT_LOOP_COMPLEXES(X, ...)                 \
  X(c64, COMPLEX64, leat_complex64_t, float, __VA_ARGS__) \
  X(c128, COMPLEX128, leat_complex128_t, double, __VA_ARGS__)

// Defines a loop of |statement| over the strings |x| and |y|, pointers to TF_TString, and the
// result |z|, a pointer to an empty string or to a number that the statement writes. The inputs'
// strings are borrowed: the statement must not change them, and copies what it keeps, since the
// output's strings own their bytes.
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

// An entry of a table of loops (leat_elementwise_loops_t) for the loop |name|_|suffix|. A list
// applies it to each of its types, as in LEAT_LOOP_FLOATS(LEAT_LOOP_ENTRY, add). Types that no list
// names keep NULL, which says that the op has no loop for them.
#define LEAT_LOOP_ENTRY(suffix, DTYPE, type, wide, name) [LEAT_LOOP_TYPE_##DTYPE] = name##_##suffix,

#endif  // LEAT_OPS_MATH_LOOPS_CPU_H_
