// The rules that move what scales or clips an array into the node that reads it: an optimizer's
// update, a scatter, a product. Each rule is written beside its op (ops/train/update_rules.c,
// ops/state/scatter.c, ops/matrix/matmul.c). The first tests count the nodes that disappear in the
// pass, and above all show where none may: another device, a divisor, a value that others need, a
// reference that changes in between. The last ones run the same steps with the rule and without,
// and compare bits, with NaN and infinities among the values.
#include <math.h>
#include <stdio.h>

#include "session/flow.h"
#include "session/pass_scene.h"

enum { kRows = 4, kColumns = 5 };

static int scale(pass_scene_t* f, leat_outputs_t fetches, int other) {
  return pass_scene_shrink(f, &leat_pass_prologues, fetches, other);
}

static leat_output_t multiply(scene_t* s, leat_output_t x, leat_output_t y) {
  return scene_binary(s, "Mul", -1, x, y);
}

static bool reads(const pass_scene_t* f, const leat_node_t* node, int input, const char* name) {
  return leat_string_view_equals(f->rewrite.graph->nodes[node->inputs[input].node].name, name);
}

// ---- Scalars ------------------------------------------------------------------------------------

static leat_output_t variable_of(scene_t* s, const char* name, int dtype,
                                 leat_partial_shape_t shape) {
  return scene_output(s, "VariableV2", name, "", LEAT_NO_INPUTS,
                      LEAT_ATTRS(LEAT_TYPE("dtype", dtype), LEAT_SHAPE("shape", shape)));
}

static leat_output_t variable(scene_t* s, const char* name) {
  const int64_t dims[] = {kRows, kColumns};
  return variable_of(s, name, LEAT_DTYPE_FLOAT, (leat_partial_shape_t){2, dims});
}

static leat_output_t update(scene_t* s, leat_output_t v, leat_output_t alpha,
                            leat_output_t gradient) {
  return scene_output(s, "ApplyGradientDescent", "", "", LEAT_INPUTS(v, alpha, gradient),
                      LEAT_NO_ATTRS);
}

static void a_gradient_is_multiplied_in_the_update(void** state) {
  pass_scene_t* f = *state;
  leat_output_t v = variable(&f->s, "v"), g = scene_matrix(&f->s, "g", -1, 5);
  for (int side = 0; side < 2; ++side) {
    leat_output_t number = scene_float(&f->s, 2);
    leat_output_t product = scene_binary(&f->s, "Mul", -1, side ? number : g, side ? g : number);
    leat_output_t updated = update(&f->s, v, scene_float(&f->s, 3), product);
    scene_after(&f->s, product.node, scene_mark(&f->s, 1, -1));
    scene_after(&f->s, updated.node, scene_mark(&f->s, 2, -1));
    assert_int_equal(scale(f, LEAT_INPUTS(updated), -1), 1);
    const leat_node_t* scaled = pass_scene_fetched(f, 0);
    assert_true(pass_scene_is_op(scaled, "_FusedApply"));
    assert_true(reads(f, scaled, 0, "v") && reads(f, scaled, 2, "g"));
    assert_true(leat_string_view_equals(leat_node_attr_string(scaled, "update"),
                                        "ApplyGradientDescent"));
    assert_int_equal(scaled->control_count, 2);
  }
}

// Whether the update of a resource by |optimizer| takes the product in.
static void expect_scaled(pass_scene_t* f, const char* optimizer, int slots, int numbers,
                          int numbers_behind) {
  leat_output_t inputs[12];
  int count = 0;
  const leat_attr_t dtype = LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT);
  const int64_t dims[] = {4, 5};
  for (int i = 0; i < slots; ++i) {
    inputs[count++] =
        scene_output(&f->s, "VarHandleOp", "", "", LEAT_NO_INPUTS,
                     LEAT_ATTRS(dtype, LEAT_SHAPE("shape", ((leat_partial_shape_t){2, dims}))));
  }
  for (int i = 0; i < numbers; ++i) inputs[count++] = scene_float(&f->s, 1);
  inputs[count++] =
      scene_binary(&f->s, "Mul", -1, scene_matrix(&f->s, "", 4, 5), scene_float(&f->s, 2));
  for (int i = 0; i < numbers_behind; ++i) inputs[count++] = scene_float(&f->s, 1);
  leat_output_t done = scene_float(&f->s, 0);
  char op[64];
  snprintf(op, sizeof op, "ResourceApply%s", optimizer);
  scene_after(&f->s, done.node,
              scene_node(&f->s, op, "", "", (leat_outputs_t){inputs, count}, LEAT_NO_ATTRS));
  assert_int_equal(scale(f, LEAT_INPUTS(done), -1), 1);
  const leat_node_t* waiting = pass_scene_fetched(f, 0);
  const leat_node_t* fused = &f->rewrite.graph->nodes[waiting->inputs[0].node];
  assert_true(pass_scene_is_op(fused, "_FusedResourceApply"));
  assert_true(leat_string_view_equals(leat_node_attr_string(fused, "update"), op));
}

