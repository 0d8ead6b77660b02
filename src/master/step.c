// Runs steps of compiled signatures: one request to the worker for each partition, and one status
// for the caller. There are two kinds of runs: leat_compiled_run, in which a thread waits, and
// leat_compiled_start, which reports by a callback.
//
// A waiting thread keeps the step's state on its stack. The usual step, of one partition that ends
// before its call returns, takes no lock and wakes nobody: the atomic |state| of the wait tells
// that it is done already. Only a thread that has to wait longer parks on a notification.
//
//   RUNNING ─▶ DONE                        the step ended before the thread had to wait
//   RUNNING ─▶ PARKED ─▶ DONE              the thread waits, and is woken
//   RUNNING or PARKED ─▶ ASKED ─▶ RUNNING  the thread runs a part of the step that it waits for
//
// The first failure of a partition is the step's status; the worker is told to abort the step, so
// that the other partitions, which may wait for a Recv from the failed one, end too. A step that
// may have left something with the worker is cleaned up when all partitions have ended.
#include "base/clock.h"
#include "base/random.h"
#include "base/span.h"
#include "base/sync.h"
#include "kernel/cancellation.h"
#include "master/compiled.h"

// A thread takes this many step numbers at a time, so that concurrent steps do not share a counter.
#define IDS_OF_A_THREAD 256
static _Atomic(int64_t) next_free_id = 1;
static LEAT_THREAD_LOCAL int64_t next_id, ids_left;

int64_t leat_master_new_step(void) {
  if (ids_left == 0) {
    next_id = atomic_fetch_add_explicit(&next_free_id, IDS_OF_A_THREAD, memory_order_relaxed);
    ids_left = IDS_OF_A_THREAD;
  }
  --ids_left;
  return next_id++;
}

void leat_master_scatter_steps(void) {
  const int64_t begin = (int64_t)(leat_random_seed() & ((UINT64_C(1) << 56) - 1)) | 1 << 20;
  atomic_store_explicit(&next_free_id, begin, memory_order_relaxed);
}

// ---- Waiting ------------------------------------------------------------------------------------

// The states of a wait; the picture at the top of the file shows their order.
typedef enum { WAIT_RUNNING, WAIT_PARKED, WAIT_ASKED, WAIT_DONE } wait_state_t;
// A step that a thread waits for: counts its partitions down and keeps the first failure.
typedef struct wait_s {
  leat_step_waiter_t waiter;
  void (*rest)(void* data);  // what the thread is asked to run, in state WAIT_ASKED
  void* rest_data;
  _Atomic(int) pending;
  _Atomic(int) state;
  leat_compiled_t* compiled;
  int64_t step_id;
  bool several;  // there are other partitions, which must learn of a failure
  // abort_step was called, perhaps by a cancellation, so the workers remember the step
  _Atomic(bool) aborted;
  leat_spinlock_t lock;
  leat_status_t status;
  leat_notification_t* notification;
} wait_t;

void leat_compiled_abort_step(leat_compiled_t* compiled, int64_t step_id, leat_status_t status) {
  for (int i = 0; i < compiled->worker_count; ++i) {
    leat_worker_t* worker = compiled->workers[i];
    worker->vtable->abort_step(worker, step_id, leat_status_clone(status));
  }
  leat_status_free(status);
}

void leat_compiled_cleanup_step(leat_compiled_t* compiled, int64_t step_id) {
  for (int i = 0; i < compiled->worker_count; ++i) {
    compiled->workers[i]->vtable->cleanup_step(compiled->workers[i], step_id);
  }
}

// Joins |status| (taken) to |*inout_status|, under |lock|: the first failure stays, but that a task
// was cancelled, which another one's failure may have led to, gives way to any other status. With
// |several| partitions it aborts the step.
static void note_failure(leat_compiled_t* compiled, int64_t step_id, bool several,
                         leat_spinlock_t* lock, leat_status_t* inout_status,
                         leat_status_t status) {
  leat_status_t cause = several ? leat_status_clone(status) : NULL;
  leat_status_t dropped = status;
  leat_spinlock_lock(lock);
  const leat_status_code_t code = leat_status_code(*inout_status);
  if (code == LEAT_OK || (code == LEAT_CANCELLED && leat_status_code(status) != LEAT_CANCELLED)) {
    dropped = *inout_status;
    *inout_status = status;
  }
  leat_spinlock_unlock(lock);
  leat_status_free(dropped);
  if (cause) leat_compiled_abort_step(compiled, step_id, cause);
}

