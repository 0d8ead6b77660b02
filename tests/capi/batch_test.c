// Batches of steps that run at once (Batch, Unbatch, BatchFunction), through the C API and from
// several threads; TSan looks on. Every step gives rows with a value that no other step has, and
// must get twice its own rows back, however the batches were made up: full ones, padded ones, and
// ones that the alarm's thread closes because their time is over. Steps that run into a deadline
// leave the queue, and those that are in a batch with them end too. At last the session is closed
// while steps wait for a batch that nobody fills.
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "capi/function_kit.h"

#define INT(key, value) " attr { key: '" key "' value { i: " value " } }"
#define FLOATS(key) TYPES(key, "DT_FLOAT")
#define BATCH_TIMES(rows, timeout_us)                                         \
  INT("num_batch_threads", "2") INT("max_batch_size", rows)                   \
  INT("max_enqueued_batches", "64") INT("batch_timeout_micros", timeout_us)
#define SIZES " attr { key: 'allowed_batch_sizes' value { list { i: [3, 8] } } }"
#define BATCH(name, rows, timeout_us, more)                        \
  NODE(name, "Batch", IN("x"), FLOATS("T") BATCH_TIMES(rows, timeout_us) more \
       INT("grad_timeout_micros", "20000"))
// Twice the rows of |batch|, given back to their steps, which wait so long for the one that has it.
#define TWICE(name, batch, timeout_us)                                                   \
  NODE(name "/sum", "AddV2", IN(batch) IN(batch), TYPE("T", "FLOAT"))                    \
  NODE(name, "Unbatch", IN(name "/sum") IN(batch ":1") IN(batch ":2"), TYPE("T", "FLOAT") \
       INT("timeout_micros", timeout_us))

static const char kGraph[] =
    LIBRARY FUNCTION("twice", ARG("a", "FLOAT") OUT("b", "FLOAT"),
                     DEF("sum", "AddV2", IN("a") IN("a"), TYPE("T", "FLOAT"))
                     RET("b", "sum:z:0"))
    END NODE("x", "Placeholder", "", TYPE("dtype", "FLOAT"))
    BATCH("some", "8", "300", SIZES)
    TWICE("unbatched", "some", "60000000") TWICE("unbatched_soon", "some", "20000")
    NODE("called", "BatchFunction", IN("x"), FLOATS("Tin") TYPES("Tcaptured", ) FLOATS("Tout")
         BATCH_TIMES("8", "300") SIZES FUNC("f", "twice"))
    BATCH("full", "1000", "1000000000", "");  // such a batch is never full

typedef struct runner_s {
  functions_t* f;
  const char* fetch;
  int number;
  int timeout_ms;  // of each second step; 0: none
  int done, late, wrong;
} runner_t;

enum { kRunners = 4, kSteps = 60 };

// A step with |rows| times |value|; whether it is OK, and then what it got is right.
static TF_Code step(const runner_t* r, int rows, float value, int timeout_ms, bool* out_is_right) {
  TF_Status* status = TF_NewStatus();
  const int64_t dims[] = {rows, 1};
  TF_Tensor *fed = TF_AllocateTensor(TF_FLOAT, dims, 2, (size_t)rows * sizeof(float)), *got = NULL;
  for (int i = 0; i < rows; ++i) ((float*)TF_TensorData(fed))[i] = value;
  const TF_Output x = functions_output(r->f, "x", 0), y = functions_output(r->f, r->fetch, 0);
  const char limit[] = {0x10, (char)timeout_ms};  // RunOptions.timeout_in_ms
  TF_Buffer* options = timeout_ms ? TF_NewBufferFromString(limit, sizeof limit) : NULL;
  TF_SessionRun(r->f->session, options, &x, &fed, 1, &y, &got, 1, NULL, 0, NULL, status);
  *out_is_right = got && TF_NumDims(got) == 2 && TF_Dim(got, 0) == rows && TF_Dim(got, 1) == 1;
  for (int i = 0; *out_is_right && i < rows; ++i) {
    *out_is_right = ((const float*)TF_TensorData(got))[i] == 2 * value;
  }
  const TF_Code code = TF_GetCode(status);
  if (options) TF_DeleteBuffer(options);
  TF_DeleteTensor(fed);
  TF_DeleteTensor(got);
  TF_DeleteStatus(status);
  return code;
}

