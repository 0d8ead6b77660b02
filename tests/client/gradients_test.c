// leat/gradients.h lets a caller bring gradient functions of his own, as Python's registered
// gradients are. The caller's function here multiplies by three and by the input, which is the
// derivative of none of the ops in question, so that a wrong source of the gradient shows in the
// value. It is used outside of loops, inside them, where it may add single operations only, and for
// functions, which are then not expanded. Other cases show where the walk stops, that gathers give
// rows, and colocation. A function that fails or answers with another type ends the whole call with
// its status.
#include <math.h>
#include <stdio.h>

#include "capi/function_kit.h"
#include "client/flow_kit.h"
#include "leat/gradients.h"

// The caller's function for entries "Sin" and "Tripled": three times what comes, times the input.
typedef struct own_s {
  const char* entry;
  int asked, called;
  TF_Code fails_with;         // or OK
  TF_DataType answers_with;   // another type than that of the input; 0: none
  void (*also)(void);         // done within the call
  char name[64];              // the scope of the last call
} own_t;

static int has(void* data, const char* entry) {
  own_t* own = data;
  ++own->asked;
  return !strcmp(entry, own->entry);
}

// The test's own gradient, which is wrong on purpose: only it can give a slope of 3 x.
static void triple(void* data, const leat_gradient_node_t* node, leat_derivative_t* of_inputs,
                   TF_Status* status) {
  own_t* own = data;
  ++own->called;
  snprintf(own->name, sizeof own->name, "%s", node->name);
  assert_string_equal(node->entry, own->entry);
  if (own->fails_with) {
    TF_SetStatus(status, own->fails_with, "no such slope");
    return;
  }
  if (own->also) own->also();
  TF_Output x = TF_OperationInput((TF_Input){node->operation, 0});
  TF_Output slope = flow_mul(flow_constant(3), x);
  of_inputs[0].values = flow_mul(slope, node->of_outputs[0].values);
  if (own->answers_with) {
    of_inputs[0].values = leat_cast(kit.scope, of_inputs[0].values, own->answers_with);
  }
}

static leat_gradients_options_t options_of(own_t* own) {
  return (leat_gradients_options_t){.has_gradient = has, .gradient = triple, .data = own};
}

static TF_Output placeholder(const char* name) {
  return kit_out(kit_shaped(kit.graph, name, TF_DOUBLE, 0, NULL), 0);
}

static double value_at(TF_Output x, double at, TF_Output fetch) {
  TF_Session* session = kit_session(kit.graph);
  TF_Tensor* result =
      kit_run(session, x, kit_tensor(TF_DOUBLE, 0, NULL, &at, sizeof at), fetch);
  double value = *(double*)TF_TensorData(result);
  TF_DeleteTensor(result);
  kit_close(session);
  return value;
}

// dy/dx at |at| with the caller's functions.
static double slope_at(TF_Output y, TF_Output x, const leat_gradients_options_t* options,
                       double at) {
  leat_derivative_t slope;
  leat_gradients(kit.graph, &y, 1, &x, 1, options, &slope, kit.status);
  kit_ok(kit.status);
  assert_non_null(slope.values.oper);
  assert_null(slope.indices.oper);
  return value_at(x, at, slope.values);
}

static void test_own_function(void** state) {
  own_t own = {.entry = "Sin"};
  const leat_gradients_options_t options = options_of(&own);
  TF_Output x = placeholder("x");
  TF_Output y = flow_unary("Sin", flow_mul(x, x));
  assert_true(slope_at(y, x, &options, 2) == 3 * 4 * 4);  // 3 x^2, times 2 x
  assert_int_equal(own.called, 1);
  assert_string_equal(own.name, "gradients/Sin_grad");
  assert_true(slope_at(flow_unary("Exp", x), x, &options, 0) == 1);  // the library's
  assert_int_equal(own.called, 1);
  assert_null(leat_flow_current(kit.graph));
}

// An operation of a known op, whose attribute names the caller's entry.
static void test_entry_of_an_operation(void** state) {
  own_t own = {.entry = "Tripled"};
  const leat_gradients_options_t options = options_of(&own);
  TF_Output x = placeholder("x");
  TF_OperationDescription* description = TF_NewOperation(kit.graph, "Identity", "marked");
  TF_AddInput(description, x);
  TF_SetAttrString(description, "_gradient_op_type", "Tripled", 7);
  TF_Output marked = kit_out(kit_finish(description), 0);
  assert_true(slope_at(marked, x, &options, 5) == 15);
  leat_derivative_t slope;
  leat_gradients(kit.graph, &marked, 1, &x, 1, NULL, &slope, kit.status);
  kit_expect_text(kit.status, TF_NOT_FOUND, "No gradient defined for op: Tripled");
}

