// The graph that a request names by its run and tag, where it lies in the event files. A run's own
// graph has no tag.
#ifndef LEAT_BOARD_GRAPH_SOURCE_H_
#define LEAT_BOARD_GRAPH_SOURCE_H_

#include "board/api.h"
#include "board/graph_stages.h"
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
  int64_t stage;   // of compiling, with |is_placed|; -1: what the devices ran in the end
  bool has_written;  // the run has the graph as the program wrote it, which stage 0 changed
  board_snapshot_t written;
} board_graph_source_t;

// What a graph was read from.
typedef struct board_graph_content_s {
  leat_pb_graph_def_t graph;
  const leat_pb_run_metadata_t* step;  // NULL unless the source |is_placed|
  const board_graph_stage_t* stage;    // NULL unless the source names one; |graph| is its graph
} board_graph_content_t;

// The parameter "placed" asks for the graphs that the devices ran in the step "tag", after the
// optimizer and placement; with "stage" too, for what that stage of compiling made of the graph.
// INVALID_ARGUMENT without a run, NOT_FOUND where it has no such graph.
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
// NOT_FOUND where a step was recorded without graphs of its devices, or without that stage.
LEAT_MUST_USE leat_status_t board_graph_source_read(const board_graph_source_t* source,
                                                    leat_arena_t* arena,
                                                    board_graph_content_t* out_content);
// What a step with |is_placed| says, and all of its stages, of which |wanted| has its graph.
LEAT_MUST_USE leat_status_t board_graph_source_read_stages(const board_graph_source_t* source,
                                                           size_t wanted, leat_arena_t* arena,
                                                           leat_pb_run_metadata_t** out_step,
                                                           board_graph_stage_t** out_stages);

#endif  // LEAT_BOARD_GRAPH_SOURCE_H_
