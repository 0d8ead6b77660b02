// A signature (one set of feeds and fetches) may be compiled several times: once in general, and
// once for each of the first shapes that are fed, with sizes known. Tests run steps through a
// session and then look at the signature's plans: which feeds got one of their own, what such a
// plan knows, and when the general one is used. A shape that contradicts the graph may fail a step
// only if the step comes to the node in question, so specialization must not complain early. Plans
// are made while other threads run steps: those whose plan is ready go on, those that need the new
// one wait until their deadline. What the optimizer makes of known sizes is tested with its passes.
#include "session/plans.h"

#include <string.h>

#include "base/fault.h"
#include "base/thread.h"
#include "session/flow.h"
#include "session/signature_cache.h"

static leat_tensor_t vector(int64_t size) {
  const leat_shape_t shape = leat_shape_vector(size);
  leat_tensor_t tensor;
  LEAT_EXPECT_OK(
      leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_FLOAT, &shape, &tensor));
  for (int64_t i = 0; i < size; ++i) leat_tensor_data(&tensor, float)[i] = (float)(i + 1);
  return tensor;
}

static leat_run_t run_of(const leat_output_t* feed, const leat_output_t* fetch) {
  return (leat_run_t){.feeds = feed, .feed_count = 1, .fetches = fetch, .fetch_count = 1};
}

static const leat_plans_t* plans_of(scene_t* s, leat_output_t feed, leat_output_t fetch) {
  leat_signature_t* signature;
  const leat_run_t run = run_of(&feed, &fetch);
  LEAT_EXPECT_OK(leat_session_prepare(s->session, &run, &signature));
  return &signature->plans;
}

static leat_compiled_t* plan_for(const leat_plans_t* plans, int64_t size) {
  leat_tensor_t fed = vector(size);
  leat_compiled_t* compiled = leat_plans_find(plans, &fed);
  leat_tensor_release(&fed);
  return compiled;
}

// Runs a step that feeds a vector of that size, and gives the first item of what it fetches.
static float step(scene_t* s, leat_output_t feed, int64_t size, leat_output_t fetch) {
  leat_tensor_t fed = vector(size), got;
  LEAT_EXPECT_OK(scene_run(s, LEAT_INPUTS(feed), &fed, LEAT_INPUTS(fetch), &got, NULL, 0));
  const float value = leat_tensor_data(&got, const float)[0];
  leat_tensor_release(&got);
  return value;
}

static void open_all_options(scene_t* s) {
  scene_open(s);
  s->options = leat_session_options_default();
}

// ---- Which plan serves --------------------------------------------------------------------------

// The first shapes get plans, in the order in which they come; all later ones share one.
static void the_first_shapes_get_plans(void** state) {
  scene_t s;
  open_all_options(&s);
  leat_output_t x = scene_placeholder(&s, "x", LEAT_DTYPE_FLOAT);
  leat_output_t last = scene_binary(&s, "Max", -1, x, flow_int(&s, 0));
  leat_compiled_t* made[LEAT_SPECIALIZATIONS + 2];
  const leat_plans_t* plans = NULL;
  for (int i = 0; i < LEAT_SPECIALIZATIONS; ++i) {
    assert_true(step(&s, x, i + 1, last) == (float)(i + 1));
    plans = plans_of(&s, x, last);
    made[i] = plan_for(plans, i + 1);
    for (int k = 0; k < i; ++k) assert_ptr_not_equal(made[i], made[k]);
    assert_null(leat_plans_general(plans));
  }
  for (int i = 0; i < 2; ++i) {
    const int size = LEAT_SPECIALIZATIONS + 1 + i;
    assert_true(step(&s, x, size, last) == (float)size);
    assert_ptr_equal(plan_for(plans, size), leat_plans_general(plans));
  }
  for (int i = 0; i < LEAT_SPECIALIZATIONS; ++i) {
    assert_true(step(&s, x, i + 1, last) == (float)(i + 1));
    assert_ptr_equal(plan_for(plans, i + 1), made[i]);
  }
  assert_int_equal(atomic_load(&plans->count), LEAT_SPECIALIZATIONS);
  scene_close(&s);
}

