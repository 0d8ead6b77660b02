// Shapes and values known while a graph is built, and what the builder makes of them. Partial
// shapes are combined, broadcast and checked by the functions that shape functions are written
// with; values are followed through Shape, Identity and arithmetic to the node that needs them.
// Walks that would take exponential time or deep recursion must end soon. The shape function of
// each op is tested with the op, and loops in narrow_shapes_test.c.
#include "graph/gradient.h"
#include "graph/storage.h"
#include "toy_graph/toy_ops.h"

static leat_partial_shape_t shape_of(leat_inference_t* c, int rank, const int64_t* dims) {
  leat_partial_shape_t shape;
  toy_ok(leat_inference_make(c, rank, dims, &shape));
  return shape;
}
#define SHAPE(c, ...)                                                             \
  shape_of((c), (int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), \
           (const int64_t[]){__VA_ARGS__})

static void shapes_combine(void** state) {
  (void)state;
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_inference_t context = {.arena = &arena};
  leat_inference_t* c = &context;
  leat_partial_shape_t out, unknown = leat_partial_shape_unknown();
#define GIVES(call, text)                                     \
  do {                                                        \
    toy_ok(call);                                             \
    assert_string_equal(LEAT_PARTIAL_SHAPE_TEXT(out), text);  \
  } while (0)
#define FAILS(call, part) toy_fails((call), LEAT_INVALID_ARGUMENT, part)
  GIVES(leat_inference_broadcast(c, SHAPE(c, 2, 1), SHAPE(c, 3), &out), "[2,3]");
  GIVES(leat_inference_broadcast(c, SHAPE(c, -1, 4), SHAPE(c, 3, 1), &out), "[3,4]");
  GIVES(leat_inference_broadcast(c, SHAPE(c, -1), SHAPE(c, 1), &out), "[?]");
  GIVES(leat_inference_broadcast(c, SHAPE(c, -1), SHAPE(c, -1), &out), "[?]");
  GIVES(leat_inference_broadcast(c, SHAPE(c, 0), SHAPE(c, 1), &out), "[0]");
  GIVES(leat_inference_broadcast(c, unknown, SHAPE(c, 1), &out), "<unknown>");
  GIVES(leat_inference_broadcast(c, leat_partial_shape_scalar(), SHAPE(c, 5), &out), "[5]");
  FAILS(leat_inference_broadcast(c, SHAPE(c, 2), SHAPE(c, 3), &out), "must be equal, but are 2");
  GIVES(leat_inference_merge(c, SHAPE(c, -1, 2), SHAPE(c, 3, -1), &out), "[3,2]");
  GIVES(leat_inference_merge(c, unknown, SHAPE(c, 3), &out), "[3]");
  FAILS(leat_inference_merge(c, SHAPE(c, 3), SHAPE(c, 3, 4), &out), "equal rank, but are 1 and 2");
  FAILS(leat_inference_merge(c, SHAPE(c, 3, 4), SHAPE(c, 3, 5), &out), "Dimension 1");
  GIVES(leat_inference_concatenate(c, SHAPE(c, 3, 4), SHAPE(c, 5), &out), "[3,4,5]");
  GIVES(leat_inference_subshape(c, SHAPE(c, 3, 4, 5), -2, INT32_MAX, &out), "[4,5]");
  GIVES(leat_inference_subshape(c, SHAPE(c, 3, 4, 5), 1, -1, &out), "[4]");
  GIVES(leat_inference_subshape(c, SHAPE(c, 3), 1, 1, &out), "[]");
  FAILS(leat_inference_subshape(c, SHAPE(c, 3), -2, 1, &out), "start <= end");
  GIVES(leat_inference_with_rank(c, unknown, 2, &out), "[?,?]");
  FAILS(leat_inference_with_rank(c, SHAPE(c, 3), 2, &out), "Shape must be rank 2 but is rank 1");
  FAILS(leat_inference_with_rank_at_least(c, SHAPE(c, 3), 2), "at least rank 2");
  FAILS(leat_inference_with_rank_at_most(c, SHAPE(c, 3), 0), "at most rank 0");
  int64_t dim;
  toy_ok(leat_inference_multiply(-1, 0, &dim));
  assert_int_equal(dim, 0);
  toy_ok(leat_inference_multiply(-1, 5, &dim));
  assert_int_equal(dim, -1);
  FAILS(leat_inference_multiply(INT64_MAX / 2, 3, &dim), "overflow when multiplying");
  leat_arena_deinitialize(&arena);
}

