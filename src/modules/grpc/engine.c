// The engine: one completion queue of the C core and the threads that serve it. One of them, the
// leader, waits for events and serves each itself, so that an event costs no change of threads.
// What an event leads to may be a function of the caller's that blocks, and events must not wait
// behind it. Handing the queue to another thread before each such function would be the simple way;
// but waking a thread costs more than most functions take, a fifth of the time of a whole call. So
// another thread, the sentry, looks every 400 us whether the leader is still in the same function.
// If so, the sentry leads from then on, and the former leader follows when its function returns.
//
//                        stuck in a function          the function returns
//   leader (one) ────────────────────────────▶ busy ──────────────────────┐
//     ▲                                                                   ▼
//     └── sentry (one) ◀── parked (ends after some seconds) ◀────── no longer needed
//
// |turn| is even while the leader serves and odd while it is in a function of the caller's. Leader
// and sentry both try to move it on from the odd number, and whoever does is the leader: the two
// agree without a lock. While nothing happens the sentry sleeps without looking, and a leader who
// enters a function wakes it.
//
// Where functions do block, that is long: after the sentry had to step in, leaders hand over at
// once before the next 128 functions. (How long a function takes says little: handing over makes it
// longer, where cores are few.) Where the system gives no more threads, events wait until the
// function returns.
//
// The engine is made by the first server or channel and ends with the last one: the queue is shut
// down, each thread leaves when it sees that, and whoever released it waits for them. If that is
// one of these threads, it would wait for itself for ever; the last thread then frees the engine.
#include "modules/grpc/engine.h"

#include <grpc/support/log.h>

enum { TICK_NS = 400000, QUIET_TICKS = 50, EAGER_TURNS = 128, PARKED_SECONDS = 5 };

struct rpc_engine_s {
  grpc_completion_queue* queue;
  atomic_uint turn;
  atomic_int eager_turns;     // before how many functions the leader still hands over at once
  atomic_bool has_sentry;     // written under |mutex|
  atomic_bool sentry_sleeps;  // until it is woken; written under |mutex|
  leat_condition_t sentry_wakes, parked_wake;
  // Guarded by |mutex| of this file.
  int users, threads, parked;
  bool has_leader, is_shut_down, is_last_thread_to_free;
};

typedef enum role_e { LEADER, FOLLOWER, ENDED } role_t;

const leat_rpc_host_t* rpc_host;
static leat_mutex_t mutex = {PTHREAD_MUTEX_INITIALIZER};
static leat_condition_t threads_ended = {PTHREAD_COND_INITIALIZER};
static rpc_engine_t* engine;  // NULL while there is no user
static bool is_initialized;
// Of a thread of the engine's.
static LEAT_THREAD_LOCAL struct {
  bool is_own, is_leader;
  int depth;      // of functions of the caller's
  unsigned turn;  // the leader's, while in such a function
} this_thread;

grpc_completion_queue* rpc_engine_queue(rpc_engine_t* e) { return e->queue; }

void rpc_initialize(const leat_rpc_host_t* host) {
  leat_mutex_lock(&mutex);
  if (!rpc_host) rpc_host = host;
  leat_mutex_unlock(&mutex);
}

void* rpc_event_send(rpc_engine_t* e, rpc_event_t* event,
                     void (*serve)(rpc_event_t* event, bool success)) {
  event->serve = serve;
  event->engine = e;
  atomic_store_explicit(&event->sent, 1, memory_order_release);
  return event;
}

// ---- Leading ------------------------------------------------------------------------------------

