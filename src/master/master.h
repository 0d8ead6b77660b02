// The master: from a signature of a session (feeds, fetches, targets) to graphs registered with the
// worker, and one step after another on them (sections 3, 3.2, 4.2):
//   prune -> optimise -> place -> partition -> register -> run, run, run
#ifndef LEAT_MASTER_MASTER_H_
#define LEAT_MASTER_MASTER_H_

#include "graph/graph.h"
#include "kernel/registry.h"
#include "master/placer.h"
#include "optimize/pass.h"
#include "worker/worker.h"

typedef struct leat_master_options_s {
  leat_allocator_t* allocator;
  leat_worker_t* worker;  // borrowed
  leat_placer_options_t placement;
  const uint64_t* incarnations;  // of the devices
  bool optimize;
  leat_pass_options_t passes;
  leat_executor_kind_t executor;
  int inter_op_threads;  // as of the register request
  bool deterministic;
  struct leat_function_runtime_s* functions;  // that kernels call; NULL = none
  bool keeps_parts;  // what each device got can be looked at later
} leat_master_options_t;

// What is run: outputs of |graph|.
typedef struct leat_step_signature_s {
  const leat_output_t* feeds;
  int feed_count;
  const leat_output_t* fetches;
  int fetch_count;
  const int32_t* targets;
  int target_count;
} leat_step_signature_t;

// A signature made ready: partitions registered with the worker. Immutable; any number of steps
// may run on it at once.
typedef struct leat_compiled_s leat_compiled_t;

// |graph| is only read (the caller holds its lock) and not kept.
LEAT_MUST_USE leat_status_t leat_master_prune(const leat_graph_t* graph,
                                              const leat_step_signature_t* signature,
                                              leat_rewrite_t* out_rewrite);
// Takes |rewrite| over, even on failure. No lock is needed.
LEAT_MUST_USE leat_status_t leat_master_compile(const leat_master_options_t* options,
                                                leat_rewrite_t* rewrite, int feed_count,
                                                leat_compiled_t** out_compiled);
void leat_compiled_free(leat_compiled_t* compiled);
// What each device got, as it was registered; none unless the options keep it.
int leat_compiled_part_count(const leat_compiled_t* compiled);
const leat_graph_t* leat_compiled_part(const leat_compiled_t* compiled, int index,
                                       leat_string_view_t* out_device);

// The number of a step that nobody has had.
int64_t leat_master_new_step(void);
// Runs one step and waits for it; DEADLINE_EXCEEDED when |deadline_ns| passes first. The first
// failure of a partition ends the step everywhere and is its status. |inter_op_threads| 0 means as
// registered; |collector| is a struct leat_step_collector_s, or NULL. (Plain parameters, which go
// by registers: this is the way of every step.)
LEAT_MUST_USE leat_status_t leat_compiled_run(leat_compiled_t* compiled,
                                              const leat_tensor_t* feeds, leat_tensor_t* fetches,
                                              int64_t deadline_ns, int inter_op_threads,
                                              void* collector);
// A run that nobody waits for: a function that a kernel calls, a step in parts.
typedef struct leat_compiled_call_s {
  const leat_tensor_t* feeds;
  leat_tensor_t* fetches;
  int64_t deadline_ns;
  void* collector;            // struct leat_step_collector_s, or NULL
  int64_t step_id;            // 0 = a new one
  int64_t container_step_id;
  bool leaves_cleanup;        // what the step leaves with the worker is the caller's to clean up
  int32_t function_depth;
  _Atomic(int64_t)* calls;    // see leat_run_request_t
  struct leat_cancellation_s* cancellation;  // of the caller; NULL = none
} leat_compiled_call_t;
// |done| is called once with the run's status, perhaps before this returns.
void leat_compiled_start(leat_compiled_t* compiled, const leat_compiled_call_t* call,
                         leat_worker_done_fn_t done, void* data);
// What passes are told: |options->passes|, and which kernels there are.
leat_pass_options_t leat_master_pass_options(const leat_master_options_t* options);
// Looking on: |show| gets every graph before the pass |name| ("fold", ...; "all" stands for those
// that run by default on a whole graph; else NOT_FOUND) and every one
// after it: the graph of |rewrite| (taken over), or what it is cut into where the pass wants that.
// No other pass runs.
typedef leat_status_t (*leat_graph_view_fn_t)(void* data, bool after, const leat_graph_t* graph);
LEAT_MUST_USE leat_status_t leat_master_show_pass(const leat_master_options_t* options,
                                                  leat_rewrite_t* rewrite, const char* name,
                                                  leat_graph_view_fn_t show, void* data);
// What leat_master_compile registers: each device's graph, shown as one of after. |rewrite| is
// taken over.
LEAT_MUST_USE leat_status_t leat_master_show_partitions(const leat_master_options_t* options,
                                                        leat_rewrite_t* rewrite,
                                                        leat_graph_view_fn_t show, void* data);

// ---- Between the two ----------------------------------------------------------------------------

// All nodes of |graph|, which nobody places again.
void leat_name_device(leat_graph_t* graph, leat_string_view_t device);
struct leat_partitions_s;
LEAT_MUST_USE leat_status_t leat_show_parts(const leat_master_options_t* options,
                                            const struct leat_partitions_s* partitions, bool after,
                                            leat_graph_view_fn_t show, void* data);

#endif  // LEAT_MASTER_MASTER_H_
