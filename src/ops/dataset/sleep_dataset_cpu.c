// The kernel of SleepDataset, which gives the elements of its input, each so many microseconds
// after it was asked for: a pipeline with a stage of a known slowness, for tests and measurements.
// No thread sleeps (ops/dataset/sleeper_cpu.h).
#include "ops/dataset/dataset_cpu.h"
#include "ops/dataset/sleeper_cpu.h"
#include "ops/kernel_rows.h"

typedef struct sleep_s {
  leat_dataset_t base;
  int64_t microseconds;
} sleep_dataset_t;

typedef struct sleep_iterator_s {
  leat_iterator_t base;
  leat_sleeper_t* sleeper;
  bool sleeps;  // the time for the next element has begun
} sleep_iterator_t;

static leat_status_t sleep_start(leat_iterator_t* self) {
  return leat_sleeper_create(&((sleep_iterator_t*)self)->sleeper);
}

static void sleep_stop(leat_iterator_t* self) {
  leat_sleeper_release(((sleep_iterator_t*)self)->sleeper);
}

static leat_status_t begin_sleep(sleep_iterator_t* it) {
  LEAT_RETURN_IF_ERROR(leat_sleeper_begin(
      it->sleeper, ((const sleep_dataset_t*)it->base.dataset)->microseconds));
  it->sleeps = true;
  return leat_ok_status();
}

// The time is over when the input is asked, which may itself be PENDING several times.
static leat_status_t sleep_next(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                                leat_poll_t* out_poll) {
  sleep_iterator_t* it = (sleep_iterator_t*)self;
  LEAT_RETURN_IF_ERROR(leat_sleeper_take_failure(it->sleeper));
  if (!it->sleeps) LEAT_RETURN_IF_ERROR(begin_sleep(it));
  if (!leat_sleeper_is_over(it->sleeper)) {
    *out_poll = LEAT_POLL_PENDING;
    leat_sleeper_wait(it->sleeper, pull);
    return leat_ok_status();
  }
  leat_status_t status = leat_iterator_next(self->input, pull, out, out_poll);
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
