// The inside of leat_delays_t, for those that make one: trace/delay.c, which finds the delays, and
// trace/delay_image.c, which has them from a file.
#ifndef LEAT_TRACE_DELAY_BUILD_H_
#define LEAT_TRACE_DELAY_BUILD_H_

#include "trace/delay_graph.h"

// What one cause did to one kernel in one step; those of a leat_delays_t are sorted by group,
// cause, kernel and length.
struct leat_delay_entry_s {
  uint32_t group, step;
  leat_delay_t delay;  // |median_ns| is that of its group; |gain_ns| at first the most of its piece
};

// Whether a piece of the cause is a delay; kernels and what is between them are the step's work.
static inline bool leat_cause_is_delay(uint32_t cause) {
  return cause != LEAT_DELAY_COMPUTE && cause != LEAT_DELAY_RUNTIME;
}

// Delays without steps, groups and entries, which are the caller's to add (arrays of the system's
// allocator, unless |is_borrowed| is set), and without links in |*out_graph|. To be freed with
// leat_delays_free.
LEAT_MUST_USE leat_status_t leat_delays_create(const leat_timeline_t* timeline,
                                               leat_delays_t** out_delays,
                                               leat_delay_graph_t** out_graph);

#endif  // LEAT_TRACE_DELAY_BUILD_H_
