// The CPU kernels of the special functions: elementwise kernels whose loops call a function of
// special_functions_cpu.h for each element. Everything is computed in double, also for float,
// because the series and continued fractions need the digits and the functions are written once;
// only Lgamma has a float loop, the C library's. half goes through the float loop by way of the
// engine.
//
// The functions take some 50 ns an element, so that the engine starts several threads early.
// Betainc accepts scalars among its operands, but does not broadcast otherwise.
#include <math.h>

#include "ops/kernel_rows.h"
#include "ops/math/loops_cpu.h"
#include "ops/math/special_functions_cpu.h"

// X(op, function)
#define UNARY_FUNCTIONS(X)            \
  X(Digamma, leat_digamma)            \
  X(Erfinv, leat_erfinv)              \
  X(Ndtri, leat_ndtri)                \
  X(Dawsn, leat_dawsn)                \
  X(Expint, leat_expint)              \
  X(FresnelCos, leat_fresnel_cos)     \
  X(FresnelSin, leat_fresnel_sin)     \
  X(Spence, leat_spence)              \
  X(BesselI0, leat_bessel_i0)         \
  X(BesselI1, leat_bessel_i1)         \
  X(BesselI0e, leat_bessel_i0e)       \
  X(BesselI1e, leat_bessel_i1e)       \
  X(BesselK0, leat_bessel_k0)         \
  X(BesselK1, leat_bessel_k1)         \
  X(BesselK0e, leat_bessel_k0e)       \
  X(BesselK1e, leat_bessel_k1e)       \
  X(BesselJ0, leat_bessel_j0)         \
  X(BesselJ1, leat_bessel_j1)         \
  X(BesselY0, leat_bessel_y0)         \
  X(BesselY1, leat_bessel_y1)
#define BINARY_FUNCTIONS(X)           \
  X(Igamma, leat_igamma)              \
  X(Igammac, leat_igammac)            \
  X(IgammaGradA, leat_igamma_grad_a)  \
  X(Zeta, leat_zeta)                  \
  X(Polygamma, leat_polygamma)

static inline float log_gamma_f(float x) {
  int sign;
  return lgammaf_r(x, &sign);
}
LEAT_LOOP_UNARY(Lgamma_f32, float, float, log_gamma_f(x))
LEAT_LOOP_UNARY(Lgamma_f64, double, double, leat_lgamma(x))

#define LOOPS(name, function)                                                           \
  LEAT_LOOP_UNARY(name##_f32, float, float, function((double)x))                        \
  LEAT_LOOP_UNARY(name##_f64, double, double, function(x))
UNARY_FUNCTIONS(LOOPS)
#define PAIR_LOOPS(name, function)                                                      \
  LEAT_LOOP_BINARY(name##_f32, float, float, function((double)x, (double)y))            \
  LEAT_LOOP_BINARY(name##_f64, double, double, function(x, y))
BINARY_FUNCTIONS(PAIR_LOOPS)

#define TRIPLE_LOOP(name, type)                                                         \
  static int name(const void* const inputs[], void* output, int64_t n) {                \
    const type *as = inputs[0], *bs = inputs[1], *xs = inputs[2];                       \
    type* zs = output;                                                                  \
    for (int64_t i = 0; i < n; ++i) {                                                   \
      zs[i] = (type)leat_betainc((double)as[i], (double)bs[i], (double)xs[i]);          \
    }                                                                                   \
    return 0;                                                                           \
  }
TRIPLE_LOOP(Betainc_f32, float)
TRIPLE_LOOP(Betainc_f64, double)

#define CREATE(name, function)                                                          \
  static leat_status_t create_##name(leat_kernel_creation_t* c, void* state) {          \
    static const leat_elementwise_loops_t kLoops = {LEAT_LOOP_FLOATS(LEAT_LOOP_ENTRY, name)}; \
    return leat_elementwise_create(c, state, NULL, NULL, kLoops, 0, 50);                \
  }
CREATE(Lgamma, )
CREATE(Betainc, )
UNARY_FUNCTIONS(CREATE)
BINARY_FUNCTIONS(CREATE)

// a, b and x have one shape, except that each of them may be a scalar.
static leat_status_t betainc__cpu(leat_kernel_context_t* c) {
  const leat_shape_t* widest = &leat_kernel_input(c, 0)->shape;
  for (int i = 1; i < 3; ++i) {
    const leat_shape_t* shape = &leat_kernel_input(c, i)->shape;
    if (shape->rank && widest->rank && !leat_shape_equal(shape, widest)) {
      return leat_kernel_invalid(c, "input %d is %s, must be a scalar or %s", i,
                                 LEAT_SHAPE_TEXT(shape), LEAT_SHAPE_TEXT(widest));
    }
    if (shape->rank) widest = shape;
  }
  return leat_elementwise_broadcast__cpu(c);
}

#define UNARY LEAT_ELEMENTWISE_ROW_SAME
#define BINARY(name) LEAT_ELEMENTWISE_ROW_BROADCAST(name, "float, double")
#define WITH_HALF "half, float, double"

const leat_kernel_row_t leat_special_kernels_cpu[] = {
    UNARY(Lgamma, WITH_HALF),
    UNARY(Digamma, WITH_HALF),
    UNARY(Erfinv, "float, double"),
    UNARY(Ndtri, "float, double"),
    UNARY(Dawsn, "float, double"),
    UNARY(Expint, "float, double"),
    UNARY(FresnelCos, "float, double"),
    UNARY(FresnelSin, "float, double"),
    UNARY(Spence, "float, double"),
    UNARY(BesselI0, WITH_HALF),
    UNARY(BesselI1, WITH_HALF),
    UNARY(BesselI0e, WITH_HALF),
    UNARY(BesselI1e, WITH_HALF),
    UNARY(BesselK0, WITH_HALF),
    UNARY(BesselK1, WITH_HALF),
    UNARY(BesselK0e, WITH_HALF),
    UNARY(BesselK1e, WITH_HALF),
    UNARY(BesselJ0, WITH_HALF),
    UNARY(BesselJ1, WITH_HALF),
    UNARY(BesselY0, WITH_HALF),
    UNARY(BesselY1, WITH_HALF),
    BINARY(Igamma),
    BINARY(Igammac),
    BINARY(IgammaGradA),
    BINARY(Zeta),
    BINARY(Polygamma),
    LEAT_ELEMENTWISE_ROW(Betainc, "float, double", OTHER, betainc__cpu),
    LEAT_KERNEL_ROWS_END,
};
