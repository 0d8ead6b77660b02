// The queue runners of leat/input.h: each keeps a queue filled by running its enqueue operations,
// every one on a thread of its own, until the input ends, an error occurs, or the coordinator
// stops. Each thread prepares its step once as a callable. The end of input is a set of codes
// (OUT_OF_RANGE unless the client says otherwise); any other error requests a stop with that
// reason. The last thread that ends closes the queue, so that readers get what is left in it and
// then the end. At a stop the queue is cancelled instead, which wakes threads that wait in it.
#include <stdlib.h>

#include "client/coordinator.h"
#include "client/scope.h"
#include "leat/callable.h"
#include "leat/saved_model.h"

typedef struct enqueuer_t {
  leat_queue_runner_t* runner;
  const TF_Operation* enqueue;
  TF_Session* session;
  leat_coordinator_t* coordinator;
  TF_Status* status;
} enqueuer_t;

struct leat_queue_runner_t {
  TF_Operation* close;
  TF_Operation* cancel;
  int live;       // threads that have not ended; accessed atomically
  uint32_t ends;  // bit c: code c is the end of input
  int count;
  enqueuer_t enqueuers[];
};

// ---- Creation -----------------------------------------------------------------------------------

// Adds an operation that closes the queue. Queues have two kinds of handles, each with its own op.
static TF_Operation* add_close(leat_scope_t* scope, TF_Output queue, int cancels) {
  int is_resource = queue.oper && TF_OperationOutputType(queue) == TF_RESOURCE;
  leat_attribute_t cancel = leat_attribute_bool("cancel_pending_enqueues", cancels);
  return leat_operation(scope, is_resource ? "QueueCloseV2" : "QueueClose", NULL, &queue, 1,
                        &cancel, 1);
}

static leat_queue_runner_t* allocate(TF_Operation* const* enqueues, int count, TF_Operation* close,
                                     TF_Operation* cancel) {
  leat_queue_runner_t* r = calloc(1, sizeof *r + (size_t)count * sizeof *r->enqueuers);
  if (r) {
    r->close = close;
    r->cancel = cancel;
    r->ends = 1u << TF_OUT_OF_RANGE;
  }
  for (int i = 0; r && i < count; ++i) {
    r->enqueuers[i] = (enqueuer_t){r, enqueues[i], NULL, NULL, TF_NewStatus()};
    r->count = i + 1;
    if (r->enqueuers[i].status) continue;
    leat_queue_runner_free(r);
    return NULL;
  }
  return r;
}

leat_queue_runner_t* leat_queue_runner_create(leat_scope_t* scope, TF_Output queue,
                                              TF_Operation* const* enqueues, int count,
                                              TF_Operation* close, TF_Operation* cancel) {
  if (count < 1) {
    leat_scope_fail(scope, TF_INVALID_ARGUMENT,
                    "Making a queue runner failed: the count of enqueue operations is %d, must be "
                    "1 or more",
                    count);
  }
  for (int i = 0; i < count; ++i) {
    if (enqueues[i]) continue;
    leat_scope_fail(scope, TF_INVALID_ARGUMENT,
                    "Making a queue runner failed: enqueue operation %d is NULL", i);
  }
  if (!close) close = add_close(scope, queue, 0);
  if (!cancel) cancel = add_close(scope, queue, 1);
  if (!leat_scope_is_ok(scope)) return NULL;
  leat_queue_runner_t* r = allocate(enqueues, count, close, cancel);
  if (!r) leat_scope_fail(scope, TF_RESOURCE_EXHAUSTED, "no memory for a queue runner");
  return r;
}

void leat_queue_runner_set_ends(leat_queue_runner_t* runner, const TF_Code* codes, int count) {
  runner->ends = 0;
  for (int i = 0; i < count; ++i) {
    if (codes[i] > TF_OK && codes[i] <= TF_UNAUTHENTICATED) runner->ends |= 1u << codes[i];
  }
}

void leat_queue_runner_free(leat_queue_runner_t* runner) {
  if (!runner) return;
  for (int i = 0; i < runner->count; ++i) TF_DeleteStatus(runner->enqueuers[i].status);
  free(runner);
}

// ---- Runners of a graph that was loaded ---------------------------------------------------------

typedef struct loaded_t {
  leat_queue_runner_t** runners;
  int count;
  int lacks_memory;
} loaded_t;

