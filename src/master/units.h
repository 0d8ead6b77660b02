// Units: sets of whole colocation groups that a placer places or moves as one. Greedy and local
// choices look only one step ahead, and larger units let them make larger steps. There are several
// kinds.
#ifndef LEAT_MASTER_UNITS_H_
#define LEAT_MASTER_UNITS_H_

#include "master/simulator.h"

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

#endif  // LEAT_MASTER_UNITS_H_
