// Sessions: signatures, closing and time limits while steps run, many threads, several sessions.
// Probe kernels (tests/session/probe.h) wait until the test opens them, so that a step is known to
// be running when the session is closed or the time runs out. The cases of the first section run on
// both executors, with 1 and 4 threads, optimized or not. The cache of signatures by itself is
// tested in signature_cache_test.c, and the public functions above sessions in
// tests/capi/session_test.c.
#include "session/session.h"

#include <string.h>

#include "base/clock.h"
#include "base/thread.h"
#include "kernel/function_runtime.h"
#include "session/scene.h"

// ---- Waiting for a moment -----------------------------------------------------------------------

// Until |id| has a waiter; fails the test after a minute.
static void await_waiting(int id, int count) {
  int64_t end = leat_clock_now_ns() + INT64_C(60000000000);
  while (probe_waiting(id) < count) {
    assert_true(leat_clock_now_ns() < end);
    leat_cpu_relax();
  }
}

typedef struct runner_s {
  scene_t* scene;
  leat_output_t fetch;
  int64_t timeout_ms;
  leat_status_t status;
  float value;
  leat_thread_t thread;
} runner_t;

static void run_in_background(void* data) {
  runner_t* r = data;
  leat_tensor_t got = {0};
  leat_run_t run = {.fetches = &r->fetch, .fetch_values = &got, .fetch_count = 1,
                    .timeout_ms = r->timeout_ms};
  r->status = leat_session_run(r->scene->session, &run);
  if (!r->status) r->value = leat_tensor_data(&got, const float)[0];
  leat_tensor_release(&got);
}

static void start(runner_t* r) {
  scene_session(r->scene);
  LEAT_EXPECT_OK(leat_thread_start("runner", run_in_background, r, &r->thread));
}

// ---- Closing and time limits --------------------------------------------------------------------

static void closing_ends_running_steps(scene_t* s) {
  leat_output_t waits = scene_wait(s, 1, -1, scene_float(s, 3));
  leat_output_t after = scene_pass(s, 2, -1, waits);
  runner_t runners[3];
  for (int i = 0; i < 3; ++i) {
    runners[i] = (runner_t){.scene = s, .fetch = i ? after : waits};
    start(&runners[i]);
  }
  await_waiting(1, 3);
  LEAT_EXPECT_OK(leat_session_close(s->session));
  for (int i = 0; i < 3; ++i) {
    leat_thread_join(runners[i].thread);
    scene_expect(runners[i].status, LEAT_CANCELLED, "closed");
  }
  assert_int_equal(probe_count(2), 0);
  LEAT_EXPECT_OK(leat_session_close(s->session));
  leat_tensor_t got;
  scene_expect(scene_fetch(s, after, &got), LEAT_CANCELLED, "closed");
}

// Also the work that belongs to no step, for which closing does not wait.
static void closing_ends_work_in_the_background(void** state) {
  scene_t s;
  scene_open(&s);
  scene_session(&s);
  leat_background_t* background = leat_session_master_options(s.session)->functions->background;
  assert_true(leat_background_enter(background));
  LEAT_EXPECT_OK(leat_session_close(s.session));
  assert_true(leat_cancellation_is_cancelled(leat_background_cancellation(background)));
  assert_false(leat_background_enter(background));
  leat_background_leave(background);
  scene_close(&s);
}

static void one_step_waits_others_run(scene_t* s) {
  leat_output_t waits = scene_wait(s, 1, -1, scene_float(s, 3));
  leat_output_t other = scene_unary(s, "Neg", -1, scene_float(s, 5));
  runner_t runner = {.scene = s, .fetch = waits};
  start(&runner);
  await_waiting(1, 1);
  for (int i = 0; i < 10; ++i) assert_true(scene_get(s, other) == -5);
  // Another step of the same signature runs out of time; the first one does not notice.
  runner_t late = {.scene = s, .fetch = waits, .timeout_ms = 20};
  run_in_background(&late);
  scene_expect(late.status, LEAT_DEADLINE_EXCEEDED, "timeout");
  assert_int_equal(probe_waiting(1), 1);
  probe_open(1);
  leat_thread_join(runner.thread);
  LEAT_EXPECT_OK(runner.status);
  assert_true(runner.value == 3);
}

