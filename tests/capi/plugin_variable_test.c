// Variables in kernels of plugins (kernels_experimental.h). Each test registers an op with a kernel
// that calls one of the functions, and runs it through an eager context or a session on a variable
// of this library, whose ops then read what has become of it. The functions that a plugin gives
// count how often they are called, since a device's copies must not be left out, nor made where an
// update can be in place. The expected values are sums of small integers, worked out by hand. The
// tests catch a value that changes after it was read, a failure in a plugin's function that does
// not reach the step, a variable that is locked twice and hangs, and a temporary one whose name is
// still taken in the next step. Values of another shape or type must be refused and leave the
// variable as it was, and so must updates of a variable that was never assigned.
#include "capi/eager_kit.h"
#include "capi/plugin_kit.h"

static int copies, updates, allocations;

// The functions that a plug-in gives own the tensors, and delete them, as those of plug-ins for
// TensorFlow do.
static void delete_both(TF_Tensor* first, TF_Tensor* second) {
  TF_DeleteTensor(first);
  TF_DeleteTensor(second);
}

static void copy(TF_OpKernelContext* ctx, TF_Tensor* source, TF_Tensor* dest) {
  assert_int_equal(TF_TensorByteSize(source), TF_TensorByteSize(dest));
  memcpy(TF_TensorData(dest), TF_TensorData(source), TF_TensorByteSize(source));
  delete_both(source, dest);
  ++copies;
}

static void subtract_or_add(TF_OpKernelContext* ctx, TF_Tensor* tensor, TF_Tensor* value, int op) {
  *(int32_t*)TF_TensorData(tensor) += (op ? -1 : 1) * *(int32_t*)TF_TensorData(value);
  delete_both(tensor, value);
  ++updates;
}

static void break_off(TF_OpKernelContext* ctx, TF_Tensor* tensor, TF_Tensor* value, int op) {
  TF_Status* s = TF_NewStatus();
  TF_SetStatus(s, TF_DATA_LOSS, "device is gone");
  TF_OpKernelContext_Failure(ctx, s);
  TF_DeleteStatus(s);
  delete_both(tensor, value);
}

// Fails the run with what a function reported.
static void finish(TF_OpKernelContext* ctx, TF_Status* s) {
  if (TF_GetCode(s) != TF_OK) TF_OpKernelContext_Failure(ctx, s);
  TF_DeleteStatus(s);
}

static void assign_kernel(void* kernel, TF_OpKernelContext* ctx) {
  TF_Status* s = TF_NewStatus();
  TF_AssignVariable(ctx, 0, 1, true, copy, s);
  finish(ctx, s);
}

static void update_kernel(void* kernel, TF_OpKernelContext* ctx) {
  TF_Status* s = TF_NewStatus();
  TF_AssignUpdateVariable(ctx, 0, 1, 1, 0, copy, subtract_or_add, s);
  finish(ctx, s);
}

static void failing_kernel(void* kernel, TF_OpKernelContext* ctx) {
  TF_Status* s = TF_NewStatus();
  TF_AssignUpdateVariable(ctx, 0, 1, 1, 0, copy, break_off, s);
  kit_expect(s, TF_DATA_LOSS);
  TF_AssignVariable(ctx, 0, 7, true, copy, s);
  kit_expect(s, TF_OUT_OF_RANGE);
  TF_DeleteStatus(s);
}

// Doubles two variables in place, which may be the same one, or input 1 be none.
static void locking_kernel(void* kernel, TF_OpKernelContext* ctx) {
  TF_Status* s = TF_NewStatus();
  const int inputs[] = {1, 0};
  TF_VariableInputLockHolder* holder = NULL;
  TF_MaybeLockVariableInputMutexesInOrder(ctx, true, false, inputs, 2, copy, &holder, s);
  for (int i = 0; i < 2 && TF_GetCode(s) == TF_OK; ++i) {
    TF_Tensor* tensor = NULL;
    if (TF_InputDatatype(ctx, i) != TF_RESOURCE) continue;
    TF_GetInputTensorFromVariable(ctx, i, true, false, false, copy, &tensor, s);
    if (tensor) *(int32_t*)TF_TensorData(tensor) *= 2;
    TF_DeleteTensor(tensor);
  }
  TF_ReleaseVariableInputLockHolder(holder);
  finish(ctx, s);
}

