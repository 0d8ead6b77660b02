// Graphs with functions for the tests of the C API: the definitions of function_kit.h. A graph
// comes as text in protobuf's format, is imported through TF_GraphImportGraphDef() as a user's
// would be, and gets a session on one or more CPU devices. By convention the graphs' placeholders
// are called "x" and "y", which is why functions_run() can feed them without being told.
// functions_try() returns the code of a step and takes a deadline; all other functions fail the
// test when a step fails.
#include "capi/function_kit.h"

#include "hostile/case_file.h"

TF_Code functions_import(TF_Graph* graph, const char* text, TF_Status* status) {
  TF_ImportGraphDefOptions* options = TF_NewImportGraphDefOptions();
  TF_Buffer* def = case_graph(leat_string_view_from(text));
  TF_GraphImportGraphDef(graph, def, options, status);
  TF_DeleteBuffer(def);
  TF_DeleteImportGraphDefOptions(options);
  return TF_GetCode(status);
}

functions_t functions_open_on(const char* text, int devices) {
  const unsigned char config[] = {0x0a, 7, 0x0a, 3, 'C', 'P', 'U', 0x10, (unsigned char)devices,
                                  0x28, 2};  // device_count, inter_op threads
  functions_t f = {TF_NewGraph(), NULL, TF_NewStatus()};
  functions_import(f.graph, text, f.status);
  kit_ok(f.status);
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_SetConfig(options, config, sizeof config, f.status);
  kit_ok(f.status);
  f.session = TF_NewSession(f.graph, options, f.status);
  kit_ok(f.status);
  TF_DeleteSessionOptions(options);
  return f;
}

functions_t functions_open(const char* text) {
  functions_t f = {TF_NewGraph(), NULL, TF_NewStatus()};
  functions_import(f.graph, text, f.status);
  kit_ok(f.status);
  f.session = kit_session(f.graph);
  return f;
}

void functions_close(functions_t* f) {
  kit_close(f->session);
  TF_DeleteGraph(f->graph);
  TF_DeleteStatus(f->status);
}

TF_Output functions_output(const functions_t* f, const char* name, int index) {
  TF_Operation* operation = TF_GraphOperationByName(f->graph, name);
  if (!operation) fail_msg("there is no %s", name);
  return (TF_Output){operation, index};
}

static TF_Tensor* run(functions_t* f, const char* name, int index, TF_Tensor* x, TF_Tensor* y,
                      int timeout_ms) {
  TF_Output feeds[2], fetch = functions_output(f, name, index);
  TF_Tensor *values[2], *result = NULL;
  int count = 0;
  if (x) feeds[count] = functions_output(f, "x", 0), values[count++] = x;
  if (y) feeds[count] = functions_output(f, "y", 0), values[count++] = y;
  const char limit[] = {0x10, (char)(timeout_ms % 128)};
  TF_Buffer* options = timeout_ms ? TF_NewBufferFromString(limit, sizeof limit) : NULL;
  TF_SessionRun(f->session, options, feeds, values, count, &fetch, &result, 1, NULL, 0, NULL,
                f->status);
  if (options) TF_DeleteBuffer(options);
  TF_DeleteTensor(x);
  TF_DeleteTensor(y);
  return result;
}

TF_Tensor* functions_run(functions_t* f, const char* name, int index, TF_Tensor* x, TF_Tensor* y) {
  TF_Tensor* result = run(f, name, index, x, y, 0);
  kit_ok(f->status);
  assert_non_null(result);
  return result;
}

float functions_float(functions_t* f, const char* name, float x) {
  TF_Tensor* result = functions_run(f, name, 0, kit_float(x), NULL);
  float value = kit_float_of(result);
  TF_DeleteTensor(result);
  return value;
}

int32_t functions_int(functions_t* f, const char* name, int32_t x) {
  TF_Tensor* result = functions_run(f, name, 0, kit_int32(x), NULL);
  int32_t value = kit_int32_of(result);
  TF_DeleteTensor(result);
  return value;
}

float functions_fetch(functions_t* f, const char* name) {
  TF_Tensor* result = functions_run(f, name, 0, NULL, NULL);
  float value = kit_float_of(result);
  TF_DeleteTensor(result);
  return value;
}

void functions_target(functions_t* f, const char* name) {
  const TF_Operation* target = functions_output(f, name, 0).oper;
  TF_SessionRun(f->session, NULL, NULL, NULL, 0, NULL, NULL, 0, &target, 1, NULL, f->status);
  kit_ok(f->status);
}

TF_Code functions_try(functions_t* f, const char* name, TF_Tensor* x, int timeout_ms) {
  TF_Tensor* result = run(f, name, 0, x, NULL, timeout_ms);
  if (TF_GetCode(f->status) != TF_OK) assert_null(result);
  TF_DeleteTensor(result);
  return TF_GetCode(f->status);
}