static role_t lead(rpc_engine_t* e) {
  this_thread.is_leader = true;
  while (this_thread.is_leader) {
    const grpc_event got =
        grpc_completion_queue_next(e->queue, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
    if (got.type == GRPC_QUEUE_SHUTDOWN) {
      leat_mutex_lock(&mutex);
      e->is_shut_down = true;
      rpc_host->condition_notify_all(&e->sentry_wakes);
      rpc_host->condition_notify_all(&e->parked_wake);
      leat_mutex_unlock(&mutex);
      return ENDED;
    }
    rpc_event_t* event = got.tag;
    (void)atomic_load_explicit(&event->sent, memory_order_acquire);
    event->serve(event, got.success != 0);
  }
  return FOLLOWER;
}

static void run_thread(void* data);

// |mutex| is held. false where the system has no more threads.
static bool start_thread(rpc_engine_t* e) {
  const bool has_started = rpc_host->start_thread("leat-rpc", run_thread, e);
  e->threads += has_started;
  return has_started;
}

// Wakes a follower, or starts one; it will lead or watch, whichever is wanting. Of those that are
// parked one is woken, and none ends before it has looked what is wanting. |mutex| is held.
static bool call_follower(rpc_engine_t* e) {
  if (atomic_load(&e->has_sentry)) {
    rpc_host->condition_notify_all(&e->sentry_wakes);
  } else if (e->parked > 0) {
    rpc_host->condition_notify_one(&e->parked_wake);
  } else {
    return start_thread(e);
  }
  return true;
}

// Lets another thread lead, if there is one, before this one enters a function.
static void hand_over(rpc_engine_t* e) {
  leat_mutex_lock(&mutex);
  unsigned turn = this_thread.turn;
  if (call_follower(e) && atomic_compare_exchange_strong(&e->turn, &turn, turn + 1)) {
    e->has_leader = false;
    this_thread.is_leader = false;
  }
  leat_mutex_unlock(&mutex);
}

void rpc_engine_enter_caller(rpc_engine_t* e) {
  if (!this_thread.is_own || this_thread.depth++ > 0 || !this_thread.is_leader) return;
  this_thread.turn = atomic_fetch_add(&e->turn, 1) + 1;
  if (atomic_load_explicit(&e->eager_turns, memory_order_relaxed) > 0) {
    atomic_fetch_sub_explicit(&e->eager_turns, 1, memory_order_relaxed);
    hand_over(e);
  } else if (!atomic_load(&e->has_sentry) || atomic_load(&e->sentry_sleeps)) {
    leat_mutex_lock(&mutex);
    call_follower(e);
    leat_mutex_unlock(&mutex);
  }
}

void rpc_engine_leave_caller(rpc_engine_t* e) {
  if (!this_thread.is_own || --this_thread.depth > 0) return;
  unsigned turn = this_thread.turn;
  if (this_thread.is_leader && !atomic_compare_exchange_strong(&e->turn, &turn, turn + 1)) {
    this_thread.is_leader = false;  // the sentry leads
  }
}

// ---- Following ----------------------------------------------------------------------------------

// Takes the place of a leader that has been in one function since |turn| was last looked at.
static bool take_over(rpc_engine_t* e, unsigned turn) {
  if (turn % 2 == 0 || !atomic_compare_exchange_strong(&e->turn, &turn, turn + 1)) return false;
  atomic_store_explicit(&e->eager_turns, EAGER_TURNS, memory_order_relaxed);
  return true;
}

// Sleeps until a leader enters a function, unless one has since |turn| was read. The leader changes
// |turn| before it looks at |sentry_sleeps|, and the sentry the other way round, so that one of the
// two sees what the other did.
static void sleep_without_looking(rpc_engine_t* e, unsigned turn) {
  atomic_store(&e->sentry_sleeps, true);
  if (atomic_load(&e->turn) == turn) {
    rpc_host->condition_wait_until(&e->sentry_wakes, &mutex, LEAT_DEADLINE_NEVER);
  }
  atomic_store(&e->sentry_sleeps, false);
}

// The sentry's watch, until there is a leader wanting or the end has come. |mutex| is held.
static void watch(rpc_engine_t* e) {
  unsigned seen = atomic_load(&e->turn);
  atomic_store(&e->has_sentry, true);
  for (int quiet = 0; !e->is_shut_down && e->has_leader;) {
    if (quiet > QUIET_TICKS && seen % 2 == 0) {
      sleep_without_looking(e, seen);
    } else {
      rpc_host->condition_wait_until(&e->sentry_wakes, &mutex, rpc_host->now_ns() + TICK_NS);
    }
    const unsigned turn = atomic_load(&e->turn);
    quiet = turn == seen ? quiet + 1 : 0;
    if (turn == seen && e->has_leader && take_over(e, turn)) e->has_leader = false;
    seen = turn;
  }
  atomic_store(&e->has_sentry, false);
}

static role_t follow(rpc_engine_t* e) {
  const int64_t deadline_ns = rpc_host->now_ns() + INT64_C(1000000000) * PARKED_SECONDS;
  role_t role = FOLLOWER;
  leat_mutex_lock(&mutex);
  while (role == FOLLOWER) {
    if (e->is_shut_down) {
      role = ENDED;
    } else if (!e->has_leader) {
      e->has_leader = true;
      role = LEADER;
    } else if (!atomic_load(&e->has_sentry)) {
      watch(e);
    } else {
      ++e->parked;
      const bool is_in_time =
          rpc_host->condition_wait_until(&e->parked_wake, &mutex, deadline_ns);
      --e->parked;
      if (!is_in_time && e->has_leader && atomic_load(&e->has_sentry)) role = ENDED;
    }
  }
  leat_mutex_unlock(&mutex);
  return role;
}

// ---- Life ---------------------------------------------------------------------------------------

static void free_engine(rpc_engine_t* e) {
  grpc_completion_queue_destroy(e->queue);
  rpc_host->condition_deinitialize(&e->parked_wake);
  rpc_host->condition_deinitialize(&e->sentry_wakes);
  rpc_host->free(e);
}

static void run_thread(void* data) {
  rpc_engine_t* e = data;
  this_thread.is_own = true;
  for (role_t role = FOLLOWER; role != ENDED;) role = role == LEADER ? lead(e) : follow(e);
  leat_mutex_lock(&mutex);
  const bool frees = --e->threads == 0 && e->is_last_thread_to_free;
  if (e->threads == 0) rpc_host->condition_notify_all(&threads_ended);
  leat_mutex_unlock(&mutex);
  if (frees) free_engine(e);
}

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

// |mutex| is held.
static rpc_engine_t* create_engine(void) {
  rpc_engine_t* e = rpc_host->allocate(sizeof *e);
  if (!e) return NULL;
  initialize_core();
  e->queue = grpc_completion_queue_create_for_next(NULL);
  rpc_host->condition_initialize(&e->sentry_wakes);
  rpc_host->condition_initialize(&e->parked_wake);
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
  e->is_last_thread_to_free = this_thread.is_own && e->threads > 0;
  while (!this_thread.is_own && e->threads > 0) {
    rpc_host->condition_wait_until(&threads_ended, &mutex, LEAT_DEADLINE_NEVER);
  }
  const bool frees = !e->is_last_thread_to_free;
  leat_mutex_unlock(&mutex);
  if (frees) free_engine(e);
}
