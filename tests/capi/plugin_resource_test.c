// What a kernel of a plug-in asks of next_pluggable_device/c_api.h: resources of its own, which
// live in the session's containers, several variables under their locks, the coordination service,
// which is not there, and the session's functions and configuration. One op is registered, whose
// kernel calls the function of the running test. Variables are assigned and read by the library's
// own ops, so that the test sees what a kernel has done to them from the other side. Counters tell
// that a resource is made once, however many kernels ask for it, and ended once, with its context.
// The tests catch locks that are taken twice or not given up, which would hang, a reader's value
// that changes under it, a refused resource that is ended all the same, and a configuration that is
// read after its owner has freed it. The expected sums, codes and bytes are worked out by hand.
#include <string.h>

#include "capi/eager_kit.h"
#include "capi/plugin_kit.h"
#include "tensorflow/c/experimental/next_pluggable_device/c_api.h"

static void (*body)(TF_OpKernelContext* ctx, TF_Status* s);
static TFE_Context* context;
static int made, deleted;

static void compute(void* kernel, TF_OpKernelContext* ctx) {
  TF_Status* s = TF_NewStatus();
  body(ctx, s);
  if (TF_GetCode(s) != TF_OK) TF_OpKernelContext_Failure(ctx, s);
  TF_DeleteStatus(s);
}

static int register_all(void** state) {
  TF_Status* s = TF_NewStatus();
  TF_OpDefinitionBuilder* builder = TF_NewOpDefinitionBuilder("PluginAsks");
  TF_OpDefinitionBuilderAddInput(builder, "a: A");
  TF_OpDefinitionBuilderAddInput(builder, "b: B");
  TF_OpDefinitionBuilderAddAttr(builder, "A: type");
  TF_OpDefinitionBuilderAddAttr(builder, "B: type");
  TF_OpDefinitionBuilderSetIsStateful(builder, true);
  TF_RegisterOpDefinition(builder, s);
  kit_ok(s);
  TF_DeleteStatus(s);
  register_kernel("PluginAsks", compute);
  return 0;
}

static int set_up(void** state) {
  context = eager_open();
  made = deleted = 0;
  return 0;
}

static int tear_down(void** state) {
  TFE_DeleteContext(context);
  return 0;
}

// Runs the kernel on two inputs, which are deleted.
static void expect(TFE_TensorHandle* a, TFE_TensorHandle* b, TF_Code code) {
  TFE_Op* op = eager_op(context, "PluginAsks", a, b);
  TF_Status* s = TF_NewStatus();
  int count = 0;
  TFE_Execute(op, NULL, &count, s);
  kit_expect(s, code);
  TFE_DeleteOp(op);
  TFE_DeleteTensorHandle(a);
  TFE_DeleteTensorHandle(b);
  TF_DeleteStatus(s);
}

static void run(void) {
  expect(eager_handle(kit_int32(0)), eager_handle(kit_int32(0)), TF_OK);
}

// ---- Resources ----------------------------------------------------------------------------------

static void* create(void* data) {
  ++made;
  return data;
}

static void end(void* content) { *(int*)content += 1; }

static void find(TF_OpKernelContext* ctx, TF_Status* s) {
  void* found = NULL;
  TF_LookupOrCreatePluginResource(ctx, NULL, "counter", &found, create, &deleted, end, s);
  kit_ok(s);
  assert_ptr_equal(found, &deleted);
  assert_non_null(TF_GetDevice(ctx));
}

static void add(TF_OpKernelContext* ctx, TF_Status* s) {
  static int own;
  void* found = NULL;
  own = 0;
  TF_CreatePluginResource(ctx, "", "counter", &own, end, s);
  kit_expect(s, TF_ALREADY_EXISTS);
  assert_int_equal(own, 0);  // is the caller's
  TF_CreatePluginResource(ctx, "", "other", &made, NULL, s);
  kit_ok(s);
  TF_LookupOrCreatePluginResource(ctx, "", "other", &found, create, NULL, end, s);
  assert_ptr_equal(found, &made);
}

