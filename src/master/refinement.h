// Improves a placement by local search: units are moved to other devices as long as that shortens
// the simulated step, and then simulated annealing looks for better placements. The search has a
// budget of simulated nodes, so that its time does not grow with the graph.
#ifndef LEAT_MASTER_REFINEMENT_H_
#define LEAT_MASTER_REFINEMENT_H_

#include "master/units.h"

typedef struct leat_refinement_s {
  leat_simulator_t* sim;
  const leat_units_t* units;  // [LEAT_UNITS_COUNT]
  const bool* floats;         // node: goes where its readers are (greedy.c)
  const int32_t* sequence;    // nodes by falling rank
  int32_t* best;              // node -> device
  int64_t best_ns;
  // Set by leat_refinement_initialize; for refinement.c alone.
  int32_t* devices;           // the placement that is being tried
  struct leat_refinement_move_s* moved;  // the changes of the move that is being tried
  size_t moved_count;
  bool* tried;                // unit: its turn in this round has come
  int32_t* path;              // the critical path, from its end
  size_t path_count;
  int64_t budget;             // nodes that may still be visited
} leat_refinement_t;

// The caller has set the upper fields; arrays are allocated in |arena|.
LEAT_MUST_USE leat_status_t leat_refinement_initialize(leat_refinement_t* refinement,
                                                       leat_arena_t* arena);
// Makes |devices| the best placement if its step is shorter than the best and fits into memory.
void leat_refinement_consider(leat_refinement_t* refinement, const int32_t* devices);
// Searches from the best placement; |effort| multiplies the budget of annealing.
void leat_refinement_run(leat_refinement_t* refinement, int effort);

#endif  // LEAT_MASTER_REFINEMENT_H_
