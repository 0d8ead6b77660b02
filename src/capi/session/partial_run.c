// Partial runs: a step that is fed and fetched in several calls (TF_SessionPRunSetup,
// TF_SessionPRun). The setup names all feeds, fetches and targets, and starts the step
// (master/partial_run.h); each call gives some feeds and takes some fetches, every one of them
// once. A handle is the name of a partial run of its session, such as "partial_1". The run ends
// with its last feed and fetch, with a failure, or with the session.
//
// A call takes the run out of the session's list while it uses it, so that two calls with one
// handle cannot use it at the same time: the second one finds no such run. Before anything is fed,
// a call is checked completely, so that an error of the caller leaves the run as it was. A fetch
// whose feeds have not all come is refused, because waiting for it would never end, and so is one
// that the call names more often than the setup did.
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "capi/handles.h"
#include "capi/leat/interrupt.h"
#include "master/partial_run.h"

struct leat_capi_partial_s {
  leat_capi_partial_t* next;
  leat_partial_run_t* run;
  char name[32];
  int feed_count, fetch_count;
  leat_output_t* feeds;    // [feed_count + fetch_count]: the feeds as set up, then the fetches
  leat_output_t* fetches;  // behind |feeds|
  int32_t* feed_types;     // [feed_count]
  bool* done;              // [feed_count + fetch_count]: fed or fetched already
};

static _Atomic(uint64_t) next_name = 1;

// ---- Setup --------------------------------------------------------------------------------------

static void free_partial(leat_capi_partial_t* partial) {
  if (!partial) return;
  leat_partial_run_end(partial->run);
  leat_allocator_free(leat_allocator_system(), partial->feeds);
  leat_allocator_free(leat_allocator_system(), partial->feed_types);
  leat_allocator_free(leat_allocator_system(), partial->done);
  leat_allocator_free(leat_allocator_system(), partial);
}

static leat_status_t resolve(const TF_Session* session, const TF_Output* outputs, int count,
                             leat_output_t* out_outputs) {
  for (int i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_capi_output_resolve(session->graph, outputs[i], "Partial run",
                                                  &out_outputs[i]));
  }
  return leat_ok_status();
}

// Resolves what the setup names and starts the step.
static leat_status_t begin(TF_Session* session, const TF_Output* inputs, const TF_Output* outputs,
                           const TF_Operation* const* targets, int target_count,
                           leat_capi_partial_t* partial) {
  leat_allocator_t* allocator = leat_allocator_system();
  size_t edges = (size_t)(partial->feed_count + partial->fetch_count) + 1;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(allocator, edges, &partial->feeds));
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(allocator, edges, &partial->done));
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(allocator, edges, &partial->feed_types));
  partial->fetches = partial->feeds + partial->feed_count;
  const leat_graph_t* graph = leat_capi_lock(session->graph);
  leat_status_t status = resolve(session, inputs, partial->feed_count, partial->feeds);
  for (int i = 0; i < partial->feed_count && !status; ++i) {
    partial->feed_types[i] = leat_dtype_base(leat_graph_output_type(graph, partial->feeds[i]));
  }
  if (!status) status = resolve(session, outputs, partial->fetch_count, partial->fetches);
  leat_capi_unlock(session->graph);
  if (status) return status;
  int32_t* nodes;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(allocator, (size_t)target_count + 1, &nodes));
  for (int i = 0; i < target_count && !status; ++i) {
    if (targets[i] && targets[i]->graph == session->graph) {
      nodes[i] = targets[i]->node;
    } else {
      status = leat_make_status(LEAT_INVALID_ARGUMENT,
                                "Partial run failed: target %d is not of the session's graph", i);
    }
  }
  leat_run_t run = {.feeds = partial->feeds,
                    .feed_count = partial->feed_count,
                    .fetches = partial->fetches,
                    .fetch_count = partial->fetch_count,
                    .targets = nodes,
                    .target_count = target_count};
  if (!status) status = leat_session_begin_partial(session->session, &run, &partial->run);
  leat_allocator_free(allocator, nodes);
  return status;
}

