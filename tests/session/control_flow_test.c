// Conditions and loops (white paper, section 4.4), one thing at a time, on the ordered and the
// dataflow executor, with one thread and with several, optimised or not: scene_run_all_ways()
// repeats each case in all of these ways. A case is a graph of one surprise, such as variables that
// swap, a dead loop with live invariants, or a value that may be overwritten in one branch only. It
// is fed with values that lead each way. The last cases close a session under endless loops, share
// a loop among threads, and look at traces. Random programs are in random_flow_test.c.
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/thread.h"
#include "session/flow.h"
#include "trace/collector.h"

// ---- Short forms --------------------------------------------------------------------------------

static leat_output_t add(scene_t* s, leat_output_t a, leat_output_t b) {
  return scene_binary(s, "AddV2", -1, a, b);
}

static leat_output_t to_float(scene_t* s, leat_output_t x) {
  return scene_output(s, "Cast", "", "", LEAT_INPUTS(x),
                      LEAT_ATTRS(LEAT_TYPE("DstT", LEAT_DTYPE_FLOAT)));
}

static leat_output_t float_placeholder(scene_t* s) {
  return scene_placeholder(s, "x", LEAT_DTYPE_FLOAT);
}

static leat_output_t below_zero(scene_t* s, leat_output_t x) {
  return scene_binary(s, "Less", -1, x, scene_float(s, 0));
}

// A fed float as a count.
static leat_output_t as_count(scene_t* s, leat_output_t x) {
  return scene_output(s, "Cast", "", "", LEAT_INPUTS(x),
                      LEAT_ATTRS(LEAT_TYPE("DstT", LEAT_DTYPE_INT32)));
}

static leat_output_t after(scene_t* s, leat_output_t x, int32_t earlier) {
  leat_output_t identity = scene_unary(s, "Identity", -1, x);
  scene_after(s, identity.node, earlier);
  return identity;
}

static leat_status_t fetch_fed(scene_t* s, leat_output_t feed, float value, leat_output_t fetch,
                               leat_tensor_t* out_value) {
  leat_tensor_t fed = scene_value(value);
  return scene_run(s, LEAT_INPUTS(feed), &fed, LEAT_INPUTS(fetch), out_value, NULL, 0);
}

// ---- Conditions ---------------------------------------------------------------------------------

static void both_branches_give_the_input(scene_t* s) {
  leat_output_t x = float_placeholder(s), pred = below_zero(s, x);
  leat_output_t side = flow_switch(s, x, pred, 0);
  leat_output_t y = flow_merge(s, side, leat_node_output(side.node, 1));
  for (int i = -2; i < 3; ++i) assert_true(scene_get_fed(s, x, (float)i, y) == (float)i);
}

// A constant and a fed value are there from the beginning: a Merge that is to run after them must
// not wait for them.
static void a_merge_waits_for_what_is_there(scene_t* s) {
  leat_output_t x = float_placeholder(s), pred = below_zero(s, x), two = scene_float(s, 2);
  leat_output_t side = flow_switch(s, x, pred, 0);
  leat_output_t y = flow_merge(s, side, scene_unary(s, "Neg", -1, leat_node_output(side.node, 1)));
  scene_after(s, y.node, two.node);
  scene_after(s, y.node, x.node);
  for (int i = -2; i < 3; ++i) assert_true(scene_get_fed(s, x, (float)i, y) == (float)abs(i));
}

static void one_branch_overwrites_its_input(scene_t* s) {
  leat_output_t x = float_placeholder(s), pred = below_zero(s, x);
  leat_output_t passed = scene_pass(s, 1, -1, x);  // a value of its own
  leat_output_t side = flow_switch(s, passed, pred, 0);
  leat_output_t negated = scene_unary(s, "Neg", -1, leat_node_output(side.node, 1));
  leat_output_t y = flow_merge(s, side, negated);
  leat_output_t sum = add(s, y, scene_unary(s, "Neg", -1, passed));
  assert_true(scene_get_fed(s, x, 3, sum) == 0);
  assert_true(scene_get_fed(s, x, -3, sum) == 6);
  assert_true(scene_get_fed(s, x, 4, y) == 4 && scene_get_fed(s, x, -4, y) == 4);
}

