// Ops run one by one: eager/c_api.h. Each test opens a context, runs ops on handles of small
// tensors, and compares the results with numbers worked out by hand; variables and queues show what
// a context keeps between ops. Wrong names, types and NULLs must give a status with TensorFlow's
// code. Functions that TensorFlow declares in eager/c_api_experimental.h are tested in
// eager_experimental_test.c.
#include <stdio.h>

#include "capi/eager_kit.h"
#include "tensorflow/c/c_api_experimental.h"

static TFE_Context* open_context(void) {
  TF_Status* s = TF_NewStatus();
  TFE_ContextOptions* options = TFE_NewContextOptions();
  TFE_ContextOptionsSetConfig(options, "\xff", 1, s);
  kit_expect(s, TF_INVALID_ARGUMENT);
  TF_Buffer* config = TF_CreateConfig(0, 1, 1);
  TFE_ContextOptionsSetConfig(options, config->data, config->length, s);
  kit_ok(s);
  TF_DeleteBuffer(config);
  TFE_ContextOptionsSetAsync(options, 0);
  TFE_ContextOptionsSetDevicePlacementPolicy(options, TFE_DEVICE_PLACEMENT_WARN);
  TFE_Context* context = TFE_NewContext(options, s);
  kit_ok(s);
  TFE_DeleteContextOptions(options);
  TF_DeleteStatus(s);
  return context;
}

static void test_arithmetic(void** state) {
  TF_Status* s = TF_NewStatus();
  TFE_Context* context = open_context();
  TFE_TensorHandle *a = eager_handle(kit_int32(30)), *b = eager_handle(kit_int32(12));
  TFE_Op* op = eager_op(context, "AddV2", a, b);
  assert_string_equal(TFE_OpGetName(op, s), "AddV2");
  assert_ptr_equal(TFE_OpGetContext(op, s), context);
  TFE_OpSetDevice(op, "/device:CPU:0", s);
  kit_ok(s);
  assert_true(strstr(TFE_OpGetDevice(op, s), "CPU:0") != NULL);
  TFE_OpSetDevice(op, "/device:GPU:0", s);
  kit_expect(s, TF_INVALID_ARGUMENT);
  TFE_OpSetDevice(op, NULL, s);
  kit_ok(s);
  assert_string_equal(TFE_OpGetDevice(op, s), "");
  assert_int_equal(TFE_OpGetFlatInputCount(op, s), 2);
  assert_ptr_equal(TFE_OpGetFlatInput(op, 1, s), b);
  assert_null(TFE_OpGetFlatInput(op, 2, s));
  kit_expect(s, TF_INVALID_ARGUMENT);
  unsigned char is_list = 7;
  assert_int_equal(TFE_OpGetAttrType(op, "T", &is_list, s), TF_ATTR_TYPE);
  assert_int_equal(is_list, 0);
  TFE_OpGetAttrType(op, "nothing", &is_list, s);
  kit_expect(s, TF_INVALID_ARGUMENT);
  assert_int_equal(TFE_OpNameGetAttrType(context, "Reshape", "Tshape", NULL, s), TF_ATTR_TYPE);
  TFE_DeleteTensorHandle(a);  // the op has its own hold
  TFE_DeleteTensorHandle(b);
  assert_int_equal(eager_int32(eager_result(op)), 42);
  TF_DeviceList* devices = TFE_ContextListDevices(context, s);
  kit_ok(s);
  assert_int_equal(TF_DeviceListCount(devices), 1);
  TF_DeleteDeviceList(devices);
  assert_int_equal(TFE_ContextGetDevicePlacementPolicy(context), TFE_DEVICE_PLACEMENT_WARN);
  TFE_ContextStartStep(context);
  TFE_ContextEndStep(context);
  TFE_DeleteContext(context);
  TF_DeleteStatus(s);
}

