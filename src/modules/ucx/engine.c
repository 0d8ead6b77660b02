// The threads of an end. One of them, the leader, has the UCP worker make progress, sleeps at its
// file descriptor while there is nothing to do, and calls the functions of the owner itself, so
// that a value that comes in costs no change of threads. Such a function may run kernels for long,
// and other values must not wait behind it. Another thread, the sentry, therefore looks each
// millisecond whether the leader is still in the same function. If so, it leads from then on,
// starts another sentry, and the former leader ends when its function returns.
//
//                        stuck in a function            the function returns
//   leader (one) ────────────────────────────▶ busy ──────────────────────────▶ ends
//     ▲                                                                     (or is the sentry,
//     └── sentry (one) ◀── started                                          where there is none)
//
// |turn| is even while the leader serves and odd while it is in functions of the owner's. Leader
// and sentry both try to move it on from the odd number, and whoever does is the leader: the two
// agree without a lock. While nothing happens the sentry sleeps without looking, and a leader who
// enters a function wakes it. Where the system gives no more threads, values wait until the
// function returns.
#include "modules/ucx/engine.h"

#include <poll.h>
#include <sched.h>

enum { TICK_NS = 1000000, QUIET_TICKS = 50, MOST_THREADS = 1024 };

void ucx_engine_add(leat_plane_end_t* end, ucx_event_t* event, void (*tell)(ucx_event_t* event)) {
  event->tell = tell;
  event->next = NULL;
  *end->last_event = event;
  end->last_event = &event->next;
}

void ucx_engine_wake(leat_plane_end_t* end) {
  if (end->leader_sleeps) ucp_worker_signal(end->worker);
}

// ---- Leading ------------------------------------------------------------------------------------

// One at a time: those behind it are taken by the next leader where this one gets stuck.
static ucx_event_t* take_event(leat_plane_end_t* end) {
  ucx_event_t* first = end->first_event;
  if (!first) return NULL;
  end->first_event = first->next;
  if (!end->first_event) end->last_event = &end->first_event;
  return first;
}

// Lets those have the mutex who wait for it; one who only unlocked and locked it would have it
// again before any of them.
static void let_others(leat_plane_end_t* end) {
  if (!atomic_load(&end->waiting)) return;
  ucx_unlock(end);
  while (atomic_load(&end->waiting)) sched_yield();
  ucx_lock(end);
}

// Gives the next event; NULL where the end was closed. Where there is none, it has the worker do
// all that it can, and sleeps until there is one.
static ucx_event_t* wait_for_event(leat_plane_end_t* end) {
  ucx_event_t* event = NULL;
  ucx_lock(end);
  while (!end->is_closed) {
    if ((event = take_event(end)) != NULL) break;
    while (ucp_worker_progress(end->worker)) let_others(end);
    if ((event = take_event(end)) != NULL) break;
    // The worker may have got something to do since it was last asked; while a link is broken and
    // not yet closed it always has.
    if (ucp_worker_arm(end->worker) == UCS_ERR_BUSY) {
      let_others(end);
      continue;
    }
    struct pollfd readable = {.fd = end->descriptor, .events = POLLIN};
    end->leader_sleeps = true;
    ucx_unlock(end);
    poll(&readable, 1, -1);
    ucx_lock(end);
    end->leader_sleeps = false;
  }
  ucx_unlock(end);
  return event;
}

static void wake_sentry(leat_plane_end_t* end) {
  ucx_lock(end);
  if (end->sentry_sleeps) ucx_host->condition_notify_all(&end->sentry_wakes);
  ucx_unlock(end);
}

// Leads with the number |turn| until another thread does, or the end was closed.
static void lead(leat_plane_end_t* end, unsigned turn) {
  for (;;) {
    ucx_event_t* event = wait_for_event(end);
    if (!event) return;
    atomic_store(&end->turn, turn + 1);
    wake_sentry(end);
    event->tell(event);
    unsigned busy = turn + 1;
    if (!atomic_compare_exchange_strong(&end->turn, &busy, turn + 2)) return;
    turn += 2;
  }
}

// ---- Watching -----------------------------------------------------------------------------------

// Waits until the leader is stuck, and gives the number to lead with; odd: the end was closed. The
// mutex is held.
static unsigned watch(leat_plane_end_t* end) {
  int quiet = 0;
  while (!end->is_closed) {
    unsigned seen = atomic_load(&end->turn);
    end->sentry_sleeps = quiet >= QUIET_TICKS;
    ucx_host->condition_wait_until(
        &end->sentry_wakes, &end->mutex,
        end->sentry_sleeps ? LEAT_DEADLINE_NEVER : ucx_host->now_ns() + TICK_NS);
    const bool has_slept = end->sentry_sleeps;
    end->sentry_sleeps = false;
    const bool is_same = atomic_load(&end->turn) == seen;
    quiet = is_same && seen % 2 == 0 && !has_slept ? quiet + 1 : 0;
    if (is_same && seen % 2 == 1 && end->threads < MOST_THREADS && !end->is_closed &&
        atomic_compare_exchange_strong(&end->turn, &seen, seen + 1)) {
      return seen + 1;
    }
  }
  return 1;
}

static void run_sentry(void* data);

// The mutex is held.
static bool start_sentry(leat_plane_end_t* end) {
  end->has_sentry = ucx_host->start_thread("leat-ucx", run_sentry, end);
  end->threads += end->has_sentry;
  return end->has_sentry;
}

// The mutex is held, and is not when this returns.
static void serve(leat_plane_end_t* end) {
  while (!end->is_closed && !end->has_sentry) {
    end->has_sentry = true;
    const unsigned turn = watch(end);
    end->has_sentry = false;
    if (turn % 2) break;
    start_sentry(end);
    ucx_unlock(end);
    lead(end, turn);
    ucx_lock(end);
  }
  --end->threads;
  // Within the lock: whoever waits for it may free the end as soon as it has it.
  ucx_host->condition_notify_all(&end->changed);
  ucx_unlock(end);
}

static void run_sentry(void* data) {
  leat_plane_end_t* end = data;
  ucx_lock(end);
  end->has_sentry = false;  // until it is one
  serve(end);
}

static void run_leader(void* data) {
  leat_plane_end_t* end = data;
  lead(end, 0);
  ucx_lock(end);
  serve(end);
}

bool ucx_engine_start(leat_plane_end_t* end) {
  ucx_lock(end);
  bool has_started = ucx_host->start_thread("leat-ucx", run_leader, end);
  end->threads += has_started;
  if (has_started) has_started = start_sentry(end);
  ucx_unlock(end);
  return has_started;
}

void ucx_engine_stop(leat_plane_end_t* end) {
  ucx_lock(end);
  end->is_closed = true;
  ucx_engine_wake(end);
  ucx_host->condition_notify_all(&end->sentry_wakes);
  while (end->threads > 0) {
    ucx_host->condition_wait_until(&end->changed, &end->mutex, LEAT_DEADLINE_NEVER);
  }
  ucx_unlock(end);
}
