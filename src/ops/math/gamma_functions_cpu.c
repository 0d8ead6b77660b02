// The relatives of the gamma function in double: digamma, polygamma and zeta functions, incomplete
// gamma and beta functions, quantiles of the normal distribution. The C library has lgamma and erfc
// only. The methods are the textbook's (Abramowitz and Stegun; Numerical Recipes), chosen because
// each is accurate to a few units of the last place in its region and short:
//
//   digamma, zeta         recurrence up to 10, then the Euler-Maclaurin (asymptotic) series
//   P(a, x)               power series for x <= 1 or x <= a
//   Q(a, x) = 1 - P       continued fraction above
//   I_x(a, b)             continued fraction (Lentz), on the side where it converges fast
//   quantile              a rational approximation to 9 digits, then one step of Halley's method
//
// Each of P and Q is computed directly where it is small, so that 1 - (the other) never cancels.
// The kernels of special_cpu.c call these functions for each element, on any thread; nothing here
// keeps state. Poles and arguments outside of the domain give what TensorFlow gives, infinity or
// NaN.
#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "ops/math/special_functions_cpu.h"

#define PI 3.14159265358979323846
#define EPSILON 1.1102230246251565e-16
#define MAX_STEPS 5000

double leat_lgamma(double x) {
  int sign;
  return lgamma_r(x, &sign);
}

// The coefficients B(2k) / 2k of digamma's asymptotic series.
static const double kDigamma[] = {1.0 / 12,      -1.0 / 120,  1.0 / 252, -1.0 / 240, 1.0 / 132,
                                  -691.0 / 32760, 1.0 / 12};

double leat_digamma(double x) {
  if (x <= 0) {
    if (x == floor(x)) return NAN;
    return leat_digamma(1 - x) - PI / tan(PI * x);
  }
  double sum = 0;
  for (; x < 10; x += 1) sum -= 1 / x;
  if (isinf(x)) return x;
  double square = 1 / (x * x), power = square;
  double series = 0;
  for (size_t k = 0; k < LEAT_ARRAY_SIZE(kDigamma); ++k, power *= square) {
    series += kDigamma[k] * power;
  }
  return sum + log(x) - 0.5 / x - series;
}

// The coefficients B(2k) / (2k)! of the Euler-Maclaurin sum.
static const double kZeta[] = {
    1.0 / 12,
    -1.0 / 720,
    1.0 / 30240,
    -1.0 / 1209600,
    1.0 / 47900160,
    -691.0 / 1307674368000.0,
    1.0 / 74724249600.0,
    -3617.0 / 10670622842880000.0,
    43867.0 / 5109094217170944000.0,
    -174611.0 / 802857662698291200000.0,
    77683.0 / 14101100039391805440000.0,
    -236364091.0 / 1693824136731743669452800000.0,
};

// The Hurwitz zeta function: the sum over k >= 0 of (q + k)^-x. At least ten terms are added one by
// one, until q is 10; the rest of the sum is an integral and Euler-Maclaurin corrections.
double leat_zeta(double x, double q) {
  if (x == 1) return INFINITY;
  if (x < 1 || x != x || q != q) return NAN;
  if (q <= 0) {
    if (q == floor(q)) return rint(0.5 * x) == 0.5 * x ? INFINITY : NAN;
    if (x != floor(x)) return NAN;
  }
  if (q < -MAX_STEPS) return NAN;  // the recurrence up to 10 would take too long
  double sum = 0, power = 0;
  for (int i = 0; i < 10 || q < 10; ++i, q += 1) {
    power = pow(q, -x);
    sum += power;
    if (fabs(power) <= EPSILON * fabs(sum) && q > 0) return sum;
  }
  power = pow(q, -x);
  sum += power * q / (x - 1) + 0.5 * power;
  double factor = x, scale = power / q;
  for (size_t k = 0; k < LEAT_ARRAY_SIZE(kZeta); ++k) {
    double term = kZeta[k] * factor * scale;
    sum += term;
    if (fabs(term) < EPSILON * fabs(sum)) break;
    factor *= (x + 2 * (double)k + 1) * (x + 2 * (double)k + 2);
    scale /= q * q;
  }
  return sum;
}

// The derivative of digamma of order n: (-1)^(n + 1) n! zeta(n + 1, x).
double leat_polygamma(double n, double x) {
  if (floor(n) != n || n < 0) return NAN;
  if (n == 0) return leat_digamma(x);
  double sign = fmod(n, 2) == 0 ? -1 : 1;
  return sign * exp(leat_lgamma(n + 1)) * leat_zeta(n + 1, x);
}

