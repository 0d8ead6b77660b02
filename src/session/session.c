// A session is a graph, a target and the signatures that it has run (session/signature_cache.h).
// The C API calls it for each TF_SessionRun; it calls the master, which calls the worker.
//
//   first step of a signature   lock the graph ─▶ check, prune ─▶ unlock ─▶ master compiles ─▶ run
//   every later step            find the signature ─▶ check the types of the feeds ─▶ find the
//                               plan for their shapes (session/plans.h) ─▶ run
//
// For the first step of a signature, the graph is pruned to what the step needs while the graph's
// lock is held. The master then compiles the pruned copy without a lock, so that steps of other
// signatures go on and the graph may grow in the meantime. Every later step goes straight to the
// worker and takes no lock of the graph. What a signature was compiled from is its own copy, so
// nothing that the client adds to the graph later can change it.
#include "session/session.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/host.h"
#include "master/anchors.h"
#include "master/function_runtime.h"
#include "master/master.h"
#include "master/partial_run.h"
#include "session/evaluate.h"
#include "session/signature_cache.h"

struct leat_session_s {
  leat_allocator_t* allocator;
  leat_shared_graph_t* graph;
  leat_session_options_t options;
  leat_target_t target;
  leat_evaluator_t evaluator;
  leat_placement_device_t* devices;  // this process's first, then those of other tasks
  int device_count;
  int32_t* swap_devices;
  leat_speed_t* speeds;
  leat_master_options_t master;
  char* config;  // what |options.config| views
  leat_function_runtime_t* functions;
  leat_anchors_t* anchors;
  leat_signature_cache_t signatures;
  size_t checked_nodes;          // nodes of the graph that are known to have a device
  _Atomic(bool) closed;
};

// ---- Life ---------------------------------------------------------------------------------------

// A worker is ended before the devices that its kernels run on.
void leat_target_deinitialize(leat_target_t* target, leat_allocator_t* allocator) {
  for (int i = 0; i < target->worker_count; ++i) {
    target->workers[i]->vtable->destroy(target->workers[i]);
  }
  for (int i = 0; i < target->device_count; ++i) leat_device_release(target->devices[i]);
  leat_allocator_free(allocator, target->workers);
  leat_allocator_free(allocator, target->devices);
  leat_allocator_free(allocator, target->remote_devices);
  if (target->names) leat_arena_deinitialize(target->names);
  leat_allocator_free(allocator, target->names);
  if (target->remote) target->remote->vtable->destroy(target->remote);
  *target = (leat_target_t){0};
}

leat_session_options_t leat_session_options_default(void) {
  leat_session_options_t options = {.optimize = true, .specialize = true, .swap_device = -1,
                                    .optimizer = {.passes = leat_passes_of_option(NULL)}};
  const char* executor = getenv("LEAT_EXECUTOR");
  if (executor && !strcmp(executor, "sequence")) options.executor = LEAT_EXECUTOR_SEQUENCE;
  if (executor && !strcmp(executor, "dataflow")) options.executor = LEAT_EXECUTOR_DATAFLOW;
  const char* placer = getenv("LEAT_PLACER");
  if (placer && !strcmp(placer, "greedy")) options.placer = LEAT_PLACER_GREEDY;
  const char* target = leat_environment_get_trusted("LEAT_SESSION_TARGET");
  if (target) options.target = leat_string_view_from(target);
  const char* deterministic = getenv("TF_DETERMINISTIC_OPS");
  options.deterministic =
      deterministic && (!strcmp(deterministic, "1") || !strcmp(deterministic, "true"));
  return options;
}

// Tells the passes how fast devices are and where their values may be swapped to: those of a device
// with memory of its own to the host, unless the options name a device.
static leat_status_t describe_to_passes(leat_session_t* session) {
  int count = session->device_count, host = -1;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(session->allocator, (size_t)count, &session->swap_devices));
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(session->allocator, (size_t)count, &session->speeds));
  for (int i = session->target.device_count; i-- > 0;) {
    if (!session->devices[i].has_own_memory) host = i;
  }
  for (int i = 0; i < count; ++i) {
    int asked = session->options.swap_device;
    bool own = session->devices[i].has_own_memory;
    session->speeds[i] = session->devices[i].speed;
    session->swap_devices[i] = asked >= 0 && asked < count ? asked : own ? host : -1;
  }
  return leat_ok_status();
}

