// The pass "rules" merges what follows a matrix product or a convolution (bias, normalization,
// activation, sum) into one node, by rewrite rules that are written beside the ops. The tests build
// the patterns as client libraries spell them, with all ways to write a GELU and with reshapes in
// between, and look at the op and the list |fused_ops| of the node that remains. The larger part is
// patterns that look alike and are not: a bias along another dimension, a value that somebody else
// reads or waits for, another device, unknown lengths, a branch that may be dead. Whether the
// merged nodes give the same values is tested in tests/session/fused_products_test.c.
#include <stdio.h>
#include <string.h>

#include "session/flow.h"
#include "session/pass_scene.h"

static int apply(pass_scene_t* f, leat_outputs_t fetches, int other) {
  return pass_scene_shrink(f, &leat_pass_rules, fetches, other);
}

static leat_output_t tensor(scene_t* s, int rank, const int64_t* dims) {
  return scene_output(s, "Placeholder", "", "", LEAT_NO_INPUTS,
                      LEAT_ATTRS(LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT),
                                 LEAT_SHAPE("shape", ((leat_partial_shape_t){rank, dims}))));
}
#define TENSOR(s, ...)                                                             \
  tensor(s, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (const int64_t[]){__VA_ARGS__})

static leat_output_t unary(scene_t* s, const char* op, leat_output_t x) {
  return scene_output(s, op, "", "", LEAT_INPUTS(x), LEAT_ATTRS(LEAT_TYPE("T", LEAT_DTYPE_FLOAT)));
}

static leat_output_t binary(scene_t* s, const char* op, leat_output_t x, leat_output_t y) {
  return scene_output(s, op, "", "", LEAT_INPUTS(x, y),
                      LEAT_ATTRS(LEAT_TYPE("T", LEAT_DTYPE_FLOAT)));
}

static leat_output_t bias_add(scene_t* s, leat_output_t x, leat_output_t bias,
                              const char* format) {
  return scene_output(s, "BiasAdd", "", "", LEAT_INPUTS(x, bias),
                      LEAT_ATTRS(LEAT_TYPE("T", LEAT_DTYPE_FLOAT),
                                 LEAT_STRING("data_format", leat_string_view_from(format))));
}

static leat_output_t convolution(scene_t* s, const char* op, const char* padding) {
  static const int64_t kOnes[] = {1, 1, 1, 1};
  static const int64_t kPads[] = {0, 0, 1, 1, 1, 1, 0, 0};
  const bool is_explicit = strcmp(padding, "EXPLICIT") == 0;
  const leat_attr_t attrs[] = {
      LEAT_TYPE("T", LEAT_DTYPE_FLOAT),
      LEAT_LIST("strides", INT, 4, ints, kOnes),
      LEAT_STRING("padding", leat_string_view_from(padding)),
      LEAT_LIST("explicit_paddings", INT, is_explicit ? 8 : 0, ints, kPads)};
  return scene_output(s, op, "", "", LEAT_INPUTS(TENSOR(s, 2, 5, 5, 4), TENSOR(s, 3, 3, 4, 4)),
                      (leat_attrs_t){attrs, LEAT_ARRAY_SIZE(attrs)});
}

// The constant vector of int32 |items|.
static leat_output_t list(scene_t* s, int count, const int32_t* items) {
  leat_tensor_t value;
  LEAT_EXPECT_OK(leat_tensor_vector(LEAT_DTYPE_INT32, items, count, &value));
  leat_output_t constant = scene_output(
      s, "Const", "", "", LEAT_NO_INPUTS,
      LEAT_ATTRS(LEAT_TENSOR("value", &value), LEAT_TYPE("dtype", LEAT_DTYPE_INT32)));
  leat_tensor_release(&value);
  return constant;
}

static leat_output_t reshape(scene_t* s, leat_output_t x, leat_output_t shape) {
  return scene_output(
      s, "Reshape", "", "", LEAT_INPUTS(x, shape),
      LEAT_ATTRS(LEAT_TYPE("T", LEAT_DTYPE_FLOAT), LEAT_TYPE("Tshape", LEAT_DTYPE_INT32)));
}

static leat_output_t product(scene_t* s) {
  return binary(s, "MatMul", TENSOR(s, 2, 3), TENSOR(s, 3, 4));
}

