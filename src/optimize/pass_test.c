// Three passes ("fold", "cse" and "dependency"), and the machinery that runs all of them. Each case
// builds a small graph, prunes it to its fetches as a session would, runs one pass and looks at the
// nodes that are left. Which nodes are computed or merged is the easy half; what must not be is the
// other: stateful nodes, results that are too large, a constant that waits for something, equal
// nodes that differ in a device or a control edge. The last tests plant a bug in a pass of their
// own, as a later change might, and expect that debug builds name the pass. The list of passes
// itself is checked for its order and its options.
#include <stdlib.h>
#include <string.h>

#include "graph/verify.h"
#include "optimize/edit.h"
#include "session/pass_scene.h"

static int set_up(void** state) {
  static pass_scene_t f;
  pass_scene_open(&f);
  f.options = (leat_pass_options_t){.evaluate = leat_evaluator_run, .evaluate_data = &f.evaluator};
  *state = &f;
  return 0;
}

static void fold(pass_scene_t* f, leat_outputs_t fetches) {
  pass_scene_prune(f, fetches);
  LEAT_EXPECT_OK(leat_pass_run(&leat_pass_fold, &f->rewrite, &f->options));
}

static size_t cse(pass_scene_t* f, leat_outputs_t fetches) {
  pass_scene_prune(f, fetches);
  size_t before = f->rewrite.graph->node_count;
  LEAT_EXPECT_OK(leat_pass_run(&leat_pass_cse, &f->rewrite, &f->options));
  return before - f->rewrite.graph->node_count;
}

// The value of fetch |index|, which must be a constant.
static const leat_tensor_t* constant_of(const pass_scene_t* f, int index) {
  const leat_node_t* node = pass_scene_fetched(f, index);
  assert_true(node->op->flags & LEAT_OP_CONSTANT);
  return leat_node_attr(node, LEAT_SV("value"))->tensor;
}

// ---- Folding ------------------------------------------------------------------------------------

static void constants_are_computed(void** state) {
  pass_scene_t* f = *state;
  leat_output_t a = scene_float(&f->s, 2), b = scene_float(&f->s, 3);
  leat_output_t y = scene_binary(&f->s, "AddV2", -1, scene_binary(&f->s, "Mul", -1, a, b), a);
  fold(f, LEAT_INPUTS(y, a, y));
  assert_true(leat_tensor_data(constant_of(f, 0), const float)[0] == 8);
  assert_true(leat_tensor_data(constant_of(f, 1), const float)[0] == 2);
  assert_true(leat_output_equal(f->rewrite.fetches[0], f->rewrite.fetches[2]));
  assert_int_equal(f->rewrite.graph->node_count, 2);
}

static void every_output_is_kept(void** state) {
  pass_scene_t* f = *state;
  const float values[] = {1, 2, 3};
  leat_output_t axis = leat_build_scalar(&f->s.b, LEAT_DTYPE_INT32, 0);
  int32_t split = scene_node(&f->s, "Split", "split", "",
                             LEAT_INPUTS(axis, scene_floats(&f->s, 3, values)),
                             LEAT_ATTRS(LEAT_INT("num_split", 3)));
  fold(f, LEAT_INPUTS(leat_node_output(split, 2), leat_node_output(split, 0)));
  assert_true(leat_tensor_data(constant_of(f, 0), const float)[0] == 3);
  assert_true(leat_tensor_data(constant_of(f, 1), const float)[0] == 1);
}

static void shapes_are_constants(void** state) {
  pass_scene_t* f = *state;
  const int64_t dims[] = {3, 4}, partial[] = {-1, 4};
  leat_output_t known = scene_output(
      &f->s, "Placeholder", "known", "", LEAT_NO_INPUTS,
      LEAT_ATTRS(LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT),
                 LEAT_SHAPE("shape", ((leat_partial_shape_t){2, dims}))));
  leat_output_t open = scene_output(
      &f->s, "Placeholder", "open", "", LEAT_NO_INPUTS,
      LEAT_ATTRS(LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT),
                 LEAT_SHAPE("shape", ((leat_partial_shape_t){2, partial}))));
  leat_output_t a = scene_unary(&f->s, "Shape", -1, known);
  leat_output_t b = scene_unary(&f->s, "Shape", -1, open);
  leat_output_t r = scene_unary(&f->s, "Rank", -1, open);
  fold(f, LEAT_INPUTS(a, b, r));
  assert_int_equal(leat_tensor_data(constant_of(f, 0), const int32_t)[1], 4);
  assert_false(pass_scene_fetched(f, 1)->op->flags & LEAT_OP_CONSTANT);
}