static void register_all(void) {
  static const struct {
    const char* name;
    compute_t compute;
  } kOps[] = {{"PluginAssign", assign_kernel}, {"PluginUpdate", update_kernel},
              {"PluginFailing", failing_kernel}, {"PluginLocking", locking_kernel}};
  TF_Status* s = TF_NewStatus();
  for (size_t i = 0; i < sizeof kOps / sizeof kOps[0]; ++i) {
    TF_OpDefinitionBuilder* builder = TF_NewOpDefinitionBuilder(kOps[i].name);
    TF_OpDefinitionBuilderAddInput(builder, "variable: resource");
    TF_OpDefinitionBuilderAddInput(builder, "other: T");
    TF_OpDefinitionBuilderAddAttr(builder, "T: type");
    TF_OpDefinitionBuilderSetIsStateful(builder, true);
    TF_RegisterOpDefinition(builder, s);
    kit_ok(s);
    register_kernel(kOps[i].name, kOps[i].compute);
  }
  TF_DeleteStatus(s);
}

static TFE_Context* context;

static int set_up(void** state) {
  static bool registered;
  if (!registered) register_all();
  registered = true;
  context = eager_open();
  copies = updates = allocations = 0;
  return 0;
}

static int tear_down(void** state) {
  TFE_DeleteContext(context);
  return 0;
}

static TFE_TensorHandle* variable(const char* name) {
  TF_Status* s = TF_NewStatus();
  TFE_Op* op = eager_op(context, "VarHandleOp", NULL, NULL);
  TFE_OpSetAttrType(op, "dtype", TF_INT32);
  TFE_OpSetAttrShape(op, "shape", NULL, 0, s);
  TFE_OpSetAttrString(op, "shared_name", name, strlen(name));
  TF_DeleteStatus(s);
  return eager_result(op);
}

static TFE_TensorHandle* read_variable(TFE_TensorHandle* of) {
  TFE_Op* op = eager_op(context, "ReadVariableOp", of, NULL);
  TFE_OpSetAttrType(op, "dtype", TF_INT32);
  return eager_result(op);
}

// Runs |op_name| on a variable and |value|, which is deleted.
static void apply(const char* op_name, TFE_TensorHandle* of, TF_Tensor* value, TF_Code code) {
  TFE_TensorHandle* handle = eager_handle(value);
  eager_expect(eager_op(context, op_name, of, handle), code);
  TFE_DeleteTensorHandle(handle);
}

static void test_assign(void** state) {
  const int64_t dims[] = {2};
  const int32_t two[] = {1, 2};
  TFE_TensorHandle* v = variable("v");
  apply("PluginUpdate", v, kit_int32(1), TF_NOT_FOUND);  // nobody has assigned it
  apply("PluginAssign", v, kit_int32(5), TF_OK);
  assert_int_equal(copies, 1);
  assert_int_equal(eager_int32(read_variable(v)), 5);
  apply("PluginAssign", v, kit_tensor(TF_INT32, 1, dims, two, sizeof two), TF_INVALID_ARGUMENT);
  apply("PluginAssign", v, kit_float(1), TF_INVALID_ARGUMENT);
  assert_int_equal(eager_int32(read_variable(v)), 5);
  TFE_DeleteTensorHandle(v);
}

