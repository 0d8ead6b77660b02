// The page shows a graph as a tree of scopes of which some are open. The tests build graphs from a
// few lines of names and inputs and look at both results: the tree (board/graph_tree.h), whose
// invariants expect_tree() verifies after every build, and the levels that are drawn of it, whose
// boxes must not overlap. Small graphs that can be checked by eye show each kind of folding: scopes
// with equal insides, numbered series, scopes of thousands of nodes, and hubs that are drawn aside.
// The others are hostile: empty names, a scope that is 2000 deep, nodes with the same name, loops,
// and inputs that lead nowhere; they need not be drawn well, but must not break an invariant.
#include "board/graph_level.h"

#include <stdio.h>

#include "base/test.h"

#define MAX_NODES 30000

static leat_arena_t arena;
static leat_pb_node_def_t nodes[MAX_NODES];
static size_t node_count;
static board_graph_t graph;

static int make_arena(void** state) {
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  node_count = 0;
  return 0;
}

static int free_arena(void** state) {
  leat_arena_deinitialize(&arena);
  return 0;
}

// Adds a node; |inputs| are separated by spaces.
static leat_pb_node_def_t* add(const char* name, const char* op, const char* inputs) {
  leat_pb_node_def_t* node = &nodes[node_count++];
  *node = (leat_pb_node_def_t){.op = leat_string_view_from(op)};
  LEAT_EXPECT_OK(leat_arena_copy_string(&arena, leat_string_view_from(name), &node->name));
  leat_string_view_t rest = leat_string_view_from(inputs);
  while (rest.size) {
    size_t size = leat_string_view_find(rest, ' ');
    leat_string_view_t* input;
    if (size > rest.size) size = rest.size;
    LEAT_EXPECT_OK(leat_message_list_append(&arena, &node->input, sizeof *input, (void**)&input));
    LEAT_EXPECT_OK(
        leat_arena_copy_string(&arena, leat_string_view_make(rest.data, size), input));
    rest = leat_string_view_from_index(rest, size + 1);
  }
  return node;
}

// What must hold of every tree: items lie behind their parents, no item has too many children, and
// the numbers of nodes add up.
static void expect_tree(void) {
  size_t leaves = 0;
  for (uint32_t i = 0; i < graph.item_count; ++i) {
    const board_graph_item_t* item = &graph.items[i];
    size_t children = 0, below = 0;
    assert_true(item->end > i && item->end <= graph.item_count);
    for (uint32_t child = i + 1; child < item->end; child = graph.items[child].end) {
      assert_int_equal(graph.items[child].parent, i);
      assert_int_equal(graph.items[child].depth, item->depth + 1);
      below += graph.items[child].node_count;
      ++children;
    }
    assert_true(children <= BOARD_GRAPH_MAX_CHILDREN);
    if (item->kind == BOARD_ITEM_NODE) {
      assert_int_equal(children, 0);
      ++leaves;
    } else {
      assert_int_equal(item->node_count, below);
    }
  }
  assert_int_equal(graph.items[0].node_count, leaves);
}

static void build_with(leat_pb_function_def_library_t* library) {
  static leat_pb_graph_def_t message;
  message = (leat_pb_graph_def_t){.node = {nodes, node_count}, .library = library};
  LEAT_EXPECT_OK(board_graph_build(&message, &arena, &graph));
  expect_tree();
}

static void build(void) { build_with(NULL); }

// The child of |parent| that is labelled |label|; 0 where there is none.
static uint32_t child_of(uint32_t parent, const char* label) {
  for (uint32_t i = parent + 1; i < graph.items[parent].end; i = graph.items[i].end) {
    if (leat_string_view_equals(graph.items[i].label, label)) return i;
  }
  return 0;
}

