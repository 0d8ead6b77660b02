// Compiles the dense factorizations of linear_algebra.inc for double (suffix _r) and complex double
// (_c).
#include <complex.h>
#include <math.h>

#include "ops/matrix/linear_cpu.h"

#define SCALAR double
#define NAME(x) x##_r
#define CONJ(x) (x)
#define REAL(x) (x)
#define MAGNITUDE(x) fabs(x)
#include "ops/matrix/linear_algebra.inc"

#define SCALAR leat_complex128_t
#define NAME(x) x##_c
#define CONJ(x) conj(x)
#define REAL(x) creal(x)
#define MAGNITUDE(x) cabs(x)
#include "ops/matrix/linear_algebra.inc"
