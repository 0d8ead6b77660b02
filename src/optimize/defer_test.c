// The pass "defer" finds a sum of matrix products that a loop carries from one iteration to the
// next, and has many products added at once instead of one by one. The first tests run the pass
// alone and count the sums that it changed; a sum that the body reads, or that somebody waits for,
// must stay. The others run the same loops in sessions with both executors (scene_run_all_ways) for
// numbers of iterations around the limit of pending products: none, one, one less, the limit, one
// more, many. The result must be exact, which it is because all numbers are small integers.
// Products of another size than the sum must fail as the plain sum does.
#include <string.h>

#include "session/flow.h"
#include "session/pass_scene.h"

// [rows, columns] of |x|, a scalar.
static leat_output_t fill(scene_t* s, leat_output_t x, int rows, int columns) {
  leat_output_t dims[] = {flow_int(s, rows), flow_int(s, columns)};
  leat_output_t shape =
      scene_output(s, "Pack", "", "", (leat_outputs_t){dims, 2},
                   LEAT_ATTRS(LEAT_INT("N", 2), LEAT_TYPE("T", LEAT_DTYPE_INT32)));
  return scene_output(s, "Fill", "", "", LEAT_INPUTS(shape, x),
                      LEAT_ATTRS(LEAT_TYPE("T", LEAT_DTYPE_FLOAT)));
}

// What a loop reads of its sum besides adding to it.
typedef enum also_e { NOTHING, IN_THE_BODY, BY_WAITING } also_t;

typedef struct sums_s {
  leat_output_t turns;  // fed
  leat_output_t sum, exit;
} sums_t;

// sum = |first|; for (i = 0; i < turns; ++i) sum += (i + 1) A B, A of ones [rows, depth] or, where
// it |is_transposed|, [depth, rows], B of twos [depth, columns].
static sums_t add_loop(scene_t* s, leat_output_t first, int depth, int rows, int columns,
                       bool is_transposed, also_t also) {
  sums_t sums = {.turns = scene_placeholder(s, "", LEAT_DTYPE_INT32)};
  flow_loop_t loop;
  flow_loop_open(s, "loop", LEAT_INPUTS(flow_int(s, 0), first), &loop);
  leat_output_t limit = flow_loop_invariant(&loop, sums.turns);
  leat_output_t a = flow_loop_invariant(
      &loop, fill(s, scene_float(s, 1), is_transposed ? depth : rows,
                  is_transposed ? rows : depth));
  leat_output_t b = flow_loop_invariant(&loop, fill(s, scene_float(s, 2), depth, columns));
  leat_output_t one = flow_loop_invariant(&loop, flow_int(s, 1));
  flow_loop_test(&loop, scene_binary(s, "Less", -1, loop.values[0], limit));
  leat_output_t next = scene_binary(s, "AddV2", -1, loop.values[0], one);
  leat_output_t scale = scene_output(s, "Cast", "", "", LEAT_INPUTS(next),
                                     LEAT_ATTRS(LEAT_TYPE("DstT", LEAT_DTYPE_FLOAT)));
  leat_output_t product =
      scene_output(s, "MatMul", "", "", LEAT_INPUTS(scene_binary(s, "Mul", -1, a, scale), b),
                   LEAT_ATTRS(LEAT_BOOL("transpose_a", is_transposed)));
  sums.sum = scene_binary(s, "AddV2", -1, loop.values[1], product);
  leat_output_t carried = sums.sum;
  if (also == IN_THE_BODY) {
    carried = scene_binary(s, "AddV2", -1, sums.sum, scene_unary(s, "Neg", -1, loop.values[1]));
  }
  if (also == BY_WAITING) scene_after(s, next.node, loop.switches[1]);
  flow_loop_next(&loop, 0, next);
  flow_loop_next(&loop, 1, carried);
  sums.exit = flow_loop_exit(&loop, 1);
  return sums;
}

