// The kernel of SleepDataset, which gives the elements of its input, each so many microseconds
// after it was asked for: a pipeline with a stage of a known slowness, for tests and measurements.
//
// No thread of a step sleeps. The iterator sets an alarm (ops/queue/alarm_cpu.h) and answers
// PENDING, and the pull stands in a wait queue, from where the alarm or the end of its step wakes
// it:
//
//   next ──▶ alarm_set, PENDING ──▶ wait queue ──▶ next again: the input's element
//                 │                     ▲
//                 └── the time is over ─┘
//
// Alarm and wait queue lie in a resource, which the alarm's thread holds beside the iterator: the
// iterator may be freed while the alarm still runs. A pull whose step was cancelled leaves the time
// to the next one that asks for the same element.
#include "kernel/wait_queue.h"
#include "ops/dataset/dataset_cpu.h"
#include "ops/kernel_rows.h"
#include "ops/queue/alarm_cpu.h"

typedef struct sleep_s {
  leat_dataset_t base;
  int64_t microseconds;
} sleep_dataset_t;

typedef struct sleeper_s {
  leat_resource_t resource;
  leat_wait_queue_t wait_queue;
  leat_mutex_t mutex;
  leat_alarm_t alarm;       // with |mutex|
  int64_t wakes_ns;         // guarded by |mutex|; LEAT_DEADLINE_NEVER: nobody waits
  _Atomic(bool) is_over;    // the time that was waited for
} sleeper_t;

typedef struct sleep_iterator_s {
  leat_iterator_t base;
  sleeper_t* sleeper;
  bool sleeps;           // the time for the next element has begun
  leat_status_t failure; // why a pull could not wait
} sleep_iterator_t;

// ---- The time -----------------------------------------------------------------------------------

static void sleeper_destroy(leat_resource_t* resource) {
  sleeper_t* sleeper = (sleeper_t*)resource;
  leat_alarm_deinitialize(&sleeper->alarm);
  leat_mutex_deinitialize(&sleeper->mutex);
  leat_wait_queue_deinitialize(&sleeper->wait_queue);
  leat_allocator_free(leat_allocator_system(), sleeper);
}

static const leat_resource_kind_t kSleeper = {.name = "Sleeper", .destroy = sleeper_destroy};

// The alarm's callback. Whoever waits goes on here, on the alarm's thread, with the mutex free.
static int64_t ring(leat_resource_t* owner) {
  sleeper_t* sleeper = (sleeper_t*)owner;
  if (sleeper->wakes_ns > leat_clock_now_ns()) return sleeper->wakes_ns;
  sleeper->wakes_ns = LEAT_DEADLINE_NEVER;
  leat_mutex_unlock(&sleeper->mutex);
  atomic_store_explicit(&sleeper->is_over, true, memory_order_release);
  leat_wait_queue_change(&sleeper->wait_queue, NULL, NULL, 0);
  leat_mutex_lock(&sleeper->mutex);
  return sleeper->wakes_ns;
}

static leat_status_t begin_sleep(sleep_iterator_t* it) {
  sleeper_t* sleeper = it->sleeper;
  const int64_t deadline_ns =
      leat_alarm_deadline(((const sleep_dataset_t*)it->base.dataset)->microseconds);
  atomic_store_explicit(&sleeper->is_over, false, memory_order_relaxed);
  leat_mutex_lock(&sleeper->mutex);
  sleeper->wakes_ns = deadline_ns;
  leat_status_t status = leat_alarm_set(&sleeper->alarm, deadline_ns);
  leat_mutex_unlock(&sleeper->mutex);
  it->sleeps = !status;
  return status;
}

// ---- Waiting for it -----------------------------------------------------------------------------

typedef struct waiting_s {
  leat_attempt_t base;
  sleep_iterator_t* iterator;
  leat_pull_t* pull;
} waiting_t;

static bool is_over(const sleep_iterator_t* it) {
  return atomic_load_explicit(&it->sleeper->is_over, memory_order_acquire);
}

static leat_passage_t attempt_wait(leat_attempt_t* self) {
  return is_over(((const waiting_t*)self)->iterator) ? LEAT_PASSAGE_DONE : LEAT_PASSAGE_WAITS;
}

