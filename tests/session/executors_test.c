// Both executors, with one thread and with several, optimized or not: every graph gives the same. A
// case builds a graph, runs it, and states the values and, by probe kernels, which nodes ran, how
// often and in which order. scene_run_all_ways then runs it in each of the eight ways. Only the
// number of threads that a step may use has a test of its own, since it shows nowhere else. Control
// flow is tested in control_flow_test.c and random_flow_test.c, random graphs without it in
// random_graph_test.c.
#include <stdlib.h>

#include "session/scene.h"

// ---- What must happen, whoever runs it ----------------------------------------------------------

static void values_flow(scene_t* s) {
  leat_output_t x = scene_placeholder(s, "x", LEAT_DTYPE_FLOAT);
  leat_output_t more = scene_binary(s, "AddV2", -1, x, scene_float(s, 1));
  leat_output_t y = scene_binary(s, "Mul", -1, x, more);
  assert_true(scene_get_fed(s, x, 3, y) == 12);
  assert_true(scene_get_fed(s, x, -2, y) == 2);  // the same signature again
}

static void one_value_many_readers(scene_t* s) {
  leat_output_t x = scene_placeholder(s, "x", LEAT_DTYPE_FLOAT);
  leat_output_t square = scene_binary(s, "Mul", -1, x, x);
  // Readers that could overwrite their input, each of which must not.
  leat_output_t a = scene_unary(s, "Neg", -1, square);
  leat_output_t b = scene_unary(s, "Exp", -1, square);
  leat_output_t c = scene_binary(s, "Sub", -1, square, square);
  leat_output_t fetches[] = {square, a, b, c, square};
  leat_tensor_t fed = scene_value(2), got[5];
  LEAT_EXPECT_OK(scene_run(s, LEAT_INPUTS(x), &fed, (leat_outputs_t){fetches, 5}, got, NULL, 0));
  const float expected[] = {4, -4, 54.59815f, 0, 4};
  for (int i = 0; i < 5; ++i) {
    float value = leat_tensor_data(&got[i], const float)[0];
    assert_true(value > expected[i] - 1e-4f && value < expected[i] + 1e-4f);
    leat_tensor_release(&got[i]);
  }
}

static void constants_stay(scene_t* s) {
  leat_output_t c = scene_floats(s, 3, (const float[]){1, 2, 3});
  leat_output_t n = scene_unary(s, "Neg", -1, c);
  for (int step = 0; step < 3; ++step) {
    leat_tensor_t got[3];
    LEAT_EXPECT_OK(scene_run(s, LEAT_NO_INPUTS, NULL, LEAT_INPUTS(c, n, c), got, NULL, 0));
    assert_true(leat_tensor_data(&got[0], const float)[2] == 3);
    assert_true(leat_tensor_data(&got[1], const float)[2] == -3);
    // What the caller does with a fetch must not reach the constant.
    for (int i = 0; i < 3; ++i) leat_tensor_release(&got[i]);
  }
}

static void feeds_are_never_written(scene_t* s) {
  leat_output_t x = scene_placeholder(s, "x", LEAT_DTYPE_FLOAT);
  leat_output_t y = scene_unary(s, "Neg", -1, x);
  leat_tensor_t fed = scene_value(5), keep = leat_tensor_share(&fed), got;
  LEAT_EXPECT_OK(scene_run(s, LEAT_INPUTS(x), &fed, LEAT_INPUTS(y), &got, NULL, 0));
  assert_true(leat_tensor_data(&keep, const float)[0] == 5);
  assert_true(leat_tensor_data(&got, const float)[0] == -5);
  leat_tensor_release(&keep);
  leat_tensor_release(&got);
}

static void control_edges_order(scene_t* s) {
  int32_t marks[20];
  for (int i = 0; i < 20; ++i) marks[i] = scene_mark(s, i, -1);
  for (int i = 1; i < 20; ++i) scene_after(s, marks[i - 1], marks[i]);  // against the node order
  LEAT_EXPECT_OK(scene_target(s, marks[0]));
  for (int i = 0; i < 20; ++i) {
    assert_int_equal(probe_count(i), 1);
    assert_int_equal(probe_order(i), 20 - i);
  }
}

