// Frames of a graph (section 4.4): which loop each node runs in, and which one its outputs belong
// to. They follow from Enter and Exit alone. Frame 0 is the graph outside loops.
#ifndef LEAT_GRAPH_FRAMES_H_
#define LEAT_GRAPH_FRAMES_H_

#include "graph/graph.h"

typedef struct leat_frame_s {
  int32_t parent;            // -1 for frame 0
  leat_string_view_t name;
  int32_t parallel_iterations;
  uint32_t entries;          // Enter nodes
} leat_frame_t;

typedef struct leat_frames_s {
  leat_frame_t* items;
  int32_t count;
  int32_t* runs_in;    // node -> frame
  int32_t* outputs_in; // node -> frame
} leat_frames_t;

// |order| has every input first (edges that close a loop set aside) and may leave nodes out that no
// other one in it needs. Everything lies in |arena|. |verb| begins the messages. INVALID_ARGUMENT
// for a node whose inputs come from different frames, or an Exit outside a loop.
LEAT_MUST_USE leat_status_t leat_frames_find(const leat_graph_t* graph, const int32_t* order,
                                             size_t order_count, const char* verb,
                                             leat_arena_t* arena, leat_frames_t* out_frames);

#endif  // LEAT_GRAPH_FRAMES_H_
