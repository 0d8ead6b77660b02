// A graph as a tree of name scopes, so that it can be looked at level by level.
//
// Items are numbered so that what lies in an item follows it: the items below item i are i + 1 up
// to |end| of it. Item 0 is the whole graph. The nodes of a scope that are alike and differ by a
// number are put into a series, and scopes of too many items are folded into lists, so that no
// item has more than BOARD_GRAPH_MAX_CHILDREN. The functions of the library are scopes of their own
// below an item "(functions)".
#ifndef LEAT_BOARD_GRAPH_TREE_H_
#define LEAT_BOARD_GRAPH_TREE_H_

#include "base/arena.h"
#include "formats/generated/graph.h"

#define BOARD_GRAPH_MAX_CHILDREN 200
#define BOARD_GRAPH_MIXED UINT32_MAX
#define BOARD_GRAPH_NO_OUTPUT UINT32_MAX

typedef enum board_item_kind_e {
  BOARD_ITEM_SCOPE,
  BOARD_ITEM_NODE,
  BOARD_ITEM_FUNCTION,
  BOARD_ITEM_SERIES,  // alike, and named alike but for a number
  BOARD_ITEM_LIST,    // what was folded because there was too much of it
} board_item_kind_t;

typedef struct board_graph_item_s {
  leat_string_view_t path;   // the whole name of a node or scope; empty for series and lists
  leat_string_view_t label;  // what a drawing shows
  const leat_pb_node_def_t* node;  // NULL for all but nodes
  uint64_t hash;             // of what is inside, whatever it is called
  uint32_t parent;           // of item 0: 0
  uint32_t end;
  uint32_t node_count;       // how many nodes lie in it; 1 for a node
  uint32_t structure;        // the same for scopes with the same inside; 0: there is one only
  uint32_t device;           // index of |devices|, BOARD_GRAPH_MIXED where it holds several
  uint32_t depth;
  board_item_kind_t kind;
} board_graph_item_t;

typedef struct board_graph_edge_s {
  uint32_t from, to;  // items of nodes
  uint32_t output;    // of |from|; BOARD_GRAPH_NO_OUTPUT for control edges and where it is not told
  uint32_t input;     // of |to|
  bool is_control;
} board_graph_edge_t;

typedef struct board_graph_s {
  board_graph_item_t* items;
  size_t item_count;
  board_graph_edge_t* edges;  // in the order of |to|
  size_t edge_count;
  uint32_t* in_begin;   // the edges to item i: edges[in_begin[i] .. in_begin[i + 1])
  uint32_t* out_begin;  // those from item i: edges[out[out_begin[i] ..]]
  uint32_t* out;
  leat_string_view_t* devices;
  size_t device_count;
  size_t missing_inputs;  // that name no node
} board_graph_t;

// Makes the tree of |graph|, which must outlive it. All memory is the arena's. Graphs that the
// runtime would refuse are taken too: inputs without a node are counted and left out, of nodes with
// one name the first is meant. RESOURCE_EXHAUSTED without memory or from 2^31 items on.
LEAT_MUST_USE leat_status_t board_graph_build(const leat_pb_graph_def_t* graph,
                                              leat_arena_t* arena, board_graph_t* out_graph);

#endif  // LEAT_BOARD_GRAPH_TREE_H_
