// Loads a library of ops and runs one of them:
//
//   custom_op [lib/zero_out_plugin.so]
//   ZeroOut([7, 8, 9], keep=2) = [7, 8, 0]
#include <stdio.h>

#include "tensorflow/c/c_api.h"

static int fail(const char* what, TF_Status* status) {
  fprintf(stderr, "custom_op: %s: %s\n", what, TF_Message(status));
  return 1;
}

static TF_Output placeholder(TF_Graph* graph, TF_Status* status) {
  TF_OperationDescription* desc = TF_NewOperation(graph, "Placeholder", "x");
  TF_SetAttrType(desc, "dtype", TF_INT32);
  return (TF_Output){TF_FinishOperation(desc, status), 0};
}

static TF_Output zero_out(TF_Graph* graph, TF_Output x, int64_t keep, TF_Status* status) {
  TF_OperationDescription* desc = TF_NewOperation(graph, "ZeroOut", "zero_out");
  TF_AddInput(desc, x);
  TF_SetAttrInt(desc, "keep", keep);
  return (TF_Output){TF_FinishOperation(desc, status), 0};
}

// Runs |y| over [7, 8, 9]; the result is the caller's.
static TF_Tensor* run(TF_Graph* graph, TF_Output x, TF_Output y, TF_Status* status) {
  const int64_t count = 3;
  TF_Tensor *fed = TF_AllocateTensor(TF_INT32, &count, 1, 3 * sizeof(int32_t)), *result = NULL;
  for (int i = 0; i < 3; ++i) ((int32_t*)TF_TensorData(fed))[i] = 7 + i;
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_Session* session = TF_NewSession(graph, options, status);
  TF_DeleteSessionOptions(options);
  if (session) {
    TF_SessionRun(session, NULL, &x, &fed, 1, &y, &result, 1, NULL, 0, NULL, status);
    TF_Status* closed = TF_NewStatus();
    TF_DeleteSession(session, closed);
    TF_DeleteStatus(closed);
  }
  TF_DeleteTensor(fed);
  return result;
}

int main(int argc, char** argv) {
  TF_Status* status = TF_NewStatus();
  TF_Library* library =
      TF_LoadLibrary(argc > 1 ? argv[1] : "lib/zero_out_plugin.so", status);
  if (!library) return fail("loading", status);
  TF_Graph* graph = TF_NewGraph();
  TF_Output x = placeholder(graph, status);
  TF_Output y = zero_out(graph, x, 2, status);
  if (!y.oper) return fail("building", status);
  TF_Tensor* result = run(graph, x, y, status);
  if (!result) return fail("running", status);
  const int32_t* values = TF_TensorData(result);
  printf("ZeroOut([7, 8, 9], keep=2) = [%d, %d, %d]\n", values[0], values[1], values[2]);
  TF_DeleteTensor(result);
  TF_DeleteGraph(graph);
  TF_DeleteLibraryHandle(library);
  TF_DeleteStatus(status);
  return 0;
}