// A size that its type cannot hold is no constant: the op says so when it runs.
static void sizes_that_overflow_stay(void** state) {
  pass_scene_t* f = *state;
  const int64_t wide[] = {INT64_C(1) << 31, 1}, square[] = {1 << 16, 1 << 16};
  const int64_t* dims[] = {wide, square};
  leat_output_t fetches[4];
  for (int i = 0; i < 2; ++i) {
    leat_output_t x = scene_output(
        &f->s, "Placeholder", i ? "square" : "wide", "", LEAT_NO_INPUTS,
        LEAT_ATTRS(LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT),
                   LEAT_SHAPE("shape", ((leat_partial_shape_t){2, dims[i]}))));
    fetches[i] = scene_unary(&f->s, i ? "Size" : "Shape", -1, x);
    fetches[2 + i] = scene_output(&f->s, i ? "Size" : "Shape", "", "", LEAT_INPUTS(x),
                                  LEAT_ATTRS(LEAT_TYPE("out_type", LEAT_DTYPE_INT64)));
  }
  fold(f, (leat_outputs_t){fetches, 4});
  for (int i = 0; i < 2; ++i) assert_false(pass_scene_fetched(f, i)->op->flags & LEAT_OP_CONSTANT);
  assert_true(leat_tensor_data(constant_of(f, 2), const int64_t)[0] == wide[0]);
  assert_true(leat_tensor_data(constant_of(f, 3), const int64_t)[0] == INT64_C(1) << 32);
}

static void what_must_run_stays(void** state) {
  pass_scene_t* f = *state;
  leat_output_t c = scene_float(&f->s, 1);
  leat_output_t stateful = scene_pass(&f->s, 1, -1, c);
  leat_output_t fails = scene_output(
      &f->s, "CheckNumerics", "check", "",
      LEAT_INPUTS(scene_binary(&f->s, "Div", -1, c, scene_float(&f->s, 0))),
      LEAT_ATTRS(LEAT_STR("message", "inf")));
  fold(f, LEAT_INPUTS(stateful, fails));
  for (int i = 0; i < 2; ++i) assert_false(pass_scene_fetched(f, i)->op->flags & LEAT_OP_CONSTANT);
}

// A variable whose shape is known may have no value yet, which its reader says. So the reader runs,
// though its value is not needed for the shape, and the passes after this one do not drop it.
static void what_reads_state_runs_where_only_its_shape_is_asked(void** state) {
  pass_scene_t* f = *state;
  const float values[] = {1, 2};
  leat_output_t reads = scene_pass(&f->s, 1, -1, scene_floats(&f->s, 2, values));
  LEAT_EXPECT_OK(leat_graph_refine_shape(
      f->s.graph, reads, (leat_partial_shape_t){1, (const int64_t[]){2}}));
  leat_output_t shape = scene_unary(&f->s, "Shape", -1, reads);
  fold(f, LEAT_INPUTS(shape));
  assert_int_equal(leat_tensor_data(constant_of(f, 0), const int32_t)[0], 2);
  const leat_pass_t* const passes[] = {&leat_pass_arithmetic, &leat_pass_dependency,
                                       &leat_pass_cse};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(passes); ++i) {
    LEAT_EXPECT_OK(leat_pass_run(passes[i], &f->rewrite, &f->options));
  }
  assert_int_equal(f->rewrite.target_count, 1);
  const leat_node_t* target = &f->rewrite.graph->nodes[f->rewrite.targets[0]];
  assert_true(leat_string_view_equal(target->name, f->s.graph->nodes[reads.node].name));
}

