// Ops and kernels of others: loaded from a library, and registered by this program; which kernel a
// node gets; kernels that wait. The library is the example that users are shown (examples), loaded
// by its path from the build folder; the rest is registered through the same public functions. Ops
// stay registered for the life of the process, so each test uses names of its own. What a kernel
// may do while it runs is tested in plugin_kernel_test.c.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "capi/plugin_kit.h"
#include "tensorflow/c/c_api_experimental.h"

// ---- the library --------------------------------------------------------------------------------

static void test_library(void** state) {
  char path[1000];
  TF_Status* s = TF_NewStatus();
  snprintf(path, sizeof path, "%s/lib/zero_out_plugin.so", getenv("LEAT_BUILD_DIR"));
  TF_Library* library = TF_LoadLibrary(path, s);
  kit_ok(s);
  TF_Buffer ops = TF_GetOpList(library);
  assert_true(holds(ops.data, ops.length, "ZeroOut"));
  assert_true(holds(ops.data, ops.length, "to_zero"));
  TF_Library* again = TF_LoadLibrary(path, s);
  kit_ok(s);
  assert_int_equal(TF_GetOpList(again).length, ops.length);
  TF_DeleteLibraryHandle(again);
  TF_Buffer* all = TF_GetAllOpList();
  assert_true(holds(all->data, all->length, "ZeroOut"));
  TF_DeleteBuffer(all);
  all = TF_GetRegisteredKernelsForOp("ZeroOut", s);
  assert_true(holds(all->data, all->length, "ZeroOut"));
  TF_DeleteBuffer(all);
  all = TF_GetAllRegisteredKernels(s);
  assert_true(holds(all->data, all->length, "ZeroOut"));
  TF_DeleteBuffer(all);

  TF_Graph* graph = TF_NewGraph();
  const float values[] = {4, 5, 6};
  TF_Operation* y = kit_unary(graph, "ZeroOut", "y", kit_const(graph, "x", kit_floats(3, values)));
  assert_int_equal(TF_GraphGetTensorNumDims(graph, kit_out(y, 0), s), 1);
  TF_Tensor* result = run_node(graph, y, s);
  kit_ok(s);
  const float* zeroed = TF_TensorData(result);
  assert_true(zeroed[0] == 4 && zeroed[1] == 0 && zeroed[2] == 0);
  TF_DeleteTensor(result);
  TF_DeleteGraph(graph);
  // A type that has no kernel.
  graph = TF_NewGraph();
  TF_OperationDescription* desc = TF_NewOperation(graph, "ZeroOut", "y");
  TF_AddInput(desc, kit_out(kit_placeholder(graph, "x", TF_STRING), 0));
  assert_null(TF_FinishOperation(desc, s));
  kit_expect(s, TF_INVALID_ARGUMENT);
  TF_DeleteGraph(graph);
  TF_DeleteLibraryHandle(library);
  TF_DeleteStatus(s);
}

static void test_no_library(void** state) {
  char path[1000];
  TF_Status* s = TF_NewStatus();
  // It brings no devices, nor kernels for such: nothing more is to be done.
  snprintf(path, sizeof path, "%s/lib/zero_out_plugin.so", getenv("LEAT_BUILD_DIR"));
  TF_Library* library = TF_LoadPluggableDeviceLibrary(path, s);
  kit_ok(s);
  assert_non_null(library);
  TF_DeletePluggableDeviceLibraryHandle(library);
  assert_null(TF_LoadPluggableDeviceLibrary("/nowhere/nothing.so", s));
  kit_expect(s, TF_NOT_FOUND);
  assert_null(TF_LoadLibrary("/nowhere/nothing.so", s));
  kit_expect_text(s, TF_NOT_FOUND, "nothing.so");
  assert_null(TF_LoadLibrary(NULL, s));
  kit_expect(s, TF_INVALID_ARGUMENT);
  assert_null(TF_LoadLibrary("", s));
  kit_expect(s, TF_INVALID_ARGUMENT);
  assert_int_equal(TF_GetOpList(NULL).length, 0);
  TF_DeleteLibraryHandle(NULL);
  TF_DeleteStatus(s);
}

// ---- ops ----------------------------------------------------------------------------------------

