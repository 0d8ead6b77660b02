// The engine: one completion queue of the C core and the threads that serve it, leader and
// followers. A thread takes an event off the queue and serves it itself, so that an event costs no
// hand-over. What the event leads to may be a function of the caller's that blocks; before calling
// one, the thread makes sure that another one waits for events (rpc_engine_enter_caller), and
// starts a thread where none does. So no event waits behind a function of the caller's, however
// many of those block at once, and there are as many threads as that takes. Threads that have
// waited for some seconds without an event end, but for two.
//
// Where the system gives no more threads, the function is called nevertheless, and events wait until
// it returns.
//
// The engine is made by the first server or channel and ends with the last one: the queue is shut
// down, each thread leaves when it sees that, and whoever released it waits for them. Should that be
// one of these threads, which could wait for itself for ever, then the last thread frees the engine.
#include "engine.h"

#include <grpc/support/log.h>
#include <grpc/support/time.h>
#include <stdio.h>

enum { IDLE_THREADS = 2, IDLE_SECONDS = 5 };

struct rpc_engine_s {
  grpc_completion_queue* queue;
  atomic_int waiting;  // threads that wait for an event, or will without calling the caller first
  // Guarded by |mutex| of this file.
  int users;
  int threads;
  bool is_last_thread_to_free;
};

const leat_rpc_host_t* rpc_host;
static leat_mutex_t mutex = {PTHREAD_MUTEX_INITIALIZER};
static leat_condition_t threads_ended = {PTHREAD_COND_INITIALIZER};
static rpc_engine_t* engine;  // NULL while there is no user
static bool is_initialized;
// Whether this thread is one of the engine's, and how deep it is in functions of the caller's.
static LEAT_THREAD_LOCAL bool is_own_thread;
static LEAT_THREAD_LOCAL int caller_depth;

grpc_completion_queue* rpc_engine_queue(rpc_engine_t* e) { return e->queue; }

void* rpc_event_send(rpc_engine_t* e, rpc_event_t* event,
                     void (*serve)(rpc_event_t* event, bool success)) {
  event->serve = serve;
  event->engine = e;
  atomic_store_explicit(&event->sent, 1, memory_order_release);
  return event;
}

// ---- Threads ------------------------------------------------------------------------------------

static void free_engine(rpc_engine_t* e) {
  grpc_completion_queue_destroy(e->queue);
  rpc_host->free(e);
}

// true: the thread, which has waited in vain, is one too many, and no longer counts as waiting.
static bool stop_waiting(rpc_engine_t* e) {
  int waiting = atomic_load(&e->waiting);
  while (waiting > IDLE_THREADS) {
    if (atomic_compare_exchange_weak(&e->waiting, &waiting, waiting - 1)) return true;
  }
  return false;
}

static void serve_events(rpc_engine_t* e) {
  const gpr_timespec patience = gpr_time_from_seconds(IDLE_SECONDS, GPR_TIMESPAN);
  for (;;) {
    const gpr_timespec deadline = gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), patience);
    const grpc_event got = grpc_completion_queue_next(e->queue, deadline, NULL);
    if (got.type == GRPC_QUEUE_SHUTDOWN) return;
    if (got.type == GRPC_QUEUE_TIMEOUT) {
      if (stop_waiting(e)) return;
      continue;
    }
    rpc_event_t* event = got.tag;
    (void)atomic_load_explicit(&event->sent, memory_order_acquire);
    event->serve(event, got.success != 0);
  }
}

static void run_thread(void* data) {
  rpc_engine_t* e = data;
  is_own_thread = true;
  serve_events(e);
  leat_mutex_lock(&mutex);
  const bool frees = --e->threads == 0 && e->is_last_thread_to_free;
  if (e->threads == 0) rpc_host->condition_notify_all(&threads_ended);
  leat_mutex_unlock(&mutex);
  if (frees) free_engine(e);
}

// Counts the new thread as waiting before it runs, so that nobody starts another one for the same
// need. |mutex| is held.
static bool start_thread(rpc_engine_t* e) {
  atomic_fetch_add(&e->waiting, 1);
  ++e->threads;
  if (rpc_host->start_thread("leat-rpc", run_thread, e)) return true;
  atomic_fetch_sub(&e->waiting, 1);
  --e->threads;
  return false;
}

void rpc_engine_enter_caller(rpc_engine_t* e) {
  if (!is_own_thread || caller_depth++ > 0 || atomic_fetch_sub(&e->waiting, 1) > 1) return;
  leat_mutex_lock(&mutex);
  start_thread(e);
  leat_mutex_unlock(&mutex);
}

void rpc_engine_leave_caller(rpc_engine_t* e) {
  if (is_own_thread && --caller_depth == 0) atomic_fetch_add(&e->waiting, 1);
}

