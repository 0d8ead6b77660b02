// Locks, conditions, notifications, thread-local data and reference counts. The other rooms use
// these types instead of those of pthreads, so that another operating system needs changes only
// here, in sync.c and in base/posix/.
//
// What a step of a graph waits for is usually a few microseconds away, while waking a thread that
// sleeps on another core costs about 20 us. A notification therefore spins for about 50 us before
// it puts its thread to sleep, and mutexes spin shortly as well (sync.c). Deadlines are times of
// leat_clock_now_ns(), which no change of the wall clock moves; LEAT_DEADLINE_NEVER waits for ever.
#ifndef LEAT_BASE_SYNC_H_
#define LEAT_BASE_SYNC_H_

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

// A small variable of each thread, read without a call. glibc keeps room for libraries loaded late;
// elsewhere the compiler's default model is the safe one.
#if defined(__GLIBC__)
#define LEAT_THREAD_LOCAL __thread __attribute__((tls_model("initial-exec")))
#else
#define LEAT_THREAD_LOCAL __thread
#endif

// The spinlocks that the calling thread holds, which only debug builds count. While it holds one it
// may not wait or do what may take long (lock a mutex, allocate, free, destroy a tensor): others
// that want the lock burn their time meanwhile, and what is called back may want it too. The
// functions that do such things check it. A module links nothing of the library, so its locks are
// not counted.
#if defined(LEAT_DEBUG) && !defined(LEAT_MODULE)
extern LEAT_THREAD_LOCAL uint32_t leat_spinlocks_of_thread;
#define LEAT_SPINLOCKS_COUNT_(operation) (operation leat_spinlocks_of_thread)
static inline bool leat_spinlock_is_held(void) { return leat_spinlocks_of_thread != 0; }
#else
#define LEAT_SPINLOCKS_COUNT_(operation) ((void)0)
static inline bool leat_spinlock_is_held(void) { return false; }
#endif

// The number of the recording of spans under way, or 0 (base/span.h).
extern _Atomic(uint32_t) leat_span_recording;

// A mutex is not recursive. Waiting for one spins shortly before the thread sleeps.
typedef struct leat_mutex_s { pthread_mutex_t handle; } leat_mutex_t;
typedef struct leat_condition_s { pthread_cond_t handle; } leat_condition_t;

void leat_mutex_initialize(leat_mutex_t* out_mutex);
void leat_mutex_deinitialize(leat_mutex_t* mutex);
// Locks while a recording is under way: waiting for another thread becomes a span (base/span.h).
void leat_mutex_lock_recorded(leat_mutex_t* mutex);
static inline void leat_mutex_lock(leat_mutex_t* mutex) {
  LEAT_DCHECK(!leat_spinlock_is_held());
#if !defined(LEAT_MODULE)
  if (LEAT_UNLIKELY(atomic_load_explicit(&leat_span_recording, memory_order_relaxed))) {
    leat_mutex_lock_recorded(mutex);
    return;
  }
#endif
  pthread_mutex_lock(&mutex->handle);
}
static inline void leat_mutex_unlock(leat_mutex_t* mutex) { pthread_mutex_unlock(&mutex->handle); }

void leat_condition_initialize(leat_condition_t* out_condition);
void leat_condition_deinitialize(leat_condition_t* condition);
// The caller holds |mutex|, which is free while it waits and held again when the call returns. As
// with all conditions, it may return without a notification, so the caller tests in a loop what it
// waits for.
void leat_condition_wait(leat_condition_t* condition, leat_mutex_t* mutex);
// false when |deadline_ns| (of leat_clock_now_ns) has passed; LEAT_DEADLINE_NEVER waits for ever. A
// deadline in the past returns at once and does not let go of |mutex|.
bool leat_condition_wait_until(leat_condition_t* condition, leat_mutex_t* mutex,
                               int64_t deadline_ns);
void leat_condition_notify_all(leat_condition_t* condition);
void leat_condition_notify_one(leat_condition_t* condition);

// A gate that opens once, for a thread that waits for the end of something. Waiting spins for about
// 50 us and then parks. Any number of threads may wait, and opening it again does nothing.
typedef struct leat_notification_s {
  _Atomic uint32_t opened;
  leat_mutex_t mutex;
  leat_condition_t condition;
  int64_t opener;  // the id of the thread that woke sleepers, for recordings; 0: not known
} leat_notification_t;
void leat_notification_initialize(leat_notification_t* out_notification);
void leat_notification_deinitialize(leat_notification_t* notification);
// Opens it for all waiters. A waiter that has seen it open may deinitialize it at once, even while
// this call has not yet returned.
void leat_notification_open(leat_notification_t* notification);
// Waits until it is open; false when |deadline_ns| passed first. What the opener wrote before it
// opened the gate is visible to the waiter. LEAT_DEADLINE_NEVER waits for ever, 0 only looks (but a
// look at a closed gate still costs a mutex).
bool leat_notification_wait(leat_notification_t* notification, int64_t deadline_ns);
// The same without spinning, for what another process does: that mostly takes longer than a spin,
// which would keep the other process from running where cores are few.
bool leat_notification_sleep(leat_notification_t* notification, int64_t deadline_ns);

