// How recordings are made: by the recorder (base/span.c), and by sources of spans
// (leat_span_source_t in base/span.h), which add theirs behind those of a recording that has ended
// and is theirs alone meanwhile.
//
//   leat_recording_tail_t tail;
//   leat_recording_tail_initialize(recording, &tail);
//   LEAT_RETURN_IF_ERROR(leat_recording_tail_add_row(&tail, &stream, &row));
//   LEAT_RETURN_IF_ERROR(leat_recording_tail_add_spans(&tail, row, count, &spans));
//   ... fill spans[0, count) ...
//
// What was added stays when a later addition fails.
#ifndef LEAT_BASE_RECORDING_H_
#define LEAT_BASE_RECORDING_H_

#include "base/span.h"

// An empty recording, with room for the first name and |*out_name_capacity| in all. It is freed by
// leat_recording_free.
LEAT_MUST_USE leat_status_t leat_recording_create(leat_recording_t** out_recording,
                                                  size_t* out_name_capacity);
// Makes the text of a name, "name\ncategory", and room for it among the recording's names, where
// the caller puts it; it is the recording's then.
LEAT_MUST_USE leat_status_t leat_recording_make_name(leat_recording_t* recording,
                                                     size_t* inout_name_capacity,
                                                     leat_string_view_t name,
                                                     leat_string_view_t category, uint32_t graph,
                                                     leat_span_name_t* out_name);
// Adds a graph, all of which is copied. On failure the names that were added stay, and belong to no
// graph that the recording has.
LEAT_MUST_USE leat_status_t leat_recording_add_graph(leat_recording_t* recording,
                                                     size_t* inout_name_capacity,
                                                     size_t* inout_graph_capacity,
                                                     const leat_span_graph_t* graph);

// A moment by the clock of spans (leat_span_now), that of deadlines and the wall's.
typedef struct leat_moment_s { int64_t time, now_ns, wall_ns; } leat_moment_t;
leat_moment_t leat_moment_now(void);

// The end of a recording, where things are added.
typedef struct leat_recording_tail_s {
  leat_recording_t* recording;
  size_t thread_capacity, name_capacity;
  leat_span_chunk_t** behind;
} leat_recording_tail_t;
void leat_recording_tail_initialize(leat_recording_t* recording, leat_recording_tail_t* out_tail);
// Adds a row like a thread's.
LEAT_MUST_USE leat_status_t leat_recording_tail_add_row(leat_recording_tail_t* tail,
                                                        const leat_span_thread_t* row,
                                                        uint32_t* out_row);
// Adds a name, whether there is one like it or not.
LEAT_MUST_USE leat_status_t leat_recording_tail_add_name(leat_recording_tail_t* tail,
                                                         leat_string_view_t name,
                                                         leat_string_view_t category,
                                                         uint32_t graph, uint32_t* out_number);
// Adds |count| spans to a row, which the caller fills.
LEAT_MUST_USE leat_status_t leat_recording_tail_add_spans(leat_recording_tail_t* tail,
                                                          uint32_t row, size_t count,
                                                          leat_span_t** out_spans);

#endif  // LEAT_BASE_RECORDING_H_