// Starts a partial run and gives out its handle, which the caller frees.
static leat_status_t make(TF_Session* session, const TF_Output* inputs, int ninputs,
                          const TF_Output* outputs, int noutputs,
                          const TF_Operation* const* targets, int ntargets,
                          const char** out_handle) {
  if (ninputs < 0 || noutputs < 0 || ntargets < 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Partial run failed: counts are %d, %d and %d, must be >= 0", ninputs,
                            noutputs, ntargets);
  }
  leat_capi_partial_t* partial;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &partial));
  partial->feed_count = ninputs;
  partial->fetch_count = noutputs;
  snprintf(partial->name, sizeof partial->name, "partial_%llu",
           (unsigned long long)atomic_fetch_add(&next_name, 1));
  char* handle = NULL;
  leat_status_t status = LEAT_ALLOCATE(leat_allocator_system(), sizeof partial->name, &handle);
  if (!status) status = begin(session, inputs, outputs, targets, ntargets, partial);
  if (status) {
    leat_allocator_free(leat_allocator_system(), handle);
    free_partial(partial);
    return status;
  }
  memcpy(handle, partial->name, sizeof partial->name);
  *out_handle = handle;
  leat_mutex_lock(&session->partials_mutex);
  partial->next = session->partials;
  session->partials = partial;
  leat_mutex_unlock(&session->partials_mutex);
  return leat_ok_status();
}

void TF_SessionPRunSetup(TF_Session* session, const TF_Output* inputs, int ninputs,
                         const TF_Output* outputs, int noutputs,
                         const TF_Operation* const* target_opers, int ntargets,
                         const char** handle, TF_Status* status) {
  *handle = NULL;
  leat_capi_status_set(status, make(session, inputs, ninputs, outputs, noutputs, target_opers,
                                    ntargets, handle));
}

void TF_DeletePRunHandle(const char* handle) {
  leat_allocator_free(leat_allocator_system(), (void*)(uintptr_t)handle);
}

void leat_capi_partials_end(TF_Session* session) {
  leat_mutex_lock(&session->partials_mutex);
  leat_capi_partial_t* partial = session->partials;
  session->partials = NULL;
  leat_mutex_unlock(&session->partials_mutex);
  while (partial) {
    leat_capi_partial_t* next = partial->next;
    free_partial(partial);
    partial = next;
  }
}

// ---- Running ------------------------------------------------------------------------------------

// What one call gives to and takes from a partial run.
typedef struct call_s {
  leat_capi_partial_t* partial;
  TF_Tensor** outputs;
  int* feeds;  // [feed_count], numbers among the feeds of the setup
  int* fetches;  // likewise, of the fetches
  leat_tensor_t* values;  // [feed_count], the call's
  bool* taken;  // as the run's |done|, with what this call feeds and fetches
  int feed_count, fetch_count;
} call_t;

static void end_call(call_t* call) {
  for (int i = 0; call->values && i < call->feed_count; ++i) {
    leat_tensor_release(&call->values[i]);
  }
  leat_allocator_free(leat_allocator_system(), call->values);
  leat_allocator_free(leat_allocator_system(), call->feeds);
  leat_allocator_free(leat_allocator_system(), call->taken);
}

static leat_status_t begin_call(leat_capi_partial_t* partial, call_t* call) {
  leat_allocator_t* allocator = leat_allocator_system();
  const size_t edges = (size_t)(partial->feed_count + partial->fetch_count);
  const size_t numbers = (size_t)call->feed_count + (size_t)call->fetch_count;
  call->partial = partial;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(allocator, numbers + 1, &call->feeds));
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(allocator, (size_t)call->feed_count + 1, &call->values));
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(allocator, edges + 1, &call->taken));
  call->fetches = call->feeds + call->feed_count;
  memcpy(call->taken, partial->done, edges);
  return leat_ok_status();
}