static void the_session_has_a_time_limit(scene_t* s) {
  s->options.operation_timeout_ms = 20;
  leat_output_t waits = scene_wait(s, 1, -1, scene_float(s, 3));
  leat_tensor_t got;
  scene_expect(scene_fetch(s, waits, &got), LEAT_DEADLINE_EXCEEDED, "timeout");
  probe_open(1);
  // Now the step ends at once. Where the machine is busy even that may take longer than the limit.
  leat_status_t status = leat_ok_status();
  for (int i = 0; i < 3000 && (i == 0 || status); ++i) {
    leat_status_free(status);
    status = scene_fetch(s, waits, &got);
    assert_true(!status || leat_status_code(status) == LEAT_DEADLINE_EXCEEDED);
  }
  LEAT_EXPECT_OK(status);
  assert_true(leat_tensor_data(&got, const float)[0] == 3);
  leat_tensor_release(&got);
}

// A failure elsewhere in the step ends what waits.
static void failures_end_waiting(scene_t* s) {
  leat_output_t x = scene_float(s, 1);
  leat_output_t waits = scene_wait(s, 1, -1, x);
  leat_output_t bad = scene_fail(s, LEAT_DATA_LOSS, -1, x);
  leat_output_t sum = scene_binary(s, "AddV2", -1, waits, bad);
  leat_tensor_t got;
  scene_expect(scene_fetch(s, sum, &got), LEAT_DATA_LOSS, "the probe fails");
  assert_int_equal(probe_waiting(1), 0);
}

#define ALL_WAYS(test) \
  static void test##_all_ways(void** state) { scene_run_all_ways(test); }
ALL_WAYS(closing_ends_running_steps)
ALL_WAYS(one_step_waits_others_run)
ALL_WAYS(the_session_has_a_time_limit)
ALL_WAYS(failures_end_waiting)

// ---- Signatures ---------------------------------------------------------------------------------

static void signatures_are_kept(void** state) {
  scene_t s;
  scene_open(&s);
  leat_output_t x = scene_placeholder(&s, "x", LEAT_DTYPE_FLOAT);
  leat_output_t y = scene_unary(&s, "Neg", -1, x);
  leat_run_t run = {.feeds = &x, .feed_count = 1, .fetches = &y, .fetch_count = 1};
  leat_signature_t *first, *second, *other;
  LEAT_EXPECT_OK(leat_session_prepare(scene_session(&s), &run, &first));
  leat_run_t swapped = {.feeds = &y, .feed_count = 1, .fetches = &x, .fetch_count = 1};
  scene_expect(leat_session_prepare(s.session, &swapped, &other), LEAT_OK, "");
  assert_ptr_not_equal(first, other);
  leat_output_t copies[2] = {x, y};
  leat_run_t same = {.feeds = &copies[0], .feed_count = 1, .fetches = &copies[1], .fetch_count = 1};
  LEAT_EXPECT_OK(leat_session_prepare(s.session, &same, &second));
  assert_ptr_equal(first, second);
  // Prepared signatures keep working when the graph grows and moves its nodes.
  for (int i = 0; i < 1000; ++i) scene_unary(&s, "Neg", -1, y);
  leat_tensor_t fed = scene_value(4), got;
  LEAT_EXPECT_OK(leat_session_run_prepared(
      s.session, first, &(leat_run_t){.feed_values = &fed, .fetch_values = &got}));
  assert_true(leat_tensor_data(&got, const float)[0] == -4);
  leat_tensor_release(&got);
  leat_tensor_release(&fed);
  scene_close(&s);
}

static void many_signatures(void** state) {
  enum { kCount = 600 };
  scene_t s;
  scene_open(&s);
  leat_output_t x = scene_placeholder(&s, "x", LEAT_DTYPE_FLOAT), y[kCount];
  y[0] = x;
  for (int i = 1; i < kCount; ++i) {
    y[i] = scene_binary(&s, "AddV2", -1, y[i - 1], scene_float(&s, 1));
  }
  for (int round = 0; round < 2; ++round) {
    for (int i = 1; i < kCount; ++i) assert_true(scene_get_fed(&s, x, 1, y[i]) == (float)(i + 1));
  }
  scene_close(&s);
}

static void nothing_asked_for(void** state) {
  scene_t s;
  scene_open(&s);
  scene_expect(scene_run(&s, LEAT_NO_INPUTS, NULL, LEAT_NO_INPUTS, NULL, NULL, 0),
               LEAT_INVALID_ARGUMENT, "fetches and targets");
  leat_output_t x = scene_placeholder(&s, "x", LEAT_DTYPE_FLOAT);
  leat_tensor_t fed = scene_value(1);
  scene_expect(scene_run(&s, LEAT_INPUTS(x), &fed, LEAT_NO_INPUTS, NULL, NULL, 0),
               LEAT_INVALID_ARGUMENT, "fetches and targets");
  scene_close(&s);
}