static void controls_meet_in_a_branch(scene_t* s) {
  leat_output_t x = float_placeholder(s), pred = below_zero(s, x);
  leat_output_t side = flow_switch(s, x, pred, 0);
  int32_t meeting = scene_node(s, "NoOp", "", "", LEAT_NO_INPUTS, LEAT_NO_ATTRS);
  for (int id = 1; id <= 3; ++id) scene_after(s, meeting, scene_pass(s, id, -1, side).node);
  leat_output_t c = scene_float(s, 7);
  scene_after(s, c.node, meeting);
  leat_output_t y = flow_merge(s, c, leat_node_output(side.node, 1));
  assert_true(scene_get_fed(s, x, -1, y) == -1);
  for (int id = 1; id <= 3; ++id) assert_int_equal(probe_count(id), 0);
  assert_true(scene_get_fed(s, x, 1, y) == 7);
  for (int id = 1; id <= 3; ++id) assert_int_equal(probe_count(id), 1);
}

static void the_index_of_a_branch(scene_t* s) {
  leat_output_t x = float_placeholder(s), side = flow_switch(s, x, below_zero(s, x), 0);
  leat_output_t merge = flow_merge(s, side, scene_unary(s, "Neg", -1,
                                                        leat_node_output(side.node, 1)));
  leat_output_t index = to_float(s, flow_index(merge));
  leat_output_t both = add(s, merge, scene_binary(s, "Mul", -1, index, scene_float(s, 100)));
  assert_true(scene_get_fed(s, x, 2, index) == 0 && scene_get_fed(s, x, -2, index) == 1);
  assert_true(scene_get_fed(s, x, 2, both) == 2 && scene_get_fed(s, x, -2, both) == 102);
}

// A constant that waits for two branches is live when both are taken, not when one of them is.
static void a_constant_waits_for_two_branches(scene_t* s) {
  leat_output_t x = float_placeholder(s), seven = scene_float(s, 7);
  leat_output_t preds[] = {below_zero(s, x),
                           scene_binary(s, "Less", -1, scene_float(s, -5), x)};
  for (int i = 0; i < 2; ++i) {
    leat_output_t taken = scene_unary(s, "Identity", -1, flow_switch(s, x, preds[i], 1));
    scene_after(s, seven.node, taken.node);
  }
  leat_output_t y = scene_unary(s, "Neg", -1, seven);
  leat_tensor_t got;
  scene_expect(fetch_fed(s, x, -9, y, &got), LEAT_INVALID_ARGUMENT, "dead tensor");
  scene_expect(fetch_fed(s, x, 3, y, &got), LEAT_INVALID_ARGUMENT, "dead tensor");
  assert_true(scene_get_fed(s, x, -3, y) == -7);
}

static void a_dead_fetch_is_refused(scene_t* s) {
  leat_output_t x = float_placeholder(s), side = flow_switch(s, x, below_zero(s, x), 0);
  leat_output_t other = leat_node_output(side.node, 1);
  leat_output_t through = scene_unary(s, "Identity", -1, side);
  leat_output_t y = flow_merge(s, through, other), sides[] = {side, through};
  // The optimizer may have put the Switch in the Identity's place.
  static const char* const kMessages[] = {"fetch 'Switch:0' was not computed (a dead tensor)",
                                          ":0' was not computed (a dead tensor)"};
  leat_tensor_t got;
  for (int i = 0; i < 2; ++i) {
    scene_expect(fetch_fed(s, x, -1, sides[i], &got), LEAT_INVALID_ARGUMENT, kMessages[i]);
    assert_true(scene_get_fed(s, x, 1, sides[i]) == 1);
  }
  scene_expect(fetch_fed(s, x, 1, other, &got), LEAT_INVALID_ARGUMENT, "dead tensor");
  assert_true(scene_get_fed(s, x, -5, other) == -5 && scene_get_fed(s, x, -5, y) == -5);
  leat_tensor_t fed = scene_value(2), values[3];
  LEAT_EXPECT_OK(
      scene_run(s, LEAT_INPUTS(x), &fed, LEAT_INPUTS(y, side, through), values, NULL, 0));
  for (int i = 0; i < 3; ++i) {
    assert_true(leat_tensor_data(&values[i], const float)[0] == 2);
    leat_tensor_release(&values[i]);
  }
}

// ---- Loops --------------------------------------------------------------------------------------

