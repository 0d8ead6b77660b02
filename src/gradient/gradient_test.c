// The backward walk that adds gradients to a graph (white paper, section 4.1): which nodes it
// visits, what it adds up, where it stops, and what has no gradient. The graphs are small enough
// that x = 3 and y = 5 give derivatives that can be computed in the head, and a session runs them.
// Some cases count the nodes that were added, because two paths to a node must be added up once and
// a single path needs no sum. A chain that is too long for the stack shows that the walk does not
// call itself. Gradients in rows (of Gather) keep values and indices in the same order. The
// gradient of each op is tested with the op, and loops and conditionals in control_flow_test.c.
#include "gradient/gradient.h"

#include <math.h>
#include <string.h>

#include "base/fault.h"
#include "session/scene.h"

typedef struct fixture_s {
  scene_t s;
  leat_output_t x, y;  // scalars to feed
} fixture_t;

static int set_up(void** state) {
  static fixture_t f;
  scene_open(&f.s);
  leat_attr_t attrs[] = {LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT),
                         LEAT_SHAPE("shape", leat_partial_shape_scalar())};
  f.x = scene_output(&f.s, "Placeholder", "x", "", LEAT_NO_INPUTS, (leat_attrs_t){attrs, 2});
  f.y = scene_output(&f.s, "Placeholder", "y", "", LEAT_NO_INPUTS, (leat_attrs_t){attrs, 2});
  *state = &f;
  return 0;
}

static int tear_down(void** state) {
  scene_close(&((fixture_t*)*state)->s);
  return 0;
}

static leat_output_t mul(fixture_t* f, leat_output_t a, leat_output_t b) {
  return scene_binary(&f->s, "Mul", -1, a, b);
}

static leat_output_t add(fixture_t* f, leat_output_t a, leat_output_t b) {
  return scene_binary(&f->s, "AddV2", -1, a, b);
}

typedef struct request_s {
  leat_outputs_t ys, xs, stop;
  const leat_output_t* starts;
} request_t;

static leat_status_t differentiate(fixture_t* f, request_t r, leat_gradient_value_t* out) {
  leat_gradient_options_t options = {.stop = r.stop.items, .stop_count = r.stop.count};
  leat_gradient_spec_t spec = {.ys = r.ys.items, .y_count = r.ys.count, .xs = r.xs.items,
                               .x_count = r.xs.count, .grad_ys = r.starts, .options = &options,
                               .prefix = LEAT_SV("gradients")};
  return leat_add_gradients(f->s.graph, &spec, out);
}

// The value of |fetch| for x = 3, y = 5.
static float value_of(fixture_t* f, leat_output_t fetch) {
  leat_tensor_t fed[2] = {scene_value(3), scene_value(5)}, got;
  LEAT_EXPECT_OK(
      scene_run(&f->s, LEAT_INPUTS(f->x, f->y), fed, LEAT_INPUTS(fetch), &got, NULL, 0));
  float value = leat_tensor_data(&got, const float)[0];
  leat_tensor_release(&got);
  return value;
}

static float gradient_value(fixture_t* f, leat_output_t y, leat_output_t x) {
  leat_gradient_value_t gradient;
  LEAT_EXPECT_OK(differentiate(f, (request_t){LEAT_INPUTS(y), LEAT_INPUTS(x), {0}, 0}, &gradient));
  assert_true(leat_output_exists(gradient.dense));
  return value_of(f, gradient.dense);
}

static int count_op(const fixture_t* f, const char* op) {
  int count = 0;
  for (size_t i = 0; i < f->s.graph->node_count; ++i) {
    count += leat_string_view_equals(f->s.graph->nodes[i].op->name, op);
  }
  return count;
}

static void chains_and_sums(void** state) {
  fixture_t* f = *state;
  leat_output_t square = mul(f, f->x, f->x);
  assert_true(gradient_value(f, square, f->x) == 6);
  leat_output_t product = mul(f, square, f->y);
  assert_true(gradient_value(f, product, f->x) == 30);
  assert_true(gradient_value(f, product, f->y) == 9);
  assert_true(gradient_value(f, f->x, f->x) == 1);  // y is x
}

