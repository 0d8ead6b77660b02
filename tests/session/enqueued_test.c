// Kernels of an accelerator return when their work is enqueued (docs/design.md section 4): the host
// runs ahead of the streams, values are what they would be, and a step ends when its work has, with
// the status of its work. A gate in a stream makes the device busy: while it is closed the tests
// look at what has been enqueued, and open it when they have seen enough. The hard cases are shared
// memory: a variable that is updated while earlier work still has to read it, and buffers that are
// used again behind their last use on another stream. Failures and deadlines reach the host late
// and must end their own step only.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/thread.h"
#include "device/simulated/simulated_device.h"
#include "session/scene.h"
#include "trace/collector.h"

#define SIM "/device:SIM:0"

static void open_scene(scene_t* s, const char* device, int threads) {
  setenv("LEAT_SIMULATED", device, 1);
  scene_open(s);
  s->options.device_counts[0].count = 1;
  memcpy(s->options.device_counts[0].type, "SIM", 4);
  s->options.intra_op_threads = threads;
}

static leat_output_t on(scene_t* s, const char* op, leat_output_t x) {
  return scene_output(s, op, "", SIM, LEAT_INPUTS(x), LEAT_NO_ATTRS);
}

static leat_output_t both(scene_t* s, const char* op, leat_output_t x, leat_output_t y) {
  return scene_output(s, op, "", SIM, LEAT_INPUTS(x, y), LEAT_NO_ATTRS);
}

static leat_device_t* accelerator(scene_t* s) {
  leat_session_t* session = scene_session(s);
  for (int i = 0; i < leat_session_device_count(session); ++i) {
    leat_device_t* device = leat_session_local_device(session, i);
    if (leat_string_view_equals(device->type, "SIM")) return device;
  }
  fail_msg("there is no accelerator");
  return NULL;
}

// ---- A stream that is busy, a step that runs beside ---------------------------------------------

static leat_status_t wait_for_gate(void* data, int64_t start_ns) {
  leat_notification_wait(data, LEAT_DEADLINE_NEVER);
  return leat_ok_status();
}

static void block(leat_device_t* device, int stream, leat_notification_t* gate) {
  leat_simulated_task_t task = {.stream = stream, .work = wait_for_gate, .work_data = gate};
  LEAT_EXPECT_OK(leat_simulated_device_enqueue(device, &task, NULL));
}

static void await_enqueued_until(leat_device_t* device, int stream, uint64_t count,
                                 int64_t deadline_ns) {
  while (leat_simulated_device_progress(device, stream).enqueued < count &&
         leat_clock_now_ns() < deadline_ns) {
    leat_clock_sleep_ns(10000);
  }
}

static void await_enqueued(leat_device_t* device, int stream, uint64_t count) {
  await_enqueued_until(device, stream, count, LEAT_DEADLINE_NEVER);
}

typedef struct step_s {
  scene_t* scene;
  leat_run_t run;
  leat_output_t fetch;  // or a node to run
  leat_tensor_t value;
  leat_thread_t thread;
  leat_status_t status;
} step_t;

static void run_step(void* data) {
  step_t* step = data;
  step->status = leat_session_run(scene_session(step->scene), &step->run);
}

// Runs one step on a thread of its own, so that the test can look at the device while it runs.
static void start(step_t* step, scene_t* s, leat_output_t fetch, int64_t timeout_ms) {
  bool is_target = fetch.index == LEAT_CONTROL_INDEX;
  *step = (step_t){.scene = s, .fetch = fetch};
  step->run = (leat_run_t){.fetches = &step->fetch,
                           .fetch_values = &step->value,
                           .fetch_count = !is_target,
                           .targets = &step->fetch.node,
                           .target_count = is_target,
                           .timeout_ms = timeout_ms};
  scene_session(s);
  LEAT_EXPECT_OK(leat_thread_start("step", run_step, step, &step->thread));
}

