// A step that ends tells how long it took (base/span.h). Its time is compared with the median of
// the last ones of its signature, since a program trains and evaluates by turns; a signature is not
// judged before it has run sixteen times, so that the first steps, which compile, are no slow ones.
// Who finds a reason only notes it and wakes the recorder's thread, which takes the recording out
// of the recorder (a new one begins in the same moment) and writes it. One reason is noted at a
// time: those that come while a file is written are dropped, as they would find a recording that is
// almost empty.
//
//   step ends ─▶ slow, or failed? ─▶ note ─▶ [thread] renew ─▶ the last steps ─▶ file
//   signal, program ─────────────────▲
//
// A handler of a signal may call almost nothing, so it raises a flag, and the thread looks at it
// ten times a second.
#include "trace/flight.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/clock.h"
#include "base/host.h"
#include "base/log.h"
#include "base/sync.h"
#include "base/thread.h"
#include "trace/recording_file.h"

#define DEFAULT_LIMIT_BYTES (UINT64_C(64) << 20)
#define DEFAULT_FILES 16
#define MAX_STEPS ((int64_t)4096)
#define MAX_PATH_BYTES 4096
#define SIGNATURES 32  // that are known at once
#define TIMES 64       // of a signature
#define LEAST_TIMES 16
#define LOOK_EVERY_MS 100

// How long the last steps of a signature took, in units of leat_span_now.
typedef struct times_s {
  const void* signature;
  int64_t times[TIMES], median;
  uint32_t count, judged;  // |judged|: the count at which the median was taken
  int64_t last_step;       // among the steps of the recorder
} times_t;

typedef struct flight_s {
  leat_mutex_t mutex;  // guards what follows
  leat_condition_t changed;
  bool is_open, has_condition;
  leat_flight_options_t options;
  char path[MAX_PATH_BYTES];
  times_t signatures[SIGNATURES];
  int64_t begins[MAX_STEPS];  // of the last steps, a ring
  int64_t steps;
  bool is_asked, stops;  // a file is wanted; the thread is to end
  char why[256];
  int64_t from;          // what is written begins with this time
  int64_t files;
  leat_thread_t thread;
} flight_t;

// It is never freed, as a step that ends may still be here when the recorder is stopped.
static flight_t flight = {.mutex = {PTHREAD_MUTEX_INITIALIZER}};

// ---- Reasons ------------------------------------------------------------------------------------

// Notes a reason for a file. The mutex is held.
static void ask(flight_t* f, const char* why) {
  if (f->is_asked) return;
  const int64_t steps = f->options.steps;
  f->is_asked = true;
  snprintf(f->why, sizeof f->why, "%s", why);
  f->from = 0;
  if (steps && f->steps > steps) f->from = f->begins[(f->steps - steps) % MAX_STEPS];
  leat_condition_notify_all(&f->changed);
}

static int compare_times(const void* a, const void* b) {
  const int64_t x = *(const int64_t*)a, y = *(const int64_t*)b;
  return (x > y) - (x < y);
}

// Those of the signature. One that is new takes the place of the one that has not run for longest.
static times_t* find_times(flight_t* f, const void* signature) {
  times_t* oldest = f->signatures;
  for (times_t* times = f->signatures; times < f->signatures + SIGNATURES; ++times) {
    if (times->signature == signature) return times;
    if (times->last_step < oldest->last_step) oldest = times;
  }
  *oldest = (times_t){.signature = signature};
  return oldest;
}

// Whether a step is slow. The median is taken anew every few steps only, as it changes slowly.
static bool is_slow(flight_t* f, const void* signature, int64_t time) {
  times_t* times = find_times(f, signature);
  const uint32_t known = LEAT_MIN(times->count, TIMES);
  if (known >= LEAST_TIMES && times->count >= times->judged + LEAST_TIMES) {
    int64_t sorted[TIMES];
    memcpy(sorted, times->times, known * sizeof *sorted);
    qsort(sorted, known, sizeof *sorted, compare_times);
    times->median = sorted[known / 2];
    times->judged = times->count;
  }
  times->times[times->count++ % TIMES] = time;
  times->last_step = f->steps;
  return f->options.slow_factor > 0 && times->median &&
         (double)time > f->options.slow_factor * (double)times->median;
}