leat_placement_device_t leat_session_describe_device(const leat_device_t* device) {
  return (leat_placement_device_t){.name = device->name,
                                   .type = device->type,
                                   .incarnation = device->incarnation,
                                   .memory_limit_bytes = device->memory_limit_bytes,
                                   .has_own_memory = !device->shares_host_memory,
                                   .speed = device->speed};
}

static leat_status_t describe_devices(leat_session_t* session) {
  const leat_target_t* target = &session->target;
  session->device_count = target->device_count + target->remote_device_count;
  LEAT_RETURN_IF_ERROR(
      LEAT_ALLOCATE(session->allocator, (size_t)session->device_count, &session->devices));
  for (int i = 0; i < target->device_count; ++i) {
    session->devices[i] = leat_session_describe_device(target->devices[i]);
  }
  for (int i = 0; i < target->remote_device_count; ++i) {
    LEAT_DCHECK(target->remote || (target->remote_devices[i].task > 0 &&
                                   target->remote_devices[i].task < target->worker_count));
    session->devices[target->device_count + i] = target->remote_devices[i];
  }
  return leat_ok_status();
}

// The options' ConfigProto is the client's, so the session keeps a copy.
static leat_status_t keep_config(leat_session_t* session) {
  leat_string_view_t* config = &session->options.config;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(session->allocator, config->size + 1, &session->config));
  if (config->size > 0) memcpy(session->config, config->data, config->size);
  *config = leat_string_view_make(session->config, config->size);
  return leat_ok_status();
}

// Makes this process the master: describes the session's devices to the placer and the optimizer,
// and puts the options together that every compilation takes.
static leat_status_t become_master(leat_session_t* session, const leat_runtime_t* runtime) {
  // Folding computes on the first device.
  LEAT_DCHECK(session->target.device_count > 0 && session->target.worker_count > 0);
  LEAT_RETURN_IF_ERROR(describe_to_passes(session));
  leat_evaluator_initialize(runtime->kernels, session->target.devices[0], session->allocator,
                            &session->evaluator);
  session->master = (leat_master_options_t){
      .allocator = session->allocator,
      .workers = session->target.workers,
      .worker_count = session->target.worker_count,
      .placement = {.kernels = runtime->kernels,
                    .devices = session->devices,
                    .device_count = session->device_count,
                    .allow_soft_placement = session->options.allow_soft_placement,
                    .placer = session->options.placer,
                    .costs = session->options.costs,
                    .anchors = session->anchors},
      .optimize = session->options.optimize,
      .passes = session->options.optimizer,
      .executor = session->options.executor,
      .inter_op_threads = session->options.inter_op_threads,
      .deterministic = session->options.deterministic,
      .config = session->options.config,
      .keeps_partitions = session->options.build_cost_model > 0,
      .numbers = session->target.numbers,
      .dead_fetch_code = session->target.dead_fetch_code,
  };
  session->master.passes.evaluate = leat_evaluator_run;
  session->master.passes.evaluate_data = &session->evaluator;
  session->master.passes.swap_devices = session->swap_devices;
  session->master.passes.speeds = session->speeds;
  LEAT_RETURN_IF_ERROR(
      leat_master_functions_create(&session->master, runtime->ops, &session->functions));
  session->master.functions = session->functions;
  return leat_ok_status();
}

// Uses the costs that were given; a session that measures puts its own in front of them.
static leat_status_t open_costs(leat_session_t* session, leat_costs_t* given) {
  if (session->options.build_cost_model > 0) {
    return leat_costs_create(session->allocator, given, &session->options.costs);
  }
  leat_costs_retain(given);
  session->options.costs = given;
  return leat_ok_status();
}

