// The frames of a graph (section 4.4): which loop each node runs in, and in which loop its outputs
// are visible. An Enter takes a value into a frame and an Exit takes one out of it; frames follow
// from these nodes alone. Frame 0 is the graph outside all loops. The compiler of the executor, the
// partitioner and the gradient builder ask this.
#ifndef LEAT_GRAPH_FRAMES_H_
#define LEAT_GRAPH_FRAMES_H_

#include "graph/graph.h"

// One loop. Its identity is the pair of its parent and its name.
typedef struct leat_frame_s {
  int32_t parent;               // the frame outside; -1 for frame 0
  leat_string_view_t name;      // attribute "frame_name" of its Enter nodes; "" for frame 0
  int32_t parallel_iterations;  // how many iterations may run at once; at least 1
  uint32_t entries;             // the number of Enter nodes that lead into it
} leat_frame_t;

// The frames of one graph. A frame comes after its parent, so that items[i].parent < i.
typedef struct leat_frames_s {
  leat_frame_t* items;
  int32_t count;
  int32_t* runs_in;     // [node_count] the frame in which the node runs
  int32_t* outputs_in;  // [node_count] differs from |runs_in| for Enter and Exit
} leat_frames_t;

// Finds the frames of the nodes in |order|, where every node stands behind its inputs, edges that
// close loops aside. The order may leave out nodes that no other one in it needs. The result lies
// in |arena|. |verb| begins the messages: "<verb> failed for node ...". INVALID_ARGUMENT for a node
// whose inputs come from different frames, an Exit or NextIteration outside all loops, and an Enter
// without a frame's name.
LEAT_MUST_USE leat_status_t leat_frames_find(const leat_graph_t* graph, const int32_t* order,
                                             size_t order_count, const char* verb,
                                             leat_arena_t* arena, leat_frames_t* out_frames);

#endif  // LEAT_GRAPH_FRAMES_H_
