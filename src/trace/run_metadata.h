// The collected events as TensorFlow's StepStats, and these in its RunMetadata message.
#ifndef LEAT_TRACE_RUN_METADATA_H_
#define LEAT_TRACE_RUN_METADATA_H_

#include "base/string_builder.h"
#include "trace/collector.h"

struct leat_pb_step_stats_s;
struct leat_pb_cost_graph_def_s;

// Appends what a node's inputs are called, separated by ", "; nothing for a node that it does not
// know.
typedef void (*leat_trace_inputs_fn_t)(void* data, leat_string_view_t node,
                                       leat_string_builder_t* out_inputs);
// |inputs_of| is called with |data|, for the labels; NULL: there are none. The message lies in the
// collector's arena.
LEAT_MUST_USE leat_status_t leat_step_stats_describe(leat_step_collector_t* collector,
                                                     leat_trace_inputs_fn_t inputs_of, void* data,
                                                     struct leat_pb_step_stats_s* out_stats);
// Appends the serialised message. |cost_graph| may be NULL.
LEAT_MUST_USE leat_status_t leat_run_metadata_encode(struct leat_pb_step_stats_s* stats,
                                                     struct leat_pb_cost_graph_def_s* cost_graph,
                                                     leat_string_builder_t* out_bytes);

#endif  // LEAT_TRACE_RUN_METADATA_H_
