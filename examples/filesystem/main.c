// Loads a plugin with a file system, writes a file of it by a graph, and reads it again:
//
//   filesystem [lib/memory_plugin.so]
//   memory:///notes/hello.txt has 13 bytes: hello, plugin
#include <stdio.h>
#include <string.h>

#include "tensorflow/c/c_api.h"
#include "tensorflow/c/env.h"

static const char path[] = "memory:///notes/hello.txt";

static TF_Output text(TF_Graph* graph, const char* name, const char* value, TF_Status* status) {
  TF_TString* string;
  TF_Tensor* tensor = TF_AllocateTensor(TF_STRING, NULL, 0, sizeof *string);
  string = TF_TensorData(tensor);
  TF_StringInit(string);
  TF_StringCopy(string, value, strlen(value));
  TF_OperationDescription* desc = TF_NewOperation(graph, "Const", name);
  TF_SetAttrTensor(desc, "value", tensor, status);
  TF_SetAttrType(desc, "dtype", TF_STRING);
  TF_DeleteTensor(tensor);
  return (TF_Output){TF_FinishOperation(desc, status), 0};
}

// ReadFile, after WriteFile: the file and its directory are made when they are absent.
static TF_Output write_and_read(TF_Graph* graph, TF_Status* status) {
  TF_Output name = text(graph, "name", path, status);
  TF_Output contents = text(graph, "contents", "hello, plugin", status);
  TF_OperationDescription* desc = TF_NewOperation(graph, "WriteFile", "write");
  TF_AddInput(desc, name);
  TF_AddInput(desc, contents);
  TF_Operation* write = TF_FinishOperation(desc, status);
  desc = TF_NewOperation(graph, "ReadFile", "read");
  TF_AddInput(desc, name);
  TF_AddControlInput(desc, write);
  return (TF_Output){TF_FinishOperation(desc, status), 0};
}

static TF_Tensor* run(TF_Graph* graph, TF_Output output, TF_Status* status) {
  TF_Tensor* result = NULL;
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_Session* session = TF_NewSession(graph, options, status);
  TF_DeleteSessionOptions(options);
  if (!session) return NULL;
  TF_SessionRun(session, NULL, NULL, NULL, 0, &output, &result, 1, NULL, 0, NULL, status);
  TF_Status* closed = TF_NewStatus();
  TF_DeleteSession(session, closed);
  TF_DeleteStatus(closed);
  return result;
}

int main(int argc, char** argv) {
  TF_Status* status = TF_NewStatus();
  TF_FileStatistics stats = {0};
  TF_Tensor* result = NULL;
  TF_Graph* graph = TF_NewGraph();
  TF_RegisterFilesystemPlugin(argc > 1 ? argv[1] : "lib/memory_plugin.so", status);
  if (TF_GetCode(status) == TF_OK) result = run(graph, write_and_read(graph, status), status);
  if (result) TF_FileStat(path, &stats, status);
  int failed = TF_GetCode(status) != TF_OK;
  if (failed) {
    fprintf(stderr, "filesystem: %s\n", TF_Message(status));
  } else {
    const TF_TString* contents = TF_TensorData(result);
    printf("%s has %d bytes: %.*s\n", path, (int)stats.length, (int)TF_StringGetSize(contents),
           TF_StringGetDataPointer(contents));
  }
  TF_DeleteTensor(result);
  TF_DeleteGraph(graph);
  TF_DeleteStatus(status);
  return failed;
}
