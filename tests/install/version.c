// A program that knows nothing but TensorFlow's C API: makes a graph with a placeholder.
#include <stdio.h>
#include <string.h>

#include "tensorflow/c/c_api.h"

int main(void) {
  TF_Status* status = TF_NewStatus();
  TF_Graph* graph = TF_NewGraph();
  TF_OperationDescription* description = TF_NewOperation(graph, "Placeholder", "x");
  TF_SetAttrType(description, "dtype", TF_FLOAT);
  TF_Operation* x = TF_FinishOperation(description, status);
  int failed = TF_GetCode(status) != TF_OK || strcmp(TF_OperationName(x), "x") != 0;
  printf("%s %s\n", TF_Version(), failed ? TF_Message(status) : "works");
  TF_DeleteGraph(graph);
  TF_DeleteStatus(status);
  return failed;
}