static void test_resources(void** state) {
  body = find;
  run();
  run();
  assert_int_equal(made, 1);
  body = add;
  run();
  assert_int_equal(made, 1);
  assert_int_equal(deleted, 0);
  TFE_DeleteContext(context);
  assert_int_equal(deleted, 1);
  context = eager_open();
}

// ---- Variables ----------------------------------------------------------------------------------

static TFE_TensorHandle* variable(const char* name) {
  TF_Status* s = TF_NewStatus();
  TFE_Op* op = eager_op(context, "VarHandleOp", NULL, NULL);
  TFE_OpSetAttrType(op, "dtype", TF_INT32);
  TFE_OpSetAttrShape(op, "shape", NULL, 0, s);
  TFE_OpSetAttrString(op, "shared_name", name, strlen(name));
  kit_ok(s);
  TF_DeleteStatus(s);
  return eager_result(op);
}

static void assign(const char* name, int32_t value) {
  TFE_TensorHandle *handle = variable(name), *given = eager_handle(kit_int32(value));
  eager_expect(eager_op(context, "AssignVariableOp", handle, given), TF_OK);
  TFE_DeleteTensorHandle(handle);
  TFE_DeleteTensorHandle(given);
}

static TFE_TensorHandle* read_value(const char* name) {
  TFE_TensorHandle* handle = variable(name);
  TFE_Op* op = eager_op(context, "ReadVariableOp", handle, NULL);
  TFE_OpSetAttrType(op, "dtype", TF_INT32);
  TFE_DeleteTensorHandle(handle);
  return eager_result(op);
}

// Adds 100 to each variable, in memory of its own.
static void add_hundred(TF_OpKernelContext* ctx, TF_Status* s) {
  TF_VariableInfo* infos[2];
  for (int i = 0; i < 2; ++i) {
    infos[i] = TF_CreateVariableInfoFromContext(ctx, i, s);
    kit_ok(s);
  }
  TF_LockVariableInfos(infos, 2, s);
  kit_ok(s);
  for (int i = 0; i < 2; ++i) {
    TF_Tensor* former = TF_GetTensorFromVariableInfo(infos[i], s);
    kit_ok(s);
    TF_AllocateTempForVariableInfo(ctx, infos[i], s);
    kit_ok(s);
    TF_Tensor* next = TF_GetTensorFromVariableInfo(infos[i], s);
    assert_ptr_not_equal(TF_TensorData(next), TF_TensorData(former));
    *(int32_t*)TF_TensorData(next) = kit_int32_of(former) + 100;
    TF_DeleteTensor(former);
    TF_DeleteTensor(next);
  }
  TF_LockVariableInfos(infos, 2, s);  // are locked, and stay so
  kit_expect(s, TF_FAILED_PRECONDITION);
  TF_SetStatus(s, TF_OK, "");
  for (int i = 0; i < 2; ++i) TF_DeleteVariableInfo(infos[i]);
  TF_DeleteVariableInfo(NULL);
}

static void test_variables(void** state) {
  body = add_hundred;
  assign("v", 1);
  assign("w", 2);
  TFE_TensorHandle* former = read_value("v");
  expect(variable("w"), variable("v"), TF_OK);
  assert_int_equal(eager_int32(read_value("v")), 101);
  assert_int_equal(eager_int32(read_value("w")), 102);
  assert_int_equal(eager_int32(former), 1);  // who has read it keeps it
  expect(variable("v"), variable("v"), TF_OK);  // is locked once, and given up again
  assert_int_equal(eager_int32(read_value("v")), 301);
}

static void refuse_variables(TF_OpKernelContext* ctx, TF_Status* s) {
  TF_VariableInfo* none = NULL;
  assert_null(TF_CreateVariableInfoFromContext(ctx, 0, s));  // was never assigned
  kit_expect(s, TF_NOT_FOUND);
  assert_null(TF_CreateVariableInfoFromContext(ctx, 1, s));  // is a number
  kit_expect(s, TF_INVALID_ARGUMENT);
  assert_null(TF_CreateVariableInfoFromContext(ctx, 2, s));
  kit_expect(s, TF_OUT_OF_RANGE);
  TF_LockVariableInfos(&none, 1, s);
  kit_expect(s, TF_INVALID_ARGUMENT);
  TF_AllocateTempForVariableInfo(ctx, NULL, s);
  kit_expect(s, TF_INVALID_ARGUMENT);
  assert_null(TF_GetTensorFromVariableInfo(NULL, s));
  kit_expect(s, TF_INVALID_ARGUMENT);
  TF_SetStatus(s, TF_OK, "");
}

