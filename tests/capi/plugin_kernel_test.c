// What kernels of plugins may ask and do, and what they are told when they do what they must not.
// The test registers ops and kernels of its own through the public functions, builds a graph with
// one of them, and runs it. The assertions about the kernel's side stand in the kernels themselves;
// outside only the step's status and result are looked at. Loading of libraries, declaring ops and
// choosing among kernels are tested in plugin_test.c.
#include "capi/plugin_kit.h"

// ---- kernels ------------------------------------------------------------------------------------

static void test_bad_kernels(void** state) {
  TF_Status* s = TF_NewStatus();
  compute_t compute = (compute_t)(void*)register_kernel;  // never called
  TF_RegisterKernelBuilder("k", TF_NewKernelBuilder(NULL, "CPU", NULL, compute, NULL), s);
  kit_expect_text(s, TF_INVALID_ARGUMENT, "an op");
  TF_RegisterKernelBuilder("k", TF_NewKernelBuilder("NoOp", NULL, NULL, compute, NULL), s);
  kit_expect_text(s, TF_INVALID_ARGUMENT, "a device");
  TF_RegisterKernelBuilder(NULL, TF_NewKernelBuilder("NoOp", "CPU", NULL, NULL, NULL), s);
  kit_expect_text(s, TF_INVALID_ARGUMENT, "compute");
  TF_RegisterKernelBuilder("k", NULL, s);
  kit_expect(s, TF_INVALID_ARGUMENT);
  TF_KernelBuilder* builder = TF_NewKernelBuilder("NoOp", "CPU", NULL, compute, NULL);
  TF_KernelBuilder_TypeConstraint(builder, "T", (TF_DataType)77, s);
  kit_expect(s, TF_UNIMPLEMENTED);
  TF_KernelBuilder_TypeConstraint(builder, NULL, TF_FLOAT, s);
  kit_expect(s, TF_INVALID_ARGUMENT);
  TF_KernelBuilder_TypeConstraint(builder, "T: x", TF_FLOAT, s);
  kit_expect(s, TF_INVALID_ARGUMENT);
  TF_RegisterKernelBuilderWithKernelDef("\xff\xff", "k", builder, s);
  kit_expect(s, TF_INVALID_ARGUMENT);
  TF_DeleteKernelBuilder(NULL);
  TF_DeleteKernelBuilder(TF_NewKernelBuilder("NoOp", "CPU", NULL, compute, NULL));
  TF_DeleteStatus(s);
}

static void sets_wrong_type(void* kernel, TF_OpKernelContext* ctx) {
  TF_Status* s = TF_NewStatus();
  TF_Tensor* wrong = kit_float(1);
  TF_SetOutput(ctx, 0, wrong, s);
  kit_expect(s, TF_INVALID_ARGUMENT);
  TF_DeleteTensor(wrong);
  TF_DeleteStatus(s);
}

static void allocates_wrong_type(void* kernel, TF_OpKernelContext* ctx) {
  TF_Status* s = TF_NewStatus();
  assert_null(TF_AllocateOutput(ctx, 0, TF_STRING, NULL, 0, 4, s));
  kit_expect(s, TF_INVALID_ARGUMENT);
  TF_DeleteStatus(s);
}

static void allocates_badly(void* kernel, TF_OpKernelContext* ctx) {
  TF_Status* s = TF_NewStatus();
  const int64_t negative = -3, huge[] = {INT64_MAX, 3};
  TF_DeleteTensor(TF_AllocateOutput(ctx, 0, TF_INT32, NULL, 0, 4, s));
  kit_ok(s);
  assert_null(TF_AllocateOutput(ctx, 0, TF_INT32, &negative, 1, 4, s));
  kit_expect(s, TF_INVALID_ARGUMENT);
  assert_null(TF_AllocateOutput(ctx, 0, TF_INT32, NULL, 2, 4, s));
  kit_expect(s, TF_INVALID_ARGUMENT);
  assert_null(TF_AllocateOutput(ctx, 0, TF_INT32, NULL, -1, 4, s));
  kit_expect(s, TF_INVALID_ARGUMENT);
  assert_null(TF_AllocateTemp(ctx, TF_INT32, huge, 2, NULL, s));
  assert_int_not_equal(TF_GetCode(s), TF_OK);
  assert_null(TF_AllocateTemp(ctx, TF_RESOURCE, NULL, 0, NULL, s));
  kit_expect(s, TF_INVALID_ARGUMENT);
  TF_AllocatorAttributes attributes = {0};
  assert_null(TF_AllocateTemp(ctx, TF_INT32, NULL, 0, &attributes, s));
  kit_expect(s, TF_INVALID_ARGUMENT);
  TF_DeleteStatus(s);
}