// A rank and its sizes are not confused with those of another feed.
static void shapes_are_told_apart(void** state) {
  static const struct {
    int ranks[2], rank;  // of the feeds and of their sum
    int64_t dims[2][2];
  } kCases[] = {
      {{1, 1}, 1, {{1}, {1}}}, {{2, 0}, 2, {{1, 1}}}, {{0, 2}, 2, {{0}, {1, 1}}}};
  scene_t s;
  open_all_options(&s);
  leat_output_t feeds[] = {scene_placeholder(&s, "x", LEAT_DTYPE_FLOAT),
                           scene_placeholder(&s, "y", LEAT_DTYPE_FLOAT)};
  leat_output_t sum = scene_binary(&s, "AddV2", -1, feeds[0], feeds[1]);
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kCases); ++i) {
    leat_tensor_t fed[2], got;
    for (int k = 0; k < 2; ++k) {
      leat_shape_t shape;
      LEAT_EXPECT_OK(leat_shape_create(kCases[i].ranks[k], kCases[i].dims[k], &shape));
      LEAT_EXPECT_OK(
          leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_FLOAT, &shape, &fed[k]));
      leat_tensor_data(&fed[k], float)[0] = (float)k;
      leat_shape_release(&shape);
    }
    LEAT_EXPECT_OK(
        scene_run(&s, (leat_outputs_t){feeds, 2}, fed, LEAT_INPUTS(sum), &got, NULL, 0));
    assert_int_equal(got.shape.rank, kCases[i].rank);
    leat_tensor_release(&got);
  }
  leat_signature_t* signature;
  leat_run_t run = {.feeds = feeds, .feed_count = 2, .fetches = &sum, .fetch_count = 1};
  LEAT_EXPECT_OK(leat_session_prepare(s.session, &run, &signature));
  assert_int_equal(atomic_load(&signature->plans.count), LEAT_ARRAY_SIZE(kCases));
  scene_close(&s);
}

static void known_shapes_and_options_take_the_general_plan(void** state) {
  for (int way = 0; way < 5; ++way) {
    scene_t s;
    open_all_options(&s);
    s.options.deterministic = way == 1;
    s.options.specialize = way != 2;
    s.options.optimize = way != 3;
    s.options.build_cost_model = way == 4;
    leat_output_t x = way == 0 ? scene_matrix(&s, "x", 1, 1)
                               : scene_placeholder(&s, "x", LEAT_DTYPE_FLOAT);
    leat_output_t y = scene_unary(&s, "Neg", -1, x);
    assert_true(way == 0 || step(&s, x, 1, y) == -1);
    if (way == 0) scene_session(&s);
    const leat_plans_t* plans = plans_of(&s, x, y);
    assert_int_equal(plans->open_count, 0);
    assert_non_null(leat_plans_general(plans));
    scene_close(&s);
  }
}

// A signature that is prepared without values has its general plan at once.
static void prepared_signatures_are_compiled(void** state) {
  scene_t s;
  open_all_options(&s);
  leat_output_t x = scene_placeholder(&s, "x", LEAT_DTYPE_FLOAT);
  leat_output_t y = scene_unary(&s, "Neg", -1, x);
  scene_session(&s);
  const leat_plans_t* plans = plans_of(&s, x, y);
  assert_non_null(leat_plans_general(plans));
  assert_true(step(&s, x, 3, y) == -1);
  assert_ptr_not_equal(plan_for(plans, 3), leat_plans_general(plans));
  scene_close(&s);
}

// ---- What a plan knows --------------------------------------------------------------------------

static leat_status_t count_ranges(void* data, bool after, const leat_graph_t* graph) {
  for (size_t i = 0; i < graph->node_count; ++i) {
    *(int*)data += leat_string_view_equals(graph->nodes[i].op->name, "Range");
  }
  return leat_ok_status();
}