static void test_attributes_and_lists(void** state) {
  TF_Status* s = TF_NewStatus();
  TFE_Context* context = open_context();
  const float values[] = {1, 2};
  TFE_TensorHandle* parts[] = {eager_handle(kit_floats(2, values)),
                               eager_handle(kit_floats(2, values))};
  TFE_Op* op = TFE_NewOp(context, "Pack", s);
  TFE_OpAddInputList(op, parts, 2, s);
  kit_ok(s);
  TFE_OpSetAttrInt(op, "axis", 1);
  assert_int_equal(TFE_OpGetInputLength(op, "values", s), 2);
  assert_int_equal(TFE_OpGetOutputLength(op, "output", s), 1);
  assert_int_equal(TFE_OpGetOutputLength(op, "nothing", s), -1);
  kit_expect(s, TF_INVALID_ARGUMENT);
  TFE_TensorHandle* packed = eager_result(op);
  assert_int_equal(TFE_TensorHandleDataType(packed), TF_FLOAT);
  assert_int_equal(TFE_TensorHandleNumDims(packed, s), 2);
  assert_int_equal(TFE_TensorHandleNumElements(packed, s), 4);
  assert_int_equal(TFE_TensorHandleDim(packed, 1, s), 2);
  assert_int_equal(TFE_TensorHandleDim(packed, 2, s), -1);
  kit_expect(s, TF_INVALID_ARGUMENT);
  assert_non_null(TFE_TensorHandleDeviceName(packed, s));
  assert_non_null(TFE_TensorHandleBackingDeviceName(packed, s));
  TFE_TensorDebugInfo* info = TFE_TensorHandleTensorDebugInfo(packed, s);
  assert_int_equal(TFE_TensorDebugInfoOnDeviceNumDims(info), 2);
  assert_int_equal(TFE_TensorDebugInfoOnDeviceDim(info, 0), 2);
  TFE_DeleteTensorDebugInfo(info);
  TFE_TensorHandle* shared = TFE_TensorHandleCopyToDevice(packed, context, "CPU:0", s);
  TF_Tensor* tensor = TFE_TensorHandleResolve(shared, s);
  assert_true(((float*)TF_TensorData(tensor))[1] == 1 && ((float*)TF_TensorData(tensor))[2] == 2);
  TF_DeleteTensor(tensor);
  TFE_DeleteTensorHandle(shared);
  TFE_DeleteTensorHandle(packed);
  // A split gives as many outputs as it is asked for.
  int32_t zero = 0;
  TFE_TensorHandle* axis = TFE_NewTensorHandleFromScalar(TF_INT32, &zero, sizeof zero, s);
  kit_ok(s);
  op = eager_op(context, "Split", axis, parts[0]);
  TFE_OpSetAttrInt(op, "num_split", 2);
  assert_int_equal(TFE_OpGetOutputLength(op, "output", s), 2);
  TFE_TensorHandle* halves[3];
  int count = 1;
  TFE_Execute(op, halves, &count, s);
  kit_expect(s, TF_INVALID_ARGUMENT);
  count = 3;
  TFE_Execute(op, halves, &count, s);
  kit_ok(s);
  assert_int_equal(count, 2);
  TFE_DeleteOp(op);
  for (int i = 0; i < 2; ++i) TFE_DeleteTensorHandle(halves[i]);
  TFE_DeleteTensorHandle(axis);
  for (int i = 0; i < 2; ++i) TFE_DeleteTensorHandle(parts[i]);
  TFE_DeleteContext(context);
  TF_DeleteStatus(s);
}

// A variable lives in the context, and is named by its handle.
static void test_variable(void** state) {
  TF_Status* s = TF_NewStatus();
  TFE_Context* context = open_context();
  TFE_Op* op = TFE_NewOp(context, "VarHandleOp", s);
  TFE_OpSetAttrType(op, "dtype", TF_INT32);
  TFE_OpSetAttrShape(op, "shape", NULL, 0, s);
  TFE_OpSetAttrString(op, "shared_name", "v", 1);
  TFE_TensorHandle* variable = eager_result(op);
  assert_int_equal(TFE_TensorHandleDataType(variable), TF_RESOURCE);
  op = eager_op(context, "ReadVariableOp", variable, NULL);
  TFE_OpSetAttrType(op, "dtype", TF_INT32);
  eager_expect(op, TF_FAILED_PRECONDITION);
  TFE_TensorHandle* seven = eager_handle(kit_int32(7));
  int count = 0;
  op = eager_op(context, "AssignVariableOp", variable, seven);
  TFE_Execute(op, NULL, &count, s);
  kit_ok(s);
  TFE_DeleteOp(op);
  op = eager_op(context, "AssignAddVariableOp", variable, seven);
  TFE_Execute(op, NULL, &count, s);
  TFE_Execute(op, NULL, &count, s);
  kit_ok(s);
  TFE_DeleteOp(op);
  op = eager_op(context, "ReadVariableOp", variable, NULL);
  TFE_OpSetAttrType(op, "dtype", TF_INT32);
  assert_int_equal(eager_int32(eager_result(op)), 21);
  TFE_DeleteTensorHandle(seven);
  TFE_DeleteTensorHandle(variable);
  TFE_DeleteContext(context);
  TF_DeleteStatus(s);
}