static void paths_are_added_once(void** state) {
  fixture_t* f = *state;
  // A lattice with 2^20 paths: each node is visited once.
  leat_output_t v = f->x;
  for (int i = 0; i < 20; ++i) v = add(f, v, v);
  size_t before = f->s.graph->node_count;
  assert_true(gradient_value(f, v, f->x) == 1048576);
  assert_true(f->s.graph->node_count - before < 1000);
  assert_int_equal(count_op(f, "AddN"), 20);
}

static void a_single_contribution_needs_no_sum(void** state) {
  fixture_t* f = *state;
  gradient_value(f, mul(f, f->x, f->y), f->x);
  assert_int_equal(count_op(f, "AddN"), 0);
}

static void several_ys(void** state) {
  fixture_t* f = *state;
  leat_output_t a = mul(f, f->x, f->y), b = mul(f, a, f->x);  // b lies behind a
  leat_gradient_value_t g[2];
  LEAT_EXPECT_OK(differentiate(
      f, (request_t){LEAT_INPUTS(a, b), LEAT_INPUTS(f->x, f->y), {0}, 0}, g));
  assert_true(value_of(f, g[0].dense) == 5 + 2 * 3 * 5);
  assert_true(value_of(f, g[1].dense) == 3 + 9);
  LEAT_EXPECT_OK(differentiate(
      f, (request_t){LEAT_INPUTS(a, a), LEAT_INPUTS(f->x), {0}, 0}, g));
  assert_true(value_of(f, g[0].dense) == 10);
}

static void starts_are_taken(void** state) {
  fixture_t* f = *state;
  leat_output_t a = mul(f, f->x, f->y), b = mul(f, f->x, f->x);
  leat_output_t starts[] = {scene_float(&f->s, 10), LEAT_OUTPUT_NONE};
  leat_gradient_value_t g;
  LEAT_EXPECT_OK(differentiate(
      f, (request_t){LEAT_INPUTS(a, b), LEAT_INPUTS(f->x), {0}, starts}, &g));
  assert_true(value_of(f, g.dense) == 10 * 5 + 6);
}

static void with_respect_to_an_edge_in_the_middle(void** state) {
  fixture_t* f = *state;
  leat_output_t a = mul(f, f->x, f->y), b = mul(f, a, a);
  leat_gradient_value_t g[2];
  LEAT_EXPECT_OK(differentiate(
      f, (request_t){LEAT_INPUTS(b), LEAT_INPUTS(a, f->x), {0}, 0}, g));
  assert_true(value_of(f, g[0].dense) == 30);
  assert_true(value_of(f, g[1].dense) == 150);
}

static void stops(void** state) {
  fixture_t* f = *state;
  leat_output_t a = mul(f, f->x, f->y), b = mul(f, a, f->x);
  leat_gradient_value_t g;
  LEAT_EXPECT_OK(differentiate(
      f, (request_t){LEAT_INPUTS(b), LEAT_INPUTS(f->x), LEAT_INPUTS(a), 0}, &g));
  assert_true(value_of(f, g.dense) == 15);  // a alone
  leat_output_t held = scene_unary(&f->s, "StopGradient", -1, a);
  assert_true(gradient_value(f, mul(f, held, f->x), f->x) == 15);
  LEAT_EXPECT_OK(differentiate(
      f, (request_t){LEAT_INPUTS(held), LEAT_INPUTS(f->x), {0}, 0}, &g));
  assert_false(leat_output_exists(g.dense));
}

static void nothing_depends(void** state) {
  fixture_t* f = *state;
  leat_gradient_value_t g[2];
  LEAT_EXPECT_OK(differentiate(
      f, (request_t){LEAT_INPUTS(mul(f, f->x, f->x)), LEAT_INPUTS(f->y, f->x), {0}, 0}, g));
  assert_false(leat_output_exists(g[0].dense));
  assert_true(value_of(f, g[1].dense) == 6);
}