// Range(0, Size(x), 1) is a constant where the size of x is known. What is shown of a step is the
// plan that it ran.
static void sizes_are_known(void** state) {
  scene_t s;
  open_all_options(&s);
  leat_output_t x = scene_placeholder(&s, "x", LEAT_DTYPE_FLOAT);
  leat_output_t size = scene_unary(&s, "Size", -1, x);
  leat_output_t range = scene_output(&s, "Range", "", "",
                                     LEAT_INPUTS(flow_int(&s, 0), size, flow_int(&s, 1)),
                                     LEAT_NO_ATTRS);
  leat_output_t y = scene_binary(
      &s, "Mul", -1, x,
      scene_output(&s, "Cast", "", "", LEAT_INPUTS(range),
                   LEAT_ATTRS(LEAT_TYPE("DstT", LEAT_DTYPE_FLOAT))));
  leat_output_t most = scene_binary(&s, "Max", -1, y, flow_int(&s, 0));
  for (int i = 1; i < LEAT_SPECIALIZATIONS + 2; ++i) {
    assert_true(step(&s, x, i, most) == (float)(i * (i - 1)));
    leat_tensor_t fed = vector(i);
    leat_run_t run = run_of(&x, &most);
    int ranges = 0;
    run.feed_values = &fed;
    LEAT_EXPECT_OK(leat_session_show_partitions(s.session, &run, NULL, count_ranges, &ranges));
    assert_int_equal(ranges, i > LEAT_SPECIALIZATIONS);
    leat_tensor_release(&fed);
  }
  scene_close(&s);
}

// A variable of a loop that grows has no size that holds for all iterations, although the size with
// which it enters is known.
static void growing_variables_of_loops_have_no_size(scene_t* s) {
  s->options.specialize = true;
  leat_output_t x = scene_placeholder(s, "x", LEAT_DTYPE_FLOAT);
  flow_loop_t loop;
  flow_loop_count(s, "grow", flow_int(s, 3), LEAT_INPUTS(x), &loop);
  leat_output_t axis = flow_loop_invariant(&loop, flow_int(s, 0));
  leat_output_t twice = scene_output(s, "ConcatV2", "", "",
                                     LEAT_INPUTS(loop.values[1], loop.values[1], axis),
                                     LEAT_ATTRS(LEAT_INT("N", 2)));
  flow_loop_next(&loop, 1, twice);
  leat_output_t size = scene_output(s, "Size", "", "", LEAT_INPUTS(flow_loop_exit(&loop, 1)),
                                    LEAT_NO_ATTRS);
  leat_output_t y = scene_output(s, "Cast", "", "", LEAT_INPUTS(size),
                                 LEAT_ATTRS(LEAT_TYPE("DstT", LEAT_DTYPE_FLOAT)));
  for (int i = 1; i < 4; ++i) assert_true(step(s, x, i, y) == (float)(8 * i));
}

// A step fails for shapes that do not fit only if it comes to the node that they do not fit.
static void contradictions_wait_for_the_step(scene_t* s) {
  s->options.specialize = true;
  leat_output_t x = scene_placeholder(s, "x", LEAT_DTYPE_FLOAT);
  leat_output_t pred = scene_placeholder(s, "pred", LEAT_DTYPE_BOOL);
  leat_output_t sum = scene_binary(s, "AddV2", -1, flow_switch(s, x, pred, 1),
                                   scene_floats(s, 3, (const float[]){1, 2, 3}));
  leat_output_t y = flow_merge(s, flow_switch(s, x, pred, 0), sum);
  for (int i = 0; i < 4; ++i) {
    const bool adds = i & 1, fits = i & 2;
    leat_tensor_t fed[2] = {vector(fits ? 3 : 2)}, got = {0};
    LEAT_EXPECT_OK(leat_tensor_scalar(LEAT_DTYPE_BOOL, &adds, &fed[1]));
    leat_status_t status =
        scene_run(s, LEAT_INPUTS(x, pred), fed, LEAT_INPUTS(y), &got, NULL, 0);
    scene_expect(status, adds && !fits ? LEAT_INVALID_ARGUMENT : LEAT_OK, "");
    leat_tensor_release(&got);
  }
}

#define ALL_WAYS(test) \
  static void test##_all_ways(void** state) { scene_run_all_ways(test); }
ALL_WAYS(growing_variables_of_loops_have_no_size)
ALL_WAYS(contradictions_wait_for_the_step)

// ---- Failures and threads -----------------------------------------------------------------------

