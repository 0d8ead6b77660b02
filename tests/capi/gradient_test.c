// TF_AddGradients as a client of the C API calls it, over a graph of two placeholders (product = x
// * y, sum = product + x) whose derivatives are plain to see. The values are fetched for x = 3 and
// y = 5, second derivatives included, since gradients are nodes like others. Names matter to
// clients: the first call adds its nodes below "gradients/", the next below "gradients_1/". An x on
// which y does not depend gets no output and no error. Refused are operations of another graph,
// outputs that do not exist, and starting values of another type or shape; and derivatives of what
// has none, such as ArgMax, where TensorFlow's C library refuses them.
#include <stdio.h>

#include "capi/kit.h"
#include "leat/gradients.h"

typedef struct fixture_s {
  TF_Graph* graph;
  TF_Status* status;
  TF_Output x, y, product, sum;  // product = x * y, sum = product + x
} fixture_t;

static fixture_t f;

static int set_up(void** state) {
  f.graph = TF_NewGraph();
  f.status = TF_NewStatus();
  TF_Operation* x = kit_shaped(f.graph, "x", TF_FLOAT, 0, NULL);
  TF_Operation* y = kit_shaped(f.graph, "y", TF_FLOAT, 0, NULL);
  TF_Operation* product = kit_binary(f.graph, "Mul", "product", x, y);
  f.x = kit_out(x, 0);
  f.y = kit_out(y, 0);
  f.product = kit_out(product, 0);
  f.sum = kit_out(kit_binary(f.graph, "AddV2", "sum", product, x), 0);
  return 0;
}

static int tear_down(void** state) {
  TF_DeleteGraph(f.graph);
  TF_DeleteStatus(f.status);
  return 0;
}

// The value of |fetch| for x = 3, y = 5.
static float value_of(TF_Output fetch) {
  TF_Session* session = kit_session(f.graph);
  const TF_Output feeds[] = {f.x, f.y};
  TF_Tensor* values[] = {kit_float(3), kit_float(5)};
  TF_Tensor* result = NULL;
  TF_SessionRun(session, NULL, feeds, values, 2, &fetch, &result, 1, NULL, 0, NULL, f.status);
  kit_ok(f.status);
  float value = kit_float_of(result);
  TF_DeleteTensor(result);
  TF_DeleteTensor(values[0]);
  TF_DeleteTensor(values[1]);
  kit_close(session);
  return value;
}

static void test_values(void** state) {
  TF_Output xs[] = {f.x, f.y}, grads[2];
  TF_AddGradients(f.graph, &f.sum, 1, xs, 2, NULL, f.status, grads);
  kit_ok(f.status);
  assert_true(value_of(grads[0]) == 6);  // y + 1
  assert_true(value_of(grads[1]) == 3);  // x
  TF_Output second;
  TF_AddGradients(f.graph, &grads[0], 1, &f.y, 1, NULL, f.status, &second);
  kit_ok(f.status);
  assert_true(value_of(second) == 1);
}

static void test_several_ys_and_starts(void** state) {
  TF_Output ys[] = {f.sum, f.product}, grad;
  TF_AddGradients(f.graph, ys, 2, &f.x, 1, NULL, f.status, &grad);
  kit_ok(f.status);
  assert_true(value_of(grad) == 11);  // 2 y + 1
  TF_Output starts[] = {kit_out(kit_const_float(f.graph, "ten", 10), 0), kit_out(NULL, 0)};
  TF_AddGradients(f.graph, ys, 2, &f.x, 1, starts, f.status, &grad);
  kit_ok(f.status);
  assert_true(value_of(grad) == 65);  // 10 (y + 1) + y
}

