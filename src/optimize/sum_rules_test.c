// The rules of sums, in the pass "rules": a sum of matrix products becomes a chain in which each
// product is added to the one before, and a sum of padded tensors becomes one node. The first tests
// count the nodes that disappear, mostly to show where none may: no kernel for the merged node,
// another device, shapes that would be broadcast, a product that others read. Groups of gradients,
// which all wait for each other through a NoOp, have cases of their own, since merging them naively
// would close a cycle. The last tests run padded sums as they are and merged, and compare bits, -0
// and NaN included, and the words of the errors, which must name the node that the user wrote.
#include <math.h>

#include "session/pass_scene.h"

static const leat_kernel_row_t* serve_none(const void* data, const leat_op_t* op,
                                           const leat_attr_t* attrs, int attr_count,
                                           int32_t device) {
  return NULL;
}

// Where no fused product adds a bias, as for double, the bias is a term of the sum.
static const leat_kernel_row_t* serve_no_epilogue(const void* data, const leat_op_t* op,
                                                  const leat_attr_t* attrs, int attr_count,
                                                  int32_t device) {
  return leat_string_view_equals(op->name, "_FusedMatMul")
             ? NULL
             : pass_scene_find_kernel(data, op, attrs, attr_count, device);
}

static int fuse(pass_scene_t* f, leat_outputs_t fetches, int other) {
  return pass_scene_shrink(f, &leat_pass_rules, fetches, other);
}

// ---- Products -----------------------------------------------------------------------------------

static void a_product_goes_into_its_sum(void** state) {
  pass_scene_t* f = *state;
  leat_output_t a = scene_matrix(&f->s, "a", 2, 3), b = scene_matrix(&f->s, "b", 3, 4),
                y = scene_matrix(&f->s, "y", -1, 4);
  leat_output_t product = scene_binary(&f->s, "MatMul", -1, a, b);
  leat_output_t sum = scene_binary(&f->s, "AddV2", -1, product, y);
  leat_output_t reader = scene_unary(&f->s, "Neg", -1, sum);
  scene_after(&f->s, sum.node, scene_mark(&f->s, 1, -1));
  assert_int_equal(fuse(f, LEAT_INPUTS(sum, reader), -1), 1);
  const leat_node_t* fused = pass_scene_fetched(f, 0);
  assert_true(pass_scene_is_op(fused, "_MatMulAdd"));
  assert_int_equal(fused->control_count, 1);
  assert_int_equal(pass_scene_fetched(f, 1)->inputs[0].node, f->rewrite.fetches[0].node);
  assert_true(leat_string_view_equals(f->rewrite.graph->nodes[fused->inputs[2].node].name, "y"));
  // A sum of two products keeps one of them.
  leat_output_t two = scene_binary(&f->s, "AddV2", -1, scene_binary(&f->s, "MatMul", -1, a, b),
                                   scene_binary(&f->s, "MatMul", -1, a, b));
  assert_int_equal(fuse(f, LEAT_INPUTS(two), -1), 1);
}

static void a_product_goes_into_its_bias(void** state) {
  pass_scene_t* f = *state;
  const int64_t four = 4;
  leat_output_t a = scene_matrix(&f->s, "a", 2, 3), b = scene_matrix(&f->s, "b", 3, 4),
                unknown = scene_matrix(&f->s, "c", 3, -1);
  leat_output_t bias =
      scene_output(&f->s, "Placeholder", "bias", "", LEAT_NO_INPUTS,
                   LEAT_ATTRS(LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT),
                              LEAT_SHAPE("shape", ((leat_partial_shape_t){1, &four}))));
  leat_output_t y = scene_output(&f->s, "BiasAdd", "", "",
                                 LEAT_INPUTS(scene_binary(&f->s, "MatMul", -1, a, b), bias),
                                 LEAT_ATTRS(LEAT_TYPE("T", LEAT_DTYPE_FLOAT)));
  leat_output_t z = scene_output(&f->s, "BiasAdd", "", "",
                                 LEAT_INPUTS(scene_binary(&f->s, "MatMul", -1, a, unknown), bias),
                                 LEAT_ATTRS(LEAT_TYPE("T", LEAT_DTYPE_FLOAT)));
  assert_int_equal(fuse(f, LEAT_INPUTS(y), -1), 1);
  assert_true(pass_scene_is_op(pass_scene_fetched(f, 0), "_FusedMatMul"));
  f->options.find_kernel = serve_no_epilogue;
  assert_int_equal(fuse(f, LEAT_INPUTS(y), -1), 1);
  assert_true(pass_scene_is_op(pass_scene_fetched(f, 0), "_MatMulAdd"));
  assert_int_equal(fuse(f, LEAT_INPUTS(z), -1), 0);  // perhaps no bias of that product
  leat_output_t old = scene_output(&f->s, "BiasAddV1", "", "",
                                   LEAT_INPUTS(scene_binary(&f->s, "MatMul", -1, a, unknown), bias),
                                   LEAT_ATTRS(LEAT_TYPE("T", LEAT_DTYPE_FLOAT)));
  assert_int_equal(fuse(f, LEAT_INPUTS(old), -1), 0);
}

