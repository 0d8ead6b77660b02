// TFE_InferShapes: the shapes of outputs from shapes and values of inputs, for ops whose types come
// from their attributes, from the given list or from handles. Nothing is executed; each test builds
// an op in an eager context, gives it a list of shapes and reads the list that comes back. The
// expected shapes are worked out by hand, and TensorFlow 2.21's library passes this program too.
// The tests catch attributes of the op that are passed over, unknown sizes that are taken for known
// ones, a value that does not count where it says the shape, and inputs of a list that are counted
// wrong. Shapes that do not agree, and more shapes than an op has inputs, must give
// INVALID_ARGUMENT.
#include "capi/eager_kit.h"
#include "tensorflow/c/c_api_experimental.h"

static TFE_Context* context;
static TF_Status* s;

static int set_up(void** state) {
  context = eager_open();
  s = TF_NewStatus();
  return 0;
}

static int tear_down(void** state) {
  TFE_DeleteContext(context);
  TF_DeleteStatus(s);
  return 0;
}

// Infers for |op|, which is deleted, and expects one output of |rank| dimensions |dims|.
static void expect_shape(TFE_Op* op, TF_ShapeAndTypeList* inputs, TF_Tensor** values, int rank,
                         const int64_t* dims) {
  TF_ShapeAndTypeList* outputs = NULL;
  TFE_InferShapes(op, inputs, values, NULL, NULL, &outputs, NULL, s);
  kit_ok(s);
  assert_int_equal(outputs->num_items, 1);
  assert_int_equal(outputs->items[0].num_dims, rank);
  for (int i = 0; i < rank; ++i) assert_int_equal(outputs->items[0].dims[i], dims[i]);
  TF_DeleteShapeAndTypeList(outputs);
  TFE_DeleteOp(op);
}

static void test_product(void** state) {
  const int64_t a[] = {3, 2}, b[] = {2, 4}, unknown[] = {-1, 4};
  TF_ShapeAndTypeList* inputs = TF_NewShapeAndTypeList(2);
  TF_ShapeAndTypeListSetShape(inputs, 0, a, 2);
  TF_ShapeAndTypeListSetShape(inputs, 1, b, 2);
  TFE_Op* op = eager_op(context, "MatMul", NULL, NULL);
  TFE_OpSetAttrType(op, "T", TF_FLOAT);
  expect_shape(op, inputs, NULL, 2, (const int64_t[]){3, 4});
  op = eager_op(context, "MatMul", NULL, NULL);
  TFE_OpSetAttrType(op, "T", TF_FLOAT);
  TFE_OpSetAttrBool(op, "transpose_b", 1);
  TFE_InferShapes(op, inputs, NULL, NULL, NULL, NULL, NULL, s);  // 2 and 4 do not agree
  kit_expect(s, TF_INVALID_ARGUMENT);
  TF_ShapeAndTypeListSetUnknownShape(inputs, 0);
  TF_ShapeAndTypeListSetShape(inputs, 1, a, 2);
  expect_shape(op, inputs, NULL, 2, (const int64_t[]){-1, 3});
  TF_ShapeAndTypeListSetShape(inputs, 0, unknown, 2);
  TF_ShapeAndTypeListSetDtype(inputs, 0, TF_INT32);
  TF_ShapeAndTypeListSetDtype(inputs, 1, TF_INT32);
  TF_ShapeAndTypeListSetShape(inputs, 1, (const int64_t[]){4, 5}, 2);
  expect_shape(eager_op(context, "MatMul", NULL, NULL), inputs, NULL, 2,
               (const int64_t[]){-1, 5});
  TF_DeleteShapeAndTypeList(inputs);
}

// The value of an input counts where it says the shape.
static void test_value(void** state) {
  const int64_t dims[] = {4, 3}, two[] = {2};
  const int32_t wanted[] = {2, -1};
  TF_ShapeAndTypeList* inputs = TF_NewShapeAndTypeList(2);
  TF_ShapeAndTypeListSetShape(inputs, 0, dims, 2);
  TF_ShapeAndTypeListSetShape(inputs, 1, two, 1);
  TF_Tensor* values[] = {NULL, kit_tensor(TF_INT32, 1, two, wanted, sizeof wanted)};
  TFE_Op* op = eager_op(context, "Reshape", NULL, NULL);
  TFE_OpSetAttrType(op, "T", TF_FLOAT);
  expect_shape(op, inputs, values, 2, (const int64_t[]){2, 6});
  op = eager_op(context, "Reshape", NULL, NULL);
  TFE_OpSetAttrType(op, "T", TF_FLOAT);
  expect_shape(op, inputs, NULL, 2, (const int64_t[]){-1, -1});
  TF_DeleteTensor(values[1]);
  TF_DeleteShapeAndTypeList(inputs);
}

static void test_lists(void** state) {
  const TF_DataType types[] = {TF_FLOAT, TF_INT32};
  TF_ShapeAndTypeList* inputs = TF_NewShapeAndTypeList(3);
  for (int i = 0; i < 3; ++i) TF_ShapeAndTypeListSetShape(inputs, i, (const int64_t[]){7}, 1);
  TFE_Op* op = eager_op(context, "Pack", NULL, NULL);
  TFE_OpSetAttrInt(op, "N", 3);
  TFE_OpSetAttrType(op, "T", TF_FLOAT);
  expect_shape(op, inputs, NULL, 2, (const int64_t[]){3, 7});
  op = eager_op(context, "Pack", NULL, NULL);
  TFE_OpSetAttrInt(op, "N", 3);
  expect_shape(op, inputs, NULL, 2, (const int64_t[]){3, 7});  // of whatever type
  op = eager_op(context, "Neg", NULL, NULL);
  TFE_InferShapes(op, inputs, NULL, NULL, NULL, NULL, NULL, s);  // of one input
  kit_expect(s, TF_INVALID_ARGUMENT);
  TFE_DeleteOp(op);
  inputs->num_items = 2;
  op = eager_op(context, "IdentityN", NULL, NULL);
  TFE_OpSetAttrTypeList(op, "T", types, 2);
  TF_ShapeAndTypeList* outputs = NULL;
  TFE_InferShapes(op, inputs, NULL, NULL, NULL, &outputs, NULL, s);
  kit_ok(s);
  assert_int_equal(outputs->num_items, 2);
  assert_int_equal(outputs->items[1].dims[0], 7);
  TF_DeleteShapeAndTypeList(outputs);
  TFE_DeleteOp(op);
  inputs->num_items = 3;
  TF_DeleteShapeAndTypeList(inputs);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_product, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_value, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_lists, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