static void test_bad_ops(void** state) {
  TF_Status* s = TF_NewStatus();
  assert_int_equal(register_op(NULL, NULL, NULL, NULL, NULL), TF_INVALID_ARGUMENT);
  assert_int_equal(register_op("", NULL, NULL, NULL, NULL), TF_INVALID_ARGUMENT);
  assert_int_equal(register_op("small", NULL, NULL, NULL, NULL), TF_INVALID_ARGUMENT);
  assert_int_equal(register_op("Has Space", NULL, NULL, NULL, NULL), TF_INVALID_ARGUMENT);
  assert_int_equal(register_op("BadIn", "x", NULL, NULL, NULL), TF_INVALID_ARGUMENT);
  assert_int_equal(register_op("BadIn", "x: T", NULL, NULL, NULL), TF_INVALID_ARGUMENT);
  assert_int_equal(register_op("BadIn", "", NULL, NULL, NULL), TF_INVALID_ARGUMENT);
  assert_int_equal(register_op("BadOut", NULL, "y: floot", NULL, NULL), TF_INVALID_ARGUMENT);
  assert_int_equal(register_op("Two", "x: float; y: float", NULL, NULL, NULL),
                   TF_INVALID_ARGUMENT);
  assert_int_equal(register_op("BadAttr", NULL, NULL, "a: int = x", NULL), TF_INVALID_ARGUMENT);
  assert_int_equal(register_op("MatMul", NULL, NULL, NULL, NULL), TF_ALREADY_EXISTS);
  assert_int_equal(register_op("Twice", NULL, NULL, NULL, NULL), TF_OK);
  assert_int_equal(register_op("Twice", NULL, NULL, NULL, NULL), TF_ALREADY_EXISTS);
  TF_RegisterOpDefinition(NULL, s);
  kit_expect(s, TF_INVALID_ARGUMENT);
  TF_DeleteOpDefinitionBuilder(NULL);
  TF_DeleteOpDefinitionBuilder(TF_NewOpDefinitionBuilder("Unused"));
  TF_DeleteStatus(s);
}

static void test_declared(void** state) {
  TF_Status* s = TF_NewStatus();
  TF_OpDefinitionBuilder* builder = TF_NewOpDefinitionBuilder("Declared");
  TF_OpDefinitionBuilderAddAttr(builder, "N: int >= 2 = 2");
  TF_OpDefinitionBuilderAddAttr(builder, "mode: {'a;b', 'c'} = 'a;b'");
  TF_OpDefinitionBuilderAddInput(builder, "xs: N * float");
  TF_OpDefinitionBuilderAddOutput(builder, "y: float");
  TF_OpDefinitionBuilderSetIsCommutative(builder, true);
  TF_OpDefinitionBuilderSetIsAggregate(builder, true);
  TF_OpDefinitionBuilderSetAllowsUninitializedInput(builder, true);
  TF_OpDefinitionBuilderSetAllowsUninitializedInput(builder, false);
  TF_OpDefinitionBuilderDeprecated(builder, 5000, "too early");
  TF_OpDefinitionBuilderDeprecated(builder, 9000, "later");
  TF_RegisterOpDefinition(builder, s);
  kit_ok(s);
  TF_Graph* graph = TF_NewGraph();
  TF_Buffer* def = TF_NewBuffer();
  TF_GraphGetOpDef(graph, "Declared", def, s);
  kit_ok(s);
  assert_true(holds(def->data, def->length, "a;b"));
  assert_true(holds(def->data, def->length, "later"));
  assert_false(holds(def->data, def->length, "early"));
  assert_true(holds(def->data, def->length, "\x80\x01\x01"));  // is_aggregate
  assert_true(holds(def->data, def->length, "\x90\x01\x01"));  // is_commutative
  TF_DeleteBuffer(def);
  TF_DeleteGraph(graph);
  TF_DeleteStatus(s);
}

