// Special functions of one and several variables, in double. Poles and arguments outside of the
// domain give what TensorFlow gives: infinity or NaN, never a trap.
#ifndef LEAT_OPS_MATH_SPECIAL_FUNCTIONS_CPU_H_
#define LEAT_OPS_MATH_SPECIAL_FUNCTIONS_CPU_H_

// The gamma function's relatives.
double leat_lgamma(double x);
double leat_digamma(double x);
double leat_polygamma(double n, double x);
double leat_zeta(double x, double q);  // Hurwitz
double leat_igamma(double a, double x);
double leat_igammac(double a, double x);
double leat_igamma_grad_a(double a, double x);
double leat_betainc(double a, double b, double x);

// Inverses.
double leat_ndtri(double p);
double leat_erfinv(double x);

// Bessel functions; modified ones with |e|: scaled by exp(-|x|) (first kind) or exp(x) (second).
double leat_bessel_i0e(double x);
double leat_bessel_i1e(double x);
double leat_bessel_i0(double x);
double leat_bessel_i1(double x);
double leat_bessel_k0e(double x);
double leat_bessel_k1e(double x);
double leat_bessel_k0(double x);
double leat_bessel_k1(double x);

double leat_bessel_j0(double x);
double leat_bessel_j1(double x);
double leat_bessel_y0(double x);
double leat_bessel_y1(double x);

// Integrals.
double leat_dawsn(double x);
double leat_expint(double x);
double leat_fresnel_cos(double x);
double leat_fresnel_sin(double x);
double leat_spence(double x);

#endif  // LEAT_OPS_MATH_SPECIAL_FUNCTIONS_CPU_H_