// c ─▶ handed ─▶ Neg ─▶ Split ─▶    A value that is known comes when it would have come.
//        ▲         ▲
//      early      late
static void what_waits_is_a_constant_that_waits(void** state) {
  pass_scene_t* f = *state;
  const float values[] = {1, 2};
  const int32_t early = scene_mark(&f->s, 1, -1), late = scene_mark(&f->s, 2, -1);
  leat_output_t handed = scene_unary(&f->s, "Identity", -1, scene_floats(&f->s, 2, values));
  leat_output_t negative = scene_unary(&f->s, "Neg", -1, handed);
  leat_output_t axis = leat_build_scalar(&f->s.b, LEAT_DTYPE_INT32, 0);
  const int32_t split = scene_node(&f->s, "Split", "split", "", LEAT_INPUTS(axis, negative),
                                   LEAT_ATTRS(LEAT_INT("num_split", 2)));
  scene_after(&f->s, handed.node, early);
  scene_after(&f->s, negative.node, late);
  fold(f, LEAT_INPUTS(leat_node_output(split, 1), negative, handed));
  const leat_node_t* nodes = f->rewrite.graph->nodes;
  const leat_node_t *second = pass_scene_fetched(f, 0), *whole = pass_scene_fetched(f, 1);
  assert_true(leat_tensor_data(constant_of(f, 0), const float)[0] == -2);
  assert_int_equal(second->control_count, 1);
  assert_true(&nodes[second->inputs[0].node] == whole);
  assert_true(leat_tensor_data(constant_of(f, 1), const float)[0] == -1);
  assert_int_equal(whole->control_count, 2);
  assert_true(&nodes[whole->inputs[0].node] == pass_scene_fetched(f, 2));
  assert_int_equal(pass_scene_fetched(f, 2)->input_count, 1);
}

static void large_results_stay(void** state) {
  pass_scene_t* f = *state;
  leat_output_t one = scene_float(&f->s, 1);
  const int64_t sizes[] = {1 << 20, 1 << 10};
  leat_output_t fetches[2];
  f->options.fold_limit_bytes = 1 << 16;
  for (int i = 0; i < 2; ++i) {
    leat_tensor_t dims;
    LEAT_EXPECT_OK(leat_tensor_vector(LEAT_DTYPE_INT64, &sizes[i], 1, &dims));
    fetches[i] = scene_binary(&f->s, "Fill", -1, leat_build_constant(&f->s.b, &dims), one);
    leat_tensor_release(&dims);
  }
  fold(f, (leat_outputs_t){fetches, 2});
  assert_false(pass_scene_fetched(f, 0)->op->flags & LEAT_OP_CONSTANT);
  assert_int_equal(constant_of(f, 1)->shape.element_count, 1 << 10);
}

// A budget that is spent with the first computation: the rest of the chain stays.
static void folding_ends_in_time(void** state) {
  pass_scene_t* f = *state;
  leat_output_t y = scene_float(&f->s, 1);
  for (int i = 0; i < 1000; ++i) y = scene_unary(&f->s, "Exp", -1, y);
  f->options.fold_limit_ns = 1;
  fold(f, LEAT_INPUTS(y));
  assert_in_range(f->rewrite.graph->node_count, 900, 1001);
  f->options.fold_limit_ns = 0;
  fold(f, LEAT_INPUTS(y));
  assert_int_equal(f->rewrite.graph->node_count, 1);
}

static void no_evaluator_no_folding(void** state) {
  pass_scene_t* f = *state;
  f->options.evaluate = NULL;
  fold(f, LEAT_INPUTS(scene_unary(&f->s, "Neg", -1, scene_float(&f->s, 1))));
  assert_int_equal(f->rewrite.graph->node_count, 2);
}

// ---- Common subexpressions ----------------------------------------------------------------------

static void equal_nodes_are_merged(void** state) {
  pass_scene_t* f = *state;
  leat_output_t x = scene_placeholder(&f->s, "x", LEAT_DTYPE_FLOAT);
  leat_output_t y = scene_placeholder(&f->s, "y", LEAT_DTYPE_FLOAT);
  leat_output_t a = scene_binary(&f->s, "Mul", -1, x, y), b = scene_binary(&f->s, "Mul", -1, x, y);
  leat_output_t c = scene_unary(&f->s, "Neg", -1, a), d = scene_unary(&f->s, "Neg", -1, b);
  assert_int_equal(cse(f, LEAT_INPUTS(c, d, a, b)), 2);
  assert_true(leat_output_equal(f->rewrite.fetches[0], f->rewrite.fetches[1]));
  assert_true(leat_output_equal(f->rewrite.fetches[2], f->rewrite.fetches[3]));
}

static void commutative_inputs(void** state) {
  pass_scene_t* f = *state;
  leat_output_t x = scene_placeholder(&f->s, "x", LEAT_DTYPE_FLOAT);
  leat_output_t y = scene_placeholder(&f->s, "y", LEAT_DTYPE_FLOAT);
  assert_int_equal(cse(f, LEAT_INPUTS(scene_binary(&f->s, "Mul", -1, x, y),
                                      scene_binary(&f->s, "Mul", -1, y, x))), 1);
  assert_int_equal(cse(f, LEAT_INPUTS(scene_binary(&f->s, "Sub", -1, x, y),
                                      scene_binary(&f->s, "Sub", -1, y, x))), 0);
  // Inputs that are merged themselves are one, in either order.
  leat_output_t a = scene_unary(&f->s, "Neg", -1, x), b = scene_unary(&f->s, "Neg", -1, x);
  assert_int_equal(cse(f, LEAT_INPUTS(scene_binary(&f->s, "Mul", -1, a, y),
                                      scene_binary(&f->s, "Mul", -1, y, b))), 2);
}