// Finds |output| among the feeds or fetches of the setup; a fetch that it named twice may be taken
// twice. INVALID_ARGUMENT where it is not there or was fed or fetched before.
static leat_status_t take(TF_Session* session, call_t* call, bool is_feed, TF_Output output,
                          int* out_index) {
  const leat_capi_partial_t* partial = call->partial;
  leat_output_t edge;
  const char* what = is_feed ? "feed" : "fetch";
  LEAT_RETURN_IF_ERROR(leat_capi_output_resolve(session->graph, output, "Partial run", &edge));
  const leat_output_t* edges = is_feed ? partial->feeds : partial->fetches;
  const int count = is_feed ? partial->feed_count : partial->fetch_count;
  bool* taken = is_feed ? call->taken : call->taken + partial->feed_count;
  bool is_known = false;
  for (int i = 0; i < count; ++i) {
    if (!leat_output_equal(edges[i], edge)) continue;
    is_known = true;
    if (taken[i]) continue;
    taken[i] = true;
    *out_index = i;
    return leat_ok_status();
  }
  leat_string_view_t name = session->graph->shared->graph->nodes[edge.node].name;
  if (!is_known) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "The %s %.*s:%d was not specified in partial_run_setup.", what,
                            LEAT_SV_ARG(name), edge.index);
  }
  return leat_make_status(LEAT_INVALID_ARGUMENT, "The %s %.*s:%d has already been %s.", what,
                          LEAT_SV_ARG(name), edge.index, is_feed ? "fed" : "fetched");
}

// Takes value |index| of the call. The step reads it as its Recv's type, so it must have that type.
static leat_status_t take_value(TF_Session* session, call_t* call, int index,
                                const TF_Tensor* value) {
  const leat_capi_partial_t* partial = call->partial;
  leat_tensor_t* taken = &call->values[index];
  LEAT_RETURN_IF_ERROR(leat_capi_tensor_value(value, taken));
  const int feed = call->feeds[index], type = partial->feed_types[feed];
  if (taken->dtype == type) return leat_ok_status();
  const leat_node_t* node = &session->graph->shared->graph->nodes[partial->feeds[feed].node];
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Partial run failed for node '%.*s' (%.*s): the value fed has type %s, "
                          "must be %s",
                          LEAT_SV_ARG(node->name), LEAT_SV_ARG(node->op->name),
                          leat_dtype_name(taken->dtype), leat_dtype_name(type));
}

// Finds what the call names, with the graph locked.
static leat_status_t take_all(TF_Session* session, call_t* call, const TF_Output* inputs,
                              TF_Tensor* const* values, const TF_Output* outputs) {
  for (int i = 0; i < call->feed_count; ++i) {
    LEAT_RETURN_IF_ERROR(take(session, call, true, inputs[i], &call->feeds[i]));
    LEAT_RETURN_IF_ERROR(take_value(session, call, i, values[i]));
  }
  for (int i = 0; i < call->fetch_count; ++i) {
    LEAT_RETURN_IF_ERROR(take(session, call, false, outputs[i], &call->fetches[i]));
  }
  return leat_ok_status();
}

// Checks that every feed on which a fetch depends was fed before or is fed now.
static leat_status_t check_fetches(const call_t* call) {
  const leat_capi_partial_t* partial = call->partial;
  for (int i = 0; i < call->fetch_count; ++i) {
    for (int f = 0; f < partial->feed_count; ++f) {
      if (call->taken[f] || !leat_partial_run_needs(partial->run, call->fetches[i], f)) continue;
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Fetch %d can't be computed from the feeds that have been fed so "
                              "far.",
                              call->fetches[i]);
    }
  }
  return leat_ok_status();
}