// The updates of all elements, with their numbers of variables and of scalars round the gradient.
static const struct {
  const char* name;
  int variables, before, behind;
  bool has_no_reference;
} kUpdates[] = {
    {"GradientDescent", 1, 1, 0, false}, {"ProximalGradientDescent", 1, 3, 0, false},
    {"Adadelta", 3, 3, 0, false},        {"Adagrad", 2, 1, 0, false},
    {"AdagradV2", 2, 2, 0, false},       {"ProximalAdagrad", 2, 3, 0, false},
    {"Ftrl", 3, 0, 4, false},            {"FtrlV2", 3, 0, 5, false},
    {"Momentum", 2, 1, 1, false},        {"Adam", 3, 6, 0, false},
    {"AdaMax", 3, 5, 0, false},          {"RMSProp", 3, 4, 0, false},
    {"CenteredRMSProp", 4, 4, 0, false}, {"AddSign", 2, 4, 0, false},
    {"PowerSign", 2, 4, 0, false},       {"KerasMomentum", 2, 1, 1, true},
    {"AdamWithAmsgrad", 4, 6, 0, true},
};

static void updates_that_take_a_product(void** state) {
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kUpdates); ++i) {
    expect_scaled(*state, kUpdates[i].name, kUpdates[i].variables, kUpdates[i].before,
                  kUpdates[i].behind);
  }
}

// Gradients that are clipped by norm and by value: the last op goes into the update first.
static void a_chain_goes_into_the_update(void** state) {
  pass_scene_t* f = *state;
  scene_t* s = &f->s;
  leat_output_t v = variable(s, "v"), g = scene_matrix(s, "g", kRows, kColumns);
  leat_output_t norm = scene_matrix(s, "norm", 1, 1);
  leat_output_t clipped = scene_binary(s, "RealDiv", -1, multiply(s, scene_float(s, 2), g), norm);
  clipped = scene_binary(s, "Minimum", -1, scene_float(s, 3), clipped);
  leat_output_t updated = update(s, v, scene_float(s, 1), clipped);
  assert_int_equal(scale(f, LEAT_INPUTS(updated), -1), 3);
  const leat_node_t* fused = pass_scene_fetched(f, 0);
  const leat_attr_value_t* ops = leat_node_attr(fused, LEAT_SV("prologue"));
  const leat_attr_value_t* sides = leat_node_attr(fused, LEAT_SV("sides"));
  static const char* const kOps[] = {"Mul", "RealDiv", "Minimum"};
  assert_int_equal(ops->count, 3);
  for (int i = 0; i < 3; ++i) {
    assert_true(leat_string_view_equals(ops->strings[i], kOps[i]));
    assert_int_equal(sides->ints[i], i == 2);
  }
  assert_true(reads(f, fused, 2, "g") && reads(f, fused, 4, "norm"));
  // Not a divisor, nor what another number of elements clips; and four steps at most.
  assert_int_equal(
      scale(f, LEAT_INPUTS(update(s, v, scene_float(s, 1),
                                  scene_binary(s, "RealDiv", -1, scene_float(s, 1), g))), -1), 0);
  leat_output_t row = scene_matrix(s, "", 1, kColumns);
  updated = update(s, v, scene_float(s, 1), scene_binary(s, "Minimum", -1, g, row));
  assert_int_equal(scale(f, LEAT_INPUTS(updated), -1), 0);
  for (int i = 0; i < 5; ++i) g = multiply(s, g, scene_float(s, 2));
  assert_int_equal(scale(f, LEAT_INPUTS(update(s, v, scene_float(s, 1), g)), -1), 4);
}

