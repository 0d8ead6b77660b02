// Frames of a graph (section 4.4), found when a plan is compiled: which loop each node runs in, and
// which one its outputs belong to. Frame 0 is the graph outside loops.
#ifndef LEAT_WORKER_PLAN_FRAMES_H_
#define LEAT_WORKER_PLAN_FRAMES_H_

#include "graph/graph.h"

typedef struct leat_frame_s {
  int32_t parent;            // -1 for frame 0
  leat_string_view_t name;
  int32_t parallel_iterations;
  uint32_t entries;          // Enter nodes
  uint32_t slot_count;
  uint32_t record_count;
  uint32_t* readers;         // by slot, to copy from
  uint32_t* pending;         // by record of the frame, to copy from
} leat_frame_t;

typedef struct leat_frames_s {
  leat_frame_t* items;
  int32_t count;
  int32_t* runs_in;    // node -> frame
  int32_t* outputs_in; // node -> frame
} leat_frames_t;

// |order| has every input first (edges that close a loop set aside). Everything lies in |arena|.
// INVALID_ARGUMENT for a node whose inputs come from different frames, or an Exit outside a loop.
LEAT_MUST_USE leat_status_t leat_frames_find(const leat_graph_t* graph, const int32_t* order,
                                             leat_arena_t* arena, leat_frames_t* out_frames);

#endif  // LEAT_WORKER_PLAN_FRAMES_H_
