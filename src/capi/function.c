// TF_Function: named subgraphs. They come with the function room; until then graphs have none of
// this API's making, and say so.
#include "capi/handles.h"
#include "graph/function_library.h"

TF_Function* TF_GraphToFunction(const TF_Graph* fn_body, const char* fn_name,
                                unsigned char append_hash_to_fn_name, int num_opers,
                                const TF_Operation* const* opers, int ninputs,
                                const TF_Output* inputs, int noutputs, const TF_Output* outputs,
                                const char* const* output_names, const TF_FunctionOptions* opts,
                                const char* description, TF_Status* status) {
  leat_capi_status_unimplemented(status, "TF_GraphToFunction");
  return NULL;
}

TF_Function* TF_GraphToFunctionWithControlOutputs(
    const TF_Graph* fn_body, const char* fn_name, unsigned char append_hash_to_fn_name,
    int num_opers, const TF_Operation* const* opers, int ninputs, const TF_Output* inputs,
    int noutputs, const TF_Output* outputs, const char* const* output_names, int ncontrol_outputs,
    const TF_Operation* const* control_outputs, const char* const* control_output_names,
    const TF_FunctionOptions* opts, const char* description, TF_Status* status) {
  leat_capi_status_unimplemented(status, "TF_GraphToFunctionWithControlOutputs");
  return NULL;
}

TF_Function* TF_FunctionImportFunctionDef(const void* proto, size_t proto_len,
                                          TF_Status* status) {
  leat_capi_status_unimplemented(status, "TF_FunctionImportFunctionDef");
  return NULL;
}

void TF_DeleteFunction(TF_Function* func) {}

const char* TF_FunctionName(TF_Function* func) { return ""; }

void TF_FunctionToFunctionDef(TF_Function* func, TF_Buffer* output_func_def, TF_Status* status) {
  leat_capi_status_unimplemented(status, "TF_FunctionToFunctionDef");
}

void TF_FunctionSetAttrValueProto(TF_Function* func, const char* attr_name, const void* proto,
                                  size_t proto_len, TF_Status* status) {
  leat_capi_status_unimplemented(status, "TF_FunctionSetAttrValueProto");
}

void TF_FunctionGetAttrValueProto(TF_Function* func, const char* attr_name,
                                  TF_Buffer* output_attr_value, TF_Status* status) {
  leat_capi_status_unimplemented(status, "TF_FunctionGetAttrValueProto");
}

void TF_GraphCopyFunction(TF_Graph* g, const TF_Function* func, const TF_Function* grad,
                          TF_Status* status) {
  leat_capi_status_unimplemented(status, "TF_GraphCopyFunction");
}

// ---- What came with imported graphs -------------------------------------------------------------

int TF_GraphNumFunctions(TF_Graph* g) {
  const leat_graph_t* graph = leat_capi_lock(g);
  int count = graph->functions ? leat_function_library_count(graph->functions) : 0;
  leat_capi_unlock(g);
  return count;
}

int TF_GraphGetFunctions(TF_Graph* g, TF_Function** funcs, int max_func, TF_Status* status) {
  if (max_func > 0 && TF_GraphNumFunctions(g) > 0) {
    leat_capi_status_unimplemented(status, "TF_GraphGetFunctions");
  } else {
    leat_capi_status_set(status, leat_ok_status());
  }
  return 0;
}
