// The edit (optimize/edit.h) is the tool by which all passes change a graph; it keeps the uses, the
// order and the dead nodes up to date. What it knows after each change must agree with the graph,
// and leat_edit_verify() compares the two at the end of every test. The cases are chains of Neg
// nodes: nodes that nobody needs disappear and come back when something needs them; nodes that
// waited for one that disappeared wait for the right nodes; and no change closes a cycle. At last
// 20 random graphs get 400 random changes each, and a search along the edges, which uses nothing of
// the edit, decides whether a change had to be refused.
#include "optimize/edit.h"

#include "session/flow.h"
#include "session/pass_scene.h"

// Prunes the graph to |fetches|, as the passes find it, and puts all nodes on one device, because
// an edit copies the device of the node beside which it adds.
static leat_edit_t* open_edit(pass_scene_t* f, leat_outputs_t fetches) {
  static leat_edit_t edit;
  pass_scene_prune(f, fetches);
  for (size_t i = 0; i < f->rewrite.graph->node_count; ++i) {
    f->rewrite.graph->nodes[i].assigned_device = 0;
  }
  LEAT_EXPECT_OK(leat_edit_initialize(&f->rewrite, &f->options, &edit));
  return &edit;
}

static void close_edit(leat_edit_t* edit) {
  LEAT_EXPECT_OK(leat_edit_verify(edit, false, "the test"));
  LEAT_EXPECT_OK(leat_edit_compact(edit));
  leat_edit_deinitialize(edit);
}

// Nodes of the pruned graph by the names that the client gave.
static int32_t find(const leat_edit_t* edit, const char* name) {
  const int32_t node = leat_graph_find_node(edit->graph, leat_string_view_from(name));
  if (node < 0) fail_msg("there is no node '%s'", name);
  return node;
}

static leat_output_t named(scene_t* s, const char* name, leat_output_t x) {
  return scene_output(s, "Neg", name, "", LEAT_INPUTS(x),
                      LEAT_ATTRS(LEAT_TYPE("T", LEAT_DTYPE_FLOAT)));
}

// A new node of the op of |beside|, for which the edit must find a free name and the attributes.
static int32_t add_neg(leat_edit_t* edit, int32_t beside, leat_output_t x) {
  leat_node_spec_t spec = {.op = leat_edit_node(edit, beside)->op,
                           .inputs = &x,
                           .input_count = 1,
                           .infer_attrs = true};
  int32_t node;
  LEAT_EXPECT_OK(leat_edit_add(edit, beside, "/_added", &spec, &node));
  return node;
}

#define OUTPUT(node) ((leat_output_t){(node), 0})

// x -> a -> b -> c, and c is fetched
static leat_edit_t* open_chain(pass_scene_t* f) {
  leat_output_t x = scene_placeholder(&f->s, "x", LEAT_DTYPE_FLOAT);
  leat_output_t a = named(&f->s, "a", x), b = named(&f->s, "b", a), c = named(&f->s, "c", b);
  return open_edit(f, LEAT_INPUTS(c));
}

// ---- Nodes that go and come back ----------------------------------------------------------------

static void what_nobody_needs_is_gone_and_comes_back(void** state) {
  leat_edit_t* edit = open_chain(*state);
  const int32_t x = find(edit, "x"), a = find(edit, "a"), b = find(edit, "b"), c = find(edit, "c");
  assert_int_equal(leat_edit_use_count(edit, x), 1);
  LEAT_EXPECT_OK(leat_edit_set_input(edit, c, 0, OUTPUT(x)));
  assert_true(leat_edit_is_gone(edit, a));
  assert_true(leat_edit_is_gone(edit, b));
  assert_int_equal(leat_edit_use_count(edit, x), 1);  // a reads it no more
  LEAT_EXPECT_OK(leat_edit_verify(edit, false, "the test"));
  LEAT_EXPECT_OK(leat_edit_set_input(edit, c, 0, OUTPUT(b)));
  assert_false(leat_edit_is_gone(edit, a));
  assert_false(leat_edit_is_gone(edit, b));
  assert_int_equal(leat_edit_use_count(edit, x), 1);
  close_edit(edit);
}

