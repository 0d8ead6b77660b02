// The losses of stochastic dual coordinate ascent: squared, logistic, hinge, smooth hinge, Poisson.
//
// With all other dual variables fixed, that of one example is optimised alone. For the squared loss
// and the two hinges the best value has a closed form; the hinges clip it to where their conjugate
// is finite, which is where label * dual lies in [0, 1]. For the logistic and the Poisson loss it
// is found by ten steps of Newton's method, which converges quadratically. The steps are taken in a
// variable that ranges over all numbers (the inverse hyperbolic tangent of the dual, its
// logarithm), so that none leaves the domain.
//
// The formulas are those of Shalev-Shwartz and Zhang ("Stochastic dual coordinate ascent methods
// for regularized loss minimization", 2013), and with several partitions those of CoCoA+ (Ma et
// al., "Adding vs. averaging in distributed primal-dual optimization", 2015).
#include "ops/train/sdca_loss_cpu.h"

#include <math.h>

#define NEWTON_STEPS 10

// ---- Labels -------------------------------------------------------------------------------------

static bool read_any_label(float* inout_label) {
  (void)inout_label;
  return true;
}

// Two classes, 0 and 1, which the losses call -1 and 1.
static bool read_class(float* inout_label) {
  if (*inout_label != 0) return *inout_label == 1;
  *inout_label = -1;
  return true;
}

// NaN passes, as in TensorFlow.
static bool read_count(float* inout_label) { return !(*inout_label < 0); }

// ---- Squared: (wx - y)^2 / 2 --------------------------------------------------------------------

static double squared_dual(const leat_sdca_point_t* p) {
  return p->dual + (p->label - p->dual - p->wx) / (1 + p->curvature * p->weight);
}

static double squared_dual_loss(double dual, double label, double weight) {
  return dual * (.5 * dual - label) * weight;
}

static double squared_loss(double wx, double label, double weight) {
  const double error = wx - label;
  return error * error * weight * .5;
}

static double squared_derivative(double wx, double label) { return wx - label; }

// ---- Logistic: log(1 + exp(-y wx)) --------------------------------------------------------------

static double logistic_dual(const leat_sdca_point_t* p) {
  const double y = p->label, slope = p->curvature * p->weight;
  double x = 0;
  for (int i = 0; i < NEWTON_STEPS; ++i) {
    const double t = tanh(x);
    const double value = -2 * y * x - p->wx - slope * (.5 * (1 + t) / y - p->dual);
    const double derivative = -2 * y - slope * (1 - t * t) * .5 / y;
    x -= value / derivative;
  }
  return .5 * (1 + tanh(x)) / y;
}

static double logistic_dual_loss(double dual, double label, double weight) {
  const double p = dual * label, q = 1 - p;
  return (p * (p > 0 ? log(p) : 0) + q * (q > 0 ? log(q) : 0)) * weight;
}

// The exponential is always of a number that is not positive, so that it cannot overflow.
static double logistic_loss(double wx, double label, double weight) {
  const double margin = label * wx;
  if (margin > 0) return log1p(exp(-margin)) * weight;
  return (log1p(exp(margin)) - margin) * weight;
}

static double logistic_derivative(double wx, double label) {
  const double margin = label * wx;
  const double share =
      margin > 0 ? exp(-margin) / (1 + exp(-margin)) : 1 / (1 + exp(margin));
  return -share * label;
}

// ---- Hinge: max(0, 1 - y wx) --------------------------------------------------------------------

// Moves |dual| to where label * dual lies in [0, 1].
static double clipped(double dual, double label) {
  return label * dual < 0 ? 0 : label * dual > 1 ? label : dual;
}

static double hinge_dual(const leat_sdca_point_t* p) {
  return clipped(p->dual + (p->label - p->wx) / (p->curvature * p->weight), p->label);
}

static double hinge_dual_loss(double dual, double label, double weight) {
  const double share = dual * label;
  return share < 0 || share > 1 ? HUGE_VAL : -share * weight;
}

static double hinge_loss(double wx, double label, double weight) {
  const double loss = 1 - label * wx;
  return (0 < loss ? loss : 0) * weight;
}

static double hinge_derivative(double wx, double label) { return label * wx < 1 ? -label : 0; }

// ---- Smooth hinge: a parabola between the margins 0 and 1 ---------------------------------------

static double smooth_hinge_dual(const leat_sdca_point_t* p) {
  const double step = (p->label - p->wx - p->dual) / (p->curvature * p->weight + 1);
  return clipped(p->dual + step, p->label);
}

static double smooth_hinge_dual_loss(double dual, double label, double weight) {
  const double share = dual * label;
  return share < 0 || share > 1 ? HUGE_VAL : (-share + .5 * dual * dual) * weight;
}

static double smooth_hinge_loss(double wx, double label, double weight) {
  const double margin = label * wx;
  if (margin >= 1) return 0;
  if (margin <= 0) return (.5 - margin) * weight;
  return (1 - margin) * (1 - margin) * weight * .5;
}

static double smooth_hinge_derivative(double wx, double label) {
  const double margin = label * wx;
  return margin >= 1 ? 0 : margin <= 0 ? -label : wx - label;
}

// ---- Poisson: exp(wx) - y wx --------------------------------------------------------------------

static double poisson_dual(const leat_sdca_point_t* p) {
  const double start = p->label - p->dual, slope = p->curvature * p->weight;
  double x = start > 0 ? log(start) : 0;
  for (int i = 0; i < NEWTON_STEPS; ++i) {
    const double e = exp(x);
    x -= (x - p->wx - slope * (start - e)) / (1 + slope * e);
  }
  return p->label - exp(x);
}

static double poisson_dual_loss(double dual, double label, double weight) {
  const double rest = label - dual;
  if (rest == 0) return 0;
  return rest < 0 ? HUGE_VAL : rest * (log(rest) - 1) * weight;
}

static double poisson_loss(double wx, double label, double weight) {
  return (exp(wx) - wx * label) * weight;
}

static double poisson_derivative(double wx, double label) { return exp(wx) - label; }

// ---- All ----------------------------------------------------------------------------------------

static const char kClassRule[] = "Only labels of 0.0 or 1.0 are supported right now.";

static const leat_sdca_loss_t kLosses[] = {
    {"squared_loss", 1, read_any_label, "", squared_dual, squared_dual_loss, squared_loss,
     squared_derivative},
    {"logistic_loss", 4, read_class, kClassRule, logistic_dual, logistic_dual_loss, logistic_loss,
     logistic_derivative},
    {"hinge_loss", 0, read_class, kClassRule, hinge_dual, hinge_dual_loss, hinge_loss,
     hinge_derivative},
    {"smooth_hinge_loss", 1, read_class, kClassRule, smooth_hinge_dual, smooth_hinge_dual_loss,
     smooth_hinge_loss, smooth_hinge_derivative},
    {"poisson_loss", 1, read_count,
     "Only non-negative labels can be used with the Poisson log loss.", poisson_dual,
     poisson_dual_loss, poisson_loss, poisson_derivative},
};

const leat_sdca_loss_t* leat_sdca_loss_find(leat_string_view_t name) {
  for (size_t i = 0; i < sizeof(kLosses) / sizeof(kLosses[0]); ++i) {
    if (leat_string_view_equals(name, kLosses[i].name)) return &kLosses[i];
  }
  return NULL;
}