// The session is zeroed, and leat_session_free accepts members that are still NULL, so that a
// failure at any stage is undone by that one function.
leat_status_t leat_session_create(const leat_runtime_t* runtime, leat_shared_graph_t* graph,
                                  const leat_session_options_t* options,
                                  leat_session_t** out_session) {
  leat_session_t* session;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(runtime->allocator, 1, &session));
  session->allocator = runtime->allocator;
  session->options = *options;
  session->options.costs = NULL;
  session->graph = graph;
  leat_shared_graph_retain(graph);
  leat_signature_cache_initialize(session->allocator, &session->signatures);
  leat_status_t status = open_costs(session, options->costs);
  if (!status) status = keep_config(session);
  if (!status) status = leat_anchors_create(session->allocator, &session->anchors);
  if (!status) {
    status = runtime->open_target(runtime, options->target, options, &session->target);
  }
  if (!status) status = describe_devices(session);
  if (!status && !session->target.remote) status = become_master(session, runtime);
  // What a master elsewhere measures is its own business.
  if (session->target.remote) session->options.build_cost_model = 0;
  if (status) {
    leat_session_free(session);
    return status;
  }
  *out_session = session;
  return leat_ok_status();
}

leat_status_t leat_session_close(leat_session_t* session) {
  if (atomic_exchange(&session->closed, true)) return leat_ok_status();
  leat_remote_session_t* remote = session->target.remote;
  if (remote) remote->vtable->close(remote);
  for (int i = 0; i < session->target.worker_count; ++i) {
    leat_worker_t* worker = session->target.workers[i];
    worker->vtable->abort_all(worker,
                              leat_make_status(LEAT_CANCELLED,
                                               "Run failed: the step was cancelled, because its "
                                               "session was closed"));
  }
  if (session->functions) leat_background_cancel(session->functions->background);
  return leat_ok_status();
}

const leat_session_options_t* leat_session_options(const leat_session_t* session) {
  return &session->options;
}

leat_status_t leat_session_check_open(const leat_session_t* session) {
  if (LEAT_LIKELY(!atomic_load_explicit(&session->closed, memory_order_acquire))) {
    return leat_ok_status();
  }
  return leat_make_status(LEAT_CANCELLED, "Run failed: session has been closed");
}

void leat_session_free(leat_session_t* session) {
  if (!session) return;
  // The order counts: freeing a compiled signature or function deregisters its graphs from the
  // worker, and the worker uses the devices.
  leat_status_free(leat_session_close(session));
  leat_signature_cache_deinitialize(&session->signatures);
  leat_master_functions_free(session->functions);
  leat_anchors_free(session->anchors);
  leat_target_deinitialize(&session->target, session->allocator);
  leat_allocator_free(session->allocator, session->devices);
  leat_allocator_free(session->allocator, session->swap_devices);
  leat_allocator_free(session->allocator, session->speeds);
  leat_shared_graph_release(session->graph);
  leat_costs_release(session->options.costs);
  leat_allocator_free(session->allocator, session->config);
  leat_allocator_free(session->allocator, session);
}

const leat_master_options_t* leat_session_master_options(const leat_session_t* session) {
  return &session->master;
}

int leat_session_device_count(const leat_session_t* session) { return session->device_count; }

const leat_placement_device_t* leat_session_device(const leat_session_t* session, int index) {
  LEAT_DCHECK(index >= 0 && index < session->device_count);
  return &session->devices[index];
}

leat_device_t* leat_session_local_device(const leat_session_t* session, int index) {
  LEAT_DCHECK(index >= 0 && index < session->target.device_count);
  return session->target.devices[index];
}

// ---- Signatures ---------------------------------------------------------------------------------