static void sets_nothing(void* kernel, TF_OpKernelContext* ctx) {}

static void reports(void* kernel, TF_OpKernelContext* ctx) {
  TF_Status* s = TF_NewStatus();
  TF_OpKernelContext_Failure(ctx, s);  // OK says nothing
  TF_OpKernelContext_Failure(ctx, NULL);
  TF_SetStatus(s, TF_ABORTED, "first");
  TF_OpKernelContext_Failure(ctx, s);
  TF_SetStatus(s, TF_DATA_LOSS, "second");
  TF_OpKernelContext_Failure(ctx, s);
  TF_DeleteStatus(s);
}

static void is_out_of_range(void* kernel, TF_OpKernelContext* ctx) {
  TF_Status* s = TF_NewStatus();
  TF_Tensor* untouched = NULL;
  const int three = 3;
  TF_GetInput(ctx, 1, &untouched, s);
  kit_expect(s, TF_OUT_OF_RANGE);
  TF_GetInput(ctx, -1, &untouched, s);
  kit_expect(s, TF_OUT_OF_RANGE);
  assert_null(untouched);
  TF_GetInputByName(ctx, "y", &untouched, s);
  kit_expect(s, TF_INVALID_ARGUMENT);
  TF_GetInputByName(ctx, NULL, &untouched, s);
  kit_expect(s, TF_INVALID_ARGUMENT);
  assert_int_equal(TF_InputDatatype(ctx, 9), 0);
  assert_int_equal(TF_ExpectedOutputDataType(ctx, -9), 0);
  assert_false(TF_IsHostMemoryInput(ctx, 1, s));
  kit_expect(s, TF_OUT_OF_RANGE);
  assert_false(TF_IsHostMemoryOutput(ctx, 1, s));
  kit_expect(s, TF_OUT_OF_RANGE);
  assert_false(TF_IsRefInput(ctx, 1, s));
  kit_expect(s, TF_OUT_OF_RANGE);
  assert_null(TF_GetMutableOutput(ctx, 2, s));
  kit_expect(s, TF_OUT_OF_RANGE);
  assert_null(TF_GetMutableOutput(ctx, 0, s));
  kit_expect(s, TF_FAILED_PRECONDITION);
  assert_null(TF_GetStream(ctx, s));
  kit_expect(s, TF_FAILED_PRECONDITION);
  TF_Buffer* buffer = TF_NewBuffer();
  TF_GetSerializedResourceHandleProto(ctx, 0, buffer, s);
  kit_expect(s, TF_INVALID_ARGUMENT);
  TF_DeleteBuffer(buffer);
  assert_null(TF_ForwardInputOrAllocateOutput(ctx, &three, 1, 0, NULL, 0, NULL, s));
  kit_expect(s, TF_OUT_OF_RANGE);
  assert_null(TF_AllocateOutput(ctx, 7, TF_INT32, NULL, 0, 4, s));
  kit_expect(s, TF_OUT_OF_RANGE);
  TF_SetOutput(ctx, 0, NULL, s);
  kit_expect(s, TF_INVALID_ARGUMENT);
  TF_DeleteStatus(s);
}

static void forwards_no_reference(void* kernel, TF_OpKernelContext* ctx) {
  TF_OpKernelContext_ForwardRefInputToRefOutput(ctx, 0, 0);
}

