// Modified Bessel functions and integrals of elementary functions, in double: I0, I1, K0, K1 and
// their exponentially scaled forms, Dawson's integral, the exponential integral, the Fresnel
// integrals and the dilogarithm. The C library has J and Y but not these. Each function takes a
// power series for small arguments and an asymptotic series or a continued fraction for large ones;
// the border is where both are accurate. A series ends when a term no longer changes the sum, at
// the latest after MAX_STEPS terms.
//
//   I0(x) = sum (x^2/4)^k / (k!)^2              |x| <= 25;   e^x / sqrt(2 pi x) (1 + ...) above
//   K0(x) = -(ln(x/2) + gamma) I0(x) + sum ...   x <= 2;     a continued fraction above
//   Ei(x) = gamma + ln x + sum x^k / (k k!)      x <= 40;    e^x / x sum k! / x^k above
//
// The scaled forms (e^-|x| I, e^x K) are computed first, since they neither overflow nor underflow.
// The kernels of special_cpu.c call these functions for each element, on any thread; nothing here
// keeps state. Values at poles and outside of the domain are TensorFlow's.
#include <complex.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "ops/math/special_functions_cpu.h"

#ifndef CMPLX  // clang with the headers of glibc
#define CMPLX(real, imaginary) __builtin_complex((double)(real), (double)(imaginary))
#endif

#define PI 3.14159265358979323846
#define EULER 0.57721566490153286061
#define LN2 0.69314718055994530942
#define EPSILON 1.1102230246251565e-16
#define MAX_STEPS 1000

// ---- First kind ---------------------------------------------------------------------------------

// The sum over k of (x^2 / 4)^k / (k! (k + order)!). All terms are positive, so that nothing
// cancels.
static double i_series(double x, int order) {
  double quarter = 0.25 * x * x, term = 1, sum = 1;
  for (int k = 1; k < MAX_STEPS; ++k) {
    term *= quarter / ((double)k * (k + order));
    sum += term;
    if (term <= EPSILON * sum) break;
  }
  return sum;
}

// sqrt(2 pi x) e^-x I(x) for large x, by the asymptotic series in 1 / x; |mu| is 4 order^2.
static double i_asymptotic(double x, double mu) {
  double term = 1, sum = 1;
  for (int k = 1; k < MAX_STEPS; ++k) {
    double odd = 2.0 * k - 1;
    term *= -(mu - odd * odd) / (8 * k * x);
    sum += term;
    if (fabs(term) <= EPSILON * fabs(sum)) break;
  }
  return sum;
}

double leat_bessel_i0e(double x) {
  x = fabs(x);
  if (x <= 25) return i_series(x, 0) * exp(-x);
  return isinf(x) ? 0 : i_asymptotic(x, 0) / (sqrt(2 * PI) * sqrt(x));
}
double leat_bessel_i1e(double x) {
  double size = fabs(x), value;
  if (size <= 25) {
    value = 0.5 * size * i_series(size, 1) * exp(-size);
  } else {
    value = isinf(size) ? 0 : i_asymptotic(size, 4) / (sqrt(2 * PI) * sqrt(size));
  }
  return x < 0 ? -value : value;
}
double leat_bessel_i0(double x) { return leat_bessel_i0e(x) * exp(fabs(x)); }
double leat_bessel_i1(double x) { return leat_bessel_i1e(x) * exp(fabs(x)); }

// ---- Second kind --------------------------------------------------------------------------------

// K0 by its power series: sum over k of (x^2/4)^k / (k!)^2 H_k, with the harmonic numbers H_k, less
// (ln(x/2) + gamma) I0(x).
static double k0_series(double x) {
  double quarter = 0.25 * x * x, term = 1, harmonic = 0, sum = 0;
  for (int k = 1; k < MAX_STEPS; ++k) {
    term *= quarter / ((double)k * k);
    harmonic += 1.0 / k;
    sum += term * harmonic;
    if (term * harmonic <= EPSILON * fabs(sum)) break;
  }
  return sum - (log(x) - LN2 + EULER) * i_series(x, 0);
}

// K1 by its power series, whose coefficients are sums of two digamma values at integers.
static double k1_series(double x) {
  double quarter = 0.25 * x * x, term = 1, psi = 1 - 2 * EULER, sum = psi;
  for (int k = 1; k < MAX_STEPS; ++k) {
    term *= quarter / ((double)k * (k + 1));
    psi += 1.0 / k + 1.0 / (k + 1);
    sum += term * psi;
    if (fabs(term * psi) <= EPSILON * fabs(sum)) break;
  }
  return 1 / x + (log(x) - LN2) * 0.5 * x * i_series(x, 1) - 0.25 * x * sum;
}

