// Tests of conditions (optimize/conditions.h): which values appear together, so that their nodes
// have equal sets and may be merged, and which do not.
#include "optimize/conditions.h"

#include "session/flow.h"
#include "session/pass_scene.h"

typedef struct found_s {
  pass_scene_t* f;
  leat_arena_t arena;
  leat_conditions_t conditions;
} found_t;

static void find(pass_scene_t* f, leat_outputs_t fetches, found_t* out) {
  *out = (found_t){.f = f};
  leat_arena_initialize(leat_allocator_system(), 0, &out->arena);
  pass_scene_prune(f, fetches);
  leat_graph_t* graph = f->rewrite.graph;
  int32_t order[64];
  assert_true(graph->node_count <= LEAT_ARRAY_SIZE(order));
  for (size_t i = 0; i < graph->node_count; ++i) graph->nodes[i].assigned_device = 0;
  LEAT_EXPECT_OK(leat_graph_sort(graph, order));
  LEAT_EXPECT_OK(leat_conditions_find(graph, &f->options, order, &out->arena, &out->conditions));
}

static leat_condition_set_t set_of(const found_t* found, int fetch) {
  return found->conditions.sets[found->f->rewrite.fetches[fetch].node];
}

static leat_output_t behind(scene_t* s, leat_output_t x, leat_output_t pred, int side) {
  return scene_unary(s, "Neg", -1, flow_switch(s, x, pred, side));
}

// A set does not depend on the order in which its conditions were met, nor on how often.
static void the_order_of_inputs_does_not_matter(void** state) {
  pass_scene_t* f = *state;
  scene_t* s = &f->s;
  leat_output_t x = scene_placeholder(s, "x", LEAT_DTYPE_FLOAT);
  leat_output_t p = scene_placeholder(s, "p", LEAT_DTYPE_BOOL),
                q = scene_placeholder(s, "q", LEAT_DTYPE_BOOL);
  leat_output_t a = behind(s, x, p, 1), b = behind(s, x, q, 1), c = behind(s, x, q, 0);
  leat_output_t ab = scene_binary(s, "Mul", -1, a, b), ba = scene_binary(s, "Mul", -1, b, a);
  leat_output_t fetches[] = {ab, ba, scene_binary(s, "Mul", -1, ab, ba),
                             scene_binary(s, "Mul", -1, a, c), a};
  found_t found;
  find(f, (leat_outputs_t){fetches, 5}, &found);
  assert_int_equal(set_of(&found, 0).count, 2);
  assert_true(leat_condition_set_equal(set_of(&found, 0), set_of(&found, 1)));
  assert_true(leat_condition_set_equal(set_of(&found, 0), set_of(&found, 2)));
  assert_false(leat_condition_set_equal(set_of(&found, 0), set_of(&found, 3)));  // another side
  assert_false(leat_condition_set_equal(set_of(&found, 0), set_of(&found, 4)));
  leat_arena_deinitialize(&found.arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(the_order_of_inputs_does_not_matter, pass_scene_set_up,
                                      pass_scene_tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
