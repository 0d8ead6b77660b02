// What numbered steps (leat_step_numbers_t) have to know of the collectives in a graph.
#ifndef LEAT_MASTER_COLLECTIVES_H_
#define LEAT_MASTER_COLLECTIVES_H_

#include "master/placer.h"

typedef struct leat_graph_collectives_s {
  // By which all masters that run the graph number its steps; 0: nobody else takes part in them.
  int64_t graph_key;
  bool has_any;
  bool are_own;  // all are on devices of the master's own task
} leat_graph_collectives_t;

// Looks at a graph that is placed. RESOURCE_EXHAUSTED without memory.
LEAT_MUST_USE leat_status_t leat_graph_collectives_find(const leat_graph_t* graph,
                                                        const leat_placer_options_t* placement,
                                                        leat_graph_collectives_t* out_found);

#endif  // LEAT_MASTER_COLLECTIVES_H_
