// Simulates a scenario's cluster, and says what came of it.
#ifndef LEAT_TOOLS_SIMULATE_SIMULATION_H_
#define LEAT_TOOLS_SIMULATE_SIMULATION_H_

#include "simulate/scenario.h"

// What may be busy. All workers are one kind, and so are all servers; with all tasks on one
// machine, its processor is USAGE_WORKER_CPU.
enum {
  USAGE_WORKER_CPU, USAGE_WORKER_SEND, USAGE_WORKER_RECEIVE,
  USAGE_SERVER_CPU, USAGE_SERVER_SEND, USAGE_SERVER_RECEIVE, USAGE_COUNT
};

// The parts of the time are 0 to 1. Times are seconds of the simulated clock, within the window in
// which steps were counted.
typedef struct outcome_s {
  long steps;              // of workers, or updates with policy sync
  double window;           // how long they took together
  double steps_per_second, examples_per_second;
  double median, p90, p99, mean;  // of a step, or between two updates
  double usage[USAGE_COUNT];      // of the time that the capacity was in use, the mean of a kind
  double busiest[USAGE_COUNT];    // the same of the one of the kind that was used most
  double compute;          // of a worker's time, in which its phases would compute if all were free
  double waiting;          // of a worker's time, between its own end of a step and the update
  double dropped;          // gradients that came too late, for each update
} outcome_t;

// Runs the scenario, which scenario_check has passed. false with |out_error| set: without memory,
// or where a file of samples cannot be read.
bool simulate(const scenario_t* scenario, outcome_t* out_outcome, scenario_error_t* out_error);

#endif  // LEAT_TOOLS_SIMULATE_SIMULATION_H_
