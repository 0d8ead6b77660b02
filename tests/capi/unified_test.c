// eager/c_api_unified_experimental.h: the same calls run ops at once and trace them into a
// function, which an eager context then runs. Values are worked out by hand; the functions are used
// as TensorFlow's own programs use them, in particular as to who deletes which tensor.
#include "capi/eager_kit.h"
#include "tensorflow/c/eager/c_api_unified_experimental.h"

static TF_Status* s;
static TF_ExecutionContext* eager;

static int set_up(void** state) {
  s = TF_NewStatus();
  TFE_ContextOptions* options = TFE_NewContextOptions();
  eager = TF_NewEagerExecutionContext(options, s);
  TFE_DeleteContextOptions(options);
  return TF_GetCode(s);
}

static int tear_down(void** state) {
  TF_DeleteExecutionContext(eager);
  TF_DeleteStatus(s);
  return 0;
}

static TF_AbstractTensor* scalar(float value) {
  TF_AbstractTensor* tensor =
      TF_CreateAbstractTensorFromEagerTensor(eager_handle(kit_float(value)), s);
  kit_ok(s);
  return tensor;
}

static TF_AbstractTensor* parameter(TF_ExecutionContext* function) {
  TF_AbstractTensor* tensor =
      TF_AddFunctionParameter(function, TF_FLOAT, (TF_Shape){-1, NULL}, s);
  kit_ok(s);
  return tensor;
}

// Executes an op of |type| in |context| on one or two inputs, for its one output; NULL when it
// fails with |code|.
static TF_AbstractTensor* apply(TF_ExecutionContext* context, const char* type, const char* name,
                                TF_AbstractTensor* a, TF_AbstractTensor* b, TF_Code code) {
  TF_AbstractTensor* inputs[] = {a, b};
  TF_AbstractOp* op = TF_NewAbstractOp(context);
  TF_AbstractOpSetOpType(op, type, s);
  kit_ok(s);
  if (name) TF_AbstractOpSetOpName(op, name, s);
  kit_ok(s);
  TF_OutputList* outputs = TF_NewOutputList();
  TF_OutputListSetNumOutputs(outputs, 1, s);
  kit_ok(s);
  TF_ExecuteOperation(op, b ? 2 : 1, inputs, outputs, s);
  kit_expect(s, code);
  TF_AbstractTensor* result = NULL;
  if (code == TF_OK) {
    assert_int_equal(TF_OutputListNumOutputs(outputs), 1);
    result = TF_OutputListGet(outputs, 0);
  }
  TF_DeleteOutputList(outputs);
  TF_DeleteAbstractOp(op);
  return result;
}

// The value of |tensor|, which is deleted.
static float value_of(TF_AbstractTensor* tensor) {
  TFE_TensorHandle* handle = TF_AbstractTensorGetEagerTensor(tensor, s);
  kit_ok(s);
  TF_Tensor* value = TFE_TensorHandleResolve(handle, s);
  kit_ok(s);
  float number = kit_float_of(value);
  TF_DeleteTensor(value);
  TF_DeleteAbstractTensor(tensor);
  return number;
}

static void test_eager(void** state) {
  TF_AbstractTensor* two = scalar(2);
  assert_float_equal(value_of(apply(eager, "AddV2", "sum", two, two, TF_OK)), 4, 0);
  assert_non_null(TF_ExecutionContextGetTFEContext(eager, s));
  kit_ok(s);
  assert_null(TF_AddFunctionParameter(eager, TF_FLOAT, (TF_Shape){-1, NULL}, s));
  kit_expect(s, TF_INVALID_ARGUMENT);
  TF_AbstractOp* op = TF_NewAbstractOp(eager);
  TF_AbstractOpSetOpType(op, "Cast", s);
  TF_AbstractOpSetAttrType(op, "DstT", TF_INT32, s);
  kit_ok(s);
  TF_OutputList* outputs = TF_NewOutputList();
  TF_OutputListSetNumOutputs(outputs, 1, s);
  TF_ExecuteOperation(op, 1, &two, outputs, s);
  kit_ok(s);
  TF_AbstractTensor* cast = TF_OutputListGet(outputs, 0);
  assert_int_equal(TFE_TensorHandleDataType(TF_AbstractTensorGetEagerTensor(cast, s)), TF_INT32);
  TF_DeleteAbstractTensor(cast);
  TF_DeleteOutputList(outputs);
  TF_DeleteAbstractOp(op);
  TF_DeleteAbstractTensor(two);
}