// ---- The host runs ahead ------------------------------------------------------------------------

enum { CHAIN = 40 };

static leat_output_t chain(scene_t* s, leat_output_t x, int count) {
  for (int i = 0; i < count; ++i) x = on(s, i % 2 ? "Neg" : "Square", x);
  return x;
}

static void all_are_enqueued_before_the_first_ends(void** state) {
  for (int threads = 1; threads <= 4; threads += 3) {
    scene_t s;
    open_scene(&s, "memory=16 streams=1 start_us=1", threads);
    leat_output_t y = chain(&s, scene_float(&s, -1), CHAIN);
    leat_device_t* device = accelerator(&s);
    leat_notification_t gate;
    leat_notification_initialize(&gate);
    block(device, 0, &gate);
    step_t step;
    start(&step, &s, y, 0);
    await_enqueued(device, 0, 1 + CHAIN);
    assert_int_equal(leat_simulated_device_progress(device, 0).ended, 0);
    leat_notification_open(&gate);
    leat_thread_join(step.thread);
    LEAT_EXPECT_OK(step.status);
    assert_true(leat_tensor_data(&step.value, const float)[0] == -1);
    leat_tensor_release(&step.value);
    scene_close(&s);
    leat_notification_deinitialize(&gate);
  }
}

// Values are made on one stream and read on others, one of which is held up.
static void readers_on_other_streams_wait(void** state) {
  scene_t s;
  open_scene(&s, "memory=16 streams=3 start_us=1", 4);
  leat_output_t x = scene_float(&s, 3), y = on(&s, "Neg", x);
  for (int i = 0; i < CHAIN; ++i) y = both(&s, "AddV2", y, on(&s, "Neg", y));
  y = both(&s, "Sub", y, x);
  leat_device_t* device = accelerator(&s);
  leat_notification_t gate;
  leat_notification_initialize(&gate);
  block(device, 1, &gate);
  step_t step;
  start(&step, &s, y, 0);
  for (int i = 0; i < 3; ++i) await_enqueued(device, i, 2 * CHAIN / 3);
  leat_notification_open(&gate);
  leat_thread_join(step.thread);
  LEAT_EXPECT_OK(step.status);
  assert_true(leat_tensor_data(&step.value, const float)[0] == -3);
  leat_tensor_release(&step.value);
  scene_close(&s);
  leat_notification_deinitialize(&gate);
}

// Ten times as much memory is asked for as there is: what is freed is used again behind its last
// use, whichever stream that is on.
static void many_temporaries_in_little_memory(void** state) {
  enum { ITEMS = 16 << 10, LAYERS = 60 };
  float* values = malloc(ITEMS * sizeof *values);
  for (int i = 0; i < ITEMS; ++i) values[i] = (float)(i % 101) / 101;
  for (int streams = 1; streams <= 4; ++streams) {
    scene_t s;
    char device[64];
    snprintf(device, sizeof device, "memory=1 streams=%d start_us=1 transfer_us=1", streams);
    open_scene(&s, device, streams);
    leat_output_t y = scene_floats(&s, ITEMS, values), x = on(&s, "Identity", y);
    for (int i = 0; i < LAYERS; ++i) {
      leat_output_t a = both(&s, "Mul", x, x), b = both(&s, "Sub", a, x);
      x = on(&s, "Tanh", both(&s, "Sub", both(&s, "AddV2", a, b), a));
      y = scene_output(&s, "Tanh", "", "/cpu:0",
                       LEAT_INPUTS(scene_output(&s, "Sub", "", "/cpu:0",
                                                LEAT_INPUTS(scene_output(&s, "Mul", "", "/cpu:0",
                                                                         LEAT_INPUTS(y, y),
                                                                         LEAT_NO_ATTRS), y),
                                                LEAT_NO_ATTRS)), LEAT_NO_ATTRS);
    }
    for (int step = 0; step < 3; ++step) {
      leat_tensor_t got[2];
      LEAT_EXPECT_OK(scene_run(&s, LEAT_NO_INPUTS, NULL, LEAT_INPUTS(x, y), got, NULL, 0));
      for (int i = 0; i < ITEMS; ++i) {
        float difference = leat_tensor_data(&got[0], const float)[i] -
                           leat_tensor_data(&got[1], const float)[i];
        assert_true(difference < 1e-5f && difference > -1e-5f);
      }
      leat_tensor_release(&got[0]);
      leat_tensor_release(&got[1]);
    }
    scene_close(&s);
  }
  free(values);
}

