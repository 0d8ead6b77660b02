// TF_Session: running steps. TF_SessionRun translates handles into numbers of nodes, lends the
// feeds, runs the step of the session below (session/session.h) and wraps the fetches:
//
//     TF_Output, TF_Tensor ──▶ step_t (leat_run_t) ──leat_session_run──▶ TF_Tensor
//
// What a step costs here is copying the structs of its feeds and fetches, and one handle for each
// fetch, which mostly comes from the handles that TF_DeleteTensor kept (capi/tensor_handle.c). A
// step with at most INLINE_EDGES feeds, fetches and targets allocates nothing. The handles are made
// before the step runs: once its effects have happened, nothing may fail for want of memory.
#include "capi/handles.h"
#include "capi/leat/interrupt.h"
#include "capi/session/run_options.h"
#include "leat/train.h"

// ---- Life ---------------------------------------------------------------------------------------

leat_status_t leat_capi_session_create(TF_Graph* graph, leat_shared_graph_t* shared,
                                       const TF_SessionOptions* opts, TF_Session** out_session) {
  const leat_runtime_t* runtime = NULL;
  void* memory = NULL;
  if (!graph || !opts) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Creating a session failed: %s is NULL",
                            graph ? "options" : "graph");
  }
  LEAT_RETURN_IF_ERROR(leat_status_clone(opts->status));
  leat_session_options_t options = opts->options;
  if (opts->target) options.target = leat_string_view_from(opts->target);
  LEAT_RETURN_IF_ERROR(leat_runtime_get(&runtime));
  LEAT_RETURN_IF_ERROR(
      leat_allocator_allocate(leat_allocator_system(), sizeof(TF_Session), &memory));
  TF_Session* session = memory;
  leat_status_t status =
      leat_session_create(runtime, shared ? shared : graph->shared, &options, &session->session);
  if (status) {
    leat_allocator_free(leat_allocator_system(), session);
    return status;
  }
  leat_capi_graph_retain(graph);
  session->graph = graph;
  session->visible_nodes = INT32_MAX;
  session->measures = leat_session_costs(session->session) != NULL;
  leat_mutex_initialize(&session->partials_mutex);
  leat_capi_session_opened(session);
  *out_session = session;
  return leat_ok_status();
}

TF_Session* TF_NewSession(TF_Graph* graph, const TF_SessionOptions* opts, TF_Status* status) {
  TF_Session* session = NULL;
  leat_capi_status_set(status, leat_capi_session_create(graph, NULL, opts, &session));
  return session;
}

TF_Session* leat_session_create_within(TF_Graph* graph, const TF_SessionOptions* options,
                                       int64_t timeout_ms, TF_Status* status) {
  TF_Session* session = NULL;
  if (!options) return TF_NewSession(graph, options, status);
  TF_SessionOptions own = *options;
  own.options.open_timeout_ms = timeout_ms;
  leat_capi_status_set(status, leat_capi_session_create(graph, NULL, &own, &session));
  return session;
}

void TF_CloseSession(TF_Session* session, TF_Status* status) {
  leat_capi_status_set(status, leat_session_close(session->session));
}

void TF_DeleteSession(TF_Session* session, TF_Status* status) {
  leat_capi_status_set(status, leat_ok_status());
  if (!session) return;
  leat_capi_session_ends(session);
  leat_capi_partials_end(session);
  leat_session_free(session->session);
  leat_mutex_deinitialize(&session->partials_mutex);
  leat_capi_graph_release(session->graph);
  leat_allocator_free(leat_allocator_system(), session);
}

// ---- The arguments of a step --------------------------------------------------------------------

#define INLINE_EDGES 8

// A step in the session's terms. That of a small step lies on the stack.
typedef struct step_s {
  leat_run_t run;
  leat_output_t* feeds;
  leat_tensor_t* feed_values;
  leat_output_t* fetches;
  int32_t* targets;
  leat_tensor_t* converted;  // the feeds that had to be converted, which this step owns; or NULL
  void* memory;              // the block of a large step, or NULL
  leat_output_t inline_edges[2 * INLINE_EDGES];
  leat_tensor_t inline_values[2 * INLINE_EDGES];
  int32_t inline_targets[INLINE_EDGES];
} step_t;

// Allocates one block for the values, outputs and targets of a large step, in this order, since
// their alignment decreases.
static LEAT_COLD leat_status_t allocate_large(step_t* step, size_t feeds, size_t fetches,
                                              size_t targets) {
  size_t edges = feeds + fetches;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate_array(
      leat_allocator_system(), edges + targets,
      sizeof(leat_tensor_t) + sizeof(leat_output_t) + sizeof(int32_t), &step->memory));
  step->feed_values = step->memory;
  step->run.fetch_values = step->feed_values + feeds;
  step->feeds = (leat_output_t*)(step->feed_values + edges);
  step->fetches = step->feeds + feeds;
  step->targets = (int32_t*)(step->feeds + edges);
  return leat_ok_status();
}