// Changes the state, and wakes the waiting thread if it is parked. The thread may return at once,
// and the wait with it, unless it was parked; |wait| must not be used afterwards.
static void wake(wait_t* wait, wait_state_t state) {
  int before = atomic_exchange_explicit(&wait->state, state, memory_order_acq_rel);
  if (before == WAIT_PARKED) leat_notification_open(wait->notification);
}

// A leat_worker_done_fn_t of each partition's request.
static void partition_done(void* data, leat_status_t status) {
  wait_t* wait = data;
  LEAT_DCHECK(atomic_load_explicit(&wait->pending, memory_order_relaxed) > 0);
  if (LEAT_UNLIKELY(status)) {
    note_failure(wait->compiled, wait->step_id, wait->several, &wait->lock, &wait->status, status);
  }
  if (atomic_fetch_sub_explicit(&wait->pending, 1, memory_order_acq_rel) == 1) {
    wake(wait, WAIT_DONE);
  }
}

// The waiter's function: asks the waiting thread to run |fn|. Only a step of one partition may ask,
// so there is one request at a time.
static void go_on(leat_step_waiter_t* self, void (*fn)(void* data), void* data) {
  wait_t* wait = (wait_t*)self;
  // Only a step of one partition may ask, so that one request is there at a time.
  LEAT_DCHECK(!wait->several);
  wait->rest = fn;
  wait->rest_data = data;
  wake(wait, WAIT_ASKED);
}

// Waits until the state changes. When the deadline passes first, the step is aborted, and this goes
// on waiting for its end.
static void park(wait_t* wait, int64_t deadline_ns) {
  bool (*const wait_until)(leat_notification_t*, int64_t) =
      wait->compiled->spans_tasks ? leat_notification_sleep : leat_notification_wait;
  leat_notification_t notification;
  leat_notification_initialize(&notification);
  wait->notification = &notification;
  int running = WAIT_RUNNING;
  if (atomic_compare_exchange_strong(&wait->state, &running, WAIT_PARKED) &&
      !wait_until(&notification, deadline_ns)) {
    wait->aborted = true;
    leat_compiled_abort_step(wait->compiled, wait->step_id, leat_step_timeout());
    wait_until(&notification, LEAT_DEADLINE_NEVER);
  }
  leat_notification_deinitialize(&notification);
}

// Waits for the end of the step, and runs what the thread is asked to run meanwhile.
static leat_status_t wait_for(wait_t* wait, int64_t deadline_ns) {
  int state;
  while (LEAT_UNLIKELY((state = atomic_load_explicit(&wait->state, memory_order_acquire)) !=
                       WAIT_DONE)) {
    if (state == WAIT_ASKED) {
      atomic_store_explicit(&wait->state, WAIT_RUNNING, memory_order_relaxed);
      wait->rest(wait->rest_data);
    } else {
      park(wait, wait->aborted ? LEAT_DEADLINE_NEVER : deadline_ns);
    }
  }
  return wait->status;
}

// Called when the caller of the step cancels it.
static void cancel_wait(void* data) {
  wait_t* wait = data;
  wait->aborted = true;
  leat_compiled_abort_step(wait->compiled, wait->step_id,
                           leat_make_status(LEAT_CANCELLED, "Run failed: the step was cancelled"));
}

// ---- Running ------------------------------------------------------------------------------------