// e^x K0(x) and e^x K1(x) for x >= 2: Temme's continued fraction, summed by Steed's method, which
// needs no second pass for the normalizing sum |s|.
static void k_fraction(double x, double* out_k0e, double* out_k1e) {
  if (x > 1e17) {  // all later terms of 1 + 1 / (8 x) + ... are lost, and 2 x may overflow
    *out_k0e = *out_k1e = sqrt(0.5 * PI) / sqrt(x);
    return;
  }
  double b = 2 * (1 + x), d = 1 / b, h = d, step = d;
  double q1 = 0, q2 = 1, c = 0.25, q = c, a = -c, s = 1 + q * step;
  for (int i = 2; i < MAX_STEPS; ++i) {
    a -= 2 * (i - 1);
    c = -a * c / i;
    double next = (q1 - b * q2) / a;
    q1 = q2;
    q2 = next;
    q += c * next;
    b += 2;
    d = 1 / (b + a * d);
    step *= b * d - 1;
    h += step;
    double part = q * step;
    s += part;
    if (fabs(part) <= EPSILON * fabs(s)) break;
  }
  *out_k0e = sqrt(PI / (2 * x)) / s;
  *out_k1e = *out_k0e * (x + 0.5 - 0.25 * h) / x;
}

// true when K has no finite value at |x|; |*out_value| is infinity for x <= 0 and NaN for NaN.
static bool k_has_no_value(double x, double* out_value) {
  *out_value = x <= 0 ? INFINITY : NAN;
  return !(x > 0);
}

double leat_bessel_k0e(double x) {
  double k0e, k1e;
  if (k_has_no_value(x, &k0e)) return k0e;
  if (x <= 2) return k0_series(x) * exp(x);
  if (isinf(x)) return 0;
  k_fraction(x, &k0e, &k1e);
  return k0e;
}
double leat_bessel_k1e(double x) {
  double k0e, k1e;
  if (k_has_no_value(x, &k1e)) return k1e;
  if (x <= 2) return k1_series(x) * exp(x);
  if (isinf(x)) return 0;
  k_fraction(x, &k0e, &k1e);
  return k1e;
}
double leat_bessel_k0(double x) {
  return x > 0 && x <= 2 ? k0_series(x) : leat_bessel_k0e(x) * exp(-x);
}
double leat_bessel_k1(double x) {
  return x > 0 && x <= 2 ? k1_series(x) : leat_bessel_k1e(x) * exp(-x);
}

// ---- Bessel functions proper --------------------------------------------------------------------

// The C library's functions, except at the ends: TensorFlow gives NaN at infinity, and -infinity
// for Y at and below its pole at 0.
double leat_bessel_j0(double x) { return isinf(x) ? NAN : j0(x); }
double leat_bessel_j1(double x) { return isinf(x) ? NAN : j1(x); }
double leat_bessel_y0(double x) { return x <= 0 ? -INFINITY : isinf(x) ? NAN : y0(x); }
double leat_bessel_y1(double x) { return x <= 0 ? -INFINITY : isinf(x) ? NAN : y1(x); }

// ---- Dawson's integral --------------------------------------------------------------------------

// Dawson's integral e^(-x^2) times the integral of e^(t^2) from 0 to x. Rybicki's method
// approximates it by a sum over odd multiples of a step h around x; the error falls like exp(-(pi /
// 2h)^2), which is below 1e-17 for h = 1/4. A power series serves near 0, where the sum would
// cancel.
double leat_dawsn(double x) {
  const double kStep = 0.25;
  double size = fabs(x);
  if (size < 0.2) {
    double square = x * x, term = x, sum = x;
    for (int k = 1; k < 20; ++k) {
      term *= -2 * square / (2 * k + 1);
      sum += term;
    }
    return sum;
  }
  if (size > 1e8) return 0.5 / x;
  if (x != x) return x;
  double nearest = 2 * floor(0.5 * size / kStep + 0.5), rest = size - nearest * kStep;
  double e1 = exp(2 * rest * kStep), e2 = e1 * e1, above = nearest + 1, below = nearest - 1;
  double sum = 0;
  for (int i = 0; i < 14; ++i, above += 2, below -= 2, e1 *= e2) {
    double odd = (2 * i + 1) * kStep;
    sum += exp(-odd * odd) * (e1 / above + 1 / (below * e1));
  }
  double value = 0.5641895835477563 * exp(-rest * rest) * sum;
  return x < 0 ? -value : value;
}

