// What the steps of board_graph_build share: board/graph_tree.c makes the tree of scopes and the
// edges, board/graph_fold.c puts series and lists into it and numbers it.
#ifndef LEAT_BOARD_GRAPH_TREE_BUILD_H_
#define LEAT_BOARD_GRAPH_TREE_BUILD_H_

#include "board/graph_tree.h"

typedef struct board_item_list_s {
  board_graph_item_t* items;
  size_t count;
} board_item_list_t;

typedef struct board_edge_list_s {
  board_graph_edge_t* items;
  size_t count;
} board_edge_list_t;

typedef struct board_graph_draft_s {
  leat_arena_t* arena;
  board_item_list_t items;  // a parent comes before what is in it
  board_edge_list_t edges;
} board_graph_draft_t;

LEAT_MUST_USE leat_status_t board_graph_add_item(board_graph_draft_t* draft,
                                                 board_item_kind_t kind, uint32_t parent,
                                                 leat_string_view_t path, leat_string_view_t label,
                                                 uint32_t* out_item);
// Sets the hash and the number of nodes of all items.
LEAT_MUST_USE leat_status_t board_graph_hash(board_graph_draft_t* draft);
// Adds series and lists, and puts all items into their final order, the ends of edges too.
LEAT_MUST_USE leat_status_t board_graph_fold(board_graph_draft_t* draft);

#endif  // LEAT_BOARD_GRAPH_TREE_BUILD_H_
