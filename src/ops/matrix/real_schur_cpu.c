// The real Schur form A = Q T Q^T of a real matrix: Q is orthogonal, T an upper triangle but for
// blocks of two rows, one for each pair of conjugate eigenvalues. Eig of real matrices
// (matrix_function_cpu.c) is built on it. real_schur.inc has the method.
#include <float.h>
#include <math.h>

#include "base/checked.h"
#include "ops/matrix/linear_cpu.h"

#define NUMBER double
#define NAME(x) x##_double
#define ABSOLUTE fabs
#define ROOT sqrt
#define EPSILON DBL_EPSILON
#define LEAST DBL_MIN
#include "ops/matrix/real_schur.inc"
#define NUMBER float
#define NAME(x) x##_float
#define ABSOLUTE fabsf
#define ROOT sqrtf
#define EPSILON FLT_EPSILON
#define LEAST FLT_MIN
#include "ops/matrix/real_schur.inc"