// ---- Incomplete gamma functions -----------------------------------------------------------------

// One of the two tails of the gamma distribution: the power series of the lower one, P, or the
// continued fraction of the upper one, Q, and its derivative by a.
typedef struct leat_igamma_tail_s {
  // Q(a, x) or P(a, x) without the factor x^a e^-x over gamma(a) (Q) or gamma(a + 1) (P).
  double value;
  double slope;
} leat_igamma_tail_t;

// The sum over k of x^k / ((a + 1) ... (a + k)).
static leat_igamma_tail_t lower_series(double a, double x) {
  double term = 1, sum = 1, slope = 0, harmonic = 0;
  for (int k = 1; k < MAX_STEPS; ++k) {
    term *= x / (a + k);
    harmonic += 1 / (a + k);
    sum += term;
    slope -= term * harmonic;
    if (term * (1 + harmonic) <= EPSILON * sum) break;
  }
  return (leat_igamma_tail_t){sum, slope};
}

// The continued fraction of Q, by the recurrence of its convergents p / q; |dp| and |dq| are their
// derivatives by a. p and q grow without bound and are scaled down together now and then.
static leat_igamma_tail_t upper_fraction(double a, double x) {
  double y = 1 - a, z = x + y + 1;
  double p2 = 1, q2 = x, p1 = x + 1, q1 = z * x;
  double dp2 = 0, dq2 = 0, dp1 = 0, dq1 = -x;
  double value = p1 / q1, slope = (dp1 - value * dq1) / q1;
  for (int k = 1; k < MAX_STEPS; ++k) {
    y += 1;
    z += 2;
    double p = p1 * z - p2 * y * k, q = q1 * z - q2 * y * k;
    double dp = dp1 * z - p1 - dp2 * y * k + p2 * k;
    double dq = dq1 * z - q1 - dq2 * y * k + q2 * k;
    double before = value, slope_before = slope;
    if (q != 0) {
      value = p / q;
      slope = (dp - value * dq) / q;
    }
    p2 = p1, p1 = p, q2 = q1, q1 = q;
    dp2 = dp1, dp1 = dp, dq2 = dq1, dq1 = dq;
    if (fabs(p) > 0x1p60) {
      p2 *= 0x1p-60, p1 *= 0x1p-60, q2 *= 0x1p-60, q1 *= 0x1p-60;
      dp2 *= 0x1p-60, dp1 *= 0x1p-60, dq2 *= 0x1p-60, dq1 *= 0x1p-60;
    }
    if (fabs(value - before) <= EPSILON * fabs(value) &&
        fabs(slope - slope_before) <= EPSILON * fabs(slope)) {
      break;
    }
  }
  return (leat_igamma_tail_t){value, slope};
}

// x^a e^-x / gamma(a).
static double igamma_factor(double a, double x) {
  return exp(a * log(x) - x - leat_lgamma(a));
}

double leat_igamma(double a, double x) {
  if (x == 0) return 0;
  if (x < 0 || a <= 0 || a != a || x != x) return NAN;
  if (isinf(a)) return isinf(x) ? NAN : 0;
  if (isinf(x)) return 1;
  double factor = igamma_factor(a, x);
  if (x > 1 && x > a) return factor == 0 ? 1 : 1 - factor * upper_fraction(a, x).value;
  return factor == 0 ? 0 : factor / a * lower_series(a, x).value;
}

double leat_igammac(double a, double x) {
  if (x < 0 || a <= 0 || a != a || x != x) return NAN;
  if (x == 0) return 1;
  if (isinf(a)) return isinf(x) ? NAN : 1;
  if (isinf(x)) return 0;
  if (x < 1 || x < a) return 1 - leat_igamma(a, x);
  double factor = igamma_factor(a, x);
  return factor == 0 ? 0 : factor * upper_fraction(a, x).value;
}