static leat_output_t sum_of(pass_scene_t* f, const leat_output_t* items, int count) {
  return scene_output(&f->s, "AddN", "", "", (leat_outputs_t){items, count},
                      LEAT_ATTRS(LEAT_INT("N", count), LEAT_TYPE("T", LEAT_DTYPE_FLOAT)));
}

static void a_sum_of_products_is_a_chain(void** state) {
  pass_scene_t* f = *state;
  leat_output_t a = scene_matrix(&f->s, "a", 2, 3), b = scene_matrix(&f->s, "b", 3, 4),
                y = scene_matrix(&f->s, "y", 2, 4);
  leat_output_t items[5];
  for (int i = 0; i < 4; ++i) items[i] = scene_binary(&f->s, "MatMul", -1, a, b);
  assert_int_equal(fuse(f, LEAT_INPUTS(sum_of(f, items, 3)), -1), 1);
  const leat_node_t* last = pass_scene_fetched(f, 0);
  const leat_node_t* before = &f->rewrite.graph->nodes[last->inputs[2].node];
  assert_ptr_equal(last->op, before->op);
  assert_true(
      leat_string_view_equals(f->rewrite.graph->nodes[before->inputs[2].node].op->name, "MatMul"));
  // AddN would refuse a product that turns out to have another shape; the sum would repeat y.
  leat_output_t open[] = {y, scene_binary(&f->s, "MatMul", -1, a, scene_matrix(&f->s, "c", 3, -1))};
  assert_int_equal(fuse(f, LEAT_INPUTS(sum_of(f, open, 2)), -1), 0);
  // What the other term waits for, it alone waits for.
  leat_output_t late = scene_unary(&f->s, "Identity", -1, scene_unary(&f->s, "Exp", -1, y));
  leat_output_t one_late[] = {scene_binary(&f->s, "MatMul", -1, a, b), late};
  scene_after(&f->s, late.node, scene_mark(&f->s, 1, -1));
  assert_int_equal(fuse(f, LEAT_INPUTS(sum_of(f, one_late, 2)), -1), 1);
  assert_int_equal(pass_scene_fetched(f, 0)->control_count, 0);
  items[3] = items[4] = y;
  assert_int_equal(fuse(f, LEAT_INPUTS(sum_of(f, items, 4)), -1), 1);
  assert_int_equal(fuse(f, LEAT_INPUTS(sum_of(f, items, 5)), -1), 0);  // another sum is needed
}

static void what_is_not_fused(void** state) {
  pass_scene_t* f = *state;
  leat_output_t a = scene_matrix(&f->s, "a", 2, 3), b = scene_matrix(&f->s, "b", 3, 4),
                y = scene_matrix(&f->s, "y", 2, 4);
  leat_output_t product = scene_binary(&f->s, "MatMul", -1, a, b);
  leat_output_t sum = scene_binary(&f->s, "AddV2", -1, y, product);
  f->options.find_kernel = serve_none;
  assert_int_equal(fuse(f, LEAT_INPUTS(sum), -1), 0);
  f->options.find_kernel = NULL;  // nobody knows of kernels
  assert_int_equal(fuse(f, LEAT_INPUTS(sum), -1), 0);
  f->options.find_kernel = pass_scene_find_kernel;
  assert_int_equal(fuse(f, LEAT_INPUTS(sum), -1), 1);
  assert_int_equal(fuse(f, LEAT_INPUTS(sum), 0), 0);  // on another device
  assert_int_equal(fuse(f, LEAT_INPUTS(sum, product), -1), 0);
  assert_int_equal(fuse(f, LEAT_INPUTS(sum, scene_unary(&f->s, "Neg", -1, product)), -1), 0);
  leat_output_t column = scene_binary(&f->s, "AddV2", -1, scene_binary(&f->s, "MatMul", -1, a, b),
                                      scene_matrix(&f->s, "column", 2, 1));
  assert_int_equal(fuse(f, LEAT_INPUTS(column), -1), 0);
  leat_output_t twice = scene_binary(&f->s, "MatMul", -1, a, b);
  assert_int_equal(fuse(f, LEAT_INPUTS(scene_binary(&f->s, "AddV2", -1, twice, twice)), -1), 0);
}