static void gradients_that_stay(void** state) {
  pass_scene_t* f = *state;
  leat_output_t v = variable(&f->s, "v"), g = scene_matrix(&f->s, "g", 4, 5);
  leat_output_t number = scene_placeholder(&f->s, "", LEAT_DTYPE_FLOAT);  // perhaps no scalar
  leat_output_t alpha =
      scene_binary(&f->s, "Mul", -1, scene_float(&f->s, 2), scene_float(&f->s, 3));
  leat_output_t product = scene_binary(&f->s, "Mul", -1, g, number);
  assert_int_equal(scale(f, LEAT_INPUTS(update(&f->s, v, scene_float(&f->s, 1), product)), -1), 0);
  assert_int_equal(scale(f, LEAT_INPUTS(update(&f->s, v, alpha, g)), -1), 0);
  product = scene_binary(&f->s, "Mul", -1, g, scene_float(&f->s, 2));
  leat_output_t updated = update(&f->s, v, scene_float(&f->s, 1), product);
  assert_int_equal(scale(f, LEAT_INPUTS(updated), -1), 1);
  assert_int_equal(scale(f, LEAT_INPUTS(updated), 0), 0);  // on another device
  assert_int_equal(scale(f, LEAT_INPUTS(updated, product), -1), 0);
  assert_int_equal(scale(f, LEAT_INPUTS(updated, scene_unary(&f->s, "Neg", -1, product)), -1), 0);
  // What is read through a reference is read when the product is made.
  product = scene_binary(&f->s, "Mul", -1, variable(&f->s, ""), scene_float(&f->s, 2));
  updated = update(&f->s, v, scene_float(&f->s, 1), product);
  assert_int_equal(scale(f, LEAT_INPUTS(updated), -1), 0);
}

// ---- A number for each row ----------------------------------------------------------------------

static leat_output_t ints(scene_t* s, int count, const int32_t* values) {
  leat_tensor_t tensor;
  LEAT_EXPECT_OK(leat_tensor_vector(LEAT_DTYPE_INT32, values, count, &tensor));
  leat_output_t constant = leat_build_constant(&s->b, &tensor);
  leat_tensor_release(&tensor);
  return constant;
}
#define SHAPE(s, ...) \
  ints((s), (int)(sizeof((int32_t[]){__VA_ARGS__}) / sizeof(int32_t)), (int32_t[]){__VA_ARGS__})
#define RESHAPE(s, x, ...) scene_binary((s), "Reshape", -1, (x), SHAPE((s), __VA_ARGS__))
#define BROADCAST(s, x, ...) scene_binary((s), "BroadcastTo", -1, (x), SHAPE((s), __VA_ARGS__))

static leat_output_t matrix(scene_t* s, const float* values, int rows, int columns) {
  leat_tensor_t tensor;
  leat_shape_t shape;
  LEAT_EXPECT_OK(leat_shape_create(2, (const int64_t[]){rows, columns}, &shape));
  LEAT_EXPECT_OK(
      leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_FLOAT, &shape, &tensor));
  memcpy(tensor.data, values, (size_t)(rows * columns) * sizeof *values);
  leat_output_t constant = leat_build_constant(&s->b, &tensor);
  leat_tensor_release(&tensor);
  return constant;
}

// A product of the column |x| with [1, kColumns] of |value|.
static leat_output_t outer(scene_t* s, leat_output_t x, float value) {
  float row[kColumns];
  for (int i = 0; i < kColumns; ++i) row[i] = value;
  return scene_binary(s, "MatMul", -1, x, matrix(s, row, 1, kColumns));
}

static leat_output_t scatter(scene_t* s, const char* op, leat_output_t v, leat_output_t updates) {
  return scene_output(s, op, "", "", LEAT_INPUTS(v, SHAPE(s, 2, 0, 2, 1), updates), LEAT_NO_ATTRS);
}

static leat_output_t column(scene_t* s, const char* name) {
  return scene_matrix(s, name, kRows, 1);
}
static leat_output_t many(scene_t* s, const char* name) {
  return scene_matrix(s, name, kRows, kColumns);
}

// How many nodes fewer there are with that product in ScatterSub.
static int scale_scatter(pass_scene_t* f, leat_output_t product) {
  leat_output_t v = variable_of(&f->s, "", LEAT_DTYPE_FLOAT, leat_partial_shape_unknown());
  return scale(f, LEAT_INPUTS(scatter(&f->s, "ScatterSub", v, product)), -1);
}

static void expect_rows(pass_scene_t* f, leat_output_t x, leat_output_t numbers,
                        leat_output_t repeated) {
  for (int side = 0; side < 2; ++side) {
    leat_output_t product = multiply(&f->s, side ? repeated : x, side ? x : repeated);
    assert_true(scale_scatter(f, product) > 0);
    const leat_node_t* scaled = pass_scene_fetched(f, 0);
    assert_true(pass_scene_is_op(scaled, "_ScaledScatter"));
    assert_true(leat_string_view_equal(f->rewrite.graph->nodes[scaled->inputs[2].node].name,
                                       f->s.graph->nodes[x.node].name));
    assert_true(leat_string_view_equal(f->rewrite.graph->nodes[scaled->inputs[3].node].name,
                                       f->s.graph->nodes[numbers.node].name));
  }
}

