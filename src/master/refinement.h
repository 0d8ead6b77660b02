// A placement made better by moving units as long as that shortens the simulated step, and then by
// annealing: within a budget of simulated nodes, so that a large graph takes no longer than a small
// one.
#ifndef LEAT_MASTER_REFINEMENT_H_
#define LEAT_MASTER_REFINEMENT_H_

#include "master/units.h"

typedef struct leat_refinement_s {
  leat_simulator_t* sim;
  const leat_units_t* units;  // LEAT_UNITS_COUNT
  const bool* floats;         // node
  const int32_t* sequence;    // nodes by rank
  int32_t* best;              // node -> device
  int64_t best_ns;
  // Inner.
  int32_t* devices;           // what is tried
  struct leat_refinement_move_s* moved;  // since the last that was kept
  size_t moved_count;
  bool* tried;                // unit
  int32_t* path;
  size_t path_count;
  int64_t budget;             // nodes that may still be visited
} leat_refinement_t;

// |refinement| holds what stands above "inner"; arrays lie in |arena|.
LEAT_MUST_USE leat_status_t leat_refinement_initialize(leat_refinement_t* refinement,
                                                       leat_arena_t* arena);
// Keeps |devices| as the best if a step with them is shorter and fits into memory.
void leat_refinement_consider(leat_refinement_t* refinement, const int32_t* devices);
// |effort|: how often the usual budget annealing has.
void leat_refinement_run(leat_refinement_t* refinement, int effort);

#endif  // LEAT_MASTER_REFINEMENT_H_
