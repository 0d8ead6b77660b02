// Most tests run a graph in which one optimizer pass must refuse a rewrite, because the graph would
// then give other values, give a value where there is none, or never end. A pass that forgets why
// it must refuse still makes a graph that looks right, so that only the values of a step tell. The
// last tests run graphs that are rewritten, and see that the values stay.
// Every graph runs on both executors, with one thread and with several, with the optimizer off and
// on, and its values are compared with the formula that the graph spells out, computed here.
#include <math.h>
#include <string.h>

#include "graph/op/op.h"
#include "session/flow.h"

enum { ROWS = 2, COLUMNS = 3 };
static const float kX[ROWS * COLUMNS] = {1, 2, 3, 4, 5, 6};

static leat_tensor_t rows_of(const float* values, int rows, int columns) {
  leat_shape_t shape;
  leat_tensor_t tensor;
  LEAT_EXPECT_OK(leat_shape_create(2, (const int64_t[]){rows, columns}, &shape));
  LEAT_EXPECT_OK(
      leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_FLOAT, &shape, &tensor));
  memcpy(tensor.data, values, (size_t)(rows * columns) * sizeof *values);
  return tensor;
}

static leat_tensor_t truth(bool value) {
  leat_tensor_t tensor;
  LEAT_EXPECT_OK(leat_tensor_scalar(LEAT_DTYPE_BOOL, &value, &tensor));
  return tensor;
}

// ---- Folding ------------------------------------------------------------------------------------

// |fetch| must be the |count| numbers of int32 of |expected| when |feeds|, which are x and the
// predicate, are kX and |side|.
static void expect_ints(scene_t* s, leat_outputs_t feeds, bool side, leat_output_t fetch, int count,
                        const int32_t* expected) {
  leat_tensor_t fed[2] = {rows_of(kX, ROWS, COLUMNS), truth(side)}, value;
  LEAT_EXPECT_OK(scene_run(s, feeds, fed, LEAT_INPUTS(fetch), &value, NULL, 0));
  assert_int_equal(value.dtype, LEAT_DTYPE_INT32);
  assert_int_equal(value.shape.element_count, count);
  assert_memory_equal(value.data, expected, (size_t)count * sizeof *expected);
  leat_tensor_release(&value);
}

// The shape of a value behind a Switch is known before the step, but in a step that takes the other
// side it is as dead as the value. Made a constant, it would be alive in every step, and the Merge
// would take it.
static void a_shape_behind_a_switch_dies_with_its_value(scene_t* s) {
  leat_output_t x = scene_matrix(s, "x", ROWS, COLUMNS);
  leat_output_t p = scene_placeholder(s, "p", LEAT_DTYPE_BOOL);
  leat_output_t no = flow_switch(s, x, p, 0), yes = leat_node_output(no.node, 1);
  leat_output_t cast =
      scene_output(s, "Cast", "", "", LEAT_INPUTS(scene_unary(s, "Neg", -1, no)),
                   LEAT_ATTRS(LEAT_TYPE("DstT", LEAT_DTYPE_INT32)));
  leat_output_t sums = scene_binary(s, "Sum", -1, cast, flow_int(s, 0));
  leat_output_t merged = flow_merge(s, scene_unary(s, "Shape", -1, yes), sums);
  expect_ints(s, LEAT_INPUTS(x, p), false, merged, COLUMNS, (const int32_t[]){-5, -7, -9});
  expect_ints(s, LEAT_INPUTS(x, p), true, merged, 2, (const int32_t[]){ROWS, COLUMNS});
}

static void a_size_and_a_rank_behind_a_switch_die_with_their_value(scene_t* s) {
  static const char* const kOps[] = {"Size", "Rank"};
  static const int32_t kKnown[] = {ROWS * COLUMNS, 2};
  leat_output_t x = scene_matrix(s, "x", ROWS, COLUMNS);
  leat_output_t p = scene_placeholder(s, "p", LEAT_DTYPE_BOOL);
  for (int i = 0; i < 2; ++i) {
    leat_output_t no = flow_switch(s, x, p, 0), yes = leat_node_output(no.node, 1);
    leat_output_t all = leat_build_int32_vector(&s->b, (const int32_t[]){0, 1}, 2);
    leat_output_t sum = scene_binary(s, "Sum", -1, no, all);
    leat_output_t cast = scene_output(s, "Cast", "", "", LEAT_INPUTS(sum),
                                      LEAT_ATTRS(LEAT_TYPE("DstT", LEAT_DTYPE_INT32)));
    leat_output_t merged = flow_merge(s, scene_unary(s, kOps[i], -1, yes), cast);
    expect_ints(s, LEAT_INPUTS(x, p), false, merged, 1, (const int32_t[]){21});
    expect_ints(s, LEAT_INPUTS(x, p), true, merged, 1, &kKnown[i]);
  }
}

