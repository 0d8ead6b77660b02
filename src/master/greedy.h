// The greedy placer (section 3.2.1): it places a graph by simulating its execution on the cost
// model. The placer calls leat_place_greedily; the rest is what the placer's three sources share.
#ifndef LEAT_MASTER_GREEDY_H_
#define LEAT_MASTER_GREEDY_H_

#include "master/groups.h"
#include "master/simulator.h"

// Sets the device of every node. |groups| have been found; scratch memory comes from |arena|.
LEAT_MUST_USE leat_status_t leat_place_greedily(leat_graph_t* graph, leat_groups_t* groups,
                                                leat_arena_t* arena);

// ---- Units (units.c) ----------------------------------------------------------------------------
// Sets of whole colocation groups that the placer places or moves as one. Greedy and local choices
// look only one step ahead, and larger units let them make larger steps. There are several kinds.

typedef enum leat_units_kind_e {
  LEAT_UNITS_GROUPS,   // each colocation group by itself
  LEAT_UNITS_CHAINS,   // chains in which each node is the only reader of the one before
  LEAT_UNITS_WEIGHTS,  // constants and variables, with all nodes that read them
  LEAT_UNITS_CLUSTERS  // grown along the edges that carry most, of twelve sizes, the largest first
} leat_units_kind_t;
#define LEAT_UNITS_COUNT (LEAT_UNITS_CLUSTERS + 12)

typedef struct leat_units_s {
  int32_t* of;      // node -> its unit
  uint32_t* begin;  // unit -> its first in |nodes|
  int32_t* nodes;   // unit by unit
} leat_units_t;

// Makes the units of all kinds, in |arena|. |floats| [node]: it takes no time and lies with its
// readers.
LEAT_MUST_USE leat_status_t leat_units_make(const leat_simulator_t* simulator, const bool* floats,
                                            leat_arena_t* arena,
                                            leat_units_t out_units[LEAT_UNITS_COUNT]);

// ---- Refinement (refinement.c) ------------------------------------------------------------------
// Improves a placement by local search: units are moved to other devices as long as that shortens
// the simulated step, and then simulated annealing looks for better placements. The search has a
// budget of simulated nodes, so that its time does not grow with the graph.

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

#endif  // LEAT_MASTER_GREEDY_H_
