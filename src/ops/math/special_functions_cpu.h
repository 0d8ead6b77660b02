// Special functions of one and several variables, in double. gamma_functions_cpu.c and
// bessel_functions_cpu.c implement them, special_cpu.c makes kernels of them. All are pure
// functions: they keep no state, allocate nothing, and run on any thread. A call takes some 50 ns.
//
// The values are accurate to a few units of the last place in most of the domain. Poles and
// arguments outside of the domain give what TensorFlow gives: infinity or NaN, never a trap. A NaN
// gives NaN unless the other arguments decide the value alone, as x = 0 does for P(a, x).
#ifndef LEAT_OPS_MATH_SPECIAL_FUNCTIONS_CPU_H_
#define LEAT_OPS_MATH_SPECIAL_FUNCTIONS_CPU_H_

// The logarithm of |gamma(x)|. Unlike lgamma of the C library it writes no global sign, so that
// threads do not disturb each other.
double leat_lgamma(double x);
// The derivative of the logarithm of the gamma function; NaN at its poles 0, -1, -2 and so on.
// Polygamma is its derivative of order |n|, an integer >= 0 (NaN otherwise).
double leat_digamma(double x);
double leat_polygamma(double n, double x);
// The Hurwitz zeta function, the sum over k >= 0 of (q + k)^-x. Infinity for x = 1, NaN for x < 1.
// For q <= 0 it is infinity or NaN at integers, NaN for an x that is no integer, and NaN for q <
// -5000, where the recurrence would take too long.
double leat_zeta(double x, double q);
// The regularized incomplete gamma functions P(a, x), which rises from 0 to 1 with x, and Q = 1 -
// P. Each is computed directly where it is small, so that its digits do not cancel. NaN for a <= 0
// or x < 0.
double leat_igamma(double a, double x);
double leat_igammac(double a, double x);
// The derivative of P(a, x) by a.
double leat_igamma_grad_a(double a, double x);
// The regularized incomplete beta function I_x(a, b), for a > 0, b > 0 and x in [0, 1]; NaN
// elsewhere.
double leat_betainc(double a, double b, double x);

// The inverses of the normal distribution function, for p in [0, 1], and of erf, for x in [-1, 1].
// They are infinite at the ends of these intervals and NaN outside.
double leat_ndtri(double p);
double leat_erfinv(double x);

// Modified Bessel functions of the first kind (I) and the second (K), of order 0 and 1. An |e| at
// the end of a name says that the value is scaled: by exp(-|x|) for I, by exp(x) for K. The scaled
// ones neither overflow nor underflow. K is infinity for x <= 0.
double leat_bessel_i0e(double x);
double leat_bessel_i1e(double x);
double leat_bessel_i0(double x);
double leat_bessel_i1(double x);
double leat_bessel_k0e(double x);
double leat_bessel_k1e(double x);
double leat_bessel_k0(double x);
double leat_bessel_k1(double x);

// Bessel functions of the first kind (J) and the second (Y), of order 0 and 1. NaN at infinity; Y
// is -infinity for x <= 0.
double leat_bessel_j0(double x);
double leat_bessel_j1(double x);
double leat_bessel_y0(double x);
double leat_bessel_y1(double x);

// Dawson's integral: exp(-x^2) times the integral of exp(t^2) from 0 to x.
double leat_dawsn(double x);
// The exponential integral Ei for x > 0; -infinity at 0, NaN below.
double leat_expint(double x);
// The Fresnel integrals: of cos(pi t^2 / 2) and sin(pi t^2 / 2) from 0 to x.
double leat_fresnel_cos(double x);
double leat_fresnel_sin(double x);
// Spence's function, the dilogarithm Li2(1 - x), for x >= 0; NaN below.
double leat_spence(double x);

#endif  // LEAT_OPS_MATH_SPECIAL_FUNCTIONS_CPU_H_
