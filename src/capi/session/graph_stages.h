// Records in a RunMetadata what became of a step's graph while it was compiled, stage by stage, and
// why its nodes are on their devices.
//
//   leat_graph_stages_t stages;
//   leat_graph_stages_initialize(&bytes, &stages);
//   status = leat_session_show_partitions(session, run, &stages.view, show, data);
//   leat_graph_stages_deinitialize(&stages);
#ifndef LEAT_CAPI_SESSION_GRAPH_STAGES_H_
#define LEAT_CAPI_SESSION_GRAPH_STAGES_H_

#include "base/map.h"
#include "base/string_builder.h"
#include "master/master.h"

typedef struct leat_graph_stages_s {
  leat_compile_view_t view;    // what the master is given
  leat_string_builder_t* out;  // an encoded RunMetadata, to which fields are appended
  leat_arena_t arena;
  leat_string_map_t nodes;     // name -> what was written of the node
  int count;                   // of stages
} leat_graph_stages_t;

// |out| must outlive |out_stages|, which must stay in its place.
void leat_graph_stages_initialize(leat_string_builder_t* out, leat_graph_stages_t* out_stages);
void leat_graph_stages_deinitialize(leat_graph_stages_t* stages);

#endif  // LEAT_CAPI_SESSION_GRAPH_STAGES_H_