// What a node read while it was gone may have been raised above it.
static void what_comes_back_is_in_order(void** state) {
  pass_scene_t* f = *state;
  leat_output_t x = scene_placeholder(&f->s, "x", LEAT_DTYPE_FLOAT);
  leat_output_t a = named(&f->s, "a", x), b = named(&f->s, "b", a), c = named(&f->s, "c", b);
  leat_output_t d = named(&f->s, "d", named(&f->s, "late", x));
  leat_edit_t* edit = open_edit(f, LEAT_INPUTS(a, c, d));
  const int32_t at = find(edit, "a"), bt = find(edit, "b"), ct = find(edit, "c"),
                dt = find(edit, "d");
  LEAT_EXPECT_OK(leat_edit_set_input(edit, ct, 0, OUTPUT(dt)));
  assert_true(leat_edit_is_gone(edit, bt));
  LEAT_EXPECT_OK(leat_edit_set_input(edit, at, 0, OUTPUT(dt)));  // a is above b now
  LEAT_EXPECT_OK(leat_edit_set_input(edit, ct, 0, OUTPUT(bt)));
  LEAT_EXPECT_OK(leat_edit_verify(edit, false, "the test"));
  assert_true(leat_edit_reaches(edit, dt, ct));
  close_edit(edit);
}

static void what_a_pass_added_in_vain_is_gone_at_its_end(void** state) {
  leat_edit_t* edit = open_chain(*state);
  const int32_t a = find(edit, "a");
  leat_edit_begin_pass(edit);
  const int32_t first = add_neg(edit, a, OUTPUT(a)), second = add_neg(edit, a, OUTPUT(first));
  assert_int_equal(leat_edit_use_count(edit, a), 2);
  leat_edit_drop_unneeded(edit, edit->first_of_pass);
  assert_true(leat_edit_is_gone(edit, first) && leat_edit_is_gone(edit, second));
  assert_int_equal(leat_edit_use_count(edit, a), 1);
  close_edit(edit);
}

static void fetches_and_targets_follow(void** state) {
  pass_scene_t* f = *state;
  leat_edit_t* edit = open_chain(f);
  const int32_t b = find(edit, "b"), c = find(edit, "c");
  LEAT_EXPECT_OK(leat_edit_keep(edit, b));
  LEAT_EXPECT_OK(leat_edit_replace(edit, c, find(edit, "a")));
  assert_true(leat_edit_is_gone(edit, c));
  assert_false(leat_edit_is_gone(edit, b));  // a target
  LEAT_EXPECT_OK(leat_edit_replace_by_output(edit, b, OUTPUT(find(edit, "x"))));
  assert_true(leat_edit_is_gone(edit, b));
  close_edit(edit);
  assert_int_equal(f->rewrite.graph->node_count, 2);
  assert_true(leat_string_view_equals(pass_scene_fetched(f, 0)->name, "a"));
  assert_int_equal(f->rewrite.target_count, 1);
  assert_true(leat_string_view_equals(
      f->rewrite.graph->nodes[f->rewrite.targets[0]].name, "x"));
}

// ---- Waiters ------------------------------------------------------------------------------------

static void who_waits_for_what_vanishes_waits_for_what_it_read(void** state) {
  pass_scene_t* f = *state;
  leat_output_t x = scene_placeholder(&f->s, "x", LEAT_DTYPE_FLOAT);
  leat_output_t a = named(&f->s, "a", x), b = named(&f->s, "b", a), w = named(&f->s, "w", x);
  scene_after(&f->s, a.node, scene_placeholder(&f->s, "first", LEAT_DTYPE_FLOAT).node);
  scene_after(&f->s, w.node, a.node);
  leat_edit_t* edit = open_edit(f, LEAT_INPUTS(b, w));
  const int32_t at = find(edit, "a");
  assert_true(leat_edit_may_vanish(edit, at));
  LEAT_EXPECT_OK(leat_edit_pass_waiters(edit, at));
  LEAT_EXPECT_OK(leat_edit_set_input(edit, find(edit, "b"), 0, OUTPUT(find(edit, "x"))));
  assert_true(leat_edit_is_gone(edit, at));
  close_edit(edit);
  const leat_graph_t* graph = f->rewrite.graph;
  const leat_node_t* waits = pass_scene_fetched(f, 1);
  assert_int_equal(waits->control_count, 1);
  const leat_node_t* group = &graph->nodes[waits->inputs[waits->input_count].node];
  assert_true(pass_scene_is_op(group, "NoOp"));
  assert_int_equal(group->control_count, 2);
  for (int i = 0; i < 2; ++i) {
    assert_true(pass_scene_is_op(&graph->nodes[group->inputs[i].node], "Placeholder"));
  }
}