// How many sums are put off; node |other| lies on another device (-1: none does).
static int defer(pass_scene_t* f, leat_outputs_t fetches, const char* other) {
  pass_scene_prune(f, fetches);
  leat_graph_t* graph = f->rewrite.graph;
  for (size_t i = 0; i < graph->node_count; ++i) {
    graph->nodes[i].assigned_device = leat_string_view_equals(graph->nodes[i].op->name, other);
  }
  LEAT_EXPECT_OK(leat_pass_run(&leat_pass_rules, &f->rewrite, &f->options));
  LEAT_EXPECT_OK(leat_pass_run(&leat_pass_defer, &f->rewrite, &f->options));
  graph = f->rewrite.graph;
  int32_t order[96];
  assert_true(graph->node_count <= LEAT_ARRAY_SIZE(order));
  LEAT_EXPECT_OK(leat_graph_sort(graph, order));
  int count = 0;
  for (size_t i = 0; i < graph->node_count; ++i) {
    assert_true(graph->nodes[i].assigned_device >= 0);
    count += leat_string_view_equals(graph->nodes[i].op->name, "_AddToProductSum");
  }
  return count;
}

static void a_sum_that_goes_round_is_put_off(void** state) {
  pass_scene_t* f = *state;
  sums_t sums = add_loop(&f->s, scene_matrix(&f->s, "y", 5, 4), 3, 5, 4, true, NOTHING);
  leat_output_t reader = scene_unary(&f->s, "Neg", -1, sums.exit);
  assert_int_equal(defer(f, LEAT_INPUTS(sums.exit, reader), ""), 1);
  const leat_node_t* nodes = f->rewrite.graph->nodes;
  const leat_node_t* finish = pass_scene_fetched(f, 0);
  assert_true(leat_string_view_equals(finish->op->name, "_ProductSum"));
  assert_ptr_equal(&nodes[pass_scene_fetched(f, 1)->inputs[0].node], finish);
  const leat_node_t* leaves = &nodes[finish->inputs[0].node];
  assert_true(leaves->op->flags & LEAT_OP_EXIT);
  assert_int_equal(leaves->output_types[0], LEAT_DTYPE_VARIANT);
  assert_int_equal(leat_node_attr_type(leaves, "T"), LEAT_DTYPE_VARIANT);
}

static void what_is_not_put_off(void** state) {
  pass_scene_t* f = *state;
  leat_output_t y = scene_matrix(&f->s, "y", 5, 4);
  const also_t others[] = {IN_THE_BODY, BY_WAITING};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(others); ++i) {
    sums_t sums = add_loop(&f->s, y, 3, 5, 4, true, others[i]);
    assert_int_equal(defer(f, LEAT_INPUTS(sums.exit), ""), 0);
  }
  sums_t sums = add_loop(&f->s, y, 3, 5, 4, true, NOTHING);
  assert_int_equal(defer(f, LEAT_INPUTS(sums.exit), "Exit"), 0);
  assert_int_equal(defer(f, LEAT_INPUTS(sums.exit, sums.exit), ""), 1);
}

// ---- Values -------------------------------------------------------------------------------------

static void expect_sum(scene_t* s, const sums_t* sums, int turns, int depth, int elements) {
  leat_tensor_t count = {0}, value;
  LEAT_EXPECT_OK(leat_tensor_scalar(LEAT_DTYPE_INT32, &turns, &count));
  LEAT_EXPECT_OK(
      scene_run(s, LEAT_INPUTS(sums->turns), &count, LEAT_INPUTS(sums->exit), &value, NULL, 0));
  assert_int_equal(value.shape.element_count, elements);
  for (int64_t i = 0; i < elements; ++i) {
    assert_true(leat_tensor_data(&value, const float)[i] ==
                (float)(7 + turns * (turns + 1) * depth));
  }
  leat_tensor_release(&value);
}

static void sum_in_a_loop(scene_t* s) {
  sums_t sums = add_loop(s, fill(s, scene_float(s, 7), 50, 40), 3, 50, 40, true, NOTHING);
  const int turns[] = {0, 1, 13, 14, 15, 60};  // 44 rows wait at most
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(turns); ++i) expect_sum(s, &sums, turns[i], 3, 50 * 40);
}

static void sum_that_grows(scene_t* s) {
  sums_t sums = add_loop(s, scene_float(s, 7), 3, 50, 40, true, NOTHING);
  for (int turns = 0; turns < 4; ++turns) expect_sum(s, &sums, turns, 3, turns ? 50 * 40 : 1);
}

