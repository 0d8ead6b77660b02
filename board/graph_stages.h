// What the stages of compiling made of a step's graph: a RunMetadata of Leat's says it as
// differences (graph_stages of formats/proto/run_metadata.proto), from which each stage's graph is
// put together here.
#ifndef LEAT_BOARD_GRAPH_STAGES_H_
#define LEAT_BOARD_GRAPH_STAGES_H_

#include "base/arena.h"
#include "formats/generated/run_metadata.h"

// What a stage did with a node.
typedef enum board_change_e {
  BOARD_CHANGE_NONE,
  BOARD_CHANGE_CAME,
  BOARD_CHANGE_GONE,
  BOARD_CHANGE_OTHER,  // it has another op, other inputs or attributes
  BOARD_CHANGE_MOVED,  // it has another device, and that is all
  BOARD_CHANGES,
} board_change_t;

typedef struct board_graph_stage_s {
  size_t nodes;                   // that it leaves
  size_t counts[BOARD_CHANGES];   // of its nodes and those that are gone, by change
  // Of the stage that was asked for: its nodes, and behind them those that are gone; the rest is by
  // node.
  leat_pb_graph_def_t graph;
  uint8_t* changes;               // board_change_t
  const leat_pb_node_def_t** before;  // what it was; NULL for one that came
} board_graph_stage_t;

// Goes through the stages of |metadata|. |written|, unless it is NULL, is the graph as the program
// wrote it, with which the first stage is compared, by ops and inputs; otherwise nothing changes
// there. |out_stages| has room for as many as there are, and |wanted| may be more than that. All
// memory is the arena's, and the messages must outlive it.
LEAT_MUST_USE leat_status_t board_graph_stages_read(const leat_pb_run_metadata_t* metadata,
                                                    const leat_pb_graph_def_t* written,
                                                    size_t wanted, leat_arena_t* arena,
                                                    board_graph_stage_t* out_stages);

#endif  // LEAT_BOARD_GRAPH_STAGES_H_