// The name by which TensorFlow's eager clients ask for a variable that no other op finds.
static void test_anonymous_variables(void** state) {
  TF_Status* s = TF_NewStatus();
  TFE_Context* context = eager_open();
  TFE_TensorHandle* variables[2];
  for (int i = 0; i < 2; ++i) {
    TFE_Op* op = eager_op(context, "VarHandleOp", NULL, NULL);
    TFE_OpSetAttrType(op, "dtype", TF_FLOAT);
    TFE_OpSetAttrShape(op, "shape", NULL, 0, s);
    TFE_OpSetAttrString(op, "shared_name", "cd2c89b7-88b7-44c8-ad83-06c2a9158347", 36);
    variables[i] = eager_result(op);
    TFE_TensorHandle* value = eager_handle(kit_float((float)i));
    op = eager_op(context, "AssignVariableOp", variables[i], value);
    int count = 0;
    TFE_Execute(op, NULL, &count, s);
    kit_ok(s);
    TFE_DeleteOp(op);
    TFE_DeleteTensorHandle(value);
  }
  for (int i = 0; i < 2; ++i) {
    TFE_Op* op = eager_op(context, "ReadVariableOp", variables[i], NULL);
    TFE_OpSetAttrType(op, "dtype", TF_FLOAT);
    assert_true(eager_float(eager_result(op)) == (float)i);
    TFE_DeleteTensorHandle(variables[i]);
  }
  TFE_DeleteContext(context);
  TF_DeleteStatus(s);
}

// A queue without a name is its kernel's, which the context keeps.
static void test_queue(void** state) {
  TF_Status* s = TF_NewStatus();
  TFE_Context* context = open_context();
  const TF_DataType type = TF_INT32;
  TFE_Op* op = TFE_NewOp(context, "FIFOQueueV2", s);
  TFE_OpSetAttrTypeList(op, "component_types", &type, 1);
  TFE_TensorHandle* queue = eager_result(op);
  TFE_TensorHandle* five = eager_handle(kit_int32(5));
  int count = 0;
  op = eager_op(context, "QueueEnqueueV2", queue, five);
  TFE_Execute(op, NULL, &count, s);
  kit_ok(s);
  TFE_DeleteOp(op);
  op = eager_op(context, "QueueDequeueV2", queue, NULL);
  TFE_OpSetAttrTypeList(op, "component_types", &type, 1);
  assert_int_equal(eager_int32(eager_result(op)), 5);
  TFE_DeleteTensorHandle(five);
  TFE_DeleteTensorHandle(queue);
  TFE_ContextClearCaches(context);
  TFE_DeleteContext(context);
  TF_DeleteStatus(s);
}

// An op whose output is a reference gives the value behind it. The queue of a FIFOQueue is named by
// two strings, of which the second is each queue's own; an op that takes the reference itself is
// refused, and so is a variable that has no value yet.
static void test_references(void** state) {
  TF_Status* s = TF_NewStatus();
  TFE_Context* context = open_context();
  const TF_DataType type = TF_INT32;
  char names[2][64];
  for (int i = 0; i < 2; ++i) {
    TFE_Op* op = TFE_NewOp(context, "FIFOQueue", s);
    TFE_OpSetAttrTypeList(op, "component_types", &type, 1);
    TFE_TensorHandle* queue = eager_result(op);
    assert_int_equal(TFE_TensorHandleDataType(queue), TF_STRING);
    TF_Tensor* strings = TFE_TensorHandleResolve(queue, s);
    kit_ok(s);
    assert_int_equal(TF_TensorElementCount(strings), 2);
    const TF_TString* name = (const TF_TString*)TF_TensorData(strings) + 1;
    snprintf(names[i], sizeof names[i], "%.*s", (int)TF_TString_GetSize(name),
             TF_TString_GetDataPointer(name));
    TF_DeleteTensor(strings);
    eager_expect(eager_op(context, "QueueSize", queue, NULL), TF_INVALID_ARGUMENT);
    TFE_DeleteTensorHandle(queue);
  }
  assert_string_not_equal(names[0], names[1]);
  TFE_Op* op = TFE_NewOp(context, "VariableV2", s);
  TFE_OpSetAttrType(op, "dtype", TF_FLOAT);
  TFE_OpSetAttrShape(op, "shape", NULL, 0, s);
  eager_expect(op, TF_FAILED_PRECONDITION);
  TFE_DeleteContext(context);
  TF_DeleteStatus(s);
}