// y = sin(sin(sin(x) x) x): the caller's function reads a value of each iteration, also through a
// conditional in the loop.
static void test_own_function_in_a_loop(void** state) {
  own_t own = {.entry = "Sin"};
  const leat_gradients_options_t options = options_of(&own);
  TF_Output x = placeholder("x"), v[2] = {flow_constant(0), x};
  leat_flow_context_t* loop = flow_begin("while", v, 2);
  flow_body(loop, flow_less(v[0], flow_constant(3)), v);
  leat_flow_context_t* branch = flow_choose("cond", flow_less(v[0], flow_constant(2)));
  branch = flow_else(branch, flow_unary("Sin", v[1]));
  TF_Output merged = flow_merged(branch, flow_unary("Exp", v[1]));
  v[0] = flow_add(v[0], flow_constant(1));
  v[1] = merged;
  flow_end(loop, v, 2);
  const double at = 0.5, first = sin(at), second = sin(first);
  const double expected = 3 * at * 3 * first * exp(second);
  const double found = slope_at(v[1], x, &options, at);
  assert_true(fabs(found - expected) < 1e-12);
  assert_int_equal(own.called, 1);
}

static void begin_a_loop(void) {
  TF_Output v[1] = {flow_constant(0)};
  assert_null(leat_while_begin(kit.graph, "inner", v, 1, NULL, v, kit.status));
  kit_expect_text(kit.status, TF_FAILED_PRECONDITION, "may add single operations only");
  leat_derivative_t slope;
  leat_gradients(kit.graph, v, 1, v, 1, NULL, &slope, kit.status);
  kit_expect_text(kit.status, TF_FAILED_PRECONDITION, "Adding gradients failed");
}

static void choose(void) {
  leat_flow_context_t* branch = flow_choose("own", flow_less(flow_constant(0), flow_constant(1)));
  branch = flow_else(branch, flow_constant(1));
  flow_merged(branch, flow_constant(2));
}

// In a loop a function may add operations only; elsewhere it may build what it likes.
static void test_constructs_in_a_function(void** state) {
  own_t own = {.entry = "Sin", .also = begin_a_loop};
  const leat_gradients_options_t options = options_of(&own);
  TF_Output x = placeholder("x"), v[2] = {flow_constant(0), x};
  leat_flow_context_t* loop = flow_begin("while", v, 2);
  flow_body(loop, flow_less(v[0], flow_constant(1)), v);
  v[0] = flow_add(v[0], flow_constant(1));
  v[1] = flow_unary("Sin", v[1]);
  flow_end(loop, v, 2);
  assert_true(slope_at(v[1], x, &options, 2) == 6);
  own.also = choose;
  assert_true(slope_at(flow_unary("Sin", x), x, &options, 2) == 6);
}

// A call whose function the caller differentiates is not expanded.
static void test_function(void** state) {
  own_t own = {.entry = "Half"};
  const leat_gradients_options_t options = options_of(&own);
  const char* text = LIBRARY FUNCTION("Half", ARG("a", "DOUBLE") OUT("b", "DOUBLE"),
                                      DEF("h", "Neg", IN("a"), TYPE("T", "DOUBLE"))
                                          RET("b", "h:y:0"))
      END NODE("x", "Placeholder", , TYPE("dtype", "DOUBLE")) NODE("call", "Half", IN("x"), );
  assert_int_equal(functions_import(kit.graph, text, kit.status), TF_OK);
  TF_Output x = kit_out(TF_GraphOperationByName(kit.graph, "x"), 0);
  TF_Output y = kit_out(TF_GraphOperationByName(kit.graph, "call"), 0);
  assert_true(slope_at(y, x, &options, 2) == 6);
  own.entry = "none";
  assert_true(slope_at(y, x, &options, 2) == -1);
}

static void test_stops(void** state) {
  TF_Output x = placeholder("x"), square = flow_mul(x, x), y = flow_mul(square, x);
  assert_true(slope_at(y, x, NULL, 2) == 12);
  const leat_gradients_options_t options = {.stop_gradients = &square, .stop_gradient_count = 1};
  assert_true(slope_at(y, x, &options, 2) == 4);
}