static void sum_of_deep_products(scene_t* s) {
  sums_t sums = add_loop(s, fill(s, scene_float(s, 7), 5, 4), 30, 5, 4, true, NOTHING);
  expect_sum(s, &sums, 6, 30, 5 * 4);
}

static void sum_whose_rows_lie_apart(scene_t* s) {
  sums_t sums = add_loop(s, fill(s, scene_float(s, 7), 5, 4), 3, 5, 4, false, NOTHING);
  expect_sum(s, &sums, 6, 3, 5 * 4);
}

static void sum_of_nothing(scene_t* s) {
  sums_t sums = add_loop(s, fill(s, scene_float(s, 7), 0, 4), 3, 0, 4, true, NOTHING);
  expect_sum(s, &sums, 6, 3, 0);
}

static void sum_of_another_size(scene_t* s) {
  sums_t sums = add_loop(s, fill(s, scene_float(s, 7), 3, 4), 3, 50, 40, true, NOTHING);
  leat_tensor_t count = {0}, value;
  const int turns = 2;
  LEAT_EXPECT_OK(leat_tensor_scalar(LEAT_DTYPE_INT32, &turns, &count));
  scene_expect(
      scene_run(s, LEAT_INPUTS(sums.turns), &count, LEAT_INPUTS(sums.exit), &value, NULL, 0),
      LEAT_INVALID_ARGUMENT, "Incompatible shapes: ");
}

// Their kernels would take the numbers of one for those of the other.
static void sums_of_other_types_are_refused(scene_t* s) {
  const leat_output_t wide = scene_output(
      s, "Cast", "", "", LEAT_INPUTS(fill(s, scene_float(s, 7), 2, 2)),
      LEAT_ATTRS(LEAT_TYPE("SrcT", LEAT_DTYPE_FLOAT), LEAT_TYPE("DstT", LEAT_DTYPE_DOUBLE)));
  const leat_output_t sum = scene_output(s, "_ProductSum", "", "", LEAT_INPUTS(wide),
                                         LEAT_ATTRS(LEAT_TYPE("From", LEAT_DTYPE_DOUBLE),
                                                    LEAT_TYPE("To", LEAT_DTYPE_VARIANT)));
  const leat_output_t ones = fill(s, scene_float(s, 1), 2, 2);
  const leat_output_t more =
      scene_output(s, "_AddToProductSum", "", "", LEAT_INPUTS(ones, ones, sum),
                   LEAT_ATTRS(LEAT_TYPE("T", LEAT_DTYPE_FLOAT)));
  const leat_output_t values[] = {sum, more};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(values); ++i) {
    leat_tensor_t value;
    const leat_output_t end = scene_output(s, "_ProductSum", "", "", LEAT_INPUTS(values[i]),
                                           LEAT_ATTRS(LEAT_TYPE("From", LEAT_DTYPE_VARIANT),
                                                      LEAT_TYPE("To", LEAT_DTYPE_FLOAT)));
    scene_expect(scene_run(s, LEAT_NO_INPUTS, NULL, LEAT_INPUTS(end), &value, NULL, 0),
                 LEAT_INVALID_ARGUMENT, "is a sum of double, must be one of float");
  }
}

#define ALL_WAYS(test) \
  static void test##_all_ways(void** state) { scene_run_all_ways(test); }
ALL_WAYS(sum_in_a_loop)
ALL_WAYS(sum_that_grows)
ALL_WAYS(sum_of_deep_products)
ALL_WAYS(sum_whose_rows_lie_apart)
ALL_WAYS(sum_of_nothing)
ALL_WAYS(sum_of_another_size)
ALL_WAYS(sums_of_other_types_are_refused)

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(a_sum_that_goes_round_is_put_off, pass_scene_set_up,
                                      pass_scene_tear_down),
      cmocka_unit_test_setup_teardown(what_is_not_put_off, pass_scene_set_up, pass_scene_tear_down),
      cmocka_unit_test(sum_in_a_loop_all_ways),
      cmocka_unit_test(sum_that_grows_all_ways),
      cmocka_unit_test(sum_of_deep_products_all_ways),
      cmocka_unit_test(sum_whose_rows_lie_apart_all_ways),
      cmocka_unit_test(sum_of_nothing_all_ways),
      cmocka_unit_test(sum_of_another_size_all_ways),
      cmocka_unit_test(sums_of_other_types_are_refused_all_ways),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