static void variables_swap(scene_t* s) {
  leat_output_t x = float_placeholder(s);
  flow_loop_t loop;
  flow_loop_count(s, "loop", as_count(s, x), LEAT_INPUTS(scene_float(s, 1), scene_float(s, 2)),
                  &loop);
  flow_loop_next(&loop, 1, loop.values[2]);
  flow_loop_next(&loop, 2, loop.values[1]);
  leat_output_t a = flow_loop_exit(&loop, 1), b = flow_loop_exit(&loop, 2);
  leat_output_t both = add(s, scene_binary(s, "Mul", -1, a, scene_float(s, 10)), b);
  for (int n = 0; n < 5; ++n) {
    assert_true(scene_get_fed(s, x, (float)n, a) == (float)(1 + n % 2));
    assert_true(scene_get_fed(s, x, (float)n, both) == (n % 2 ? 21 : 12));
  }
}

static void fibonacci(scene_t* s) {
  leat_output_t x = float_placeholder(s);
  flow_loop_t loop;
  flow_loop_count(s, "loop", as_count(s, x), LEAT_INPUTS(scene_float(s, 0), scene_float(s, 1)),
                  &loop);
  flow_loop_next(&loop, 1, loop.values[2]);
  flow_loop_next(&loop, 2, add(s, loop.values[1], loop.values[2]));
  leat_output_t a = flow_loop_exit(&loop, 1);
  flow_loop_exit(&loop, 2);  // nobody reads it
  const float expected[] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55};
  for (int n = 0; n <= 10; ++n) assert_true(scene_get_fed(s, x, (float)n, a) == expected[n]);
}

static void a_variable_that_stays(scene_t* s) {
  leat_output_t x = float_placeholder(s);
  flow_loop_t loop;
  flow_loop_count(s, "loop", flow_int(s, 6), LEAT_INPUTS(x, scene_float(s, 0)), &loop);
  flow_loop_next(&loop, 1, loop.values[1]);
  flow_loop_next(&loop, 2, add(s, loop.values[2], loop.values[1]));
  leat_output_t fetches[] = {flow_loop_exit(&loop, 1), flow_loop_exit(&loop, 2)};
  for (int step = 1; step < 4; ++step) {
    leat_tensor_t fed = scene_value((float)step), got[2];
    LEAT_EXPECT_OK(
        scene_run(s, LEAT_INPUTS(x), &fed, (leat_outputs_t){fetches, 2}, got, NULL, 0));
    for (int i = 0; i < 2; ++i) {
      assert_true(leat_tensor_data(&got[i], const float)[0] == (float)(step * (i ? 6 : 1)));
      leat_tensor_release(&got[i]);
    }
  }
}

static void invariants_in_nested_loops(scene_t* s) {
  leat_output_t x = float_placeholder(s);
  flow_loop_t outer, inner;
  flow_loop_count(s, "outer", flow_int(s, 3), LEAT_INPUTS(scene_float(s, 0)), &outer);
  leat_output_t around = flow_loop_invariant(&outer, x);
  leat_output_t four = flow_loop_invariant(&outer, flow_int(s, 4));
  leat_output_t zero = flow_int(s, 0);
  scene_after(s, zero.node, outer.pivot);
  flow_loop_open(s, "inner", LEAT_INPUTS(zero, outer.values[1]), &inner);
  leat_output_t limit = flow_loop_invariant(&inner, four);
  flow_loop_test(&inner, scene_binary(s, "Less", -1, inner.values[0], limit));
  leat_output_t in = flow_loop_invariant(&inner, around), one = flow_int(s, 1);
  scene_after(s, one.node, inner.pivot);
  flow_loop_next(&inner, 0, add(s, inner.values[0], one));
  flow_loop_next(&inner, 1, add(s, inner.values[1], in));
  flow_loop_next(&outer, 1, flow_loop_exit(&inner, 1));
  leat_output_t y = flow_loop_exit(&outer, 1);
  assert_true(scene_get_fed(s, x, 2, y) == 24 && scene_get_fed(s, x, -1, y) == -12);
}

// What enters is dead, what all iterations see is live: the loop must end, with dead Exits.
static void a_dead_loop_with_live_invariants(scene_t* s) {
  leat_output_t x = float_placeholder(s), pred = below_zero(s, x);
  leat_output_t side = flow_switch(s, x, pred, 1), zero = flow_int(s, 0);
  scene_after(s, zero.node, scene_unary(s, "Identity", -1, side).node);
  flow_loop_t loop;
  flow_loop_open(s, "loop", LEAT_INPUTS(zero, side), &loop);
  leat_output_t three = flow_loop_invariant(&loop, flow_int(s, 3));
  flow_loop_test(&loop, scene_binary(s, "Less", -1, loop.values[0], three));
  leat_output_t step = flow_loop_invariant(&loop, scene_float(s, 10)), one = flow_int(s, 1);
  scene_after(s, one.node, loop.pivot);
  flow_loop_next(&loop, 0, add(s, loop.values[0], one));
  flow_loop_next(&loop, 1, add(s, scene_pass(s, 1, -1, loop.values[1]), step));
  leat_output_t y = flow_merge(s, leat_node_output(side.node, 0), flow_loop_exit(&loop, 1));
  assert_true(scene_get_fed(s, x, 1, y) == 1);
  assert_int_equal(probe_count(1), 0);
  assert_true(scene_get_fed(s, x, -1, y) == 29);
  assert_int_equal(probe_count(1), 3);
  assert_true(scene_get_fed(s, x, 5, y) == 5);
}