static void different_nodes_are_not_merged(void** state) {
  pass_scene_t* f = *state;
  scene_t* s = &f->s;
  leat_output_t x = scene_placeholder(s, "x", LEAT_DTYPE_FLOAT);
  leat_output_t pairs[][2] = {
      // Stateful; another attribute; another device; another control input; another output.
      {scene_pass(s, 1, -1, x), scene_pass(s, 1, -1, x)},
      {scene_output(s, "Cast", "", "", LEAT_INPUTS(x), LEAT_ATTRS(LEAT_TYPE("DstT", 2))),
       scene_output(s, "Cast", "", "", LEAT_INPUTS(x), LEAT_ATTRS(LEAT_TYPE("DstT", 3)))},
      {scene_unary(s, "Neg", 0, x), scene_unary(s, "Neg", 1, x)},
      {scene_unary(s, "Exp", -1, x), scene_unary(s, "Exp", -1, x)},
      {scene_placeholder(s, "p", LEAT_DTYPE_FLOAT), scene_placeholder(s, "q", LEAT_DTYPE_FLOAT)},
      {scene_float(s, 0.0f), scene_float(s, -0.0f)},
  };
  scene_after(s, pairs[3][1].node, scene_mark(s, 1, -1));
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(pairs); ++i) {
    assert_int_equal(cse(f, LEAT_INPUTS(pairs[i][0], pairs[i][1])), 0);
  }
  leat_output_t same[2] = {scene_float(s, 7), scene_float(s, 7)};
  assert_int_equal(cse(f, LEAT_INPUTS(same[0], same[1])), 1);
}

// 20,000 nodes in pairs, against the order of building: neither slow nor deep.
static void many_nodes(void** state) {
  pass_scene_t* f = *state;
  leat_output_t x = scene_placeholder(&f->s, "x", LEAT_DTYPE_FLOAT), y[2] = {x, x};
  for (int i = 0; i < 10000; ++i) {
    for (int k = 0; k < 2; ++k) y[k] = scene_unary(&f->s, i % 2 ? "Neg" : "Exp", -1, y[k]);
  }
  assert_int_equal(cse(f, LEAT_INPUTS(y[0], y[1])), 10000);
}

// ---- Dependencies -------------------------------------------------------------------------------

static const leat_node_t* clean(pass_scene_t* f, int32_t target, size_t expected_nodes) {
  if (f->rewrite.graph) leat_rewrite_deinitialize(&f->rewrite);
  LEAT_EXPECT_OK(leat_prune(f->s.graph, NULL, 0, NULL, 0, &target, 1, &f->rewrite));
  LEAT_EXPECT_OK(leat_pass_run(&leat_pass_dependency, &f->rewrite, &f->options));
  assert_int_equal(f->rewrite.graph->node_count, expected_nodes);
  return &f->rewrite.graph->nodes[f->rewrite.targets[0]];
}

static int32_t after(pass_scene_t* f, int32_t earlier) {
  int32_t node = scene_node(&f->s, "NoOp", "", "", LEAT_NO_INPUTS, LEAT_NO_ATTRS);
  if (earlier >= 0) scene_after(&f->s, node, earlier);
  return node;
}

static void edges_that_say_nothing_go(void** state) {
  pass_scene_t* f = *state;
  int32_t mark = scene_mark(&f->s, 1, -1), chain = mark;
  for (int i = 0; i < 5000; ++i) chain = after(f, chain);
  const leat_node_t* last = clean(f, chain, 2);
  assert_int_equal(last->control_count, 1);
  // Against the order of building too, and not one step a node of it.
  enum { kCount = 20000 };
  int32_t first = after(f, -1), next = first;
  for (int i = 0; i < kCount; ++i) {
    int32_t node = after(f, -1);
    scene_after(&f->s, next, node);
    next = node;
  }
  scene_after(&f->s, next, mark);
  clean(f, first, 2);
  // What is there from the start; a node waited for twice; one whose value is read.
  leat_output_t x = scene_pass(&f->s, 2, -1, scene_float(&f->s, 1));
  leat_output_t y = scene_unary(&f->s, "Neg", -1, x);
  scene_after(&f->s, y.node, x.node);
  scene_after(&f->s, y.node, scene_float(&f->s, 2).node);
  scene_after(&f->s, y.node, after(f, -1));
  scene_after(&f->s, y.node, after(f, mark));
  scene_after(&f->s, y.node, after(f, mark));
  assert_int_equal(clean(f, y.node, 4)->control_count, 1);
}

