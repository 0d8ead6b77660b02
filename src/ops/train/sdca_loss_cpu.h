// The losses of stochastic dual coordinate ascent (sdca_optimizer_cpu.c). Each is a loss phi(wx, y)
// of the prediction wx for an example with the label y, and its convex conjugate, in which the
// example's dual variable is optimised. All of it is computed in double, as in TensorFlow.
#ifndef LEAT_OPS_TRAIN_SDCA_LOSS_CPU_H_
#define LEAT_OPS_TRAIN_SDCA_LOSS_CPU_H_

#include "base/string_view.h"
#include "kernel/kernel.h"

// One example as a loss sees it.
typedef struct leat_sdca_point_s {
  double label;   // as |read_label| gave it
  double weight;  // how often the example counts
  double dual;    // its dual variable so far
  double wx;      // its prediction by the weights so far
  // By how much the example's dual variable moves its own prediction: the squared norm of its
  // features over l2, times the number of loss partitions.
  double curvature;
} leat_sdca_point_t;

typedef struct leat_sdca_loss_s {
  const char* name;  // as the attribute loss_type has it
  double smoothness;  // the loss's derivative changes by at most 1 / smoothness for each unit of wx
  // Whether |*inout_label| is one that the loss knows; it becomes the loss's own: -1 for 0 where
  // the labels are two classes.
  bool (*read_label)(float* inout_label);
  const char* label_rule;  // for the message about a label that the loss does not know
  // The dual variable that is best while those of all other examples stay.
  double (*updated_dual)(const leat_sdca_point_t* p);
  // The convex conjugate at |dual| and the loss itself at |wx|, both times |weight|. Outside its
  // domain the conjugate is infinite, whatever the weight.
  double (*dual_loss)(double dual, double label, double weight);
  double (*primal_loss)(double wx, double label, double weight);
  double (*derivative)(double wx, double label);  // of the loss by wx, not weighted
} leat_sdca_loss_t;

// The loss of that name, or NULL.
const leat_sdca_loss_t* leat_sdca_loss_find(leat_string_view_t name);

#endif  // LEAT_OPS_TRAIN_SDCA_LOSS_CPU_H_