static void test_scopes(void** state) {
  TF_Output grad;
  TF_AddGradients(f.graph, &f.sum, 1, &f.x, 1, NULL, f.status, &grad);
  kit_ok(f.status);
  assert_int_equal(strncmp(TF_OperationName(grad.oper), "gradients/", 10), 0);
  TF_AddGradients(f.graph, &f.sum, 1, &f.x, 1, NULL, f.status, &grad);
  kit_ok(f.status);
  assert_int_equal(strncmp(TF_OperationName(grad.oper), "gradients_1/", 12), 0);
  TF_AddGradientsWithPrefix(f.graph, "mine", &f.sum, 1, &f.x, 1, NULL, f.status, &grad);
  kit_ok(f.status);
  assert_int_equal(strncmp(TF_OperationName(grad.oper), "mine/", 5), 0);
  int count = kit_count(f.graph);
  TF_AddGradientsWithPrefix(f.graph, "mine", &f.sum, 1, &f.x, 1, NULL, f.status, &grad);
  kit_expect(f.status, TF_INVALID_ARGUMENT);
  TF_AddGradientsWithPrefix(f.graph, "sum", &f.sum, 1, &f.x, 1, NULL, f.status, &grad);
  kit_expect(f.status, TF_INVALID_ARGUMENT);
  assert_int_equal(kit_count(f.graph), count);
}

static TF_Operation* matrix_product(const char* name, TF_Output a, TF_Output b) {
  TF_OperationDescription* d = TF_NewOperation(f.graph, "MatMul", name);
  TF_AddInput(d, a);
  TF_AddInput(d, b);
  TF_Operation* node = TF_FinishOperation(d, f.status);
  kit_ok(f.status);
  return node;
}

// The nodes have the names that TensorFlow's C++ gradients give them: those of their ops, right
// below the prefix. Products of matrices are without the marks that Python's gradients set.
// leat_gradients names and marks as Python does.
static void test_names(void** state) {
  const int64_t dims[] = {2, 2};
  TF_Output a = kit_out(kit_shaped(f.graph, "a", TF_FLOAT, 2, dims), 0);
  TF_Output b = kit_out(kit_shaped(f.graph, "b", TF_FLOAT, 2, dims), 0);
  TF_Output c = kit_out(matrix_product("c", a, b), 0), xs[] = {a, b}, grads[2];
  unsigned char mark = 1;
  TF_AddGradients(f.graph, &c, 1, xs, 2, NULL, f.status, grads);
  kit_ok(f.status);
  assert_string_equal(TF_OperationName(grads[0].oper), "gradients/MatMul");
  assert_string_equal(TF_OperationName(grads[1].oper), "gradients/MatMul_1");
  assert_non_null(TF_GraphOperationByName(f.graph, "gradients/OnesLike"));
  TF_OperationGetAttrBool(grads[0].oper, "grad_a", &mark, f.status);
  kit_ok(f.status);
  assert_int_equal(mark, 0);
  leat_derivative_t derivatives[2];
  leat_gradients(f.graph, &c, 1, xs, 2, NULL, derivatives, f.status);
  kit_ok(f.status);
  assert_string_equal(TF_OperationName(derivatives[0].values.oper), "gradients_1/c_grad/MatMul");
  TF_OperationGetAttrBool(derivatives[0].values.oper, "grad_a", &mark, f.status);
  kit_ok(f.status);
  assert_int_equal(mark, 1);
  // A second prefix may not be the name of a node of the first.
  TF_AddGradientsWithPrefix(f.graph, "gradients/MatMul", &c, 1, xs, 2, NULL, f.status, grads);
  kit_expect(f.status, TF_INVALID_ARGUMENT);
}

static void test_no_path(void** state) {
  TF_Operation* apart = kit_placeholder(f.graph, "apart", TF_FLOAT);
  TF_Output xs[] = {kit_out(apart, 0), f.y}, grads[2];
  TF_AddGradients(f.graph, &f.product, 1, xs, 2, NULL, f.status, grads);
  kit_ok(f.status);
  assert_null(grads[0].oper);
  assert_int_equal(grads[0].index, -1);
  assert_true(value_of(grads[1]) == 3);
}

static TF_Output add_unary(const char* op, const char* name, TF_Output x) {
  TF_OperationDescription* d = TF_NewOperation(f.graph, op, name);
  TF_AddInput(d, x);
  TF_Operation* node = TF_FinishOperation(d, f.status);
  kit_ok(f.status);
  return kit_out(node, 0);
}