// An update writes in place, unless somebody has read the value.
static void test_update(void** state) {
  TFE_TensorHandle* v = variable("v");
  apply("PluginAssign", v, kit_int32(5), TF_OK);
  copies = 0;
  apply("PluginUpdate", v, kit_int32(2), TF_OK);
  assert_int_equal(copies, 0);
  TFE_TensorHandle* before = read_variable(v);
  apply("PluginUpdate", v, kit_int32(2), TF_OK);
  assert_int_equal(copies, 1);
  assert_int_equal(updates, 2);
  assert_int_equal(eager_int32(before), 3);
  assert_int_equal(eager_int32(read_variable(v)), 1);
  apply("PluginFailing", v, kit_int32(2), TF_DATA_LOSS);
  TFE_DeleteTensorHandle(v);
}

static void test_locking(void** state) {
  TFE_TensorHandle *a = variable("a"), *b = variable("b");
  apply("PluginAssign", a, kit_int32(3), TF_OK);
  eager_expect(eager_op(context, "PluginLocking", a, b), TF_NOT_FOUND);
  apply("PluginAssign", b, kit_int32(5), TF_OK);
  eager_expect(eager_op(context, "PluginLocking", a, b), TF_OK);
  eager_expect(eager_op(context, "PluginLocking", b, a), TF_OK);
  assert_int_equal(eager_int32(read_variable(a)), 12);
  assert_int_equal(eager_int32(read_variable(b)), 20);
  eager_expect(eager_op(context, "PluginLocking", a, a), TF_OK);
  assert_int_equal(eager_int32(read_variable(a)), 48);
  apply("PluginLocking", a, kit_int32(1), TF_OK);  // what is no variable is not locked
  assert_int_equal(eager_int32(read_variable(a)), 96);
  TFE_DeleteTensorHandle(a);
  TFE_DeleteTensorHandle(b);
}

// ---- References and temporary variables, which only a session has -------------------------------

static void allocate(TF_OpKernelContext* ctx, TF_Tensor* tensor, TF_DataType dtype,
                     const int64_t* dims, int num_dims, TF_Status* status) {
  TF_Tensor* memory = TF_AllocateTemp(ctx, dtype, dims, num_dims, NULL, status);
  TF_TensorBitcastFrom(memory, dtype, tensor, dims, num_dims, status);
  TF_DeleteTensor(memory);
  ++allocations;
}

static void temporary_kernel(void* kernel, TF_OpKernelContext* ctx) {
  TF_Status* s = TF_NewStatus();
  TF_StringView name = {"scratch", 7};
  TF_TemporaryVariable(ctx, TF_INT32, NULL, 0, &name, allocate, s);
  finish(ctx, s);
}

static void assign_ref_kernel(void* kernel, TF_OpKernelContext* ctx) {
  TF_Status* s = TF_NewStatus();
  TF_AssignRefVariable(ctx, 0, 0, 1, true, true, copy, s);
  finish(ctx, s);
}

static void destroy_kernel(void* kernel, TF_OpKernelContext* ctx) {
  TF_Status* s = TF_NewStatus();
  TF_StringView name = {"scratch", 7};
  TF_DestroyTemporaryVariable(ctx, 0, &name, s);
  finish(ctx, s);
}