// A constant [rows, columns].
static leat_output_t constant_matrix(scene_t* s, int rows, int columns, const float* values) {
  leat_shape_t shape;
  leat_tensor_t tensor;
  LEAT_EXPECT_OK(leat_shape_create(2, (const int64_t[]){rows, columns}, &shape));
  LEAT_EXPECT_OK(
      leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_FLOAT, &shape, &tensor));
  memcpy(tensor.data, values, (size_t)(rows * columns) * sizeof *values);
  leat_output_t matrix = leat_build_constant(&s->b, &tensor);
  leat_tensor_release(&tensor);
  return matrix;
}

static leat_output_t constant_column(pass_scene_t* f, float first) {
  return constant_matrix(&f->s, 3, 1, (const float[]){first, 1, 1});
}

// They may end a fused region.
static void sums_of_rows_are_left(void** state) {
  pass_scene_t* f = *state;
  leat_output_t a = scene_matrix(&f->s, "a", 2, 3), y = scene_matrix(&f->s, "y", 2, 1);
  leat_output_t ones = scene_binary(&f->s, "MatMul", -1, a, constant_column(f, 1));
  leat_output_t others = scene_binary(&f->s, "MatMul", -1, a, constant_column(f, 2));
  assert_int_equal(fuse(f, LEAT_INPUTS(scene_binary(&f->s, "AddV2", -1, ones, y)), -1), 0);
  assert_int_equal(fuse(f, LEAT_INPUTS(scene_binary(&f->s, "AddV2", -1, others, y)), -1), 1);
  // The pass "fusion" takes a product only where its attributes have their defaults.
  leat_output_t marked = scene_output(
      &f->s, "MatMul", "", "", LEAT_INPUTS(a, constant_column(f, 1)),
      LEAT_ATTRS(LEAT_TYPE("T", LEAT_DTYPE_FLOAT), LEAT_BOOL("grad_a", true)));
  assert_int_equal(fuse(f, LEAT_INPUTS(scene_binary(&f->s, "AddV2", -1, marked, y)), -1), 1);
}

// ---- Terms that are forwarded -------------------------------------------------------------------

// A group of gradients as tf.gradients makes it: each is forwarded when both are there.
typedef struct group_s {
  leat_output_t a, b, product, other;
  leat_output_t from_product, from_other;
  int32_t node;
} group_t;

static group_t make_group(pass_scene_t* f) {
  group_t g = {.a = scene_matrix(&f->s, "a", 2, 3), .b = scene_matrix(&f->s, "b", 3, 4)};
  g.product = scene_binary(&f->s, "MatMul", -1, g.a, g.b);
  g.other = scene_unary(&f->s, "Exp", -1, g.b);
  g.node = scene_node(&f->s, "NoOp", "group", "", LEAT_NO_INPUTS, LEAT_NO_ATTRS);
  g.from_product = scene_unary(&f->s, "Identity", -1, g.product);
  g.from_other = scene_unary(&f->s, "Identity", -1, g.other);
  scene_after(&f->s, g.node, g.product.node);
  scene_after(&f->s, g.node, g.other.node);
  scene_after(&f->s, g.from_product.node, g.node);
  scene_after(&f->s, g.from_other.node, g.node);
  return g;
}

static bool waits_for(const pass_scene_t* f, const leat_node_t* node, const char* name) {
  for (int i = 0; i < node->control_count; ++i) {
    const int32_t source = node->inputs[node->input_count + i].node;
    if (leat_string_view_equals(f->rewrite.graph->nodes[source].name, name)) return true;
  }
  return false;
}

