// Special functions of one and several variables, in double. gamma_functions_cpu.c and
// bessel_functions_cpu.c implement them, special_cpu.c makes kernels of them. Poles and arguments
// outside of the domain give what TensorFlow gives: infinity or NaN, never a trap. All are pure
// functions.
#ifndef LEAT_OPS_MATH_SPECIAL_FUNCTIONS_CPU_H_
#define LEAT_OPS_MATH_SPECIAL_FUNCTIONS_CPU_H_

// The gamma function and its derivatives, the regularized incomplete gamma functions P and Q, the
// derivative of P by a, and the regularized incomplete beta function.
double leat_lgamma(double x);
double leat_digamma(double x);
double leat_polygamma(double n, double x);
double leat_zeta(double x, double q);  // the Hurwitz zeta function
double leat_igamma(double a, double x);
double leat_igammac(double a, double x);
double leat_igamma_grad_a(double a, double x);
double leat_betainc(double a, double b, double x);

// The inverses of the normal distribution function and of erf.
double leat_ndtri(double p);
double leat_erfinv(double x);

// Modified Bessel functions. An |e| at the end of a name says that the value is scaled: by
// exp(-|x|) for I, by exp(x) for K.
double leat_bessel_i0e(double x);
double leat_bessel_i1e(double x);
double leat_bessel_i0(double x);
double leat_bessel_i1(double x);
double leat_bessel_k0e(double x);
double leat_bessel_k1e(double x);
double leat_bessel_k0(double x);
double leat_bessel_k1(double x);

// Bessel functions of the first and second kind.
double leat_bessel_j0(double x);
double leat_bessel_j1(double x);
double leat_bessel_y0(double x);
double leat_bessel_y1(double x);

// Dawson's integral, the exponential integral Ei, the Fresnel integrals, and Li2(1 - x).
double leat_dawsn(double x);
double leat_expint(double x);
double leat_fresnel_cos(double x);
double leat_fresnel_sin(double x);
double leat_spence(double x);

#endif  // LEAT_OPS_MATH_SPECIAL_FUNCTIONS_CPU_H_
