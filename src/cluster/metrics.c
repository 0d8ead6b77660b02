// Counts what a task does, and prints the figures for Prometheus. Counters are atomic and are added
// to on the threads that serve calls, without a lock; a reader may see a step counted whose time is
// not yet in the histogram. A histogram keeps each bucket by itself; the sums that Prometheus
// wants, of a bucket and all below it, are made when it is printed. The names, and what they count,
// are part of the interface of the server (docs/cluster.md).
#include "cluster/metrics.h"

#include <inttypes.h>

#include "base/clock.h"
#include "cluster/master_session.h"
#include "cluster/task.h"
#include "cluster/worker_session.h"

// The bounds of the buckets; the last has none.
static const int64_t kBoundsUs[LEAT_METRICS_BUCKETS - 1] = {
    100,   250,    500,    1000,   2500,    5000,    10000,  25000,
    50000, 100000, 250000, 500000, 1000000, 2500000, 10000000};

void leat_metrics_note_time(leat_metrics_times_t* histogram, int64_t duration_ns) {
  int bucket = 0;
  while (bucket < LEAT_METRICS_BUCKETS - 1 && duration_ns > kBoundsUs[bucket] * 1000) ++bucket;
  leat_metrics_add(&histogram->counts[bucket], 1);
  leat_metrics_add(&histogram->sum_ns, (uint64_t)(duration_ns > 0 ? duration_ns : 0));
}

void leat_metrics_note_end(_Atomic(uint64_t) figures[LEAT_METRICS_CODES],
                           leat_metrics_times_t* times, int64_t begin_ns, leat_status_t status) {
  const int code = leat_status_code(status);
  LEAT_DCHECK(code >= 0 && code < LEAT_METRICS_CODES);
  leat_metrics_add(&figures[code], 1);
  leat_metrics_note_time(times, leat_clock_now_ns() - begin_ns);
}

// ---- Printing -----------------------------------------------------------------------------------

static void print_head(leat_string_builder_t* out, const char* name, const char* type,
                       const char* help) {
  leat_string_builder_print(out, "# HELP leat_%s %s\n# TYPE leat_%s %s\n", name, help, name, type);
}

static void print_number(leat_string_builder_t* out, const char* name, const char* type,
                         int64_t value, const char* help) {
  print_head(out, name, type, help);
  leat_string_builder_print(out, "leat_%s %" PRId64 "\n", name, value);
}

// OK and the codes that occurred.
static void print_codes(leat_string_builder_t* out, const char* name,
                        _Atomic(uint64_t) figures[LEAT_METRICS_CODES], const char* help) {
  print_head(out, name, "counter", help);
  for (int code = 0; code < LEAT_METRICS_CODES; ++code) {
    const uint64_t count = atomic_load(&figures[code]);
    if (code != LEAT_OK && count == 0) continue;
    leat_string_builder_print(out, "leat_%s{code=\"%s\"} %" PRIu64 "\n", name,
                              leat_status_code_name((leat_status_code_t)code), count);
  }
}

static void print_histogram(leat_string_builder_t* out, const char* name,
                            leat_metrics_times_t* histogram, const char* help) {
  uint64_t sum = 0;
  print_head(out, name, "histogram", help);
  for (int i = 0; i < LEAT_METRICS_BUCKETS; ++i) {
    sum += atomic_load(&histogram->counts[i]);
    if (i < LEAT_METRICS_BUCKETS - 1) {
      leat_string_builder_print(out, "leat_%s_bucket{le=\"%g\"} %" PRIu64 "\n", name,
                                (double)kBoundsUs[i] / 1e6, sum);
    } else {
      leat_string_builder_print(out, "leat_%s_bucket{le=\"+Inf\"} %" PRIu64 "\n", name, sum);
    }
  }
  leat_string_builder_print(out, "leat_%s_sum %.9g\nleat_%s_count %" PRIu64 "\n", name,
                            (double)atomic_load(&histogram->sum_ns) / 1e9, name, sum);
}