static void test_failures(void** state) {
  static const struct { const char* op; compute_t compute; TF_Code code; const char* text; } k[] = {
      {"SetsWrongType", sets_wrong_type, TF_INVALID_ARGUMENT, "must be int32"},
      {"AllocatesWrongType", allocates_wrong_type, TF_INVALID_ARGUMENT, "must be int32"},
      {"AllocatesBadly", allocates_badly, TF_INVALID_ARGUMENT, "-3"},
      {"SetsNothing", sets_nothing, TF_INTERNAL, "Missing 0-th output"},
      {"Reports", reports, TF_ABORTED, "first"},
      {"IsOutOfRange", is_out_of_range, TF_OUT_OF_RANGE, "input"},
      {"ForwardsNoReference", forwards_no_reference, TF_INVALID_ARGUMENT, "references"},
  };
  TF_Status* s = TF_NewStatus();
  for (size_t i = 0; i < sizeof k / sizeof *k; ++i) {
    assert_int_equal(register_op(k[i].op, "x: int32", "y: int32", NULL, NULL), TF_OK);
    register_kernel(k[i].op, k[i].compute);
    assert_null(run_op(k[i].op, s));
    kit_expect_text(s, k[i].code, k[i].text);
  }
  // An op without a kernel.
  assert_int_equal(register_op("Kernelless", "x: int32", "y: int32", NULL, NULL), TF_OK);
  assert_null(run_op("Kernelless", s));
  kit_expect_text(s, TF_INVALID_ARGUMENT, "Kernelless");
  TF_DeleteStatus(s);
}

// ---- what a kernel may do -----------------------------------------------------------------------

// Its list of inputs, one after the other, times two.
static void doubles(void* kernel, TF_OpKernelContext* ctx) {
  TF_Status* s = TF_NewStatus();
  TF_InputRange_Args range = {.struct_size = TF_InputRange_Args_STRUCT_SIZE, .status = s};
  TF_InputRange(ctx, "xs", &range);
  kit_ok(s);
  assert_int_equal(range.start, 1);
  assert_int_equal(range.stop, 3);
  TF_InputRange(ctx, "nobody", &range);
  kit_expect(s, TF_INVALID_ARGUMENT);
  assert_int_equal(TF_NumInputs(ctx), 3);
  assert_int_equal(TF_NumOutputs(ctx), 2);
  assert_int_equal(TF_InputDatatype(ctx, 0), TF_STRING);
  assert_true(TF_IsHostMemoryInput(ctx, 0, s));
  assert_false(TF_IsHostMemoryInput(ctx, 1, s));
  assert_true(TF_IsHostMemoryOutput(ctx, 1, s));
  assert_false(TF_IsRefInput(ctx, 0, s));
  assert_int_equal(TF_GetDeviceId(ctx), 0);
  assert_true(TF_GetDeviceName(ctx).len > 4);
  assert_int_equal(TF_GetOpKernelName(ctx).len, 1);
  assert_int_equal(TF_GetResourceMgrDefaultContainerName(ctx).len, strlen("localhost"));
  assert_int_equal(TF_StepId(ctx), TF_GetStepId(ctx));
  assert_int_equal(TF_GetFrameId(ctx), 0);
  assert_int_equal(TF_GetIterId(ctx), 0);
  assert_true(TF_GetGraphDefVersion(ctx) > 1000);
  TF_Tensor* name = NULL;
  TF_GetInputByName(ctx, "name", &name, s);
  kit_ok(s);
  TF_Tensor* list = NULL;
  TF_GetInputByName(ctx, "xs", &list, s);
  kit_expect(s, TF_INVALID_ARGUMENT);
  const int64_t two = 2;
  TF_Tensor* out = TF_AllocateOutput(ctx, 0, TF_FLOAT, &two, 1, 8, s);
  kit_ok(s);
  TF_Tensor* scratch = TF_AllocateTemp(ctx, TF_FLOAT, &two, 1, NULL, s);
  kit_ok(s);
  for (int i = 0; i < 2; ++i) {
    TF_Tensor* x = NULL;
    TF_GetInput(ctx, 1 + i, &x, s);
    kit_ok(s);
    ((float*)TF_TensorData(scratch))[i] = kit_float_of(x);
    ((float*)TF_TensorData(out))[i] = 2 * ((float*)TF_TensorData(scratch))[i];
    TF_DeleteTensor(x);
  }
  TF_SetOutput(ctx, 1, name, s);
  TF_SetOutput(ctx, 1, name, s);  // once more changes nothing
  kit_ok(s);
  TF_DeleteTensor(TF_GetMutableOutput(ctx, 1, s));
  kit_ok(s);
  TF_DeleteTensor(scratch);
  TF_DeleteTensor(name);
  TF_DeleteTensor(out);
  TF_DeleteStatus(s);
}