static void add_loaded(void* data, const leat_queue_operations_t* operations) {
  loaded_t* l = data;
  size_t size = ((size_t)l->count + 1) * sizeof *l->runners;
  leat_queue_runner_t** runners = realloc(l->runners, size);
  leat_queue_runner_t* r = allocate(operations->enqueues, operations->enqueue_count,
                                    operations->close, operations->cancel);
  if (runners) l->runners = runners;
  if (!runners || !r) {
    leat_queue_runner_free(r);
    l->lacks_memory = 1;
    return;
  }
  if (operations->end_count) leat_queue_runner_set_ends(r, operations->ends, operations->end_count);
  runners[l->count++] = r;
}

leat_queue_runner_t** leat_queue_runners_load(TF_Graph* graph, const TF_Buffer* meta_graph_def,
                                              int* out_count, TF_Status* status) {
  loaded_t l = {.count = 0};
  leat_meta_graph_queue_runners(graph, meta_graph_def, add_loaded, &l, status);
  if (l.lacks_memory) TF_SetStatus(status, TF_RESOURCE_EXHAUSTED, "no memory for queue runners");
  if (TF_GetCode(status) != TF_OK) {
    leat_queue_runners_free(l.runners, l.count);
    l = (loaded_t){.count = 0};
  }
  *out_count = l.count;
  return l.runners;
}

void leat_queue_runners_free(leat_queue_runner_t** runners, int count) {
  for (int i = 0; i < count; ++i) leat_queue_runner_free(runners[i]);
  free(runners);
}

// ---- Running ------------------------------------------------------------------------------------

// Called by each thread at its end. The last one closes the queue, unless a stop has cancelled it.
static void end_thread(leat_queue_runner_t* r, leat_coordinator_t* coordinator, TF_Session* session,
                       TF_Status* status) {
  if (__atomic_sub_fetch(&r->live, 1, __ATOMIC_ACQ_REL) > 0) return;
  if (!leat_coordinator_should_stop(coordinator)) leat_target_run(session, r->close, status);
}

static void enqueue_until_end(void* data) {
  enqueuer_t* e = data;
  leat_callable_t* step =
      leat_callable_create(e->session, NULL, 0, NULL, 0, &e->enqueue, 1, e->status);
  while (TF_GetCode(e->status) == TF_OK && !leat_coordinator_should_stop(e->coordinator)) {
    leat_callable_run(step, NULL, NULL, e->status);
  }
  leat_callable_free(step);
  TF_Code code = TF_GetCode(e->status);
  if (code != TF_OK && !(e->runner->ends & 1u << code)) {
    leat_coordinator_request_stop(e->coordinator, e->status);
  }
  end_thread(e->runner, e->coordinator, e->session, e->status);
}

// Starts the threads. |live| is set to the count before, so that no thread takes itself for the
// last; threads that could not be started are subtracted afterwards.
static void start(leat_queue_runner_t* r, TF_Session* session, leat_coordinator_t* coordinator,
                  TF_Status* status) {
  int none = 0;
  if (!__atomic_compare_exchange_n(&r->live, &none, r->count, 0, __ATOMIC_ACQ_REL,
                                   __ATOMIC_ACQUIRE)) {
    TF_SetStatus(status, TF_FAILED_PRECONDITION,
                 "starting a queue runner failed: it runs already, must have been joined");
    return;
  }
  int started = 0, heard = leat_coordinator_on_stop(coordinator, session, r->cancel);
  if (!heard) TF_SetStatus(status, TF_RESOURCE_EXHAUSTED, "no memory for a queue runner");
  for (; heard && started < r->count; ++started) {
    enqueuer_t* e = &r->enqueuers[started];
    e->session = session;
    e->coordinator = coordinator;
    leat_coordinator_start(coordinator, TF_OperationName((TF_Operation*)e->enqueue),
                           enqueue_until_end, e, status);
    if (TF_GetCode(status) != TF_OK) break;
  }
  __atomic_sub_fetch(&r->live, r->count - started, __ATOMIC_ACQ_REL);
}

void leat_queue_runners_start(leat_queue_runner_t* const* runners, int count, TF_Session* session,
                              leat_coordinator_t* coordinator, TF_Status* status) {
  TF_SetStatus(status, TF_OK, "");
  for (int i = 0; i < count && TF_GetCode(status) == TF_OK; ++i) {
    if (runners[i]) {
      start(runners[i], session, coordinator, status);
    } else {
      TF_SetStatus(status, TF_INVALID_ARGUMENT, "a queue runner is NULL, must be one");
    }
  }
  if (TF_GetCode(status) != TF_OK) leat_coordinator_request_stop(coordinator, status);
}
