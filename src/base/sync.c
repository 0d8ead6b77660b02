// Mutexes, conditions, notifications and lanes, over pthreads. Conditions wait by the monotonic
// clock, so that a change of the wall clock neither ends nor prolongs a wait.
//
// A notification is usually a variable on the stack of its waiter, which destroys it as soon as it
// has seen it open. The opener must not touch it after that moment, and the state word makes sure
// of it:
//
//   CLOSED ──opener──▶ OPEN                         nobody sleeps: this one write is all
//   CLOSED ──waiter──▶ PARKED ──opener──▶ OPEN_LOCKED   the opener holds the mutex until it is done
//
// Where no waiter sleeps, the opener touches the notification exactly once. Where one does, the
// opener changes the state and wakes the sleepers under the mutex, and whoever sees OPEN_LOCKED
// passes through the mutex first; the opener has then left it.
//
// Lanes (leat_lanes_t) are eight spinlocks in cache lines of their own. Each thread is assigned one
// of them when it first needs one, so that readers on different cores seldom meet.
#define _GNU_SOURCE
#include "base/sync.h"

#include "base/clock.h"
#include "base/cpu.h"
#include "base/span.h"
#include "base/thread.h"

#define SPIN_NS 50000
#define SPIN_RELAXES_PER_LOOK 16

enum { NOTIFICATION_CLOSED, NOTIFICATION_PARKED, NOTIFICATION_OPEN, NOTIFICATION_OPEN_LOCKED };

// Critical sections of this code are short. A thread that finds a mutex taken spins for a while
// before it sleeps (glibc's adaptive type), because sleeping and being woken would cost both
// threads a hundred times as much as the critical section.
void leat_mutex_initialize(leat_mutex_t* out_mutex) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
#if defined(__GLIBC__)
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ADAPTIVE_NP);
#endif
  pthread_mutex_init(&out_mutex->handle, &attributes);
  pthread_mutexattr_destroy(&attributes);
}

void leat_mutex_deinitialize(leat_mutex_t* mutex) { pthread_mutex_destroy(&mutex->handle); }

// The id of the thread that holds the mutex, as far as the library tells; 0: nobody does any more.
static int64_t holder_of(const leat_mutex_t* mutex) {
#if defined(__GLIBC__)
  return __atomic_load_n(&mutex->handle.__data.__owner, __ATOMIC_RELAXED);
#else
  return 0;
#endif
}

void leat_mutex_lock_recorded(leat_mutex_t* mutex) {
  if (pthread_mutex_trylock(&mutex->handle) == 0) return;
  const int64_t begin = leat_span_begin(), holder = holder_of(mutex);
  pthread_mutex_lock(&mutex->handle);
  if (begin) leat_span_end(begin, LEAT_SPAN_LOCK, 0, holder);
}

void leat_condition_initialize(leat_condition_t* out_condition) {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&out_condition->handle, &attributes);
  pthread_condattr_destroy(&attributes);
}

void leat_condition_deinitialize(leat_condition_t* condition) {
  pthread_cond_destroy(&condition->handle);
}

void leat_condition_wait(leat_condition_t* condition, leat_mutex_t* mutex) {
  pthread_cond_wait(&condition->handle, &mutex->handle);
}

bool leat_condition_wait_until(leat_condition_t* condition, leat_mutex_t* mutex,
                               int64_t deadline_ns) {
  if (deadline_ns == LEAT_DEADLINE_NEVER) {
    leat_condition_wait(condition, mutex);
    return true;
  }
  if (deadline_ns <= leat_clock_now_ns()) return false;
  struct timespec deadline = {deadline_ns / 1000000000, deadline_ns % 1000000000};
  return pthread_cond_timedwait(&condition->handle, &mutex->handle, &deadline) == 0;
}

void leat_condition_notify_all(leat_condition_t* condition) {
  pthread_cond_broadcast(&condition->handle);
}

void leat_condition_notify_one(leat_condition_t* condition) {
  pthread_cond_signal(&condition->handle);
}