// The derivative of what a gather took is rows, and is summed for TF_AddGradients.
static void test_rows(void** state) {
  double values[3] = {1, 2, 3};
  TF_Tensor* value = kit_tensor(TF_DOUBLE, 1, (int64_t[]){3}, values, sizeof values);
  TF_Output table = kit_out(kit_const(kit.graph, "table", value), 0);
  TF_Output rows = leat_constant_ints(kit.scope, 2, (int32_t[]){2, 0});
  TF_Output axis = leat_constant_int(kit.scope, 0);
  TF_Output taken = kit_out(
      leat_operation(kit.scope, "GatherV2", NULL, (TF_Output[]){table, rows, axis}, 3, NULL, 0), 0);
  leat_derivative_t derivative;
  leat_gradients(kit.graph, &taken, 1, &table, 1, NULL, &derivative, kit.status);
  kit_ok(kit.status);
  assert_non_null(derivative.indices.oper);
  assert_non_null(derivative.dense_shape.oper);
  int64_t dims[1] = {0};
  TF_GraphGetTensorShape(kit.graph, derivative.values, dims, 1, kit.status);
  assert_int_equal(dims[0], 2);
  TF_Output dense;
  TF_AddGradients(kit.graph, &taken, 1, &table, 1, NULL, kit.status, &dense);
  kit_ok(kit.status);
  TF_GraphGetTensorShape(kit.graph, dense, dims, 1, kit.status);
  assert_int_equal(dims[0], 3);
}

// Expects the derivative of the sum of |ys| by |x| to be in the group |group|.
static void expect_colocated(const TF_Output* ys, int count, TF_Output x, const char* group) {
  const leat_gradients_options_t options = {.colocate = 1};
  leat_derivative_t slope;
  leat_gradients(kit.graph, ys, count, &x, 1, &options, &slope, kit.status);
  kit_ok(kit.status);
  char text[32] = "";
  void* storage = text;
  size_t length = 0;
  TF_OperationGetAttrStringList(slope.values.oper, "_class", &storage, &length, 1, text,
                                sizeof text, kit.status);
  kit_ok(kit.status);
  assert_int_equal(length, strlen(group));
  assert_memory_equal(text, group, length);
}

static void test_colocation(void** state) {
  TF_Output x = placeholder("x"), ys[] = {flow_unary("Exp", x), flow_unary("Sin", x)};
  expect_colocated(ys, 1, x, "loc:@Exp");
  expect_colocated(ys, 2, x, "loc:@x");  // the sum of two slopes is for x itself
}

static void expect_error(const leat_gradients_options_t* options, TF_Code code, const char* text) {
  TF_Output x = kit_out(TF_GraphOperationByName(kit.graph, "x"), 0);
  TF_Output y = kit_out(TF_GraphOperationByName(kit.graph, "Sin"), 0);
  leat_derivative_t slope;
  leat_gradients(kit.graph, &y, 1, &x, 1, options, &slope, kit.status);
  kit_expect_text(kit.status, code, text);
}

static void test_refused(void** state) {
  own_t own = {.entry = "Sin", .fails_with = TF_DATA_LOSS};
  leat_gradients_options_t options = options_of(&own);
  flow_unary("Sin", placeholder("x"));
  expect_error(&options, TF_DATA_LOSS, "no such slope");
  own = (own_t){.entry = "Sin", .answers_with = TF_FLOAT};
  expect_error(&options, TF_INVALID_ARGUMENT, "of input 0 has type float, must be double");
  options.gradient = NULL;
  expect_error(&options, TF_INVALID_ARGUMENT, "must be both or none");
  options = (leat_gradients_options_t){.stop_gradient_count = -1};
  expect_error(&options, TF_INVALID_ARGUMENT, "must be >= 0");
}

// Names under a prefix, which is made new where operations have it and taken as it is with a "/".
static void test_prefixes(void** state) {
  const TF_Output x = placeholder("x"), y = flow_unary("Sin", x);
  static const char* const prefixes[] = {"Sin", "Sin", "Sin_1/", NULL, NULL};
  static const char* const names[] = {"Sin_1/Sin_grad/mul", "Sin_2/Sin_grad/mul",
                                      "Sin_1/Sin_grad/mul_1", "gradients/Sin_grad/mul",
                                      "gradients_1/Sin_grad/mul"};
  for (int i = 0; i < 5; ++i) {
    const leat_gradients_options_t options = {.prefix = prefixes[i]};
    leat_derivative_t slope;
    leat_gradients(kit.graph, &y, 1, &x, 1, &options, &slope, kit.status);
    kit_ok(kit.status);
    assert_string_equal(TF_OperationName(slope.values.oper), names[i]);
  }
  TF_Output dense, input = x, output = y;
  TF_AddGradientsWithPrefix(kit.graph, "Sin", &output, 1, &input, 1, NULL, kit.status, &dense);
  kit_expect_text(kit.status, TF_INVALID_ARGUMENT, "conflicts with existing node");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, model_kit_set_up, model_kit_tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_own_function),
      TEST(test_entry_of_an_operation),
      TEST(test_own_function_in_a_loop),
      TEST(test_constructs_in_a_function),
      TEST(test_function),
      TEST(test_stops),
      TEST(test_rows),
      TEST(test_colocation),
      TEST(test_refused),
      TEST(test_prefixes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