// ---- Elementwise fusion -------------------------------------------------------------------------

enum { SIDE = 64, CHAIN = 6 };

static leat_output_t repeated_sum(scene_t* s, leat_output_t first, leat_output_t rest, int count) {
  leat_output_t terms[LEAT_FUSED_MAX_STEPS];
  assert_true(count <= LEAT_FUSED_MAX_STEPS);
  for (int i = 0; i < count; ++i) terms[i] = i ? rest : first;
  return scene_output(s, "AddN", "", "", (leat_outputs_t){terms, count}, LEAT_NO_ATTRS);
}

// A chain of functions is read by two sums, the second of which also reads the first:
//
//   x ─▶ (chain) ─┬─▶ sum of many ─▶ sum of some ─▶ y
//                 └──────────────────────▲
//
// The first sum leaves no room beside itself in a fused node, neither for the chain nor for the
// second sum. The chain and the second sum would fit into one together, but that one would read
// the first sum and be read by it.
static void a_fused_node_does_not_read_what_reads_it(scene_t* s) {
  static float fed_values[SIDE * SIDE], expected[SIDE * SIDE];
  const int many = LEAT_FUSED_MAX_STEPS - 4, some = 7;
  for (int i = 0; i < SIDE * SIDE; ++i) {
    double y = fed_values[i] = (float)(i % 129 - 64) / 32;
    for (int k = 0; k < CHAIN; ++k) y = k % 2 ? 1 / (1 + exp(-y)) : tanh(y);
    expected[i] = (float)((many + some - 1) * y);
  }
  leat_output_t x = scene_matrix(s, "x", SIDE, SIDE), chain = x;
  for (int k = 0; k < CHAIN; ++k) chain = scene_unary(s, k % 2 ? "Sigmoid" : "Tanh", -1, chain);
  leat_output_t first = repeated_sum(s, chain, chain, many);
  leat_output_t second = repeated_sum(s, first, chain, some);
  leat_tensor_t fed = rows_of(fed_values, SIDE, SIDE), value;
  LEAT_EXPECT_OK(scene_run(s, LEAT_INPUTS(x), &fed, LEAT_INPUTS(second), &value, NULL, 0));
  assert_int_equal(value.shape.element_count, SIDE * SIDE);
  for (int i = 0; i < SIDE * SIDE; ++i) {
    assert_true(fabsf(leat_tensor_data(&value, const float)[i] - expected[i]) < 1e-3f);
  }
  leat_tensor_release(&value);
}

// ---- Scaling ------------------------------------------------------------------------------------

static const float kLogits[ROWS * COLUMNS] = {0.5f, -1, 2, 1, 1, -0.25f};
static const int32_t kLabels[ROWS] = {2, 0};
static const float kColumn[ROWS] = {-3, 0.5f};

// What the cross entropy gives back to its logits: softmax minus one for the row's own class.
static void backprop_of(float* out_backprop) {
  for (int r = 0; r < ROWS; ++r) {
    double sum = 0;
    for (int c = 0; c < COLUMNS; ++c) sum += exp(kLogits[r * COLUMNS + c]);
    for (int c = 0; c < COLUMNS; ++c) {
      const double softmax = exp(kLogits[r * COLUMNS + c]) / sum;
      out_backprop[r * COLUMNS + c] = (float)(softmax - (c == kLabels[r]));
    }
  }
}

static void expect_near(const leat_tensor_t* tensor, const float* expected, int count) {
  assert_int_equal(tensor->shape.element_count, count);
  for (int i = 0; i < count; ++i) {
    assert_true(fabsf(leat_tensor_data(tensor, const float)[i] - expected[i]) < 1e-5f);
  }
}