static board_level_t* levels_of(const uint32_t* open, size_t count, size_t* out_count) {
  board_level_t* levels;
  LEAT_EXPECT_OK(board_levels_make(&graph, open, count, &arena, &levels, out_count));
  for (size_t i = 0; i < *out_count; ++i) {
    const board_level_t* level = &levels[i];
    for (size_t b = 0; b < level->box_count; ++b) {
      const board_level_box_t* box = &level->boxes[b];
      assert_true(box->x >= 0 && box->x + box->width <= level->width);
      assert_true(box->y >= 0 && box->y + box->height <= level->height);
      for (size_t o = 0; o < b; ++o) {
        const board_level_box_t* other = &level->boxes[o];
        assert_true(box->x + box->width <= other->x || other->x + other->width <= box->x ||
                    box->y + box->height <= other->y || other->y + other->height <= box->y);
      }
    }
  }
  return levels;
}

static const board_level_link_t* link_of(const board_level_t* level, uint32_t from, uint32_t to) {
  for (size_t i = 0; i < level->link_count; ++i) {
    if (level->boxes[level->links[i].from].item == from &&
        level->boxes[level->links[i].to].item == to) {
      return &level->links[i];
    }
  }
  return NULL;
}

static void scopes_become_items(void** state) {
  add("a/b/x", "Const", "");
  add("a/y", "Neg", "a/b/x");
  add("a", "Add", "a/y:1 ^a/b/x");
  add("z", "Neg", "a");
  build();
  uint32_t a = child_of(0, "a"), b = child_of(a, "b"), z = child_of(0, "z");
  assert_true(a && b && z && child_of(b, "x") && child_of(a, "y") && child_of(a, "(a)"));
  assert_int_equal(graph.items[a].node_count, 3);
  assert_true(leat_string_view_equals(graph.items[b].path, "a/b"));
  uint32_t own = child_of(a, "(a)");
  const board_graph_edge_t* edge = &graph.edges[graph.in_begin[own]];
  assert_int_equal(graph.in_begin[own + 1] - graph.in_begin[own], 2);
  assert_int_equal(edge[0].output, 1);
  assert_true(!edge[0].is_control && edge[1].is_control);
  assert_int_equal(edge[1].from, child_of(b, "x"));
}

static void open_levels_are_drawn(void** state) {
  add("a/b/x", "Const", "");
  add("a/y", "Neg", "a/b/x");
  add("a/w", "Neg", "a/b/x ^z");
  add("z", "Neg", "a/y");
  build();
  uint32_t a = child_of(0, "a"), b = child_of(a, "b"), z = child_of(0, "z");
  size_t count;
  board_level_t* levels = levels_of((uint32_t[4]){b, a, 9999, z}, 4, &count);
  assert_int_equal(count, 3);
  assert_int_equal(levels[0].item, 0);
  assert_int_equal(levels[1].item, a);
  const board_level_link_t* link = link_of(&levels[0], a, z);
  assert_int_equal(link->count, 1);
  assert_int_equal(link_of(&levels[0], z, a)->controls, 1);
  assert_true(levels[0].boxes[0].is_open);
  assert_true(levels[0].boxes[0].width > levels[1].width);
  assert_true(levels[0].boxes[0].height > levels[1].height);
  link = link_of(&levels[1], b, child_of(a, "y"));
  assert_int_equal(link->count, 1);
  assert_non_null(link->points);
  uint32_t entering = 0, leaving = 0;
  for (size_t i = 0; i < levels[1].box_count; ++i) {
    entering += levels[1].boxes[i].entering;
    leaving += levels[1].boxes[i].leaving;
  }
  assert_int_equal(entering, 1);
  assert_int_equal(leaving, 1);
  // What lies in a closed item is not drawn.
  levels_of((uint32_t[1]){b}, 1, &count);
  assert_int_equal(count, 1);
}

