// Scopes: names, the first error, operations of every shape of signature, control dependencies.
// Each test builds operations through leat_operation and the short forms, and checks their names,
// or runs them and compares a number. An error must stay the scope's first one and make all that
// follows do nothing, whatever it is given. Placing by a scope (leat_scope_on) is tested in
// input_test.c, layers and variables in layers_test.c and variables_test.c.
#include <stdio.h>

#include "capi/kit.h"
#include "leat/graph.h"

typedef struct fixture_s {
  TF_Graph* graph;
  leat_scope_t* scope;
  TF_Output x, y, z;  // 1, 2, 3
} fixture_t;
static fixture_t f;

static int set_up(void** state) {
  f.graph = TF_NewGraph();
  f.scope = leat_scope_create(f.graph);
  f.x = leat_constant_float(f.scope, 1);
  f.y = leat_constant_float(f.scope, 2);
  f.z = leat_constant_float(f.scope, 3);
  return 0;
}

static int tear_down(void** state) {
  leat_scope_free(f.scope);
  TF_DeleteGraph(f.graph);
  return 0;
}

static void expect_float(TF_Output output, float value) {
  kit_ok(leat_scope_status(f.scope));
  TF_Session* session = kit_session(f.graph);
  TF_Tensor* tensor = kit_run(session, (TF_Output){NULL, 0}, NULL, output);
  assert_float_equal(kit_float_of(tensor), value, 1e-6);
  TF_DeleteTensor(tensor);
  kit_close(session);
}

static void expect_name(TF_Operation* operation, const char* name) {
  kit_ok(leat_scope_status(f.scope));
  assert_string_equal(TF_OperationName(operation), name);
}

static void test_names(void** state) {
  expect_name(leat_add(f.scope, f.x, f.y).oper, "AddV2");
  expect_name(leat_add(f.scope, f.x, f.y).oper, "AddV2_1");
  expect_name(leat_operation(f.scope, "Neg", "minus", &f.x, 1, NULL, 0), "minus");
  expect_name(leat_operation(f.scope, "Neg", "minus", &f.x, 1, NULL, 0), "minus_1");
  leat_scope_t* a = leat_scope_enter(f.scope, "a");
  leat_scope_t* b = leat_scope_enter(a, "b");
  expect_name(leat_add(a, f.x, f.y).oper, "a/AddV2");
  leat_scope_free(a);
  expect_name(leat_add(b, f.x, f.y).oper, "a/b/AddV2");
  assert_ptr_equal(leat_scope_graph(b), f.graph);
  leat_scope_free(b);
}

static void test_first_error(void** state) {
  int before = kit_count(f.graph);
  leat_scope_t* inner = leat_scope_enter(f.scope, "inner");
  TF_Output wrong = leat_matmul(inner, f.x, f.y);  // scalars
  assert_null(wrong.oper);
  kit_expect(leat_scope_status(f.scope), TF_INVALID_ARGUMENT);
  char message[512];
  snprintf(message, sizeof message, "%s", TF_Message(leat_scope_status(f.scope)));
  // What follows does nothing, whatever it is given.
  assert_null(leat_add(f.scope, wrong, wrong).oper);
  assert_null(leat_operation(f.scope, "Alien", NULL, NULL, 0, NULL, 0));
  assert_null(leat_constant_float(f.scope, 1).oper);
  assert_null(leat_reshape(inner, f.x, 1, (int64_t[]){1}).oper);
  assert_null(leat_group(inner, NULL, &f.x.oper, 1));
  assert_string_equal(TF_Message(leat_scope_status(inner)), message);
  assert_int_equal(kit_count(f.graph), before);
  leat_scope_free(inner);
}

static void test_no_scope(void** state) {
  assert_null(leat_add(NULL, f.x, f.y).oper);
  assert_null(leat_operation(NULL, "NoOp", NULL, NULL, 0, NULL, 0));
  assert_null(leat_group(NULL, NULL, NULL, 0));
  assert_null(leat_scope_enter(NULL, "a"));
  assert_null(leat_scope_after(NULL, NULL, 0));
  assert_null(leat_scope_graph(NULL));
  assert_null(leat_scope_status(NULL));
  leat_scope_free(NULL);
}

static void test_lists(void** state) {
  TF_Output all[] = {f.x, f.y, f.z};
  TF_Output sum = {leat_operation(f.scope, "AddN", NULL, all, 3, NULL, 0), 0};
  expect_float(sum, 6);
  // A list with an argument behind it, and its length said once more.
  TF_Output rows = {leat_operation(f.scope, "Pack", NULL, all, 3, NULL, 0), 0};
  TF_Output joined_inputs[] = {rows, rows, leat_constant_int(f.scope, 0)};
  leat_attribute_t length = leat_attribute_int("N", 2);
  TF_Output joined = {
      leat_operation(f.scope, "ConcatV2", NULL, joined_inputs, 3, &length, 1), 0};
  expect_float(leat_mean(f.scope, joined), 2);
  // Two lists of one length.
  int32_t index[] = {1, 0};
  TF_Output one = leat_constant_ints(f.scope, 1, index), zero = leat_constant_ints(f.scope, 1,
                                                                                   index + 1);
  TF_Output vector = leat_reshape(f.scope, f.z, 1, (int64_t[]){1});
  TF_Output stitch[] = {one, zero, vector, vector};
  TF_Output stitched = {
      leat_operation(f.scope, "DynamicStitch", NULL, stitch, 4, NULL, 0), 0};
  expect_float(leat_mean(f.scope, stitched), 3);
  // A list of types.
  TF_Output mixed[] = {f.x, one};
  TF_Operation* both = leat_operation(f.scope, "IdentityN", NULL, mixed, 2, NULL, 0);
  kit_ok(leat_scope_status(f.scope));
  assert_int_equal(TF_OperationOutputType((TF_Output){both, 1}), TF_INT32);
}