// Gives the step its arrays, which are inside it when there are few items.
static leat_status_t prepare_step(step_t* step, int feeds, int fetches, int targets) {
  step->run = (leat_run_t){.cancellation = leat_capi_thread_cancellation()};
  step->converted = NULL;
  step->memory = NULL;
  if (LEAT_UNLIKELY(feeds < 0 || fetches < 0 || targets < 0)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Run failed: counts are %d, %d and %d, must be >= 0", feeds, fetches,
                            targets);
  }
  if (LEAT_UNLIKELY(fetches == 0 && targets == 0)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Must specify at least one target to fetch or execute.");
  }
  if (LEAT_LIKELY(feeds <= INLINE_EDGES && fetches <= INLINE_EDGES && targets <= INLINE_EDGES)) {
    step->feeds = step->inline_edges;
    step->fetches = step->inline_edges + INLINE_EDGES;
    step->feed_values = step->inline_values;
    step->run.fetch_values = step->inline_values + INLINE_EDGES;
    step->targets = step->inline_targets;
  } else {
    LEAT_RETURN_IF_ERROR(allocate_large(step, (size_t)feeds, (size_t)fetches, (size_t)targets));
  }
  step->run.feeds = step->feeds;
  step->run.feed_values = step->feed_values;
  step->run.feed_count = feeds;
  step->run.fetches = step->fetches;
  step->run.fetch_count = fetches;
  step->run.targets = step->targets;
  step->run.target_count = targets;
  return leat_ok_status();
}

// Says what is wrong with an operation of the call.
static LEAT_COLD leat_status_t refuse(const TF_Session* session, const TF_Operation* operation,
                                      const char* what) {
  if (!operation || operation->graph != session->graph) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Run failed: operation of %s is %s, must be in the session's graph",
                            what, operation ? "of another graph" : "NULL");
  }
  return leat_make_status(LEAT_NOT_FOUND,
                          "Run failed for node '%s': %s was added after TF_ExtendSession, must be "
                          "shown to the session by another",
                          TF_OperationName((TF_Operation*)(uintptr_t)operation), what);
}

static inline leat_status_t resolve(const TF_Session* session, const TF_Operation* operation,
                                    int32_t visible, const char* what, int32_t* out_node) {
  if (LEAT_UNLIKELY(!operation || operation->graph != session->graph ||
                    operation->node >= visible)) {
    return refuse(session, operation, what);
  }
  *out_node = operation->node;
  return leat_ok_status();
}

static leat_status_t resolve_all(const TF_Session* session, const TF_Output* inputs,
                                 const TF_Output* outputs, const TF_Operation* const* targets,
                                 step_t* step) {
  int32_t visible = atomic_load_explicit(&session->visible_nodes, memory_order_relaxed);
  for (int i = 0; i < step->run.feed_count; ++i) {
    LEAT_RETURN_IF_ERROR(
        resolve(session, inputs[i].oper, visible, "a feed", &step->feeds[i].node));
    step->feeds[i].index = inputs[i].index;
  }
  for (int i = 0; i < step->run.fetch_count; ++i) {
    LEAT_RETURN_IF_ERROR(
        resolve(session, outputs[i].oper, visible, "a fetch", &step->fetches[i].node));
    step->fetches[i].index = outputs[i].index;
  }
  for (int i = 0; i < step->run.target_count; ++i) {
    LEAT_RETURN_IF_ERROR(
        resolve(session, targets[i], visible, "a target", &step->targets[i]));
  }
  return leat_ok_status();
}

// Converts feed |index| into the form that kernels take: a resource that the caller gave in
// serialized form, or a boolean tensor with bytes other than 0 and 1. The step owns the result.
static LEAT_COLD leat_status_t convert_feed(step_t* step, const TF_Tensor* value, int index) {
  if (!step->converted) {
    void* memory = NULL;
    LEAT_RETURN_IF_ERROR(leat_allocator_allocate_array(leat_allocator_system(),
                                                       (size_t)step->run.feed_count,
                                                       sizeof(leat_tensor_t), &memory));
    step->converted = memory;
  }
  LEAT_RETURN_IF_ERROR(leat_capi_tensor_value(value, &step->converted[index]));
  step->feed_values[index] = step->converted[index];
  return leat_ok_status();
}

// Lends the feeds to the step. They stay the caller's for the whole step, so that their structs are
// copied without a new reference, unless a value has to be converted. Only booleans cost a look at
// the elements.
static leat_status_t lend_feeds(step_t* step, TF_Tensor* const* values) {
  for (int i = 0; i < step->run.feed_count; ++i) {
    const TF_Tensor* value = values[i];
    if (LEAT_UNLIKELY(!value || leat_capi_tensor_is_raw(value) ||
                      !leat_tensor_bools_are_valid(&value->tensor))) {
      LEAT_RETURN_IF_ERROR(convert_feed(step, value, i));
    } else {
      step->feed_values[i] = value->tensor;
    }
  }
  return leat_ok_status();
}

static void end_step(step_t* step) {
  if (LEAT_UNLIKELY(step->converted)) {
    for (int i = 0; i < step->run.feed_count; ++i) leat_tensor_release(&step->converted[i]);
    leat_allocator_free(leat_allocator_system(), step->converted);
  }
  if (LEAT_UNLIKELY(step->memory)) leat_allocator_free(leat_allocator_system(), step->memory);
}

