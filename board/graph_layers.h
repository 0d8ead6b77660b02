// One connected part of a layered drawing: the order of its boxes in each rank, and coordinates.
// It is the inner half of board/graph_layout.c, which calls it for each part.
#ifndef LEAT_BOARD_GRAPH_LAYERS_H_
#define LEAT_BOARD_GRAPH_LAYERS_H_

#include "board/graph_layout.h"

typedef struct board_layers_part_s {
  board_layout_t* layout;
  // The part's nodes and edges, as indices of the layout's, in ascending order. Edges from a node
  // to itself are not among them; each other edge leads from a rank to a later one, or is marked as
  // going back and leads to an earlier one.
  const uint32_t* nodes;
  size_t node_count;
  const uint32_t* edges;
  size_t edge_count;
  int32_t width, height;  // out
} board_layers_part_t;

// Sets the corners of the nodes and the points of the edges, from 0, 0 on.
LEAT_MUST_USE leat_status_t board_layers_place(board_layers_part_t* part, leat_arena_t* arena);

#endif  // LEAT_BOARD_GRAPH_LAYERS_H_
