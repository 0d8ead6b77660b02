// Pruning cuts a client's graph down to what a step needs (white paper, section 4.2): from the
// fetches and targets backwards, up to what is fed. The nodes that stay are compared as one line of
// names in order, where ARG is a feed. Control edges are needs like others, which leads to the
// surprising case: a node whose value is fed need not run, but a node that only waits for it still
// makes it run. Feeding one of several outputs of a node must not cut off the others, and the node
// that replaces the fed output must have that output's shape.
#include <string.h>

#include "optimize/pass.h"
#include "session/scene.h"

// Names of the pruned graph's nodes, in order, with one space between.
static void expect_nodes(const leat_rewrite_t* rewrite, const char* names) {
  char text[1000] = "";
  for (size_t i = 0; i < rewrite->graph->node_count; ++i) {
    const leat_node_t* node = &rewrite->graph->nodes[i];
    if (i) strcat(text, " ");
    strncat(text, node->op->flags & LEAT_OP_ARGUMENT ? "ARG" : node->name.data,
            node->op->flags & LEAT_OP_ARGUMENT ? 3 : node->name.size);
  }
  assert_string_equal(text, names);
}

static leat_output_t unary(scene_t* s, const char* name, leat_output_t x) {
  return scene_output(s, "Neg", name, "", LEAT_INPUTS(x), LEAT_NO_ATTRS);
}

static void prune(scene_t* s, leat_outputs_t feeds, leat_outputs_t fetches, int32_t target,
                  leat_rewrite_t* out_rewrite) {
  LEAT_EXPECT_OK(leat_prune(s->graph, feeds.items, feeds.count, fetches.items, fetches.count,
                            &target, target >= 0, out_rewrite));
}

static void parts_of_a_graph(void** state) {
  scene_t s;
  scene_open(&s);
  leat_output_t a = scene_placeholder(&s, "a", LEAT_DTYPE_FLOAT);
  leat_output_t b = unary(&s, "b", a), c = unary(&s, "c", b), d = unary(&s, "d", b);
  leat_output_t e = scene_output(&s, "AddV2", "e", "", LEAT_INPUTS(c, d), LEAT_NO_ATTRS);
  unary(&s, "f", e);
  static const struct {
    int fed, fetched, target;  // -1: none; by letter
    const char* nodes;
  } cases[] = {
      {-1, 2, -1, "a b c"},  {-1, 4, -1, "a b c d e"}, {0, 2, -1, "ARG b c"},
      {1, 4, -1, "ARG c d e"}, {4, 4, -1, "ARG"},      {1, 1, -1, "ARG"},
      {-1, -1, 3, "a b d"},  {2, 4, -1, "ARG a b d e"}, {0, -1, -1, "ARG"},
      {4, 1, -1, "ARG a b"}, {-1, -1, -1, ""},
  };
  leat_output_t all[] = {a, b, c, d, e};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(cases); ++i) {
    leat_rewrite_t rewrite;
    leat_output_t feed = all[cases[i].fed < 0 ? 0 : cases[i].fed];
    leat_output_t fetch = all[cases[i].fetched < 0 ? 0 : cases[i].fetched];
    prune(&s, (leat_outputs_t){&feed, cases[i].fed >= 0},
          (leat_outputs_t){&fetch, cases[i].fetched >= 0},
          cases[i].target < 0 ? -1 : all[cases[i].target].node, &rewrite);
    expect_nodes(&rewrite, cases[i].nodes);
    leat_rewrite_deinitialize(&rewrite);
  }
  scene_close(&s);
}

