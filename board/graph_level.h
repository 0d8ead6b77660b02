// What is drawn of a graph: the inside of each item that is open, laid out.
//
// A level has a box for each child of its item. A child that is open is as large as its own level.
// Edges between nodes become links between the boxes that hold them; those that cross the border of
// the level are counted at the box where they end inside. Boxes that would be joined to a large
// part of the others (a step counter, the gradients of everything) stand aside: their links are
// told and not drawn, so that the rest can be read.
#ifndef LEAT_BOARD_GRAPH_LEVEL_H_
#define LEAT_BOARD_GRAPH_LEVEL_H_

#include "board/graph_tree.h"

#define BOARD_GRAPH_MAX_OPEN 100

typedef struct board_level_box_s {
  uint32_t item;
  int32_t x, y, width, height;  // within the level
  uint32_t entering, leaving;   // edges that cross the level's border
  bool is_aside, is_open;
} board_level_box_t;

typedef struct board_level_link_s {
  uint32_t from, to;   // boxes
  uint32_t count;      // of edges
  uint32_t controls;   // how many of these carry no tensor
  uint32_t edge;       // the first of them: an index of the graph's edges
  bool is_aside;       // one of the ends is aside: there are no points
  int32_t* points;     // x, y, x, y, ...
  uint32_t point_count;
} board_level_link_t;

typedef struct board_level_s {
  uint32_t item;
  board_level_box_t* boxes;
  size_t box_count;
  board_level_link_t* links;
  size_t link_count;
  int32_t width, height;
} board_level_t;

// Makes the levels of item 0 and of those of |open| whose parents are open too, in the order of
// their numbers; what is no item with an inside is passed over. At most BOARD_GRAPH_MAX_OPEN levels
// are made. The memory is the arena's.
LEAT_MUST_USE leat_status_t board_levels_make(const board_graph_t* graph, const uint32_t* open,
                                              size_t open_count, leat_arena_t* arena,
                                              board_level_t** out_levels, size_t* out_count);

#endif  // LEAT_BOARD_GRAPH_LEVEL_H_
