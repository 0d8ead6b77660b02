// The master: it turns a signature of a session (feeds, fetches, targets) into graphs that are
// registered with the worker, and runs steps on them (sections 3, 3.2, 4.2):
//
//   prune -> inline calls -> optimize -> place -> partition -> register -> run, run, run
//
// The result of compiling is kept by the session for each signature, so a step costs one request to
// the worker for each device. The caller is the session (session/session.h). All functions may be
// called from any thread. Those that compile or run block until the worker has answered, except
// leat_compiled_start.
#ifndef LEAT_MASTER_MASTER_H_
#define LEAT_MASTER_MASTER_H_

#include "graph/graph.h"
#include "kernel/registry.h"
#include "master/placer.h"
#include "optimize/pass.h"
#include "worker/worker.h"

// The numbers of steps whose collectives meet those of other masters' steps: a step of a graph key
// has the same number at all masters (cluster/step_sequence.h). Any thread.
typedef struct leat_step_numbers_s leat_step_numbers_t;
struct leat_step_numbers_s {
  // Draws the number of the next step of |graph_key|. May block until another process has told it;
  // DEADLINE_EXCEEDED when |deadline_ns| passes first, CANCELLED when |cancellation|, unless it is
  // NULL, is cancelled.
  leat_status_t (*draw)(leat_step_numbers_t* self, int64_t graph_key, int64_t deadline_ns,
                        struct leat_cancellation_s* cancellation, int64_t* out_number);
  // The step is over; |status|, borrowed, is how it ended.
  void (*retire)(leat_step_numbers_t* self, int64_t graph_key, int64_t number,
                 leat_status_t status);
};

// What a session decides once and lends to each compilation. Pointers are borrowed.
typedef struct leat_master_options_s {
  leat_allocator_t* allocator;
  // The workers of the session's tasks, by the tasks' numbers. Number 0 is of the master's own
  // process, and the only one where there is no cluster.
  leat_worker_t* const* workers;
  int worker_count;
  leat_placer_options_t placement;
  bool optimize;
  leat_pass_options_t passes;
  leat_executor_kind_t executor;
  int inter_op_threads;  // as of the register request
  bool deterministic;
  struct leat_function_runtime_s* functions;  // that kernels call; NULL = none
  leat_string_view_t config;  // the session's ConfigProto, for kernels that ask; borrowed
  bool keeps_partitions;  // for leat_compiled_partition and leat_compiled_show_stages
  leat_step_numbers_t* numbers;  // NULL: no other master's collectives meet this one's
  // Of a step that fetches a dead tensor; OK stands for INVALID_ARGUMENT. TensorFlow's sessions of
  // one process and its masters of clusters differ in it.
  leat_status_code_t dead_fetch_code;
} leat_master_options_t;

// What a step is asked to do: outputs of a graph that are fed and fetched, and nodes that are to
// run.
typedef struct leat_step_signature_s {
  // Outputs whose values the caller gives instead of computing them.
  const leat_output_t* feeds;
  int feed_count;
  const leat_output_t* fetches;
  int fetch_count;
  // Nodes that are run although nobody fetches from them.
  const int32_t* targets;
  int target_count;
} leat_step_signature_t;

// A signature made ready to run: its partitions are registered with the worker. It is immutable;
// any number of steps may run on it at once.
typedef struct leat_compiled_s leat_compiled_t;

// Makes the part of |graph| that the signature needs, as a graph of its own. |graph| is only read;
// the caller holds its lock.
LEAT_MUST_USE leat_status_t leat_master_prune(const leat_graph_t* graph,
                                              const leat_step_signature_t* signature,
                                              leat_rewrite_t* out_rewrite);
// Compiles a pruned graph and registers it. |rewrite| is taken over, also on failure. Needs no
// lock. |feeds| [feed_count], unless it is NULL, specializes what is compiled: it may then run only
// with feeds of the same shapes as these, and the optimizer knows their sizes. The values do not
// count.
LEAT_MUST_USE leat_status_t leat_master_compile(const leat_master_options_t* options,
                                                leat_rewrite_t* rewrite, int feed_count,
                                                const leat_tensor_t* feeds,
                                                leat_compiled_t** out_compiled);
// Takes the graphs from the worker, which lets running steps end first. NULL is allowed.
void leat_compiled_free(leat_compiled_t* compiled);
// The graphs that the devices got, as they were registered; there are none unless the options keep
// them.
int leat_compiled_partition_count(const leat_compiled_t* compiled);
const leat_graph_t* leat_compiled_partition(const leat_compiled_t* compiled, int index,
                                            leat_string_view_t* out_device);

// Returns a step number that no other step of the process has.
int64_t leat_master_new_step(void);
// Lets the numbers of new steps begin at a random place, so that two processes whose steps meet at
// one worker do not use the same ones.
void leat_master_scatter_steps(void);
// Runs one step and waits for it; DEADLINE_EXCEEDED when |deadline_ns| passes first. The first
// failure of a partition ends the step everywhere and is its status. |inter_op_threads| 0 means as
// registered; |collector| is a struct leat_step_collector_s, or NULL. |cancellation|, unless it is
// NULL, ends the step with CANCELLED when it is cancelled. (Plain parameters, which go by
// registers: this is the way of every step.)
LEAT_MUST_USE leat_status_t leat_compiled_run(leat_compiled_t* compiled,
                                              const leat_tensor_t* feeds, leat_tensor_t* fetches,
                                              int64_t deadline_ns, int inter_op_threads,
                                              void* collector,
                                              struct leat_cancellation_s* cancellation);
