// Sessions (section 2): run parts of a graph again and again on a set of devices. A session keeps
// the plan of every signature (feeds, fetches, targets) it has run. Any number of threads may run
// steps at once.
#ifndef LEAT_SESSION_SESSION_H_
#define LEAT_SESSION_SESSION_H_

#include "graph/graph.h"
#include "master/master.h"
#include "worker/worker.h"

// How many devices of a type there shall be besides the CPUs.
#define LEAT_SESSION_DEVICE_TYPES 4
typedef struct leat_device_count_s {
  char type[16];  // "SIM"; "" ends the list
  int count;
} leat_device_count_t;

// From ConfigProto.
#define LEAT_SESSION_INTER_OP_POOLS 8
typedef struct leat_session_options_s {
  int cpu_device_count;            // 0 = 1
  leat_device_count_t device_counts[LEAT_SESSION_DEVICE_TYPES];
  int intra_op_threads;            // 0 = all CPUs
  // Threads that nodes of a step may keep busy side by side: 0 = as many as there are; below 0, the
  // thread that runs the step alone. A run may choose another of the pools that the configuration
  // lists; |inter_op_threads| is the first one's then.
  int inter_op_threads;
  int inter_op_pools[LEAT_SESSION_INTER_OP_POOLS];
  int inter_op_pool_count;
  bool use_per_session_threads;
  bool allow_soft_placement;
  bool log_device_placement;
  bool optimize;                   // run the passes of src/optimize
  leat_pass_options_t optimizer;   // which of them, and their limits; the session fills in the rest
  int swap_device;                 // where values of other devices may wait; -1: accelerators' on
                                   // the first CPU
  bool place_pruned_graph;         // only what a step needs must find a device
  bool deterministic;              // the same bits for any number of threads
  bool isolate_state;              // named containers are this session's own
  int64_t operation_timeout_ms;    // 0 = none
  leat_executor_kind_t executor;
  // The session measures its steps: of a signature's every n-th (0: none), after the first ones.
  int64_t build_cost_model, build_cost_model_after;
  // Not in ConfigProto: leat/inspect.h, or the environment.
  leat_placer_kind_t placer;
  leat_costs_t* costs;             // measured, for the greedy placer; retained by the session
  leat_string_view_t target;       // "" = this process; borrowed
} leat_session_options_t;
// The defaults; in the environment LEAT_EXECUTOR=sequence|dataflow chooses the executor,
// LEAT_PLACER=simple|greedy the placer (default simple), LEAT_SESSION_TARGET the target, and
// TF_DETERMINISTIC_OPS=1 asks for determinism, as in TensorFlow.
leat_session_options_t leat_session_options_default(void);

// What a session runs on: a worker and its devices.
typedef struct leat_target_s {
  leat_worker_t* worker;    // owned
  leat_device_t** devices;  // retained; the array is owned
  int device_count;
} leat_target_t;

// What the process has: ops, kernels, targets; made once by src/init.c.
typedef struct leat_runtime_s {
  leat_allocator_t* allocator;
  leat_op_registry_t* ops;
  leat_kernel_registry_t* kernels;
  // "" and "local" are this process; others name a transport, NOT_FOUND where there is none.
  leat_status_t (*check_target)(leat_string_view_t target);
  leat_status_t (*open_target)(const struct leat_runtime_s* runtime, leat_string_view_t target,
                               const leat_session_options_t* options, leat_target_t* out_target);
  // Forgets what is in a named container of this process, on every device.
  void (*clear_container)(leat_string_view_t container);
} leat_runtime_t;

typedef struct leat_session_s leat_session_t;
// A graph with its lock: shared by the client, who adds nodes, and its sessions, which read.
typedef struct leat_shared_graph_s {
  leat_reference_count_t references;
  leat_mutex_t mutex;
  leat_graph_t* graph;
} leat_shared_graph_t;
LEAT_MUST_USE leat_status_t leat_shared_graph_create(const leat_runtime_t* runtime,
                                                     leat_shared_graph_t** out_graph);