static leat_status_t check_output(const leat_graph_t* graph, leat_output_t output,
                                  const char* what) {
  if (output.node < 0 || (size_t)output.node >= graph->node_count) {
    return leat_make_status(LEAT_NOT_FOUND, "Run failed: %s names no node of the graph", what);
  }
  const leat_node_t* node = &graph->nodes[output.node];
  if (output.index < 0 || output.index >= node->output_count) {
    return leat_make_status(output.index < 0 ? LEAT_INVALID_ARGUMENT : LEAT_OUT_OF_RANGE,
                            "Run failed for node '%.*s' (%.*s): %s has output index %d, must be in "
                            "[0, %d)",
                            LEAT_SV_ARG(node->name), LEAT_SV_ARG(node->op->name), what,
                            output.index, node->output_count);
  }
  return leat_ok_status();
}

// Checks the outputs; each may be fed once. |*out_echoes| says whether one is both fed and fetched.
// |map| is empty and serves as a set.
static leat_status_t check_edges(const leat_graph_t* graph, const leat_run_t* run,
                                 leat_word_map_t* map, bool* out_echoes) {
  for (int i = 0; i < run->feed_count + run->fetch_count; ++i) {
    bool is_feed = i < run->feed_count;
    leat_output_t output = is_feed ? run->feeds[i] : run->fetches[i - run->feed_count];
    uint64_t key = (uint64_t)output.node << 32 | (uint32_t)output.index, found;
    LEAT_RETURN_IF_ERROR(check_output(graph, output, is_feed ? "a feed" : "a fetch"));
    bool fed = leat_word_map_get(map, key, &found);
    if (is_feed && fed) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Run failed for node '%.*s': output %d is fed twice, must be once",
                              LEAT_SV_ARG(graph->nodes[output.node].name), output.index);
    }
    if (is_feed) LEAT_RETURN_IF_ERROR(leat_word_map_set(map, key, 1));
    *out_echoes |= fed;
  }
  return leat_ok_status();
}

// Checks that |run| asks for something and names only what the graph has. |*out_echoes| becomes
// whether an output is both fed and fetched.
static leat_status_t check_run(const leat_graph_t* graph, const leat_run_t* run,
                               bool* out_echoes) {
  LEAT_DCHECK(!*out_echoes);
  if (run->fetch_count == 0 && run->target_count == 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Run failed: the number of fetches and targets is 0, must be at least "
                            "1");
  }
  LEAT_RETURN_IF_ERROR(leat_graph_check_names(graph));
  leat_word_map_t map;
  leat_word_map_initialize(graph->allocator, &map);
  leat_status_t status = check_edges(graph, run, &map, out_echoes);
  leat_word_map_deinitialize(&map);
  LEAT_RETURN_IF_ERROR(status);
  for (int i = 0; i < run->target_count; ++i) {
    if (run->targets[i] >= 0 && (size_t)run->targets[i] < graph->node_count) continue;
    return leat_make_status(LEAT_NOT_FOUND, "Run failed: a target names no node of the graph");
  }
  return leat_ok_status();
}

// Checks that every node can be placed, and prints where, if the session is to do so and nodes have
// come since it did. The caller holds the graph's lock.
static leat_status_t check_whole_graph(leat_session_t* session) {
  if (session->options.place_pruned_graph) return leat_ok_status();
  const leat_graph_t* graph = session->graph->graph;
  size_t checked_before = session->checked_nodes;
  LEAT_RETURN_IF_ERROR(
      leat_check_placement(graph, &session->master.placement, &session->checked_nodes));
  bool is_new = session->checked_nodes > checked_before;
  if (!session->options.log_device_placement || !is_new) return leat_ok_status();
  return leat_print_placement(graph, &session->master.placement);
}

leat_status_t leat_session_check_placement(leat_session_t* session) {
  if (session->target.remote) return leat_ok_status();  // the master checks
  leat_mutex_lock(&session->graph->mutex);
  leat_status_t status = check_whole_graph(session);
  leat_mutex_unlock(&session->graph->mutex);
  return status;
}