static void constants_in_the_body(scene_t* s) {
  leat_output_t x = float_placeholder(s);
  flow_loop_t loop;
  flow_loop_count(s, "loop", as_count(s, x), LEAT_INPUTS(scene_float(s, 1)), &loop);
  leat_output_t three = scene_float(s, 3), five = scene_float(s, 5);
  scene_after(s, three.node, loop.pivot);
  scene_after(s, five.node, loop.pivot);
  scene_after(s, five.node, three.node);
  leat_output_t shifted = add(s, scene_unary(s, "Neg", -1, five), five);  // 0
  flow_loop_next(&loop, 1, add(s, add(s, loop.values[1], three), shifted));
  leat_output_t y = flow_loop_exit(&loop, 1);
  for (int n = 0; n < 4; ++n) assert_true(scene_get_fed(s, x, (float)n, y) == (float)(1 + 3 * n));
}

static void the_index_of_a_loop(scene_t* s) {
  leat_output_t x = float_placeholder(s);
  flow_loop_t loop;
  flow_loop_count(s, "loop", as_count(s, x), LEAT_INPUTS(scene_float(s, 0)), &loop);
  leat_output_t index = to_float(s, after(s, flow_index(loop.merges[1]), loop.pivot));
  flow_loop_next(&loop, 1, add(s, loop.values[1], index));
  leat_output_t y = flow_loop_exit(&loop, 1);
  for (int n = 0; n < 4; ++n) {
    assert_true(scene_get_fed(s, x, (float)n, y) == (float)(n ? n - 1 : 0));
  }
}

static void controls_leave_a_loop(scene_t* s) {
  leat_output_t x = float_placeholder(s);
  flow_loop_t loop;
  flow_loop_count(s, "loop", as_count(s, x), LEAT_INPUTS(x), &loop);
  flow_loop_next(&loop, 1, scene_pass(s, 1, -1, loop.values[1]));
  leat_output_t late = scene_pass(s, 2, -1, x);
  scene_after(s, late.node, flow_loop_exit(&loop, 1).node);
  assert_true(scene_get_fed(s, x, 3, late) == 3);
  assert_int_equal(probe_count(1), 3);
  assert_int_equal(probe_order(2), 4);
}

// Values large enough to be worth overwriting in place, with readers that come later.
static void large_values_keep(scene_t* s) {
  enum { kSize = 50000 };
  float* values = calloc(kSize, sizeof *values);
  for (int i = 0; i < kSize; ++i) values[i] = (float)i;
  leat_output_t x = float_placeholder(s);
  leat_output_t start = scene_pass(s, 1, -1, scene_floats(s, kSize, values));
  flow_loop_t loop;
  flow_loop_count(s, "loop", as_count(s, x), LEAT_INPUTS(start, start), &loop);
  leat_output_t more = add(s, loop.values[1], flow_loop_invariant(&loop, scene_float(s, 1)));
  flow_loop_next(&loop, 1, more);
  flow_loop_next(&loop, 2, scene_binary(s, "Maximum", -1, scene_unary(s, "Neg", -1, loop.values[1]),
                                        loop.values[2]));
  leat_output_t a = flow_loop_exit(&loop, 1), b = flow_loop_exit(&loop, 2);
  for (int n = 0; n < 4; ++n) {
    leat_tensor_t fed = scene_value((float)n), got[3];
    LEAT_EXPECT_OK(scene_run(s, LEAT_INPUTS(x), &fed, LEAT_INPUTS(start, a, b), got, NULL, 0));
    for (int i = 0; i < kSize; i += 97) {
      assert_true(leat_tensor_data(&got[0], const float)[i] == values[i]);
      assert_true(leat_tensor_data(&got[1], const float)[i] == values[i] + (float)n);
      assert_true(leat_tensor_data(&got[2], const float)[i] == values[i]);
    }
    for (int i = 0; i < 3; ++i) leat_tensor_release(&got[i]);
  }
  free(values);
}

