// The borders of loops in recordings (base/span.h): a span for each run of a loop and one for each
// of its iterations. Both executors tell them, each where it begins and ends iterations; the spans
// are of no thread, since an iteration may begin on one thread and end on another, and several may
// run at once.
#ifndef LEAT_WORKER_LOOP_SPAN_H_
#define LEAT_WORKER_LOOP_SPAN_H_

#include "base/span.h"
#include "kernel/kernel.h"

// A loop of a plan, as recordings name it.
typedef struct leat_loop_label_s {
  leat_string_view_t frame;     // borrowed from the plan's graph
  _Atomic(uint64_t) span_name;  // of leat_span_name
} leat_loop_label_t;

// When a loop and its iteration under way began; 0: nothing was recorded then.
typedef struct leat_loop_times_s {
  int64_t begin, iteration_begin;
  int64_t iteration;  // its number
} leat_loop_times_t;

// Ends a LOOP or an ITERATION that began at |begin|; nothing where that is 0.
static inline void leat_loop_span_end(int64_t begin, leat_span_kind_t kind,
                                      leat_loop_label_t* label, int64_t value,
                                      const leat_step_services_t* services) {
  if (LEAT_LIKELY(!begin)) return;
  leat_span_end_in_step(begin, kind, leat_span_name(&label->span_name, label->frame, LEAT_SV("")),
                        value, leat_span_step(services->container_step_id));
}

#endif  // LEAT_WORKER_LOOP_SPAN_H_