// Everything that a shape function may ask, over an input [2, ?, 4].
static void shapes(TF_ShapeInferenceContext* ctx, TF_Status* s) {
  TF_ShapeHandle *a = TF_NewShapeHandle(), *b = TF_NewShapeHandle();
  TF_DimensionHandle* dim = TF_NewDimensionHandle();
  TF_DataType type = TF_FLOAT;
  assert_int_equal(TF_ShapeInferenceContextNumInputs(ctx), 1);
  assert_int_equal(TF_ShapeInferenceContextRankKnown(ctx, a), 0);
  assert_int_equal(TF_ShapeInferenceContextRank(ctx, a), -1);
  TF_ShapeInferenceContextGetInput(ctx, 1, a, s);
  kit_expect(s, TF_INVALID_ARGUMENT);
  TF_ShapeInferenceContextGetInput(ctx, -1, a, s);
  kit_expect(s, TF_INVALID_ARGUMENT);
  TF_ShapeInferenceContextWithRank(ctx, a, 5, b, s);
  kit_ok(s);
  assert_int_equal(TF_ShapeInferenceContextRank(ctx, b), 5);
  TF_ShapeInferenceContextWithRank(ctx, a, -7, b, s);
  kit_expect(s, TF_INVALID_ARGUMENT);
  TF_ShapeInferenceContextGetInput(ctx, 0, a, s);
  kit_ok(s);
  TF_ShapeInferenceContextWithRank(ctx, a, 2, b, s);
  kit_expect(s, TF_INVALID_ARGUMENT);
  TF_ShapeInferenceContextWithRankAtLeast(ctx, a, 4, b, s);
  kit_expect(s, TF_INVALID_ARGUMENT);
  TF_ShapeInferenceContextWithRankAtMost(ctx, a, 2, b, s);
  kit_expect(s, TF_INVALID_ARGUMENT);
  TF_ShapeInferenceContextWithRankAtLeast(ctx, a, 3, b, s);
  kit_ok(s);
  TF_ShapeInferenceContextWithRankAtMost(ctx, b, 3, b, s);
  kit_ok(s);
  TF_ShapeInferenceContextDim(ctx, b, 0, dim);
  assert_int_equal(TF_DimensionHandleValue(dim), 2);
  TF_ShapeInferenceContextDim(ctx, b, -1, dim);
  assert_int_equal(TF_DimensionHandleValue(dim), 4);
  TF_ShapeInferenceContextDim(ctx, b, 1, dim);
  assert_int_equal(TF_DimensionHandleValueKnown(dim), 0);
  TF_ShapeInferenceContextDim(ctx, b, 3, dim);
  assert_int_equal(TF_DimensionHandleValueKnown(dim), 0);
  TF_ShapeInferenceContextSubshape(ctx, a, 2, 1, b, s);
  kit_expect(s, TF_INVALID_ARGUMENT);
  TF_ShapeInferenceContextSubshape(ctx, a, -1, INT64_MAX, b, s);
  kit_ok(s);
  TF_ShapeHandle* seven = TF_ShapeInferenceContextVectorFromSize(ctx, 7);
  TF_ShapeInferenceContextConcatenateShapes(ctx, b, seven, b, s);
  kit_ok(s);
  TF_DeleteShapeHandle(seven);
  TF_ShapeHandle* scalar = TF_ShapeInferenceContextScalar(ctx);
  assert_int_equal(TF_ShapeInferenceContextRank(ctx, scalar), 0);
  TF_DeleteShapeHandle(scalar);
  TF_ShapeInferenceContext_GetAttrType(ctx, "nothing", &type, s);
  kit_expect(s, TF_NOT_FOUND);
  TF_ShapeInferenceContext_GetAttrType(ctx, NULL, &type, s);
  kit_expect(s, TF_NOT_FOUND);
  TF_ShapeInferenceContext_GetAttrType(ctx, "T", &type, s);
  kit_ok(s);
  assert_int_equal(type, TF_INT32);
  TF_ShapeInferenceContextSetOutput(ctx, 1, b, s);
  kit_expect(s, TF_INVALID_ARGUMENT);
  TF_ShapeInferenceContextSetUnknownShape(ctx, s);
  kit_ok(s);
  TF_ShapeInferenceContextSetOutput(ctx, 0, b, s);
  TF_DeleteDimensionHandle(dim);
  TF_DeleteShapeHandle(a);
  TF_DeleteShapeHandle(b);
  TF_DeleteShapeHandle(NULL);
  TF_DeleteDimensionHandle(NULL);
}

static void refuses(TF_ShapeInferenceContext* ctx, TF_Status* s) {
  TF_SetStatus(s, TF_FAILED_PRECONDITION, "not today");
}

static void test_shapes(void** state) {
  TF_Status* s = TF_NewStatus();
  const int64_t dims[] = {2, -1, 4};
  int64_t found[2] = {0, 0};
  assert_int_equal(register_op("Shapes", "x: T", "y: T", "T: type", shapes), TF_OK);
  assert_int_equal(register_op("Refuses", "x: int32", "y: int32", NULL, refuses), TF_OK);
  TF_Graph* graph = TF_NewGraph();
  TF_Operation* x = kit_shaped(graph, "x", TF_INT32, 3, dims);
  TF_Operation* y = kit_unary(graph, "Shapes", "y", x);
  TF_GraphGetTensorShape(graph, kit_out(y, 0), found, 2, s);
  kit_ok(s);
  assert_true(found[0] == 4 && found[1] == 7);
  TF_OperationDescription* desc = TF_NewOperation(graph, "Refuses", "z");
  TF_AddInput(desc, kit_out(x, 0));
  assert_null(TF_FinishOperation(desc, s));
  kit_expect_text(s, TF_FAILED_PRECONDITION, "not today");
  TF_DeleteGraph(graph);
  TF_DeleteStatus(s);
}

// ---- choice, and waiting ------------------------------------------------------------------------