// (a + b) * a, traced and then run under its name.
static void test_function(void** state) {
  TF_SetTracingImplementation("graphdef", s);
  kit_ok(s);
  TF_SetTracingImplementation("by hand", s);
  kit_expect(s, TF_INVALID_ARGUMENT);
  TF_ExecutionContext* body = TF_CreateFunction("formula", s);
  kit_ok(s);
  assert_null(TF_ExecutionContextGetTFEContext(body, s));
  kit_expect(s, TF_INVALID_ARGUMENT);
  TF_AbstractTensor *a = parameter(body), *b = parameter(body);
  assert_null(TF_AbstractTensorGetEagerTensor(a, s));
  kit_expect(s, TF_INVALID_ARGUMENT);
  TF_AbstractTensor* sum = apply(body, "AddV2", "sum", a, b, TF_OK);
  TF_AbstractTensor* product = apply(body, "Mul", "product", sum, a, TF_OK);
  TF_OutputList* results = TF_NewOutputList();
  TF_OutputListPushBack(results, product, s);
  kit_ok(s);
  TF_AbstractFunction* function = TF_FinalizeFunction(body, results, s);
  kit_ok(s);
  TF_DeleteOutputList(results);
  TF_AbstractTensor* traced[] = {a, b, sum, product};
  for (int i = 0; i < 4; ++i) TF_DeleteAbstractTensor(traced[i]);
  TF_ExecutionContextRegisterFunction(eager, function, s);
  kit_ok(s);
  TF_DeleteAbstractFunction(function);
  TF_AbstractTensor *three = scalar(3), *four = scalar(4);
  assert_float_equal(value_of(apply(eager, "formula", "call", three, four, TF_OK)), 21, 0);
  TF_DeleteAbstractTensor(three);
  TF_DeleteAbstractTensor(four);
}

static void test_mixed_tensors(void** state) {
  TF_ExecutionContext* body = TF_CreateFunction("f", s);
  TF_AbstractTensor *x = parameter(body), *one = scalar(1);
  assert_null(apply(body, "AddV2", "sum", x, one, TF_INVALID_ARGUMENT));
  assert_null(apply(eager, "AddV2", "sum", x, one, TF_INVALID_ARGUMENT));
  TF_OutputList* results = TF_NewOutputList();
  TF_OutputListPushBack(results, one, s);
  assert_ptr_equal(TF_OutputListGet(results, 0), one);
  assert_null(TF_FinalizeFunction(body, results, s));
  kit_expect(s, TF_INVALID_ARGUMENT);
  TF_DeleteOutputList(results);
  TF_DeleteAbstractTensor(x);
  TF_DeleteAbstractTensor(one);
}

// Nodes without a name get one each, and a function may call another. TensorFlow does neither.
static void test_more_than_tensorflow(void** state) {
  TF_ExecutionContext* inner = TF_CreateFunction("inner", s);
  TF_AbstractTensor* x = parameter(inner);
  TF_AbstractTensor* negative = apply(inner, "Neg", NULL, x, NULL, TF_OK);
  TF_AbstractTensor* positive = apply(inner, "Neg", NULL, negative, NULL, TF_OK);
  TF_AbstractTensor* square = apply(inner, "Square", NULL, positive, NULL, TF_OK);
  TF_OutputList* results = TF_NewOutputList();
  TF_OutputListPushBack(results, square, s);
  TF_AbstractFunction* squares = TF_FinalizeFunction(inner, results, s);
  kit_ok(s);
  TF_ExecutionContext* outer = TF_CreateFunction("outer", s);
  TF_ExecutionContextRegisterFunction(outer, squares, s);
  kit_ok(s);
  TF_AbstractTensor* y = parameter(outer);
  TF_AbstractTensor* called = apply(outer, "inner", NULL, y, NULL, TF_OK);
  TF_OutputListSetNumOutputs(results, 0, s);
  TF_OutputListPushBack(results, called, s);
  TF_AbstractFunction* function = TF_FinalizeFunction(outer, results, s);
  kit_ok(s);
  TF_ExecutionContextRegisterFunction(eager, squares, s);
  TF_ExecutionContextRegisterFunction(eager, function, s);
  kit_ok(s);
  TF_AbstractTensor* five = scalar(5);
  assert_float_equal(value_of(apply(eager, "outer", NULL, five, NULL, TF_OK)), 25, 0);
  TF_AbstractTensor* all[] = {x, negative, positive, square, y, called, five};
  for (int i = 0; i < 7; ++i) TF_DeleteAbstractTensor(all[i]);
  TF_DeleteOutputList(results);
  TF_DeleteAbstractFunction(squares);
  TF_DeleteAbstractFunction(function);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_eager, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_function, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_mixed_tensors, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_more_than_tensorflow, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
