// The functions of c_api_experimental.h: messages of options, named queues, attribute builders,
// lists of shapes and the checkpoint reader. Each is called as a client would, with arguments good
// and bad. Named queues find their operations by a name with a number in it
// ("fifo_queue_enqueue_4"), so the graph is built with these names. Functions that are declared but
// not implemented must say so and do no harm, whatever their arguments; those are declared in this
// file as TensorFlow's headers do it. Functions of the eager part are in eager_experimental_test.c.
#include <stdlib.h>

#include "capi/kit.h"
#include "leat/files.h"
#include "scratch.h"
#include "tensorflow/c/c_api_experimental.h"

static void test_messages(void** state) {
  TF_Status* s = TF_NewStatus();
  TF_Buffer* config = TF_CreateConfig(1, 1, 2);
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_SetConfig(options, config->data, config->length, s);
  kit_ok(s);
  TF_Graph* graph = TF_NewGraph();
  kit_const_int32(graph, "x", 5);
  TF_Session* session = TF_NewSession(graph, options, s);
  kit_ok(s);
  TF_DeviceList* devices = TF_SessionListDevices(session, s);
  assert_int_equal(TF_DeviceListCount(devices), 2);
  TF_DeleteDeviceList(devices);
  TF_DeleteSessionOptions(options);
  TF_DeleteBuffer(config);
  kit_close(session);
  TF_Buffer* run = TF_CreateRunOptions(1);
  assert_int_equal(run->length, 2);
  assert_memory_equal(run->data, "\x08\x03", 2);
  TF_DeleteBuffer(run);
  size_t length = 0;
  char* text = (char*)(uintptr_t)TF_GraphDebugString(graph, &length);
  assert_int_equal(strlen(text), length);
  assert_non_null(strstr(text, "name: \"x\""));
  free(text);
  TF_Buffer* server = TFE_GetServerDef("job_name: 'worker' task_index: 3", s);
  kit_ok(s);
  assert_true(server->length > 6);
  TF_DeleteBuffer(server);
  assert_null(TFE_GetServerDef("job_name: {", s));
  kit_expect_text(s, TF_INVALID_ARGUMENT, "Invalid text proto for ServerDef");
  TF_MakeInternalErrorStatus(s, "inside");
  kit_expect_text(s, TF_INTERNAL, "inside");
  TF_InitMain("", NULL, NULL);
  TF_DeleteGraph(graph);
  TF_DeleteStatus(s);
}

static TF_Operation* queue_op(TF_Graph* graph, const char* op, const char* name,
                              TF_Operation* queue, TF_Operation* value) {
  const TF_DataType type = TF_INT32;
  TF_OperationDescription* desc = TF_NewOperation(graph, op, name);
  if (queue) TF_AddInput(desc, kit_out(queue, 0));
  if (value) {
    TF_Output input = kit_out(value, 0);
    TF_AddInputList(desc, &input, 1);
  } else {
    TF_SetAttrTypeList(desc, "component_types", &type, 1);
  }
  return kit_finish(desc);
}

static void test_named_queue(void** state) {
  TF_Status* s = TF_NewStatus();
  TF_Graph* graph = TF_NewGraph();
  TF_Operation* queue = queue_op(graph, "FIFOQueueV2", "q", NULL, NULL);
  TF_Operation* fed = kit_placeholder(graph, "arg_tensor_enqueue_4", TF_INT32);
  queue_op(graph, "QueueEnqueueV2", "fifo_queue_enqueue_4", queue, fed);
  queue_op(graph, "QueueDequeueV2", "fifo_queue_dequeue_4", queue, NULL);
  TF_Session* session = kit_session(graph);
  TF_Tensor* nine = kit_int32(9);
  TF_EnqueueNamedTensor(session, 4, nine, s);
  kit_ok(s);
  TF_DeleteTensor(nine);
  TF_Tensor* out = TF_DequeueNamedTensor(session, 4, s);
  kit_ok(s);
  assert_int_equal(kit_int32_of(out), 9);
  TF_EnqueueNamedTensor(session, 5, out, s);
  kit_expect(s, TF_NOT_FOUND);
  assert_null(TF_DequeueNamedTensor(session, 5, s));
  kit_expect(s, TF_NOT_FOUND);
  TF_DeleteTensor(out);
  kit_close(session);
  TF_DeleteGraph(graph);
  TF_DeleteStatus(s);
}

