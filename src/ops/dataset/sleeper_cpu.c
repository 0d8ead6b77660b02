// The alarm and the wait queue of an iterator that lets time pass (ops/dataset/sleeper_cpu.h).
#include "ops/dataset/sleeper_cpu.h"

#include "kernel/wait_queue.h"
#include "ops/queue/alarm_cpu.h"

struct leat_sleeper_s {
  leat_resource_t resource;
  leat_wait_queue_t wait_queue;
  leat_mutex_t mutex;
  leat_alarm_t alarm;       // with |mutex|
  int64_t wakes_ns;         // guarded by |mutex|; LEAT_DEADLINE_NEVER: nobody waits
  _Atomic(bool) is_over;    // the time that was waited for
  leat_status_t failure;    // why a pull could not wait; of the iterator's pulls alone
};

static void sleeper_destroy(leat_resource_t* resource) {
  leat_sleeper_t* sleeper = (leat_sleeper_t*)resource;
  leat_status_free(sleeper->failure);
  leat_alarm_deinitialize(&sleeper->alarm);
  leat_mutex_deinitialize(&sleeper->mutex);
  leat_wait_queue_deinitialize(&sleeper->wait_queue);
  leat_allocator_free(leat_allocator_system(), sleeper);
}

static const leat_resource_kind_t kSleeper = {.name = "Sleeper", .destroy = sleeper_destroy};

// The alarm's callback. Whoever waits goes on here, on the alarm's thread, with the mutex free.
static int64_t ring(leat_resource_t* owner) {
  leat_sleeper_t* sleeper = (leat_sleeper_t*)owner;
  if (sleeper->wakes_ns > leat_clock_now_ns()) return sleeper->wakes_ns;
  sleeper->wakes_ns = LEAT_DEADLINE_NEVER;
  leat_mutex_unlock(&sleeper->mutex);
  atomic_store_explicit(&sleeper->is_over, true, memory_order_release);
  leat_wait_queue_change(&sleeper->wait_queue, NULL, NULL, 0);
  leat_mutex_lock(&sleeper->mutex);
  return sleeper->wakes_ns;
}

leat_status_t leat_sleeper_create(leat_sleeper_t** out_sleeper) {
  leat_sleeper_t* sleeper;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &sleeper));
  sleeper->resource.kind = &kSleeper;
  sleeper->resource.references = 1;
  sleeper->wakes_ns = LEAT_DEADLINE_NEVER;
  leat_wait_queue_initialize(&sleeper->resource, &sleeper->wait_queue);
  leat_mutex_initialize(&sleeper->mutex);
  leat_alarm_initialize(&sleeper->resource, &sleeper->mutex, ring, &sleeper->alarm);
  *out_sleeper = sleeper;
  return leat_ok_status();
}

// Lets the alarm end at once, rather than sleep for nobody.
void leat_sleeper_release(leat_sleeper_t* sleeper) {
  if (!sleeper) return;
  leat_mutex_lock(&sleeper->mutex);
  sleeper->wakes_ns = LEAT_DEADLINE_NEVER;
  leat_alarm_look(&sleeper->alarm);
  leat_mutex_unlock(&sleeper->mutex);
  leat_resource_release(&sleeper->resource);
}

leat_status_t leat_sleeper_begin(leat_sleeper_t* sleeper, int64_t microseconds) {
  const int64_t deadline_ns = leat_alarm_deadline(microseconds);
  atomic_store_explicit(&sleeper->is_over, false, memory_order_relaxed);
  leat_mutex_lock(&sleeper->mutex);
  sleeper->wakes_ns = deadline_ns;
  leat_status_t status = leat_alarm_set(&sleeper->alarm, deadline_ns);
  leat_mutex_unlock(&sleeper->mutex);
  return status;
}

bool leat_sleeper_is_over(const leat_sleeper_t* sleeper) {
  return atomic_load_explicit(&sleeper->is_over, memory_order_acquire);
}

// ---- Waiting ------------------------------------------------------------------------------------

typedef struct waiting_s {
  leat_attempt_t base;
  leat_sleeper_t* sleeper;
  leat_pull_t* pull;
} waiting_t;

static leat_passage_t attempt_wait(leat_attempt_t* self) {
  return leat_sleeper_is_over(((const waiting_t*)self)->sleeper) ? LEAT_PASSAGE_DONE
                                                                 : LEAT_PASSAGE_WAITS;
}

// A pull whose step was cancelled notices it by itself. Any other failure is left to it, since it
// would otherwise try to wait again and again.
static void finish_waiting(leat_attempt_t* self) {
  waiting_t* waiting = (waiting_t*)self;
  if (leat_status_code(self->status) == LEAT_CANCELLED) {
    leat_status_free(self->status);
  } else {
    waiting->sleeper->failure = self->status;
  }
  leat_pull_wake(waiting->pull);
}

void leat_sleeper_wait(leat_sleeper_t* sleeper, leat_pull_t* pull) {
  waiting_t waiting = {.base = {.size_bytes = sizeof waiting,
                                .attempt = attempt_wait,
                                .finish = finish_waiting,
                                .cancellation = pull->services->cancellation,
                                .pool = pull->services->pool},
                       .sleeper = sleeper,
                       .pull = pull};
  leat_wait_queue_enter(&sleeper->wait_queue, LEAT_LINE_OUT, &waiting.base);
}

leat_status_t leat_sleeper_take_failure(leat_sleeper_t* sleeper) {
  leat_status_t failure = sleeper->failure;
  sleeper->failure = leat_ok_status();
  return failure;
}