// Feeds and fetches. After a failure the run must be ended, since part of it may have happened.
static leat_status_t run_call(const call_t* call, int64_t deadline_ns) {
  leat_capi_partial_t* partial = call->partial;
  for (int i = 0; i < call->feed_count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_partial_run_feed(partial->run, call->feeds[i], &call->values[i]));
  }
  for (int i = 0; i < call->fetch_count; ++i) {
    leat_tensor_t value;
    LEAT_RETURN_IF_ERROR(
        leat_partial_run_fetch(partial->run, call->fetches[i], deadline_ns,
                               leat_capi_thread_cancellation(), &value));
    LEAT_RETURN_IF_ERROR(leat_capi_tensor_wrap(&value, &call->outputs[i]));
  }
  memcpy(partial->done, call->taken, (size_t)(partial->feed_count + partial->fetch_count));
  return leat_ok_status();
}

static bool is_done(const leat_capi_partial_t* partial) {
  bool done = true;
  for (int i = 0; i < partial->feed_count + partial->fetch_count; ++i) done &= partial->done[i];
  return done;
}

// Takes the run |handle| out of the session's list for the time of a call; NULL where there is
// none.
static leat_capi_partial_t* borrow(TF_Session* session, const char* handle) {
  leat_mutex_lock(&session->partials_mutex);
  leat_capi_partial_t** link = &session->partials;
  while (*link && strcmp((*link)->name, handle)) link = &(*link)->next;
  leat_capi_partial_t* partial = *link;
  if (partial) *link = partial->next;
  leat_mutex_unlock(&session->partials_mutex);
  return partial;
}

static void give_back(TF_Session* session, leat_capi_partial_t* partial) {
  leat_mutex_lock(&session->partials_mutex);
  partial->next = session->partials;
  session->partials = partial;
  leat_mutex_unlock(&session->partials_mutex);
}

// Gives the run some feeds and takes some fetches. The run goes back to the session's list unless
// it has ended.
static leat_status_t go_on(TF_Session* session, const char* handle, const TF_Output* inputs,
                           TF_Tensor* const* input_values, int ninputs, const TF_Output* outputs,
                           TF_Tensor** output_values, int noutputs) {
  LEAT_RETURN_IF_ERROR(leat_session_check_open(session->session));
  leat_capi_partial_t* partial = handle ? borrow(session, handle) : NULL;
  if (!partial) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Must run 'setup' before performing partial runs!");
  }
  const int64_t deadline_ns = leat_clock_deadline_after_ms(
      leat_session_options(session->session)->operation_timeout_ms);
  call_t call = {.outputs = output_values, .feed_count = ninputs, .fetch_count = noutputs};
  leat_status_t status = begin_call(partial, &call);
  bool is_over = false;
  if (!status) {
    leat_capi_lock(session->graph);
    status = take_all(session, &call, inputs, input_values, outputs);
    leat_capi_unlock(session->graph);
    if (!status) status = check_fetches(&call);
    if (!status) {
      status = run_call(&call, deadline_ns);
      is_over = status || is_done(partial);
    }
  }
  end_call(&call);
  if (is_over) {
    free_partial(partial);
  } else {
    give_back(session, partial);
  }
  return status;
}

void TF_SessionPRun(TF_Session* session, const char* handle, const TF_Output* inputs,
                    TF_Tensor* const* input_values, int ninputs, const TF_Output* outputs,
                    TF_Tensor** output_values, int noutputs,
                    const TF_Operation* const* target_opers, int ntargets, TF_Status* status) {
  for (int i = 0; i < noutputs; ++i) output_values[i] = NULL;
  leat_status_t result = go_on(session, handle, inputs, input_values, ninputs < 0 ? 0 : ninputs,
                               outputs, output_values, noutputs < 0 ? 0 : noutputs);
  for (int i = 0; result && i < noutputs; ++i) {
    TF_DeleteTensor(output_values[i]);
    output_values[i] = NULL;
  }
  leat_capi_status_set(status, result);
}