// ---- Variables ----------------------------------------------------------------------------------

static leat_output_t make_variable(scene_t* s) {
  return scene_output(s, "VarHandleOp", "v", SIM, LEAT_NO_INPUTS,
                      LEAT_ATTRS(LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT),
                                 LEAT_SHAPE("shape", leat_partial_shape_scalar())));
}

static int32_t update(scene_t* s, const char* op, leat_output_t handle, leat_output_t value) {
  return scene_node(s, op, "", "", LEAT_INPUTS(handle, value),
                    LEAT_ATTRS(LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT)));
}

static leat_output_t value_of(scene_t* s, leat_output_t handle) {
  return scene_output(s, "ReadVariableOp", "", "", LEAT_INPUTS(handle),
                      LEAT_ATTRS(LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT)));
}

// Every step reads a variable before and behind its update.
static void variables_keep_their_order(void** state) {
  scene_t s;
  open_scene(&s, "memory=16 streams=3 start_us=50", 4);
  leat_output_t handle = make_variable(&s);
  int32_t begin = update(&s, "AssignVariableOp", handle, scene_float(&s, 0));
  leat_output_t before = value_of(&s, handle), after = value_of(&s, handle);
  int32_t add = update(&s, "AssignAddVariableOp", handle, scene_float(&s, 1));
  scene_after(&s, add, before.node);
  scene_after(&s, after.node, add);
  leat_output_t gain = both(&s, "Sub", chain(&s, after, 2), chain(&s, before, 2));
  LEAT_EXPECT_OK(scene_target(&s, begin));
  for (int i = 0; i < 20; ++i) assert_true(scene_get(&s, gain) == (float)(-2 * i - 1));
  scene_close(&s);
}

// Work that was enqueued behind an update, and is late, reads what it was given.
static void an_update_leaves_readers_their_value(void** state) {
  scene_t s;
  open_scene(&s, "memory=1 streams=2 start_us=1", 2);
  leat_output_t handle = make_variable(&s);
  int32_t begin = update(&s, "AssignVariableOp", handle, scene_float(&s, 5));
  leat_output_t value = on(&s, "Neg", value_of(&s, handle));
  int32_t add = update(&s, "AssignAddVariableOp", handle, scene_float(&s, 1));
  leat_device_t* device = accelerator(&s);
  LEAT_EXPECT_OK(scene_target(&s, begin));
  leat_notification_t before, behind;
  leat_notification_initialize(&before);
  leat_notification_initialize(&behind);
  uint64_t enqueued[2];
  for (int i = 0; i < 2; ++i) {
    block(device, i, &before);
    enqueued[i] = leat_simulated_device_progress(device, i).enqueued;
  }
  step_t adding, reading;
  start(&adding, &s, (leat_output_t){add, LEAT_CONTROL_INDEX}, 0);
  int other = -1;  // the stream that the update is not on
  while (other < 0) {
    for (int i = 0; i < 2; ++i) {
      if (leat_simulated_device_progress(device, i).enqueued > enqueued[i]) other = 1 - i;
    }
  }
  block(device, other, &behind);
  start(&reading, &s, value, 0);
  await_enqueued(device, other, enqueued[other] + 2);
  leat_notification_open(&before);
  leat_thread_join(adding.thread);
  LEAT_EXPECT_OK(adding.status);
  leat_notification_open(&behind);
  leat_thread_join(reading.thread);
  LEAT_EXPECT_OK(reading.status);
  assert_true(leat_tensor_data(&reading.value, const float)[0] == -5);
  leat_tensor_release(&reading.value);
  assert_true(scene_get(&s, value) == -6);
  scene_close(&s);
  leat_notification_deinitialize(&before);
  leat_notification_deinitialize(&behind);
}