// A batch normalization over four channels; the one that trains takes no mean and no variance.
static leat_output_t normalize(scene_t* s, leat_output_t x, bool is_training) {
  const int64_t channels = is_training ? 0 : 4;
  return scene_output(s, "FusedBatchNormV3", "", "",
                      LEAT_INPUTS(x, TENSOR(s, 4), TENSOR(s, 4), TENSOR(s, channels),
                                  TENSOR(s, channels)),
                      LEAT_ATTRS(LEAT_TYPE("T", LEAT_DTYPE_FLOAT), LEAT_TYPE("U", LEAT_DTYPE_FLOAT),
                                 LEAT_REAL("epsilon", 0.25f),
                                 LEAT_BOOL("is_training", is_training)));
}

// The node of fetch |index| is |op| and fuses |list|, "BiasAdd Relu".
static void expect_fused(pass_scene_t* f, int index, const char* op, const char* list) {
  const leat_node_t* node = pass_scene_fetched(f, index);
  char names[128] = "";
  const leat_attr_value_t* ops = leat_node_attr(node, LEAT_SV("fused_ops"));
  if (!pass_scene_is_op(node, op)) {
    fail_msg("%.*s, must be %s", LEAT_SV_ARG(node->op->name), op);
  }
  assert_non_null(ops);
  for (uint32_t i = 0; i < ops->count; ++i) {
    snprintf(names + strlen(names), sizeof names - strlen(names), "%s%.*s", i ? " " : "",
             LEAT_SV_ARG(ops->strings[i]));
  }
  assert_string_equal(names, list);
}

// ---- What goes into one node --------------------------------------------------------------------

static void a_product_takes_bias_and_activation(void** state) {
  pass_scene_t* f = *state;
  scene_t* s = &f->s;
  leat_output_t bias = TENSOR(s, 4);
  leat_output_t a = unary(s, "Relu", bias_add(s, product(s), bias, "NHWC"));
  leat_output_t b = unary(s, "Tanh", binary(s, "AddV2", bias, product(s)));
  leat_output_t c = unary(s, "Sigmoid", product(s));
  leat_output_t d = binary(s, "Sub", product(s), bias);
  leat_output_t e = unary(s, "Elu", unary(s, "Identity", bias_add(s, product(s), bias, "NHWC")));
  apply(f, LEAT_INPUTS(a, b, c, d, e), -1);
  expect_fused(f, 0, "_FusedMatMul", "BiasAdd Relu");
  expect_fused(f, 1, "_FusedMatMul", "BiasAdd Tanh");
  expect_fused(f, 2, "_FusedMatMul", "Sigmoid");
  expect_fused(f, 3, "_FusedMatMul", "BiasAdd");
  assert_true(pass_scene_is_op(
      &f->rewrite.graph->nodes[pass_scene_fetched(f, 3)->inputs[2].node], "Neg"));
  expect_fused(f, 4, "_FusedMatMul", "BiasAdd Elu");
  assert_int_equal(leat_node_attr_int(pass_scene_fetched(f, 0), "num_args", 0), 1);
}

static void a_convolution_takes_all_stages(void** state) {
  pass_scene_t* f = *state;
  scene_t* s = &f->s;
  leat_output_t y = TENSOR(s, 2, 5, 5, 4), bias = TENSOR(s, 4);
  leat_output_t a = unary(
      s, "Relu", binary(s, "AddV2", y, normalize(s, convolution(s, "Conv2D", "SAME"), false)));
  leat_output_t b = unary(
      s, "Relu6", bias_add(s, convolution(s, "DepthwiseConv2dNative", "SAME"),
                           TENSOR(s, 16), "NHWC"));
  leat_output_t c = scene_output(
      s, "LeakyRelu", "", "",
      LEAT_INPUTS(bias_add(s, convolution(s, "Conv2D", "EXPLICIT"), bias, "NHWC")),
      LEAT_ATTRS(LEAT_TYPE("T", LEAT_DTYPE_FLOAT), LEAT_REAL("alpha", 0.5f)));
  apply(f, LEAT_INPUTS(a, b, c), -1);
  expect_fused(f, 0, "_FusedConv2D", "FusedBatchNorm Add Relu");
  const leat_node_t* normalized = pass_scene_fetched(f, 0);
  assert_true(leat_node_attr(normalized, LEAT_SV("epsilon"))->f == 0.25f);
  assert_int_equal(normalized->input_count, 7);
  assert_int_equal(leat_node_attr(normalized, LEAT_SV("TArgs"))->count, 5);
  expect_fused(f, 1, "_FusedDepthwiseConv2dNative", "BiasAdd Relu6");
  expect_fused(f, 2, "_FusedConv2D", "BiasAdd LeakyRelu");
  assert_true(leat_node_attr(pass_scene_fetched(f, 2), LEAT_SV("leakyrelu_alpha"))->f == 0.5f);
}

