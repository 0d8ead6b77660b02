// What the caller of a step asks for beside its values (RunOptions), and what it is told of the
// step (RunMetadata). A step goes through the three functions in their order; one that has no
// RunOptions may begin with a zeroed struct:
//
//   begin ─▶ measure ─▶ the step runs ─▶ end
//
// A step without options and without measuring collects nothing and allocates nothing here.
#ifndef LEAT_CAPI_SESSION_RUN_OPTIONS_H_
#define LEAT_CAPI_SESSION_RUN_OPTIONS_H_

#include "capi/handles.h"
#include "session/session.h"
#include "trace/collector.h"

// On the stack of the call that runs the step. After a successful begin, end must follow.
typedef struct leat_capi_run_options_s {
  int64_t timeout_ms;  // 0: that of the session
  int inter_op_pool;   // of those that the configuration lists; -1: the calling thread
  int64_t collective_graph_key;  // of leat_run_t
  leat_step_collector_t* collector;  // NULL: no statistics are collected; else |storage|
  leat_step_collector_t storage;
  bool shows_partitions;
  leat_string_builder_t graphs;  // where a master elsewhere shows them: leat_run_t's, for the step
  bool is_profiled;  // the step has the profilers of plug-ins
  // the signature whose costs the step adds to; NULL: the step is not measured
  leat_signature_t* measured;
} leat_capi_run_options_t;

// Reads |run_options|, which may be NULL, and checks that |run_metadata|, which may be NULL, is
// empty.
LEAT_MUST_USE leat_status_t leat_capi_run_options_begin(const TF_Buffer* run_options,
                                                        const TF_Buffer* run_metadata,
                                                        leat_capi_run_options_t* out_options);
// Called before a step of |signature| runs: prepares for collecting if |session| measures it.
void leat_capi_run_options_measure(leat_capi_run_options_t* options, TF_Session* session,
                                   leat_signature_t* signature);
// Called after the step |run| of |session|, which ended with |status| (taken and returned, perhaps
// with another error): adds what was collected to the costs and writes |run_metadata|, which may be
// NULL.
LEAT_MUST_USE leat_status_t leat_capi_run_options_end(leat_capi_run_options_t* options,
                                                      TF_Session* session, const leat_run_t* run,
                                                      leat_status_t status,
                                                      TF_Buffer* run_metadata);

// cost_graph.c: what was measured of a signature's nodes, as TensorFlow's CostGraphDef.
struct leat_pb_cost_graph_def_s;

// Writes a node for each node of each device's graph, after placement and optimization.
// |signature| is one of a session that measures its steps, and |costs| are that session's. The
// message lies in |arena| and borrows from the signature.
LEAT_MUST_USE leat_status_t leat_capi_cost_graph(leat_costs_t* costs,
                                                 const leat_signature_t* signature,
                                                 leat_arena_t* arena,
                                                 struct leat_pb_cost_graph_def_s* out_graph);

#endif  // LEAT_CAPI_SESSION_RUN_OPTIONS_H_