// The derivative of P(a, x) by a, by the product rule over the factor and the series or fraction.
double leat_igamma_grad_a(double a, double x) {
  if (x == 0) return 0;
  if (x < 0 || a <= 0 || a != a || x != x) return NAN;
  double factor = isinf(a) || isinf(x) ? 0 : igamma_factor(a, x);
  if (factor == 0) return 0;
  if (x > 1 && x > a) {
    leat_igamma_tail_t tail = upper_fraction(a, x);
    return -factor * (tail.value * (log(x) - leat_digamma(a)) + tail.slope);
  }
  leat_igamma_tail_t tail = lower_series(a, x);
  return factor / a * (tail.value * (log(x) - leat_digamma(a + 1)) + tail.slope);
}

// ---- Incomplete beta function -------------------------------------------------------------------

// Lentz's method divides by partial results; a zero among them becomes a tiny number.
static double away_from_zero(double x) { return fabs(x) < 1e-300 ? 1e-300 : x; }

// The continued fraction of the incomplete beta function by Lentz's method. It converges fast for x
// < (a + 1) / (a + b + 2).
static double beta_fraction(double a, double b, double x) {
  double c = 1, d = 1 / away_from_zero(1 - (a + b) * x / (a + 1)), h = d;
  for (int m = 1; m < MAX_STEPS; ++m) {
    double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away_from_zero(1 + even * d);
    c = away_from_zero(1 + even / c);
    h *= d * c;
    double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away_from_zero(1 + odd * d);
    c = away_from_zero(1 + odd / c);
    h *= d * c;
    if (fabs(d * c - 1) <= EPSILON) break;
  }
  return h;
}

double leat_betainc(double a, double b, double x) {
  if (a <= 0 || b <= 0 || x < 0 || x > 1) return NAN;
  if (x == 0 || x == 1) return x;
  if (a != a || b != b || x != x) return NAN;
  double log_factor = a * log(x) + b * log1p(-x) + leat_lgamma(a + b) - leat_lgamma(a) -
                      leat_lgamma(b);
  double factor = exp(log_factor);
  if (x < (a + 1) / (a + b + 2)) return factor * beta_fraction(a, b, x) / a;
  return 1 - factor * beta_fraction(b, a, 1 - x) / b;
}

// ---- Inverses -----------------------------------------------------------------------------------

static double horner(const double* coefficients, int count, double x) {
  double sum = 0;
  for (int i = 0; i < count; ++i) sum = sum * x + coefficients[i];
  return sum;
}

// The quantile of the normal distribution at p in (0, 1/2], to 9 digits, by the rational functions
// of Acklam.
static double quantile_start(double p) {
  static const double kMiddle[] = {-3.969683028665376e+01, 2.209460984245205e+02,
                                   -2.759285104469687e+02, 1.383577518672690e+02,
                                   -3.066479806614716e+01, 2.506628277459239e+00};
  static const double kBelowMiddle[] = {-5.447609879822406e+01, 1.615858368580409e+02,
                                        -1.556989798598866e+02, 6.680131188771972e+01,
                                        -1.328068155288572e+01, 1};
  static const double kTail[] = {-7.784894002430293e-03, -3.223964580411365e-01,
                                 -2.400758277161838e+00, -2.549732539343734e+00,
                                 4.374664141464968e+00,  2.938163982698783e+00};
  static const double kBelowTail[] = {7.784695709041462e-03, 3.224671290700398e-01,
                                      2.445134137142996e+00, 3.754408661907416e+00, 1};
  if (p < 0.02425) {
    double q = sqrt(-2 * log(p));
    return horner(kTail, 6, q) / horner(kBelowTail, 5, q);
  }
  double q = p - 0.5, r = q * q;
  return horner(kMiddle, 6, r) * q / horner(kBelowMiddle, 6, r);
}

double leat_ndtri(double p) {
  if (p == 0) return -INFINITY;
  if (p == 1) return INFINITY;
  if (!(p > 0 && p < 1)) return NAN;
  if (p > 0.5) return -leat_ndtri(1 - p);
  double x = quantile_start(p);
  // One step of Halley's method: the relative error of the distribution function, over its
  // derivative.
  double relative = 0.5 * erfc(-x * M_SQRT1_2) / p - 1;
  double step = relative * exp(0.5 * x * x + log(p) + 0.91893853320467274178);
  return x - step / (1 + 0.5 * x * step);
}

double leat_erfinv(double x) {
  double y = leat_ndtri(0.5 * x + 0.5) * M_SQRT1_2;
  if (!(fabs(x) < 0.9)) return y;
  // A step of Newton's method regains the digits that 0.5 x + 0.5 lost.
  return y - (erf(y) - x) / (M_2_SQRTPI * exp(-y * y));
}
