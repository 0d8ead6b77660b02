// The collected events as TensorFlow's RunMetadata message (step_stats).
#ifndef LEAT_TRACE_RUN_METADATA_H_
#define LEAT_TRACE_RUN_METADATA_H_

#include "base/string_builder.h"
#include "trace/collector.h"

// Appends the serialised message.
LEAT_MUST_USE leat_status_t leat_run_metadata_encode(leat_step_collector_t* collector,
                                                     leat_string_builder_t* out_bytes);

#endif  // LEAT_TRACE_RUN_METADATA_H_
