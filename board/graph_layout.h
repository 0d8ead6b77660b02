// The layered drawing of a directed graph: where boxes lie, and by which points edges go.
//
// Boxes lie in rows, called ranks; edges run from an upper rank to a lower one, but for those that
// close a cycle. Parts of the graph without an edge between them are laid out each on its own and
// packed like lines of text. Nothing here recurses, and the same input always gives the same
// drawing.
#ifndef LEAT_BOARD_GRAPH_LAYOUT_H_
#define LEAT_BOARD_GRAPH_LAYOUT_H_

#include "base/arena.h"

#define BOARD_LAYOUT_GAP 24       // between boxes of a rank
#define BOARD_LAYOUT_RANK_GAP 44  // between ranks

typedef struct board_layout_node_s {
  int32_t width, height;  // given
  int32_t x, y;           // the corner at the left and top
  uint32_t rank;          // of the part of the graph that the node is in
} board_layout_node_t;

typedef struct board_layout_edge_s {
  uint32_t from, to;  // given: indices of nodes
  bool is_back;       // runs upwards, because it closes a cycle
  // Coordinates x, y, x, y, ... from |from| to |to|. NULL for an edge from a node to itself.
  int32_t* points;
  uint32_t point_count;
} board_layout_edge_t;

typedef struct board_layout_s {
  board_layout_node_t* nodes;
  size_t node_count;
  board_layout_edge_t* edges;
  size_t edge_count;
  int32_t width, height;  // of the whole drawing, whose corner is 0, 0
} board_layout_t;

// Places the nodes and edges. What it allocates, the points among it, lies in |arena|. Fewer than
// 2^31 nodes and edges; sizes of at most 2^20.
LEAT_MUST_USE leat_status_t board_layout_run(board_layout_t* layout, leat_arena_t* arena);

#endif  // LEAT_BOARD_GRAPH_LAYOUT_H_