// x - p and p - x are bit for bit what the subtraction gives, so that the product's sums do not
// begin with the tensor, as those of a sum do.
static void a_product_is_subtracted_either_way(void** state) {
  pass_scene_t* f = *state;
  scene_t* s = &f->s;
  leat_output_t x = TENSOR(s, 2, 4), bias = TENSOR(s, 4);
  leat_output_t a = binary(s, "Sub", x, product(s));
  leat_output_t b = unary(s, "Relu", binary(s, "Sub", product(s), x));
  leat_output_t c = binary(s, "Sub", x, bias_add(s, product(s), bias, "NHWC"));
  leat_output_t d = binary(s, "Sub", TENSOR(s, 2, 5, 5, 4), convolution(s, "Conv2D", "SAME"));
  apply(f, LEAT_INPUTS(a, b, c, d), -1);
  expect_fused(f, 0, "_FusedMatMul", "ReverseSub");
  expect_fused(f, 1, "_FusedMatMul", "Sub Relu");
  expect_fused(f, 2, "_FusedMatMul", "BiasAdd ReverseSub");
  expect_fused(f, 3, "_FusedConv2D", "ReverseSub");
  leat_output_t repeated = binary(s, "Sub", TENSOR(s, 1, 4), product(s));
  leat_output_t unknown = binary(s, "Sub", TENSOR(s, -1, 4), product(s));
  assert_int_equal(apply(f, LEAT_INPUTS(repeated, unknown), -1), 0);
}

// ---- GELU ---------------------------------------------------------------------------------------

static leat_output_t number(scene_t* s, double value) {
  return leat_build_scalar(&s->b, LEAT_DTYPE_FLOAT, value);
}

static leat_output_t times(scene_t* s, leat_output_t a, leat_output_t b) {
  return binary(s, "Mul", a, b);
}

static leat_output_t plus(scene_t* s, leat_output_t a, leat_output_t b) {
  return binary(s, "AddV2", a, b);
}

// 0.5 x (1 + f), as TensorFlow's Python multiplies.
static leat_output_t gelu_of(scene_t* s, leat_output_t x, leat_output_t f) {
  return times(s, times(s, number(s, 0.5), x), plus(s, number(s, 1), f));
}

static leat_output_t erf_by(scene_t* s, leat_output_t x, double divisor) {
  return unary(s, "Erf", binary(s, "RealDiv", x, number(s, divisor)));
}

static leat_output_t tanh_by(scene_t* s, leat_output_t x, double factor, double cubic,
                             leat_output_t cube) {
  const leat_output_t sum = plus(s, x, times(s, number(s, cubic), cube));
  return unary(s, "Tanh", times(s, number(s, factor), sum));
}

#define ROOT2 1.4142135623730951
#define ROOT2_PI 0.7978845608028654