static void only_what_is_needed_runs(scene_t* s) {
  leat_output_t x = scene_float(s, 1);
  leat_output_t a = scene_pass(s, 1, -1, x);
  leat_output_t b = scene_pass(s, 2, -1, a);
  leat_output_t c = scene_pass(s, 3, -1, a);
  scene_pass(s, 4, -1, c);
  scene_get(s, b);
  assert_int_equal(probe_count(1), 1);
  assert_int_equal(probe_count(2), 1);
  assert_int_equal(probe_count(3), 0);
  assert_int_equal(probe_count(4), 0);
  scene_get_fed(s, a, 9, c);
  assert_int_equal(probe_count(1), 1);  // a was fed
  assert_int_equal(probe_count(3), 1);
}

static void stateful_nodes_run_once_a_step(scene_t* s) {
  leat_output_t x = scene_pass(s, 1, -1, scene_float(s, 1));
  leat_output_t y = scene_pass(s, 1, -1, scene_float(s, 1));  // equal, yet another
  leat_output_t sum = scene_binary(s, "AddV2", -1, x, y);
  for (int step = 1; step <= 3; ++step) {
    assert_true(scene_get(s, sum) == 2);
    assert_int_equal(probe_count(1), 2 * step);
  }
}

static void failures_end_the_step_and_no_more(scene_t* s) {
  leat_output_t x = scene_placeholder(s, "x", LEAT_DTYPE_FLOAT);
  leat_output_t bad = scene_fail(s, LEAT_OUT_OF_RANGE, -1, scene_unary(s, "Neg", -1, x));
  leat_output_t after = scene_pass(s, 1, -1, bad);
  leat_output_t good = scene_unary(s, "Neg", -1, x);
  for (int step = 0; step < 3; ++step) {
    leat_tensor_t fed = scene_value(1), got[2] = {{0}};
    scene_expect(
        scene_run(s, LEAT_INPUTS(x), &fed, LEAT_INPUTS(after, good), got, NULL, 0),
        LEAT_OUT_OF_RANGE, "ProbeFail");
    assert_int_equal(got[0].dtype, 0);
    assert_int_equal(got[1].dtype, 0);
    assert_int_equal(probe_count(1), 0);
    assert_true(scene_get_fed(s, x, 2, good) == -2);
  }
}

// Of several nodes that fail the first in the graph is told, whichever thread met which one first.
static void the_first_failure_is_told(scene_t* s) {
  enum { kBranches = 24 };
  leat_output_t x = scene_placeholder(s, "x", LEAT_DTYPE_FLOAT), ends[kBranches];
  for (int i = 0; i < kBranches; ++i) {
    leat_output_t work = scene_unary(s, "ProbeWork", -1, x);
    // The earlier a branch lies, the more it does before it fails.
    for (int k = i; k < kBranches / 2; ++k) work = scene_unary(s, "ProbeWork", -1, work);
    ends[i] = i % 3 == 1 ? scene_fail(s, i == 1 ? LEAT_OUT_OF_RANGE : LEAT_DATA_LOSS, -1, work)
                         : work;
  }
  for (int step = 0; step < 20; ++step) {
    leat_tensor_t fed = scene_value(1), got[kBranches];
    scene_expect(scene_run(s, LEAT_INPUTS(x), &fed, (leat_outputs_t){ends, kBranches}, got, NULL,
                           0),
                 LEAT_OUT_OF_RANGE, "ProbeFail");
  }
}

static void variables_by_reference(scene_t* s) {
  const int64_t none[1] = {0};
  leat_attr_t attrs[] = {LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT),
                         LEAT_SHAPE("shape", ((leat_partial_shape_t){0, none}))};
  leat_output_t x = scene_placeholder(s, "x", LEAT_DTYPE_FLOAT);
  leat_output_t first = scene_unary(s, "Exp", -1, x);
  leat_output_t v = scene_output(s, "VariableV2", "v", "", LEAT_NO_INPUTS,
                                 (leat_attrs_t){attrs, 2});
  leat_output_t init = scene_binary(s, "Assign", -1, v, scene_float(s, 10));
  leat_output_t add = scene_binary(s, "AssignAdd", -1, v, scene_float(s, 1));
  leat_output_t read = scene_unary(s, "Neg", -1, v);
  leat_tensor_t got, fed = scene_value(1), both[2];
  // Who reads it is named: a node, or the fetch, which here is not the first one.
  scene_expect(scene_run(s, LEAT_INPUTS(x), &fed, LEAT_INPUTS(first, v), both, NULL, 0),
               LEAT_FAILED_PRECONDITION,
               "Attempting to use uninitialized value v: fetch 'v:0' reads it");
  scene_expect(scene_fetch(s, read, &got), LEAT_FAILED_PRECONDITION,
               "Attempting to use uninitialized value v: node 'Neg' (Neg) reads it");
  scene_expect(scene_fetch(s, v, &got), LEAT_FAILED_PRECONDITION,
               "Attempting to use uninitialized value v: fetch 'v:0' reads it");
  scene_expect(scene_fetch(s, add, &got), LEAT_FAILED_PRECONDITION,
               "Attempting to use uninitialized value v: node 'AssignAdd' (AssignAdd) reads it");
  assert_true(scene_get(s, init) == 10);
  assert_true(scene_get(s, v) == 10);
  assert_true(scene_get(s, add) == 11);
  assert_true(scene_get(s, read) == -11);
  // An old value that somebody holds does not change under an update.
  LEAT_EXPECT_OK(scene_fetch(s, v, &got));
  assert_true(scene_get(s, add) == 12);
  assert_true(leat_tensor_data(&got, const float)[0] == 11);
  leat_tensor_release(&got);
}