static void test_lists(void** state) {
  TF_Status* s = TF_NewStatus();
  TF_OpDefinitionBuilder* op = TF_NewOpDefinitionBuilder("Doubles");
  TF_OpDefinitionBuilderAddInput(op, "name: string");
  TF_OpDefinitionBuilderAddInput(op, "xs: N * float");
  TF_OpDefinitionBuilderAddOutput(op, "y: float");
  TF_OpDefinitionBuilderAddOutput(op, "same: string");
  TF_OpDefinitionBuilderAddAttr(op, "N: int");
  TF_RegisterOpDefinition(op, s);
  kit_ok(s);
  register_kernel("Doubles", doubles);
  TF_Graph* graph = TF_NewGraph();
  TF_OperationDescription* desc = TF_NewOperation(graph, "Doubles", "y");
  TF_AddInput(desc, kit_out(kit_const(graph, "name", kit_string("a long enough string for once")),
                            0));
  const TF_Output xs[] = {kit_out(kit_const_float(graph, "a", 3), 0),
                          kit_out(kit_const_float(graph, "b", 4), 0)};
  TF_AddInputList(desc, xs, 2);
  TF_Operation* y = kit_finish(desc);
  TF_Tensor* result = run_node(graph, y, s);
  kit_ok(s);
  const float* values = TF_TensorData(result);
  assert_true(values[0] == 6 && values[1] == 8);
  TF_DeleteTensor(result);
  TF_DeleteGraph(graph);
  TF_DeleteStatus(s);
}

// The input's bytes become the output's when no handle is on them.
static void negates_in_place(void* kernel, TF_OpKernelContext* ctx) {
  TF_Status* s = TF_NewStatus();
  const int zero = 0;
  int forwarded = -5;
  TF_Tensor *y = NULL, *x = NULL;
  const int64_t three = 3;
  TF_GetInput(ctx, 0, &x, s);
  const float* from = TF_TensorData(x);
  y = TF_ForwardInputOrAllocateOutput(ctx, &zero, 1, 0, &three, 1, &forwarded, s);
  assert_int_equal(forwarded, -1);
  TF_DeleteTensor(y);
  TF_DeleteTensor(x);
  y = TF_ForwardInputOrAllocateOutput(ctx, &zero, 1, 0, &three, 1, &forwarded, s);
  kit_ok(s);
  assert_int_equal(forwarded, 0);
  float* to = TF_TensorData(y);
  assert_ptr_equal(to, from);
  for (int i = 0; i < 3; ++i) to[i] = -to[i];
  TF_DeleteTensor(y);
  TF_DeleteStatus(s);
}

static void test_forwarding(void** state) {
  TF_Status* s = TF_NewStatus();
  assert_int_equal(register_op("NegatesInPlace", "x: float", "y: float", NULL, NULL), TF_OK);
  register_kernel("NegatesInPlace", negates_in_place);
  TF_Graph* graph = TF_NewGraph();
  const float values[] = {1, 2, 3};
  TF_Operation* c = kit_placeholder(graph, "c", TF_FLOAT);
  TF_Operation* x = kit_binary(graph, "Mul", "x", c, c);
  TF_Operation* y = kit_unary(graph, "NegatesInPlace", "y", x);
  TF_Session* session = kit_session(graph);
  TF_Tensor* result = kit_run(session, kit_out(c, 0), kit_floats(3, values), kit_out(y, 0));
  assert_true(((float*)TF_TensorData(result))[2] == -9);
  TF_DeleteTensor(result);
  kit_close(session);
  TF_DeleteGraph(graph);
  TF_DeleteStatus(s);
}

// ---- attributes ---------------------------------------------------------------------------------

static int made, deleted;

