// What a recorded step says of a graph's items: how long they took, and what memory they asked for.
#ifndef LEAT_BOARD_GRAPH_STEPS_H_
#define LEAT_BOARD_GRAPH_STEPS_H_

#include "board/graph_tree.h"
#include "formats/generated/run_metadata.h"

typedef struct board_graph_steps_s {
  // By item; a scope's is the sum of what is in it.
  uint64_t* time_ns;
  uint64_t* bytes;
} board_graph_steps_t;

// Finds the nodes of |graph| in |metadata| by their names; names that the graph has not are passed
// over (the runtime adds nodes of its own), and so are the insides of functions. The arrays are the
// arena's.
LEAT_MUST_USE leat_status_t board_graph_steps_read(const board_graph_t* graph,
                                                   const leat_pb_run_metadata_t* metadata,
                                                   leat_arena_t* arena,
                                                   board_graph_steps_t* out_steps);

#endif  // LEAT_BOARD_GRAPH_STEPS_H_
