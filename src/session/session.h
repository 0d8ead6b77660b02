// Sessions (section 2 of the white paper): run parts of a graph again and again on a set of
// devices. A session keeps the compiled plan of every signature (feeds, fetches and targets) that
// it has run. It shares the graph with the client, who may add nodes while steps run. Any number of
// threads may run steps of one session at once; running a step blocks its thread until the step has
// ended. Sessions are created and freed by the C API (src/capi), which wraps them in TF_Session.
#ifndef LEAT_SESSION_SESSION_H_
#define LEAT_SESSION_SESSION_H_

#include "graph/graph.h"
#include "master/master.h"
#include "worker/worker.h"

// The number of devices of one type, besides CPUs.
#define LEAT_SESSION_DEVICE_TYPES 4
typedef struct leat_device_count_s {
  char type[16];  // "SIM"; "" ends the list
  int count;      // may be 0
} leat_device_count_t;

#define LEAT_SESSION_MAX_CPU_DEVICES 4096
// The most devices of any other type.
#define LEAT_SESSION_MAX_ACCELERATORS 64
#define LEAT_SESSION_INTER_OP_POOLS 8
// The options of a session, mostly from ConfigProto.
typedef struct leat_session_options_s {
  int cpu_device_count;            // 0: one
  leat_device_count_t device_counts[LEAT_SESSION_DEVICE_TYPES];
  // Of devices of plug-ins: which there shall be, as "1,0" ("": all), and the part of their memory
  // that they may take (0: as they decide).
  char visible_devices[160];
  double device_memory_fraction;
  bool omits_plugin_devices;       // eager contexts have the library's own devices alone
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
  bool specialize;                 // compile signatures for the shapes that are fed (plans.h)
  leat_pass_options_t optimizer;   // which passes, and their limits; the session fills in the rest
  // Where values of other devices may be swapped to; -1: those of accelerators to the first CPU.
  int swap_device;
  bool place_pruned_graph;         // only the nodes that a step needs must have a device
  bool deterministic;              // give the same bits for any number of threads
  bool isolate_state;              // named containers belong to this session alone
  int64_t operation_timeout_ms;    // milliseconds for each step; 0: no limit
  int64_t open_timeout_ms;         // to reach a master elsewhere; 0: as long as a step may take
  leat_executor_kind_t executor;
  // Every |build_cost_model|-th step of each signature after the first |build_cost_model_after| is
  // measured; 0: none.
  int64_t build_cost_model, build_cost_model_after;
  // These are not in ConfigProto but come from leat/inspect.h or the environment.
  leat_placer_kind_t placer;
  leat_costs_t* costs;             // measured costs for the greedy placer; retained by the session
  // One for each device of this process: where the session's resources live, so that a client's
  // other kernels share them. Borrowed; NULL: they are the session's own.
  struct leat_resource_manager_s* const* resources;
  leat_string_view_t target;       // "": this process; borrowed
  leat_string_view_t config;       // the ConfigProto; of an open session its own copy
} leat_session_options_t;
// Returns the defaults. The environment may change them: LEAT_EXECUTOR=sequence|dataflow chooses
// the executor, LEAT_PLACER=simple|greedy the placer (default simple), LEAT_SESSION_TARGET the
// target, and TF_DETERMINISTIC_OPS=1 asks for determinism, as in TensorFlow.
leat_session_options_t leat_session_options_default(void);
// Notes that there shall be |count| devices of |type|, which is not "CPU".
void leat_session_options_count_devices(leat_string_view_t type, int count,
                                        leat_session_options_t* options);
// Finds which devices of |type| a session opens, and in what order: |out_numbers|
// [LEAT_SESSION_MAX_ACCELERATORS]. There are |available|, all of which it has unless the options
// say otherwise; below 0: as many as the options state. INVALID_ARGUMENT where |visible_devices| is
// no list of different devices that there are.
LEAT_MUST_USE leat_status_t leat_session_options_find_devices(
    const leat_session_options_t* options, const char* type, int available, int* out_numbers,
    int* out_count);
// Reads a serialized ConfigProto over the defaults (session_config.c). Where it is not valid,
// nothing changes: INVALID_ARGUMENT. |*out_executor_status| tells of an unknown executor_type, with
// which no session can be created; TensorFlow finds it only then, so the rest is taken.
LEAT_MUST_USE leat_status_t leat_session_options_read(leat_string_view_t config,
                                                      leat_session_options_t* inout_options,
                                                      leat_status_t* out_executor_status);

typedef struct leat_run_s leat_run_t;
typedef struct leat_shared_graph_s leat_shared_graph_t;

struct leat_remote_partial_run_s;  // master/partial_run.h