static void* reads_attributes(TF_OpKernelConstruction* ctx) {
  TF_Status* s = TF_NewStatus();
  int32_t count = 0, total = 0, int32 = 0, ints32[3] = {0};
  int64_t int64 = 0, ints64[3] = {0}, dims[3] = {0};
  float real = 0;
  TF_Bool flag = 0;
  TF_DataType type = TF_FLOAT, types[2];
  char text[8] = "", storage[8], *texts[2];
  size_t lengths[2];
  ++made;
  assert_int_equal(TF_OpKernelConstruction_GetName(ctx).len, 1);
  assert_true(TF_OpKernelConstruction_HasAttr(ctx, "i", s));
  assert_false(TF_OpKernelConstruction_HasAttr(ctx, "none", s));
  assert_false(TF_OpKernelConstruction_HasAttr(ctx, NULL, s));
  TF_OpKernelConstruction_GetAttrSize(ctx, "none", &count, &total, s);
  kit_expect(s, TF_INVALID_ARGUMENT);
  assert_int_equal(count, -1);
  TF_OpKernelConstruction_GetAttrSize(ctx, "s", &count, &total, s);
  assert_true(count == -1 && total == 5);
  TF_OpKernelConstruction_GetAttrSize(ctx, "strings", &count, &total, s);
  assert_true(count == 2 && total == 5);
  TF_OpKernelConstruction_GetAttrSize(ctx, "shape", &count, &total, s);
  assert_true(count == -1 && total == 2);
  TF_OpKernelConstruction_GetAttrSize(ctx, "ints", &count, &total, s);
  assert_true(count == 3 && total == -1);
  TF_OpKernelConstruction_GetAttrInt32(ctx, "i", &int32, s);
  kit_ok(s);
  assert_int_equal(int32, -7);
  TF_OpKernelConstruction_GetAttrInt32(ctx, "large", &int32, s);
  kit_expect(s, TF_INVALID_ARGUMENT);
  TF_OpKernelConstruction_GetAttrInt64(ctx, "large", &int64, s);
  kit_ok(s);
  assert_int_equal(int64, INT64_C(1) << 40);
  TF_OpKernelConstruction_GetAttrInt64(ctx, "s", &int64, s);
  kit_expect(s, TF_INVALID_ARGUMENT);
  TF_OpKernelConstruction_GetAttrInt64(ctx, "none", &int64, s);
  kit_expect(s, TF_NOT_FOUND);
  TF_OpKernelConstruction_GetAttrInt64(ctx, NULL, &int64, s);
  kit_expect(s, TF_NOT_FOUND);
  TF_OpKernelConstruction_GetAttrFloat(ctx, "f", &real, s);
  assert_true(real == 0.5f);
  TF_OpKernelConstruction_GetAttrBool(ctx, "b", &flag, s);
  assert_int_equal(flag, 1);
  TF_OpKernelConstruction_GetAttrType(ctx, "T", &type, s);
  assert_int_equal(type, TF_INT32);
  TF_OpKernelConstruction_GetAttrString(ctx, "s", text, 3, s);
  assert_string_equal(text, "hel");
  TF_OpKernelConstruction_GetAttrInt32List(ctx, "ints", ints32, 2, s);
  assert_true(ints32[0] == 1 && ints32[1] == 2 && ints32[2] == 0);
  TF_OpKernelConstruction_GetAttrInt64List(ctx, "ints", ints64, 9, s);
  assert_true(ints64[2] == 3);
  TF_OpKernelConstruction_GetAttrInt64List(ctx, "ints", ints64, -9, s);
  kit_ok(s);
  TF_OpKernelConstruction_GetAttrFloatList(ctx, "ints", &real, 1, s);
  kit_expect(s, TF_INVALID_ARGUMENT);
  TF_OpKernelConstruction_GetAttrTypeList(ctx, "types", types, 2, s);
  assert_true(types[0] == TF_FLOAT && types[1] == TF_STRING);
  TF_OpKernelConstruction_GetAttrStringList(ctx, "strings", texts, lengths, 2, storage, 8, s);
  kit_ok(s);
  assert_true(lengths[1] == 3 && memcmp(texts[1], "cde", 3) == 0);
  TF_OpKernelConstruction_GetAttrStringList(ctx, "strings", texts, lengths, 2, storage, 4, s);
  kit_expect(s, TF_INVALID_ARGUMENT);
  TF_OpKernelConstruction_GetAttrTensorShape(ctx, "shape", dims, 3, s);
  assert_true(dims[0] == 3 && dims[1] == -1 && dims[2] == 0);
  TF_Tensor* tensor = NULL;
  TF_OpKernelConstruction_GetAttrTensor(ctx, "t", &tensor, s);
  kit_ok(s);
  assert_int_equal(kit_int32_of(tensor), 9);
  *(int32_t*)TF_TensorData(tensor) = -1;  // a copy, which the kernel may write
  TF_DeleteTensor(tensor);
  TF_OpKernelConstruction_GetAttrTensor(ctx, "t", &tensor, s);
  assert_int_equal(kit_int32_of(tensor), 9);
  TF_DeleteTensor(tensor);
  TF_OpKernelConstruction_GetAttrTensor(ctx, "i", &tensor, s);
  kit_expect(s, TF_INVALID_ARGUMENT);
  assert_null(tensor);
  assert_null(TF_OpKernelConstruction_GetAttrFunction(ctx, "i", s));
  kit_expect(s, TF_INVALID_ARGUMENT);
  TF_Buffer* node = TF_OpKernelConstruction_GetNodeDef(ctx, s);
  kit_ok(s);
  assert_true(holds(node->data, node->length, "ReadsAttributes"));
  assert_true(holds(node->data, node->length, "hello"));
  TF_DeleteBuffer(node);
  // Whoever wants it may refuse to be made.
  TF_OpKernelConstruction_GetAttrBool(ctx, "fails", &flag, s);
  if (flag) {
    TF_SetStatus(s, TF_UNAVAILABLE, "refused");
    TF_OpKernelConstruction_Failure(ctx, s);
  }
  TF_DeleteStatus(s);
  return &made;
}

