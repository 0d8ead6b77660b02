// Translates collected events into TensorFlow's StepStats, and these into its RunMetadata message.
// Called after the step has ended, when nothing writes to the collector any more.
#ifndef LEAT_TRACE_RUN_METADATA_H_
#define LEAT_TRACE_RUN_METADATA_H_

#include "base/string_builder.h"
#include "trace/collector.h"

struct leat_pb_step_stats_s;
struct leat_pb_cost_graph_def_s;

// Appends the names of the inputs of |node|, separated by ", "; nothing for a node that it does not
// know.
typedef void (*leat_trace_inputs_fn_t)(void* data, leat_string_view_t node,
                                       leat_string_builder_t* out_inputs);
// Makes the StepStats of the collected events. |inputs_of| is called with |data| for each label;
// NULL: the nodes have no labels. The message lies in the collector's arena.
LEAT_MUST_USE leat_status_t leat_step_stats_describe(leat_step_collector_t* collector,
                                                     leat_trace_inputs_fn_t inputs_of, void* data,
                                                     struct leat_pb_step_stats_s* out_stats);
// Appends a serialized RunMetadata to |out_bytes|. |cost_graph| may be NULL.
LEAT_MUST_USE leat_status_t leat_run_metadata_encode(struct leat_pb_step_stats_s* stats,
                                                     struct leat_pb_cost_graph_def_s* cost_graph,
                                                     leat_string_builder_t* out_bytes);

#endif  // LEAT_TRACE_RUN_METADATA_H_