// The factor is there on one side of a condition only, and so is the product; the cross entropy
// is there always. If it took the factor it would be dead when the factor is, and the loss, which
// is fetched too, with it.
static void a_product_stays_on_its_side_of_a_switch(scene_t* s) {
  const int64_t rows = ROWS;
  float product[ROWS * COLUMNS], negated[ROWS], loss_values[ROWS];
  leat_output_t logits = scene_matrix(s, "logits", ROWS, COLUMNS);
  leat_output_t labels = scene_output(
      s, "Placeholder", "labels", "", LEAT_NO_INPUTS,
      LEAT_ATTRS(LEAT_TYPE("dtype", LEAT_DTYPE_INT32),
                 LEAT_SHAPE("shape", ((leat_partial_shape_t){1, &rows}))));
  leat_output_t column = scene_matrix(s, "column", ROWS, 1);
  leat_output_t p = scene_placeholder(s, "p", LEAT_DTYPE_BOOL);
  leat_output_t loss = scene_binary(s, "SparseSoftmaxCrossEntropyWithLogits", -1, logits, labels);
  leat_output_t no = flow_switch(s, column, p, 0), yes = leat_node_output(no.node, 1);
  leat_output_t scaled = scene_binary(s, "Mul", -1, leat_node_output(loss.node, 1),
                                      scene_unary(s, "Abs", -1, yes));
  leat_output_t merged = flow_merge(s, scene_unary(s, "Neg", -1, scaled),
                                    scene_unary(s, "Neg", -1, no));
  backprop_of(product);
  for (int i = 0; i < ROWS * COLUMNS; ++i) product[i] *= -fabsf(kColumn[i / COLUMNS]);
  for (int r = 0; r < ROWS; ++r) {
    double sum = 0;
    for (int c = 0; c < COLUMNS; ++c) sum += exp(kLogits[r * COLUMNS + c]);
    loss_values[r] = (float)(log(sum) - kLogits[r * COLUMNS + kLabels[r]]);
    negated[r] = -kColumn[r];
  }
  for (int side = 0; side < 2; ++side) {
    leat_tensor_t fed[4] = {rows_of(kLogits, ROWS, COLUMNS), {0}, rows_of(kColumn, ROWS, 1),
                            truth(side)};
    leat_tensor_t values[2];
    LEAT_EXPECT_OK(leat_tensor_vector(LEAT_DTYPE_INT32, kLabels, ROWS, &fed[1]));
    LEAT_EXPECT_OK(scene_run(s, LEAT_INPUTS(logits, labels, column, p), fed,
                             LEAT_INPUTS(merged, loss), values, NULL, 0));
    expect_near(&values[0], side ? product : negated, side ? ROWS * COLUMNS : ROWS);
    expect_near(&values[1], loss_values, ROWS);
    leat_tensor_release(&values[0]);
    leat_tensor_release(&values[1]);
  }
}

// ---- Rules --------------------------------------------------------------------------------------

enum { WIDTH = 2 };
static const float kWeights[COLUMNS * WIDTH] = {1, -2, 0.5f, 1, -1, 2};
static const float kBias[WIDTH] = {0.25f, -1};

static leat_output_t attr_float(scene_t* s, const char* op, leat_outputs_t inputs) {
  return scene_output(s, op, "", "", inputs, LEAT_ATTRS(LEAT_TYPE("T", LEAT_DTYPE_FLOAT)));
}

// Products with what follows them, with a Reshape between and without: each in a step of its own,
// because equal products in one step are one node, which several read.
static void what_goes_into_a_product_changes_no_value(scene_t* s) {
  leat_output_t x = scene_matrix(s, "x", ROWS, COLUMNS);
  leat_output_t shape = leat_build_int32_vector(&s->b, (const int32_t[]){COLUMNS, WIDTH}, 2);
  leat_output_t w = scene_binary(s, "Reshape", -1, scene_floats(s, COLUMNS * WIDTH, kWeights),
                                 shape);
  leat_output_t bias = scene_floats(s, WIDTH, kBias);
  leat_output_t sequence = scene_binary(
      s, "Reshape", -1, scene_binary(s, "MatMul", -1, x, w),
      leat_build_int32_vector(&s->b, (const int32_t[]){1, ROWS, WIDTH}, 3));
  leat_output_t sums[] = {
      attr_float(s, "BiasAdd", LEAT_INPUTS(scene_binary(s, "MatMul", -1, x, w), bias)),
      scene_binary(s, "AddV2", -1, bias, scene_binary(s, "MatMul", -1, x, w)),
      attr_float(s, "BiasAdd", LEAT_INPUTS(sequence, bias)),
      scene_binary(s, "Sub", -1, scene_binary(s, "MatMul", -1, x, w), bias)};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(sums); ++i) {
    leat_tensor_t fed = rows_of(kX, ROWS, COLUMNS), value;
    leat_output_t fetch = attr_float(s, "Relu", LEAT_INPUTS(sums[i]));
    float expected[ROWS * WIDTH];
    LEAT_EXPECT_OK(scene_run(s, LEAT_INPUTS(x), &fed, LEAT_INPUTS(fetch), &value, NULL, 0));
    for (int r = 0; r < ROWS; ++r) {
      for (int c = 0; c < WIDTH; ++c) {
        float sum = i == 3 ? -kBias[c] : kBias[c];
        for (int k = 0; k < COLUMNS; ++k) sum += kX[r * COLUMNS + k] * kWeights[k * WIDTH + c];
        expected[r * WIDTH + c] = fmaxf(sum, 0);
      }
    }
    expect_near(&value, expected, ROWS * WIDTH);
    assert_int_equal(value.shape.rank, i == 2 ? 3 : 2);
    leat_tensor_release(&value);
  }
}

