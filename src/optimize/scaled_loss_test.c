// The rule "scaled_backprop" (ops/nn/loss.c), by which a product of a loss's gradient and a number
// for each row goes into the node that computes the loss. The first tests run the pass and count
// nodes: the rule must not fire where another node reads the gradient, where shapes say that the
// numbers are no column, or where the numbers come later than the loss and the loss would wait for
// itself. The others run steps with and without the rule and compare bits, with NaN and infinities
// among the logits, because a product may not be computed in another order. prologues_test.c tests
// the rules for nodes that read products.
#include <math.h>

#include "session/flow.h"
#include "session/pass_scene.h"

static int scale(pass_scene_t* f, leat_outputs_t fetches, int other) {
  return pass_scene_shrink(f, &leat_pass_prologues, fetches, other);
}

static leat_output_t output_of(leat_output_t output, int index) {
  return leat_node_output(output.node, index);
}

// ---- What a node gives --------------------------------------------------------------------------

// The cross entropy of four rows of five, and a number for each row.
typedef struct entropy_s {
  leat_output_t loss, backprop, numbers;
} entropy_t;

static entropy_t make_entropy(pass_scene_t* f, bool is_sparse) {
  const int64_t four = 4;
  leat_output_t logits = scene_matrix(&f->s, "", 4, 5), labels = scene_matrix(&f->s, "", 4, 5);
  if (is_sparse) {
    labels = scene_output(&f->s, "Placeholder", "", "", LEAT_NO_INPUTS,
                          LEAT_ATTRS(LEAT_TYPE("dtype", LEAT_DTYPE_INT32),
                                     LEAT_SHAPE("shape", ((leat_partial_shape_t){1, &four}))));
  }
  leat_output_t loss = scene_binary(
      &f->s, is_sparse ? "SparseSoftmaxCrossEntropyWithLogits" : "SoftmaxCrossEntropyWithLogits",
      -1, logits, labels);
  return (entropy_t){loss, output_of(loss, 1), scene_matrix(&f->s, "", 4, 1)};
}

static void rows_are_multiplied_where_they_are_made(void** state) {
  pass_scene_t* f = *state;
  entropy_t sparse = make_entropy(f, true), dense = make_entropy(f, false);
  leat_output_t product = scene_binary(&f->s, "Mul", -1, sparse.numbers, sparse.backprop);
  leat_output_t reader = scene_unary(&f->s, "Neg", -1, product);
  scene_after(&f->s, product.node, scene_mark(&f->s, 1, -1));
  assert_int_equal(scale(f, LEAT_INPUTS(product, sparse.loss, reader), -1), 1);
  const leat_node_t* scaled = pass_scene_fetched(f, 0);
  assert_true(pass_scene_is_op(scaled, "_ScaledCrossEntropy"));
  assert_int_equal(scaled->control_count, 1);
  assert_ptr_equal(pass_scene_fetched(f, 1), scaled);
  assert_int_equal(f->rewrite.fetches[0].index, 1);
  assert_int_equal(f->rewrite.fetches[1].index, 0);
  assert_int_equal(pass_scene_fetched(f, 2)->inputs[0].index, 1);
  assert_int_equal(leat_graph_output_shape(f->rewrite.graph, f->rewrite.fetches[0]).dims[0], 4);
  product = scene_binary(&f->s, "Mul", -1, dense.backprop, dense.numbers);
  assert_int_equal(scale(f, LEAT_INPUTS(product), -1), 1);
  scaled = pass_scene_fetched(f, 0);
  assert_true(pass_scene_is_op(scaled, "_ScaledCrossEntropy"));
  assert_int_equal(leat_node_attr_type(scaled, "Tlabels"), LEAT_DTYPE_FLOAT);
}

static void rows_that_others_read_stay(void** state) {
  pass_scene_t* f = *state;
  entropy_t e = make_entropy(f, true);
  leat_output_t product = scene_binary(&f->s, "Mul", -1, e.backprop, e.numbers);
  assert_int_equal(scale(f, LEAT_INPUTS(product, e.loss), -1), 1);
  assert_int_equal(scale(f, LEAT_INPUTS(product, e.backprop), -1), 0);
  assert_int_equal(scale(f, LEAT_INPUTS(e.backprop), -1), 0);
  leat_output_t other = scene_unary(&f->s, "Neg", -1, e.backprop);
  assert_int_equal(scale(f, LEAT_INPUTS(product, other), -1), 0);
  assert_int_equal(scale(f, LEAT_INPUTS(product), 0), 0);  // on another device
  f->options.find_kernel = NULL;                           // nobody knows of kernels
  assert_int_equal(scale(f, LEAT_INPUTS(product), -1), 0);
  f->options.find_kernel = pass_scene_find_kernel;
  entropy_t square = make_entropy(f, true);
  product = scene_binary(&f->s, "Mul", -1, square.backprop, square.backprop);
  assert_int_equal(scale(f, LEAT_INPUTS(product), -1), 0);
}