// ---- Exponential integral -----------------------------------------------------------------------

// Ei(x) for x > 0. TensorFlow gives NaN for negative x, although Ei is defined there.
double leat_expint(double x) {
  if (x == 0) return -INFINITY;
  if (!(x > 0)) return NAN;
  if (x > 40) {
    if (x > 709) return INFINITY;
    double term = 1, sum = 1;
    for (int k = 1; k < 60; ++k) {
      // The asymptotic series diverges in the end: it stops at its smallest term.
      double next = term * k / x;
      if (next >= term || next <= EPSILON * sum) break;
      term = next;
      sum += term;
    }
    return exp(x) * sum / x;
  }
  double term = 1, sum = 0;
  for (int k = 1; k < MAX_STEPS; ++k) {
    term *= x / k;
    sum += term / k;
    if (fabs(term / k) <= EPSILON * fabs(sum)) break;
  }
  return EULER + log(x) + sum;
}

// ---- Fresnel integrals --------------------------------------------------------------------------

// C(x) + i S(x) for x > 0, the integrals of cos(pi t^2 / 2) and sin(pi t^2 / 2) from 0 to x. From
// 1.5 on they come from the continued fraction of the complex error function, by Lentz's method.
static double complex fresnel(double x) {
  if (x < 1.5) {
    double square = 0.5 * PI * x * x, cosine = 0, sine = 0, term = x;
    for (int k = 0; k < 60; ++k) {
      double part = term / (2 * k + 1) * ((k / 2) % 2 ? -1 : 1);
      if (k % 2) {
        sine += part;
      } else {
        cosine += part;
      }
      term *= square / (k + 1);
    }
    return CMPLX(cosine, sine);
  }
  double square = PI * x * x;
  double complex b = CMPLX(1, -square), c = 1e300, d = 1 / b, h = d;
  for (int k = 2; k < MAX_STEPS; ++k) {
    double n = 2 * k - 3, a = -n * (n + 1);
    b += 4;
    d = 1 / (a * d + b);
    c = b + a / c;
    double complex factor = c * d;
    h *= factor;
    if (fabs(creal(factor) - 1) + fabs(cimag(factor)) <= EPSILON) break;
  }
  h *= CMPLX(x, -x);
  return CMPLX(0.5, 0.5) * (1 - CMPLX(cos(0.5 * square), sin(0.5 * square)) * h);
}
// The integrals are odd; above 36974 they are taken for their limit, as TensorFlow does, though
// they may differ from it by 1 / (pi x).
static double complex fresnel_of(double x) {
  if (x != x) return CMPLX(x, x);
  double size = fabs(x);
  double complex value = size > 36974 ? CMPLX(0.5, 0.5) : fresnel(size);
  return x < 0 ? -value : value;
}
double leat_fresnel_cos(double x) { return creal(fresnel_of(x)); }
double leat_fresnel_sin(double x) { return cimag(fresnel_of(x)); }

// ---- Dilogarithm --------------------------------------------------------------------------------

// Spence's function for x in [1/2, 3/2] as a series in u = -ln(x): u - u^2/4 + sum of B(2k)
// u^(2k+1) / (2k+1)!.
static double spence_series(double x) {
  static const double kEven[] = {1.0 / 36, -1.0 / 3600, 1.0 / 211680, -1.0 / 10886400,
                                 1.0 / 526901760, -691.0 / 16999766784000.0,
                                 1.0 / 1120863744000.0, -3617.0 / 181400588328960000.0};
  double u = -log(x), square = u * u, power = u * square, sum = u - 0.25 * square;
  for (size_t k = 0; k < LEAT_ARRAY_SIZE(kEven); ++k, power *= square) sum += kEven[k] * power;
  return sum;
}

// Spence's function, Li2(1 - x): two reflections bring x into the interval of the series.
double leat_spence(double x) {
  if (x < 0 || x != x) return NAN;
  if (x == 0) return PI * PI / 6;
  if (isinf(x)) return -INFINITY;
  if (x > 1.5) return -0.5 * log(x) * log(x) - leat_spence(1 / x);
  if (x < 0.5) return PI * PI / 6 - log(x) * log1p(-x) - spence_series(1 - x);
  return spence_series(x);
}