// ---- Running ------------------------------------------------------------------------------------

// Makes an empty handle for each fetch.
static leat_status_t make_handles(TF_Tensor** output_values, int count) {
  for (int i = 0; i < count; ++i) {
    TF_Tensor* handle = leat_capi_tensor_new();
    if (LEAT_UNLIKELY(!handle)) {
      return leat_make_status(LEAT_RESOURCE_EXHAUSTED, "Memory for a tensor handle ran out");
    }
    handle->tensor = (leat_tensor_t){0};
    output_values[i] = handle;
  }
  return leat_ok_status();
}

static leat_status_t run_step(TF_Session* session, step_t* step, TF_Tensor** output_values) {
  LEAT_RETURN_IF_ERROR(make_handles(output_values, step->run.fetch_count));
  LEAT_RETURN_IF_ERROR(leat_session_run(session->session, &step->run));
  for (int i = 0; i < step->run.fetch_count; ++i) {
    leat_capi_tensor_fill(output_values[i], &step->run.fetch_values[i]);
  }
  return leat_ok_status();
}

// How many threads the nodes of the step may keep busy. As in TensorFlow, pool 0 is there where the
// configuration lists none.
static leat_status_t choose_threads(const TF_Session* session, int pool, int* out_threads) {
  const leat_session_options_t* options = leat_session_options(session->session);
  int count = options->inter_op_pool_count ? options->inter_op_pool_count : 1;
  if (pool < -1 || pool >= count) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Run failed: inter_op_thread_pool is %d, must be in [-1, %d)", pool,
                            count);
  }
  *out_threads = pool < 0 ? -1 : options->inter_op_pools[pool];
  return leat_ok_status();
}

// Runs a step that has RunOptions or RunMetadata, or that the session may measure.
static LEAT_COLD leat_status_t run_observed(TF_Session* session, const TF_Buffer* run_options,
                                            step_t* step, TF_Tensor** output_values,
                                            TF_Buffer* run_metadata) {
  leat_capi_run_options_t options;
  LEAT_RETURN_IF_ERROR(leat_capi_run_options_begin(run_options, run_metadata, &options));
  step->run.timeout_ms = options.timeout_ms;
  step->run.collective_graph_key = options.collective_graph_key;
  leat_status_t status =
      choose_threads(session, options.inter_op_pool, &step->run.inter_op_threads);
  if (!status && session->measures) {
    leat_signature_t* signature;
    status = leat_session_prepare(session->session, &step->run, &signature);
    if (!status) leat_capi_run_options_measure(&options, session, signature);
  }
  step->run.collector = options.collector;
  if (options.shows_partitions) step->run.out_graphs = &options.graphs;
  if (!status) status = run_step(session, step, output_values);
  return leat_capi_run_options_end(&options, session, &step->run, status, run_metadata);
}

void TF_SessionRun(TF_Session* session, const TF_Buffer* run_options, const TF_Output* inputs,
                   TF_Tensor* const* input_values, int ninputs, const TF_Output* outputs,
                   TF_Tensor** output_values, int noutputs,
                   const TF_Operation* const* target_opers, int ntargets, TF_Buffer* run_metadata,
                   TF_Status* status) {
  step_t step;
  for (int i = 0; i < noutputs; ++i) output_values[i] = NULL;
  leat_status_t result = prepare_step(&step, ninputs, noutputs, ntargets);
  if (!result) result = resolve_all(session, inputs, outputs, target_opers, &step);
  if (!result) result = lend_feeds(&step, input_values);
  if (!result) {
    result = run_options || run_metadata || session->measures
                 ? run_observed(session, run_options, &step, output_values, run_metadata)
                 : run_step(session, &step, output_values);
  }
  end_step(&step);
  if (LEAT_UNLIKELY(result)) {
    for (int i = 0; i < noutputs; ++i) {
      TF_DeleteTensor(output_values[i]);
      output_values[i] = NULL;
    }
  }
  leat_capi_status_set(status, result);
}

// ---- Extending ----------------------------------------------------------------------------------

static leat_status_t check_acyclic(const leat_graph_t* graph) {
  void* order = NULL;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate_array(graph->allocator, graph->node_count,
                                                     sizeof(int32_t), &order));
  leat_status_t status = leat_graph_sort(graph, order);
  leat_allocator_free(graph->allocator, order);
  return status;
}

void TF_ExtendSession(TF_Session* session, TF_Status* status) {
  leat_graph_t* g = leat_capi_lock(session->graph);
  leat_status_t result = check_acyclic(g);
  int32_t visible = atomic_load_explicit(&session->visible_nodes, memory_order_relaxed);
  // After a failure no new nodes become visible. If it is the first call, it is not known which
  // nodes there were before, so that none are.
  if (!result) visible = (int32_t)g->node_count;
  if (result && visible == INT32_MAX) visible = 0;
  atomic_store_explicit(&session->visible_nodes, visible, memory_order_relaxed);
  leat_capi_unlock(session->graph);
  leat_capi_status_set(status, result);
}