// A constant is there from the start only if it waits for nothing: who waits for one that waits is
// still behind whatever that one waits for.
static void a_constant_that_waits_is_waited_for(void** state) {
  pass_scene_t* f = *state;
  int32_t earlier = scene_mark(&f->s, 1, -1), later = scene_mark(&f->s, 2, -1);
  leat_output_t constant = scene_float(&f->s, 1), reader = scene_pass(&f->s, 3, -1, constant);
  scene_after(&f->s, constant.node, earlier);
  scene_after(&f->s, later, constant.node);
  int32_t both = after(f, later);
  scene_after(&f->s, both, reader.node);
  const leat_node_t* last = clean(f, both, 5);
  const leat_node_t* nodes = f->rewrite.graph->nodes;
  assert_int_equal(last->control_count, 2);
  for (int i = 0; i < 2; ++i) {
    const leat_node_t* waits = &nodes[last->inputs[i].node];
    assert_int_equal(waits->input_count + waits->control_count, 1);
    const leat_node_t* waited_for = &nodes[waits->inputs[0].node];
    assert_true(waited_for->op->flags & LEAT_OP_CONSTANT);
    assert_int_equal(waited_for->control_count, 1);
  }
}

// Whoever waits for a Recv is not told that it brought a dead value; whoever waits for what reads
// it is.
static void what_reads_a_recv_is_waited_for(void** state) {
  pass_scene_t* f = *state;
  const int32_t recv =
      scene_node(&f->s, "_Recv", "", "", LEAT_NO_INPUTS,
                 LEAT_ATTRS(LEAT_TYPE("tensor_type", LEAT_DTYPE_FLOAT),
                            LEAT_STR("tensor_name", "v"),
                            LEAT_STR("send_device", "a"),
                            LEAT_INT("send_device_incarnation", 1),
                            LEAT_STR("recv_device", "b")));
  const int32_t pivot = scene_unary(&f->s, "Identity", -1, leat_node_output(recv, 0)).node;
  const leat_node_t* last = clean(f, after(f, pivot), 3);
  assert_true(f->rewrite.graph->nodes[last->inputs[0].node].op->flags & LEAT_OP_PASS_THROUGH);
}

static void work_that_is_only_waited_for_goes(void** state) {
  pass_scene_t* f = *state;
  leat_output_t x = scene_pass(&f->s, 1, -1, scene_float(&f->s, 1)), y = x;
  for (int i = 0; i < 10; ++i) y = scene_unary(&f->s, "Exp", -1, y);
  const leat_node_t* last = clean(f, after(f, y.node), 3);
  assert_int_equal(last->control_count, 1);
  // Two things to wait for: a NoOp gathers them.
  leat_output_t sum = scene_binary(&f->s, "AddV2", -1, x, scene_pass(&f->s, 2, -1, x));
  assert_int_equal(clean(f, after(f, sum.node), 5)->control_count, 1);
}

// ---- Passes that are wrong ----------------------------------------------------------------------

// Three passes with a bug each, as a later change might plant one.
static leat_status_t leave_dangling_input(leat_edit_t* edit) {
  const int32_t sum = edit->rewrite->fetches[0].node;
  edit->graph->nodes[sum].inputs[1].node = (int32_t)edit->graph->node_count;
  return leat_ok_status();
}

static leat_status_t lose_fetch(leat_edit_t* edit) {
  edit->rewrite->fetches[0].node = -1;
  return leat_ok_status();
}

static leat_status_t forget_device(leat_edit_t* edit) {
  leat_graph_t* graph = edit->graph;
  for (size_t i = 0; i < graph->node_count; ++i) graph->nodes[i].assigned_device = i ? 0 : -1;
  return leat_ok_status();
}

// Changes an edge and does not tell the edit.
static leat_status_t go_behind_the_edit(leat_edit_t* edit) {
  const int32_t sum = edit->rewrite->fetches[0].node;
  edit->graph->nodes[sum].inputs[1] = edit->graph->nodes[sum].inputs[0];
  return leat_ok_status();
}