static void test_attr_builder(void** state) {
  TF_Status* s = TF_NewStatus();
  TF_AttrBuilder* builder = TF_NewAttrBuilder("MatMul");
  TF_AttrBuilderSetType(builder, "T", TF_FLOAT);
  TF_AttrBuilderCheckCanRunOnDevice(builder, "CPU", s);
  kit_ok(s);
  TF_AttrBuilderCheckCanRunOnDevice(builder, "GPU", s);
  kit_expect(s, TF_NOT_FOUND);
  TF_AttrBuilderCheckCanRunOnDevice(builder, NULL, s);
  kit_expect(s, TF_NOT_FOUND);
  TF_DeleteAttrBuilder(builder);
  builder = TF_NewAttrBuilder(NULL);
  const TF_DataType types[] = {TF_FLOAT, TF_INT32};
  TF_AttrBuilderSetTypeList(builder, NULL, types, 2);
  TF_AttrBuilderCheckCanRunOnDevice(builder, "CPU", s);
  kit_expect(s, TF_NOT_FOUND);
  TF_DeleteAttrBuilder(builder);
  TF_DeleteAttrBuilder(NULL);
  const char* number = TF_GetNumberAttrForOpListInput("Pack", 0, s);
  kit_ok(s);
  assert_string_equal(number, "N");
  assert_ptr_equal(TF_GetNumberAttrForOpListInput("AddN", 0, s), number);
  assert_null(TF_GetNumberAttrForOpListInput("MatMul", 0, s));
  kit_ok(s);
  assert_null(TF_GetNumberAttrForOpListInput("MatMul", 2, s));
  kit_expect(s, TF_INVALID_ARGUMENT);
  assert_null(TF_GetNumberAttrForOpListInput(NULL, 0, s));
  kit_expect(s, TF_NOT_FOUND);
  assert_int_equal(TF_OpIsStateful("VarHandleOp", s), 1);
  assert_int_equal(TF_OpIsStateful("MatMul", s), 0);
  kit_ok(s);
  TF_OpIsStateful("NoSuchOp", s);
  kit_expect(s, TF_NOT_FOUND);
  TF_DeleteStatus(s);
}

static void test_shape_lists(void** state) {
  const int64_t dims[] = {2, -1};
  TF_ShapeAndTypeList* list = TF_NewShapeAndTypeList(2);
  TF_ShapeAndTypeListSetShape(list, 0, dims, 2);
  TF_ShapeAndTypeListSetShape(list, 0, dims, 2);
  TF_ShapeAndTypeListSetUnknownShape(list, 1);
  TF_ShapeAndTypeListSetDtype(list, 1, TF_FLOAT);
  TF_ShapeAndTypeListSetShape(list, 7, dims, 2);
  TF_ShapeAndTypeListSetDtype(list, -1, TF_FLOAT);
  assert_int_equal(list->num_items, 2);
  assert_true(list->items[0].num_dims == 2 && list->items[0].dims[1] == -1);
  assert_true(list->items[1].num_dims == -1 && list->items[1].dtype == TF_FLOAT);
  TF_DeleteShapeAndTypeList(list);
  TF_DeleteShapeAndTypeList(NULL);
  TF_DeleteShapeAndTypeList(TF_NewShapeAndTypeList(-5));
  TF_DeleteShapeAndTypeListArray(NULL, 0);
}

