// What was measured of a signature's nodes, as TensorFlow's CostGraphDef.
#ifndef LEAT_CAPI_SESSION_COST_GRAPH_H_
#define LEAT_CAPI_SESSION_COST_GRAPH_H_

#include "session/session.h"

struct leat_pb_cost_graph_def_s;

// Writes a node for each node of each device's graph, after placement and optimization.
// |signature| is one of a session that measures its steps, and |costs| are that session's. The
// message lies in |arena| and borrows from the signature.
LEAT_MUST_USE leat_status_t leat_capi_cost_graph(leat_costs_t* costs,
                                                 const leat_signature_t* signature,
                                                 leat_arena_t* arena,
                                                 struct leat_pb_cost_graph_def_s* out_graph);

#endif  // LEAT_CAPI_SESSION_COST_GRAPH_H_