// Has |fn|(|data|) called when |cancellation| is cancelled. CANCELLED where it is already.
static leat_status_t watch(leat_cancellation_t* cancellation, void (*fn)(void* data), void* data,
                           uint64_t* out_token) {
  if (leat_cancellation_register(cancellation, fn, data, out_token)) return leat_ok_status();
  return leat_cancellation_is_cancelled(cancellation)
             ? leat_make_status(LEAT_CANCELLED, "Run failed: the caller was cancelled")
             : leat_make_status(LEAT_RESOURCE_EXHAUSTED, "Run failed: memory ran out");
}

static leat_status_t run_one(leat_compiled_t* compiled, leat_run_request_t* request,
                             wait_t* wait) {
  LEAT_DCHECK(compiled->partition_count == 1 && compiled->partitions[0].registered);
  leat_worker_t* worker = compiled->partitions[0].worker;
  request->handle = compiled->partitions[0].handle;
  request->waiter = &wait->waiter;
  wait->pending = 1;
  worker->vtable->run_graph(worker, request, partition_done, wait);
  return wait_for(wait, request->deadline_ns);
}

// The requests of all partitions, and one array with the feeds (borrowed) and the fetches of each.
typedef struct deal_s {
  leat_run_request_t* requests;
  leat_tensor_t* tensors;
} deal_t;

static void free_deal(const leat_compiled_t* compiled, deal_t* deal) {
  leat_allocator_free(compiled->allocator, deal->requests);
  leat_allocator_free(compiled->allocator, deal->tensors);
}

// Makes the requests of the partitions from that of the whole step.
static leat_status_t deal_out(const leat_compiled_t* compiled, const leat_run_request_t* whole,
                              deal_t* deal) {
  int count = compiled->partition_count;
  size_t tensors = 0;
  for (int i = 0; i < count; ++i) {
    tensors += (size_t)compiled->partitions[i].feed_count;
    tensors += (size_t)compiled->partitions[i].fetch_count;
  }
  *deal = (deal_t){0};
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(compiled->allocator, tensors + 1, &deal->tensors));
  leat_status_t status = LEAT_ALLOCATE(compiled->allocator, (size_t)count, &deal->requests);
  if (status) {
    free_deal(compiled, deal);
    return status;
  }
  leat_tensor_t* next = deal->tensors;
  for (int i = 0; i < count; ++i) {
    const leat_compiled_partition_t* partition = &compiled->partitions[i];
    deal->requests[i] = *whole;
    deal->requests[i].handle = partition->handle;
    deal->requests[i].feeds = next;
    for (int k = 0; k < partition->feed_count; ++k) {
      const int feed = partition->feed_indices ? partition->feed_indices[k] : k;
      LEAT_DCHECK(feed >= 0 && feed < compiled->feed_count);
      *next++ = whole->feeds[feed];
    }
    deal->requests[i].fetches = next;
    next += partition->fetch_count;
    LEAT_DCHECK((size_t)(next - deal->tensors) <= tensors);
  }
  return leat_ok_status();
}

// Moves the partitions' fetches to those of the whole step, or releases them when the step failed.
static void collect(const leat_compiled_t* compiled, const leat_run_request_t* whole,
                    leat_status_t status, deal_t* deal) {
  for (int i = 0; i < compiled->partition_count; ++i) {
    const leat_compiled_partition_t* partition = &compiled->partitions[i];
    for (int k = 0; k < partition->fetch_count; ++k) {
      if (status) {
        leat_tensor_release(&deal->requests[i].fetches[k]);  // of a partition that had finished
      } else {
        const int fetch = partition->fetch_indices ? partition->fetch_indices[k] : k;
        LEAT_DCHECK(fetch >= 0 && fetch < compiled->fetch_count);
        whole->fetches[fetch] = deal->requests[i].fetches[k];
      }
    }
  }
  free_deal(compiled, deal);
}

static leat_status_t run_several(leat_compiled_t* compiled, const leat_run_request_t* whole,
                                 wait_t* wait) {
  deal_t deal;
  LEAT_RETURN_IF_ERROR(deal_out(compiled, whole, &deal));
  wait->pending = compiled->partition_count;
  wait->several = true;
  for (int i = 0; i < compiled->partition_count; ++i) {
    leat_worker_t* worker = compiled->partitions[i].worker;
    worker->vtable->run_graph(worker, &deal.requests[i], partition_done, wait);
  }
  leat_status_t status = wait_for(wait, whole->deadline_ns);
  collect(compiled, whole, status, &deal);
  return status;
}