static void variables_by_handle(scene_t* s) {
  leat_attr_t attrs[] = {LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT),
                         LEAT_SHAPE("shape", leat_partial_shape_scalar())};
  leat_output_t v =
      scene_output(s, "VarHandleOp", "v", "", LEAT_NO_INPUTS, (leat_attrs_t){attrs, 2});
  int32_t set = scene_node(s, "AssignVariableOp", "set", "", LEAT_INPUTS(v, scene_float(s, 4)),
                           LEAT_NO_ATTRS);
  int32_t add = scene_node(s, "AssignAddVariableOp", "add", "",
                           LEAT_INPUTS(v, scene_float(s, 2)), LEAT_NO_ATTRS);
  leat_output_t read = scene_output(s, "ReadVariableOp", "read", "", LEAT_INPUTS(v),
                                    LEAT_ATTRS(LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT)));
  leat_output_t late = scene_output(s, "ReadVariableOp", "late", "", LEAT_INPUTS(v),
                                    LEAT_ATTRS(LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT)));
  scene_after(s, late.node, add);
  scene_after(s, add, read.node);
  leat_tensor_t got;
  scene_expect(scene_fetch(s, read, &got), LEAT_FAILED_PRECONDITION, "v");
  LEAT_EXPECT_OK(scene_target(s, set));
  for (int step = 0; step < 3; ++step) {
    leat_tensor_t both[2];
    LEAT_EXPECT_OK(
        scene_run(s, LEAT_NO_INPUTS, NULL, LEAT_INPUTS(read, late), both, NULL, 0));
    assert_true(leat_tensor_data(&both[0], const float)[0] == (float)(4 + 2 * step));
    assert_true(leat_tensor_data(&both[1], const float)[0] == (float)(6 + 2 * step));
    leat_tensor_release(&both[0]);
    leat_tensor_release(&both[1]);
  }
}

// A record holds few outputs of most ops; this one has more than fit in 16 bits.
static void very_many_outputs(scene_t* s) {
  enum { kParts = 70000 };
  float* values = calloc(kParts, sizeof *values);
  for (int i = 0; i < kParts; ++i) values[i] = (float)i;
  leat_output_t x = scene_pass(s, 1, -1, scene_floats(s, kParts, values));
  free(values);
  leat_output_t axis = leat_build_scalar(&s->b, LEAT_DTYPE_INT32, 0);
  int32_t split = scene_node(s, "Split", "split", "", LEAT_INPUTS(axis, x),
                             LEAT_ATTRS(LEAT_INT("num_split", kParts)));
  for (int step = 0; step < 2; ++step) {
    leat_tensor_t got[2];
    LEAT_EXPECT_OK(scene_run(
        s, LEAT_NO_INPUTS, NULL,
        LEAT_INPUTS(leat_node_output(split, 1), leat_node_output(split, kParts - 1)), got, NULL,
        0));
    assert_true(leat_tensor_data(&got[0], const float)[0] == 1);
    assert_true(leat_tensor_data(&got[1], const float)[0] == kParts - 1);
    leat_tensor_release(&got[0]);
    leat_tensor_release(&got[1]);
  }
}