static void test_checkpoint_reader(void** state) {
  TF_Status* s = TF_NewStatus();
  assert_null(TF_NewCheckpointReader("/nowhere/ckpt", s));
  kit_expect(s, TF_NOT_FOUND);
  assert_null(TF_NewCheckpointReader(NULL, s));
  assert_int_not_equal(TF_GetCode(s), TF_OK);
  // SaveV2 of two tensors.
  const char* prefix = "./ckpt";
  TF_Graph* graph = TF_NewGraph();
  const char* names[] = {"a", "b"};
  TF_Tensor *keys = NULL, *slices = NULL;
  const int64_t two = 2;
  keys = TF_AllocateTensor(TF_STRING, &two, 1, 2 * sizeof(TF_TString));
  slices = TF_AllocateTensor(TF_STRING, &two, 1, 2 * sizeof(TF_TString));
  for (int i = 0; i < 2; ++i) {
    TF_TString* key = (TF_TString*)TF_TensorData(keys) + i;
    TF_StringInit(key);
    TF_StringCopy(key, names[i], 1);
    TF_StringInit((TF_TString*)TF_TensorData(slices) + i);
  }
  TF_OperationDescription* desc = TF_NewOperation(graph, "SaveV2", "save");
  TF_AddInput(desc, kit_out(kit_const(graph, "prefix", kit_string(prefix)), 0));
  TF_AddInput(desc, kit_out(kit_const(graph, "names", keys), 0));
  TF_AddInput(desc, kit_out(kit_const(graph, "slices", slices), 0));
  const float values[] = {1, 2, 3};
  const TF_Output tensors[] = {
      kit_out(kit_const_int32(graph, "x", 5), 0),
      kit_out(kit_const(graph, "y", kit_floats(3, values)), 0)};
  TF_AddInputList(desc, tensors, 2);
  const TF_Operation* save = kit_finish(desc);
  TF_Session* session = kit_session(graph);
  TF_SessionRun(session, NULL, NULL, NULL, 0, NULL, NULL, 0, &save, 1, NULL, s);
  kit_ok(s);
  kit_close(session);
  TF_DeleteGraph(graph);
  TF_CheckpointReader* reader = TF_NewCheckpointReader(prefix, s);
  kit_ok(s);
  assert_int_equal(TF_CheckpointReaderSize(reader), 2);
  assert_string_equal(TF_CheckpointReaderGetVariable(reader, 1), "b");
  assert_null(TF_CheckpointReaderGetVariable(reader, 2));
  assert_null(TF_CheckpointReaderGetVariable(reader, -1));
  assert_int_equal(TF_CheckpointReaderHasTensor(reader, "a"), 1);
  assert_int_equal(TF_CheckpointReaderHasTensor(reader, "c"), 0);
  assert_int_equal(TF_CheckpointReaderHasTensor(reader, NULL), 0);
  assert_int_equal(TF_CheckpointReaderGetVariableDataType(reader, "a"), TF_INT32);
  assert_int_equal(TF_CheckpointReaderGetVariableDataType(reader, "c"), 0);
  assert_int_equal(TF_CheckpointReaderGetVariableNumDims(reader, "b"), 1);
  assert_int_equal(TF_CheckpointReaderGetVariableNumDims(reader, "c"), -1);
  int64_t dims[2] = {0};
  TF_CheckpointReaderGetVariableShape(reader, "b", dims, 1, s);
  kit_ok(s);
  assert_int_equal(dims[0], 3);
  TF_CheckpointReaderGetVariableShape(reader, "b", dims, 2, s);
  kit_expect(s, TF_INVALID_ARGUMENT);
  TF_Tensor* value = TF_CheckpointReaderGetTensor(reader, "b", s);
  kit_ok(s);
  assert_true(((float*)TF_TensorData(value))[2] == 3);
  TF_DeleteTensor(value);
  assert_null(TF_CheckpointReaderGetTensor(reader, "c", s));
  kit_expect(s, TF_NOT_FOUND);
  TF_DeleteCheckpointReader(reader);
  TF_DeleteCheckpointReader(NULL);
  leat_checkpoint_remove(prefix, s);
  TF_DeleteStatus(s);
}

// Declared here as TensorFlow's headers do it.
void TFE_CollectiveOpsCheckPeerHealth(TFE_Context* ctx, const char* task, int64_t timeout_in_ms,
                                      TF_Status* status);
static void test_unimplemented(void** state) {
  TF_Status* s = TF_NewStatus();
  TFE_CollectiveOpsCheckPeerHealth(NULL, "x", 1, s);
  kit_expect_text(s, TF_UNIMPLEMENTED, "TFE_CollectiveOpsCheckPeerHealth is not");
  TF_DeleteStatus(s);
}