static void answer(TF_OpKernelContext* ctx, int32_t value) {
  TF_Status* s = TF_NewStatus();
  TF_Tensor* tensor = kit_int32(value);
  TF_SetOutput(ctx, 0, tensor, s);
  TF_DeleteTensor(tensor);
  TF_DeleteStatus(s);
}
static void answers_1(void* kernel, TF_OpKernelContext* ctx) { answer(ctx, 1); }
static void answers_2(void* kernel, TF_OpKernelContext* ctx) { answer(ctx, 2); }
static void answers_3(void* kernel, TF_OpKernelContext* ctx) { answer(ctx, 3); }

static void test_choice(void** state) {
  TF_Status* s = TF_NewStatus();
  assert_int_equal(register_op("Chosen", "x: int32", "y: int32", NULL, NULL), TF_OK);
  register_kernel("Chosen", answers_1);
  TF_Tensor* result = run_op("Chosen", s);
  assert_int_equal(kit_int32_of(result), 1);
  TF_DeleteTensor(result);
  TF_KernelBuilder* builder = TF_NewKernelBuilder("Chosen", "CPU", NULL, answers_2, NULL);
  TF_KernelBuilder_Label(builder, "other");
  TF_KernelBuilder_Priority(builder, 9);
  TF_RegisterKernelBuilder("two", builder, s);
  kit_ok(s);
  result = run_op("Chosen", s);  // the label is not asked for
  assert_int_equal(kit_int32_of(result), 1);
  TF_DeleteTensor(result);
  TF_Graph* graph = TF_NewGraph();
  TF_OperationDescription* desc = TF_NewOperation(graph, "Chosen", "y");
  TF_AddInput(desc, kit_out(kit_const_int32(graph, "x", 5), 0));
  TF_SetAttrString(desc, "_kernel", "other", 5);
  TF_Operation* y = kit_finish(desc);
  result = run_node(graph, y, s);
  kit_ok(s);
  assert_int_equal(kit_int32_of(result), 2);
  TF_DeleteTensor(result);
  TF_DeleteGraph(graph);
  // By a KernelDef: op "Chosen", device "CPU", host memory "x", priority 3.
  builder = TF_NewKernelBuilder("Else", "GPU", NULL, answers_3, NULL);
  TF_RegisterKernelBuilderWithKernelDef("\x0a\x06" "Chosen\x12\x03" "CPU\x22\x01x\x30\x03",
                                        "three", builder, s);
  kit_ok(s);
  result = run_op("Chosen", s);
  assert_int_equal(kit_int32_of(result), 3);
  TF_DeleteTensor(result);
  TF_DeleteStatus(s);
}

static void* finish_later(void* done) {
  TF_RunAsyncOpKernelDoneCallback(done);
  return NULL;
}

static pthread_t helper;
static void waits(void* kernel, TF_OpKernelContext* ctx, TF_AsyncOpKernelDoneCallback* done) {
  answer(ctx, 11);
  assert_int_equal(pthread_create(&helper, NULL, finish_later, done), 0);
}
static void fails_at_once(void* kernel, TF_OpKernelContext* ctx,
                          TF_AsyncOpKernelDoneCallback* done) {
  TF_Status* s = TF_NewStatus();
  TF_SetStatus(s, TF_ABORTED, "at once");
  TF_OpKernelContext_Failure(ctx, s);
  TF_DeleteStatus(s);
  TF_RunAsyncOpKernelDoneCallback(done);
}

static void test_asynchronous(void** state) {
  TF_Status* s = TF_NewStatus();
  assert_int_equal(register_op("Waits", "x: int32", "y: int32", NULL, NULL), TF_OK);
  assert_int_equal(register_op("FailsAtOnce", "x: int32", "y: int32", NULL, NULL), TF_OK);
  TF_RegisterKernelBuilder("w", TF_NewAsyncKernelBuilder("Waits", "CPU", NULL, waits, NULL), s);
  kit_ok(s);
  TF_RegisterKernelBuilder(
      "f", TF_NewAsyncKernelBuilder("FailsAtOnce", "CPU", NULL, fails_at_once, NULL), s);
  TF_Tensor* result = run_op("Waits", s);
  kit_ok(s);
  pthread_join(helper, NULL);
  assert_int_equal(kit_int32_of(result), 11);
  TF_DeleteTensor(result);
  assert_null(run_op("FailsAtOnce", s));
  kit_expect_text(s, TF_ABORTED, "at once");
  TF_DeleteStatus(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_library),
      cmocka_unit_test(test_no_library),
      cmocka_unit_test(test_bad_ops),
      cmocka_unit_test(test_declared),
      cmocka_unit_test(test_shapes),
      cmocka_unit_test(test_choice),
      cmocka_unit_test(test_asynchronous),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