static void equal_insides_have_one_structure(void** state) {
  char name[40], inputs[80];
  for (int i = 0; i < 3; ++i) {
    const char* scope = (const char*[3]){"first", "second", "third"}[i];
    snprintf(name, sizeof name, "%s/w", scope);
    add(name, "VariableV2", "");
    snprintf(name, sizeof name, "%s/matmul_%d", scope, i);
    // The third multiplies the other way round.
    snprintf(inputs, sizeof inputs, i == 2 ? "x %s/w" : "%s/w x", scope);
    add(name, "MatMul", inputs);
  }
  add("x", "Placeholder", "");
  build();
  uint32_t first = child_of(0, "first"), second = child_of(0, "second");
  uint32_t third = child_of(0, "third");
  assert_true(graph.items[first].structure > 0);
  assert_int_equal(graph.items[first].structure, graph.items[second].structure);
  assert_int_equal(graph.items[third].structure, 0);
}

static void numbered_nodes_are_a_series(void** state) {
  char name[40];
  add("x", "Placeholder", "");
  for (int i = 0; i < 12; ++i) {
    snprintf(name, sizeof name, i ? "add_%d" : "add", i);
    add(name, "Add", i ? "x" : "x x");
    snprintf(name, sizeof name, "add_%d", 100 + i);
    add(name, i < 4 ? "Sub" : "Add", "x");
  }
  build();
  uint32_t series = child_of(0, "add");
  assert_int_equal(graph.items[series].kind, BOARD_ITEM_SERIES);
  assert_int_equal(graph.items[series].node_count, 20);
  assert_true(child_of(series, "add_111"));
  assert_true(child_of(0, "add_103"));
}

static void large_scopes_are_folded(void** state) {
  char name[40];
  for (int i = 0; i < 20000; ++i) {
    snprintf(name, sizeof name, "s/%s%d", i % 3 ? "v" : "w", i);
    add(name, i % 2 ? "Const" : "Neg", "");
    if (i % 10 == 0) {
      snprintf(name, sizeof name, "s/x%dq", i);
      add(name, "Relu", "");
    }
  }
  // No two are alike.
  static char ops[2000][12];
  for (int i = 0; i < 2000; ++i) {
    snprintf(ops[i], sizeof ops[i], "Op%d", i);
    snprintf(name, sizeof name, "s/k%d", i);
    add(name, ops[i], "");
  }
  build();
  size_t count;
  uint32_t open[3] = {child_of(0, "s"), 0, 0};
  open[1] = open[0] + 1;
  open[2] = open[0] + 2;
  levels_of(open, 3, &count);
  assert_true(count >= 2);
}

static void hostile_graphs_do_no_harm(void** state) {
  static char deep[4001];
  for (int i = 0; i < 2000; ++i) memcpy(deep + 2 * i, "a/", 3);
  add("", "NoOp", "");
  add("/", "NoOp", "/");
  add("//x", "NoOp", " ^ : ^:0 nobody:1 //x");
  add("x/", "NoOp", "x/:-1 x/:99999999999 x/:a:b");
  add(deep, "NoOp", deep);
  add("same", "Neg", "same");
  add("same", "Neg", "same same:1");
  add("same/same", "Neg", "same");
  add("<b>&\"'\n\xff\x80", "\xff", "same");
  add("loop/Merge", "Merge", "loop/Next same");
  add("loop/Next", "NextIteration", "loop/Switch:1");
  add("loop/Switch", "Switch", "loop/Merge");
  build();
  assert_true(graph.missing_inputs > 0);
  uint32_t* open;
  size_t count;
  LEAT_EXPECT_OK(LEAT_NEW(&arena, graph.item_count, &open));
  for (uint32_t i = 0; i < graph.item_count; ++i) open[i] = i;
  levels_of(open, graph.item_count, &count);
  assert_true(count > 60 && count <= BOARD_GRAPH_MAX_OPEN);
  node_count = 0;
  build();
  levels_of(NULL, 0, &count);
  assert_int_equal(count, 1);
}