static void passes(void* kernel, TF_OpKernelContext* ctx) {
  TF_Status* s = TF_NewStatus();
  TF_Tensor* x = NULL;
  TF_GetInput(ctx, 0, &x, s);
  TF_SetOutput(ctx, 0, x, s);
  TF_DeleteTensor(x);
  TF_DeleteStatus(s);
}

static void ends(void* kernel) {
  assert_ptr_equal(kernel, &made);
  ++deleted;
}

static void test_attributes(void** state) {
  static const char* const kAttrs[] = {
      "T: type", "i: int = -7", "large: int = 1099511627776", "f: float = 0.5", "b: bool = true",
      "s: string = 'hello'", "ints: list(int) = [1, 2, 3]",
      "types: list(type) = [DT_FLOAT, DT_STRING]", "strings: list(string) = ['ab', 'cde']",
      "shape: shape = { dim { size: 3 } dim { size: -1 } }",
      "t: tensor = { dtype: DT_INT32 tensor_shape { } int_val: 9 }", "fails: bool = false"};
  TF_Status* s = TF_NewStatus();
  TF_OpDefinitionBuilder* op = TF_NewOpDefinitionBuilder("ReadsAttributes");
  for (size_t i = 0; i < sizeof kAttrs / sizeof *kAttrs; ++i) {
    TF_OpDefinitionBuilderAddAttr(op, kAttrs[i]);
  }
  TF_OpDefinitionBuilderAddInput(op, "x: T");
  TF_OpDefinitionBuilderAddOutput(op, "y: T");
  TF_RegisterOpDefinition(op, s);
  kit_ok(s);
  TF_KernelBuilder* builder =
      TF_NewKernelBuilder("ReadsAttributes", "CPU", reads_attributes, passes, ends);
  TF_KernelBuilder_HostMemory(builder, "x");
  TF_RegisterKernelBuilder("k", builder, s);
  kit_ok(s);
  TF_Tensor* result = run_op("ReadsAttributes", s);
  kit_ok(s);
  assert_int_equal(kit_int32_of(result), 5);
  TF_DeleteTensor(result);
  assert_true(made > 0);
  TF_Graph* graph = TF_NewGraph();
  TF_OperationDescription* desc = TF_NewOperation(graph, "ReadsAttributes", "y");
  TF_AddInput(desc, kit_out(kit_placeholder(graph, "x", TF_INT32), 0));
  TF_SetAttrBool(desc, "fails", 1);
  TF_Operation* y = kit_finish(desc);
  TF_Session* session = kit_session(graph);
  TF_Output x = {TF_GraphOperationByName(graph, "x"), 0}, output = kit_out(y, 0);
  TF_Tensor* five = kit_int32(5);
  TF_SessionRun(session, NULL, &x, &five, 1, &output, &result, 1, NULL, 0, NULL, s);
  kit_expect_text(s, TF_UNAVAILABLE, "refused");
  TF_DeleteTensor(five);
  kit_close(session);
  TF_DeleteGraph(graph);
  assert_int_equal(made, deleted);
  TF_DeleteStatus(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_bad_kernels),
      cmocka_unit_test(test_failures),
      cmocka_unit_test(test_lists),
      cmocka_unit_test(test_forwarding),
      cmocka_unit_test(test_attributes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