static void a_gelu_in_any_spelling_goes_into_the_product(void** state) {
  pass_scene_t* f = *state;
  scene_t* s = &f->s;
  enum { COUNT = 9 };
  leat_output_t x[COUNT], y[COUNT];
  for (int i = 0; i < COUNT; ++i) x[i] = bias_add(s, product(s), TENSOR(s, 4), "NHWC");
  y[0] = gelu_of(s, x[0], erf_by(s, x[0], ROOT2));
  y[1] = times(s, x[1], times(s, number(s, 0.5),
                              plus(s, unary(s, "Erf", times(s, x[1], number(s, 1 / ROOT2))),
                                   number(s, 1))));
  y[2] = gelu_of(s, x[2], tanh_by(s, x[2], ROOT2_PI, 0.044715,
                                  binary(s, "Pow", x[2], number(s, 3))));
  y[3] = gelu_of(s, x[3], tanh_by(s, x[3], ROOT2_PI, 0.044715,
                                  times(s, x[3], times(s, x[3], x[3]))));
  y[4] = gelu_of(s, x[4], tanh_by(s, x[4], ROOT2_PI, 0.044715,
                                  times(s, unary(s, "Square", x[4]), x[4])));
  y[5] = gelu_of(s, x[5], unary(s, "Tanh", times(s, times(s, x[5], number(s, ROOT2_PI)),
                                                 plus(s, number(s, 1),
                                                      times(s, times(s, number(s, 0.044715), x[5]),
                                                            x[5])))));
  x[6] = binary(s, "BatchMatMulV2", TENSOR(s, 2, 5, 3), TENSOR(s, 2, 3, 4));
  y[6] = gelu_of(s, x[6], erf_by(s, x[6], ROOT2));
  x[7] = bias_add(s, convolution(s, "Conv2D", "SAME"), TENSOR(s, 4), "NHWC");
  y[7] = gelu_of(s, x[7], erf_by(s, x[7], ROOT2));
  y[8] = times(s, times(s, number(s, 0.5), x[8]),
               unary(s, "Erfc", times(s, unary(s, "Neg", x[8]), number(s, 1 / ROOT2))));
  apply(f, (leat_outputs_t){y, COUNT}, -1);
  expect_fused(f, 8, "_FusedMatMul", "BiasAdd GeluExact");
  expect_fused(f, 0, "_FusedMatMul", "BiasAdd GeluExact");
  expect_fused(f, 1, "_FusedMatMul", "BiasAdd GeluExact");
  for (int i = 2; i < 6; ++i) expect_fused(f, i, "_FusedMatMul", "BiasAdd GeluApproximate");
  expect_fused(f, 6, "_FusedBatchMatMulV2", "GeluExact");
  expect_fused(f, 7, "_FusedConv2D", "BiasAdd GeluExact");
  // A dense layer over sequences: the shape is put back at the end.
  static const int32_t kShape[] = {1, 2, 4};
  leat_output_t rows = reshape(s, bias_add(s, product(s), TENSOR(s, 4), "NHWC"),
                               list(s, 3, kShape));
  apply(f, LEAT_INPUTS(gelu_of(s, rows, erf_by(s, rows, ROOT2))), -1);
  assert_true(pass_scene_is_op(pass_scene_fetched(f, 0), "Reshape"));
  f->rewrite.fetches[0] = pass_scene_fetched(f, 0)->inputs[0];
  expect_fused(f, 0, "_FusedMatMul", "BiasAdd GeluExact");
}

static void what_is_no_gelu_stays(void** state) {
  pass_scene_t* f = *state;
  scene_t* s = &f->s;
  enum { COUNT = 12 };
  leat_output_t x[COUNT], y[COUNT], z = TENSOR(s, 2, 4);
  for (int i = 0; i < COUNT; ++i) x[i] = bias_add(s, product(s), TENSOR(s, 4), "NHWC");
  y[0] = gelu_of(s, x[0], erf_by(s, x[0], 1.41));
  y[1] = gelu_of(s, x[1], tanh_by(s, x[1], ROOT2_PI, 0.0447, binary(s, "Pow", x[1], number(s, 3))));
  y[2] = gelu_of(s, x[2], tanh_by(s, x[2], 0.8, 0.044715, binary(s, "Pow", x[2], number(s, 3))));
  y[3] = gelu_of(s, x[3], tanh_by(s, x[3], ROOT2_PI, 0.044715,
                                  binary(s, "Pow", x[3], number(s, 2))));
  y[4] = gelu_of(s, x[4], erf_by(s, z, ROOT2));    // another x
  y[5] = gelu_of(s, z, erf_by(s, x[5], ROOT2));
  y[6] = times(s, times(s, number(s, 0.25), x[6]),
               plus(s, number(s, 1), erf_by(s, x[6], ROOT2)));
  y[7] = times(s, times(s, number(s, 0.5), x[7]),
               plus(s, number(s, 2), erf_by(s, x[7], ROOT2)));
  y[8] = gelu_of(s, x[8], tanh_by(s, x[8], ROOT2_PI, 0.044715, times(s, x[8], x[8])));
  y[11] = times(s, times(s, number(s, 0.5), x[11]),  // of x, not of -x
                unary(s, "Erfc", times(s, x[11], number(s, 1 / ROOT2))));
  // The gradient reads x, and the error function.
  y[9] = plus(s, gelu_of(s, x[9], erf_by(s, x[9], ROOT2)), unary(s, "Neg", x[9]));
  leat_output_t erf = erf_by(s, x[10], ROOT2);
  y[10] = plus(s, gelu_of(s, x[10], erf), unary(s, "Neg", erf));
  for (int i = 0; i < COUNT; ++i) {
    apply(f, LEAT_INPUTS(y[i]), -1);
    const leat_node_t* last = pass_scene_fetched(f, 0);
    if (i == 9 || i == 10) last = &f->rewrite.graph->nodes[last->inputs[0].node];
    if (!pass_scene_is_op(last, "Mul")) fail_msg("case %d is fused", i);
  }
}