static void test_no_variables(void** state) {
  body = refuse_variables;
  expect(variable("unassigned"), eager_handle(kit_int32(0)), TF_OK);
}

// ---- What surrounds the kernel ------------------------------------------------------------------

static void coordinate(TF_OpKernelContext* ctx, TF_Status* s) {
  TF_CoordinationServiceAgent* agent = TF_GetCoordinationServiceAgent(ctx);
  assert_false(TF_CoordinationServiceIsInitialized(agent));
  assert_null(TF_CoordinationServiceGetKeyValue("k", 1, agent, s));
  kit_expect(s, TF_FAILED_PRECONDITION);
  assert_null(TF_CoordinationServiceGetKeyValueWithTimeout("k", 1, 1, agent, s));
  kit_expect(s, TF_FAILED_PRECONDITION);
  assert_null(TF_CoordinationServiceTryGetKeyValue("k", 1, agent, s));
  kit_expect(s, TF_FAILED_PRECONDITION);
  TF_CoordinationServiceDeleteKeyValue("k", 1, agent, s);
  kit_expect(s, TF_FAILED_PRECONDITION);
  TF_CoordinationServiceInsertKeyValue("k", 1, "v", 1, agent, s);
  kit_expect(s, TF_FAILED_PRECONDITION);
  TF_SetStatus(s, TF_OK, "");
}

static void test_coordination(void** state) {
  body = coordinate;
  run();
}

static const char* expected_config;
static void look_at_session(TF_OpKernelContext* ctx, TF_Status* s) {
  TF_Buffer *config = TF_NewBuffer(), *functions = TF_NewBuffer();
  TF_GetSerializedConfigProto(ctx, config, s);
  kit_ok(s);
  assert_int_equal(config->length, strlen(expected_config));
  assert_memory_equal(config->data, expected_config, config->length);
  TF_GetSerializedFunctionDefLibrary(ctx, functions, s);
  kit_ok(s);
  assert_true(holds(functions->data, functions->length, "a_function"));
  TF_GetSerializedFunctionDefLibrary(ctx, functions, s);  // is full
  kit_expect(s, TF_INVALID_ARGUMENT);
  TF_SetStatus(s, TF_OK, "");
  TF_DeleteBuffer(functions);
  TF_DeleteBuffer(config);
}

// The options are gone when the kernel asks.
static void test_session(void** state) {
  TF_Status* s = TF_NewStatus();
  TF_Graph *graph = TF_NewGraph(), *inner = TF_NewGraph();
  TF_Output x = kit_out(kit_placeholder(inner, "x", TF_FLOAT), 0);
  TF_Function* function =
      TF_GraphToFunction(inner, "a_function", 0, -1, NULL, 1, &x, 0, NULL, NULL, NULL, NULL, s);
  kit_ok(s);
  TF_GraphCopyFunction(graph, function, NULL, s);
  TF_Operation* asks = kit_binary(graph, "PluginAsks", "asks", kit_const_int32(graph, "a", 1),
                                  kit_const_int32(graph, "b", 1));
  TF_SessionOptions* options = TF_NewSessionOptions();
  char config[] = "\x10\x03";  // intra_op_parallelism_threads: 3
  expected_config = "\x10\x03";
  TF_SetConfig(options, config, 2, s);
  kit_ok(s);
  TF_Session* session = TF_NewSession(graph, options, s);
  TF_DeleteSessionOptions(options);
  memset(config, 0, sizeof config);
  body = look_at_session;
  const TF_Operation* target = asks;
  TF_SessionRun(session, NULL, NULL, NULL, 0, NULL, NULL, 0, &target, 1, NULL, s);
  kit_ok(s);
  kit_close(session);
  TF_DeleteFunction(function);
  TF_DeleteGraph(inner);
  TF_DeleteGraph(graph);
  TF_DeleteStatus(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_resources, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_variables, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_no_variables, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_coordination, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_session, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, register_all, NULL);
}
