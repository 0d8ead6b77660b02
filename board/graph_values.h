// What a debugger's dump (board/dump_store.h) says of a graph's items: the parameter "values" of a
// request names the dump.
#ifndef LEAT_BOARD_GRAPH_VALUES_H_
#define LEAT_BOARD_GRAPH_VALUES_H_

#include "board/api.h"
#include "board/graph_tree.h"

// Of all that is in an item.
typedef struct board_item_values_s {
  uint32_t outputs;  // that the dump has
  uint64_t bad;      // their elements that are NaN or infinite
  double most;       // the greatest magnitude of the finite ones
} board_item_values_t;

typedef struct board_graph_values_s {
  board_item_values_t* items;
} board_graph_values_t;

// NULL where the request names no dump. Nodes are found by their names; the insides of functions
// are passed over. In the request's arena.
LEAT_MUST_USE leat_status_t board_graph_values_of(board_api_t* api, const board_request_t* request,
                                                  const board_graph_t* graph,
                                                  board_graph_values_t** out_values);
// Appends ,"values":[...] with what the dump has of the outputs of the node |name|; nothing without
// a dump. Each is {"slot", "dtype", "shape", "count", "times", "counted", "nan", "low", "high" (the
// infinities), "least", "most", "mean", "deviation", "buckets"}.
LEAT_MUST_USE leat_status_t board_graph_values_print(board_api_t* api,
                                                     const board_request_t* request,
                                                     leat_string_view_t name,
                                                     leat_string_builder_t* out);

#endif  // LEAT_BOARD_GRAPH_VALUES_H_