static void* run_steps(void* data) {
  runner_t* r = data;
  for (int i = 0; i < kSteps; ++i) {
    bool is_right;
    const int timeout_ms = i % 2 ? r->timeout_ms : 0;
    const TF_Code code =
        step(r, 1 + (i + r->number) % 3, (float)(r->number * kSteps + i + 1), timeout_ms,
             &is_right);
    r->done += code == TF_OK;
    r->late += code == TF_DEADLINE_EXCEEDED || code == TF_CANCELLED;
    r->wrong += code == TF_OK && !is_right;
  }
  return NULL;
}

// Runs steps of |fetch| in all threads; each must end in one of the ways that there are.
static void run_together(functions_t* f, const char* fetch, int timeout_ms, int* out_done) {
  pthread_t threads[kRunners];
  runner_t runners[kRunners];
  *out_done = 0;
  for (int i = 0; i < kRunners; ++i) {
    runners[i] = (runner_t){.f = f, .fetch = fetch, .number = i, .timeout_ms = timeout_ms};
    assert_int_equal(pthread_create(&threads[i], NULL, run_steps, &runners[i]), 0);
  }
  for (int i = 0; i < kRunners; ++i) {
    pthread_join(threads[i], NULL);
    assert_int_equal(runners[i].wrong, 0);
    assert_int_equal(runners[i].done + runners[i].late, kSteps);
    *out_done += runners[i].done;
  }
}

// Steps of which none has a deadline: all are OK.
static void run_all_ok(functions_t* f, const char* fetch) {
  int done;
  run_together(f, fetch, 0, &done);
  assert_int_equal(done, kRunners * kSteps);
}

static void each_step_gets_its_rows(void** state) {
  functions_t f = functions_open(kGraph);
  run_all_ok(&f, "unbatched");
  run_all_ok(&f, "called");
  functions_close(&f);
}

// A deadline of a millisecond passes now while a step waits for a batch, now while the batch is
// worked on; the steps without one get their rows, or end with the step that had the batch.
static void steps_with_deadlines_leave(void** state) {
  functions_t f = functions_open(kGraph);
  int done;
  run_together(&f, "unbatched_soon", 1, &done);
  run_all_ok(&f, "unbatched");  // the queue is none the worse for it
  run_together(&f, "called", 1, &done);
  run_all_ok(&f, "called");
  functions_close(&f);
}

static void* wait_for_batch(void* data) {
  runner_t* r = data;
  bool is_right;
  r->late = step(r, 1, 1, 0, &is_right) == TF_CANCELLED;
  return NULL;
}

static void a_session_closes_under_waiting_steps(void** state) {
  functions_t f = functions_open(kGraph);
  pthread_t threads[kRunners];
  runner_t runners[kRunners];
  for (int i = 0; i < kRunners; ++i) {
    runners[i] = (runner_t){.f = &f, .fetch = "full", .number = i};
    assert_int_equal(pthread_create(&threads[i], NULL, wait_for_batch, &runners[i]), 0);
  }
  usleep(5000);
  TF_CloseSession(f.session, f.status);
  kit_ok(f.status);
  for (int i = 0; i < kRunners; ++i) {
    pthread_join(threads[i], NULL);
    assert_int_equal(runners[i].late, 1);
  }
  functions_close(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_step_gets_its_rows),
      cmocka_unit_test(steps_with_deadlines_leave),
      cmocka_unit_test(a_session_closes_under_waiting_steps),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