static void wide_and_deep(scene_t* s) {
  leat_output_t x = scene_placeholder(s, "x", LEAT_DTYPE_FLOAT);
  leat_output_t deep = x;
  for (int i = 0; i < 3000; ++i) deep = scene_unary(s, "ProbeWork", -1, deep);
  leat_output_t parts[500];
  for (int i = 0; i < 500; ++i) parts[i] = scene_unary(s, "ProbeWork", -1, x);
  leat_output_t wide =
      scene_output(s, "AddN", "wide", "", (leat_outputs_t){parts, 500}, LEAT_NO_ATTRS);
  assert_true(scene_get_fed(s, x, 1, deep) == 3001);
  assert_true(scene_get_fed(s, x, 1, wide) == 1000);
}

// Runs a step of many branches; how many of them did not run on the thread of the first.
static int branches_elsewhere(scene_t* s, int run_threads) {
  enum { kBranches = 40 };
  leat_output_t x = scene_placeholder(s, "", LEAT_DTYPE_FLOAT), ends[kBranches];
  for (int i = 0; i < kBranches; ++i) {
    ends[i] = scene_pass(s, i, -1, scene_unary(s, "ProbeWork", -1, x));
  }
  leat_output_t sum = scene_output(s, "AddN", "", "", (leat_outputs_t){ends, kBranches},
                                   LEAT_NO_ATTRS);
  leat_tensor_t fed = scene_value(1), got;
  leat_run_t run = {.feeds = &x, .feed_values = &fed, .feed_count = 1, .fetches = &sum,
                    .fetch_values = &got, .fetch_count = 1, .inter_op_threads = run_threads};
  LEAT_EXPECT_OK(leat_session_run(scene_session(s), &run));
  assert_true(leat_tensor_data(&got, const float)[0] == 2 * kBranches);
  leat_tensor_release(&got);
  leat_tensor_release(&fed);
  int elsewhere = 0;
  for (int i = 0; i < kBranches; ++i) elsewhere += !probe_ran_together(0, i);
  return elsewhere;
}

// inter_op_parallelism_threads: one thread, or the calling one (-1), runs all nodes; of several
// others come to help. A run may ask for other than its session.
static void inter_op_threads_are_honoured(void** state) {
  static const struct {
    int session, run;
    bool alone;
  } kCases[] = {{1, 0, true}, {-1, 0, true}, {0, -1, true}, {3, 1, true}, {0, 0, false},
                {2, 0, false}, {1, 3, false}};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kCases); ++i) {
    scene_t s;
    scene_open(&s);
    s.options.executor = LEAT_EXECUTOR_DATAFLOW;
    s.options.optimize = false;
    s.options.intra_op_threads = 4;
    s.options.inter_op_threads = kCases[i].session;
    int elsewhere = 0;
    for (int step = 0; step < 20 && !elsewhere; ++step) {
      elsewhere = branches_elsewhere(&s, kCases[i].run);
    }
    assert_int_equal(elsewhere == 0, kCases[i].alone);
    scene_close(&s);
  }
}

#define ALL_WAYS(test) \
  static void test##_all_ways(void** state) { scene_run_all_ways(test); }
ALL_WAYS(values_flow)
ALL_WAYS(one_value_many_readers)
ALL_WAYS(constants_stay)
ALL_WAYS(feeds_are_never_written)
ALL_WAYS(control_edges_order)
ALL_WAYS(only_what_is_needed_runs)
ALL_WAYS(stateful_nodes_run_once_a_step)
ALL_WAYS(failures_end_the_step_and_no_more)
ALL_WAYS(the_first_failure_is_told)
ALL_WAYS(variables_by_reference)
ALL_WAYS(variables_by_handle)
ALL_WAYS(very_many_outputs)
ALL_WAYS(wide_and_deep)

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values_flow_all_ways),
      cmocka_unit_test(one_value_many_readers_all_ways),
      cmocka_unit_test(constants_stay_all_ways),
      cmocka_unit_test(feeds_are_never_written_all_ways),
      cmocka_unit_test(control_edges_order_all_ways),
      cmocka_unit_test(only_what_is_needed_runs_all_ways),
      cmocka_unit_test(stateful_nodes_run_once_a_step_all_ways),
      cmocka_unit_test(failures_end_the_step_and_no_more_all_ways),
      cmocka_unit_test(the_first_failure_is_told_all_ways),
      cmocka_unit_test(variables_by_reference_all_ways),
      cmocka_unit_test(variables_by_handle_all_ways),
      cmocka_unit_test(very_many_outputs_all_ways),
      cmocka_unit_test(wide_and_deep_all_ways),
      cmocka_unit_test(inter_op_threads_are_honoured),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