static void rows_are_multiplied_where_they_are_read(void** state) {
  pass_scene_t* f = *state;
  leat_output_t x = many(&f->s, "x"), numbers = column(&f->s, "numbers");
  expect_rows(f, x, numbers, numbers);
  expect_rows(f, x, numbers, BROADCAST(&f->s, numbers, kRows, kColumns));
  expect_rows(f, x, numbers, scene_binary(&f->s, "Tile", -1, numbers, SHAPE(&f->s, 1, kColumns)));
  expect_rows(f, x, numbers, outer(&f->s, numbers, 1));
  leat_output_t handed = scene_unary(&f->s, "Identity", -1, outer(&f->s, numbers, 1));
  expect_rows(f, x, numbers,
              RESHAPE(&f->s, RESHAPE(&f->s, handed, kRows, 1, kColumns), kRows, kColumns));
}

// As gradients come: two products in a group share a repeated column, for which the group waits.
static void rows_of_gradients(void** state) {
  pass_scene_t* f = *state;
  scene_t* s = &f->s;
  leat_output_t x = many(s, "x"), w = many(s, "w"), a = scene_matrix(s, "", kRows, 3);
  leat_output_t repeated = outer(s, column(s, "numbers"), 1);
  int32_t group = scene_node(s, "NoOp", "", "", LEAT_NO_INPUTS, LEAT_NO_ATTRS);
  scene_after(s, group, repeated.node);
  leat_output_t handed = scene_unary(s, "Identity", -1, repeated);
  scene_after(s, handed.node, group);
  handed = RESHAPE(s, handed, kRows, 1, kColumns);
  leat_output_t of_x = multiply(s, handed, RESHAPE(s, x, kRows, 1, kColumns));
  leat_output_t of_w = multiply(s, handed, RESHAPE(s, w, kRows, 1, kColumns));
  group = scene_node(s, "NoOp", "group", "", LEAT_NO_INPUTS, LEAT_NO_ATTRS);
  scene_after(s, group, of_x.node);
  scene_after(s, group, of_w.node);
  of_x = scene_unary(s, "Identity", -1, of_x);
  of_w = scene_unary(s, "Identity", -1, of_w);
  scene_after(s, of_x.node, group);
  scene_after(s, of_w.node, group);
  leat_output_t sum = scene_output(
      s, "_MatMulAdd", "", "",
      LEAT_INPUTS(a, scene_matrix(s, "", 3, kColumns), RESHAPE(s, of_w, 4, 5)), LEAT_NO_ATTRS);
  leat_output_t updated = scatter(s, "ScatterSub", variable(s, ""), RESHAPE(s, of_x, 4, 5));
  assert_true(scale(f, LEAT_INPUTS(updated, sum), -1) > 0);
  const leat_node_t *first = pass_scene_fetched(f, 0), *second = pass_scene_fetched(f, 1);
  assert_true(pass_scene_is_op(first, "_ScaledScatter"));
  assert_true(reads(f, first, 2, "x") && reads(f, first, 3, "numbers"));
  assert_true(pass_scene_is_op(second, "_MatMulAdd"));
  assert_true(reads(f, second, 2, "w") && reads(f, second, 3, "numbers"));
  for (size_t i = 0; i < f->rewrite.graph->node_count; ++i) {
    const leat_node_t* node = &f->rewrite.graph->nodes[i];
    assert_false(pass_scene_is_op(node, "Mul") || pass_scene_is_op(node, "MatMul"));
  }
}

static void sums_of_products_take_scalars(void** state) {
  pass_scene_t* f = *state;
  leat_output_t y = many(&f->s, "x");
  for (int i = 0; i < 2; ++i) {  // the last of two, since there is room for one factor
    y = multiply(&f->s, y, scene_float(&f->s, 2));
    leat_output_t sum = scene_output(&f->s, "_MatMulAdd", "", "",
                                     LEAT_INPUTS(scene_matrix(&f->s, "", 4, 3),
                                                 scene_matrix(&f->s, "", 3, 5), y), LEAT_NO_ATTRS);
    assert_int_equal(scale(f, LEAT_INPUTS(sum), -1), 1);
    assert_int_equal(leat_node_attr_int(pass_scene_fetched(f, 0), "N", 0), 1);
    assert_true(reads(f, pass_scene_fetched(f, 0), 2, "x") == (i == 0));
  }
}