// Dense layers over sequences: the shape is put back at the end.
static void a_reshape_changes_places_with_what_follows(void** state) {
  pass_scene_t* f = *state;
  scene_t* s = &f->s;
  static const int32_t kShape[] = {1, 2, 4};
  leat_output_t bias = TENSOR(s, 4);
  leat_output_t reshaped = reshape(s, product(s), list(s, 3, kShape));
  leat_output_t a = unary(s, "Relu", bias_add(s, reshaped, bias, "NHWC"));
  apply(f, LEAT_INPUTS(a), -1);
  assert_true(pass_scene_is_op(pass_scene_fetched(f, 0), "Reshape"));
  f->rewrite.fetches[0] = pass_scene_fetched(f, 0)->inputs[0];
  expect_fused(f, 0, "_FusedMatMul", "BiasAdd Relu");
  // The last dimension is another one: the bias is not that of the product.
  static const int32_t kOther[] = {4, 2};
  leat_output_t other = reshape(s, product(s), list(s, 2, kOther));
  assert_int_equal(apply(f, LEAT_INPUTS(bias_add(s, other, TENSOR(s, 2), "NHWC")), -1), 0);
}

static void a_batch_times_one_matrix_is_one_product(void** state) {
  pass_scene_t* f = *state;
  scene_t* s = &f->s;
  leat_output_t x = TENSOR(s, -1, 5, 3), w = TENSOR(s, 3, 4), bias = TENSOR(s, 4);
  leat_output_t y = bias_add(s, binary(s, "BatchMatMulV2", x, w), bias, "NHWC");
  apply(f, LEAT_INPUTS(y), -1);
  const leat_node_t* reshape = pass_scene_fetched(f, 0);
  assert_true(pass_scene_is_op(reshape, "Reshape"));
  assert_int_equal(reshape->output_shapes[0].rank, 3);
  f->rewrite.fetches[0] = reshape->inputs[0];
  expect_fused(f, 0, "_FusedMatMul", "BiasAdd");
  // A batch of one matrix is one matrix.
  leat_output_t one = binary(s, "BatchMatMulV2", x, TENSOR(s, 1, 3, 4));
  apply(f, LEAT_INPUTS(bias_add(s, one, bias, "NHWC")), -1);
  f->rewrite.fetches[0] = pass_scene_fetched(f, 0)->inputs[0];
  expect_fused(f, 0, "_FusedMatMul", "BiasAdd");
  const leat_node_t* matrix =
      &f->rewrite.graph->nodes[pass_scene_fetched(f, 0)->inputs[1].node];
  assert_true(pass_scene_is_op(matrix, "Reshape"));
  assert_int_equal(matrix->output_shapes[0].rank, 2);
  // Two dimensions that are not known cannot be written as one -1; two batches are no rows.
  leat_output_t unknown = binary(s, "BatchMatMulV2", TENSOR(s, -1, -1, 3), w);
  leat_output_t both = binary(s, "BatchMatMulV2", TENSOR(s, 2, 5, 3), TENSOR(s, 2, 3, 4));
  assert_int_equal(apply(f, LEAT_INPUTS(unknown, both), -1), 0);
}

static leat_output_t typed_batches(scene_t* s, leat_output_t x, leat_output_t y) {
  return scene_output(s, "BatchMatMulV3", "", "", LEAT_INPUTS(x, y),
                      LEAT_ATTRS(LEAT_TYPE("Ta", LEAT_DTYPE_FLOAT),
                                 LEAT_TYPE("Tb", LEAT_DTYPE_FLOAT),
                                 LEAT_TYPE("Tout", LEAT_DTYPE_FLOAT), LEAT_BOOL("adj_y", true)));
}