// Only one output of a Switch is alive, which a control edge cannot tell.
static void what_reads_a_switch_may_not_vanish_while_others_wait(void** state) {
  pass_scene_t* f = *state;
  leat_output_t x = scene_placeholder(&f->s, "x", LEAT_DTYPE_FLOAT),
                p = scene_placeholder(&f->s, "p", LEAT_DTYPE_BOOL);
  leat_output_t a = named(&f->s, "a", flow_switch(&f->s, x, p, 1)), b = named(&f->s, "b", a);
  leat_output_t w = named(&f->s, "w", x);
  leat_edit_t* edit = open_edit(f, LEAT_INPUTS(b, w));
  assert_true(leat_edit_may_vanish(edit, find(edit, "a")));
  LEAT_EXPECT_OK(leat_edit_add_wait(edit, find(edit, "w"), find(edit, "a")));
  assert_false(leat_edit_may_vanish(edit, find(edit, "a")));
  close_edit(edit);
}

// ---- Order --------------------------------------------------------------------------------------

static void no_change_closes_a_cycle(void** state) {
  leat_edit_t* edit = open_chain(*state);
  const int32_t a = find(edit, "a"), b = find(edit, "b"), c = find(edit, "c");
  scene_expect(leat_edit_set_input(edit, a, 0, OUTPUT(c)), LEAT_INTERNAL,
               "Editing the graph failed for node 'a' (Neg): it would read 'c' (Neg), which must "
               "not depend on it");
  scene_expect(leat_edit_add_wait(edit, a, b), LEAT_INTERNAL, "it would read 'b' (Neg)");
  assert_int_equal(leat_edit_node(edit, a)->inputs[0].node, find(edit, "x"));
  // A node may be put between another and those that read it.
  const int32_t between = add_neg(edit, a, OUTPUT(a));
  LEAT_EXPECT_OK(leat_edit_replace(edit, a, between));
  assert_int_equal(leat_edit_node(edit, between)->inputs[0].node, a);
  assert_int_equal(leat_edit_node(edit, b)->inputs[0].node, between);
  close_edit(edit);
}

// Executors follow the order of the nodes where edges leave them a choice.
static void what_is_added_stands_before_its_first_reader(void** state) {
  pass_scene_t* f = *state;
  leat_edit_t* edit = open_chain(f);
  const int32_t a = find(edit, "a"), c = find(edit, "c");
  const int32_t first = add_neg(edit, a, OUTPUT(a)), second = add_neg(edit, a, OUTPUT(first));
  LEAT_EXPECT_OK(leat_edit_set_input(edit, c, 0, OUTPUT(second)));
  LEAT_EXPECT_OK(leat_edit_add_wait(edit, c, find(edit, "b")));
  close_edit(edit);
  static const char* const kNames[] = {"x", "a", "b", "a/_added", "a/_added_1", "c"};
  const leat_graph_t* graph = f->rewrite.graph;
  assert_int_equal(graph->node_count, LEAT_ARRAY_SIZE(kNames));
  for (size_t i = 0; i < graph->node_count; ++i) {
    assert_true(leat_string_view_equals(graph->nodes[i].name, kNames[i]));
  }
}

// ---- Many changes -------------------------------------------------------------------------------

// xorshift64
static uint64_t next_random(uint64_t* state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  return *state ^= *state << 17;
}