static void bad_requests(void** state) {
  scene_t s;
  scene_open(&s);
  leat_output_t x = scene_placeholder(&s, "x", LEAT_DTYPE_FLOAT);
  leat_output_t y = scene_unary(&s, "Neg", -1, x);
  leat_tensor_t got, fed;
  scene_expect(scene_fetch(&s, y, &got), LEAT_INVALID_ARGUMENT, "must feed");
  scene_expect(scene_fetch(&s, leat_node_output(y.node, 1), &got), LEAT_OUT_OF_RANGE, "Neg");
  scene_expect(scene_fetch(&s, (leat_output_t){99, 0}, &got), LEAT_NOT_FOUND, "fetch");
  scene_expect(scene_fetch(&s, (leat_output_t){y.node, -1}, &got), LEAT_INVALID_ARGUMENT, "");
  scene_expect(scene_target(&s, 77), LEAT_NOT_FOUND, "target");
  scene_expect(scene_target(&s, -5), LEAT_NOT_FOUND, "target");
  int32_t value = 1;
  LEAT_EXPECT_OK(leat_tensor_scalar(LEAT_DTYPE_INT32, &value, &fed));
  scene_expect(scene_run(&s, LEAT_INPUTS(x), &fed, LEAT_INPUTS(y), &got, NULL, 0),
               LEAT_INVALID_ARGUMENT, "int32");
  leat_tensor_t both[2] = {scene_value(1), scene_value(2)};
  scene_expect(scene_run(&s, LEAT_INPUTS(x, x), both, LEAT_INPUTS(y), &got, NULL, 0),
               LEAT_INVALID_ARGUMENT, "twice");
  assert_true(scene_get_fed(&s, x, 1, y) == -1);
  scene_close(&s);
}

// ---- Many threads -------------------------------------------------------------------------------

enum { kThreads = 8, kSteps = 200 };

typedef struct crowd_s {
  scene_t* scene;
  leat_output_t x, read, add, ref_read, ref_add, far;
  _Atomic(int) failures;
} crowd_t;

static bool step(crowd_t* c, leat_output_t feed, leat_outputs_t fetches, leat_tensor_t* got) {
  leat_tensor_t fed;
  float value = 1;
  leat_status_t status = leat_tensor_scalar(LEAT_DTYPE_FLOAT, &value, &fed);
  leat_run_t run = {.feeds = &feed, .feed_values = &fed, .feed_count = leat_output_exists(feed),
                    .fetches = fetches.items, .fetch_values = got, .fetch_count = fetches.count};
  if (!status) status = leat_session_run(c->scene->session, &run);
  leat_tensor_release(&fed);
  bool right = !status;
  if (status) print_error("%s\n", leat_status_message(status));
  leat_status_free(status);
  for (int i = 0; right && i < fetches.count; ++i) {
    // Every vector was written whole: its items are equal.
    const float* items = leat_tensor_data(&got[i], const float);
    for (int64_t k = 1; k < got[i].shape.element_count; ++k) right &= items[k] == items[0];
  }
  for (int i = 0; !status && i < fetches.count; ++i) leat_tensor_release(&got[i]);
  return right;
}

static void join_crowd(void* data) {
  crowd_t* c = data;
  leat_tensor_t got[3];
  for (int i = 0; i < kSteps; ++i) {
    bool right = true;
    switch (i % 4) {
      case 0: right = step(c, c->x, LEAT_INPUTS(c->far), got); break;
      case 1: right = step(c, LEAT_OUTPUT_NONE, LEAT_INPUTS(c->read, c->ref_read), got); break;
      case 2: right = step(c, LEAT_OUTPUT_NONE, LEAT_INPUTS(c->add), got); break;
      case 3: right = step(c, LEAT_OUTPUT_NONE, LEAT_INPUTS(c->ref_add, c->read), got); break;
    }
    if (!right) ++c->failures;
  }
}

