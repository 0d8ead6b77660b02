#include "capi/plugin_kit.h"

bool holds(const void* data, size_t length, const char* text) {
  size_t size = strlen(text);
  for (size_t i = 0; i + size <= length; ++i) {
    if (memcmp((const char*)data + i, text, size) == 0) return true;
  }
  return false;
}

TF_Code register_op(const char* name, const char* input, const char* output, const char* attr,
                    shape_t shape) {
  TF_Status* s = TF_NewStatus();
  TF_OpDefinitionBuilder* builder = TF_NewOpDefinitionBuilder(name);
  if (input) TF_OpDefinitionBuilderAddInput(builder, input);
  if (output) TF_OpDefinitionBuilderAddOutput(builder, output);
  if (attr) TF_OpDefinitionBuilderAddAttr(builder, attr);
  TF_OpDefinitionBuilderSetIsStateful(builder, true);
  TF_OpDefinitionBuilderSetShapeInferenceFunction(builder, shape);
  TF_RegisterOpDefinition(builder, s);
  TF_Code code = TF_GetCode(s);
  TF_DeleteStatus(s);
  return code;
}

void register_kernel(const char* op, compute_t compute) {
  TF_Status* s = TF_NewStatus();
  TF_RegisterKernelBuilder(op, TF_NewKernelBuilder(op, "CPU", NULL, compute, NULL), s);
  kit_ok(s);
  TF_DeleteStatus(s);
}

TF_Tensor* run_node(TF_Graph* graph, TF_Operation* y, TF_Status* s) {
  TF_Session* session = kit_session(graph);
  TF_Output output = kit_out(y, 0);
  TF_Tensor* result = NULL;
  TF_SessionRun(session, NULL, NULL, NULL, 0, &output, &result, 1, NULL, 0, NULL, s);
  kit_close(session);
  return result;
}

TF_Tensor* run_op(const char* op, TF_Status* s) {
  TF_Graph* graph = TF_NewGraph();
  TF_Operation* y = kit_unary(graph, op, "y", kit_const_int32(graph, "x", 5));
  TF_Tensor* result = run_node(graph, y, s);
  TF_DeleteGraph(graph);
  return result;
}
