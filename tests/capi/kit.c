// What the tests of the C API build with: checked one-line versions of the public functions
// (kit.h). Each function makes a status of its own, so that a test can hold one in the meantime,
// and fails the test at once where something does not succeed. Tensors that are passed to kit_const
// and kit_run are deleted by them. kit_expect also demands that an error has a message and that OK
// has none.
#include "capi/kit.h"

#include "tensorflow/c/tf_tstring.h"

void kit_expect_at(const TF_Status* status, TF_Code code, const char* file, int line) {
  const char* message = TF_Message(status);
  if (TF_GetCode(status) != code) print_error("message: %s\n", message);
  _assert_int_equal((uintmax_t)TF_GetCode(status), (uintmax_t)code, file, line);
  _assert_int_equal((uintmax_t)(message[0] == 0), (uintmax_t)(code == TF_OK), file, line);
}

void kit_expect_text(const TF_Status* status, TF_Code code, const char* text) {
  kit_expect(status, code);
  if (!strstr(TF_Message(status), text)) fail_msg("'%s' is not in: %s", text, TF_Message(status));
}

// ---- Tensors ------------------------------------------------------------------------------------

TF_Tensor* kit_tensor(TF_DataType dtype, int rank, const int64_t* dims, const void* values,
                      size_t bytes) {
  TF_Tensor* tensor = TF_AllocateTensor(dtype, dims, rank, bytes);
  assert_non_null(tensor);
  if (bytes) memcpy(TF_TensorData(tensor), values, bytes);
  return tensor;
}

TF_Tensor* kit_int32(int32_t value) {
  return kit_tensor(TF_INT32, 0, NULL, &value, sizeof value);
}

TF_Tensor* kit_float(float value) { return kit_tensor(TF_FLOAT, 0, NULL, &value, sizeof value); }

TF_Tensor* kit_floats(int64_t count, const float* values) {
  return kit_tensor(TF_FLOAT, 1, &count, values, (size_t)count * sizeof(float));
}

TF_Tensor* kit_string(const char* value) {
  TF_Tensor* tensor = TF_AllocateTensor(TF_STRING, NULL, 0, sizeof(TF_TString));
  assert_non_null(tensor);
  TF_TString* string = TF_TensorData(tensor);
  TF_StringInit(string);
  TF_StringCopy(string, value, strlen(value));
  return tensor;
}

float kit_float_of(const TF_Tensor* tensor) {
  assert_int_equal(TF_TensorType(tensor), TF_FLOAT);
  return *(const float*)TF_TensorData(tensor);
}

int32_t kit_int32_of(const TF_Tensor* tensor) {
  assert_int_equal(TF_TensorType(tensor), TF_INT32);
  return *(const int32_t*)TF_TensorData(tensor);
}

// ---- Operations ---------------------------------------------------------------------------------

TF_Operation* kit_finish(TF_OperationDescription* desc) {
  TF_Status* status = TF_NewStatus();
  TF_Operation* operation = TF_FinishOperation(desc, status);
  kit_ok(status);
  assert_non_null(operation);
  TF_DeleteStatus(status);
  return operation;
}

TF_Operation* kit_placeholder(TF_Graph* graph, const char* name, TF_DataType dtype) {
  TF_OperationDescription* desc = TF_NewOperation(graph, "Placeholder", name);
  TF_SetAttrType(desc, "dtype", dtype);
  return kit_finish(desc);
}

TF_Operation* kit_shaped(TF_Graph* graph, const char* name, TF_DataType dtype, int rank,
                         const int64_t* dims) {
  TF_OperationDescription* desc = TF_NewOperation(graph, "Placeholder", name);
  TF_SetAttrType(desc, "dtype", dtype);
  TF_SetAttrShape(desc, "shape", dims, rank);
  return kit_finish(desc);
}

TF_Operation* kit_const(TF_Graph* graph, const char* name, TF_Tensor* value) {
  TF_Status* status = TF_NewStatus();
  TF_OperationDescription* desc = TF_NewOperation(graph, "Const", name);
  TF_SetAttrType(desc, "dtype", TF_TensorType(value));
  TF_SetAttrTensor(desc, "value", value, status);
  kit_ok(status);
  TF_DeleteStatus(status);
  TF_DeleteTensor(value);
  return kit_finish(desc);
}

TF_Operation* kit_const_int32(TF_Graph* graph, const char* name, int32_t value) {
  return kit_const(graph, name, kit_int32(value));
}

TF_Operation* kit_const_float(TF_Graph* graph, const char* name, float value) {
  return kit_const(graph, name, kit_float(value));
}

TF_Operation* kit_unary(TF_Graph* graph, const char* op, const char* name, TF_Operation* x) {
  TF_OperationDescription* desc = TF_NewOperation(graph, op, name);
  TF_AddInput(desc, kit_out(x, 0));
  return kit_finish(desc);
}

TF_Operation* kit_binary(TF_Graph* graph, const char* op, const char* name, TF_Operation* x,
                         TF_Operation* y) {
  TF_OperationDescription* desc = TF_NewOperation(graph, op, name);
  TF_AddInput(desc, kit_out(x, 0));
  TF_AddInput(desc, kit_out(y, 0));
  return kit_finish(desc);
}

TF_Operation* kit_no_op(TF_Graph* graph, const char* name) {
  return kit_finish(TF_NewOperation(graph, "NoOp", name));
}

TF_Output kit_out(TF_Operation* operation, int index) { return (TF_Output){operation, index}; }

int kit_count(TF_Graph* graph) {
  int count = 0;
  size_t position = 0;
  while (TF_GraphNextOperation(graph, &position)) ++count;
  return count;
}

// ---- Sessions -----------------------------------------------------------------------------------

TF_Session* kit_session(TF_Graph* graph) {
  TF_Status* status = TF_NewStatus();
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_Session* session = TF_NewSession(graph, options, status);
  kit_ok(status);
  assert_non_null(session);
  TF_DeleteSessionOptions(options);
  TF_DeleteStatus(status);
  return session;
}

void kit_close(TF_Session* session) {
  TF_Status* status = TF_NewStatus();
  TF_CloseSession(session, status);
  kit_ok(status);
  TF_DeleteSession(session, status);
  kit_ok(status);
  TF_DeleteStatus(status);
}

TF_Tensor* kit_run(TF_Session* session, TF_Output feed, TF_Tensor* value, TF_Output fetch) {
  TF_Status* status = TF_NewStatus();
  TF_Tensor* result = NULL;
  TF_SessionRun(session, NULL, &feed, &value, feed.oper ? 1 : 0, &fetch, &result, 1, NULL, 0, NULL,
                status);
  kit_ok(status);
  assert_non_null(result);
  TF_DeleteTensor(value);
  TF_DeleteStatus(status);
  return result;
}