// Runs the step that |whole| describes, and waits for it.
static inline leat_status_t run_step(leat_compiled_t* compiled, leat_run_request_t* whole,
                                     leat_cancellation_t* cancellation) {
  wait_t wait = {.waiter = {go_on}, .compiled = compiled, .step_id = whole->step_id};
  if (compiled->partition_count == 0) return leat_ok_status();  // nothing was asked for
  const int64_t span = leat_span_begin();
  uint64_t token = 0;
  if (LEAT_UNLIKELY(cancellation != NULL)) {
    LEAT_RETURN_IF_ERROR(watch(cancellation, cancel_wait, &wait, &token));
  }
  leat_status_t status = compiled->partition_count == 1 ? run_one(compiled, whole, &wait)
                                                        : run_several(compiled, whole, &wait);
  if (LEAT_UNLIKELY(cancellation != NULL)) leat_cancellation_deregister(cancellation, token);
  if (LEAT_UNLIKELY(status || wait.several || wait.aborted || compiled->keeps_state ||
                    compiled->spans_tasks)) {
    leat_compiled_cleanup_step(compiled, whole->step_id);
  }
  if (LEAT_UNLIKELY(span)) {
    const int64_t id = whole->container_step_id ? whole->container_step_id : whole->step_id;
    leat_span_end_in_step(span, LEAT_SPAN_STEP, 0, whole->step_id, leat_span_step(id));
    const leat_span_step_fn_t fn = atomic_load_explicit(&leat_span_on_step, memory_order_acquire);
    if (fn) fn(span, whole->step_id, compiled, status);
  }
  return status;
}

leat_status_t leat_compiled_run(leat_compiled_t* compiled, const leat_tensor_t* feeds,
                                leat_tensor_t* fetches, int64_t deadline_ns, int inter_op_threads,
                                void* collector, leat_cancellation_t* cancellation) {
  leat_run_request_t request = {
      .step_id = leat_master_new_step(),
      .feeds = feeds,
      .fetches = fetches,
      .deadline_ns = deadline_ns,
      .inter_op_threads = inter_op_threads,
      .collector = collector,
      .is_whole_step = compiled->spans_tasks && !compiled->keeps_state,
  };
  return run_step(compiled, &request, cancellation);
}

// Collectives go by the step of their container. Where they are all in this process, only that step
// gets the number, and transfers go by a number of this master's alone: another master's step may
// then use the same parameter server at the same time. Collectives in other tasks go by the number
// of the step itself, which these masters then share.
leat_status_t leat_compiled_run_numbered(leat_compiled_t* compiled, leat_step_numbers_t* numbers,
                                         int64_t graph_key, const leat_tensor_t* feeds,
                                         leat_tensor_t* fetches, int64_t deadline_ns,
                                         int inter_op_threads, void* collector,
                                         leat_cancellation_t* cancellation) {
  leat_worker_t* own = compiled->keeps_collectives;
  int64_t number;
  if (!graph_key) graph_key = compiled->graph_key;
  if (!graph_key) {
    return leat_compiled_run(compiled, feeds, fetches, deadline_ns, inter_op_threads, collector,
                             cancellation);
  }
  LEAT_RETURN_IF_ERROR(numbers->draw(numbers, graph_key, deadline_ns, cancellation, &number));
  leat_run_request_t request = {
      .step_id = own ? leat_master_new_step() : number,
      .container_step_id = own ? number : 0,
      .feeds = feeds,
      .fetches = fetches,
      .deadline_ns = deadline_ns,
      .inter_op_threads = inter_op_threads,
      .collector = collector,
  };
  leat_status_t status = run_step(compiled, &request, cancellation);
  if (own) own->vtable->cleanup_step(own, number);
  numbers->retire(numbers, graph_key, number, status);
  return status;
}

// ---- Runs that nobody waits for -----------------------------------------------------------------