// A session of a master in another process, which places, compiles and runs what this session's
// client asks for (cluster/client_session.h).
typedef struct leat_remote_session_s {
  const struct leat_remote_session_vtable_s* vtable;
} leat_remote_session_t;
typedef struct leat_remote_session_vtable_s {
  // Runs a step, whose edges are the graph's; |run|'s number of threads does not count. What the
  // master has not seen of the graph is sent to it first. Any thread.
  leat_status_t (*run)(leat_remote_session_t* remote, leat_shared_graph_t* graph,
                       const leat_run_t* run);
  // Begins a partial run (master/partial_run.h) with the feeds and fetches that |run| names.
  leat_status_t (*begin_partial)(leat_remote_session_t* remote, leat_shared_graph_t* graph,
                                 const leat_run_t* run,
                                 struct leat_remote_partial_run_s** out_run);
  // Ends the steps under way; later ones fail. Called once.
  void (*close)(leat_remote_session_t* remote);
  void (*destroy)(leat_remote_session_t* remote);
} leat_remote_session_vtable_t;

// What a session runs on: the worker of this process and its devices and, in a cluster, those of
// other tasks, of whose devices there are descriptions only. A target with a master elsewhere has
// only such descriptions. Whoever opens a target fills it; all that it points to is owned.
typedef struct leat_target_s {
  leat_remote_session_t* remote;  // NULL: this process is the master
  leat_step_numbers_t* numbers;  // borrowed; NULL: the session's collectives are its own
  leat_status_code_t dead_fetch_code;  // see leat_master_options_t
  leat_worker_t** workers;  // by task; the first is of this process
  int worker_count;
  leat_device_t** devices;  // of this process; retained
  int device_count;
  leat_placement_device_t* remote_devices;  // task by task, in the order of |workers|
  int remote_device_count;
  leat_arena_t* names;  // of the remote devices; NULL: there are none
} leat_target_t;
// Ends the workers and releases the devices of a target that was opened, or filled in part.
void leat_target_deinitialize(leat_target_t* target, leat_allocator_t* allocator);

// What sessions need of the process: ops, kernels and ways to reach targets. src/init.c makes it
// once and it is never freed.
typedef struct leat_runtime_s {
  leat_allocator_t* allocator;
  leat_op_registry_t* ops;
  leat_kernel_registry_t* kernels;
  // "" and "local" are this process, "grpc://host:port" is a master of a cluster, other targets
  // name a transport. NOT_FOUND where there is none.
  leat_status_t (*open_target)(const struct leat_runtime_s* runtime, leat_string_view_t target,
                               const leat_session_options_t* options, leat_target_t* out_target);
  // Forgets the resources in the containers of that name, on every device of the target; without a
  // name those in the default one. |*out_is_here| says whether the target is this process; else
  // DEADLINE_EXCEEDED where its master has not answered after |timeout_ms| (0: no limit).
  leat_status_t (*reset_target)(leat_string_view_t target, const char* const* containers,
                                size_t container_count, int64_t timeout_ms, bool* out_is_here);
} leat_runtime_t;

typedef struct leat_session_s leat_session_t;
// A graph with its lock. The client, who adds nodes, and its sessions, which read them, share it.
struct leat_shared_graph_s {
  leat_reference_count_t references;
  leat_mutex_t mutex;
  leat_graph_t* graph;
};
// An empty graph with one reference, the caller's.
LEAT_MUST_USE leat_status_t leat_shared_graph_create(const leat_runtime_t* runtime,
                                                     leat_shared_graph_t** out_graph);
void leat_shared_graph_retain(leat_shared_graph_t* graph);
void leat_shared_graph_release(leat_shared_graph_t* graph);  // NULL is allowed

// Opens the target and its devices; the caller frees the session. |graph| is retained. |options| is
// copied, except for the text of the target, which is needed for the call only. NOT_FOUND for a
// target that no transport knows, and what the transport says where it cannot be reached. A session
// with a master elsewhere runs steps; what shows their graphs gives UNIMPLEMENTED.
LEAT_MUST_USE leat_status_t leat_session_create(const leat_runtime_t* runtime,
                                                leat_shared_graph_t* graph,
                                                const leat_session_options_t* options,
                                                leat_session_t** out_session);
// Ends running steps with CANCELLED and makes later ones fail. May be called more than once.
LEAT_MUST_USE leat_status_t leat_session_close(leat_session_t* session);
// The options as they are in force; valid as long as the session.
const leat_session_options_t* leat_session_options(const leat_session_t* session);
// CANCELLED where the session was closed.
LEAT_MUST_USE leat_status_t leat_session_check_open(const leat_session_t* session);
// Closes the session first. NULL is allowed. No step may be running, and no thread may be about to
// use the session.
void leat_session_free(leat_session_t* session);