// What no derivative leads through: TensorFlow's C library knows of some ops that they have none,
// and refuses the others, as Python's tf.gradients does not.
static void test_ends(void** state) {
  static const struct { const char* op; TF_Code code; } kCases[] = {
      {"ArgMax", TF_NOT_FOUND}, {"ArgMin", TF_NOT_FOUND}, {"Shape", TF_OK}, {"Rank", TF_OK},
      {"Ceil", TF_OK}};  // a rounding ends the way, as in Python
  TF_Output axis = kit_out(kit_const_int32(f.graph, "axis", 0), 0), grad;
  for (size_t i = 0; i < sizeof kCases / sizeof *kCases; ++i) {
    TF_OperationDescription* d = TF_NewOperation(f.graph, kCases[i].op, kCases[i].op);
    TF_AddInput(d, f.x);
    if (kCases[i].code == TF_NOT_FOUND) TF_AddInput(d, axis);
    TF_Output y = kit_out(TF_FinishOperation(d, f.status), 0);
    kit_ok(f.status);
    TF_AddGradients(f.graph, &y, 1, &f.x, 1, NULL, f.status, &grad);
    kit_expect(f.status, kCases[i].code);
    if (kCases[i].code == TF_OK) {
      assert_null(grad.oper);
    } else {
      char text[256];
      snprintf(text, sizeof text,
               "No gradient defined for op: %s. Please see "
               "https://www.tensorflow.org/code/tensorflow/cc/gradients/README.md for "
               "instructions on how to add C++ gradients.",
               kCases[i].op);
      assert_string_equal(TF_Message(f.status), text);  // TensorFlow's, to the letter
    }
    // leat_gradients does as Python.
    leat_derivative_t derivative;
    leat_gradients(f.graph, &y, 1, &f.x, 1, NULL, &derivative, f.status);
    kit_ok(f.status);
  }
  // A truth value on a side path does not spoil the others.
  TF_Output truth = add_unary("IsNan", "truth", f.product);
  TF_OperationDescription* d = TF_NewOperation(f.graph, "Cast", "as_number");
  TF_AddInput(d, truth);
  TF_SetAttrType(d, "DstT", TF_FLOAT);
  TF_Output ys[] = {kit_out(TF_FinishOperation(d, f.status), 0), f.product};
  kit_ok(f.status);
  TF_AddGradients(f.graph, ys, 2, &f.x, 1, NULL, f.status, &grad);
  kit_ok(f.status);
  assert_true(value_of(grad) == 5);
}

static void test_refused(void** state) {
  TF_Graph* other = TF_NewGraph();
  TF_Output stranger = kit_out(kit_placeholder(other, "stranger", TF_FLOAT), 0);
  TF_Output far = kit_out(f.x.oper, 2), none = kit_out(NULL, 0), grad;
  TF_Output integer = kit_out(kit_const_int32(f.graph, "integer", 1), 0);
  const int64_t dims[] = {7};
  TF_Output vector = kit_out(kit_shaped(f.graph, "vector", TF_FLOAT, 1, dims), 0);
  TF_AddGradients(f.graph, &stranger, 1, &f.x, 1, NULL, f.status, &grad);
  kit_expect(f.status, TF_INVALID_ARGUMENT);
  TF_AddGradients(f.graph, &f.sum, 1, &far, 1, NULL, f.status, &grad);
  kit_expect(f.status, TF_INVALID_ARGUMENT);
  TF_AddGradients(f.graph, &none, 1, &f.x, 1, NULL, f.status, &grad);
  kit_expect(f.status, TF_INVALID_ARGUMENT);
  TF_AddGradients(f.graph, &f.sum, 1, &f.x, 1, &integer, f.status, &grad);
  kit_expect(f.status, TF_INVALID_ARGUMENT);  // a start of another type
  TF_AddGradients(f.graph, &f.sum, 1, &f.x, 1, &vector, f.status, &grad);
  kit_expect(f.status, TF_INVALID_ARGUMENT);  // of another shape
  TF_AddGradients(f.graph, &f.sum, -1, &f.x, 1, NULL, f.status, &grad);
  kit_expect(f.status, TF_INVALID_ARGUMENT);
  TF_DeleteGraph(other);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
      TEST(test_values), TEST(test_several_ys_and_starts), TEST(test_scopes),
      TEST(test_names), TEST(test_no_path), TEST(test_ends), TEST(test_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
