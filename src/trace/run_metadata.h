// The collected events as TensorFlow's RunMetadata message (step_stats).
#ifndef LEAT_TRACE_RUN_METADATA_H_
#define LEAT_TRACE_RUN_METADATA_H_

#include "base/string_builder.h"
#include "trace/collector.h"

// Appends what a node's inputs are called, separated by ", "; nothing for a node that it does not
// know.
typedef void (*leat_trace_inputs_fn_t)(void* data, leat_string_view_t node,
                                       leat_string_builder_t* out_inputs);
// Appends the serialised message. |inputs_of| is called with |data|, for the labels.
LEAT_MUST_USE leat_status_t leat_run_metadata_encode(leat_step_collector_t* collector,
                                                     leat_trace_inputs_fn_t inputs_of, void* data,
                                                     leat_string_builder_t* out_bytes);

#endif  // LEAT_TRACE_RUN_METADATA_H_