// leat_compiled_run for a step that |numbers| number, under |graph_key| or, where that is 0, under
// the graph's own. A graph without collectives has none, and its steps are not numbered.
LEAT_MUST_USE leat_status_t leat_compiled_run_numbered(
    leat_compiled_t* compiled, leat_step_numbers_t* numbers, int64_t graph_key,
    const leat_tensor_t* feeds, leat_tensor_t* fetches, int64_t deadline_ns, int inter_op_threads,
    void* collector, struct leat_cancellation_s* cancellation);
// A run of a compiled signature for which no thread waits: a function called by a kernel, or a
// partial run.
typedef struct leat_compiled_call_s {
  const leat_tensor_t* feeds;
  leat_tensor_t* fetches;
  int64_t deadline_ns;
  void* collector;            // struct leat_step_collector_s, or NULL
  int64_t step_id;            // 0 = a new one
  int64_t container_step_id;
  bool leaves_cleanup;        // the caller calls leat_compiled_cleanup_step itself
  int32_t function_depth;
  _Atomic(int64_t)* calls;    // see leat_run_request_t
  struct leat_draw_counts_s* draw_counts;
  struct leat_cancellation_s* cancellation;  // of the caller; NULL = none
} leat_compiled_call_t;
// Starts a run. |done| is called once with the run's status, perhaps before this returns. |call|
// itself is copied; feeds and fetches stay the caller's until |done|.
void leat_compiled_start(leat_compiled_t* compiled, const leat_compiled_call_t* call,
                         leat_worker_done_fn_t done, void* data);
// Ends a run that was started under the number |step_id| of the caller's choice, with |status|
// (taken); it has no effect on one that has ended. And forgets it, after its end.
void leat_compiled_abort_step(leat_compiled_t* compiled, int64_t step_id, leat_status_t status);
void leat_compiled_cleanup_step(leat_compiled_t* compiled, int64_t step_id);
// The options that passes get: |options->passes|, and a function that finds the kernels there are.
leat_pass_options_t leat_master_pass_options(const leat_master_options_t* options);
// For tools that look at a pass: |show| gets every graph before the pass |name| ("fold", ...) and
// every one after it: the graph of |rewrite| (taken over), or its partitions where the pass works
// on these. No other pass runs. "all" stands for all passes that run by default on a whole graph.
// NOT_FOUND when there is no such pass.
typedef leat_status_t (*leat_graph_view_fn_t)(void* data, bool after, const leat_graph_t* graph);
LEAT_MUST_USE leat_status_t leat_master_show_pass(const leat_master_options_t* options,
                                                  leat_rewrite_t* rewrite, const char* name,
                                                  leat_graph_view_fn_t show, void* data);
// Who looks on while a step is compiled, for tools. Slots may be NULL; a failure of one ends the
// compilation. What they are given is valid during the call.
typedef struct leat_compile_view_s {
  void* data;
  // The stage |name| has left |graphs|: several, one for each device, once the graph is cut. Nodes
  // have devices (assigned_device, of |devices|) where that is not NULL.
  leat_status_t (*on_stage)(void* data, const char* name, const char* doc,
                            const leat_placement_device_t* devices,
                            const leat_graph_t* const* graphs, int count);
  // |graph| has been placed; |placement| has the notes of its nodes, and of the greedy placer the
  // times.
  leat_status_t (*on_placed)(void* data, const leat_graph_t* graph,
                             const leat_placer_options_t* placement);
} leat_compile_view_t;
// Shows the stages that |compiled| went through. The options keep its partitions, and are those by
// which it was compiled for feeds of any shapes; what they say of costs may have changed since. Any
// number of threads may call this at once.
LEAT_MUST_USE leat_status_t leat_compiled_show_stages(const leat_compiled_t* compiled,
                                                      const leat_master_options_t* options,
                                                      const leat_compile_view_t* view);
// Shows each device's graph as leat_master_compile would register it, with |after| true. |rewrite|
// is taken over; |feeds| is as there. |view|, unless it is NULL, sees all stages before that.
LEAT_MUST_USE leat_status_t leat_master_show_partitions(const leat_master_options_t* options,
                                                        leat_rewrite_t* rewrite,
                                                        const leat_tensor_t* feeds,
                                                        const leat_compile_view_t* view,
                                                        leat_graph_view_fn_t show, void* data);

// ---- Inside the master alone --------------------------------------------------------------------

// Places |graph| as leat_place does, and tells |view| why each node is where it is (explain.c).
LEAT_MUST_USE leat_status_t leat_place_and_explain(leat_graph_t* graph,
                                                   const leat_placer_options_t* options,
                                                   const leat_compile_view_t* view);

// Sets the device of all nodes of |graph|, for a graph that is not placed again.
void leat_name_device(leat_graph_t* graph, leat_string_view_t device);
struct leat_partitions_s;
// Shows the graphs of |partitions| to |show|, one after the other.
LEAT_MUST_USE leat_status_t leat_show_partitions(const leat_master_options_t* options,
                                                 const struct leat_partitions_s* partitions,
                                                 bool after, leat_graph_view_fn_t show, void* data);

#endif  // LEAT_MASTER_MASTER_H_