// ---- Life ---------------------------------------------------------------------------------------

static void log_line(gpr_log_func_args* line) {
  rpc_host->log(line->severity == GPR_LOG_SEVERITY_ERROR, line->message);
}

// The C core stays initialized until the process ends: taking it down again takes milliseconds and
// a thread of its own, and modules are never closed either.
static void initialize_core(void) {
  if (is_initialized) return;
  is_initialized = true;
  gpr_set_log_function(log_line);
  grpc_init();
}

static rpc_engine_t* create_engine(void) {
  rpc_engine_t* e = rpc_host->allocate(sizeof *e);
  if (!e) return NULL;
  initialize_core();
  e->queue = grpc_completion_queue_create_for_next(NULL);
  if (start_thread(e)) return e;
  grpc_completion_queue_shutdown(e->queue);
  free_engine(e);
  return NULL;
}

rpc_engine_t* rpc_engine_acquire(void) {
  leat_mutex_lock(&mutex);
  if (!engine) engine = create_engine();
  rpc_engine_t* e = engine;
  if (e) ++e->users;
  leat_mutex_unlock(&mutex);
  return e;
}

void rpc_engine_release(rpc_engine_t* e) {
  leat_mutex_lock(&mutex);
  const bool is_last = --e->users == 0;
  if (is_last) engine = NULL;
  leat_mutex_unlock(&mutex);
  if (!is_last) return;
  grpc_completion_queue_shutdown(e->queue);
  leat_mutex_lock(&mutex);
  e->is_last_thread_to_free = is_own_thread && e->threads > 0;
  while (!is_own_thread && e->threads > 0) {
    rpc_host->condition_wait_until(&threads_ended, &mutex, LEAT_DEADLINE_NEVER);
  }
  const bool frees = !e->is_last_thread_to_free;
  leat_mutex_unlock(&mutex);
  if (frees) free_engine(e);
}

// ---- What both sides ask of a connection --------------------------------------------------------

grpc_arg rpc_integer_argument(const char* key, int value) {
  return (grpc_arg){.type = GRPC_ARG_INTEGER, .key = (char*)key, .value.integer = value};
}

size_t rpc_shared_arguments(grpc_arg* room) {
  static const struct {
    const char* key;
    int value;
  } kArguments[] = {
      {GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, -1},
      {GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, -1},
      {GRPC_ARG_ENABLE_RETRIES, 0},
      // A peer that is gone without a word is noticed after half a minute.
      {GRPC_ARG_KEEPALIVE_TIME_MS, 20000},
      {GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10000},
      {GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1},
      {GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0},
      {GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5000},
  };
  const size_t count = sizeof kArguments / sizeof *kArguments;
  for (size_t i = 0; i < count; ++i) {
    room[i] = rpc_integer_argument(kArguments[i].key, kArguments[i].value);
  }
  return count;
}

// Both clocks are monotonic, but nobody says that they start alike: only differences are passed on.
gpr_timespec rpc_deadline_to_core(int64_t deadline_ns) {
  if (deadline_ns == LEAT_DEADLINE_NEVER) return gpr_inf_future(GPR_CLOCK_MONOTONIC);
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                      gpr_time_from_nanos(deadline_ns - rpc_host->now_ns(), GPR_TIMESPAN));
}

int64_t rpc_deadline_from_core(gpr_timespec deadline) {
  if (deadline.tv_sec == INT64_MAX) return LEAT_DEADLINE_NEVER;
  const gpr_timespec left = gpr_time_sub(deadline, gpr_now(deadline.clock_type));
  if (left.tv_sec > INT32_MAX) return LEAT_DEADLINE_NEVER;
  return rpc_host->now_ns() + left.tv_sec * 1000000000 + left.tv_nsec;
}

// ---- The table ----------------------------------------------------------------------------------

static void initialize(const leat_rpc_host_t* host) {
  leat_mutex_lock(&mutex);
  if (!rpc_host) rpc_host = host;
  leat_mutex_unlock(&mutex);
}

__attribute__((visibility("default"))) const leat_rpc_module_t* leat_module_grpc(void) {
  static const leat_rpc_module_t kModule = {
      .struct_size = sizeof(leat_rpc_module_t),
      .version = "gRPC C core 1.51 or later",
      .initialize = initialize,
      .server_start = rpc_server_start,
      .server_stop = rpc_server_stop,
      .answer = rpc_answer,
      .request_on_cancel = rpc_request_on_cancel,
      .channel_create = rpc_channel_create,
      .channel_free = rpc_channel_free,
      .call = rpc_call,
      .cancel = rpc_cancel,
      .call_free = rpc_call_free,
  };
  return &kModule;
}