static void print_steps(leat_task_metrics_t* metrics, leat_string_builder_t* out) {
  print_codes(out, "steps_total", metrics->steps, "Steps of clients of this master, by their end.");
  print_histogram(out, "step_seconds", &metrics->step_times, "How long these steps took.");
  print_codes(out, "runs_total", metrics->runs, "Parts of steps that masters had run here.");
  print_histogram(out, "run_seconds", &metrics->run_times, "How long these parts took.");
}

static void print_counters(leat_task_metrics_t* metrics, leat_string_builder_t* out) {
  const struct {
    const char* name;
    _Atomic(uint64_t)* figure;
    const char* help;
  } kCounters[] = {
      {"tensors_sent_total", &metrics->tensors_sent, "Values that other tasks fetched here."},
      {"tensor_bytes_sent_total", &metrics->tensor_bytes_sent, "The bytes of these values."},
      {"tensors_received_total", &metrics->tensors_received,
       "Values that were fetched from other tasks."},
      {"tensor_bytes_received_total", &metrics->tensor_bytes_received,
       "The bytes of these values."},
      {"plane_tensors_sent_total", &metrics->plane_tensors_sent,
       "Values among those sent that went by UCX."},
      {"plane_tensors_received_total", &metrics->plane_tensors_received,
       "Values among those received that came by UCX."},
      {"calls_total", &metrics->calls, "Calls that came in."},
      {"request_bytes_total", &metrics->request_bytes, "The bytes of these calls."},
      {"calls_refused_total", &metrics->calls_refused,
       "Calls of no method, or whose bytes are no message."},
      {"sessions_created_total", &metrics->sessions_created, "Sessions that clients made."},
      {"sessions_abandoned_total", &metrics->sessions_abandoned,
       "Sessions that were closed since no client used them."},
      {"worker_sessions_created_total", &metrics->worker_sessions_created,
       "Sessions that masters made with this task."},
      {"graphs_registered_total", &metrics->graphs_registered,
       "Parts of graphs that masters registered."},
      {"partial_runs_abandoned_total", &metrics->partial_runs_abandoned,
       "Partial runs that were ended since no client went on with them."},
  };
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kCounters); ++i) {
    print_number(out, kCounters[i].name, "counter", (int64_t)atomic_load(kCounters[i].figure),
                 kCounters[i].help);
  }
}

void leat_task_print_metrics(leat_task_t* task, leat_string_builder_t* out) {
  leat_task_metrics_t* metrics = &task->metrics;
  size_t graphs;
  print_head(out, "task_info", "gauge", "Which task this is, and which version it runs.");
  leat_string_builder_print(out, "leat_task_info{task=\"%.*s\",version=\"%s\"} 1\n",
                            LEAT_SV_ARG(task->spec.tasks[task->number].name), LEAT_VERSION);
  print_head(out, "start_time_seconds", "gauge", "When it began, since 1970.");
  leat_string_builder_print(out, "leat_start_time_seconds %.3f\n",
                            (double)metrics->start_wall_ns / 1e9);
  print_steps(metrics, out);
  print_counters(metrics, out);
  print_number(out, "sessions", "gauge", (int64_t)leat_master_sessions_count(task),
               "Sessions of clients at present.");
  print_number(out, "worker_sessions", "gauge",
               (int64_t)leat_worker_sessions_count(task, &graphs),
               "Sessions of masters with this task at present.");
  print_number(out, "graphs", "gauge", (int64_t)graphs, "Graphs registered in them.");
  print_number(out, "rendezvous_steps", "gauge",
               (int64_t)leat_rendezvous_table_count(task->rendezvous),
               "Steps with values or receivers in the rendezvous at present.");
  print_number(out, "lost_tasks", "gauge", atomic_load(&metrics->lost_tasks),
               "Tasks of the cluster that are silent at present.");
}
