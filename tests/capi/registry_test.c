// What the process knows of ops and kernels, as the C API tells it: the lists of both, single
// OpDefs, and what happens to what is not implemented, such as servers. The deprecated session,
// TF_Reset and log listeners are here as well, since each is one small test of the process as a
// whole. The lists are read as bytes, without our decoder. That the OpDefs are TensorFlow's is
// tested by tests/oracle/op_list_oracle.py.
#include "capi/kit.h"

static bool holds(const TF_Buffer* buffer, const char* text) {
  size_t size = strlen(text);
  for (size_t i = 0; i + size <= buffer->length; ++i) {
    if (memcmp((const char*)buffer->data + i, text, size) == 0) return true;
  }
  return false;
}

// Names of the ops in an OpList: field 1 of each field 1.
static int check_sorted(const TF_Buffer* list) {
  const unsigned char* next = list->data;
  const unsigned char* end = next + list->length;
  char last[256] = "";
  int count = 0;
  while (next < end) {
    assert_int_equal(*next++, 0x0a);
    size_t size = 0;
    for (int shift = 0;; shift += 7) {
      size |= (size_t)(*next & 0x7f) << shift;
      if (!(*next++ & 0x80)) break;
    }
    assert_int_equal(next[0], 0x0a);
    char name[256] = "";
    memcpy(name, next + 2, next[1]);
    assert_true(strcmp(last, name) < 0);
    memcpy(last, name, sizeof last);
    next += size;
    ++count;
  }
  return count;
}

static void test_ops(void** state) {
  TF_Status* s = TF_NewStatus();
  TF_Buffer* all = TF_GetAllOpList();
  assert_non_null(all);
  assert_in_range(check_sorted(all), 10, 3000);
  TF_Graph* graph = TF_NewGraph();
  TF_Buffer* one = TF_NewBuffer();
  TF_GraphGetOpDef(graph, "NoOp", one, s);
  kit_ok(s);
  assert_int_equal(one->length, 6);
  assert_memory_equal(one->data, "\x0a\x04NoOp", 6);
  TF_DeleteBuffer(one);
  one = TF_NewBuffer();
  TF_GraphGetOpDef(graph, "NoSuchOp", one, s);
  kit_expect(s, TF_NOT_FOUND);
  assert_null(one->data);
  TF_DeleteBuffer(one);
  TF_DeleteBuffer(all);
  TF_DeleteGraph(graph);
  TF_DeleteStatus(s);
}

static void test_kernels(void** state) {
  TF_Status* s = TF_NewStatus();
  TF_Buffer* all = TF_GetAllRegisteredKernels(s);
  kit_ok(s);
  assert_true(holds(all, "Identity"));
  TF_Buffer* one = TF_GetRegisteredKernelsForOp("Identity", s);
  kit_ok(s);
  assert_true(one->length > 0 && one->length < all->length);
  assert_true(holds(one, "\x12\x03" "CPU"));
  TF_Buffer* none = TF_GetRegisteredKernelsForOp("NoSuchOp", s);
  kit_ok(s);
  assert_int_equal(none->length, 0);
  TF_DeleteBuffer(none);
  none = TF_GetRegisteredKernelsForOp("", s);
  kit_ok(s);
  assert_int_equal(none->length, 0);
  TF_DeleteBuffer(none);
  TF_DeleteBuffer(one);
  TF_DeleteBuffer(all);
  TF_DeleteStatus(s);
}

static void test_of_nothing(void** state) {
  TF_Status* s = TF_NewStatus();
  TF_Graph* graph = TF_NewGraph();
  TF_Session* session = kit_session(graph);
  assert_int_equal(TF_GraphNumFunctions(graph), 0);
  assert_int_equal(TF_GraphGetFunctions(graph, NULL, 0, s), 0);
  kit_ok(s);
  TF_DeleteFunction(NULL);
  TF_DeletePRunHandle(NULL);
  assert_null(TF_NewServer("", 0, s));
  kit_expect(s, TF_INVALID_ARGUMENT);
  TF_DeleteServer(NULL);
  kit_close(session);
  TF_DeleteGraph(graph);
  TF_DeleteStatus(s);
}