static void a_term_comes_through_its_group(void** state) {
  pass_scene_t* f = *state;
  const group_t g = make_group(f);
  leat_output_t sums[] = {g.from_product, scene_matrix(&f->s, "y", 2, 4)};
  leat_output_t sum = sum_of(f, sums, 2);
  // Identity, MatMul and AddN are one; a NoOp stands where the group waited for the product.
  assert_int_equal(fuse(f, LEAT_INPUTS(sum, g.from_other), -1), 1);
  assert_true(pass_scene_is_op(pass_scene_fetched(f, 0), "_MatMulAdd"));
  assert_true(waits_for(f, pass_scene_fetched(f, 0), "group"));
  assert_true(waits_for(f, pass_scene_fetched(f, 1), "group"));
  assert_int_equal(leat_graph_output_shape(f->rewrite.graph, f->rewrite.fetches[0]).dims[1], 4);
  // What is added may itself wait for the group.
  leat_output_t square =
      scene_binary(&f->s, "MatMul", -1, scene_matrix(&f->s, "c", 2, 3), g.from_other);
  leat_output_t again[] = {g.from_product, square};
  assert_int_equal(fuse(f, LEAT_INPUTS(sum_of(f, again, 2)), -1), 1);
  assert_int_equal(fuse(f, LEAT_INPUTS(sum, g.from_product), -1), 0);
  assert_int_equal(fuse(f, LEAT_INPUTS(sum, g.product), -1), 0);
}

static void what_a_product_waits_for_its_sum_waits_for(void** state) {
  pass_scene_t* f = *state;
  leat_output_t product = scene_binary(&f->s, "MatMul", -1, scene_matrix(&f->s, "a", 2, 3),
                                       scene_matrix(&f->s, "b", 3, 4));
  leat_output_t sum = scene_binary(&f->s, "AddV2", -1, product, scene_matrix(&f->s, "y", 2, 4));
  scene_after(&f->s, product.node, scene_mark(&f->s, 1, -1));
  scene_after(&f->s, sum.node, product.node);
  assert_int_equal(fuse(f, LEAT_INPUTS(sum), -1), 0);  // two nodes are one, and a NoOp
  assert_true(pass_scene_is_op(pass_scene_fetched(f, 0), "_MatMulAdd"));
  assert_int_equal(pass_scene_fetched(f, 0)->control_count, 2);
}

static void a_term_does_not_wait_for_more(void** state) {
  pass_scene_t* f = *state;
  group_t g = make_group(f);
  leat_output_t y = scene_matrix(&f->s, "y", 2, 4),
                sum = scene_binary(&f->s, "AddV2", -1, g.from_product, y);
  assert_int_equal(fuse(f, LEAT_INPUTS(sum), -1), 1);
  scene_after(&f->s, g.node, scene_wait(&f->s, 0, -1, g.a).node);
  assert_int_equal(fuse(f, LEAT_INPUTS(sum), -1), 0);
}

// Who waits for what reads one side of a Switch cannot wait for the Switch.
static void a_side_of_a_switch_is_waited_for(void** state) {
  pass_scene_t* f = *state;
  leat_output_t a = scene_matrix(&f->s, "a", 2, 3),
                p = scene_placeholder(&f->s, "p", LEAT_DTYPE_BOOL);
  const leat_output_t side = {scene_node(&f->s, "Switch", "fork", "", LEAT_INPUTS(a, p),
                                         LEAT_ATTRS(LEAT_TYPE("T", LEAT_DTYPE_FLOAT))),
                              1};
  leat_output_t product = scene_binary(&f->s, "MatMul", -1, side, scene_matrix(&f->s, "b", 3, 4));
  leat_output_t sum = scene_binary(&f->s, "AddV2", -1, product, scene_matrix(&f->s, "y", 2, 4));
  assert_int_equal(fuse(f, LEAT_INPUTS(sum), -1), 1);
  leat_output_t late = scene_unary(&f->s, "Neg", -1, a);
  scene_after(&f->s, late.node, product.node);
  assert_int_equal(fuse(f, LEAT_INPUTS(sum, late), -1), 0);
}

// ---- Pads ---------------------------------------------------------------------------------------

// |x|, a matrix, with rows of zeros around; how many is fed.
static leat_output_t padded(pass_scene_t* f, leat_output_t x, leat_output_t paddings) {
  return scene_output(
      &f->s, "Pad", "", "", LEAT_INPUTS(x, paddings),
      LEAT_ATTRS(LEAT_TYPE("T", LEAT_DTYPE_FLOAT), LEAT_TYPE("Tpaddings", LEAT_DTYPE_INT32)));
}
static leat_output_t fed_paddings(pass_scene_t* f, const char* name) {
  return scene_placeholder(&f->s, name, LEAT_DTYPE_INT32);
}