// Whichever allocation fails, the step fails or succeeds, and the next one succeeds.
static void memory_may_end(void** state) {
  bool met = true;
  for (int64_t n = 1; met; ++n) {
    scene_t s;
    open_all_options(&s);
    leat_output_t x = scene_placeholder(&s, "x", LEAT_DTYPE_FLOAT);
    leat_output_t y = scene_unary(&s, "Neg", -1, x);
    assert_true(step(&s, x, 1, y) == -1);
    leat_tensor_t fed = vector(2), got = {0};
    leat_run_t run = run_of(&x, &y);
    run.feed_values = &fed;
    run.fetch_values = &got;
    leat_fault_t fault;
    leat_fault_install(&fault, LEAT_FAULT_ALLOCATION, n);
    leat_status_t status = leat_session_run(s.session, &run);
    met = leat_fault_remove(&fault);
    if (status) {
      assert_true(met);
      LEAT_EXPECT_CODE(LEAT_RESOURCE_EXHAUSTED, status);
    }
    leat_tensor_release(&got);
    leat_tensor_release(&fed);
    assert_true(step(&s, x, 2, y) == -1);
    const leat_plans_t* plans = plans_of(&s, x, y);
    assert_int_equal(atomic_load(&plans->count), 2);
    assert_null(leat_plans_general(plans));  // both shapes have plans of their own
    scene_close(&s);
  }
}

// While a plan is made, steps whose plan is ready run, and others wait until their deadline.
static void others_wait_for_the_maker(void** state) {
  scene_t s;
  open_all_options(&s);
  leat_output_t x = scene_placeholder(&s, "x", LEAT_DTYPE_FLOAT);
  leat_output_t y = scene_unary(&s, "Neg", -1, x);
  assert_true(step(&s, x, 1, y) == -1);
  leat_plans_t* plans = (leat_plans_t*)plans_of(&s, x, y);
  plans->is_compiling = true;
  assert_true(step(&s, x, 1, y) == -1);
  leat_tensor_t fed = vector(2), got = {0};
  leat_run_t run = run_of(&x, &y);
  run.feed_values = &fed;
  run.fetch_values = &got;
  run.timeout_ms = 20;
  scene_expect(leat_session_run(s.session, &run), LEAT_DEADLINE_EXCEEDED, "other shapes");
  plans->is_compiling = false;
  leat_tensor_release(&fed);
  assert_true(step(&s, x, 2, y) == -1);
  scene_close(&s);
}

typedef struct runner_s {
  scene_t* scene;
  leat_output_t feed, fetch;
  int first;
  leat_thread_t thread;
} runner_t;

static void run_steps(void* data) {
  runner_t* r = data;
  for (int i = 0; i < 60; ++i) {
    const int size = 1 + (r->first + i) % (LEAT_SPECIALIZATIONS + 3);
    assert_true(step(r->scene, r->feed, size, r->fetch) == (float)size);
  }
}

static void threads_share_plans(void** state) {
  enum { kThreads = 4 };
  scene_t s;
  open_all_options(&s);
  leat_output_t x = scene_placeholder(&s, "x", LEAT_DTYPE_FLOAT);
  leat_output_t last = scene_binary(&s, "Max", -1, x, flow_int(&s, 0));
  runner_t runners[kThreads];
  scene_session(&s);
  for (int i = 0; i < kThreads; ++i) {
    runners[i] = (runner_t){.scene = &s, .feed = x, .fetch = last, .first = i};
    LEAT_EXPECT_OK(leat_thread_start("runner", run_steps, &runners[i], &runners[i].thread));
  }
  for (int i = 0; i < kThreads; ++i) leat_thread_join(runners[i].thread);
  assert_int_equal(atomic_load(&plans_of(&s, x, last)->count), LEAT_SPECIALIZATIONS);
  scene_close(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_first_shapes_get_plans),
      cmocka_unit_test(shapes_are_told_apart),
      cmocka_unit_test(known_shapes_and_options_take_the_general_plan),
      cmocka_unit_test(prepared_signatures_are_compiled),
      cmocka_unit_test(sizes_are_known),
      cmocka_unit_test(growing_variables_of_loops_have_no_size_all_ways),
      cmocka_unit_test(contradictions_wait_for_the_step_all_ways),
      cmocka_unit_test(memory_may_end),
      cmocka_unit_test(others_wait_for_the_maker),
      cmocka_unit_test(threads_share_plans),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