// What is joined is taken apart by Split, SplitV and x[:, 1:3], and never joined.
static void pieces_have_the_values_of_the_whole(scene_t* s) {
  s->options.optimizer.fusion_limit_elements = 1;
  leat_output_t x = scene_matrix(s, "x", ROWS, COLUMNS), axis = flow_int(s, 1);
  leat_output_t joined = scene_output(
      s, "ConcatV2", "", "",
      LEAT_INPUTS(x, scene_binary(s, "Mul", -1, x, scene_float(s, 2)), axis), LEAT_NO_ATTRS);
  leat_output_t negative = scene_unary(s, "Neg", -1, joined);
  const int32_t split = scene_node(s, "Split", "", "", LEAT_INPUTS(axis, negative),
                                   LEAT_ATTRS(LEAT_INT("num_split", 2)));
  leat_output_t sizes = leat_build_int32_vector(&s->b, (const int32_t[]){COLUMNS, -1}, 2);
  const int32_t split_v = scene_node(s, "SplitV", "", "", LEAT_INPUTS(negative, sizes, axis),
                                     LEAT_ATTRS(LEAT_INT("num_split", 2)));
  leat_output_t begin = leat_build_int32_vector(&s->b, (const int32_t[]){0, COLUMNS}, 2),
                end = leat_build_int32_vector(&s->b, (const int32_t[]){ROWS, 2 * COLUMNS}, 2),
                strides = leat_build_int32_vector(&s->b, (const int32_t[]){1, 1}, 2);
  leat_output_t fetches[] = {
      leat_node_output(split, 1), leat_node_output(split_v, 1),
      scene_output(s, "StridedSlice", "", "", LEAT_INPUTS(negative, begin, end, strides),
                   LEAT_NO_ATTRS)};
  leat_tensor_t fed = rows_of(kX, ROWS, COLUMNS), values[LEAT_ARRAY_SIZE(fetches)];
  float expected[ROWS * COLUMNS];
  for (int i = 0; i < ROWS * COLUMNS; ++i) expected[i] = -2 * kX[i];
  LEAT_EXPECT_OK(scene_run(s, LEAT_INPUTS(x), &fed,
                           (leat_outputs_t){fetches, LEAT_ARRAY_SIZE(fetches)}, values, NULL, 0));
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(fetches); ++i) {
    expect_near(&values[i], expected, ROWS * COLUMNS);
    leat_tensor_release(&values[i]);
  }
}

#define ALL_WAYS(test) \
  static void test##_all_ways(void** state) { scene_run_all_ways(test); }
ALL_WAYS(a_shape_behind_a_switch_dies_with_its_value)
ALL_WAYS(a_size_and_a_rank_behind_a_switch_die_with_their_value)
ALL_WAYS(a_fused_node_does_not_read_what_reads_it)
ALL_WAYS(a_product_stays_on_its_side_of_a_switch)
ALL_WAYS(what_goes_into_a_product_changes_no_value)
ALL_WAYS(pieces_have_the_values_of_the_whole)

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_shape_behind_a_switch_dies_with_its_value_all_ways),
      cmocka_unit_test(a_size_and_a_rank_behind_a_switch_die_with_their_value_all_ways),
      cmocka_unit_test(a_fused_node_does_not_read_what_reads_it_all_ways),
      cmocka_unit_test(a_product_stays_on_its_side_of_a_switch_all_ways),
      cmocka_unit_test(what_goes_into_a_product_changes_no_value_all_ways),
      cmocka_unit_test(pieces_have_the_values_of_the_whole_all_ways),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