// Words that clients look for in messages.
static void test_messages(void** state) {
  TF_Status* s = TF_NewStatus();
  TFE_Context* context = open_context();
  const int64_t wide[] = {2, 3}, square[] = {2, 2};
  TFE_TensorHandle* a = eager_handle(TF_AllocateTensor(TF_FLOAT, wide, 2, 24));
  TFE_TensorHandle* b = eager_handle(TF_AllocateTensor(TF_FLOAT, square, 2, 16));
  const struct {
    const char *equation, *text;
  } cases[] = {
      {"ij,jk->ik", "Expected dimension 3 at axis 0 of the input shaped [2,2] but got dimension 2"},
      {"ij->ji", "Expected 1 inputs but got: 2"},
  };
  for (int i = 0; i < 2; ++i) {
    TFE_TensorHandle *both[] = {a, b}, *result = NULL;
    int count = 1;
    TFE_Op* op = TFE_NewOp(context, "Einsum", s);
    TFE_OpSetAttrString(op, "equation", cases[i].equation, strlen(cases[i].equation));
    TFE_OpAddInputList(op, both, 2, s);
    TFE_Execute(op, &result, &count, s);
    kit_expect_text(s, TF_INVALID_ARGUMENT, cases[i].text);
    TFE_DeleteOp(op);
  }
  assert_null(TFE_NewOp(context, "NoSuchOp", s));
  kit_expect_text(s, TF_NOT_FOUND, "Op type not registered 'NoSuchOp' in binary");
  TFE_DeleteTensorHandle(a);
  TFE_DeleteTensorHandle(b);
  TFE_DeleteContext(context);
  TF_DeleteStatus(s);
}

static void test_refusals(void** state) {
  TF_Status* s = TF_NewStatus();
  TFE_Context* context = open_context();
  TFE_TensorHandle *a = eager_handle(kit_int32(1)), *b = eager_handle(kit_float(1));
  assert_null(TFE_NewOp(context, "NoSuchOp", s));
  kit_expect(s, TF_NOT_FOUND);
  assert_null(TFE_NewOp(context, NULL, s));
  kit_expect(s, TF_NOT_FOUND);
  assert_null(TFE_NewContext(NULL, s));
  kit_expect(s, TF_INVALID_ARGUMENT);
  assert_null(TFE_NewTensorHandle(NULL, s));
  kit_expect(s, TF_INVALID_ARGUMENT);
  assert_null(TFE_TensorHandleResolve(NULL, s));
  kit_expect(s, TF_INVALID_ARGUMENT);
  assert_null(TFE_TensorHandleCopyToDevice(a, context, "NoSuchDevice:0", s));
  kit_expect_text(s, TF_INVALID_ARGUMENT, "NoSuchDevice:0 unknown device");
  assert_int_equal(TFE_TensorHandleNumDims(NULL, s), -1);
  kit_expect(s, TF_INVALID_ARGUMENT);
  eager_expect(eager_op(context, "AddV2", a, b), TF_INVALID_ARGUMENT);     // types
  eager_expect(eager_op(context, "AddV2", a, NULL), TF_INVALID_ARGUMENT);  // too few
  eager_expect(eager_op(context, "Merge", a, a), TF_UNIMPLEMENTED);
  eager_expect(eager_op(context, "Placeholder", NULL, NULL), TF_UNIMPLEMENTED);
  TFE_Op* op = eager_op(context, "MatMul", b, b);
  eager_expect(op, TF_INVALID_ARGUMENT);  // ranks
  op = TFE_NewOp(context, "Neg", s);
  TFE_OpSetAttrType(op, "T", TF_STRING);
  TFE_OpAddInput(op, a, s);
  eager_expect(op, TF_INVALID_ARGUMENT);
  op = TFE_NewOp(context, "Neg", s);
  TFE_OpAddInput(op, NULL, s);
  kit_expect(s, TF_INVALID_ARGUMENT);
  eager_expect(op, TF_INVALID_ARGUMENT);
  TFE_DeleteOp(NULL);
  TFE_DeleteTensorHandle(NULL);
  TFE_DeleteContext(NULL);
  TFE_DeleteContextOptions(NULL);
  TFE_DeleteTensorHandle(a);
  TFE_DeleteTensorHandle(b);
  TFE_DeleteContext(context);
  TF_DeleteStatus(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_arithmetic), cmocka_unit_test(test_attributes_and_lists),
      cmocka_unit_test(test_variable), cmocka_unit_test(test_anonymous_variables),
      cmocka_unit_test(test_queue),
      cmocka_unit_test(test_references),
      cmocka_unit_test(test_messages),
      cmocka_unit_test(test_refusals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