// Whether plans are made for the shapes of feeds (session/plans.h). Not in a session whose steps
// are measured, since these are to be steps of the signature's one plan, nor in a deterministic
// one: the order in which shapes come decides which of them get plans of their own, and the last
// bits of sums may differ from plan to plan.
static bool specializes(const leat_session_t* session) {
  const leat_session_options_t* options = &session->options;
  return options->optimize && options->specialize && !options->deterministic &&
         options->build_cost_model <= 0;
}

// Makes a signature that is not in the cache yet (leat_signature_cache_make calls it): checks and
// prunes under the graph's lock, then compiles without any. A signature that echoes is compiled
// like any other, because only leat_session_run refuses to run it. A master elsewhere compiles for
// itself.
static leat_status_t compile_signature(void* data, const leat_run_t* run, leat_signature_t* s) {
  leat_session_t* session = data;
  leat_step_signature_t step = {run->feeds,       run->feed_count, run->fetches,
                                run->fetch_count, run->targets,    run->target_count};
  leat_rewrite_t rewrite;
  leat_mutex_lock(&session->graph->mutex);
  const leat_graph_t* graph = session->graph->graph;
  leat_status_t status = check_run(graph, run, &s->echoes);
  for (int i = 0; !status && i < run->feed_count; ++i) {
    s->feed_types[i] = leat_dtype_base(leat_graph_output_type(graph, run->feeds[i]));
  }
  if (status || session->target.remote) {
    leat_mutex_unlock(&session->graph->mutex);
    return status;
  }
  status = check_whole_graph(session);
  if (!status) status = leat_master_prune(graph, &step, &rewrite);
  if (!status && session->options.place_pruned_graph && session->options.log_device_placement) {
    status = leat_print_placement(rewrite.graph, &session->master.placement);
    if (status) leat_rewrite_deinitialize(&rewrite);
  }
  leat_master_functions_set_library(session->functions, graph->functions, graph->producer_version);
  leat_mutex_unlock(&session->graph->mutex);
  if (status) return status;
  return leat_plans_initialize(&session->master, &rewrite, run->feed_count, run->feed_values,
                               specializes(session), &s->plans);
}

static leat_status_t check_master(const leat_session_t* session, const char* what) {
  if (LEAT_LIKELY(!session->target.remote)) return leat_ok_status();
  return leat_make_status(LEAT_UNIMPLEMENTED,
                          "%s failed: the session's master is another process, must be this one",
                          what);
}

// Copies what |run| needs of the graph, with the graph's lock held.
static leat_status_t prune_run(leat_session_t* session, const leat_run_t* run,
                               leat_rewrite_t* out_rewrite) {
  leat_step_signature_t step = {run->feeds,       run->feed_count, run->fetches,
                                run->fetch_count, run->targets,    run->target_count};
  bool echoes = false;
  leat_mutex_lock(&session->graph->mutex);
  const leat_graph_t* graph = session->graph->graph;
  leat_status_t status = check_run(graph, run, &echoes);
  if (!status) status = leat_master_prune(graph, &step, out_rewrite);
  if (session->functions) {  // a master elsewhere has functions of its own
    leat_master_functions_set_library(session->functions, graph->functions,
                                      graph->producer_version);
  }
  leat_mutex_unlock(&session->graph->mutex);
  return status;
}

leat_status_t leat_session_show_pass(leat_session_t* session, const leat_run_t* run,
                                     const char* name, const leat_pass_observer_t* observer,
                                     leat_graph_view_fn_t show, void* data) {
  leat_rewrite_t rewrite;
  leat_master_options_t options = session->master;
  LEAT_RETURN_IF_ERROR(check_master(session, "Showing a graph"));
  options.passes.observer = observer;
  LEAT_RETURN_IF_ERROR(prune_run(session, run, &rewrite));
  return leat_master_show_pass(&options, &rewrite, name, show, data);
}