static void threads_share_a_session(int devices, leat_executor_kind_t executor) {
  enum { kSize = 257 };
  scene_t s;
  scene_open(&s);
  s.options.cpu_device_count = devices;
  s.options.executor = executor;
  s.options.intra_op_threads = 4;
  float zeros[kSize] = {0}, ones[kSize];
  for (int i = 0; i < kSize; ++i) ones[i] = 1;
  const int64_t size = kSize;
  leat_attr_t attrs[] = {LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT),
                         LEAT_SHAPE("shape", ((leat_partial_shape_t){1, &size}))};
  leat_output_t one = scene_floats(&s, kSize, ones), zero = scene_floats(&s, kSize, zeros);
  leat_output_t handle = scene_output(&s, "VarHandleOp", "h", "", LEAT_NO_INPUTS,
                                      (leat_attrs_t){attrs, 2});
  leat_output_t ref = scene_output(&s, "VariableV2", "r", devices > 1 ? "/cpu:1" : "",
                                   LEAT_NO_INPUTS, (leat_attrs_t){attrs, 2});
  crowd_t c = {.scene = &s};
  leat_attrs_t type = LEAT_ATTRS(LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT));
  c.x = scene_placeholder(&s, "x", LEAT_DTYPE_FLOAT);
  c.far = scene_binary(&s, "Mul", devices - 1, scene_unary(&s, "Neg", 0, c.x), one);
  c.read = scene_output(&s, "ReadVariableOp", "read", "", LEAT_INPUTS(handle), type);
  int32_t add = scene_node(&s, "AssignAddVariableOp", "add", "", LEAT_INPUTS(handle, one),
                           LEAT_NO_ATTRS);
  c.add = scene_unary(&s, "Neg", -1, one);
  scene_after(&s, c.add.node, add);
  // A reference is read while others write it, as in TensorFlow; under the variable's lock when
  // asked for, which is what makes its items equal.
  leat_attr_t locking = LEAT_BOOL("use_locking", true);
  c.ref_add = scene_unary(
      &s, "Identity", -1,
      scene_output(&s, "AssignAdd", "", "", LEAT_INPUTS(ref, one), (leat_attrs_t){&locking, 1}));
  c.ref_read = scene_unary(&s, "Neg", -1, ref);
  int32_t set = scene_node(&s, "AssignVariableOp", "set", "", LEAT_INPUTS(handle, zero),
                           LEAT_NO_ATTRS);
  leat_output_t ref_set = scene_binary(&s, "Assign", -1, ref, zero);
  LEAT_EXPECT_OK(scene_target(&s, set));
  LEAT_EXPECT_OK(scene_target(&s, ref_set.node));
  leat_thread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) {
    LEAT_EXPECT_OK(leat_thread_start("crowd", join_crowd, &c, &threads[i]));
  }
  for (int i = 0; i < kThreads; ++i) leat_thread_join(threads[i]);
  assert_int_equal(c.failures, 0);
  assert_true(scene_get(&s, c.read) == kThreads * kSteps / 4);
  assert_true(scene_get(&s, c.ref_read) == -kThreads * kSteps / 4);
  scene_close(&s);
}

static void threads_on_the_linear_executor(void** state) {
  threads_share_a_session(1, LEAT_EXECUTOR_SEQUENCE);
}
static void threads_on_the_dataflow_executor(void** state) {
  threads_share_a_session(1, LEAT_EXECUTOR_DATAFLOW);
}
static void threads_on_two_devices(void** state) {
  threads_share_a_session(2, LEAT_EXECUTOR_AUTOMATIC);
}

// Steps start and run while the session is closed.
static void run_until_closed(void* data) {
  runner_t* r = data;
  do {
    run_in_background(r);
  } while (!r->status);
}

static void closing_under_load(void** state) {
  for (int round = 0; round < 20; ++round) {
    scene_t s;
    scene_open(&s);
    s.options.cpu_device_count = 1 + round % 2;
    s.options.executor = round & 4 ? LEAT_EXECUTOR_DATAFLOW : LEAT_EXECUTOR_AUTOMATIC;
    leat_output_t y = scene_float(&s, 1);
    for (int i = 0; i < 50; ++i) y = scene_unary(&s, "Neg", i % (1 + round % 2), y);
    runner_t runners[4];
    scene_session(&s);
    for (int i = 0; i < 4; ++i) {
      runners[i] = (runner_t){.scene = &s, .fetch = y};
      LEAT_EXPECT_OK(
          leat_thread_start("runner", run_until_closed, &runners[i], &runners[i].thread));
    }
    leat_clock_sleep_ns(1000000);
    LEAT_EXPECT_OK(leat_session_close(s.session));
    for (int i = 0; i < 4; ++i) {
      leat_thread_join(runners[i].thread);
      scene_expect(runners[i].status, LEAT_CANCELLED, "closed");
    }
    scene_close(&s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(closing_ends_running_steps_all_ways),
      cmocka_unit_test(closing_ends_work_in_the_background),
      cmocka_unit_test(one_step_waits_others_run_all_ways),
      cmocka_unit_test(the_session_has_a_time_limit_all_ways),
      cmocka_unit_test(failures_end_waiting_all_ways),
      cmocka_unit_test(signatures_are_kept),
      cmocka_unit_test(many_signatures),
      cmocka_unit_test(nothing_asked_for),
      cmocka_unit_test(bad_requests),
      cmocka_unit_test(threads_on_the_linear_executor),
      cmocka_unit_test(threads_on_the_dataflow_executor),
      cmocka_unit_test(threads_on_two_devices),
      cmocka_unit_test(closing_under_load),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