static void a_hub_stands_aside(void** state) {
  char name[40], inputs[80];
  add("hub", "VariableV2", "");
  for (int i = 0; i < 14; ++i) {
    snprintf(name, sizeof name, "chain%c", 'a' + i);
    snprintf(inputs, sizeof inputs, i ? "hub chain%c" : "hub", 'a' + i - 1);
    add(name, i % 2 ? "Add" : "Mul", inputs);
  }
  build();
  size_t count;
  board_level_t* levels = levels_of(NULL, 0, &count);
  uint32_t hub = child_of(0, "hub");
  for (size_t b = 0; b < levels->box_count; ++b) {
    assert_int_equal(levels->boxes[b].is_aside, levels->boxes[b].item == hub);
  }
  assert_true(link_of(levels, hub, child_of(0, "chainb"))->is_aside);
  assert_false(link_of(levels, child_of(0, "chainb"), child_of(0, "chainc"))->is_aside);
}

// A pair that is joined both ways counts once.
static void loops_make_no_hub(void** state) {
  static char ops[8][8];
  char name[40];
  add("middle", "Merge", "na nb nc nd ne nf ng nh");
  for (int i = 0; i < 8; ++i) {
    snprintf(name, sizeof name, "n%c", 'a' + i);
    snprintf(ops[i], sizeof ops[i], "Op%d", i);
    add(name, ops[i], "middle");
  }
  build();
  size_t count;
  board_level_t* levels = levels_of(NULL, 0, &count);
  assert_int_equal(levels->link_count, 16);
  for (size_t b = 0; b < levels->box_count; ++b) assert_false(levels->boxes[b].is_aside);
}

static void functions_are_scopes(void** state) {
  leat_pb_op_def_arg_def_t argument = {.name = LEAT_SV("x")};
  leat_pb_op_def_t signature = {.name = LEAT_SV("double"), .input_arg = {&argument, 1}};
  leat_string_view_t inputs[2] = {LEAT_SV("x"), LEAT_SV("x")};
  leat_pb_node_def_t body = {.name = LEAT_SV("in/add"), .op = LEAT_SV("Add"),
                             .input = {inputs, 2}};
  leat_pb_function_def_ret_entry_t result = {LEAT_SV("y"), LEAT_SV("in/add:z:0")};
  leat_pb_function_def_t function = {.signature = &signature, .node_def = {&body, 1},
                                     .ret = {&result, 1}};
  leat_pb_function_def_library_t library = {.function = {&function, 1}};
  add("x", "Placeholder", "");
  build_with(&library);
  uint32_t all = child_of(0, "(functions)"), item = child_of(all, "double");
  assert_int_equal(graph.items[item].kind, BOARD_ITEM_FUNCTION);
  uint32_t x = child_of(item, "x"), y = child_of(item, "y (result)");
  assert_true(x && y && child_of(child_of(item, "in"), "add"));
  assert_int_equal(graph.in_begin[y + 1] - graph.in_begin[y], 1);
  assert_int_equal(graph.out_begin[x + 1] - graph.out_begin[x], 2);
  assert_int_equal(graph.missing_inputs, 0);
}

static void devices_are_told(void** state) {
  add("a/x", "Const", "")->device = LEAT_SV("/cpu:0");
  add("a/y", "Const", "")->device = LEAT_SV("/gpu:0");
  add("b/x", "Const", "")->device = LEAT_SV("/gpu:0");
  build();
  assert_int_equal(graph.items[child_of(0, "a")].device, BOARD_GRAPH_MIXED);
  uint32_t device = graph.items[child_of(0, "b")].device;
  assert_true(leat_string_view_equals(graph.devices[device], "/gpu:0"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_arena, free_arena)
int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(scopes_become_items),         TEST(open_levels_are_drawn),
      TEST(equal_insides_have_one_structure), TEST(numbered_nodes_are_a_series),
      TEST(large_scopes_are_folded),     TEST(hostile_graphs_do_no_harm),
      TEST(a_hub_stands_aside),          TEST(loops_make_no_hub),
      TEST(functions_are_scopes),
      TEST(devices_are_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
