// Several CPU devices in one process: every edge that crosses goes through Send, rendezvous and
// Recv, and nobody sees a difference. Each case assigns nodes to two devices by hand, so that
// values, references to variables, control edges, dead values and loops cross, and compares with
// numbers worked out by hand; it runs on both executors, with 1 and 4 threads, optimized or not.
// Failures and time limits on one device must end the step on the other. How the graph is cut is
// tested in src/master/partitioner_test.c; devices with memory of their own are in
// simulated_test.c.
#include <stdlib.h>

#include "base/clock.h"
#include "session/scene.h"

static void open_devices(scene_t* s, int count, leat_executor_kind_t executor) {
  scene_open(s);
  s->options.cpu_device_count = count;
  s->options.executor = executor;
}

// Runs |test| with two devices on both executors and with 1 and 4 threads.
static void on_two_devices(scene_test_fn_t test) {
  for (int way = 0; way < 8; ++way) {
    scene_t s;
    open_devices(&s, 2, way & 1 ? LEAT_EXECUTOR_DATAFLOW : LEAT_EXECUTOR_AUTOMATIC);
    s.options.intra_op_threads = way & 2 ? 4 : 1;
    s.options.optimize = way & 4;
    test(&s);
    scene_close(&s);
  }
}

static void there_and_back(scene_t* s) {
  leat_output_t x = scene_placeholder(s, "x", LEAT_DTYPE_FLOAT);
  leat_output_t a = scene_unary(s, "Neg", 0, x);
  leat_output_t b = scene_binary(s, "AddV2", 1, a, scene_float(s, 10));
  leat_output_t c = scene_binary(s, "Mul", 0, b, a);
  leat_output_t d = scene_binary(s, "Sub", 1, c, b);
  for (int step = 0; step < 3; ++step) {
    assert_true(scene_get_fed(s, x, 3, d) == -28);
    leat_tensor_t fed = scene_value(2), got[4];
    LEAT_EXPECT_OK(
        scene_run(s, LEAT_INPUTS(x), &fed, LEAT_INPUTS(a, b, c, d), got, NULL, 0));
    const float expected[] = {-2, 8, -16, -24};
    for (int i = 0; i < 4; ++i) {
      assert_true(leat_tensor_data(&got[i], const float)[0] == expected[i]);
      leat_tensor_release(&got[i]);
    }
  }
}

static void feeds_on_either(scene_t* s) {
  leat_output_t x = scene_placeholder(s, "x", LEAT_DTYPE_FLOAT);
  leat_output_t a = scene_pass(s, 1, 0, x);
  leat_output_t b = scene_pass(s, 2, 1, a);
  leat_output_t sum = scene_binary(s, "AddV2", 0, a, b);
  assert_true(scene_get_fed(s, a, 4, sum) == 8);
  assert_int_equal(probe_count(1), 0);
  assert_int_equal(probe_count(2), 1);
  leat_tensor_t fed[2] = {scene_value(1), scene_value(20)}, got;
  LEAT_EXPECT_OK(
      scene_run(s, LEAT_INPUTS(x, b), fed, LEAT_INPUTS(sum), &got, NULL, 0));
  assert_true(leat_tensor_data(&got, const float)[0] == 21);
  assert_int_equal(probe_count(2), 1);
  leat_tensor_release(&got);
}

static void one_send_for_many_readers(scene_t* s) {
  leat_output_t x = scene_pass(s, 1, 0, scene_float(s, 2));
  leat_output_t readers[40];
  for (int i = 0; i < 40; ++i) readers[i] = scene_binary(s, "Mul", 1, x, x);
  leat_output_t sum =
      scene_output(s, "AddN", "sum", "/cpu:1", (leat_outputs_t){readers, 40}, LEAT_NO_ATTRS);
  assert_true(scene_get(s, sum) == 160);
  assert_int_equal(probe_count(1), 1);
}

static leat_output_t enter(scene_t* s, int device, bool constant, leat_output_t x) {
  return scene_output(s, "Enter", "", device ? "/cpu:1" : "/cpu:0", LEAT_INPUTS(x),
                      LEAT_ATTRS(LEAT_STR("frame_name", "loop"),
                                 LEAT_BOOL("is_constant", constant)));
}

// for (x = 1; x < limit; x = 2 x + c), doubled on CPU:1; the limit and c are invariants.
static leat_output_t loop_over_devices(scene_t* s, leat_output_t limit, leat_output_t c) {
  leat_output_t start = enter(s, 0, false, scene_float(s, 1));
  leat_output_t most = enter(s, 0, true, limit), added = enter(s, 0, true, c);
  leat_output_t x = scene_binary(s, "Merge", 0, start, start);
  leat_output_t goes_on =
      scene_unary(s, "LoopCond", 0, scene_binary(s, "Less", 0, x, most));
  leat_output_t parted = scene_binary(s, "Switch", 0, x, goes_on);
  leat_output_t inside = {parted.node, 1};
  leat_output_t doubled = scene_binary(s, "AddV2", 1, inside, inside);
  leat_output_t next =
      scene_unary(s, "NextIteration", 1, scene_binary(s, "AddV2", 1, doubled, added));
  LEAT_EXPECT_OK(leat_graph_set_input(s->graph, x.node, 1, next));
  return scene_unary(s, "Exit", 1, (leat_output_t){parted.node, 0});
}