static leat_status_t begin_remote_partial(leat_session_t* session, const leat_run_t* run,
                                          leat_partial_run_t** out_run) {
  leat_remote_session_t* remote = session->target.remote;
  leat_remote_partial_run_t* begun = NULL;
  leat_rewrite_t rewrite;
  LEAT_RETURN_IF_ERROR(prune_run(session, run, &rewrite));
  leat_status_t status = remote->vtable->begin_partial(remote, session->graph, run, &begun);
  if (!status) {
    status = leat_partial_run_of_remote(begun, &rewrite, run->feed_count, session->allocator,
                                        out_run);
    if (status) begun->vtable->end(begun);
  }
  leat_rewrite_deinitialize(&rewrite);
  return status;
}

leat_status_t leat_session_begin_partial(leat_session_t* session, const leat_run_t* run,
                                         leat_partial_run_t** out_run) {
  leat_rewrite_t rewrite;
  LEAT_RETURN_IF_ERROR(leat_session_check_open(session));
  if (session->target.remote) return begin_remote_partial(session, run, out_run);
  LEAT_RETURN_IF_ERROR(prune_run(session, run, &rewrite));
  return leat_partial_run_begin(&session->master, &rewrite, run->feed_count, out_run);
}

// When the step has to end; its own limit goes before the session's.
static int64_t deadline_of(const leat_session_t* session, const leat_run_t* run) {
  return leat_clock_deadline_after_ms(run->timeout_ms > 0 ? run->timeout_ms
                                                          : session->options.operation_timeout_ms);
}

leat_status_t leat_session_prepare(leat_session_t* session, const leat_run_t* run,
                                   leat_signature_t** out_signature) {
  *out_signature = leat_signature_cache_find(&session->signatures, run);
  if (LEAT_LIKELY(*out_signature != NULL)) return leat_ok_status();
  return leat_signature_cache_make(&session->signatures, run, deadline_of(session, run),
                                   compile_signature, session, out_signature);
}

// ---- Measuring ----------------------------------------------------------------------------------

leat_costs_t* leat_session_costs(const leat_session_t* session) {
  return session->options.build_cost_model > 0 ? session->options.costs : NULL;
}

// The counter is the signature's own, so that each signature is measured at its first chance after
// |build_cost_model_after| steps, however often the others run.
bool leat_session_measures_step(const leat_session_t* session, leat_signature_t* signature) {
  if (session->options.build_cost_model <= 0) return false;
  int64_t count = atomic_fetch_add_explicit(&signature->step_count, 1, memory_order_relaxed) -
                  session->options.build_cost_model_after;
  return count >= 0 && (count + 1) % session->options.build_cost_model == 0;
}

int leat_signature_partition_count(const leat_signature_t* signature) {
  const leat_compiled_t* compiled = leat_plans_general(&signature->plans);
  return compiled ? leat_compiled_partition_count(compiled) : 0;
}

const leat_graph_t* leat_signature_partition(const leat_signature_t* signature, int index,
                                             leat_string_view_t* out_device) {
  return leat_compiled_partition(leat_plans_general(&signature->plans), index, out_device);
}

// A session that measures has kept what was registered, and by what stages it came about, since
// compiling again might place it anew. Others compile it once more.
leat_status_t leat_session_show_partitions(leat_session_t* session, const leat_run_t* run,
                                           const leat_compile_view_t* view,
                                           leat_graph_view_fn_t show, void* data) {
  leat_signature_t* signature;
  LEAT_RETURN_IF_ERROR(check_master(session, "Showing the partitions of a step"));
  LEAT_RETURN_IF_ERROR(leat_session_prepare(session, run, &signature));
  int partitions = leat_signature_partition_count(signature);
  if (partitions && view) {
    LEAT_RETURN_IF_ERROR(leat_compiled_show_stages(leat_plans_general(&signature->plans),
                                                   &session->master, view));
  }
  for (int i = 0; i < partitions; ++i) {
    leat_string_view_t device;
    LEAT_RETURN_IF_ERROR(show(data, true, leat_signature_partition(signature, i, &device)));
  }
  if (partitions) return leat_ok_status();
  leat_rewrite_t rewrite;
  LEAT_RETURN_IF_ERROR(prune_run(session, run, &rewrite));
  const bool is_specialized = leat_plans_is_specialized(&signature->plans, run->feed_values);
  return leat_master_show_partitions(&session->master, &rewrite,
                                     is_specialized ? run->feed_values : NULL, view, show, data);
}