// ---- State --------------------------------------------------------------------------------------

// In the inner loop's iteration |x| a kernel fails; for another x it does not run.
static void a_failure_in_an_inner_loop(scene_t* s) {
  leat_output_t x = float_placeholder(s);
  flow_loop_t outer, inner;
  flow_loop_count(s, "outer", flow_int(s, 2), LEAT_INPUTS(scene_float(s, 0)), &outer);
  leat_output_t at = flow_loop_invariant(&outer, x);
  leat_output_t five = flow_loop_invariant(&outer, scene_float(s, 5));
  leat_output_t zero = scene_float(s, 0), one = scene_float(s, 1);
  scene_after(s, zero.node, outer.pivot);
  flow_loop_open(s, "inner", LEAT_INPUTS(zero, outer.values[1]), &inner);
  leat_output_t limit = flow_loop_invariant(&inner, five), bad = flow_loop_invariant(&inner, at);
  flow_loop_test(&inner, scene_binary(s, "Less", -1, inner.values[0], limit));
  leat_output_t pred = scene_binary(s, "Equal", -1, inner.values[0], bad);
  leat_output_t side = flow_switch(s, inner.values[1], pred, 1);
  leat_output_t failed = scene_fail(s, LEAT_DATA_LOSS, -1, side);
  scene_after(s, one.node, inner.pivot);
  flow_loop_next(&inner, 0, add(s, inner.values[0], one));
  leat_output_t merged = flow_merge(s, leat_node_output(side.node, 0), failed);
  flow_loop_next(&inner, 1, add(s, merged, one));
  flow_loop_next(&outer, 1, flow_loop_exit(&inner, 1));
  leat_output_t y = flow_loop_exit(&outer, 1);
  leat_tensor_t got;
  for (int step = 0; step < 3; ++step) {
    scene_expect(fetch_fed(s, x, 3, y, &got), LEAT_DATA_LOSS, "ProbeFail");
    assert_true(scene_get_fed(s, x, 9, y) == 10);
  }
}

static leat_attrs_t variable_attrs(void) {
  static leat_attr_t attrs[2];
  attrs[0] = LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT);
  attrs[1] = LEAT_SHAPE("shape", leat_partial_shape_scalar());
  return (leat_attrs_t){attrs, 2};
}

static void reference_variables(scene_t* s) {
  leat_output_t v = scene_output(s, "VariableV2", "v", "", LEAT_NO_INPUTS, variable_attrs());
  leat_output_t set = scene_binary(s, "Assign", -1, v, scene_float(s, 10));
  flow_loop_t loop;
  flow_loop_count(s, "loop", flow_int(s, 4), LEAT_NO_INPUTS, &loop);
  leat_output_t ref = scene_output(s, "RefEnter", "", "", LEAT_INPUTS(v),
                                   LEAT_ATTRS(LEAT_STR("frame_name", "loop"),
                                              LEAT_BOOL("is_constant", true)));
  leat_output_t two = scene_float(s, 2);
  scene_after(s, two.node, loop.pivot);
  leat_output_t update = scene_binary(s, "AssignAdd", -1, ref, two), one = flow_int(s, 1);
  scene_after(s, one.node, loop.pivot);
  flow_loop_next(&loop, 0, after(s, add(s, loop.values[0], one), update.node));
  leat_output_t count = to_float(s, flow_loop_exit(&loop, 0));
  assert_true(scene_get(s, set) == 10);
  assert_true(scene_get(s, count) == 4 && scene_get(s, v) == 18);
  assert_true(scene_get(s, count) == 4 && scene_get(s, v) == 26);
}

static void resource_variables(scene_t* s) {
  leat_output_t v = scene_output(s, "VarHandleOp", "v", "", LEAT_NO_INPUTS, variable_attrs());
  leat_attrs_t type = LEAT_ATTRS(LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT));
  int32_t set = scene_node(s, "AssignVariableOp", "", "", LEAT_INPUTS(v, scene_float(s, 1)),
                           LEAT_NO_ATTRS);
  flow_loop_t loop;
  flow_loop_count(s, "loop", flow_int(s, 5), LEAT_INPUTS(scene_float(s, 0)), &loop);
  leat_output_t in = flow_loop_invariant(&loop, v);
  leat_output_t old = scene_output(s, "ReadVariableOp", "", "", LEAT_INPUTS(in), type);
  scene_after(s, old.node, loop.pivot);
  int32_t update = scene_node(s, "AssignAddVariableOp", "", "", LEAT_INPUTS(in, old),
                              LEAT_NO_ATTRS);
  leat_output_t fresh = scene_output(s, "ReadVariableOp", "", "", LEAT_INPUTS(in), type);
  scene_after(s, fresh.node, update);
  flow_loop_next(&loop, 1, fresh);
  // The next iteration is not to begin before this one has written.
  leat_output_t y = flow_loop_exit(&loop, 1);
  scene_after(s, old.node, scene_unary(s, "Identity", -1, loop.values[1]).node);
  LEAT_EXPECT_OK(scene_target(s, set));
  assert_true(scene_get(s, y) == 32);
  assert_true(scene_get(s, y) == 1024);
}