static void loops_cross(scene_t* s) {
  leat_output_t limit = scene_placeholder(s, "limit", LEAT_DTYPE_FLOAT);
  leat_output_t c = scene_unary(s, "Neg", 1, scene_float(s, -3));
  leat_output_t last = loop_over_devices(s, limit, c);
  assert_true(scene_get_fed(s, limit, 100, last) == 125);  // 1, 5, 13, 29, 61, 125
  assert_true(scene_get_fed(s, limit, 0, last) == 1);
  assert_true(scene_get_fed(s, limit, 1e6, last) == 1048573);
}

// The side that is not taken sends dead values to a device that has no control flow of its own.
static void dead_values_cross(scene_t* s) {
  leat_output_t taken = scene_placeholder(s, "taken", LEAT_DTYPE_FLOAT);
  leat_output_t predicate = scene_binary(s, "Less", 0, scene_float(s, 0), taken);
  leat_output_t parted = scene_binary(s, "Switch", 0, taken, predicate);
  leat_output_t yes = scene_unary(s, "Neg", 1, (leat_output_t){parted.node, 1});
  leat_output_t no = scene_unary(s, "Square", 1, (leat_output_t){parted.node, 0});
  leat_output_t merged = scene_binary(s, "Merge", 0, no, yes);
  assert_true(scene_get_fed(s, taken, 3, merged) == -3);
  assert_true(scene_get_fed(s, taken, -3, merged) == 9);
}

static void control_edges_cross(scene_t* s) {
  int32_t marks[10];
  for (int i = 0; i < 10; ++i) marks[i] = scene_mark(s, i, i % 2);
  for (int i = 1; i < 10; ++i) scene_after(s, marks[i - 1], marks[i]);
  leat_output_t x = scene_float(s, 1);
  leat_output_t last = scene_pass(s, 10, 1, x);
  scene_after(s, last.node, marks[0]);
  assert_true(scene_get(s, last) == 1);
  for (int i = 0; i <= 10; ++i) assert_int_equal(probe_order(i), i == 10 ? 11 : 10 - i);
}

static void several_outputs_cross(scene_t* s) {
  const float values[] = {1, 2, 3, 4};
  leat_output_t x = scene_pass(s, 1, 0, scene_floats(s, 4, values));
  leat_output_t axis = leat_build_scalar(&s->b, LEAT_DTYPE_INT32, 0);
  int32_t split = scene_node(s, "Split", "split", "/cpu:0", LEAT_INPUTS(axis, x),
                             LEAT_ATTRS(LEAT_INT("num_split", 4)));
  leat_output_t joined = scene_output(
      s, "Pack", "pack", "/cpu:1",
      LEAT_INPUTS(leat_node_output(split, 3), leat_node_output(split, 1),
                  leat_node_output(split, 3), leat_node_output(split, 0)),
      LEAT_NO_ATTRS);
  leat_tensor_t got;
  LEAT_EXPECT_OK(scene_fetch(s, joined, &got));
  const float expected[] = {4, 2, 4, 1};
  assert_int_equal(got.shape.element_count, 4);
  for (int i = 0; i < 4; ++i) {
    assert_true(leat_tensor_data(&got, const float)[i] == expected[i]);
  }
  leat_tensor_release(&got);
}

static void variables_live_on_one_device(scene_t* s) {
  leat_attr_t attrs[] = {LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT),
                         LEAT_SHAPE("shape", leat_partial_shape_scalar())};
  leat_output_t v = scene_output(s, "VariableV2", "v", "/device:CPU:1", LEAT_NO_INPUTS,
                                 (leat_attrs_t){attrs, 2});
  // No device asked for: the update goes where the variable is.
  leat_output_t set = scene_binary(s, "Assign", -1, v, scene_float(s, 3));
  leat_output_t elsewhere = scene_unary(s, "Neg", 0, v);
  assert_true(scene_get(s, set) == 3);
  assert_true(scene_get(s, elsewhere) == -3);
  assert_true(scene_get(s, v) == 3);
}