// A run that no thread waits for.
typedef struct started_s {
  leat_compiled_t* compiled;
  leat_run_request_t whole;
  deal_t deal;
  bool several;
  bool leaves_cleanup;
  _Atomic(int) pending;
  leat_spinlock_t lock;
  leat_status_t status;
  leat_cancellation_t* cancellation;
  uint64_t cancel_token;
  leat_worker_done_fn_t done;
  void* data;
} started_t;

// Called when the caller's step is cancelled.
static void cancel_started(void* data) {
  started_t* s = data;
  leat_compiled_abort_step(s->compiled, s->whole.step_id,
                           leat_make_status(LEAT_CANCELLED, "Run failed: the caller was "
                                                            "cancelled"));
}

// Runs when the last partition has ended. Once the cancellation is deregistered, nobody else can
// use |s|.
static void end_started(started_t* s) {
  LEAT_DCHECK(atomic_load_explicit(&s->pending, memory_order_relaxed) == 0);
  leat_worker_done_fn_t done = s->done;
  void* data = s->data;
  leat_status_t status = s->status;
  bool was_cancelled = false;
  if (s->cancellation) {
    was_cancelled = !leat_cancellation_deregister(s->cancellation, s->cancel_token);
  }
  // A run that shares no caller's step container has one of its own, which nobody else forgets.
  const bool leaves_container = s->compiled->keeps_state && !s->whole.container_step_id;
  if (!s->leaves_cleanup && (status || s->several || was_cancelled || leaves_container ||
                             s->compiled->spans_tasks)) {
    leat_compiled_cleanup_step(s->compiled, s->whole.step_id);
  }
  if (s->several) collect(s->compiled, &s->whole, status, &s->deal);
  leat_allocator_free(s->compiled->allocator, s);
  done(data, status);
}

static void started_partition_done(void* data, leat_status_t status) {
  started_t* s = data;
  if (LEAT_UNLIKELY(status)) {
    note_failure(s->compiled, s->whole.step_id, s->several, &s->lock, &s->status, status);
  }
  LEAT_DCHECK(atomic_load_explicit(&s->pending, memory_order_relaxed) > 0);
  if (atomic_fetch_sub_explicit(&s->pending, 1, memory_order_acq_rel) == 1) end_started(s);
}

void leat_compiled_start(leat_compiled_t* compiled, const leat_compiled_call_t* call,
                         leat_worker_done_fn_t done, void* data) {
  started_t* s;
  leat_status_t status = leat_ok_status();
  if (compiled->partition_count) {
    status = LEAT_ALLOCATE(compiled->allocator, 1, &s);
  }
  if (status || compiled->partition_count == 0) {
    done(data, status);
    return;
  }
  int count = compiled->partition_count;
  *s = (started_t){
      .compiled = compiled,
      .whole = {.handle = compiled->partitions[0].handle,
                .step_id = call->step_id ? call->step_id : leat_master_new_step(),
                .container_step_id = call->container_step_id,
                .function_depth = call->function_depth,
                .calls = call->calls,
                .draw_counts = call->draw_counts,
                .feeds = call->feeds,
                .fetches = call->fetches,
                .deadline_ns = call->deadline_ns,
                .collector = call->collector},
      .several = count > 1,
      .leaves_cleanup = call->leaves_cleanup,
      .pending = count,
      .done = done,
      .data = data};
  if (s->several) status = deal_out(compiled, &s->whole, &s->deal);
  if (!status && call->cancellation) {
    s->cancellation = call->cancellation;
    status = watch(call->cancellation, cancel_started, s, &s->cancel_token);
    if (status && s->several) free_deal(compiled, &s->deal);
  }
  if (status) {
    leat_allocator_free(compiled->allocator, s);
    done(data, status);
    return;
  }
  leat_run_request_t* requests = s->several ? s->deal.requests : &s->whole;
  for (int i = 0; i < count; ++i) {
    leat_worker_t* worker = compiled->partitions[i].worker;
    worker->vtable->run_graph(worker, &requests[i], started_partition_done, s);
  }
}