// Whether the failure is one that somebody wants to know the cause of.
static bool is_failure(leat_status_t status) {
  const leat_status_code_t code = leat_status_code(status);
  return code != LEAT_OK && code != LEAT_OUT_OF_RANGE && code != LEAT_CANCELLED;
}

// A leat_span_step_fn_t.
static void on_step(int64_t begin, int64_t step_id, const void* signature, leat_status_t status) {
  flight_t* f = &flight;
  char why[128] = "";
  const int64_t time = leat_span_now() - begin;
  leat_mutex_lock(&f->mutex);
  f->begins[f->steps++ % MAX_STEPS] = begin;
  if (is_slow(f, signature, time)) {
    snprintf(why, sizeof why, "step %" PRId64 " took more than %g times the median", step_id,
             f->options.slow_factor);
  }
  if (f->options.on_failure && is_failure(status)) {
    snprintf(why, sizeof why, "step %" PRId64 " failed: %s", step_id,
             leat_status_code_name(leat_status_code(status)));
  }
  if (*why) ask(f, why);
  leat_mutex_unlock(&f->mutex);
}

// ---- Files --------------------------------------------------------------------------------------

// Copies the path with the numbers of the process and of the file.
static bool make_path(const flight_t* f, char out_path[MAX_PATH_BYTES]) {
  size_t size = 0;
  for (const char* at = f->path; *at; ++at) {
    char number[24] = {*at, 0};
    if (at[0] == '%' && (at[1] == 'p' || at[1] == 'n')) {
      const int64_t value = at[1] == 'p' ? leat_host_process_id() : f->files + 1;
      snprintf(number, sizeof number, "%" PRId64, value);
      ++at;
    }
    const size_t more = strlen(number);
    if (size + more >= MAX_PATH_BYTES) return false;
    memcpy(out_path + size, number, more);
    size += more;
  }
  out_path[size] = 0;
  return true;
}

// Writes the end of what was recorded. The mutex is not held; only the thread counts files.
static leat_status_t write_end(flight_t* f, int64_t from, const char* why) {
  char path[MAX_PATH_BYTES];
  leat_recording_t* recording = NULL;
  if (f->files >= f->options.most_files) return leat_ok_status();
  if (!make_path(f, path)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "the path is longer than %d bytes",
                            MAX_PATH_BYTES - 1);
  }
  LEAT_RETURN_IF_ERROR(leat_recording_renew(&recording));
  recording->from = from;
  leat_status_t status = leat_recording_write(recording, leat_file_system_default(), path);
  leat_recording_free(recording);
  if (status) return status;
  ++f->files;
  leat_log(LEAT_LOG_WARNING, "The last steps are in %s: %s", path, why);
  return leat_ok_status();
}

// The thread's function.
static void write_files(void* data) {
  flight_t* f = data;
  leat_mutex_lock(&f->mutex);
  for (;;) {
    if (leat_host_take_signal()) ask(f, "the process got the signal");
    if (f->is_asked) {
      char why[sizeof f->why];
      const int64_t from = f->from;
      memcpy(why, f->why, sizeof why);
      leat_mutex_unlock(&f->mutex);
      leat_status_t status = write_end(f, from, why);
      if (status) {
        leat_log(LEAT_LOG_ERROR, "Writing the last steps failed: %s",
                 leat_status_message(status));
      }
      leat_status_free(status);
      leat_mutex_lock(&f->mutex);
      f->is_asked = false;
    } else if (f->stops) {
      break;
    } else {
      leat_condition_wait_until(&f->changed, &f->mutex,
                                leat_clock_deadline_after_ms(LOOK_EVERY_MS));
    }
  }
  leat_mutex_unlock(&f->mutex);
}