// The step of gradient descent over rows, whose shapes may be unknown.
static void rows_take_a_rate(void** state) {
  pass_scene_t* f = *state;
  leat_output_t v = variable(&f->s, "v"), rate = scene_float(&f->s, 0.1f);
  for (int rows = -1; rows <= 4; rows += 5) {
    leat_output_t x = scene_matrix(&f->s, "", rows, 5);
    leat_output_t updated = scatter(&f->s, "ScatterSub", v, multiply(&f->s, x, rate));
    assert_int_equal(scale(f, LEAT_INPUTS(updated), -1), 1);
    assert_true(pass_scene_is_op(pass_scene_fetched(f, 0), "_ScaledScatter"));
    updated = scatter(&f->s, "ScatterAdd", v,
                      scene_unary(&f->s, "Identity", -1, multiply(&f->s, rate, x)));
    assert_int_equal(scale(f, LEAT_INPUTS(updated), -1), 2);
  }
  const int64_t dims[] = {4, 5};
  leat_output_t handle =
      scene_output(&f->s, "VarHandleOp", "", "", LEAT_NO_INPUTS,
                   LEAT_ATTRS(LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT),
                              LEAT_SHAPE("shape", ((leat_partial_shape_t){2, dims}))));
  leat_output_t done = scene_float(&f->s, 0);
  scene_after(&f->s, done.node,
              scene_node(&f->s, "ResourceScatterAdd", "", "",
                         LEAT_INPUTS(handle, SHAPE(&f->s, 0, 1, 2, 3),
                                     multiply(&f->s, many(&f->s, ""), rate)),
                         LEAT_NO_ATTRS));
  assert_int_equal(scale(f, LEAT_INPUTS(done), -1), 1);
}

// ---- What stays ---------------------------------------------------------------------------------

static void factors_that_are_no_numbers_by_row(void** state) {
  pass_scene_t* f = *state;
  scene_t* s = &f->s;
  leat_output_t x = many(s, ""), numbers = column(s, "");
  assert_int_equal(scale_scatter(f, multiply(s, x, many(s, ""))), 0);
  assert_int_equal(scale_scatter(f, multiply(s, x, scene_matrix(s, "", 1, 5))), 0);
  assert_int_equal(scale_scatter(f, multiply(s, x, scene_matrix(s, "", -1, 1))), 0);
  assert_int_equal(scale_scatter(f, multiply(s, x, scene_matrix(s, "", 1, 1))), 0);
  assert_int_equal(scale_scatter(f, multiply(s, x, outer(s, numbers, 2))), 0);
  assert_int_equal(scale_scatter(f, multiply(s, scene_matrix(s, "", -1, 5), numbers)), 0);
  assert_int_equal(scale_scatter(f, multiply(s, scene_matrix(s, "", 1, 5), numbers)), 0);
  // By column, of which there are as many as rows.
  leat_output_t square = scene_matrix(s, "", 4, 4);
  leat_output_t column_wise = BROADCAST(s, RESHAPE(s, numbers, 1, 4), 4, 4);
  assert_int_equal(scale_scatter(f, multiply(s, square, column_wise)), 0);
  assert_int_equal(scale_scatter(f, multiply(s, square, RESHAPE(s, numbers, 4))), 0);
  // For each row of other rows.
  leat_output_t halves = multiply(s, scene_matrix(s, "", 8, 5), scene_matrix(s, "", 8, 1));
  assert_int_equal(scale_scatter(f, RESHAPE(s, halves, 4, 10)), 0);
  // The value has not the shape that is read.
  assert_int_equal(
      scale_scatter(f, RESHAPE(s, multiply(s, x, BROADCAST(s, numbers, 4, 5)), 4, 5, 1)), 0);
  assert_int_equal(scale_scatter(f, multiply(s, x, numbers)), 1);
}

// What only takes scalars.
static void updates_of_all_rows_stay(void** state) {
  pass_scene_t* f = *state;
  leat_output_t product = multiply(&f->s, many(&f->s, ""), column(&f->s, ""));
  leat_output_t updated = update(&f->s, variable(&f->s, ""), scene_float(&f->s, 1), product);
  assert_int_equal(scale(f, LEAT_INPUTS(updated), -1), 0);
}