// A variable takes a value that work enqueued before still has to read, and is then updated.
static void a_variable_waits_for_readers_of_its_value(void** state) {
  scene_t s;
  open_scene(&s, "memory=1 streams=3 start_us=1", 1);
  leat_output_t handle = make_variable(&s), one = scene_float(&s, 1);
  leat_output_t value = on(&s, "Neg", scene_float(&s, 5)), late = on(&s, "Neg", value);
  int32_t take = update(&s, "AssignVariableOp", handle, value);
  scene_after(&s, take, late.node);
  int32_t add = update(&s, "AssignAddVariableOp", handle, one);
  scene_after(&s, add, take);
  leat_output_t sum = both(&s, "AddV2", late, late);
  scene_after(&s, sum.node, add);
  leat_device_t* device = accelerator(&s);
  leat_notification_t gate;
  leat_notification_initialize(&gate);
  block(device, 1, &gate);  // |value| is made on stream 0, |late| on 1, then come the updates
  step_t step;
  start(&step, &s, sum, 0);
  await_enqueued(device, 2, 1);
  leat_clock_sleep_ns(5000000);
  leat_notification_open(&gate);
  leat_thread_join(step.thread);
  LEAT_EXPECT_OK(step.status);
  assert_true(leat_tensor_data(&step.value, const float)[0] == 10);
  leat_tensor_release(&step.value);
  assert_true(scene_get(&s, value_of(&s, handle)) == -4);
  scene_close(&s);
  leat_notification_deinitialize(&gate);
}

// ---- How it ends --------------------------------------------------------------------------------

// A lookup that fails where |index| is fed 7, and an update by what it gives.
typedef struct lookup_s {
  leat_output_t index, value, variable;
  int32_t update;
} lookup_t;

static lookup_t make_lookup(scene_t* s) {
  const float values[] = {1, 2, 3};
  lookup_t l = {.index = scene_placeholder(s, "index", LEAT_DTYPE_FLOAT)};
  leat_output_t index = scene_output(s, "Cast", "", SIM, LEAT_INPUTS(l.index),
                                     LEAT_ATTRS(LEAT_TYPE("DstT", LEAT_DTYPE_INT32)));
  leat_output_t found = scene_output(s, "Gather", "lookup", SIM,
                                     LEAT_INPUTS(scene_floats(s, 3, values), index),
                                     LEAT_NO_ATTRS);
  l.value = chain(s, found, 10);
  leat_output_t handle = make_variable(s);
  l.variable = value_of(s, handle);
  l.update = update(s, "AssignVariableOp", handle, found);
  return l;
}

static leat_status_t look_up(scene_t* s, const lookup_t* l, float index, leat_output_t fetch,
                             float* out_value, int32_t target) {
  leat_tensor_t fed = scene_value(index), got;
  bool fetches = leat_output_exists(fetch);
  leat_run_t run = {.feeds = &l->index, .feed_values = &fed, .feed_count = 1,
                    .fetches = &fetch, .fetch_values = &got, .fetch_count = fetches,
                    .targets = &target, .target_count = target >= 0};
  leat_status_t status = leat_session_run(scene_session(s), &run);
  leat_tensor_release(&fed);
  if (!status && fetches) {
    *out_value = leat_tensor_data(&got, const float)[0];
    leat_tensor_release(&got);
  }
  return status;
}