static void a_sum_of_pads_is_one(void** state) {
  pass_scene_t* f = *state;
  leat_output_t x = scene_matrix(&f->s, "x", 2, 3), y = scene_matrix(&f->s, "y", 3, 3);
  leat_output_t p = fed_paddings(f, "p"), q = fed_paddings(f, "q");
  leat_output_t items[] = {padded(f, x, p), padded(f, y, q), padded(f, x, q)};
  leat_output_t sum = sum_of(f, items, 3);
  scene_after(&f->s, items[1].node, scene_mark(&f->s, 1, -1));
  assert_int_equal(fuse(f, LEAT_INPUTS(sum), -1), 3);
  const leat_node_t* node = pass_scene_fetched(f, 0);
  assert_true(pass_scene_is_op(node, "_SumOfPads"));
  assert_int_equal(node->control_count, 1);
  assert_int_equal(node->input_count, 6);
  assert_int_equal(node->inputs[0].node, node->inputs[2].node);
  assert_int_equal(node->inputs[4].node, node->inputs[5].node);
}

static void which_pads_stay(void** state) {
  pass_scene_t* f = *state;
  leat_output_t x = scene_matrix(&f->s, "x", 2, 3), p = fed_paddings(f, "p"),
                q = fed_paddings(f, "q");
  leat_output_t items[] = {padded(f, x, p), padded(f, x, q), scene_matrix(&f->s, "y", 2, 3)};
  leat_output_t sum = sum_of(f, items, 2);
  assert_int_equal(fuse(f, LEAT_INPUTS(sum), -1), 2);
  assert_int_equal(fuse(f, LEAT_INPUTS(sum), 0), 0);  // on another device
  assert_int_equal(fuse(f, LEAT_INPUTS(sum, items[1]), -1), 0);
  assert_int_equal(fuse(f, LEAT_INPUTS(sum, scene_unary(&f->s, "Neg", -1, items[0])), -1), 0);
  items[0] = padded(f, x, p);
  items[1] = padded(f, x, q);
  assert_int_equal(fuse(f, LEAT_INPUTS(sum_of(f, items, 3)), -1), 0);  // one is no Pad
  leat_output_t twice[] = {padded(f, x, p), padded(f, x, p)};
  twice[1] = twice[0];
  assert_int_equal(fuse(f, LEAT_INPUTS(sum_of(f, twice, 2)), -1), 0);
  // One list of paddings has one type.
  leat_output_t wide = scene_output(
      &f->s, "Pad", "", "", LEAT_INPUTS(x, scene_placeholder(&f->s, "wide", LEAT_DTYPE_INT64)),
      LEAT_ATTRS(LEAT_TYPE("T", LEAT_DTYPE_FLOAT), LEAT_TYPE("Tpaddings", LEAT_DTYPE_INT64)));
  leat_output_t unlike[] = {padded(f, x, p), wide};
  assert_int_equal(fuse(f, LEAT_INPUTS(sum_of(f, unlike, 2)), -1), 0);
  // AddV2 repeats one along the other, unless the shapes are known to agree.
  leat_output_t loose = scene_binary(&f->s, "AddV2", -1, padded(f, x, p), padded(f, x, q));
  assert_int_equal(fuse(f, LEAT_INPUTS(loose), -1), 0);
}

// ---- Runs, as they are and fused ----------------------------------------------------------------

enum { kMost = 4000 };
static const float kX[] = {-0.0f, NAN, -0.0f, 2e-38f}, kY[] = {-0.0f, INFINITY, -INFINITY, 2};

// Adds |count| items of each, padded as |before_and_after| says.
static leat_status_t add_pads(scene_t* s, int count, const int32_t* before_and_after,
                              leat_tensor_t* out_sum) {
  const int32_t one_row[] = {1, 2};
  leat_tensor_t fed[3];
  leat_output_t feeds[3], items[2];
  feeds[2] = scene_placeholder(s, "", LEAT_DTYPE_INT32);
  LEAT_EXPECT_OK(leat_tensor_vector(LEAT_DTYPE_INT32, one_row, 2, &fed[2]));
  for (int i = 0; i < 2; ++i) {
    float values[kMost];
    for (int k = 0; k < count; ++k) values[k] = (i ? kY : kX)[k % 4];
    feeds[i] = scene_placeholder(s, "", LEAT_DTYPE_INT32);
    LEAT_EXPECT_OK(leat_tensor_vector(LEAT_DTYPE_INT32, before_and_after + 2 * i, 2, &fed[i]));
    leat_output_t paddings = scene_binary(s, "Reshape", -1, feeds[i], feeds[2]);
    items[i] = scene_output(s, "Pad", "", "", LEAT_INPUTS(scene_floats(s, count, values), paddings),
                            LEAT_NO_ATTRS);
  }
  leat_output_t sum = scene_output(s, "AddN", "", "", (leat_outputs_t){items, 2}, LEAT_NO_ATTRS);
  return scene_run(s, (leat_outputs_t){feeds, 3}, fed, LEAT_INPUTS(sum), out_sum, NULL, 0);
}

