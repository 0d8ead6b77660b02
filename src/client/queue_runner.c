// Queue runners of leat/input.h: threads of a coordinator, each with a callable of its own.
#include <stdlib.h>

#include "client/coordinator.h"
#include "client/scope.h"
#include "leat/callable.h"

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
  int live;  // threads that have not ended; atomic
  int count;
  enqueuer_t enqueuers[];
};

// ---- Making -------------------------------------------------------------------------------------

// Queues have two kinds of handle, and each its op.
static TF_Operation* add_close(leat_scope_t* scope, TF_Output queue, int cancels) {
  int is_resource = queue.oper && TF_OperationOutputType(queue) == TF_RESOURCE;
  leat_attribute_t cancel = leat_attribute_bool("cancel_pending_enqueues", cancels);
  return leat_operation(scope, is_resource ? "QueueCloseV2" : "QueueClose", NULL, &queue, 1,
                        &cancel, 1);
}

static leat_queue_runner_t* allocate(TF_Operation* const* enqueues, int count) {
  leat_queue_runner_t* r = calloc(1, sizeof *r + (size_t)count * sizeof *r->enqueuers);
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
  leat_queue_runner_t* r = allocate(enqueues, count);
  if (!r) {
    leat_scope_fail(scope, TF_RESOURCE_EXHAUSTED, "no memory for a queue runner");
    return NULL;
  }
  r->close = close;
  r->cancel = cancel;
  return r;
}

void leat_queue_runner_free(leat_queue_runner_t* runner) {
  if (!runner) return;
  for (int i = 0; i < runner->count; ++i) TF_DeleteStatus(runner->enqueuers[i].status);
  free(runner);
}

// ---- Running ------------------------------------------------------------------------------------

// The last one closes the queue, unless a stop has done that.
static void end_thread(leat_queue_runner_t* r, leat_coordinator_t* coordinator,
                       TF_Session* session, TF_Status* status) {
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
  if (code != TF_OK && code != TF_OUT_OF_RANGE) {
    leat_coordinator_request_stop(e->coordinator, e->status);
  }
  end_thread(e->runner, e->coordinator, e->session, e->status);
}

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