static void a_product_of_batches_takes_what_follows(void** state) {
  pass_scene_t* f = *state;
  scene_t* s = &f->s;
  leat_output_t bias = TENSOR(s, 4), x = TENSOR(s, 2, 5, 3), y = TENSOR(s, 2, 3, 4);
  leat_output_t a = binary(s, "AddV2", bias, binary(s, "BatchMatMulV2", x, y));
  leat_output_t b = unary(s, "Relu", bias_add(s, binary(s, "BatchMatMul", x, y), bias, "NHWC"));
  leat_output_t c = bias_add(s, typed_batches(s, x, TENSOR(s, 2, 4, 3)), bias, "NHWC");
  leat_output_t d = unary(s, "Tanh", binary(s, "AddV2", TENSOR(s, 2, 5, 4),
                                            binary(s, "BatchMatMulV2", x, y)));
  // Where no constant shape could put the shape of the result back, the bias comes all the same.
  leat_output_t e = bias_add(
      s, binary(s, "BatchMatMulV2", TENSOR(s, -1, -1, 3), TENSOR(s, 3, 4)), bias, "NHWC");
  apply(f, LEAT_INPUTS(a, b, c, d, e), -1);
  expect_fused(f, 0, "_FusedBatchMatMulV2", "BiasAdd");
  expect_fused(f, 1, "_FusedBatchMatMulV2", "BiasAdd Relu");
  expect_fused(f, 2, "_FusedBatchMatMulV2", "BiasAdd");
  assert_true(leat_node_attr_bool(pass_scene_fetched(f, 2), "adj_y", false));
  expect_fused(f, 3, "_FusedBatchMatMulV2", "Add Tanh");
  expect_fused(f, 4, "_FusedBatchMatMulV2", "BiasAdd");
  // BatchMatMul fails for batches that differ, which these may do; an addend is not repeated.
  leat_output_t stay[] = {
      bias_add(s, binary(s, "BatchMatMul", TENSOR(s, -1, 5, 3), y), bias, "NHWC"),
      bias_add(s, binary(s, "BatchMatMul", TENSOR(s, 1, 5, 3), TENSOR(s, -1, 3, 4)), bias, "NHWC"),
      binary(s, "AddV2", binary(s, "BatchMatMulV2", x, y), TENSOR(s, 5, 4)),
      binary(s, "AddV2", binary(s, "BatchMatMulV2", x, y), TENSOR(s, 1)),
  };
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(stay); ++i) {
    if (apply(f, LEAT_INPUTS(stay[i]), -1)) fail_msg("case %zu is fused", i);
  }
}

static leat_output_t strided(scene_t* s, leat_output_t x, const int32_t* begin, const int32_t* end,
                             const int32_t* strides, int count, int end_mask, int shrink_mask) {
  return scene_output(
      s, "StridedSlice", "", "",
      LEAT_INPUTS(x, list(s, count, begin), list(s, count, end), list(s, count, strides)),
      LEAT_ATTRS(LEAT_TYPE("T", LEAT_DTYPE_FLOAT), LEAT_TYPE("Index", LEAT_DTYPE_INT32),
                 LEAT_INT("end_mask", end_mask), LEAT_INT("shrink_axis_mask", shrink_mask)));
}

// x[-3:, 1:2] is a Slice; one that steps, drops a dimension or selects of an unknown size is not.
static void a_strided_slice_of_a_box_is_a_slice(void** state) {
  pass_scene_t* f = *state;
  scene_t* s = &f->s;
  static const int32_t kBegin[] = {-3, 1}, kEnd[] = {0, 2}, kOnes[] = {1, 1}, kTwo[] = {1, 2};
  leat_output_t x = TENSOR(s, 4, 5, 6);
  leat_output_t y = strided(s, x, kBegin, kEnd, kOnes, 2, 1, 0);
  apply(f, LEAT_INPUTS(y), -1);
  const leat_node_t* slice = pass_scene_fetched(f, 0);
  assert_true(pass_scene_is_op(slice, "Slice"));
  static const int64_t kWanted[2][3] = {{1, 1, 0}, {3, 1, 6}};
  for (int k = 0; k < 2; ++k) {
    const leat_tensor_t* items =
        leat_node_constant(&f->rewrite.graph->nodes[slice->inputs[1 + k].node]);
    for (int d = 0; d < 3; ++d) assert_int_equal(leat_tensor_index_at(items, d), kWanted[k][d]);
  }
  leat_output_t stay[] = {strided(s, x, kBegin, kEnd, kTwo, 2, 1, 0),
                          strided(s, x, kBegin, kEnd, kOnes, 2, 1, 2),
                          strided(s, TENSOR(s, -1, 5, 6), kBegin, kEnd, kOnes, 2, 1, 0)};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(stay); ++i) {
    apply(f, LEAT_INPUTS(stay[i]), -1);
    assert_true(pass_scene_is_op(pass_scene_fetched(f, 0), "StridedSlice"));
  }
  // Numbers of 16 bits are not read as if they had 32.
  static const int16_t kNarrow[] = {1, 1};
  leat_output_t narrow[3];
  for (int k = 0; k < 3; ++k) {
    leat_tensor_t value;
    LEAT_EXPECT_OK(leat_tensor_vector(LEAT_DTYPE_INT16, kNarrow, 2, &value));
    narrow[k] = scene_output(
        s, "Const", "", "", LEAT_NO_INPUTS,
        LEAT_ATTRS(LEAT_TENSOR("value", &value), LEAT_TYPE("dtype", LEAT_DTYPE_INT16)));
    leat_tensor_release(&value);
  }
  leat_output_t short_index = scene_output(
      s, "StridedSlice", "", "", LEAT_INPUTS(x, narrow[0], narrow[1], narrow[2]),
      LEAT_ATTRS(LEAT_TYPE("T", LEAT_DTYPE_FLOAT), LEAT_TYPE("Index", LEAT_DTYPE_INT16)));
  apply(f, LEAT_INPUTS(short_index), -1);
  assert_true(pass_scene_is_op(pass_scene_fetched(f, 0), "StridedSlice"));
  // In an untaken branch the constants would be dead, and the input not.
  leat_output_t waits = strided(s, x, kBegin, kEnd, kOnes, 2, 1, 0);
  scene_after(s, leat_graph_node(s->graph, waits.node)->inputs[1].node, scene_mark(s, 1, -1));
  apply(f, LEAT_INPUTS(waits), -1);
  assert_true(pass_scene_is_op(pass_scene_fetched(f, 0), "StridedSlice"));
}

