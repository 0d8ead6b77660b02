// The trees of the graphs that were looked at last, since each click asks for the same graph again
// and reading one of 100,000 nodes takes a second.
#ifndef LEAT_BOARD_GRAPH_STORE_H_
#define LEAT_BOARD_GRAPH_STORE_H_

#include "board/graph_source.h"
#include "board/graph_tree.h"

typedef struct board_stored_graph_s board_stored_graph_t;
struct board_stored_graph_s {
  board_graph_t graph;
  board_graph_content_t* content;
  // By item, how many of its nodes a stage of compiling has changed, and how; NULL: it shows none.
  uint32_t (*changes)[BOARD_CHANGES];
  // The rest is the store's.
  leat_arena_t arena;
  board_run_t* run;
  leat_string_view_t tag;
  bool is_placed;
  int64_t stage;
  board_place_t place;
  uint32_t users;
};

LEAT_MUST_USE leat_status_t board_graph_store_create(board_graph_store_t** out_store);
// NULL is allowed. Nothing may be in use.
void board_graph_store_free(board_graph_store_t* store);
// The tree of the graph that |source| names, which stays until it is released. Any thread; two that
// ask at once wait for each other.
LEAT_MUST_USE leat_status_t board_graph_store_take(board_graph_store_t* store,
                                                   const board_graph_source_t* source,
                                                   board_stored_graph_t** out_graph);
void board_graph_store_release(board_graph_store_t* store, board_stored_graph_t* graph);

#endif  // LEAT_BOARD_GRAPH_STORE_H_
