// A drawing has no single right answer, so the tests state what each must keep and check it on
// graphs that are random, long, dense, cyclic or in pieces. Edges go down at least one rank, except
// for those that close a cycle; boxes do not overlap; lines begin and end at their boxes;
// everything lies inside the stated size. The same graph must give the same drawing, byte for byte,
// since a page that is loaded again would otherwise jump. A few small graphs have a drawing that
// anyone would choose (no crossing, straight chains, a constant beside its reader), and those
// coordinates are compared. A chain of 200,000 nodes shows that no step calls itself once for each
// node.
#include "board/graph_layout.h"

#include <stdlib.h>

#include "base/test.h"

static leat_arena_t arena;

static int make_arena(void** state) {
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  return 0;
}

static int free_arena(void** state) {
  leat_arena_deinitialize(&arena);
  return 0;
}

static board_layout_t make(size_t nodes, size_t edges) {
  board_layout_t layout = {.node_count = nodes, .edge_count = edges};
  LEAT_EXPECT_OK(LEAT_NEW(&arena, nodes, &layout.nodes));
  LEAT_EXPECT_OK(LEAT_NEW(&arena, edges, &layout.edges));
  for (size_t n = 0; n < nodes; ++n) {
    layout.nodes[n].width = 40 + (int32_t)(n * 37 % 90);
    layout.nodes[n].height = 20 + (int32_t)(n * 13 % 30);
  }
  return layout;
}

static void join(board_layout_t* layout, size_t edge, uint32_t from, uint32_t to) {
  layout->edges[edge].from = from;
  layout->edges[edge].to = to;
}

static uint32_t next_random(uint64_t* state) {
  *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
  return (uint32_t)(*state >> 33);
}

static void expect_apart(const board_layout_node_t* a, const board_layout_node_t* b) {
  assert_true(a->x + a->width <= b->x || b->x + b->width <= a->x || a->y + a->height <= b->y ||
              b->y + b->height <= a->y);
}

static void expect_edge(const board_layout_t* layout, const board_layout_edge_t* edge) {
  const board_layout_node_t *from = &layout->nodes[edge->from], *to = &layout->nodes[edge->to];
  if (from == to) {
    assert_null(edge->points);
    return;
  }
  if (edge->is_back) {
    assert_true(from->rank > to->rank);
  } else {
    assert_true(from->rank < to->rank);
  }
  assert_true(edge->point_count >= 2);
  const int32_t* last = edge->points + 2 * (edge->point_count - 1);
  assert_int_equal(edge->points[0], from->x + from->width / 2);
  assert_int_equal(edge->points[1], edge->is_back ? from->y : from->y + from->height);
  assert_int_equal(last[0], to->x + to->width / 2);
  assert_int_equal(last[1], edge->is_back ? to->y + to->height : to->y);
  for (uint32_t p = 0; p + 1 < edge->point_count; ++p) {
    int32_t step = edge->points[2 * p + 3] - edge->points[2 * p + 1];
    assert_true(edge->is_back ? step <= 0 : step >= 0);
  }
}

// |all_pairs| compares every pair of boxes.
static void expect_drawing(board_layout_t* layout, bool all_pairs) {
  LEAT_EXPECT_OK(board_layout_run(layout, &arena));
  for (size_t n = 0; n < layout->node_count; ++n) {
    const board_layout_node_t* node = &layout->nodes[n];
    assert_true(node->x >= 0 && node->y >= 0);
    assert_true(node->x + node->width <= layout->width);
    assert_true(node->y + node->height <= layout->height);
    for (size_t m = 0; all_pairs && m < n; ++m) expect_apart(node, &layout->nodes[m]);
  }
  for (size_t e = 0; e < layout->edge_count; ++e) expect_edge(layout, &layout->edges[e]);
}

static board_layout_t make_random(size_t nodes, size_t edges, uint64_t seed, bool cyclic) {
  board_layout_t layout = make(nodes, edges);
  for (size_t e = 0; e < edges; ++e) {
    uint32_t a = next_random(&seed) % (uint32_t)nodes, b = next_random(&seed) % (uint32_t)nodes;
    join(&layout, e, cyclic || a < b ? a : b, cyclic || a < b ? b : a);
  }
  return layout;
}