static void test_attributes(void** state) {
  int64_t dims[] = {2, -1};
  leat_attribute_t placeholder[] = {leat_attribute_type("dtype", TF_INT64),
                                    leat_attribute_shape("shape", 2, dims)};
  TF_Operation* p = leat_operation(f.scope, "Placeholder", "p", NULL, 0, placeholder, 2);
  TF_Status* status = leat_scope_status(f.scope);
  assert_int_equal(TF_GraphGetTensorNumDims(f.graph, (TF_Output){p, 0}, status), 2);
  kit_ok(leat_scope_status(f.scope));
  TF_Output matrix = leat_constant_floats(f.scope, 2, (int64_t[]){1, 3}, (float[]){1, 2, 3});
  leat_attribute_t transposes[] = {leat_attribute_bool("transpose_b", 1)};
  TF_Output square = {leat_operation(f.scope, "MatMul", NULL, (TF_Output[]){matrix, matrix}, 2,
                                     transposes, 1), 0};
  expect_float(leat_mean(f.scope, square), 14);
  int64_t axes[] = {0};
  leat_attribute_t squeeze = leat_attribute_ints("squeeze_dims", 1, axes);
  TF_Output row = {leat_operation(f.scope, "Squeeze", NULL, &matrix, 1, &squeeze, 1), 0};
  assert_int_equal(TF_OperationGetAttrMetadata(row.oper, "squeeze_dims",
                                               leat_scope_status(f.scope)).list_size, 1);
  TF_DataType types[] = {TF_FLOAT, TF_FLOAT};
  leat_attribute_t list = leat_attribute_types("T", 2, types);
  assert_non_null(leat_operation(f.scope, "IdentityN", NULL, (TF_Output[]){f.x, f.y}, 2, &list, 1));
  leat_attribute_t slope = leat_attribute_float("alpha", 0.5f);
  TF_Output minus = {leat_operation(f.scope, "Neg", NULL, &f.z, 1, NULL, 0), 0};
  TF_Output leaky = {leat_operation(f.scope, "LeakyRelu", NULL, &minus, 1, &slope, 1), 0};
  expect_float(leaky, -1.5f);
}

static void expect_error(TF_Code code, const char* text) {
  kit_expect_text(leat_scope_status(f.scope), code, text);
  tear_down(NULL);
  set_up(NULL);
}

static void test_errors(void** state) {
  leat_operation(f.scope, "Alien", NULL, &f.x, 1, NULL, 0);
  expect_error(TF_NOT_FOUND, "Op type not registered 'Alien'");
  leat_operation(f.scope, "Neg", NULL, (TF_Output[]){f.x, f.y}, 2, NULL, 0);
  expect_error(TF_INVALID_ARGUMENT, "too many inputs");
  leat_operation(f.scope, "Sub", NULL, &f.x, 1, NULL, 0);
  expect_error(TF_INVALID_ARGUMENT, "too few inputs");
  leat_operation(f.scope, "Neg", "n", (TF_Output[]){{NULL, 0}}, 1, NULL, 0);
  expect_error(TF_INVALID_ARGUMENT,
               "Adding node 'n' (Neg) failed: input 0 is missing, must be an output");
  leat_operation(f.scope, "Neg", NULL, &f.x, 1, (leat_attribute_t[]){{.name = "a", .kind = '?'}},
                 1);
  expect_error(TF_INVALID_ARGUMENT, "unknown kind of attribute");
  leat_group(f.scope, "g", (TF_Operation*[]){f.x.oper, NULL}, 2);
  expect_error(TF_INVALID_ARGUMENT, "operation 1 is NULL");
  leat_constant(f.scope, TF_RESOURCE, 0, NULL, NULL);
  expect_error(TF_INVALID_ARGUMENT, "must be of fixed size");
}

static void test_after(void** state) {
  TF_Operation* first[] = {f.x.oper};
  leat_scope_t* after = leat_scope_after(f.scope, first, 1);
  leat_scope_t* inner = leat_scope_enter(after, "in");
  TF_Operation* both[] = {f.y.oper};
  leat_scope_t* last = leat_scope_after(inner, both, 1);
  TF_Output sum = leat_add(last, f.z, f.z);
  expect_name(sum.oper, "in/AddV2");
  TF_Operation* controls[4];
  assert_int_equal(TF_OperationGetControlInputs(sum.oper, controls, 4), 2);
  assert_true((controls[0] == f.x.oper && controls[1] == f.y.oper) ||
              (controls[0] == f.y.oper && controls[1] == f.x.oper));
  TF_Operation* group = leat_group(inner, "all", (TF_Operation*[]){f.y.oper, f.z.oper}, 2);
  expect_name(group, "in/all");
  assert_int_equal(TF_OperationNumControlInputs(group), 3);
  leat_scope_free(after);
  leat_scope_free(inner);
  leat_scope_free(last);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(test_names),      TEST(test_first_error), TEST(test_no_scope), TEST(test_lists),
      TEST(test_attributes), TEST(test_errors),      TEST(test_after),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
