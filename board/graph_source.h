// The graph that a request names by its run and tag, where it lies in the event files. A run's own
// graph has no tag.
#ifndef LEAT_BOARD_GRAPH_SOURCE_H_
#define LEAT_BOARD_GRAPH_SOURCE_H_

#include "board/api.h"
#include "formats/generated/graph.h"

#define BOARD_RUN_GRAPH LEAT_SV("__run_graph__")

// Valid as long as the request.
typedef struct board_graph_source_s {
  board_run_t* run;
  leat_string_view_t tag;
  bool is_metadata;  // a RunMetadata that holds graphs of functions
  bool is_placed;    // or one of a step, with the graphs that its devices ran
  board_snapshot_t snapshot;
  uint32_t index;  // the newest step
} board_graph_source_t;

// The parameter "placed" asks for the graphs that the devices ran in the step "tag", after the
// optimizer and placement. INVALID_ARGUMENT without a run, NOT_FOUND where it has no such graph.
LEAT_MUST_USE leat_status_t board_graph_source_find(board_api_t* api,
                                                    const board_request_t* request,
                                                    board_graph_source_t* out_source);
// The same for what was recorded of steps, under the tag that the parameter |name| must give.
LEAT_MUST_USE leat_status_t board_graph_source_find_steps(board_api_t* api,
                                                          const board_request_t* request,
                                                          const char* name,
                                                          board_graph_source_t* out_source);
LEAT_MUST_USE leat_status_t board_graph_source_bytes(const board_graph_source_t* source,
                                                     leat_arena_t* arena,
                                                     leat_string_view_t* out_bytes);
// The graph and all that it refers to lies in |arena|. UNIMPLEMENTED for several functions,
// NOT_FOUND where a step was recorded without graphs of its devices.
LEAT_MUST_USE leat_status_t board_graph_source_read(const board_graph_source_t* source,
                                                    leat_arena_t* arena,
                                                    leat_pb_graph_def_t* out_graph);

#endif  // LEAT_BOARD_GRAPH_SOURCE_H_