// Other shapes may give a product of another shape, or numbers by column.
static void only_columns_multiply_rows(void** state) {
  pass_scene_t* f = *state;
  const int64_t shapes[][2] = {{4, -1}, {1, 1}, {4, 5}, {1, 5}};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(shapes); ++i) {
    entropy_t e = make_entropy(f, true);
    e.numbers = scene_matrix(&f->s, "", shapes[i][0], shapes[i][1]);
    assert_int_equal(
        scale(f, LEAT_INPUTS(scene_binary(&f->s, "Mul", -1, e.backprop, e.numbers)), -1), 0);
  }
  entropy_t e = make_entropy(f, true);
  assert_int_equal(
      scale(f, LEAT_INPUTS(scene_binary(&f->s, "RealDiv", -1, e.backprop, e.numbers)), -1), 0);
}

// How many rows and numbers there are, only a step may tell; then the kernel broadcasts.
static void columns_may_have_any_length(void** state) {
  pass_scene_t* f = *state;
  entropy_t e = make_entropy(f, true);
  e.numbers = scene_matrix(&f->s, "", -1, 1);
  leat_output_t product = scene_binary(&f->s, "Mul", -1, e.backprop, e.numbers);
  assert_int_equal(scale(f, LEAT_INPUTS(product), -1), 1);
  const int64_t rows[] = {-1, 1};
  for (int i = 0; i < 2; ++i) {
    leat_output_t logits = scene_matrix(&f->s, "", rows[i], 5);
    leat_output_t loss = scene_binary(&f->s, "SoftmaxCrossEntropyWithLogits", -1, logits, logits);
    product = scene_binary(&f->s, "Mul", -1, e.numbers, output_of(loss, 1));
    assert_int_equal(scale(f, LEAT_INPUTS(product, loss), -1), rows[i] < 0);
  }
}

static leat_output_t column_of(pass_scene_t* f, leat_output_t vector) {
  return scene_output(&f->s, "ExpandDims", "", "", LEAT_INPUTS(vector, flow_int(&f->s, 1)),
                      LEAT_NO_ATTRS);
}

// The loss would wait for what follows from it, or for what may come later.
static void numbers_that_come_after_the_loss_stay(void** state) {
  pass_scene_t* f = *state;
  entropy_t e = make_entropy(f, true);
  leat_output_t product = scene_binary(&f->s, "Mul", -1, e.backprop, column_of(f, e.loss));
  assert_int_equal(scale(f, LEAT_INPUTS(product), -1), 0);
  e = make_entropy(f, true);
  leat_output_t later = scene_unary(&f->s, "Neg", -1, e.numbers);
  product = scene_binary(&f->s, "Mul", -1, e.backprop, later);
  assert_int_equal(scale(f, LEAT_INPUTS(product), -1), 1);
  scene_after(&f->s, later.node, scene_unary(&f->s, "Neg", -1, e.loss).node);
  assert_int_equal(scale(f, LEAT_INPUTS(product), -1), 0);
  e = make_entropy(f, true);
  product = scene_binary(&f->s, "Mul", -1, e.backprop, e.numbers);
  scene_after(&f->s, product.node, scene_unary(&f->s, "Neg", -1, e.loss).node);
  assert_int_equal(scale(f, LEAT_INPUTS(product), -1), 0);
  e = make_entropy(f, true);
  product = scene_binary(&f->s, "Mul", -1, e.backprop, scene_wait(&f->s, 0, -1, e.numbers));
  assert_int_equal(scale(f, LEAT_INPUTS(product, e.loss), -1), 0);
}

// Two nodes are independent, but not once each waits for what multiplies it.
static void nodes_do_not_wait_for_each_other(void** state) {
  pass_scene_t* f = *state;
  entropy_t a = make_entropy(f, true), b = make_entropy(f, false);
  leat_output_t from_b = scene_binary(&f->s, "Mul", -1, a.backprop, column_of(f, b.loss));
  leat_output_t from_a = scene_binary(&f->s, "Mul", -1, b.backprop, column_of(f, a.loss));
  assert_int_equal(scale(f, LEAT_INPUTS(from_a, from_b), -1), 1);
}

// ---- Runs, as they are and scaled ---------------------------------------------------------------

enum { kRows = 4, kColumns = 5 };
static const float kLogits[kRows * kColumns] = {1,      2, 3, 4, 5, NAN, 1, 2,        3, 4,
                                                -1e30f, 0, 0, 7, 1, 2,   1, INFINITY, 0, 1};