void leat_shared_graph_retain(leat_shared_graph_t* graph);
void leat_shared_graph_release(leat_shared_graph_t* graph);  // NULL is allowed

LEAT_MUST_USE leat_status_t leat_session_create(const leat_runtime_t* runtime,
                                                leat_shared_graph_t* graph,
                                                const leat_session_options_t* options,
                                                leat_session_t** out_session);
// Ends running steps with CANCELLED; later runs fail. Idempotent.
LEAT_MUST_USE leat_status_t leat_session_close(leat_session_t* session);
const leat_session_options_t* leat_session_options(const leat_session_t* session);
// CANCELLED for a session that was closed.
LEAT_MUST_USE leat_status_t leat_session_check_open(const leat_session_t* session);
void leat_session_free(leat_session_t* session);  // closes

typedef struct leat_run_s {
  const leat_output_t* feeds;
  const leat_tensor_t* feed_values;  // shared, never written
  int feed_count;
  const leat_output_t* fetches;
  leat_tensor_t* fetch_values;       // filled on success, owned by the caller
  int fetch_count;
  const int32_t* targets;
  int target_count;
  int64_t timeout_ms;                // 0 = the session's
  int inter_op_threads;              // as of the session's options; 0 = the session's
  struct leat_step_collector_s* collector;  // NULL: no statistics
} leat_run_t;
// As in TensorFlow nothing is both fed and fetched; a prepared signature hands such a value
// through.
LEAT_MUST_USE leat_status_t leat_session_run(leat_session_t* session, const leat_run_t* run);

// Sees that every node of the graph can be placed, unless only what a step needs must be; every run
// begins with it.
LEAT_MUST_USE leat_status_t leat_session_check_placement(leat_session_t* session);

// A step in parts (master/partial_run.h): |run|'s feeds and fetches come later, by index.
typedef struct leat_partial_run_s leat_partial_run_t;
LEAT_MUST_USE leat_status_t leat_session_begin_partial(leat_session_t* session,
                                                       const leat_run_t* run,
                                                       leat_partial_run_t** out_run);

// A signature resolved once (prepared callable); lives as long as the session.
typedef struct leat_signature_s leat_signature_t;
LEAT_MUST_USE leat_status_t leat_session_prepare(leat_session_t* session, const leat_run_t* run,
                                                 leat_signature_t** out_signature);
// Of |run| only the values, and how to run: its edges are the signature's.
LEAT_MUST_USE leat_status_t leat_session_run_prepared(leat_session_t* session,
                                                      leat_signature_t* signature,
                                                      const leat_run_t* run);

// ---- What steps take ----------------------------------------------------------------------------
// A session with |build_cost_model| places later signatures by what it has measured; who runs its
// steps collects (leat_run_t) and adds (leat_costs_add_step).

// NULL: this session does not measure.
leat_costs_t* leat_session_costs(const leat_session_t* session);
// Counts a step that is about to run: is it one to be measured?
bool leat_session_measures_step(const leat_session_t* session, leat_signature_t* signature);
// What each device got of the signature, in a session that measures; count 0 in others.
int leat_signature_part_count(const leat_signature_t* signature);
const leat_graph_t* leat_signature_part(const leat_signature_t* signature, int index,
                                        leat_string_view_t* out_device);

// What the pass |name| alone makes of the graph of |run| (its feeds, fetches and targets): see
// leat_master_show_pass.
LEAT_MUST_USE leat_status_t leat_session_show_pass(leat_session_t* session, const leat_run_t* run,
                                                   const char* name, leat_graph_view_fn_t show,
                                                   void* data);
// What each device gets of |run|: see leat_master_show_partitions.
LEAT_MUST_USE leat_status_t leat_session_show_partitions(leat_session_t* session,
                                                         const leat_run_t* run,
                                                         leat_graph_view_fn_t show, void* data);


// What a placer needs to know of |device|.
leat_placement_device_t leat_session_describe_device(const leat_device_t* device);
int leat_session_device_count(const leat_session_t* session);
const leat_device_t* leat_session_device(const leat_session_t* session, int index);

#endif  // LEAT_SESSION_SESSION_H_