bool leat_session_is_remote(const leat_session_t* session) {
  return session->target.remote != NULL;
}

// ---- Running ------------------------------------------------------------------------------------

// Names the node that was fed a wrong type. A step that fails can afford the graph's lock.
static leat_status_t wrong_feed_type(leat_session_t* session, const leat_signature_t* s, int index,
                                     int dtype) {
  LEAT_DCHECK(index >= 0 && index < s->feed_count);
  leat_mutex_lock(&session->graph->mutex);
  const leat_node_t* node = &session->graph->graph->nodes[s->feeds[index].node];
  leat_status_t status = leat_make_status(
      LEAT_INVALID_ARGUMENT,
      "Run failed for node '%.*s' (%.*s): the value fed has type %s, must be %s",
      LEAT_SV_ARG(node->name), LEAT_SV_ARG(node->op->name), leat_dtype_name(dtype),
      leat_dtype_name(s->feed_types[index]));
  leat_mutex_unlock(&session->graph->mutex);
  return status;
}

static leat_status_t refuse_echo(void) {
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Run failed: an output is both fed and fetched, must be one of these");
}

static LEAT_COLD leat_status_t run_remotely(leat_session_t* session, const leat_run_t* run) {
  leat_remote_session_t* remote = session->target.remote;
  bool echoes = false;
  LEAT_RETURN_IF_ERROR(leat_session_check_open(session));
  leat_mutex_lock(&session->graph->mutex);
  leat_status_t status = check_run(session->graph->graph, run, &echoes);
  leat_mutex_unlock(&session->graph->mutex);
  if (!status && echoes) status = refuse_echo();
  return status ? status : remote->vtable->run(remote, session->graph, run);
}

leat_status_t leat_session_run_prepared(leat_session_t* session, leat_signature_t* signature,
                                        const leat_run_t* run) {
  LEAT_RETURN_IF_ERROR(leat_session_check_open(session));
  for (int i = 0; i < signature->feed_count; ++i) {
    if (LEAT_UNLIKELY(run->feed_values[i].dtype != signature->feed_types[i])) {
      return wrong_feed_type(session, signature, i, run->feed_values[i].dtype);
    }
    leat_buffer_mark_lent(run->feed_values[i].buffer);
  }
  if (LEAT_UNLIKELY(session->target.remote)) {
    leat_run_t step = *run;
    leat_signature_edges(signature, &step);
    return run_remotely(session, &step);
  }
  const int64_t deadline_ns = deadline_of(session, run);
  leat_compiled_t* compiled = leat_plans_find(&signature->plans, run->feed_values);
  if (LEAT_UNLIKELY(!compiled)) {
    LEAT_RETURN_IF_ERROR(leat_plans_make(&signature->plans, &session->master, run->feed_values,
                                         deadline_ns, &compiled));
  }
  if (LEAT_UNLIKELY(session->master.numbers != NULL)) {
    return leat_compiled_run_numbered(compiled, session->master.numbers, run->collective_graph_key,
                                      run->feed_values, run->fetch_values, deadline_ns,
                                      run->inter_op_threads, run->collector, run->cancellation);
  }
  return leat_compiled_run(compiled, run->feed_values, run->fetch_values, deadline_ns,
                           run->inter_op_threads, run->collector, run->cancellation);
}

leat_status_t leat_session_run(leat_session_t* session, const leat_run_t* run) {
  leat_signature_t* signature;
  if (LEAT_UNLIKELY(session->target.remote)) return run_remotely(session, run);
  LEAT_RETURN_IF_ERROR(leat_session_prepare(session, run, &signature));
  if (LEAT_UNLIKELY(signature->echoes)) return refuse_echo();
  return leat_session_run_prepared(session, signature, run);
}