static const float kNumbers[kRows] = {0.05f, 3, -1e-30f, INFINITY};

static void expect_bits(const leat_tensor_t* tensor, const float* expected, int count) {
  const float* values = leat_tensor_data(tensor, const float);
  assert_int_equal(tensor->shape.element_count, count);
  for (int i = 0; i < count; ++i) {
    if (isnan(expected[i])) {
      assert_true(isnan(values[i]));
    } else {
      assert_memory_equal(&values[i], &expected[i], sizeof expected[i]);
    }
  }
}

static leat_output_t matrix(scene_t* s, const float* values, int rows, int columns) {
  const int32_t shape[] = {rows, columns};
  leat_tensor_t dims;
  LEAT_EXPECT_OK(leat_tensor_vector(LEAT_DTYPE_INT32, shape, 2, &dims));
  leat_output_t given = leat_build_constant(&s->b, &dims);
  leat_tensor_release(&dims);
  return scene_binary(s, "Reshape", -1, scene_floats(s, rows * columns, values), given);
}

static leat_output_t numbers_of_rows(scene_t* s) { return matrix(s, kNumbers, kRows, 1); }

static const float kWhole[kRows * kColumns] = {1, -2, 3, 0.5f, 5, 2, 1, 2, -3, 4,
                                               0, 0,  0, 7,    1, 2, 1, 9, 0,  1};

static leat_tensor_t rows_of(const float* values, int64_t rows, int64_t columns) {
  leat_tensor_t tensor;
  leat_shape_t shape;
  LEAT_EXPECT_OK(leat_shape_create(2, (const int64_t[]){rows, columns}, &shape));
  LEAT_EXPECT_OK(
      leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_FLOAT, &shape, &tensor));
  memcpy(tensor.data, values, (size_t)(rows * columns) * sizeof *values);
  return tensor;
}

// Values of |fetches|; |logits| are fed, so that nothing is computed while the graph is optimised.
static leat_status_t run(scene_t* s, leat_output_t logits, leat_outputs_t fetches,
                         leat_tensor_t* out_values) {
  leat_tensor_t fed = rows_of(kLogits, kRows, kColumns);
  return scene_run(s, LEAT_INPUTS(logits), &fed, fetches, out_values, NULL, 0);
}

static leat_output_t dense_entropy(scene_t* s, leat_output_t logits) {
  float labels[kRows * kColumns] = {0};
  for (int i = 0; i < kRows; ++i) labels[i * kColumns + i] = 0.75f;
  return scene_binary(s, "SoftmaxCrossEntropyWithLogits", -1, logits,
                      matrix(s, labels, kRows, kColumns));
}

static leat_output_t sparse_entropy(scene_t* s, leat_output_t logits, int first_label) {
  const int32_t classes[kRows] = {first_label, 1, 3, 2};
  leat_tensor_t labels;
  LEAT_EXPECT_OK(leat_tensor_vector(LEAT_DTYPE_INT32, classes, kRows, &labels));
  leat_output_t given = leat_build_constant(&s->b, &labels);
  leat_tensor_release(&labels);
  return scene_binary(s, "SparseSoftmaxCrossEntropyWithLogits", -1, logits, given);
}

// A step that gives what is to be multiplied too has both nodes.
static void expect_rows(scene_t* s, leat_output_t logits, leat_output_t loss) {
  const leat_output_t backprop = output_of(loss, 1);
  leat_output_t product = scene_binary(s, "Mul", -1, numbers_of_rows(s), backprop);
  leat_tensor_t alone[2], scaled[2];
  LEAT_EXPECT_OK(run(s, logits, LEAT_INPUTS(loss, backprop), alone));
  LEAT_EXPECT_OK(run(s, logits, LEAT_INPUTS(loss, product), scaled));
  float expected[kRows * kColumns];
  for (int i = 0; i < kRows * kColumns; ++i) {
    expected[i] = leat_tensor_data(&alone[1], const float)[i] * kNumbers[i / kColumns];
  }
  expect_bits(&scaled[0], leat_tensor_data(&alone[0], const float), kRows);
  expect_bits(&scaled[1], expected, kRows * kColumns);
  for (int i = 0; i < 2; ++i) {
    leat_tensor_release(&alone[i]);
    leat_tensor_release(&scaled[i]);
  }
}

static void bits_of_rows(scene_t* s) {
  leat_output_t logits = scene_matrix(s, "", kRows, kColumns);
  expect_rows(s, logits, dense_entropy(s, logits));
  expect_rows(s, logits, sparse_entropy(s, logits, 4));
}