// One step: what is fed, fetched and run.
struct leat_run_s {
  const leat_output_t* feeds;
  const leat_tensor_t* feed_values;  // [feed_count], borrowed and only read
  int feed_count;
  const leat_output_t* fetches;
  leat_tensor_t* fetch_values;       // [fetch_count], filled on success; the caller releases them
  int fetch_count;
  const int32_t* targets;
  int target_count;
  int64_t timeout_ms;                // 0 = the session's
  int inter_op_threads;              // as of the session's options; 0 = the session's
  struct leat_cancellation_s* cancellation;  // ends the step when it is cancelled; NULL: nobody can
  struct leat_step_collector_s* collector;  // NULL: no statistics
  int64_t collective_graph_key;  // by which masters number steps in common; 0: that of the graph
  // Where a master in another process runs the step, it appends the graphs that the devices got and
  // how they came about, as fields of a RunMetadata (session/graph_stages.h); NULL: nobody asks.
  struct leat_string_builder_s* out_graphs;
};
// Whether the session's master is another process.
bool leat_session_is_remote(const leat_session_t* session);
// Runs a step. As in TensorFlow, INVALID_ARGUMENT where an output is both fed and fetched; a
// signature that was prepared gives such a value back as it was fed.
LEAT_MUST_USE leat_status_t leat_session_run(leat_session_t* session, const leat_run_t* run);

// Checks that every node of the graph can be placed, unless |place_pruned_graph| is set. Making a
// signature begins with it.
LEAT_MUST_USE leat_status_t leat_session_check_placement(leat_session_t* session);

// Begins a step in parts (master/partial_run.h): the feeds and fetches that |run| names are given
// and taken later, by number.
typedef struct leat_partial_run_s leat_partial_run_t;
LEAT_MUST_USE leat_status_t leat_session_begin_partial(leat_session_t* session,
                                                       const leat_run_t* run,
                                                       leat_partial_run_t** out_run);

// The signature of a step, resolved once. The session owns it, and it lives as long as the session.
// leat_session_prepare makes or finds it. Where |feed_values| is not NULL, it compiles a new
// signature for the shapes of these values, else for values of any shapes.
typedef struct leat_signature_s leat_signature_t;
LEAT_MUST_USE leat_status_t leat_session_prepare(leat_session_t* session, const leat_run_t* run,
                                                 leat_signature_t** out_signature);
// Runs a prepared signature. Only the values of |run| count, and how to run: its edges are the
// signature's.
LEAT_MUST_USE leat_status_t leat_session_run_prepared(leat_session_t* session,
                                                      leat_signature_t* signature,
                                                      const leat_run_t* run);

// ---- Measured steps -----------------------------------------------------------------------------
// A session with |build_cost_model| places later signatures by the times that it has measured.
// Whoever runs its steps collects the statistics (leat_run_t) and adds them (leat_costs_add_step).

// The session's own costs; NULL where it does not measure.
leat_costs_t* leat_session_costs(const leat_session_t* session);
// Counts a step that is about to run. Returns whether it is one to be measured.
bool leat_session_measures_step(const leat_session_t* session, leat_signature_t* signature);
// The graphs that the devices got of a signature. A session that does not measure keeps none, and
// the count is 0.
int leat_signature_partition_count(const leat_signature_t* signature);
const leat_graph_t* leat_signature_partition(const leat_signature_t* signature, int index,
                                             leat_string_view_t* out_device);

// Shows what the pass |name| alone makes of the graph of |run|, of which only the feeds, fetches
// and targets count: see leat_master_show_pass. |observer|, unless it is NULL, is told what the
// passes do.
LEAT_MUST_USE leat_status_t leat_session_show_pass(leat_session_t* session, const leat_run_t* run,
                                                   const char* name,
                                                   const leat_pass_observer_t* observer,
                                                   leat_graph_view_fn_t show, void* data);
// Shows the graph that each device gets of |run|, by the plan that its |feed_values| take: see
// leat_master_show_partitions. A session that measures shows the plan that it has kept, others
// compile it once more. UNIMPLEMENTED where the master is another process, whose step gives the
// graphs (|out_graphs|).
LEAT_MUST_USE leat_status_t leat_session_show_partitions(leat_session_t* session,
                                                         const leat_run_t* run,
                                                         const leat_compile_view_t* view,
                                                         leat_graph_view_fn_t show, void* data);

// What the session lends to each compilation, for whoever compiles graphs that are not the
// client's.
const leat_master_options_t* leat_session_master_options(const leat_session_t* session);
// Describes |device| to the placer.
leat_placement_device_t leat_session_describe_device(const leat_device_t* device);
// The devices that the session's steps run on, in the order of their numbers, those of this process
// first; borrowed.
int leat_session_device_count(const leat_session_t* session);
const leat_placement_device_t* leat_session_device(const leat_session_t* session, int index);
// Device |index|, which must be one of this process; borrowed.
leat_device_t* leat_session_local_device(const leat_session_t* session, int index);

#endif  // LEAT_SESSION_SESSION_H_
