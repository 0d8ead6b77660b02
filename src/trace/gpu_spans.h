// Spans of what GPUs did, made of the records that their driver's tool gives (trace/gpu_module.h)
// when a recording ends: a row for each stream, and a launch on the row of the thread that called
// for the work.
#ifndef LEAT_TRACE_GPU_SPANS_H_
#define LEAT_TRACE_GPU_SPANS_H_

#include "base/span.h"
#include "trace/gpu_module.h"

// How the clock of records is related to leat_span_now: the same two moments by both.
typedef struct leat_gpu_clock_s {
  uint64_t gpu_begin, gpu_end;
  int64_t begin, end;
} leat_gpu_clock_t;
// |gpu_time| by leat_span_now.
int64_t leat_gpu_clock_apply(const leat_gpu_clock_t* clock, uint64_t gpu_time);

// Adds the work that began and ended while |recording| was under way, which has ended. The records
// may have any order; names that are equal should be one pointer. RESOURCE_EXHAUSTED where memory
// ends, with a part of the spans.
LEAT_MUST_USE leat_status_t leat_gpu_spans_add(const leat_gpu_record_t* records, size_t count,
                                               const leat_gpu_clock_t* clock,
                                               leat_recording_t* recording);

#endif  // LEAT_TRACE_GPU_SPANS_H_