static void test_temporary_variable(void** state) {
  TF_Status* s = TF_NewStatus();
  register_op("PluginTemporary", NULL, "ref: Ref(int32)", NULL, NULL);
  register_kernel("PluginTemporary", temporary_kernel);
  TF_OpDefinitionBuilder* builder = TF_NewOpDefinitionBuilder("PluginAssignRef");
  TF_OpDefinitionBuilderAddInput(builder, "ref: Ref(int32)");
  TF_OpDefinitionBuilderAddInput(builder, "value: int32");
  TF_OpDefinitionBuilderAddOutput(builder, "output_ref: Ref(int32)");
  TF_OpDefinitionBuilderSetAllowsUninitializedInput(builder, true);
  TF_RegisterOpDefinition(builder, s);
  kit_ok(s);
  register_kernel("PluginAssignRef", assign_ref_kernel);
  register_op("PluginDestroy", "ref: Ref(int32)", "value: int32", NULL, NULL);
  register_kernel("PluginDestroy", destroy_kernel);
  TF_Graph* graph = TF_NewGraph();
  TF_Operation* temporary = kit_finish(TF_NewOperation(graph, "PluginTemporary", "t"));
  TF_Operation* assigned = kit_binary(graph, "PluginAssignRef", "a", temporary,
                                      kit_const_int32(graph, "seven", 7));
  TF_Operation* value = kit_unary(graph, "PluginDestroy", "d", assigned);
  TF_Session* session = kit_session(graph);
  for (int i = 0; i < 2; ++i) {  // the second step finds the name free again
    TF_Tensor* result = kit_run(session, (TF_Output){NULL, 0}, NULL, kit_out(value, 0));
    assert_int_equal(kit_int32_of(result), 7);
    TF_DeleteTensor(result);
  }
  assert_int_equal(allocations, 2);
  kit_close(session);
  TF_DeleteGraph(graph);
  TF_DeleteStatus(s);
}

// ---- Variants -----------------------------------------------------------------------------------

static void add_kernel(void* kernel, TF_OpKernelContext* ctx) {
  TF_Status* s = TF_NewStatus();
  TF_AddNVariant(ctx, NULL, s);
  finish(ctx, s);
}

static void zeros_kernel(void* kernel, TF_OpKernelContext* ctx) {
  TF_Status* s = TF_NewStatus();
  TF_ZerosLikeVariant(ctx, NULL, s);
  finish(ctx, s);
}

// The only item of a list of floats, which is deleted.
static float item_of(TFE_TensorHandle* list) {
  const int64_t none[] = {0};
  TFE_TensorHandle *index = eager_handle(kit_int32(0)),
                   *shape = eager_handle(kit_tensor(TF_INT32, 1, none, NULL, 0));
  TF_Status* s = TF_NewStatus();
  TFE_Op* op = eager_op(context, "TensorListGetItem", list, index);
  TFE_OpAddInput(op, shape, s);
  TFE_OpSetAttrType(op, "element_dtype", TF_FLOAT);
  float item = eager_float(eager_result(op));
  TFE_DeleteTensorHandle(index);
  TFE_DeleteTensorHandle(shape);
  TFE_DeleteTensorHandle(list);
  TF_DeleteStatus(s);
  return item;
}

static void test_variants(void** state) {
  TF_Status* s = TF_NewStatus();
  register_op("PluginAddVariants", "inputs: N * variant", "sum: variant", "N: int >= 1", NULL);
  register_kernel("PluginAddVariants", add_kernel);
  register_op("PluginZeros", "like: T", "zeros: T", "T: type", NULL);
  register_kernel("PluginZeros", zeros_kernel);
  const int64_t one[] = {1}, none[] = {0};
  const float value = 2.5f;
  TFE_TensorHandle *items = eager_handle(kit_tensor(TF_FLOAT, 1, one, &value, sizeof value)),
                   *shape = eager_handle(kit_tensor(TF_INT32, 1, none, NULL, 0));
  TFE_Op* op = eager_op(context, "TensorListFromTensor", items, shape);
  TFE_TensorHandle* list = eager_result(op);
  TFE_TensorHandle* lists[] = {list, list, list};
  op = TFE_NewOp(context, "PluginAddVariants", s);
  TFE_OpAddInputList(op, lists, 3, s);
  kit_ok(s);
  assert_float_equal(item_of(eager_result(op)), 7.5f, 0);
  assert_float_equal(item_of(eager_result(eager_op(context, "PluginZeros", list, NULL))), 0, 0);
  eager_expect(eager_op(context, "PluginZeros", items, NULL), TF_INVALID_ARGUMENT);
  TFE_DeleteTensorHandle(list);
  TFE_DeleteTensorHandle(items);
  TFE_DeleteTensorHandle(shape);
  TF_DeleteStatus(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_assign, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_update, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_locking, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_temporary_variable, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_variants, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