static void products_that_others_need_stay(void** state) {
  pass_scene_t* f = *state;
  scene_t* s = &f->s;
  leat_output_t v = variable(s, ""), rate = scene_float(s, 2);
  leat_output_t product = multiply(s, many(s, ""), rate);
  leat_output_t handed = scene_unary(s, "Identity", -1, product);
  leat_output_t updated = scatter(s, "ScatterSub", v, handed);
  assert_int_equal(scale(f, LEAT_INPUTS(updated), -1), 2);
  assert_int_equal(scale(f, LEAT_INPUTS(updated), 0), 0);  // on another device
  assert_int_equal(scale(f, LEAT_INPUTS(updated, handed), -1), 0);
  assert_int_equal(scale(f, LEAT_INPUTS(updated, product), -1), 0);
  assert_int_equal(scale(f, LEAT_INPUTS(updated, scene_unary(s, "Neg", -1, handed)), -1), 0);
  assert_int_equal(scale(f, LEAT_INPUTS(updated, scene_unary(s, "Neg", -1, product)), -1), 0);
  assert_int_equal(scale(f, LEAT_INPUTS(updated, product), 1), 0);
  // It would come only when what hands it on may.
  scene_after(s, handed.node, scene_wait(s, 0, -1, rate).node);
  assert_int_equal(scale(f, LEAT_INPUTS(updated), -1), 0);
  // A node that waits for the Identity waits for what the Identity waits for.
  handed = scene_unary(s, "Identity", -1, multiply(s, many(s, ""), rate));
  leat_output_t waiting = scene_unary(s, "Neg", -1, rate);
  scene_after(s, waiting.node, handed.node);
  assert_int_equal(scale(f, LEAT_INPUTS(scatter(s, "ScatterSub", v, handed), waiting), -1), 0);
}

static void other_kernels_and_references_stay(void** state) {
  pass_scene_t* f = *state;
  scene_t* s = &f->s;
  leat_output_t v = variable_of(s, "", LEAT_DTYPE_INT32, leat_partial_shape_unknown());
  leat_output_t product = multiply(s, scene_placeholder(s, "", LEAT_DTYPE_INT32), flow_int(s, 2));
  assert_int_equal(scale(f, LEAT_INPUTS(scatter(s, "ScatterSub", v, product)), -1), 0);
  product = multiply(s, variable(s, ""), scene_float(s, 2));
  assert_int_equal(scale_scatter(f, product), 0);
  // Read through a reference before that is reshaped: the value is that of then.
  leat_output_t read = RESHAPE(s, scene_unary(s, "Identity", -1, variable(s, "")), 4, 1, 5);
  product = RESHAPE(s, multiply(s, read, scene_float(s, 2)), 4, 5);
  assert_int_equal(scale_scatter(f, product), 5);
  const leat_node_t* scaled = pass_scene_fetched(f, 0);
  assert_true(pass_scene_is_op(&f->rewrite.graph->nodes[scaled->inputs[2].node], "Identity"));
}

// A Switch kills one of its outputs, which no control edge tells.
static void what_a_switch_gives(void** state) {
  pass_scene_t* f = *state;
  scene_t* s = &f->s;
  leat_output_t pred = scene_placeholder(s, "", LEAT_DTYPE_BOOL);
  leat_output_t x = flow_switch(s, many(s, ""), pred, 1);
  leat_output_t product = multiply(s, x, scene_float(s, 2));
  assert_int_equal(scale_scatter(f, product), 1);
  leat_output_t updated = scatter(s, "ScatterSub", variable(s, ""), product);
  leat_output_t waiting = scene_float(s, 3);
  scene_after(s, waiting.node, product.node);
  assert_int_equal(scale(f, LEAT_INPUTS(updated, waiting), -1), 0);
  product = multiply(s, RESHAPE(s, x, 4, 1, 5), scene_float(s, 2));
  assert_int_equal(scale_scatter(f, RESHAPE(s, product, 4, 5)), 0);
}

// ---- Runs, as they are and scaled ---------------------------------------------------------------

static const float kValues[kRows * kColumns] = {1,      2, 3, 4, 5, NAN, 1, 2,        3, 4,
                                                -1e30f, 0, 0, 7, 1, 2,   1, INFINITY, 0, 1};
static const float kNumbers[kRows] = {0.05f, 3, -1e-30f, INFINITY};

static leat_tensor_t matrix_of(const float* values) {
  leat_tensor_t tensor;
  leat_shape_t shape;
  LEAT_EXPECT_OK(leat_shape_create(2, (const int64_t[]){kRows, kColumns}, &shape));
  LEAT_EXPECT_OK(
      leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_FLOAT, &shape, &tensor));
  memcpy(tensor.data, values, (size_t)(kRows * kColumns) * sizeof *values);
  return tensor;
}

