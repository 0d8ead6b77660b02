// Which of several rewrite rules the passes take, and how often they visit a node. Some cases are
// those of real rules: a sum of two products may be computed with either of them, and the cost
// model says that the one which waits for the arithmetic, not for memory, adds for nothing. Others
// need rules that no family has: the table below says them of ops that no real rule names, and the
// tests of this file alone have it. One of these takes a reader away from a node, which is the one
// way in which a rule that was refused can come to apply later.
#include <stdio.h>

#include "graph/rewrite_rule.h"
#include "session/pass_scene.h"

// ---- Rules of the tests -------------------------------------------------------------------------

static leat_status_t put(leat_rewrite_match_t* m, const char* op, leat_output_t x,
                         leat_output_t* out_y) {
  leat_node_spec_t spec = {.inputs = &x, .input_count = 1, .infer_attrs = true};
  return m->add(m, op, &spec, out_y);
}

// What the new node reads: what the last of the nodes that go has read.
static leat_output_t source(const leat_rewrite_match_t* m) {
  return leat_graph_node(m->graph, m->producer >= 0 ? m->producer : m->root)->inputs[0];
}

static leat_status_t make_floor(leat_rewrite_match_t* m, leat_output_t* out_by) {
  return put(m, "Floor", source(m), out_by);
}

static leat_status_t make_round(leat_rewrite_match_t* m, leat_output_t* out_by) {
  return put(m, "Round", source(m), out_by);
}

static leat_status_t make_floor_of_abs(leat_rewrite_match_t* m, leat_output_t* out_by) {
  leat_output_t absolute;
  LEAT_RETURN_IF_ERROR(put(m, "Abs", source(m), &absolute));
  return put(m, "Floor", absolute, out_by);
}

// A shape that is known needs no tensor that has it.
static leat_status_t make_constant(leat_rewrite_match_t* m, leat_output_t* out_by) {
  const leat_output_t x = leat_rewrite_root(m)->inputs[0];
  const leat_partial_shape_t shape = leat_graph_output_shape(m->graph, x);
  return leat_rewrite_add_vector(m, shape.dims, shape.rank, out_by);
}

static const leat_rewrite_rule_t kRules[] = {
    {.name = "two_nodes", .root = "Tan", .producer = "Exp", .make = make_floor_of_abs},
    {.name = "one_node", .root = "Tan", .producer = "Exp", .make = make_floor},
    {.name = "another_node", .root = "Tan", .producer = "Exp", .make = make_round},
    {.name = "no_gain", .root = "Rint", .make = make_floor},
    {.name = "normal_form", .root = "Ceil", .normalizes = true, .make = make_floor},
    {.name = "normal_form_or_less", .root = "Sinh", .normalizes = true, .make = make_floor},
    {.name = "less", .root = "Sinh", .producer = "Exp", .make = make_round},
    {.name = "known_shape", .root = "Shape", .normalizes = true, .make = make_constant},
    LEAT_REWRITE_RULES_END,
};

static int add_rules(void** state) {
  const leat_runtime_t* runtime;
  LEAT_EXPECT_OK(probe_runtime(&runtime));
  LEAT_EXPECT_OK(leat_op_registry_add_rules(runtime->ops, kRules));
  return 0;
}

// ---- Scenes -------------------------------------------------------------------------------------

static int apply(pass_scene_t* f, leat_outputs_t fetches) {
  return pass_scene_shrink(f, &leat_pass_rules, fetches, -1);
}

// x [64, depth] w [depth, 64].
static leat_output_t product(scene_t* s, int64_t depth) {
  return scene_binary(s, "MatMul", -1, scene_matrix(s, "", 64, depth),
                      scene_matrix(s, "", depth, 64));
}

static leat_output_t biased(scene_t* s, leat_output_t x) {
  const int64_t columns = 64;
  const leat_output_t bias =
      scene_output(s, "Placeholder", "", "", LEAT_NO_INPUTS,
                   LEAT_ATTRS(LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT),
                              LEAT_SHAPE("shape", ((leat_partial_shape_t){1, &columns}))));
  return scene_binary(s, "BiasAdd", -1, x, bias);
}

// The node of the fetch is |op|, and its product has |depth| terms; 0: it is none.
static void expect(pass_scene_t* f, const char* op, int64_t depth) {
  const leat_node_t* node = pass_scene_fetched(f, 0);
  if (!pass_scene_is_op(node, op)) {
    fail_msg("%.*s, must be %s", LEAT_SV_ARG(node->op->name), op);
  }
  if (!depth) return;
  assert_int_equal(leat_graph_output_shape(f->rewrite.graph, node->inputs[0]).dims[1], depth);
}

// ---- Which rule is taken ------------------------------------------------------------------------

// A product of few terms is done when its result is written, so that to read a tensor besides takes
// time. One of many terms has time for that.
static void the_product_that_adds_for_nothing_takes_the_sum(void** state) {
  pass_scene_t* f = *state;
  scene_t* s = &f->s;
  for (int deep_side = 0; deep_side < 2; ++deep_side) {
    const leat_output_t a = biased(s, product(s, deep_side ? 1 : 4096));
    const leat_output_t b = biased(s, product(s, deep_side ? 4096 : 1));
    apply(f, LEAT_INPUTS(scene_binary(s, "AddV2", -1, a, b)));
    expect(f, "_FusedMatMul", 4096);
  }
}