static void a_failure_ends_its_step(void** state) {
  for (int threads = 1; threads <= 4; threads += 3) {
    scene_t s;
    open_scene(&s, "memory=1 streams=2 start_us=20", threads);
    lookup_t l = make_lookup(&s);
    float value = 0;
    LEAT_EXPECT_OK(look_up(&s, &l, 1, LEAT_OUTPUT_NONE, &value, l.update));
    for (int i = 0; i < 5; ++i) {
      // Somebody fetches what follows; nobody does; a variable would take it.
      scene_expect(look_up(&s, &l, 7, l.value, &value, -1), LEAT_INVALID_ARGUMENT, "'lookup'");
      scene_expect(look_up(&s, &l, 7, LEAT_OUTPUT_NONE, &value, l.value.node),
                   LEAT_INVALID_ARGUMENT, "'lookup'");
      scene_expect(look_up(&s, &l, 7, LEAT_OUTPUT_NONE, &value, l.update), LEAT_INVALID_ARGUMENT,
                   "'lookup'");
      LEAT_EXPECT_OK(look_up(&s, &l, 0, l.value, &value, -1));
      assert_true(value == -1);
      assert_true(scene_get(&s, l.variable) == 2);
    }
    scene_close(&s);
  }
}

typedef struct lookups_s {
  scene_t* scene;
  const lookup_t* lookup;
  float index;
} lookups_t;

// The same lookup again and again; an index of 3 or more lies outside and must fail in this step
// alone.
static void run_lookups(void* data) {
  const lookups_t* l = data;
  for (int i = 0; i < 40; ++i) {
    float value = 0;
    leat_status_t status =
        look_up(l->scene, l->lookup, l->index, l->lookup->value, &value, -1);
    if (l->index < 3) {
      LEAT_EXPECT_OK(status);
      assert_true(l->index == 0 ? value == -1 : value < -1);
    } else {
      scene_expect(status, LEAT_INVALID_ARGUMENT, "'lookup'");
    }
  }
}

// Steps of two sessions, good ones and bad ones: each has its own status.
static void steps_keep_their_failures(void** state) {
  scene_t scenes[2];
  lookup_t lookups[2];
  lookups_t work[6];
  leat_thread_t threads[6];
  for (int i = 0; i < 2; ++i) {
    open_scene(&scenes[i], "memory=4 streams=2 start_us=5", 4);
    lookups[i] = make_lookup(&scenes[i]);
    scene_session(&scenes[i]);
  }
  for (int i = 0; i < 6; ++i) {
    work[i] = (lookups_t){&scenes[i % 2], &lookups[i % 2], i % 3 == 1 ? 7 : (float)(i % 3)};
    LEAT_EXPECT_OK(leat_thread_start("lookups", run_lookups, &work[i], &threads[i]));
  }
  for (int i = 0; i < 6; ++i) leat_thread_join(threads[i]);
  for (int i = 0; i < 2; ++i) scene_close(&scenes[i]);
}

// A step ends, by its deadline or its session's end, with the work that it enqueued and not before.
static void nothing_hangs(void** state) {
  for (int closes = 0; closes < 2; ++closes) {
    scene_t s;
    open_scene(&s, "memory=1 streams=2 start_us=1", 4);
    leat_output_t y = chain(&s, scene_float(&s, 1), CHAIN);
    leat_device_t* device = accelerator(&s);
    leat_notification_t gate;
    leat_notification_initialize(&gate);
    for (int i = 0; i < 2; ++i) block(device, i, &gate);
    step_t step;
    start(&step, &s, y, closes ? 0 : 20);
    // On a slow machine the step's time is up before all is enqueued; then nothing more comes.
    int64_t limit_ns = closes ? LEAT_DEADLINE_NEVER : leat_clock_now_ns() + 2000000000;
    for (int i = 0; i < 2; ++i) await_enqueued_until(device, i, 1 + CHAIN / 2, limit_ns);
    if (closes) {
      LEAT_EXPECT_OK(leat_session_close(scene_session(&s)));
    } else {
      leat_clock_sleep_ns(30 * 1000000);
    }
    leat_notification_open(&gate);
    leat_thread_join(step.thread);
    scene_expect(step.status, closes ? LEAT_CANCELLED : LEAT_DEADLINE_EXCEEDED, "");
    scene_close(&s);
    leat_notification_deinitialize(&gate);
  }
}