// The bits of |fetch|; |x| is fed kValues, so that nothing is folded. All NaNs are alike.
static void expect_bits(scene_t* s, leat_output_t x, leat_output_t fetch, const float* expected) {
  leat_tensor_t fed = matrix_of(kValues), value;
  LEAT_EXPECT_OK(scene_run(s, LEAT_INPUTS(x), &fed, LEAT_INPUTS(fetch), &value, NULL, 0));
  const float* found = leat_tensor_data(&value, const float);
  assert_int_equal(value.shape.element_count, kRows * kColumns);
  for (int i = 0; i < kRows * kColumns; ++i) {
    if (isnan(expected[i])) {
      assert_true(isnan(found[i]));
    } else {
      assert_memory_equal(&found[i], &expected[i], sizeof expected[i]);
    }
  }
  leat_tensor_release(&value);
}

static void bits_of_updates(scene_t* s) {
  const float alpha = 0.7f;
  leat_output_t v = variable(s, "v"), x = many(s, "");
  leat_output_t assigned = scene_binary(s, "Assign", -1, v, matrix(s, kValues, kRows, kColumns));
  for (int i = 0; i < kRows; ++i) {
    leat_output_t product = multiply(s, x, scene_float(s, kNumbers[i]));
    leat_output_t updated = update(s, v, scene_float(s, alpha), product);
    float expected[kRows * kColumns];
    for (int k = 0; k < kRows * kColumns; ++k) {
      const float step = kValues[k] * kNumbers[i];
      expected[k] = kValues[k] - step * alpha;
    }
    LEAT_EXPECT_OK(scene_target(s, assigned.node));
    expect_bits(s, x, updated, expected);
  }
}

// A step of update |u| with |gradient| on variables of its own.
static leat_output_t apply(scene_t* s, size_t u, leat_output_t gradient) {
  leat_output_t inputs[12], assigned[4];
  char op[64];
  int count = 0;
  for (; count < kUpdates[u].variables; ++count) {
    inputs[count] = variable(s, "");
    float start[kRows * kColumns];
    for (int k = 0; k < kRows * kColumns; ++k) start[k] = 0.25f * (float)(count + 1 + k % 3);
    if (count == 0) start[kRows * kColumns - 2] = -0.0f;
    assigned[count] =
        scene_binary(s, "Assign", -1, inputs[count], matrix(s, start, kRows, kColumns));
  }
  for (int i = 0; i < count; ++i) LEAT_EXPECT_OK(scene_target(s, assigned[i].node));
  for (int i = 0; i < kUpdates[u].before; ++i) inputs[count++] = scene_float(s, 0.5f);
  inputs[count++] = gradient;
  // The last scalar of Ftrl is a power that must not be positive.
  const bool is_ftrl = kUpdates[u].before == 0;
  for (int i = 1; i <= kUpdates[u].behind; ++i) {
    inputs[count++] = scene_float(s, is_ftrl && i == kUpdates[u].behind ? -0.5f : 0.5f);
  }
  snprintf(op, sizeof op, "Apply%s", kUpdates[u].name);
  return scene_output(s, op, "", "", (leat_outputs_t){inputs, count}, LEAT_NO_ATTRS);
}

// Zeros become -0, which shows in the variable's -0 on which side of the minimum they are.
static leat_output_t clipped(scene_t* s, leat_output_t x) {
  const float norm = 5.3f, low = -1, high = 0;
  leat_output_t quotient = scene_binary(s, "RealDiv", -1, multiply(s, x, scene_float(s, -0.7f)),
                                        matrix(s, &norm, 1, 1));
  leat_output_t below = scene_binary(s, "Minimum", -1, scene_float(s, high), quotient);
  return scene_binary(s, "Maximum", -1, below, scene_float(s, low));
}

// One update computes the prologue by itself, and the other one cannot, as its gradient is fetched;
// they have inputs of their own, so that there are two gradients. Two steps show the slots as well.
static void bits_of_prologues(scene_t* s) {
  for (size_t u = 0; u < LEAT_ARRAY_SIZE(kUpdates); ++u) {
    if (kUpdates[u].has_no_reference) continue;
    leat_output_t x = many(s, ""), y = many(s, ""), gradient = clipped(s, x);
    leat_output_t plain = apply(s, u, gradient), fused = apply(s, u, clipped(s, y));
    for (int turn = 0; turn < 2; ++turn) {
      leat_tensor_t fed[2] = {matrix_of(kValues), matrix_of(kValues)}, values[3];
      LEAT_EXPECT_OK(scene_run(s, LEAT_INPUTS(x, y), fed, LEAT_INPUTS(plain, fused, gradient),
                               values, NULL, 0));
      const float* expected = leat_tensor_data(&values[0], const float);
      const float* found = leat_tensor_data(&values[1], const float);
      for (int k = 0; k < kRows * kColumns; ++k) {
        if (isnan(expected[k]) && isnan(found[k])) continue;
        assert_memory_equal(&found[k], &expected[k], sizeof *found);
      }
      for (int i = 0; i < 3; ++i) leat_tensor_release(&values[i]);
    }
  }
}

