// The coefficients of the polynomials of vector_math_isa.c and vector_math_wide_isa.c, each a
// minimax fit on the stated interval, and the functions that the table in vector_math_isa.c takes
// from other files. NAME_0 is the coefficient of the lowest power. A fit is good only on its
// interval: the callers reduce the argument to it first, and the bounds that vector_math.h states
// are tested for the whole. Changing a digit here changes the results of trained models.
#ifndef LEAT_DEVICE_CPU_VECTOR_MATH_TABLES_H_
#define LEAT_DEVICE_CPU_VECTOR_MATH_TABLES_H_

#include "device/cpu/vector_math.h"

// exp(r) = 1 + r + r^2 P(r) on |r| <= ln(2) / 2.
#define EXP_0 0.5f
#define EXP_1 0.16666518f
#define EXP_2 0.041666206f
#define EXP_3 0.00836889f
#define EXP_4 0.0013950495f

// log(1 + f) = f - f^2 / 2 + f^3 P(f) on 1 + f in [sqrt(1/2), sqrt(2)).
#define LOG_0 0.33333313f
#define LOG_1 -0.2500001f
#define LOG_2 0.20002119f
#define LOG_3 -0.16667995f
#define LOG_4 0.14219555f
#define LOG_5 -0.12405597f
#define LOG_6 0.11888154f
#define LOG_7 -0.116756044f
#define LOG_8 0.06746603f

// erf(x) = x + x P(x^2) on |x| <= 0.9.
#define ERF_0 0.1283791512f
#define ERF_1 -0.3761252463f
#define ERF_2 0.1128214076f
#define ERF_3 -0.02677890845f
#define ERF_4 0.005011961795f
#define ERF_5 -0.0006090355455f

// log(1 - erf(x)) = P(x) on [0.9, 4].
#define LOG_ERFC_0 -0.0001664435113f
#define LOG_ERFC_1 -1.127797246f
#define LOG_ERFC_2 -0.6369760633f
#define LOG_ERFC_3 -0.1041137055f
#define LOG_ERFC_4 0.02231522836f
#define LOG_ERFC_5 -0.003065494355f
#define LOG_ERFC_6 0.0001982200920f

// sin(r) = r + r^3 P(r^2) and cos(r) = 1 - r^2 / 2 + r^4 P(r^2) on |r| <= 0.8.
#define SIN_0 -0.1666665375f
#define SIN_1 0.008332090452f
#define SIN_2 -0.0001950523874f
#define COS_0 0.04166664556f
#define COS_1 -0.001388725126f
#define COS_2 0.00002442492223f

// The functions that compute in double inside (vector_math_wide_isa.c), declared once for the
// instruction set that the including file is compiled for.
#define LEAT_VECTOR_MATH_WIDE_FUNCTIONS(X) \
  X(expm1) X(softplus) X(erfc) X(sin) X(cos)
#define LEAT_VECTOR_MATH_WIDE_DECLARE(name) \
  void LEAT_ISA_NAME(leat_vector_##name##_f32)(const float* x, float* y, int64_t n);
#if defined(LEAT_ISA)
LEAT_VECTOR_MATH_WIDE_FUNCTIONS(LEAT_VECTOR_MATH_WIDE_DECLARE)
#endif

// The functions of double (vector_math_f64.c), the same for every instruction set, because the C
// library computes them.
#define LEAT_VECTOR_MATH_F64_DECLARE(name) \
  void leat_vector_##name##_f64(const double* x, double* y, int64_t n);
LEAT_VECTOR_MATH_FUNCTIONS(LEAT_VECTOR_MATH_F64_DECLARE)

#endif  // LEAT_DEVICE_CPU_VECTOR_MATH_TABLES_H_
