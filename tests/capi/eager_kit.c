#include "capi/eager_kit.h"

TFE_Context* eager_open(void) {
  TF_Status* s = TF_NewStatus();
  TFE_ContextOptions* options = TFE_NewContextOptions();
  TFE_Context* context = TFE_NewContext(options, s);
  kit_ok(s);
  TFE_DeleteContextOptions(options);
  TF_DeleteStatus(s);
  return context;
}

TFE_TensorHandle* eager_handle(TF_Tensor* tensor) {
  TF_Status* s = TF_NewStatus();
  TFE_TensorHandle* handle = TFE_NewTensorHandle(tensor, s);
  kit_ok(s);
  TF_DeleteTensor(tensor);
  TF_DeleteStatus(s);
  return handle;
}

TFE_Op* eager_op(TFE_Context* context, const char* name, TFE_TensorHandle* a,
                 TFE_TensorHandle* b) {
  TF_Status* s = TF_NewStatus();
  TFE_Op* op = TFE_NewOp(context, name, s);
  kit_ok(s);
  if (a) TFE_OpAddInput(op, a, s);
  if (b) TFE_OpAddInput(op, b, s);
  kit_ok(s);
  TF_DeleteStatus(s);
  return op;
}

TFE_TensorHandle* eager_result(TFE_Op* op) {
  TF_Status* s = TF_NewStatus();
  TFE_TensorHandle* result = NULL;
  int count = 1;
  TFE_Execute(op, &result, &count, s);
  kit_ok(s);
  assert_int_equal(count, 1);
  TFE_DeleteOp(op);
  TF_DeleteStatus(s);
  return result;
}

void eager_expect(TFE_Op* op, TF_Code code) {
  TF_Status* s = TF_NewStatus();
  TFE_TensorHandle* results[4];
  int count = 4;
  TFE_Execute(op, results, &count, s);
  kit_expect(s, code);
  TFE_DeleteOp(op);
  TF_DeleteStatus(s);
}

// The tensor of |handle|, which is deleted.
static TF_Tensor* resolve(TFE_TensorHandle* handle) {
  TF_Status* s = TF_NewStatus();
  TF_Tensor* tensor = TFE_TensorHandleResolve(handle, s);
  kit_ok(s);
  TFE_DeleteTensorHandle(handle);
  TF_DeleteStatus(s);
  return tensor;
}

int32_t eager_int32(TFE_TensorHandle* handle) {
  TF_Tensor* tensor = resolve(handle);
  int32_t value = kit_int32_of(tensor);
  TF_DeleteTensor(tensor);
  return value;
}

float eager_float(TFE_TensorHandle* handle) {
  TF_Tensor* tensor = resolve(handle);
  float value = kit_float_of(tensor);
  TF_DeleteTensor(tensor);
  return value;
}

TF_Function* eager_self_binary(const char* name, const char* op, TF_DataType type) {
  TF_Status* s = TF_NewStatus();
  TF_Graph* graph = TF_NewGraph();
  TF_Operation* x = kit_placeholder(graph, "x", type);
  const TF_Output input = kit_out(x, 0), output = kit_out(kit_binary(graph, op, "y", x, x), 0);
  TF_Function* function = TF_GraphToFunction(graph, name, 0, -1, NULL, 1, &input, 1, &output, NULL,
                                             NULL, NULL, s);
  kit_ok(s);
  TF_DeleteGraph(graph);
  TF_DeleteStatus(s);
  return function;
}

void eager_add_function(TFE_Context* context, TF_Function* function) {
  TF_Status* s = TF_NewStatus();
  TFE_ContextAddFunction(context, function, s);
  kit_ok(s);
  TF_DeleteFunction(function);
  TF_DeleteStatus(s);
}
