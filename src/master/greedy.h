// The greedy placer (section 3.2.1): it places a graph by simulating its execution on the cost
// model.
#ifndef LEAT_MASTER_GREEDY_H_
#define LEAT_MASTER_GREEDY_H_

#include "master/groups.h"

// Sets the device of every node. |groups| have been found; scratch memory comes from |arena|.
LEAT_MUST_USE leat_status_t leat_place_greedily(leat_graph_t* graph, leat_groups_t* groups,
                                                leat_arena_t* arena);

#endif  // LEAT_MASTER_GREEDY_H_