static void tensor_arrays_and_stacks(scene_t* s) {
  leat_output_t x = float_placeholder(s), count = as_count(s, x);
  leat_attrs_t type = LEAT_ATTRS(LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT));
  int32_t array = scene_node(s, "TensorArrayV3", "", "", LEAT_INPUTS(count), type);
  leat_output_t stack = scene_output(s, "StackV2", "", "", LEAT_INPUTS(flow_int(s, -1)),
                                     LEAT_ATTRS(LEAT_TYPE("elem_type", LEAT_DTYPE_FLOAT)));
  flow_loop_t fill, drain;
  flow_loop_count(s, "fill", count, LEAT_INPUTS(leat_node_output(array, 1), scene_float(s, 1)),
                  &fill);
  leat_output_t value = fill.values[2];
  leat_output_t flow = scene_output(
      s, "TensorArrayWriteV3", "", "",
      LEAT_INPUTS(flow_loop_invariant(&fill, leat_node_output(array, 0)), fill.values[0], value,
                  fill.values[1]), LEAT_NO_ATTRS);
  leat_output_t pushed = scene_binary(s, "StackPushV2", -1, flow_loop_invariant(&fill, stack),
                                      value);
  flow_loop_next(&fill, 1, flow);
  flow_loop_next(&fill, 2, add(s, pushed, value));
  leat_output_t filled = flow_loop_exit(&fill, 1), last = flow_loop_exit(&fill, 2);
  flow_loop_count(s, "drain", after(s, count, last.node), LEAT_INPUTS(scene_float(s, 0)), &drain);
  leat_output_t popped = scene_output(s, "StackPopV2", "", "",
                                      LEAT_INPUTS(flow_loop_invariant(&drain, stack)),
                                      LEAT_ATTRS(LEAT_TYPE("elem_type", LEAT_DTYPE_FLOAT)));
  scene_after(s, popped.node, scene_unary(s, "Identity", -1, drain.values[1]).node);
  leat_output_t ten = scene_float(s, 10);
  scene_after(s, ten.node, drain.pivot);
  flow_loop_next(&drain, 1, add(s, scene_binary(s, "Mul", -1, drain.values[1], ten), popped));
  leat_output_t size = to_float(
      s, scene_output(s, "TensorArraySizeV3", "", "",
                      LEAT_INPUTS(leat_node_output(array, 0), filled), LEAT_NO_ATTRS));
  leat_output_t y = flow_loop_exit(&drain, 1);
  assert_true(scene_get_fed(s, x, 4, y) == 8421);  // what went in first comes out last
  assert_true(scene_get_fed(s, x, 3, size) == 3);
  assert_true(scene_get_fed(s, x, 2, y) == 21 && scene_get_fed(s, x, 0, y) == 0);
}

static void asynchronous_kernels(scene_t* s) {
  static const int32_t types[] = {LEAT_DTYPE_FLOAT};
  const leat_attr_t attr = {LEAT_SV("component_types"),
                            {.kind = LEAT_ATTR_TYPE, .is_list = true, .count = 1, .types = types}};
  leat_output_t x = float_placeholder(s);
  leat_output_t queue = scene_output(s, "FIFOQueueV2", "q", "", LEAT_NO_INPUTS,
                                     (leat_attrs_t){&attr, 1});
  int32_t put = scene_node(s, "QueueEnqueueV2", "", "", LEAT_INPUTS(queue, x), LEAT_NO_ATTRS);
  flow_loop_t loop;
  flow_loop_count(s, "loop", flow_int(s, 3), LEAT_INPUTS(scene_float(s, 0)), &loop);
  leat_output_t got = scene_output(s, "QueueDequeueV2", "", "",
                                   LEAT_INPUTS(flow_loop_invariant(&loop, queue)),
                                   (leat_attrs_t){&attr, 1});
  scene_after(s, got.node, scene_unary(s, "Identity", -1, loop.values[1]).node);
  leat_output_t ten = flow_loop_invariant(&loop, scene_float(s, 10));
  flow_loop_next(&loop, 1, add(s, scene_binary(s, "Mul", -1, loop.values[1], ten), got));
  leat_output_t y = flow_loop_exit(&loop, 1);
  for (int step = 0; step < 2; ++step) {
    for (int i = 1; i <= 3; ++i) {
      leat_tensor_t fed = scene_value((float)(i + step));
      LEAT_EXPECT_OK(scene_run(s, LEAT_INPUTS(x), &fed, LEAT_NO_INPUTS, NULL, &put, 1));
    }
    assert_true(scene_get(s, y) == (step ? 234 : 123));
  }
}