// Through integers nothing flows.
static void integers_hold_it_up(void** state) {
  fixture_t* f = *state;
  leat_output_t whole = scene_output(&f->s, "Cast", "", "", LEAT_INPUTS(f->x),
                                     LEAT_ATTRS(LEAT_TYPE("DstT", LEAT_DTYPE_INT32)));
  leat_output_t back = scene_output(&f->s, "Cast", "", "", LEAT_INPUTS(whole),
                                    LEAT_ATTRS(LEAT_TYPE("DstT", LEAT_DTYPE_FLOAT)));
  assert_true(gradient_value(f, mul(f, back, f->x), f->x) == 3);
}

// Of several outputs one is used: its op gets zeros for the others.
static void unused_outputs_count_as_zero(void** state) {
  fixture_t* f = *state;
  leat_output_t packed = scene_output(&f->s, "Pack", "", "", LEAT_INPUTS(f->x, f->y),
                                      LEAT_NO_ATTRS);
  int32_t unpacked =
      scene_node(&f->s, "Unpack", "", "", LEAT_INPUTS(packed), LEAT_ATTRS(LEAT_INT("num", 2)));
  leat_output_t first = leat_node_output(unpacked, 0);
  assert_true(gradient_value(f, mul(f, first, first), f->x) == 6);
  assert_true(gradient_value(f, mul(f, first, first), f->y) == 0);
}

static void no_gradient_is_an_error(void** state) {
  fixture_t* f = *state;
  leat_output_t bad = scene_output(&f->s, "ProbeWork", "bad", "", LEAT_INPUTS(mul(f, f->x, f->x)),
                                   LEAT_NO_ATTRS);
  leat_gradient_value_t g;
  scene_expect(differentiate(f, (request_t){LEAT_INPUTS(bad), LEAT_INPUTS(f->x), {0}, 0}, &g),
               LEAT_NOT_FOUND, "No gradient defined for op: ProbeWork");
  // But only where it is needed.
  assert_true(gradient_value(f, mul(f, f->y, f->y), f->y) == 10);
  LEAT_EXPECT_OK(differentiate(f, (request_t){LEAT_INPUTS(bad), LEAT_INPUTS(f->y), {0}, 0}, &g));
  assert_false(leat_output_exists(g.dense));
}

static void bad_requests(void** state) {
  fixture_t* f = *state;
  leat_gradient_value_t g;
  leat_output_t bad[] = {{-1, 0}, {999, 0}, {f->x.node, 1}, {f->x.node, -1}};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(bad); ++i) {
    scene_expect(
        differentiate(f, (request_t){LEAT_INPUTS(bad[i]), LEAT_INPUTS(f->x), {0}, 0}, &g),
        LEAT_INVALID_ARGUMENT, "y 0");
    scene_expect(
        differentiate(f, (request_t){LEAT_INPUTS(f->x), LEAT_INPUTS(bad[i]), {0}, 0}, &g),
        LEAT_INVALID_ARGUMENT, "x 0");
  }
}

static void gradients_of_gradients(void** state) {
  fixture_t* f = *state;
  leat_output_t y = f->x;
  for (int i = 0; i < 3; ++i) y = mul(f, y, f->x);  // x^4
  const float expected[] = {4 * 27, 12 * 9, 24 * 3, 24};
  for (int order = 0; order < 4; ++order) {
    leat_gradient_value_t g;
    LEAT_EXPECT_OK(differentiate(f, (request_t){LEAT_INPUTS(y), LEAT_INPUTS(f->x), {0}, 0}, &g));
    y = g.dense;
    assert_true(value_of(f, y) == expected[order]);
  }
}

// A chain as long as the stack would not hold, were the walk recursive.
static void long_chains(void** state) {
  fixture_t* f = *state;
  leat_output_t y = f->x;
  for (int i = 0; i < 30000; ++i) y = scene_unary(&f->s, "Neg", -1, y);
  assert_true(gradient_value(f, y, f->x) == 1);
}