static void random_graphs_are_drawn(void** state) {
  for (uint64_t seed = 0; seed < 120; ++seed) {
    board_layout_t layout =
        make_random(1 + seed * 7 % 60, seed * 11 % 130, seed, seed % 2 == 1);
    expect_drawing(&layout, true);
    for (size_t e = 0; e < layout.edge_count && seed % 2 == 0; ++e) {
      assert_false(layout.edges[e].is_back);
    }
  }
}

static void the_same_graph_gives_the_same_drawing(void** state) {
  board_layout_t a = make_random(80, 160, 5, true), b = make_random(80, 160, 5, true);
  expect_drawing(&a, true);
  expect_drawing(&b, true);
  assert_memory_equal(a.nodes, b.nodes, a.node_count * sizeof *a.nodes);
  for (size_t e = 0; e < a.edge_count; ++e) {
    assert_int_equal(a.edges[e].point_count, b.edges[e].point_count);
    assert_memory_equal(a.edges[e].points, b.edges[e].points, a.edges[e].point_count * 8);
  }
}

// A thread's stack would not bear a call for each node of it.
static void a_long_chain_is_drawn(void** state) {
  board_layout_t layout = make(200000, 200000);
  for (uint32_t e = 0; e < 200000; ++e) join(&layout, e, e, (e + 1) % 200000);
  expect_drawing(&layout, false);
  assert_true(layout.edges[199999].is_back);
  assert_int_equal(layout.nodes[199999].rank, 199999);
}

static void dense_graphs_are_drawn(void** state) {
  board_layout_t layout = make(150, 150 * 149 / 2);
  size_t edge = 0;
  for (uint32_t a = 0; a < 150; ++a) {
    for (uint32_t b = a + 1; b < 150; ++b) join(&layout, edge++, a, b);
  }
  expect_drawing(&layout, true);
}

// The order of two layers that can be drawn without a crossing is found, and a chain is straight.
static void lines_do_not_cross_without_need(void** state) {
  board_layout_t layout = make(8, 6);
  for (size_t n = 0; n < 8; ++n) layout.nodes[n] = (board_layout_node_t){.width = 50, .height = 20};
  // 0 .. 2 above, 3 .. 5 below in reverse; one node joins the three above.
  join(&layout, 0, 6, 0);
  join(&layout, 1, 6, 1);
  join(&layout, 2, 6, 2);
  join(&layout, 3, 0, 5);
  join(&layout, 4, 1, 4);
  join(&layout, 5, 2, 3);
  expect_drawing(&layout, true);
  for (uint32_t n = 0; n < 3; ++n) assert_int_equal(layout.nodes[n].x, layout.nodes[5 - n].x);
  assert_int_equal(layout.nodes[6].x, layout.nodes[1].x);
}

// A constant stands just above what uses it, not at the top.
static void a_source_stands_near_its_reader(void** state) {
  board_layout_t layout = make(6, 5);
  for (uint32_t n = 0; n < 4; ++n) join(&layout, n, n, n + 1);
  join(&layout, 4, 5, 4);
  expect_drawing(&layout, true);
  assert_int_equal(layout.nodes[4].rank, 4);
  assert_int_equal(layout.nodes[5].rank, 3);
}

// Nodes without edges fill lines; the drawing is no ribbon.
static void single_nodes_are_packed(void** state) {
  board_layout_t layout = make(400, 0);
  expect_drawing(&layout, true);
  assert_true(layout.width < 4 * layout.height && layout.height < 4 * layout.width);
  layout = make(0, 0);
  expect_drawing(&layout, true);
  assert_int_equal(layout.width + layout.height, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(random_graphs_are_drawn, make_arena, free_arena),
      cmocka_unit_test_setup_teardown(the_same_graph_gives_the_same_drawing, make_arena,
                                      free_arena),
      cmocka_unit_test_setup_teardown(a_long_chain_is_drawn, make_arena, free_arena),
      cmocka_unit_test_setup_teardown(dense_graphs_are_drawn, make_arena, free_arena),
      cmocka_unit_test_setup_teardown(lines_do_not_cross_without_need, make_arena, free_arena),
      cmocka_unit_test_setup_teardown(a_source_stands_near_its_reader, make_arena, free_arena),
      cmocka_unit_test_setup_teardown(single_nodes_are_packed, make_arena, free_arena),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