void leat_notification_initialize(leat_notification_t* out_notification) {
  atomic_init(&out_notification->opened, NOTIFICATION_CLOSED);
  out_notification->opener = 0;
  leat_mutex_initialize(&out_notification->mutex);
  leat_condition_initialize(&out_notification->condition);
}

void leat_notification_deinitialize(leat_notification_t* notification) {
  leat_condition_deinitialize(&notification->condition);
  leat_mutex_deinitialize(&notification->mutex);
}

void leat_notification_open(leat_notification_t* notification) {
  uint32_t state = NOTIFICATION_CLOSED;
  if (atomic_compare_exchange_strong(&notification->opened, &state, NOTIFICATION_OPEN)) return;
  if (state != NOTIFICATION_PARKED) return;
  leat_mutex_lock(&notification->mutex);
  if (leat_spans_are_recorded()) notification->opener = leat_thread_id();
  atomic_store(&notification->opened, NOTIFICATION_OPEN_LOCKED);
  leat_condition_notify_all(&notification->condition);
  leat_mutex_unlock(&notification->mutex);
}

// Whether |notification| is open and its opener will not touch it any more.
static bool notification_is_open(leat_notification_t* notification) {
  uint32_t state = atomic_load_explicit(&notification->opened, memory_order_acquire);
  if (state == NOTIFICATION_OPEN_LOCKED) {
    leat_mutex_lock(&notification->mutex);
    leat_mutex_unlock(&notification->mutex);
  }
  return state >= NOTIFICATION_OPEN;
}

// Sleeps until the notification is open or |deadline_ns| has passed, and says whether it is open.
static bool park(leat_notification_t* notification, int64_t deadline_ns) {
  uint32_t state = NOTIFICATION_CLOSED;
  bool in_time = true;
  const int64_t begin = leat_span_begin();
  leat_mutex_lock(&notification->mutex);
  atomic_compare_exchange_strong(&notification->opened, &state, NOTIFICATION_PARKED);
  while ((state = atomic_load(&notification->opened)) < NOTIFICATION_OPEN && in_time) {
    in_time = leat_condition_wait_until(&notification->condition, &notification->mutex,
                                        deadline_ns);
  }
  const int64_t opener = notification->opener;
  leat_mutex_unlock(&notification->mutex);
  if (LEAT_UNLIKELY(begin)) leat_span_end(begin, LEAT_SPAN_WAIT, 0, opener);
  return state >= NOTIFICATION_OPEN;
}

bool leat_notification_wait(leat_notification_t* notification, int64_t deadline_ns) {
  if (notification_is_open(notification)) return true;
  if (leat_cpu_count() > 1) {  // on one CPU spinning only keeps the opener from running
    int64_t spin_end_ns = leat_clock_now_ns() + SPIN_NS;
    if (deadline_ns < spin_end_ns) spin_end_ns = deadline_ns;
    do {
      for (int i = 0; i < SPIN_RELAXES_PER_LOOK; ++i) {
        if (notification_is_open(notification)) return true;
        leat_cpu_relax();
      }
    } while (leat_clock_now_ns() < spin_end_ns);
  }
  return park(notification, deadline_ns);
}

bool leat_notification_sleep(leat_notification_t* notification, int64_t deadline_ns) {
  return notification_is_open(notification) || park(notification, deadline_ns);
}

#if defined(LEAT_DEBUG)
LEAT_THREAD_LOCAL uint32_t leat_spinlocks_of_thread;
#endif

// ---- Lanes --------------------------------------------------------------------------------------

LEAT_THREAD_LOCAL uint32_t leat_lane_of_thread;

uint32_t leat_lane_choose(void) {
  static _Atomic(uint32_t) threads;
  return leat_lane_of_thread = threads++ % LEAT_READER_LANES + 1;
}

void leat_lanes_lock_all(leat_lanes_t* lanes) {
  for (int i = 0; i < LEAT_READER_LANES; ++i) leat_spinlock_lock(&lanes->items[i].lock);
}

void leat_lanes_unlock_all(leat_lanes_t* lanes) {
  for (int i = 0; i < LEAT_READER_LANES; ++i) leat_spinlock_unlock(&lanes->items[i].lock);
}