// What is set is answered; the defaults are TensorFlow's.
static void test_switches(void** state) {
  assert_int_equal(TF_SetXlaEnableLazyCompilation(0), 1);
  assert_int_equal(TF_SetXlaEnableLazyCompilation(7), 0);
  assert_int_equal(TF_SetXlaEnableLazyCompilation(1), 1);
  assert_int_equal(TF_SetTfXlaCpuGlobalJit(1), 0);
  assert_int_equal(TF_SetTfXlaCpuGlobalJit(0), 1);
  static const struct {
    const char* mode;
    int enabled;
  } kModes[] = {{"1", 1}, {"0", 0}, {"2", 1}, {"-1", 0}, {"single-gpu(1)", 1}, {"junk", 1}, {"", 1},
                {"0", 0}, {"fusible", 1}, {"0", 0}};
  assert_int_equal(TF_GetXlaAutoJitEnabled(), 0);
  for (size_t i = 0; i < sizeof kModes / sizeof kModes[0]; ++i) {
    TF_SetXlaAutoJitMode(kModes[i].mode);
    assert_int_equal(TF_GetXlaAutoJitEnabled(), kModes[i].enabled);
  }
  TF_SetXlaMinClusterSize(3);
  assert_int_equal(TF_GetXlaConstantFoldingDisabled(), 0);
  TF_SetXlaConstantFoldingDisabled(1);
  assert_int_equal(TF_GetXlaConstantFoldingDisabled(), 1);
  TF_SetXlaConstantFoldingDisabled(0);
}

// Switching compilation on keeps the rest of the configuration.
static void test_switch_in_options(void** state) {
  TF_Status* s = TF_NewStatus();
  TF_Buffer* config = TF_CreateConfig(0, 0, 2);
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_SetConfig(options, config->data, config->length, s);
  TF_EnableXLACompilation(options, 1);
  TF_Graph* graph = TF_NewGraph();
  TF_Session* session = TF_NewSession(graph, options, s);
  kit_ok(s);
  TF_DeviceList* devices = TF_SessionListDevices(session, s);
  assert_int_equal(TF_DeviceListCount(devices), 2);
  TF_DeleteDeviceList(devices);
  kit_close(session);
  TF_DeleteGraph(graph);
  TF_DeleteSessionOptions(options);
  TF_DeleteBuffer(config);
  TF_DeleteStatus(s);
}

static void test_functions(void** state) {
  TF_Status* s = TF_NewStatus();
  TF_Graph *body = TF_NewGraph(), *graph = TF_NewGraph();
  TF_Operation* x = kit_placeholder(body, "x", TF_FLOAT);
  TF_Output input = kit_out(x, 0), output = kit_out(kit_unary(body, "Neg", "negated", x), 0);
  const char* names[] = {"first", "second", "third"};
  for (int i = 0; i < 3; ++i) {
    TF_Function* function = TF_GraphToFunction(body, names[i], 0, -1, NULL, 1, &input, 1, &output,
                                               NULL, NULL, NULL, s);
    kit_ok(s);
    TF_GraphCopyFunction(graph, function, NULL, s);
    kit_ok(s);
    size_t length = 0;
    char* text = TF_FunctionDebugString(function, &length);
    assert_int_equal(strlen(text), length);
    assert_non_null(strstr(text, names[i]));
    assert_non_null(strstr(text, "Neg"));
    free(text);
    TF_DeleteFunction(function);
  }
  TF_GraphRemoveFunction(graph, "second", s);
  kit_ok(s);
  TF_GraphRemoveFunction(graph, "second", s);
  kit_expect_text(s, TF_INVALID_ARGUMENT, "Tried to remove non-existent function 'second'");
  TF_Function* left[3];
  assert_int_equal(TF_GraphGetFunctions(graph, left, 3, s), 2);
  assert_string_equal(TF_FunctionName(left[0]), "first");
  assert_string_equal(TF_FunctionName(left[1]), "third");
  TF_GraphCopyFunction(graph, left[1], NULL, s);  // which is still there
  kit_ok(s);
  assert_int_equal(TF_GraphNumFunctions(graph), 2);
  for (int i = 0; i < 2; ++i) TF_DeleteFunction(left[i]);
  TF_DeleteGraph(graph);
  TF_DeleteGraph(body);
  TF_DeleteStatus(s);
}

static void test_unused_port(void** state) {
  int port = TF_PickUnusedPortOrDie();
  assert_true(port > 0 && port < 65536);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_messages),     cmocka_unit_test(test_named_queue),
      cmocka_unit_test(test_attr_builder), cmocka_unit_test(test_shape_lists),
      cmocka_unit_test(test_switches),          cmocka_unit_test(test_switch_in_options),
      cmocka_unit_test(test_functions),         cmocka_unit_test(test_unused_port),
      cmocka_unit_test(test_checkpoint_reader), cmocka_unit_test(test_unimplemented),
  };
  return cmocka_run_group_tests(tests, scratch_set_up, scratch_tear_down);
}