// In debug builds the pass is named that left a graph which is not well formed; release builds do
// not look.
static void a_wrong_pass_is_named(void** state) {
  static const leat_pass_t kDangling = {.name = "dangling", .run = leave_dangling_input};
  static const leat_pass_t kLost = {.name = "lost", .run = lose_fetch};
  static const leat_pass_t kForgetful = {
      .name = "forgetful", .stage = LEAT_PASS_PLACED, .run = forget_device};
  static const leat_pass_t kSecret = {.name = "secret", .run = go_behind_the_edit};
  static const struct {
    const leat_pass_t* pass;
    const char* message;
  } kCases[] = {
      {&kDangling, "Verifying failed after pass dangling: edge 1 of node 'AddV2' comes from node 3,"
                   " must be one of the graph's 3"},
      {&kLost, "Verifying failed after pass lost: fetch 0 is output 0 of node -1"},
      {&kForgetful, "Verifying failed after pass forgetful for node 'Const' (Const): the device is "
                    "-1"},
      {&kSecret, "Verifying failed after pass secret: 'AddV2' must read node 'Const_1' at position "
                 "1, as the edit has it"},
  };
  pass_scene_t* f = *state;
  leat_output_t a = scene_float(&f->s, 2), b = scene_float(&f->s, 3);
  leat_output_t sum = scene_binary(&f->s, "AddV2", -1, a, b);
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kCases); ++i) {
    pass_scene_prune(f, LEAT_INPUTS(sum));
    leat_status_t status = leat_pass_run(kCases[i].pass, &f->rewrite, &f->options);
    if (LEAT_VERIFIES) {
      scene_expect(status, LEAT_INTERNAL, kCases[i].message);
    } else {
      LEAT_EXPECT_OK(status);
    }
  }
}

// The list keeps to what each pass says of those that it comes after, and each has its own bit.
static void the_list_of_passes_is_in_order(void** state) {
  uint32_t bits = 0;
  int stage = LEAT_PASS_WHOLE;
  (void)state;
  for (const leat_pass_t* const* pass = leat_passes; *pass; ++pass) {
    assert_true((int)(*pass)->stage >= stage);
    stage = (*pass)->stage;
    assert_false(bits & (*pass)->bit);
    bits |= (*pass)->bit;
    for (const char* name = (*pass)->after; name && *name; name += strspn(name, ",")) {
      const size_t size = strcspn(name, ",");
      const leat_pass_t* const* before = leat_passes;
      while (before < pass && !(strlen((*before)->name) == size &&
                                !strncmp((*before)->name, name, size))) {
        ++before;
      }
      if (before == pass) fail_msg("%s does not come after %s", (*pass)->name, name);
      name += size;
    }
  }
}

// The passes of an option, those of every option, and no others.
static void options_name_passes(void** state) {
  (void)state;
  const uint32_t remapping = leat_passes_of_option("remapping");
  const uint32_t memory = LEAT_PASS_BIT_RECOMPUTE | LEAT_PASS_BIT_SWAP | LEAT_PASS_BIT_COMPRESS;
  assert_int_equal(leat_passes_of_option("constant_folding"), LEAT_PASS_BIT_FOLD);
  assert_true(remapping & LEAT_PASS_BIT_RULES && remapping & LEAT_PASS_BIT_FUSION);
  assert_false(remapping & (LEAT_PASS_BIT_FOLD | memory));
  assert_int_equal(leat_passes_of_option(NULL) & (remapping | memory), remapping);
  assert_int_equal(leat_passes_of_option("no such option"), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, pass_scene_tear_down)
      TEST(constants_are_computed),
      TEST(every_output_is_kept),
      TEST(shapes_are_constants),
      TEST(sizes_that_overflow_stay),
      TEST(what_must_run_stays),
      TEST(what_reads_state_runs_where_only_its_shape_is_asked),
      TEST(large_results_stay),
      TEST(what_waits_is_a_constant_that_waits),
      TEST(folding_ends_in_time),
      TEST(no_evaluator_no_folding),
      TEST(equal_nodes_are_merged),
      TEST(commutative_inputs),
      TEST(different_nodes_are_not_merged),
      TEST(many_nodes),
      TEST(edges_that_say_nothing_go),
      TEST(a_constant_that_waits_is_waited_for),
      TEST(what_reads_a_recv_is_waited_for),
      TEST(work_that_is_only_waited_for_goes),
      TEST(a_wrong_pass_is_named),
      TEST(the_list_of_passes_is_in_order),
      TEST(options_name_passes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
