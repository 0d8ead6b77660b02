// The order in which stochastic dual coordinate ascent visits the examples of a batch.
#ifndef LEAT_OPS_TRAIN_SDCA_ORDER_CPU_H_
#define LEAT_OPS_TRAIN_SDCA_ORDER_CPU_H_

#include "base/random.h"
#include "kernel/step_check.h"

// Fills |order| with a random permutation of [0, count).
void leat_sdca_shuffle_order(leat_philox_t philox, int64_t* order, int64_t count);

// What the adaptive order works with, each for every example.
typedef struct leat_sdca_draw_s {
  float* chances;  // given: at least 0, finite, in any unit; they are only read
  double* sums;    // of the chances up to and with an example
  int32_t* taken;  // how often an example has been drawn
  int64_t* rest;   // those that were never drawn
} leat_sdca_draw_t;
// Fills |order| with |count| examples that are drawn by their chances, some of them several times.
// Fails only when the step shall end.
LEAT_MUST_USE leat_status_t leat_sdca_draw_order(leat_philox_t philox, leat_sdca_draw_t* draw,
                                                 leat_step_pace_t* pace, int64_t* order,
                                                 int64_t count);

#endif  // LEAT_OPS_TRAIN_SDCA_ORDER_CPU_H_
