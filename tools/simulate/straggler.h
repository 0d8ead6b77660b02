// How much longer a step takes than it should: a factor for each step of a worker, drawn at random.
#ifndef LEAT_TOOLS_SIMULATE_STRAGGLER_H_
#define LEAT_TOOLS_SIMULATE_STRAGGLER_H_

#include <stdint.h>

#include "simulate/scenario.h"

typedef struct straggler_s {
  uint64_t state;     // of the random numbers
  double lognormal, tail_chance, tail_factor;
  double* samples;    // factors, in increasing order, whose median is 1
  int sample_count;
} straggler_t;

// Takes the scenario's distribution, and reads its file of measured times: one a line, in any unit,
// which are divided by their median. false with |out_error| set.
bool straggler_initialize(straggler_t* straggler, const scenario_t* scenario,
                          scenario_error_t* out_error);
void straggler_deinitialize(straggler_t* straggler);
double straggler_next(straggler_t* straggler);
// From 0 up to, but without, 1.
double straggler_uniform(straggler_t* straggler);

#endif  // LEAT_TOOLS_SIMULATE_STRAGGLER_H_