// Where the batch is not known, gradients ask for the shape of what vanishes.
static void who_asks_for_the_shape_asks_the_new_node(void** state) {
  pass_scene_t* f = *state;
  scene_t* s = &f->s;
  leat_output_t p = product(s), sum = binary(s, "AddV2", p, TENSOR(s, 4));
  leat_output_t shape = unary(s, "Shape", p);
  assert_int_equal(apply(f, LEAT_INPUTS(sum, shape), -1), 1);
  expect_fused(f, 0, "_FusedMatMul", "BiasAdd");
  assert_int_equal(pass_scene_fetched(f, 1)->inputs[0].node, f->rewrite.fetches[0].node);
  // But not where what is added depends on that shape.
  leat_output_t q = product(s);
  static const int32_t kBegin[] = {1};
  leat_output_t last = scene_output(
      s, "Slice", "", "", LEAT_INPUTS(unary(s, "Shape", q), list(s, 1, kBegin), list(s, 1, kBegin)),
      LEAT_ATTRS(LEAT_TYPE("T", LEAT_DTYPE_INT32), LEAT_TYPE("Index", LEAT_DTYPE_INT32)));
  leat_output_t filled = reshape(s, TENSOR(s, 4), last);
  LEAT_EXPECT_OK(leat_graph_refine_shape(
      s->graph, filled, (leat_partial_shape_t){1, (const int64_t[]){4}}));
  assert_int_equal(apply(f, LEAT_INPUTS(binary(s, "AddV2", q, filled)), -1), 0);
}

// ---- What does not ------------------------------------------------------------------------------

static void what_others_need_stays(void** state) {
  pass_scene_t* f = *state;
  scene_t* s = &f->s;
  leat_output_t bias = TENSOR(s, 4), p = product(s), q = product(s), r = product(s);
  leat_output_t a = bias_add(s, p, bias, "NHWC"), b = bias_add(s, q, bias, "NHWC"),
                c = bias_add(s, r, bias, "NHWC");
  apply(f, LEAT_INPUTS(a, p), -1);  // fetched
  assert_true(pass_scene_is_op(pass_scene_fetched(f, 0), "BiasAdd"));
  apply(f, LEAT_INPUTS(b, unary(s, "Neg", q)), -1);  // read
  assert_true(pass_scene_is_op(pass_scene_fetched(f, 0), "BiasAdd"));
  apply(f, LEAT_INPUTS(c, bias), 0);  // elsewhere
  assert_true(pass_scene_is_op(pass_scene_fetched(f, 0), "BiasAdd"));
  leat_output_t w = unary(s, "Neg", bias);
  scene_after(s, w.node, r.node);
  assert_int_equal(apply(f, LEAT_INPUTS(c, w), -1), 0);  // a NoOp comes for the product
  expect_fused(f, 0, "_FusedMatMul", "BiasAdd");         // who waited, waits for its factors
  const leat_node_t* waiting = pass_scene_fetched(f, 1);
  const leat_node_t* group =
      &f->rewrite.graph->nodes[waiting->inputs[waiting->input_count].node];
  assert_true(pass_scene_is_op(group, "NoOp"));
  assert_int_equal(group->control_count, 2);
}