// The rule "product_residual" comes before "sum_of_products".
static void the_greater_gain_goes_before_the_order_of_rules(void** state) {
  pass_scene_t* f = *state;
  scene_t* s = &f->s;
  apply(f, LEAT_INPUTS(scene_binary(s, "AddV2", -1, biased(s, product(s, 1)), product(s, 4096))));
  expect(f, "_MatMulAdd", 4096);
  apply(f, LEAT_INPUTS(scene_binary(s, "AddV2", -1, biased(s, product(s, 4096)), product(s, 1))));
  expect(f, "_FusedMatMul", 4096);
  // Where both gain the same the order decides.
  apply(f, LEAT_INPUTS(scene_binary(s, "AddV2", -1, product(s, 2), biased(s, product(s, 2)))));
  expect(f, "_FusedMatMul", 2);
}

static leat_output_t chain(scene_t* s, const char* first, const char* then) {
  return scene_unary(s, then, -1, scene_unary(s, first, -1, scene_matrix(s, "", 64, 64)));
}

static void what_is_made_counts(void** state) {
  pass_scene_t* f = *state;
  scene_t* s = &f->s;
  assert_int_equal(apply(f, LEAT_INPUTS(chain(s, "Exp", "Tan"))), 1);
  expect(f, "Floor", 0);
  // Neither two nodes for two nor one for one.
  apply(f, LEAT_INPUTS(chain(s, "Exp", "Rint")));
  expect(f, "Rint", 0);
}

// Fewer rows were known when the product was added than when its replacement was.
static void what_has_become_known_counts_for_both(void** state) {
  pass_scene_t* f = *state;
  scene_t* s = &f->s;
  const int64_t rows[] = {1 << 16, 64};
  const leat_output_t x = scene_matrix(s, "", -1, 64);
  const leat_output_t y =
      biased(s, scene_binary(s, "MatMul", -1, x, scene_matrix(s, "", 64, 64)));
  LEAT_EXPECT_OK(leat_graph_refine_shape(s->graph, x, (leat_partial_shape_t){2, rows}));
  apply(f, LEAT_INPUTS(y));
  expect(f, "_FusedMatMul", 64);
}

static void a_rule_that_normalizes_comes_last(void** state) {
  pass_scene_t* f = *state;
  scene_t* s = &f->s;
  apply(f, LEAT_INPUTS(chain(s, "Abs", "Ceil")));
  expect(f, "Floor", 0);
  apply(f, LEAT_INPUTS(chain(s, "Abs", "Sinh")));
  expect(f, "Floor", 0);
  apply(f, LEAT_INPUTS(chain(s, "Exp", "Sinh")));
  expect(f, "Round", 0);
}

// What was tried in vain is nobody's reader any more, and in no graph.
static void what_is_not_taken_leaves_nothing(void** state) {
  pass_scene_t* f = *state;
  scene_t* s = &f->s;
  const leat_output_t rounded = chain(s, "Exp", "Rint");
  assert_int_equal(apply(f, LEAT_INPUTS(rounded)), 0);
  const leat_output_t sum =
      scene_binary(s, "AddV2", -1, biased(s, product(s, 1)), biased(s, product(s, 1)));
  // Products, biases and sum were five nodes, and are two.
  assert_int_equal(apply(f, LEAT_INPUTS(sum)), 3);
  const leat_string_view_t name = f->s.graph->nodes[sum.node].name;
  char wanted[64];
  snprintf(wanted, sizeof wanted, "%.*s/_fused", LEAT_SV_ARG(name));
  assert_true(leat_string_view_equals(pass_scene_fetched(f, 0)->name, wanted));
}

// ---- How often nodes are visited ----------------------------------------------------------------

// The reader that keeps |x| from going into its other reader goes later, with what it read.
static leat_output_t late_reader(scene_t* s, leat_output_t x) {
  const leat_output_t y = scene_unary(s, "Exp", -1, scene_unary(s, "Abs", -1, x));
  return scene_output(s, "Shape", "", "", LEAT_INPUTS(y),
                      LEAT_ATTRS(LEAT_TYPE("T", LEAT_DTYPE_FLOAT),
                                 LEAT_TYPE("out_type", LEAT_DTYPE_INT64)));
}

static void a_reader_that_goes_lets_a_rule_apply(void** state) {
  pass_scene_t* f = *state;
  scene_t* s = &f->s;
  const leat_output_t x = product(s, 8), y = biased(s, x);
  apply(f, LEAT_INPUTS(y, late_reader(s, x)));
  expect(f, "_FusedMatMul", 8);
  // A node that stays is still read.
  apply(f, LEAT_INPUTS(y, scene_unary(s, "Abs", -1, x)));
  expect(f, "BiasAdd", 0);
}

// The same for what the first visit has made.
static void a_made_node_that_loses_a_reader_is_taken(void** state) {
  pass_scene_t* f = *state;
  scene_t* s = &f->s;
  const leat_output_t x = biased(s, product(s, 8)), y = scene_unary(s, "Relu", -1, x);
  apply(f, LEAT_INPUTS(y, late_reader(s, x)));
  expect(f, "_FusedMatMul", 8);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, pass_scene_set_up, pass_scene_tear_down)
      TEST(the_product_that_adds_for_nothing_takes_the_sum),
      TEST(the_greater_gain_goes_before_the_order_of_rules),
      TEST(what_is_made_counts),
      TEST(what_has_become_known_counts_for_both),
      TEST(a_rule_that_normalizes_comes_last),
      TEST(what_is_not_taken_leaves_nothing),
      TEST(a_reader_that_goes_lets_a_rule_apply),
      TEST(a_made_node_that_loses_a_reader_is_taken),
  };
  return cmocka_run_group_tests(tests, add_rules, NULL);
}