static void test_deprecated_session(void** state) {
  TF_Status* s = TF_NewStatus();
  TF_Graph* graph = TF_NewGraph();
  TF_Operation* x = kit_placeholder(graph, "x", TF_INT32);
  kit_unary(graph, "Neg", "negative", x);
  TF_Buffer* def = TF_NewBuffer();
  TF_GraphToGraphDef(graph, def, s);
  kit_ok(s);
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_DeprecatedSession* session = TF_NewDeprecatedSession(options, s);
  kit_ok(s);
  TF_Run(session, NULL, NULL, NULL, 0, NULL, NULL, 0, NULL, 0, NULL, s);
  kit_expect_text(s, TF_INVALID_ARGUMENT, "Session was not created with a graph before Run()!");
  TF_ExtendGraph(session, def->data, def->length, s);
  kit_ok(s);
  TF_ExtendGraph(session, def->data, def->length, s);
  kit_expect(s, TF_INVALID_ARGUMENT);
  const char* feed = "x:0";
  const char* fetch = "negative";
  TF_Tensor* seven = kit_int32(7);
  TF_Tensor* result = NULL;
  TF_Run(session, NULL, &feed, &seven, 1, &fetch, &result, 1, NULL, 0, NULL, s);
  kit_ok(s);
  assert_int_equal(kit_int32_of(result), -7);
  TF_DeleteTensor(result);
  fetch = "nobody:0";
  TF_Run(session, NULL, &feed, &seven, 1, &fetch, &result, 1, NULL, 0, NULL, s);
  kit_expect(s, TF_NOT_FOUND);
  assert_null(result);
  TF_DeviceList* devices = TF_DeprecatedSessionListDevices(session, s);
  kit_ok(s);
  assert_int_equal(TF_DeviceListCount(devices), 1);
  TF_DeleteDeviceList(devices);
  TF_CloseDeprecatedSession(session, s);
  kit_ok(s);
  TF_DeleteDeprecatedSession(session, s);
  kit_ok(s);
  TF_DeleteTensor(seven);
  TF_DeleteSessionOptions(options);
  TF_DeleteBuffer(def);
  TF_DeleteGraph(graph);
  TF_DeleteStatus(s);
}

// A graph of a variable in the container "kept"; its operations read and assign 7.
static TF_Operation* variable(TF_Graph* graph, TF_Operation** out_assign) {
  TF_OperationDescription* desc = TF_NewOperation(graph, "VarHandleOp", "v");
  TF_SetAttrType(desc, "dtype", TF_INT32);
  TF_SetAttrShape(desc, "shape", NULL, 0);
  TF_SetAttrString(desc, "container", "kept", 4);
  TF_SetAttrString(desc, "shared_name", "v", 1);
  TF_Operation* handle = kit_finish(desc);
  *out_assign = kit_binary(graph, "AssignVariableOp", "assign", handle,
                           kit_const_int32(graph, "seven", 7));
  desc = TF_NewOperation(graph, "ReadVariableOp", "read");
  TF_AddInput(desc, kit_out(handle, 0));
  TF_SetAttrType(desc, "dtype", TF_INT32);
  return kit_finish(desc);
}

static TF_Code read_code(TF_Session* session, TF_Operation* read, TF_Status* s) {
  TF_Output output = kit_out(read, 0);
  TF_Tensor* value = NULL;
  TF_SessionRun(session, NULL, NULL, NULL, 0, &output, &value, 1, NULL, 0, NULL, s);
  TF_DeleteTensor(value);
  return TF_GetCode(s);
}

static void test_reset(void** state) {
  TF_Status* s = TF_NewStatus();
  TF_Graph* graph = TF_NewGraph();
  TF_Operation* assign = NULL;
  TF_Operation* read = variable(graph, &assign);
  TF_Session* one = kit_session(graph);
  TF_Session* two = kit_session(graph);
  const TF_Operation* target = assign;
  TF_SessionRun(one, NULL, NULL, NULL, 0, NULL, NULL, 0, &target, 1, NULL, s);
  kit_ok(s);
  assert_int_equal(read_code(two, read, s), TF_OK);  // containers with a name are shared
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_SetTarget(options, "nowhere://nobody:1");
  TF_Reset(options, NULL, 0, s);
  kit_expect(s, TF_NOT_FOUND);
  TF_SetTarget(options, "");
  const char* names[] = {NULL, "kept"};
  TF_Reset(options, names, 2, s);
  kit_ok(s);
  assert_int_not_equal(read_code(two, read, s), TF_OK);  // closed
  TF_Session* three = kit_session(graph);
  assert_int_equal(read_code(three, read, s), TF_FAILED_PRECONDITION);
  TF_Reset(NULL, NULL, 0, s);
  kit_ok(s);
  TF_DeleteSession(one, s);
  TF_DeleteSession(two, s);
  TF_DeleteSession(three, s);
  TF_DeleteSessionOptions(options);
  TF_DeleteGraph(graph);
  TF_DeleteStatus(s);
}

static char heard[64];
static void listen(const char* text) {
  memcpy(heard, text, strlen(text) + 1);
}

static void test_log_listener(void** state) {
  TF_Status* s = TF_NewStatus();
  TF_Graph* graph = TF_NewGraph();
  TF_Operation* text = kit_const(graph, "text", kit_string("the mill turns"));
  TF_OperationDescription* desc = TF_NewOperation(graph, "PrintV2", "print");
  TF_AddInput(desc, kit_out(text, 0));
  const TF_Operation* print = kit_finish(desc);
  TF_Session* session = kit_session(graph);
  TF_RegisterLogListener(NULL);
  TF_RegisterLogListener(listen);
  TF_SessionRun(session, NULL, NULL, NULL, 0, NULL, NULL, 0, &print, 1, NULL, s);
  kit_ok(s);
  assert_string_equal(heard, "the mill turns\n");
  kit_close(session);
  TF_DeleteGraph(graph);
  TF_DeleteStatus(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_ops),
      cmocka_unit_test(test_kernels),
      cmocka_unit_test(test_of_nothing),
      cmocka_unit_test(test_deprecated_session),
      cmocka_unit_test(test_reset),
      cmocka_unit_test(test_log_listener),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