// As many numbers as rows, one for all rows, several for one row; and as by Mul no others.
static void numbers_of_unknown_rows(scene_t* s) {
  static const int64_t kCounts[][3] = {{4, 4, 4}, {4, 1, 4}, {1, 3, 3}, {4, 3, -1}};
  leat_output_t logits = scene_matrix(s, "", -1, kColumns), numbers = scene_matrix(s, "", -1, 1);
  leat_output_t loss = scene_binary(s, "SoftmaxCrossEntropyWithLogits", -1, logits, logits);
  leat_output_t backprop = output_of(loss, 1);
  leat_output_t product = scene_binary(s, "Mul", -1, numbers, backprop);
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kCounts); ++i) {
    const int64_t rows = kCounts[i][0], count = kCounts[i][1], results = kCounts[i][2];
    leat_tensor_t fed[2], alone[3], scaled[2];
    for (int way = 0; way < 2; ++way) {
      fed[0] = rows_of(kWhole, rows, kColumns);
      fed[1] = rows_of(kWhole + 1, count, 1);
      leat_status_t status =
          way == 0 ? scene_run(s, LEAT_INPUTS(logits, numbers), fed,
                               LEAT_INPUTS(loss, product, backprop), alone, NULL, 0)
                   : scene_run(s, LEAT_INPUTS(logits, numbers), fed, LEAT_INPUTS(loss, product),
                               scaled, NULL, 0);
      if (results >= 0) LEAT_EXPECT_OK(status);
      if (results < 0) scene_expect(status, LEAT_INVALID_ARGUMENT, "Incompatible shapes");
    }
    if (results < 0) continue;
    expect_bits(&scaled[0], leat_tensor_data(&alone[0], const float), (int)rows);
    expect_bits(&scaled[1], leat_tensor_data(&alone[1], const float), (int)results * kColumns);
    for (int k = 0; k < 3; ++k) leat_tensor_release(&alone[k]);
    for (int k = 0; k < 2; ++k) leat_tensor_release(&scaled[k]);
  }
}

static void no_class(scene_t* s) {
  leat_tensor_t value;
  leat_output_t logits = scene_matrix(s, "", kRows, kColumns);
  leat_output_t product = scene_binary(s, "Mul", -1, numbers_of_rows(s),
                                       output_of(sparse_entropy(s, logits, kColumns), 1));
  scene_expect(run(s, logits, LEAT_INPUTS(product), &value), LEAT_INVALID_ARGUMENT,
               "Received a label value of 5 which is outside the valid range of [0, 5)");
}

// In each turn its rows are multiplied by numbers that all turns see.
static void rows_in_a_loop(scene_t* s) {
  leat_tensor_t values[2];
  flow_loop_t loop;
  leat_output_t logits = scene_matrix(s, "", kRows, kColumns), labels = numbers_of_rows(s);
  flow_loop_count(s, "loop", flow_int(s, 2), LEAT_INPUTS(logits), &loop);
  leat_output_t numbers = flow_loop_invariant(&loop, numbers_of_rows(s));
  leat_output_t loss = scene_binary(s, "SoftmaxCrossEntropyWithLogits", -1, loop.values[1],
                                    flow_loop_invariant(&loop, labels));
  flow_loop_next(&loop, 1, scene_binary(s, "Mul", -1, output_of(loss, 1), numbers));
  leat_output_t twice = logits;
  for (int turn = 0; turn < 2; ++turn) {
    loss = scene_binary(s, "SoftmaxCrossEntropyWithLogits", -1, twice, labels);
    twice = scene_binary(s, "Mul", -1, output_of(loss, 1), numbers_of_rows(s));
  }
  LEAT_EXPECT_OK(run(s, logits, LEAT_INPUTS(flow_loop_exit(&loop, 1), twice), values));
  expect_bits(&values[0], leat_tensor_data(&values[1], const float), kRows * kColumns);
  for (int i = 0; i < 2; ++i) leat_tensor_release(&values[i]);
}

#define ALL_WAYS(test) \
  static void test##_all_ways(void** state) { scene_run_all_ways(test); }
ALL_WAYS(bits_of_rows)
ALL_WAYS(numbers_of_unknown_rows)
ALL_WAYS(no_class)
ALL_WAYS(rows_in_a_loop)

#define TEST(name) cmocka_unit_test_setup_teardown(name, pass_scene_set_up, pass_scene_tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(rows_are_multiplied_where_they_are_made),
      TEST(rows_that_others_read_stay),
      TEST(only_columns_multiply_rows),
      TEST(columns_may_have_any_length),
      TEST(numbers_that_come_after_the_loss_stay),
      TEST(nodes_do_not_wait_for_each_other),
      cmocka_unit_test(bits_of_rows_all_ways),
      cmocka_unit_test(numbers_of_unknown_rows_all_ways),
      cmocka_unit_test(no_class_all_ways),
      cmocka_unit_test(rows_in_a_loop_all_ways),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
