// What the graph page's addresses share (board/api_graph_levels.c, board/api_graph_item.c,
// board/api_graph_stages.c).
#ifndef LEAT_BOARD_API_GRAPH_H_
#define LEAT_BOARD_API_GRAPH_H_

#include "board/api.h"
#include "board/graph_store.h"

// The graph that the request names; released with board_graph_store_release.
LEAT_MUST_USE leat_status_t board_api_take_graph(board_api_t* api, const board_request_t* request,
                                                 board_stored_graph_t** out_graph);
// "[?,10]".
void board_api_print_shape(const leat_pb_tensor_shape_proto_t* shape, leat_string_builder_t* out);
// The shape of an output as a JSON string; "" where the graph does not tell it.
void board_api_print_output_shape(const leat_pb_node_def_t* node, uint32_t output,
                                  leat_string_builder_t* out);
// The name of |item| as a JSON string; series and lists have none but what they are called in their
// scope.
void board_api_print_path(const board_graph_item_t* item, leat_string_builder_t* out);
// Why a node of a recorded step is on its device, as members of a JSON object: "placement", and
// "since", the stage that made the node. |name| is the node's.
void board_api_print_reasons(const board_stored_graph_t* stored, leat_string_view_t name,
                             leat_string_builder_t* out);
// What a stage did with the node, and how it differs from what it was: "change" and "differences".
LEAT_MUST_USE leat_status_t board_api_print_change(const board_stored_graph_t* stored,
                                                   uint32_t item, leat_string_builder_t* out);

#endif  // LEAT_BOARD_API_GRAPH_H_