// Failing where another device waits for a value, and where the failing device waits itself.
static void failures_reach_everybody(scene_t* s) {
  leat_output_t x = scene_placeholder(s, "x", LEAT_DTYPE_FLOAT);
  leat_output_t bad = scene_fail(s, LEAT_DATA_LOSS, 0, x);
  leat_output_t there = scene_unary(s, "Neg", 1, bad);
  leat_output_t back = scene_binary(s, "AddV2", 0, there, scene_pass(s, 1, 0, x));
  leat_output_t on_the_other = scene_fail(s, LEAT_UNAVAILABLE, 1, scene_unary(s, "Neg", 0, x));
  leat_output_t waits = scene_unary(s, "Neg", 0, on_the_other);
  const leat_output_t fetches[] = {there, back, waits};
  const leat_status_code_t codes[] = {LEAT_DATA_LOSS, LEAT_DATA_LOSS, LEAT_UNAVAILABLE};
  for (int i = 0; i < 6; ++i) {
    leat_tensor_t fed = scene_value(1), got;
    scene_expect(
        scene_run(s, LEAT_INPUTS(x), &fed, LEAT_INPUTS(fetches[i % 3]), &got, NULL, 0),
        codes[i % 3], "the probe fails");
    assert_true(scene_get_fed(s, bad, 5, there) == -5);  // the session goes on
  }
}

// A value goes to and fro so often that handing it over by plain calls would end the stack.
static void ping_pong(scene_t* s) {
  leat_output_t x = scene_placeholder(s, "x", LEAT_DTYPE_FLOAT);
  leat_output_t y = x;
  leat_output_t one = scene_float(s, 1);
  for (int i = 0; i < 20000; ++i) {
    y = scene_output(s, "AddV2", "", i % 2 ? "/cpu:1" : "/cpu:0", LEAT_INPUTS(y, one),
                     LEAT_NO_ATTRS);
  }
  assert_true(scene_get_fed(s, x, 1, y) == 20001);
}

static void many_devices(void** state) {
  for (int count = 3; count <= 200; count += 61) {
    scene_t s;
    open_devices(&s, count, LEAT_EXECUTOR_AUTOMATIC);
    leat_output_t x = scene_placeholder(&s, "x", LEAT_DTYPE_FLOAT), y = x;
    for (int i = 0; i < 2 * count; ++i) {
      y = scene_binary(&s, "AddV2", (i * 7) % count, y, scene_float(&s, 1));
    }
    assert_int_equal(leat_session_device_count(scene_session(&s)), count);
    assert_true(scene_get_fed(&s, x, 0, y) == (float)(2 * count));
    scene_close(&s);
  }
}

static void no_such_device(void** state) {
  scene_t s;
  open_devices(&s, 2, LEAT_EXECUTOR_AUTOMATIC);
  leat_output_t x = scene_float(&s, 1);
  leat_output_t good = scene_unary(&s, "Neg", 1, x);
  assert_true(scene_get(&s, good) == -1);
  leat_output_t bad = scene_unary(&s, "Neg", 2, x);
  leat_tensor_t got;
  scene_expect(scene_fetch(&s, bad, &got), LEAT_INVALID_ARGUMENT, "CPU:1");
  scene_close(&s);
}

// ---- Steps that must end ------------------------------------------------------------------------

static void deadline_while_waiting(scene_t* s) {
  leat_output_t x = scene_pass(s, 1, 1, scene_float(s, 2));
  leat_output_t waits = scene_wait(s, 2, 0, x);
  leat_output_t far = scene_unary(s, "Neg", 1, waits);
  leat_output_t fetches[] = {far};
  leat_run_t run = {.fetches = fetches, .fetch_count = 1, .timeout_ms = 50};
  leat_tensor_t got;
  run.fetch_values = &got;
  int64_t start = leat_clock_now_ns();
  scene_expect(leat_session_run(scene_session(s), &run), LEAT_DEADLINE_EXCEEDED, "timeout");
  assert_true(leat_clock_now_ns() - start < INT64_C(5000000000));
  assert_int_equal(probe_waiting(2), 0);
  probe_open(2);
  assert_true(scene_get(s, far) == -2);
}

#define TWO_DEVICES(test) \
  static void test##_on_two_devices(void** state) { on_two_devices(test); }
TWO_DEVICES(there_and_back)
TWO_DEVICES(feeds_on_either)
TWO_DEVICES(one_send_for_many_readers)
TWO_DEVICES(control_edges_cross)
TWO_DEVICES(loops_cross)
TWO_DEVICES(dead_values_cross)
TWO_DEVICES(several_outputs_cross)
TWO_DEVICES(variables_live_on_one_device)
TWO_DEVICES(failures_reach_everybody)
TWO_DEVICES(ping_pong)
TWO_DEVICES(deadline_while_waiting)

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(there_and_back_on_two_devices),
      cmocka_unit_test(feeds_on_either_on_two_devices),
      cmocka_unit_test(one_send_for_many_readers_on_two_devices),
      cmocka_unit_test(control_edges_cross_on_two_devices),
      cmocka_unit_test(loops_cross_on_two_devices),
      cmocka_unit_test(dead_values_cross_on_two_devices),
      cmocka_unit_test(several_outputs_cross_on_two_devices),
      cmocka_unit_test(variables_live_on_one_device_on_two_devices),
      cmocka_unit_test(failures_reach_everybody_on_two_devices),
      cmocka_unit_test(ping_pong_on_two_devices),
      cmocka_unit_test(many_devices),
      cmocka_unit_test(no_such_device),
      cmocka_unit_test(deadline_while_waiting_on_two_devices),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