// ---- Steps --------------------------------------------------------------------------------------

// while (i < x): i stays.
static leat_output_t endless_loop(scene_t* s, leat_output_t x) {
  flow_loop_t loop;
  flow_loop_open(s, "endless", LEAT_INPUTS(scene_float(s, 0)), &loop);
  leat_output_t limit = flow_loop_invariant(&loop, x);
  flow_loop_test(&loop, scene_binary(s, "Less", -1, loop.values[0], limit));
  flow_loop_next(&loop, 0, loop.values[0]);
  return flow_loop_exit(&loop, 0);
}

static void an_endless_loop_has_a_deadline(scene_t* s) {
  leat_output_t x = float_placeholder(s), y = endless_loop(s, x);
  leat_tensor_t fed = scene_value(1), got;
  leat_run_t run = {.feeds = &x, .feed_values = &fed, .feed_count = 1, .fetches = &y,
                    .fetch_values = &got, .fetch_count = 1, .timeout_ms = 10};
  scene_expect(leat_session_run(scene_session(s), &run), LEAT_DEADLINE_EXCEEDED, "");
  leat_tensor_release(&fed);
  assert_true(scene_get_fed(s, x, -1, y) == 0);
}

static void close_soon(void* data) {
  leat_clock_sleep_ns(10000000);
  LEAT_EXPECT_OK(leat_session_close(data));
}

static void an_endless_loop_is_closed(scene_t* s) {
  leat_output_t x = float_placeholder(s), y = endless_loop(s, x);
  leat_thread_t thread;
  leat_tensor_t got;
  LEAT_EXPECT_OK(leat_thread_start("close", close_soon, scene_session(s), &thread));
  scene_expect(fetch_fed(s, x, 1, y, &got), LEAT_CANCELLED, "");
  leat_thread_join(thread);
}

typedef struct crowd_s {
  scene_t* scene;
  leat_output_t x, y;
  leat_thread_t thread;
  int wrong;
} crowd_t;

static void join_crowd(void* data) {
  crowd_t* c = data;
  for (int n = 0; n < 12; ++n) {
    float count = (float)(n % 7);
    leat_tensor_t fed, got;
    leat_status_t status = leat_tensor_scalar(LEAT_DTYPE_FLOAT, &count, &fed);
    leat_run_t run = {.feeds = &c->x, .feed_values = &fed, .feed_count = 1, .fetches = &c->y,
                      .fetch_values = &got, .fetch_count = 1};
    if (!status) status = leat_session_run(c->scene->session, &run);
    leat_tensor_release(&fed);
    bool right = !status && *leat_tensor_data(&got, const float) == count * count;
    if (!status) leat_tensor_release(&got);
    leat_status_free(status);
    c->wrong += !right;
  }
}

static void threads_share_a_loop(scene_t* s) {
  leat_output_t x = float_placeholder(s);
  flow_loop_t loop;
  flow_loop_count(s, "loop", as_count(s, x), LEAT_INPUTS(scene_float(s, 0)), &loop);
  flow_loop_next(&loop, 1, add(s, loop.values[1], flow_loop_invariant(&loop, x)));
  leat_output_t y = flow_loop_exit(&loop, 1);
  scene_session(s);
  crowd_t crowd[8];
  for (int i = 0; i < 8; ++i) {
    crowd[i] = (crowd_t){.scene = s, .x = x, .y = y};
    LEAT_EXPECT_OK(leat_thread_start("crowd", join_crowd, &crowd[i], &crowd[i].thread));
  }
  for (int i = 0; i < 8; ++i) leat_thread_join(crowd[i].thread);
  for (int i = 0; i < 8; ++i) assert_int_equal(crowd[i].wrong, 0);
}