// ---- Life ---------------------------------------------------------------------------------------

static leat_status_t check(const leat_flight_options_t* o) {
  if (!o->path || !*o->path || strlen(o->path) >= MAX_PATH_BYTES) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Starting a flight recorder failed: path has %zu bytes, must have 1 "
                            "to %d", o->path ? strlen(o->path) : (size_t)0, MAX_PATH_BYTES - 1);
  }
  if (o->steps < 0 || o->steps > MAX_STEPS) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Starting a flight recorder failed: steps is %" PRId64
                            ", must be 0 to %" PRId64, o->steps, MAX_STEPS);
  }
  if (o->slow_factor < 0 || (o->slow_factor > 0 && o->slow_factor < 1)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Starting a flight recorder failed: slow_factor is %g, must be 0 or "
                            "at least 1", o->slow_factor);
  }
  return leat_ok_status();
}

// Empties the recorder, which keeps its mutex and condition.
static void reset(flight_t* f, const leat_flight_options_t* options) {
  f->options = *options;
  f->options.path = f->path;
  if (!f->options.most_files) f->options.most_files = DEFAULT_FILES;
  snprintf(f->path, sizeof f->path, "%s", options->path);
  memset(f->signatures, 0, sizeof f->signatures);
  f->steps = 0;
  f->files = 0;
  f->is_asked = f->stops = false;
}

static leat_status_t begin(flight_t* f, const leat_flight_options_t* options) {
  LEAT_RETURN_IF_ERROR(
      leat_recording_start(options->limit_bytes ? options->limit_bytes : DEFAULT_LIMIT_BYTES));
  if (!f->has_condition) leat_condition_initialize(&f->changed);
  f->has_condition = true;
  reset(f, options);
  leat_status_t status = leat_ok_status();
  leat_host_take_signal();
  const bool notes = options->signal && leat_host_note_signal(options->signal, true);
  if (options->signal && !notes) {
    status = leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Starting a flight recorder failed: signal is %d, must be one that a "
                              "process can handle", options->signal);
  }
  if (!status) status = leat_thread_start("leat-flight", write_files, f, &f->thread);
  if (status) {
    if (notes) leat_host_note_signal(options->signal, false);
    leat_recording_t* recording = NULL;
    leat_status_free(leat_recording_stop(&recording));
    leat_recording_free(recording);
  }
  return status;
}

leat_status_t leat_flight_start(const leat_flight_options_t* options) {
  flight_t* f = &flight;
  LEAT_RETURN_IF_ERROR(check(options));
  leat_mutex_lock(&f->mutex);
  leat_status_t status = begin(f, options);
  if (!status) f->is_open = true;
  leat_mutex_unlock(&f->mutex);
  if (!status) atomic_store_explicit(&leat_span_on_step, on_step, memory_order_release);
  return status;
}

static leat_status_t not_there(void) {
  return leat_make_status(LEAT_FAILED_PRECONDITION, "There is no flight recorder");
}

leat_status_t leat_flight_write(const char* why) {
  flight_t* f = &flight;
  leat_mutex_lock(&f->mutex);
  const bool is_open = f->is_open;
  if (is_open) ask(f, why);
  leat_mutex_unlock(&f->mutex);
  return is_open ? leat_ok_status() : not_there();
}

leat_status_t leat_flight_stop(void) {
  flight_t* f = &flight;
  leat_recording_t* recording = NULL;
  atomic_store_explicit(&leat_span_on_step, NULL, memory_order_release);
  leat_mutex_lock(&f->mutex);
  const bool was_open = f->is_open;
  f->is_open = false;
  f->stops = true;
  if (was_open) leat_condition_notify_all(&f->changed);
  leat_mutex_unlock(&f->mutex);
  if (!was_open) return not_there();
  leat_thread_join(f->thread);
  if (f->options.signal) leat_host_note_signal(f->options.signal, false);
  leat_status_t status = leat_recording_stop(&recording);
  leat_recording_free(recording);
  return status;
}