static void memory_may_end(void** state) {
  for (int64_t n = 1;; ++n) {
    fixture_t f;
    void* fixture = &f;
    set_up(&fixture);
    fixture_t* g = fixture;
    leat_output_t square = mul(g, g->x, g->x), y = add(g, mul(g, square, g->y), square);
    leat_gradient_value_t gradient;
    leat_fault_t fault;
    leat_fault_install(&fault, LEAT_FAULT_ALLOCATION, n);
    leat_status_t status =
        differentiate(g, (request_t){LEAT_INPUTS(y), LEAT_INPUTS(g->x), {0}, 0}, &gradient);
    bool met = leat_fault_remove(&fault);
    if (!met) LEAT_EXPECT_OK(status);
    if (met) {
      LEAT_EXPECT_CODE(LEAT_RESOURCE_EXHAUSTED, status);
      assert_true(gradient_value(g, y, g->x) == 36);  // again, on the same graph
    }
    tear_down(&fixture);
    if (!met) break;
  }
}

// ---- Rows ---------------------------------------------------------------------------------------

// Element |i| of |fetch|, which is fetched together with nothing else.
static void expect_numbers(fixture_t* f, leat_output_t fetch, int count, const double* wanted) {
  leat_tensor_t got;
  LEAT_EXPECT_OK(scene_fetch(&f->s, fetch, &got));
  assert_int_equal(got.shape.element_count, count);
  for (int i = 0; i < count; ++i) {
    const double item = got.dtype == LEAT_DTYPE_FLOAT
                            ? (double)leat_tensor_data(&got, const float)[i]
                            : (double)leat_tensor_index_at(&got, i);
    if (item != wanted[i]) fail_msg("item %d is %g, must be %g", i, item, wanted[i]);
  }
  leat_tensor_release(&got);
}

// Rows |indices| of |table|, each number multiplied by |factor|.
static leat_output_t take_rows(fixture_t* f, leat_output_t table, int count,
                               const int32_t* indices, float factor) {
  leat_output_t rows = scene_binary(&f->s, "Gather", -1, table,
                                    leat_build_int32_vector(&f->s.b, indices, count));
  return mul(f, rows, scene_float(&f->s, factor));
}

// Rows of one table that are gathered in several places: their gradients are one behind the other,
// values and indices alike, so that number i of the indices says where row i of the values belongs.
// The contributions have different lengths, repeat rows and are not sorted. TensorFlow gives them
// in the order in which the walk meets them; what a user relies on is that rows and indices agree
// and that a row which was gathered twice is there twice.
static void rows_gathered_in_several_places(void** state) {
  fixture_t* f = *state;
  static const int32_t first[] = {3, 1}, second[] = {0, 3, 3};
  const int64_t dims[] = {4, 2};
  float items[8];
  for (int i = 0; i < 8; ++i) items[i] = (float)i;
  leat_shape_t shape;
  leat_tensor_t tensor;
  LEAT_EXPECT_OK(leat_shape_create(2, dims, &shape));
  LEAT_EXPECT_OK(
      leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_FLOAT, &shape, &tensor));
  memcpy(tensor.data, items, sizeof items);
  leat_output_t table = leat_build_constant(&f->s.b, &tensor);
  leat_tensor_release(&tensor);
  leat_output_t ys[] = {take_rows(f, table, 2, first, 10), take_rows(f, table, 3, second, 100)};
  leat_gradient_value_t rows;
  LEAT_EXPECT_OK(differentiate(f, (request_t){{ys, 2}, LEAT_INPUTS(table), {0}, NULL}, &rows));
  assert_true(leat_output_exists(rows.indices) && leat_output_exists(rows.dense_shape));
  expect_numbers(f, rows.dense_shape, 2, (const double[]){4, 2});
  // Either contribution may come first.
  leat_tensor_t indices;
  LEAT_EXPECT_OK(scene_fetch(&f->s, rows.indices, &indices));
  const bool in_order = leat_tensor_index_at(&indices, 1) == 1;
  leat_tensor_release(&indices);
  expect_numbers(f, rows.indices, 5,
                 in_order ? (const double[]){3, 1, 0, 3, 3} : (const double[]){0, 3, 3, 3, 1});
  expect_numbers(f, rows.dense, 10,
                 in_order ? (const double[]){10, 10, 10, 10, 100, 100, 100, 100, 100, 100}
                          : (const double[]){100, 100, 100, 100, 100, 100, 10, 10, 10, 10});
  // The same as a table: what is added up where rows are named twice.
  expect_numbers(f, leat_gradient_value_to_dense(&f->s.b, rows), 8,
                 (const double[]){100, 100, 10, 10, 0, 0, 210, 210});
}