static void what_the_new_node_waits_for(void** state) {
  pass_scene_t* f = *state;
  scene_t* s = &f->s;
  leat_output_t p = product(s), y = bias_add(s, p, TENSOR(s, 4), "NHWC");
  scene_after(s, p.node, scene_mark(s, 1, -1));
  scene_after(s, y.node, scene_mark(s, 2, -1));
  apply(f, LEAT_INPUTS(y), -1);
  expect_fused(f, 0, "_FusedMatMul", "BiasAdd");
  assert_int_equal(pass_scene_fetched(f, 0)->control_count, 2);
}

static void what_means_something_else_stays(void** state) {
  pass_scene_t* f = *state;
  scene_t* s = &f->s;
  leat_output_t bias = TENSOR(s, 4);
  leat_output_t stay[] = {
      // A bias along another dimension.
      bias_add(s, convolution(s, "Conv2D", "SAME"), TENSOR(s, 5), "NCHW"),
      // It may be one number for all.
      binary(s, "AddV2", product(s), TENSOR(s, 1)),
      // The product is what is subtracted.
      binary(s, "Sub", bias, product(s)),
      // An activation of a convolution without an argument, an addend that is repeated.
      unary(s, "Relu", convolution(s, "Conv2D", "SAME")),
      binary(s, "AddV2", convolution(s, "Conv2D", "SAME"), TENSOR(s, 1, 5, 5, 4)),
      // The moments of this batch.
      normalize(s, convolution(s, "Conv2D", "SAME"), true),
      // Its fused form has no such padding.
      bias_add(s, convolution(s, "DepthwiseConv2dNative", "EXPLICIT"), TENSOR(s, 16), "NHWC"),
  };
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(stay); ++i) {
    if (apply(f, LEAT_INPUTS(stay[i]), -1)) fail_msg("case %zu is fused", i);
  }
  // A vector of unknown length may be one number for all: no bias, but a sum.
  apply(f, LEAT_INPUTS(binary(s, "AddV2", product(s), TENSOR(s, -1))), -1);
  assert_true(pass_scene_is_op(pass_scene_fetched(f, 0), "_MatMulAdd"));
  // An activation ends the list.
  leat_output_t twice = unary(s, "Relu", unary(s, "Tanh", product(s)));
  apply(f, LEAT_INPUTS(twice), -1);
  assert_true(pass_scene_is_op(pass_scene_fetched(f, 0), "Relu"));
}

// What a predicate decides for the sum and not for the convolution.
static void other_conditions_stay_apart(void** state) {
  pass_scene_t* f = *state;
  scene_t* s = &f->s;
  leat_output_t p = scene_placeholder(s, "p", LEAT_DTYPE_BOOL), bias = TENSOR(s, 4);
  leat_output_t y =
      bias_add(s, convolution(s, "Conv2D", "SAME"), flow_switch(s, bias, p, 1), "NHWC");
  assert_int_equal(apply(f, LEAT_INPUTS(y), -1), 0);
}

static const leat_kernel_row_t* serve_public_ops(const void* data, const leat_op_t* op,
                                                 const leat_attr_t* attrs, int attr_count,
                                                 int32_t device) {
  return leat_string_view_starts_with(op->name, LEAT_SV("_"))
             ? NULL
             : pass_scene_find_kernel(data, op, attrs, attr_count, device);
}

static void without_a_kernel_nothing_changes(void** state) {
  pass_scene_t* f = *state;
  f->options.find_kernel = serve_public_ops;
  leat_output_t y = bias_add(&f->s, product(&f->s), TENSOR(&f->s, 4), "NHWC");
  assert_int_equal(apply(f, LEAT_INPUTS(y), -1), 0);
  assert_true(pass_scene_is_op(pass_scene_fetched(f, 0), "BiasAdd"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, pass_scene_set_up, pass_scene_tear_down)
      TEST(a_product_takes_bias_and_activation),
      TEST(a_convolution_takes_all_stages),
      TEST(a_product_is_subtracted_either_way),
      TEST(a_gelu_in_any_spelling_goes_into_the_product),
      TEST(what_is_no_gelu_stays),
      TEST(a_reshape_changes_places_with_what_follows),
      TEST(a_batch_times_one_matrix_is_one_product),
      TEST(a_product_of_batches_takes_what_follows),
      TEST(a_strided_slice_of_a_box_is_a_slice),
      TEST(who_asks_for_the_shape_asks_the_new_node),
      TEST(what_others_need_stays),
      TEST(what_the_new_node_waits_for),
      TEST(what_means_something_else_stays),
      TEST(other_conditions_stay_apart),
      TEST(without_a_kernel_nothing_changes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
