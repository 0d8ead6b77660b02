// The figures of a task. They are counted with atomic additions where things happen, and printed in
// the text format of Prometheus when somebody asks; what can be counted then, such as the sessions
// that there are, is not kept.
#ifndef LEAT_CLUSTER_METRICS_H_
#define LEAT_CLUSTER_METRICS_H_

#include "base/status.h"
#include "base/string_builder.h"
#include "base/sync.h"

#define LEAT_METRICS_CODES 17     // of statuses
#define LEAT_METRICS_BUCKETS 16   // of times: up to 100 us, 250 us, ... 10 s, and all others

// How long things took.
typedef struct leat_metrics_times_s {
  _Atomic(uint64_t) counts[LEAT_METRICS_BUCKETS];
  _Atomic(uint64_t) sum_ns;
} leat_metrics_times_t;

typedef struct leat_task_metrics_s {
  int64_t start_wall_ns;
  _Atomic(uint64_t) steps[LEAT_METRICS_CODES];  // as a master, by the code of their end
  leat_metrics_times_t step_times;
  _Atomic(uint64_t) runs[LEAT_METRICS_CODES];   // parts of steps that masters had run here
  leat_metrics_times_t run_times;
  _Atomic(uint64_t) tensors_sent, tensor_bytes_sent;          // to other tasks
  _Atomic(uint64_t) tensors_received, tensor_bytes_received;  // from other tasks
  _Atomic(uint64_t) plane_tensors_sent, plane_tensors_received;  // of these, by UCX (plane.h)
  _Atomic(uint64_t) request_bytes;                            // of all calls that came in
  _Atomic(uint64_t) calls, calls_refused;
  _Atomic(uint64_t) sessions_created, sessions_abandoned, worker_sessions_created;
  _Atomic(uint64_t) graphs_registered, partial_runs_abandoned;
  _Atomic(int64_t) lost_tasks;  // at present
} leat_task_metrics_t;

static inline void leat_metrics_add(_Atomic(uint64_t)* figure, uint64_t amount) {
  atomic_fetch_add_explicit(figure, amount, memory_order_relaxed);
}
// A value, or a chunk of one, went to another task or came from one; on the plane, or by a call.
static inline void leat_metrics_note_sent(leat_task_metrics_t* metrics, size_t size_bytes,
                                          bool is_on_plane) {
  leat_metrics_add(&metrics->tensors_sent, 1);
  leat_metrics_add(&metrics->tensor_bytes_sent, size_bytes);
  leat_metrics_add(&metrics->plane_tensors_sent, is_on_plane);
}
static inline void leat_metrics_note_received(leat_task_metrics_t* metrics, size_t size_bytes,
                                              bool is_on_plane) {
  leat_metrics_add(&metrics->tensors_received, 1);
  leat_metrics_add(&metrics->tensor_bytes_received, size_bytes);
  leat_metrics_add(&metrics->plane_tensors_received, is_on_plane);
}
void leat_metrics_note_time(leat_metrics_times_t* histogram, int64_t duration_ns);
// Notes the end of a step or a run that began at |begin_ns| and ended with |status| (borrowed).
void leat_metrics_note_end(_Atomic(uint64_t) figures[LEAT_METRICS_CODES],
                           leat_metrics_times_t* times, int64_t begin_ns, leat_status_t status);

struct leat_task_s;
// Appends all figures of the task.
void leat_task_print_metrics(struct leat_task_s* task, leat_string_builder_t* out);

#endif  // LEAT_CLUSTER_METRICS_H_