// A pull whose step was cancelled notices it by itself. Any other failure is left to it, since it
// would otherwise try to wait again and again.
static void finish_waiting(leat_attempt_t* self) {
  waiting_t* waiting = (waiting_t*)self;
  if (leat_status_code(self->status) == LEAT_CANCELLED) {
    leat_status_free(self->status);
  } else {
    waiting->iterator->failure = self->status;
  }
  leat_pull_wake(waiting->pull);
}

static void wait(sleep_iterator_t* it, leat_pull_t* pull) {
  waiting_t waiting = {.base = {.size_bytes = sizeof waiting,
                                .attempt = attempt_wait,
                                .finish = finish_waiting,
                                .cancellation = pull->services->cancellation,
                                .pool = pull->services->pool},
                       .iterator = it,
                       .pull = pull};
  leat_wait_queue_enter(&it->sleeper->wait_queue, LEAT_LINE_OUT, &waiting.base);
}

// ---- The dataset --------------------------------------------------------------------------------

static leat_status_t sleep_start(leat_iterator_t* self) {
  sleeper_t* sleeper;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &sleeper));
  sleeper->resource.kind = &kSleeper;
  sleeper->resource.references = 1;
  sleeper->wakes_ns = LEAT_DEADLINE_NEVER;
  leat_wait_queue_initialize(&sleeper->resource, &sleeper->wait_queue);
  leat_mutex_initialize(&sleeper->mutex);
  leat_alarm_initialize(&sleeper->resource, &sleeper->mutex, ring, &sleeper->alarm);
  ((sleep_iterator_t*)self)->sleeper = sleeper;
  return leat_ok_status();
}

// Lets the alarm end at once, rather than sleep for nobody.
static void sleep_stop(leat_iterator_t* self) {
  sleep_iterator_t* it = (sleep_iterator_t*)self;
  leat_status_free(it->failure);
  if (!it->sleeper) return;
  leat_mutex_lock(&it->sleeper->mutex);
  it->sleeper->wakes_ns = LEAT_DEADLINE_NEVER;
  leat_alarm_look(&it->sleeper->alarm);
  leat_mutex_unlock(&it->sleeper->mutex);
  leat_resource_release(&it->sleeper->resource);
}

// The time is over when the input is asked, which may itself be PENDING several times.
static leat_status_t sleep_next(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                                leat_poll_t* out_poll) {
  sleep_iterator_t* it = (sleep_iterator_t*)self;
  leat_status_t status = it->failure;
  it->failure = leat_ok_status();
  LEAT_RETURN_IF_ERROR(status);
  if (!it->sleeps) LEAT_RETURN_IF_ERROR(begin_sleep(it));
  if (!is_over(it)) {
    *out_poll = LEAT_POLL_PENDING;
    wait(it, pull);
    return leat_ok_status();
  }
  status = leat_iterator_next(self->input, pull, out, out_poll);
  it->sleeps = !status ? *out_poll == LEAT_POLL_PENDING : leat_pull_was_stopped(status);
  return status;
}

static const leat_dataset_kind_t kSleep = {.name = "Sleep",
                                           .dataset_bytes = sizeof(sleep_dataset_t),
                                           .iterator_bytes = sizeof(sleep_iterator_t),
                                           .opens_input = true,
                                           .start = sleep_start,
                                           .next = sleep_next,
                                           .stop = sleep_stop};

static leat_status_t sleep__cpu(leat_kernel_context_t* c) {
  int64_t microseconds;
  leat_dataset_t* dataset;
  LEAT_RETURN_IF_ERROR(leat_dataset_int_input(c, 1, "sleep_microseconds", &microseconds));
  if (microseconds < 0) {
    return leat_kernel_invalid(c, "sleep_microseconds is %lld, must be >= 0",
                               (long long)microseconds);
  }
  LEAT_RETURN_IF_ERROR(leat_dataset_create_over_input(c, &kSleep, &dataset));
  ((sleep_dataset_t*)dataset)->microseconds = microseconds;
  return leat_dataset_set_output(c, dataset);
}

const leat_kernel_row_t leat_sleep_dataset_kernels_cpu[] = {
    {.op = "SleepDataset", .device_type = "CPU", .compute = sleep__cpu},
    {.op = "ExperimentalSleepDataset", .device_type = "CPU", .compute = sleep__cpu},
    LEAT_KERNEL_ROWS_END,
};