// The number of owners of an object, 1 for the one who made it. Retaining needs no order with other
// memory, since whoever retains owns a reference already. Releasing orders all that the other
// owners did before the last one's clean-up.
typedef _Atomic uint32_t leat_reference_count_t;
static inline void leat_reference_count_retain(leat_reference_count_t* count) {
  atomic_fetch_add_explicit(count, 1, memory_order_relaxed);
}
// Retains an object of which the caller owns nothing, but that is not freed while it holds the lock
// under which it found the object. false when it has no owner any more.
static inline bool leat_reference_count_retain_live(leat_reference_count_t* count) {
  uint32_t owners = atomic_load_explicit(count, memory_order_relaxed);
  while (owners > 0 && !atomic_compare_exchange_weak_explicit(
                           count, &owners, owners + 1, memory_order_relaxed,
                           memory_order_relaxed)) {
  }
  return owners > 0;
}
// true when this was the last one: the caller then frees the object.
static inline bool leat_reference_count_release(leat_reference_count_t* count) {
  return atomic_fetch_sub_explicit(count, 1, memory_order_acq_rel) == 1;
}

// Tells the core that the thread spins, so that the other thread of the core gets more of it.
static inline void leat_cpu_relax(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ __volatile__("yield");
#endif
}

// A pointer per thread whose owner hears of the thread's end: |at_end|(pointer) runs on the ending
// thread when its pointer is not NULL (not for the main thread at exit). Keys are few: make them
// once in a process. Reading is for LEAT_THREAD_LOCAL, which costs nothing.
typedef struct leat_thread_key_s { pthread_key_t handle; } leat_thread_key_t;
// false when the system has no more.
static inline bool leat_thread_key_create(void (*at_end)(void* pointer),
                                          leat_thread_key_t* out_key) {
  return pthread_key_create(&out_key->handle, at_end) == 0;
}
static inline bool leat_thread_key_set(leat_thread_key_t key, void* pointer) {
  return pthread_setspecific(key.handle, pointer) == 0;
}

// A lock that spins and never sleeps. It may be held for a few instructions only, and never across
// a call that allocates, frees or can block; leat_spinlock_is_held's comment says more.
typedef _Atomic uint32_t leat_spinlock_t;
static inline void leat_spinlock_lock(leat_spinlock_t* lock) {
  while (atomic_exchange_explicit(lock, 1, memory_order_acquire)) {
    while (atomic_load_explicit(lock, memory_order_relaxed)) leat_cpu_relax();
  }
  LEAT_SPINLOCKS_COUNT_(++);
}
static inline void leat_spinlock_unlock(leat_spinlock_t* lock) {
  LEAT_SPINLOCKS_COUNT_(--);
  atomic_store_explicit(lock, 0, memory_order_release);
}
// leat_status_join into |*inout_status|, which |lock| guards: the first failure stays. |status| is
// consumed. A later failure is freed when the lock has been let go, because freeing under it is
// forbidden.
static inline void leat_spinlock_join_status(leat_spinlock_t* lock, leat_status_t* inout_status,
                                             leat_status_t status) {
  leat_spinlock_lock(lock);
  const bool is_first = !*inout_status;
  if (is_first) *inout_status = status;
  leat_spinlock_unlock(lock);
  if (!is_first) leat_status_free(status);
}

#define LEAT_READER_LANES 8
// A lock for what every step reads and hardly anything changes, such as a container of resources. A
// reader takes the lane of its thread, so that readers on different cores write to no common line
// of memory; a writer takes all lanes, in their order, and so excludes everybody.
//
//   reader on thread 1:  [x][ ][ ][ ][ ][ ][ ][ ]
//   reader on thread 2:  [ ][x][ ][ ][ ][ ][ ][ ]
//   writer:              [x][x][x][x][x][x][x][x]
//
// Lanes are spinlocks, so both hold them for a few instructions' work. All zero is the initial
// state; the struct wants 64-byte alignment.
typedef struct leat_lanes_s {
  struct { leat_spinlock_t lock LEAT_ALIGNED(64); } items[LEAT_READER_LANES];
} leat_lanes_t;
// The thread's lane plus 1; 0 while it has none. leat_lane_choose deals the lanes out in turn.
extern LEAT_THREAD_LOCAL uint32_t leat_lane_of_thread;
uint32_t leat_lane_choose(void);
// Locks for reading and gives the lane, which the caller unlocks with leat_spinlock_unlock. A
// thread that holds its lane must not lock again: it would wait for itself.
static inline leat_spinlock_t* leat_lanes_lock_one(leat_lanes_t* lanes) {
  const uint32_t chosen = leat_lane_of_thread;
  leat_spinlock_t* lane = &lanes->items[(chosen ? chosen : leat_lane_choose()) - 1].lock;
  leat_spinlock_lock(lane);
  return lane;
}
void leat_lanes_lock_all(leat_lanes_t* lanes);
void leat_lanes_unlock_all(leat_lanes_t* lanes);

#endif  // LEAT_BASE_SYNC_H_