// Every allocation of a step fails once, on the host or on a stream.
static void memory_that_fails(void** state) {
  scene_t s;
  open_scene(&s, "memory=1 streams=2 start_us=1 transfer_us=1", 2);
  lookup_t l = make_lookup(&s);
  float value = 0;
  LEAT_EXPECT_OK(look_up(&s, &l, 1, LEAT_OUTPUT_NONE, &value, l.update));
  leat_tensor_t fed = scene_value(0), got = {0};
  leat_run_t run = {.feeds = &l.index, .feed_values = &fed, .feed_count = 1,
                    .fetches = &l.value, .fetch_values = &got, .fetch_count = 1,
                    .targets = &l.update, .target_count = 1};
  bool met = true;
  for (int64_t n = 1; met; ++n) {
    leat_fault_t fault;
    leat_fault_install(&fault, LEAT_FAULT_ALLOCATION, n);
    leat_status_t status = leat_session_run(scene_session(&s), &run);
    met = leat_fault_remove(&fault);
    if (status && met) {
      scene_expect(status, LEAT_RESOURCE_EXHAUSTED, "");
      continue;
    }
    LEAT_EXPECT_OK(status);
    assert_true(leat_tensor_data(&got, const float)[0] == -1);
    leat_tensor_release(&got);
  }
  leat_tensor_release(&fed);
  scene_close(&s);
}

// ---- Statistics ---------------------------------------------------------------------------------

// A node's time is that on its stream: not that of the call, nor that of waiting there.
static void times_are_those_of_the_device(void** state) {
  enum { NODES = 5 };
  scene_t s;
  open_scene(&s, "memory=1 streams=1 start_us=3000", 1);
  leat_output_t y = chain(&s, scene_float(&s, 1), NODES);
  leat_step_collector_t collector;
  leat_step_collector_initialize(leat_allocator_system(), &collector);
  leat_tensor_t got;
  leat_run_t run = {
      .fetches = &y, .fetch_values = &got, .fetch_count = 1, .collector = &collector};
  LEAT_EXPECT_OK(leat_session_run(scene_session(&s), &run));
  int count = 0;
  int64_t end_ns = 0;
  for (const leat_device_events_t* d = collector.devices; d; d = d->next) {
    for (const leat_node_event_t* e = d->first; e; e = e->next) {
      if (!leat_string_view_equals(e->op, "Neg") && !leat_string_view_equals(e->op, "Square")) {
        continue;
      }
      ++count;
      assert_true(e->end_ns - e->start_ns >= 2900000);
      assert_true(e->start_ns >= end_ns - 500000);  // two clocks
      assert_int_equal(e->outputs[0].dtype, LEAT_DTYPE_FLOAT);
      end_ns = e->end_ns;
    }
  }
  assert_int_equal(count, NODES);
  leat_tensor_release(&got);
  leat_step_collector_deinitialize(&collector);
  scene_close(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_are_enqueued_before_the_first_ends),
      cmocka_unit_test(readers_on_other_streams_wait),
      cmocka_unit_test(many_temporaries_in_little_memory),
      cmocka_unit_test(variables_keep_their_order),
      cmocka_unit_test(an_update_leaves_readers_their_value),
      cmocka_unit_test(a_variable_waits_for_readers_of_its_value),
      cmocka_unit_test(a_failure_ends_its_step),
      cmocka_unit_test(steps_keep_their_failures),
      cmocka_unit_test(nothing_hangs),
      cmocka_unit_test(memory_that_fails),
      cmocka_unit_test(times_are_those_of_the_device),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