// The second |offset| items after the first.
static void expect_bits(scene_t* s, int count, int offset) {
  leat_tensor_t sum;
  LEAT_EXPECT_OK(add_pads(s, count, (const int32_t[]){0, offset, offset, 0}, &sum));
  assert_int_equal(sum.shape.element_count, count + offset);
  for (int i = 0; i < count + offset; ++i) {
    const float expected = (i < count ? kX[i % 4] : 0) + (i < offset ? 0 : kY[(i - offset) % 4]);
    assert_memory_equal(leat_tensor_data(&sum, const float) + i, &expected, sizeof expected);
  }
  leat_tensor_release(&sum);
}

static void bits_of_sums(scene_t* s) {
  expect_bits(s, 4, 2);
  expect_bits(s, kMost, kMost);
  expect_bits(s, kMost, kMost + 3000);
  expect_bits(s, kMost, 1501);
}

static void what_is_wrong(scene_t* s) {
  leat_tensor_t sum;
  scene_expect(add_pads(s, 4, (const int32_t[]){0, 2, -1, 3}, &sum), LEAT_INVALID_ARGUMENT,
               "node 'Pad_1' (Pad): paddings[0] is [-1, 3]");
}

// Paddings that only folding makes constant: nothing has refused them until the sum would be made.
static void what_is_folded_and_wrong(scene_t* s) {
  const float before_and_after[2][2] = {{0, 2}, {-1, 3}};
  leat_output_t items[2];
  leat_tensor_t sum;
  for (int i = 0; i < 2; ++i) {
    leat_output_t paddings =
        scene_output(s, "Cast", "", "", LEAT_INPUTS(constant_matrix(s, 1, 2, before_and_after[i])),
                     LEAT_ATTRS(LEAT_TYPE("DstT", LEAT_DTYPE_INT32)));
    leat_output_t x = scene_floats(s, 4, i ? kY : kX);
    items[i] = scene_output(s, "Pad", "", "", LEAT_INPUTS(x, paddings), LEAT_NO_ATTRS);
  }
  leat_output_t added = scene_output(s, "AddN", "", "", (leat_outputs_t){items, 2}, LEAT_NO_ATTRS);
  scene_expect(scene_run(s, LEAT_NO_INPUTS, NULL, LEAT_INPUTS(added), &sum, NULL, 0),
               LEAT_INVALID_ARGUMENT, "node 'Pad_1' (Pad): paddings[0] is [-1, 3]");
}

static void unequal_shapes(scene_t* s) {
  leat_tensor_t sum;
  scene_expect(add_pads(s, 4, (const int32_t[]){0, 2, 2, 1}, &sum), LEAT_INVALID_ARGUMENT,
               "input 1 is [7], must have the shape of input 0, [6]");
}

static void fused_sums_say_what_sums_say(void** state) {
  (void)state;
  scene_run_all_ways(bits_of_sums);
  scene_run_all_ways(what_is_wrong);
  scene_run_all_ways(what_is_folded_and_wrong);
  scene_run_all_ways(unequal_shapes);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, pass_scene_set_up, pass_scene_tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_product_goes_into_its_sum),
      TEST(a_product_goes_into_its_bias),
      TEST(a_sum_of_products_is_a_chain),
      TEST(what_is_not_fused),
      TEST(sums_of_rows_are_left),
      TEST(a_term_comes_through_its_group),
      TEST(what_a_product_waits_for_its_sum_waits_for),
      TEST(a_term_does_not_wait_for_more),
      TEST(a_side_of_a_switch_is_waited_for),
      TEST(a_sum_of_pads_is_one),
      TEST(which_pads_stay),
      cmocka_unit_test(fused_sums_say_what_sums_say),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