static void shapes_travel_as_values(void** state) {
  (void)state;
  toy_t toy;
  toy_open(&toy);
  leat_builder_t b = {.graph = toy.graph};
  leat_output_t x = toy_placeholder(&toy, "x", LEAT_DTYPE_FLOAT, 2, (const int64_t[]){-1, 4});
  leat_output_t dims = leat_build_unary(&b, "Identity", leat_build_unary(&b, "Shape", x));
  leat_output_t filled = leat_build_binary(&b, "Fill", dims, leat_build_scalar(&b, 1, 0));
  toy_ok(b.status);
  assert_string_equal(TOY_SHAPE(&toy, filled), "[?,4]");
  // A later, better knowledge of x is found.
  const int64_t better[] = {3, 4};
  toy_ok(leat_graph_refine_shape(toy.graph, x, (leat_partial_shape_t){2, better}));
  filled = leat_build_binary(&b, "Fill", dims, leat_build_scalar(&b, 1, 0));
  assert_string_equal(TOY_SHAPE(&toy, filled), "[3,4]");
  const int64_t worse[] = {5, 4};
  toy_fails(leat_graph_refine_shape(toy.graph, x, (leat_partial_shape_t){2, worse}),
            LEAT_INVALID_ARGUMENT, "'x'");
  // Of a vector of three unknown sizes the rank is known.
  leat_output_t v = toy_placeholder(&toy, "v", LEAT_DTYPE_INT32, 1, (const int64_t[]){3});
  filled = leat_build_binary(&b, "Fill", v, leat_build_scalar(&b, 1, 0));
  assert_string_equal(TOY_SHAPE(&toy, filled), "[?,?,?]");
  toy_ok(b.status);
  leat_build_binary(&b, "Fill", leat_build_scalar(&b, LEAT_DTYPE_INT32, -1),
                    leat_build_scalar(&b, 1, 0));
  toy_fails(b.status, LEAT_INVALID_ARGUMENT, "Shape must be rank 1 but is rank 0");
  b.status = leat_ok_status();
  size_t count = toy.graph->node_count;
  const int32_t bad[] = {2, -7};
  leat_build_binary(&b, "Fill", leat_build_int32_vector(&b, bad, 2), leat_build_scalar(&b, 1, 0));
  toy_fails(b.status, LEAT_INVALID_ARGUMENT, "Invalid value in tensor used for shape: -7");
  assert_int_equal(toy.graph->node_count, count + 2);  // the two constants
  toy_close(&toy);
}

// Each Add reads its input twice: a walk without memory would take 2^60 steps.
static void values_cost_little(void** state) {
  (void)state;
  toy_t toy;
  toy_open(&toy);
  leat_builder_t b = {.graph = toy.graph};
  leat_output_t x = leat_build_scalar(&b, LEAT_DTYPE_INT32, 1);
  for (int i = 0; i < 60; ++i) x = leat_build_binary(&b, "Add", x, x);
  toy_ok(b.status);
  leat_partial_value_t value;
  toy_ok(leat_inference_value_of(toy.graph, x, 0, &value));
  assert_int_equal(value.rank, 0);
  assert_true(value.items[0] == INT64_C(1) << 60);
  for (int i = 0; i < 2000; ++i) x = leat_build_unary(&b, "Identity", x);
  toy_ok(leat_inference_value_of(toy.graph, x, 0, &value));
  assert_int_equal(value.rank, -1);  // too far to look
  // Nothing is remembered of those on the way to an answer that was given up: from nearer by there
  // is one.
  leat_output_t chain[101] = {leat_build_scalar(&b, LEAT_DTYPE_INT32, 7)};
  for (int i = 1; i <= 100; ++i) chain[i] = leat_build_unary(&b, "Identity", chain[i - 1]);
  toy_ok(b.status);
  toy_ok(leat_inference_value_of(toy.graph, chain[100], 0, &value));
  assert_int_equal(value.rank, -1);
  toy_ok(leat_inference_value_of(toy.graph, chain[50], 0, &value));
  assert_true(value.rank == 0 && value.items[0] == 7);
  toy_close(&toy);
}

static void builder_names_colocates_and_keeps_the_first_error(void** state) {
  (void)state;
  toy_t toy;
  toy_open(&toy);
  leat_output_t x = toy_placeholder(&toy, "x", LEAT_DTYPE_HALF, 0, NULL);
  leat_builder_t b = {.graph = toy.graph,
                      .scope = LEAT_SV("gradients/"),
                      .device = LEAT_SV("/cpu:0"),
                      .colocate_with = LEAT_SV("x"),
                      .control_inputs = &x.node,
                      .control_count = 1};
  leat_build_binary(&b, "Add", x, x);
  leat_output_t sum = leat_build_binary(&b, "Add", x, x);
  const leat_node_t* node = leat_graph_node(toy.graph, sum.node);
  assert_true(leat_string_view_equals(node->name, "gradients/Add_1"));
  assert_true(leat_string_view_equals(node->device, "/cpu:0"));
  assert_int_equal(node->control_count, 1);
  const leat_attr_value_t* group = leat_node_attr(node, LEAT_SV("_class"));
  assert_true(leat_string_view_equals(group->strings[0], "loc:@x"));
  static const struct {
    double value;
    uint16_t half;
  } halves[] = {{1, 0x3c00}, {-2.5, 0xc100}, {65504, 0x7bff}, {65520, 0x7c00}, {1e-8, 0},
                {5.960464477539063e-8, 1}, {2.98e-8, 0}, {2.99e-8, 1}, {1.0009765625, 0x3c01},
                {1.00048828125, 0x3c00}, {1.00146484375, 0x3c02}, {6.097555160522461e-05, 0x3ff}};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(halves); ++i) {
    leat_output_t scalar = leat_build_scalar(&b, LEAT_DTYPE_HALF, halves[i].value);
    toy_ok(b.status);
    const leat_attr_value_t* value =
        leat_node_attr(leat_graph_node(toy.graph, scalar.node), LEAT_SV("value"));
    assert_int_equal(*leat_tensor_data(value->tensor, uint16_t), halves[i].half);
  }
  assert_int_equal(leat_build_type_of(&b, sum), LEAT_DTYPE_HALF);
  assert_int_equal(leat_build_node(&b, "Nope", LEAT_NO_INPUTS, LEAT_NO_ATTRS), -1);
  assert_false(leat_output_exists(leat_build_binary(&b, "Add", x, x)));
  toy_fails(b.status, LEAT_NOT_FOUND, "Nope");
  toy_close(&toy);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(shapes_combine),
      cmocka_unit_test(shapes_travel_as_values),
      cmocka_unit_test(values_cost_little),
      cmocka_unit_test(builder_names_colocates_and_keeps_the_first_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