static void a_trace_has_every_iteration(scene_t* s) {
  leat_output_t x = float_placeholder(s);
  flow_loop_t loop;
  flow_loop_count(s, "loop", as_count(s, x), LEAT_INPUTS(x), &loop);
  flow_loop_next(&loop, 1, scene_pass(s, 1, -1, loop.values[1]));
  leat_output_t y = flow_loop_exit(&loop, 1);
  for (int n = 0; n < 4; ++n) {
    leat_tensor_t fed = scene_value((float)n), got;
    leat_step_collector_t collector;
    leat_step_collector_initialize(leat_allocator_system(), &collector);
    leat_run_t run = {.feeds = &x, .feed_values = &fed, .feed_count = 1, .fetches = &y,
                      .fetch_values = &got, .fetch_count = 1, .collector = &collector};
    LEAT_EXPECT_OK(leat_session_run(scene_session(s), &run));
    int passes = 0;
    for (leat_device_events_t* d = collector.devices; d; d = d->next) {
      for (leat_node_event_t* e = d->first; e; e = e->next) {
        passes += leat_string_view_equals(e->op, "ProbePass");
      }
    }
    assert_int_equal(passes, n);
    leat_step_collector_deinitialize(&collector);
    leat_tensor_release(&fed);
    leat_tensor_release(&got);
    assert_true(scene_get_fed(s, x, (float)n, y) == (float)n);  // untraced again
  }
}

// The sequence executor keeps a constant in its slot between steps, also one that waits for a
// control edge: the edge's flag, not the slot, tells whether it is live. A traced step runs on the
// same executor as any other, and must not take a dead constant for a live one either.
static void a_trace_sees_no_constant_of_a_dead_branch(scene_t* s) {
  leat_output_t x = float_placeholder(s), side = flow_switch(s, x, below_zero(s, x), 0);
  leat_output_t seven = scene_float(s, 7);
  scene_after(s, seven.node,
              scene_unary(s, "Identity", -1, leat_node_output(side.node, 1)).node);
  leat_output_t y = flow_merge(s, seven, side);
  assert_true(scene_get_fed(s, x, -1, y) == 7 && scene_get_fed(s, x, 2, y) == 2);
  leat_tensor_t fed = scene_value(3), got;
  leat_step_collector_t collector;
  leat_step_collector_initialize(leat_allocator_system(), &collector);
  leat_run_t run = {.feeds = &x, .feed_values = &fed, .feed_count = 1, .fetches = &y,
                    .fetch_values = &got, .fetch_count = 1, .collector = &collector};
  LEAT_EXPECT_OK(leat_session_run(scene_session(s), &run));
  assert_true(leat_tensor_data(&got, const float)[0] == 3);
  leat_step_collector_deinitialize(&collector);
  leat_tensor_release(&fed);
  leat_tensor_release(&got);
}

static void run_all_ways(void** state) { scene_run_all_ways((scene_test_fn_t)*state); }
#define ALL_WAYS(test) {#test, run_all_ways, NULL, NULL, (void*)test}

int main(void) {
  const struct CMUnitTest tests[] = {
      ALL_WAYS(a_merge_waits_for_what_is_there),
      ALL_WAYS(both_branches_give_the_input), ALL_WAYS(one_branch_overwrites_its_input),
      ALL_WAYS(controls_meet_in_a_branch),    ALL_WAYS(the_index_of_a_branch),
      ALL_WAYS(a_constant_waits_for_two_branches),
      ALL_WAYS(a_dead_fetch_is_refused),      ALL_WAYS(variables_swap),
      ALL_WAYS(fibonacci),                    ALL_WAYS(a_variable_that_stays),
      ALL_WAYS(invariants_in_nested_loops),   ALL_WAYS(a_dead_loop_with_live_invariants),
      ALL_WAYS(constants_in_the_body),        ALL_WAYS(the_index_of_a_loop),
      ALL_WAYS(controls_leave_a_loop),        ALL_WAYS(large_values_keep),
      ALL_WAYS(a_failure_in_an_inner_loop),   ALL_WAYS(reference_variables),
      ALL_WAYS(resource_variables),           ALL_WAYS(tensor_arrays_and_stacks),
      ALL_WAYS(asynchronous_kernels),         ALL_WAYS(an_endless_loop_has_a_deadline),
      ALL_WAYS(an_endless_loop_is_closed),    ALL_WAYS(threads_share_a_loop),
      ALL_WAYS(a_trace_has_every_iteration),  ALL_WAYS(a_trace_sees_no_constant_of_a_dead_branch),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
