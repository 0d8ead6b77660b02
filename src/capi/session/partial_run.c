// Partial runs: a step that is fed and fetched in several calls (TF_SessionPRunSetup,
// TF_SessionPRun). The setup names all feeds, fetches and targets, and starts the step
// (master/partial_run.h); each call gives some feeds and takes some fetches, every one of them
// once. A handle is the name of a partial run of its session, such as "partial_1". The run ends
// with its last feed and fetch, with a failure, or with the session.
//
// A call takes the run out of the session's list while it uses it, so that two calls with one
// handle cannot use it at the same time: the second one finds no such run. Before anything is fed,
// a call is checked completely, so that an error of the caller leaves the run as it was. A fetch
// whose feeds have not all come is refused, because waiting for it would never end.
#include <stdio.h>
#include <string.h>

#include "capi/handles.h"
#include "master/partial_run.h"

struct leat_capi_partial_s {
  leat_capi_partial_t* next;
  leat_partial_run_t* run;
  char name[32];
  int feed_count, fetch_count;
  leat_output_t* feeds;    // [feed_count + fetch_count]: the feeds as set up, then the fetches
  leat_output_t* fetches;  // behind |feeds|
  bool* done;              // [feed_count + fetch_count]: fed or fetched already
};

static _Atomic(uint64_t) next_name = 1;

// ---- Setup --------------------------------------------------------------------------------------

static void free_partial(leat_capi_partial_t* partial) {
  if (!partial) return;
  leat_partial_run_end(partial->run);
  leat_allocator_free(leat_allocator_system(), partial->feeds);
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
  partial->fetches = partial->feeds + partial->feed_count;
  leat_capi_lock(session->graph);
  leat_status_t status = resolve(session, inputs, partial->feed_count, partial->feeds);
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

static int find_edge(const leat_output_t* edges, int count, leat_output_t edge) {
  for (int i = 0; i < count; ++i) {
    if (leat_output_equal(edges[i], edge)) return i;
  }
  return -1;
}

// Finds |output| among the feeds or fetches of the setup. INVALID_ARGUMENT where it is not there or
// was fed or fetched before.
static leat_status_t take(TF_Session* session, const leat_capi_partial_t* partial, bool is_feed,
                          TF_Output output, int* out_index) {
  leat_output_t edge;
  const char* what = is_feed ? "feed" : "fetch";
  LEAT_RETURN_IF_ERROR(leat_capi_output_resolve(session->graph, output, "Partial run", &edge));
  leat_string_view_t name = session->graph->shared->graph->nodes[edge.node].name;
  int index = is_feed ? find_edge(partial->feeds, partial->feed_count, edge)
                      : find_edge(partial->fetches, partial->fetch_count, edge);
  if (index < 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "The %s %.*s:%d was not specified in partial_run_setup.", what,
                            LEAT_SV_ARG(name), edge.index);
  }
  if (partial->done[is_feed ? index : partial->feed_count + index]) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "The %s %.*s:%d has already been %s.", what,
                            LEAT_SV_ARG(name), edge.index, is_feed ? "fed" : "fetched");
  }
  *out_index = index;
  return leat_ok_status();
}

// What one call gives to and takes from a partial run.
typedef struct part_s {
  leat_capi_partial_t* partial;
  TF_Tensor* const* values;
  TF_Tensor** outputs;
  int* feeds;  // [feed_count], numbers among the feeds of the setup
  int* fetches;  // likewise, of the fetches
  int feed_count, fetch_count;
} part_t;

static leat_status_t take_all(TF_Session* session, part_t* part, const TF_Output* inputs,
                              const TF_Output* outputs) {
  for (int i = 0; i < part->feed_count; ++i) {
    LEAT_RETURN_IF_ERROR(take(session, part->partial, true, inputs[i], &part->feeds[i]));
  }
  for (int i = 0; i < part->fetch_count; ++i) {
    LEAT_RETURN_IF_ERROR(take(session, part->partial, false, outputs[i], &part->fetches[i]));
  }
  return leat_ok_status();
}

// Checks that every feed on which a fetch depends was fed before or is fed now.
static leat_status_t check_fetches(const part_t* part) {
  const leat_capi_partial_t* partial = part->partial;
  for (int i = 0; i < part->fetch_count; ++i) {
    for (int f = 0; f < partial->feed_count; ++f) {
      bool has_come = partial->done[f];
      for (int k = 0; k < part->feed_count; ++k) has_come |= part->feeds[k] == f;
      if (has_come || !leat_partial_run_needs(partial->run, part->fetches[i], f)) continue;
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Fetch %d can't be computed from the feeds that have been fed so "
                              "far.",
                              part->fetches[i]);
    }
  }
  return leat_ok_status();
}

// Feeds and fetches. After a failure the run must be ended, since part of it may have happened.
static leat_status_t run_part(const part_t* part) {
  leat_capi_partial_t* partial = part->partial;
  for (int i = 0; i < part->feed_count; ++i) {
    leat_tensor_t value;
    LEAT_RETURN_IF_ERROR(leat_capi_tensor_value(part->values[i], &value));
    leat_status_t status = leat_partial_run_feed(partial->run, part->feeds[i], &value);
    leat_tensor_release(&value);
    LEAT_RETURN_IF_ERROR(status);
  }
  for (int i = 0; i < part->fetch_count; ++i) {
    leat_tensor_t value;
    LEAT_RETURN_IF_ERROR(leat_partial_run_fetch(partial->run, part->fetches[i], &value));
    LEAT_RETURN_IF_ERROR(leat_capi_tensor_wrap(&value, &part->outputs[i]));
  }
  for (int i = 0; i < part->feed_count; ++i) partial->done[part->feeds[i]] = true;
  for (int i = 0; i < part->fetch_count; ++i) {
    partial->done[partial->feed_count + part->fetches[i]] = true;
  }
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
  part_t part = {partial, input_values, output_values, NULL, NULL, ninputs, noutputs};
  leat_status_t status =
      LEAT_ALLOCATE(leat_allocator_system(), (size_t)(ninputs + noutputs) + 1, &part.feeds);
  bool is_over = false;
  if (!status) {
    part.fetches = part.feeds + ninputs;
    leat_capi_lock(session->graph);
    status = take_all(session, &part, inputs, outputs);
    leat_capi_unlock(session->graph);
    if (!status) status = check_fetches(&part);
    if (!status) {
      status = run_part(&part);
      is_over = status || is_done(partial);
    }
  }
  leat_allocator_free(leat_allocator_system(), part.feeds);
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