#define RANDOM_NODES 40
#define RANDOM_CHANGES 400

// By the edges alone, with no help from ranks.
static bool depends_on(const leat_graph_t* graph, int32_t node, int32_t source, bool* seen) {
  if (node == source) return true;
  if (seen[node]) return false;
  seen[node] = true;
  const leat_node_t* n = &graph->nodes[node];
  for (int k = 0; k < leat_node_edge_count(n); ++k) {
    if (depends_on(graph, n->inputs[k].node, source, seen)) return true;
  }
  return false;
}

static bool is_path(const leat_edit_t* edit, int32_t from, int32_t to) {
  bool seen[RANDOM_NODES + RANDOM_CHANGES + 8] = {false};
  assert_true(edit->graph->node_count <= LEAT_ARRAY_SIZE(seen));
  return depends_on(edit->graph, to, from, seen);
}

// A change is refused exactly where it would close a cycle, and the edit is true after each.
static void change_at_random(leat_edit_t* edit, uint64_t* random) {
  const int32_t count = (int32_t)edit->graph->node_count;
  const int32_t node = (int32_t)(next_random(random) % (uint64_t)count),
                other = (int32_t)(next_random(random) % (uint64_t)count);
  const bool is_neg = pass_scene_is_op(leat_edit_node(edit, node), "Neg");
  if (leat_edit_is_gone(edit, node) || node == other) return;
  leat_status_t status = leat_ok_status();
  bool closes = false;
  switch (next_random(random) % 4) {
    case 0:
      if (!is_neg) return;
      closes = is_path(edit, node, other);
      status = leat_edit_set_input(edit, node, 0, OUTPUT(other));
      break;
    case 1:
      if (!is_neg) return;
      closes = is_path(edit, node, other);
      status = leat_edit_add_wait(edit, node, other);
      break;
    case 2:
      if (!is_neg) return;
      add_neg(edit, node, OUTPUT(other));
      break;
    default:
      if (leat_edit_is_gone(edit, other) || is_path(edit, node, other)) return;
      status = leat_edit_replace(edit, node, other);
  }
  assert_int_equal(leat_status_code(status), closes ? LEAT_INTERNAL : LEAT_OK);
  leat_status_free(status);
  if (!leat_edit_is_gone(edit, node) && !leat_edit_is_gone(edit, other)) {
    assert_int_equal(leat_edit_reaches(edit, node, other), is_path(edit, node, other));
  }
}

static void the_edit_is_true_after_any_change(void** state) {
  pass_scene_t* f = *state;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    uint64_t random = seed * UINT64_C(0x9e3779b97f4a7c15);
    leat_output_t nodes[RANDOM_NODES] = {scene_placeholder(&f->s, "", LEAT_DTYPE_FLOAT)};
    for (int i = 1; i < RANDOM_NODES; ++i) {
      nodes[i] = scene_unary(&f->s, "Neg", -1,
                             nodes[next_random(&random) % (uint64_t)i]);
    }
    leat_edit_t* edit = open_edit(
        f, LEAT_INPUTS(nodes[RANDOM_NODES - 1], nodes[RANDOM_NODES / 2], nodes[RANDOM_NODES / 3]));
    for (int i = 0; i < RANDOM_CHANGES; ++i) {
      change_at_random(edit, &random);
      LEAT_EXPECT_OK(leat_edit_verify(edit, false, "a random change"));
    }
    close_edit(edit);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, pass_scene_set_up, pass_scene_tear_down)
      TEST(what_nobody_needs_is_gone_and_comes_back),
      TEST(what_comes_back_is_in_order),
      TEST(what_a_pass_added_in_vain_is_gone_at_its_end),
      TEST(fetches_and_targets_follow),
      TEST(who_waits_for_what_vanishes_waits_for_what_it_read),
      TEST(what_reads_a_switch_may_not_vanish_while_others_wait),
      TEST(no_change_closes_a_cycle),
      TEST(what_is_added_stands_before_its_first_reader),
      TEST(the_edit_is_true_after_any_change),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