// Rows 2, 0, 2 and 1 of a variable; |sign| times the products.
static void expect_scattered(scene_t* s, const char* op, float sign, bool by_row) {
  static const int kIndices[kRows] = {2, 0, 2, 1};
  leat_output_t v = variable(s, ""), x = many(s, "");
  leat_output_t assigned = scene_binary(s, "Assign", -1, v, matrix(s, kValues, kRows, kColumns));
  leat_output_t product =
      by_row ? multiply(s, RESHAPE(s, outer(s, matrix(s, kNumbers, kRows, 1), 1), 4, 1, 5),
                        RESHAPE(s, x, 4, 1, 5))
             : multiply(s, x, scene_float(s, 0.7f));
  leat_output_t updated = scatter(s, op, v, by_row ? RESHAPE(s, product, 4, 5) : product);
  float expected[kRows * kColumns];
  memcpy(expected, kValues, sizeof expected);
  for (int k = 0; k < kRows * kColumns; ++k) {
    const float step = kValues[k] * (by_row ? kNumbers[k / kColumns] : 0.7f);
    float* to = &expected[kIndices[k / kColumns] * kColumns + k % kColumns];
    *to = sign < 0 ? *to - step : *to + step;
  }
  LEAT_EXPECT_OK(scene_target(s, assigned.node));
  expect_bits(s, x, updated, expected);
}

static void bits_of_scatters(scene_t* s) {
  expect_scattered(s, "ScatterSub", -1, false);
  expect_scattered(s, "ScatterSub", -1, true);
  expect_scattered(s, "ScatterAdd", 1, false);
  expect_scattered(s, "ScatterAdd", 1, true);
}

static float sign_of(float x) { return isnan(x) ? x : (float)((x > 0) - (x < 0)); }

// The products are small integers, so that the order of additions does not show.
static void bits_of_sums(scene_t* s) {
  static const float kWhole[kRows] = {3, 0, -7, 2};
  float square[kColumns * kColumns], expected[kRows * kColumns];
  for (int i = 0; i < kColumns * kColumns; ++i) square[i] = (float)(i % 7 - 3);
  leat_output_t x = many(s, "");
  leat_output_t product = scene_binary(s, "MatMul", -1, scene_unary(s, "Sign", -1, x),
                                       matrix(s, square, kColumns, kColumns));
  leat_output_t rows = multiply(s, x, matrix(s, kWhole, kRows, 1));
  for (int k = 0; k < kRows * kColumns; ++k) {
    const float* row = kValues + k / kColumns * kColumns;
    const float step = kValues[k] * kWhole[k / kColumns];
    expected[k] = 0;
    for (int i = 0; i < kColumns; ++i) {
      expected[k] += sign_of(row[i]) * square[i * kColumns + k % kColumns];
    }
    expected[k] += step;
  }
  expect_bits(s, x, scene_binary(s, "AddV2", -1, product, rows), expected);
}

#define ALL_WAYS(test) \
  static void test##_all_ways(void** state) { scene_run_all_ways(test); }
ALL_WAYS(bits_of_updates)
ALL_WAYS(bits_of_prologues)
ALL_WAYS(bits_of_scatters)
ALL_WAYS(bits_of_sums)

#define TEST(name) cmocka_unit_test_setup_teardown(name, pass_scene_set_up, pass_scene_tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_gradient_is_multiplied_in_the_update),
      TEST(updates_that_take_a_product),
      TEST(a_chain_goes_into_the_update),
      TEST(gradients_that_stay),
      TEST(rows_are_multiplied_where_they_are_read),
      TEST(rows_of_gradients),
      TEST(sums_of_products_take_scalars),
      TEST(rows_take_a_rate),
      TEST(factors_that_are_no_numbers_by_row),
      TEST(updates_of_all_rows_stay),
      TEST(products_that_others_need_stay),
      TEST(other_kernels_and_references_stay),
      TEST(what_a_switch_gives),
      cmocka_unit_test(bits_of_updates_all_ways),
      cmocka_unit_test(bits_of_prologues_all_ways),
      cmocka_unit_test(bits_of_scatters_all_ways),
      cmocka_unit_test(bits_of_sums_all_ways),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