static void control_edges_are_needs(void** state) {
  scene_t s;
  scene_open(&s);
  leat_output_t x = scene_placeholder(&s, "x", LEAT_DTYPE_FLOAT);
  leat_output_t y = unary(&s, "y", x), z = unary(&s, "z", x);
  scene_after(&s, z.node, y.node);
  leat_rewrite_t rewrite;
  prune(&s, LEAT_INPUTS(x), LEAT_INPUTS(z), -1, &rewrite);
  expect_nodes(&rewrite, "ARG y z");
  leat_rewrite_deinitialize(&rewrite);
  // A value that is fed does not spare the node from which a control edge comes.
  prune(&s, LEAT_INPUTS(x, y), LEAT_INPUTS(z), -1, &rewrite);
  expect_nodes(&rewrite, "ARG ARG y z");
  leat_rewrite_deinitialize(&rewrite);
  // But a placeholder that is fed asks for nothing.
  scene_after(&s, z.node, x.node);
  prune(&s, LEAT_INPUTS(x), LEAT_INPUTS(z), -1, &rewrite);
  expect_nodes(&rewrite, "ARG y z");
  leat_rewrite_deinitialize(&rewrite);
  scene_close(&s);
}

static void one_of_several_outputs_is_fed(void** state) {
  scene_t s;
  scene_open(&s);
  leat_output_t axis = scene_output(&s, "Placeholder", "axis", "", LEAT_NO_INPUTS,
                                    LEAT_ATTRS(LEAT_TYPE("dtype", LEAT_DTYPE_INT32)));
  leat_output_t x = scene_placeholder(&s, "x", LEAT_DTYPE_FLOAT);
  int32_t split = scene_node(&s, "Split", "split", "", LEAT_INPUTS(axis, x),
                             LEAT_ATTRS(LEAT_INT("num_split", 2)));
  leat_output_t first = leat_node_output(split, 0), second = leat_node_output(split, 1);
  leat_output_t a = unary(&s, "a", first);
  leat_output_t both = scene_output(&s, "AddV2", "both", "", LEAT_INPUTS(a, second),
                                    LEAT_NO_ATTRS);
  leat_rewrite_t rewrite;
  prune(&s, LEAT_INPUTS(first), LEAT_INPUTS(a), -1, &rewrite);
  expect_nodes(&rewrite, "ARG a");
  leat_rewrite_deinitialize(&rewrite);
  prune(&s, LEAT_INPUTS(first), LEAT_INPUTS(both), -1, &rewrite);
  expect_nodes(&rewrite, "ARG axis x split a both");
  leat_rewrite_deinitialize(&rewrite);
  prune(&s, LEAT_INPUTS(second, first), LEAT_INPUTS(both), -1, &rewrite);
  expect_nodes(&rewrite, "ARG ARG a both");
  const leat_node_t* sum = &rewrite.graph->nodes[rewrite.fetches[0].node];
  assert_int_equal(leat_node_attr_int(&rewrite.graph->nodes[sum->inputs[1].node], "index", -1), 0);
  leat_rewrite_deinitialize(&rewrite);
  scene_close(&s);
}

// What stands for a fed output has that output's shape, and not another one's of the same node.
static void a_fed_output_keeps_its_shape(void** state) {
  scene_t s;
  scene_open(&s);
  leat_output_t x = scene_matrix(&s, "x", 3, 5);
  const int32_t sizes[] = {1, 4};
  leat_output_t axis = leat_build_scalar(&s.b, LEAT_DTYPE_INT32, 1);
  int32_t split = scene_node(&s, "SplitV", "split", "",
                             LEAT_INPUTS(x, leat_build_int32_vector(&s.b, sizes, 2), axis),
                             LEAT_ATTRS(LEAT_INT("num_split", 2)));
  leat_output_t second = leat_node_output(split, 1);
  leat_output_t y = unary(&s, "y", second);
  leat_rewrite_t rewrite;
  prune(&s, LEAT_INPUTS(second), LEAT_INPUTS(y), -1, &rewrite);
  expect_nodes(&rewrite, "ARG y");
  leat_partial_shape_t shape = leat_graph_output_shape(rewrite.graph, (leat_output_t){0, 0});
  assert_int_equal(shape.rank, 2);
  assert_int_equal(shape.dims[0], 3);
  assert_int_equal(shape.dims[1], 4);
  leat_rewrite_deinitialize(&rewrite);
  scene_close(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(parts_of_a_graph),
      cmocka_unit_test(control_edges_are_needs),
      cmocka_unit_test(one_of_several_outputs_is_fed),
      cmocka_unit_test(a_fed_output_keeps_its_shape),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