// TensorFlow says of these ops that they pass no gradient on, which is no error.
static void some_ops_pass_nothing_on(void** state) {
  static const int32_t kImage[] = {1, 1, 1, 1};
  static const int32_t kBoxes[] = {1, 1, 4};
  static const float kBox[] = {0, 0, 1, 1};
  fixture_t* f = *state;
  leat_builder_t* b = &f->s.b;
  leat_output_t image =
      leat_build_binary(b, "Reshape", f->x, leat_build_int32_vector(b, kImage, 4));
  leat_output_t boxes = leat_build_binary(b, "Reshape", scene_floats(&f->s, 4, kBox),
                                          leat_build_int32_vector(b, kBoxes, 3));
  leat_output_t drawn = leat_build_binary(b, "DrawBoundingBoxes", image, boxes);
  int32_t range = leat_build_node(b, "RaggedRange", LEAT_INPUTS(f->x, f->y, scene_float(&f->s, 1)),
                                  LEAT_NO_ATTRS);
  // The op that computes this gradient knows float and double alone.
  leat_output_t resized = leat_build_binary(
      b, "ResizeBicubic",
      leat_build(b, "Cast", LEAT_INPUTS(image), LEAT_ATTRS(LEAT_TYPE("DstT", LEAT_DTYPE_HALF))),
      leat_build_int32_vector(b, kImage, 2));
  const leat_output_t ys[] = {drawn, leat_node_output(range, 1), resized};
  for (int i = 0; i < 3; ++i) {
    leat_gradient_value_t g;
    LEAT_EXPECT_OK(differentiate(f, (request_t){LEAT_INPUTS(ys[i]), LEAT_INPUTS(f->x), {0}, 0},
                                 &g));
    assert_false(leat_output_exists(g.dense));
  }
}

// Differences say nothing where channels of a colour are equal: TensorFlow takes the first of them
// for the largest and the last for the smallest, and grey has no hue to turn.
static void equal_channels_of_a_colour(void** state) {
  static const float kColours[][3] = {{0.5f, 0.5f, 0.5f}, {0, 0, 0}, {-0.5f, -0.25f, -0.25f}};
  static const double kWanted[][3] = {{3, 0, -2}, {1, 0, 0}, {0, 1, 0}};
  fixture_t* f = *state;
  for (int i = 0; i < 3; ++i) {
    leat_gradient_value_t g;
    leat_output_t colour = scene_floats(&f->s, 3, kColours[i]);
    leat_output_t hsv = leat_build_unary(&f->s.b, "RGBToHSV", colour);
    LEAT_EXPECT_OK(
        differentiate(f, (request_t){LEAT_INPUTS(hsv), LEAT_INPUTS(colour), {0}, 0}, &g));
    expect_numbers(f, g.dense, 3, kWanted[i]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
      TEST(chains_and_sums),
      TEST(paths_are_added_once),
      TEST(a_single_contribution_needs_no_sum),
      TEST(several_ys),
      TEST(starts_are_taken),
      TEST(with_respect_to_an_edge_in_the_middle),
      TEST(stops),
      TEST(nothing_depends),
      TEST(integers_hold_it_up),
      TEST(unused_outputs_count_as_zero),
      TEST(no_gradient_is_an_error),
      TEST(some_ops_pass_nothing_on),
      TEST(equal_channels_of_a_colour),
      TEST(bad_requests),
      TEST(gradients_of_gradients),
      TEST(long_chains),
      TEST(rows_gathered_in_several_places),
      cmocka_unit_test(memory_may_end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
