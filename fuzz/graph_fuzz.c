// Graphs: imported, and when they are sound run, with limits on memory and time. The input is a
// GraphDef, or '#' and a GraphDef in text form, which mutates into sound graphs more often. A few
// of the nodes are run, each by a step of its own with a deadline, because an import that accepts a
// graph has promised that running it can only fail. Graphs with ops that touch files are imported
// but not run. What is looked for are crashes, hangs and leaks; any status is a good answer.
#include <stdio.h>
#include <string.h>

#include "formats/generated/graph.h"
#include "formats/wire/encode.h"
#include "formats/wire/text.h"
#include "memory_limit.h"
#include "tensorflow/c/c_api.h"

enum { kMostRuns = 6, kMostBytes = 1 << 26 };

static TF_Buffer* read_graph(const uint8_t* data, size_t size) {
  if (size == 0 || data[0] != '#') return TF_NewBufferFromString(data, size);
  TF_Buffer* buffer = NULL;
  leat_arena_t arena;
  leat_string_builder_t bytes;
  leat_pb_graph_def_t graph = {0};
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  leat_string_view_t text = leat_string_view_make((const char*)data + 1, size - 1);
  leat_status_t status = leat_text_parse(&leat_pb_graph_def_descriptor, text, &arena, &graph);
  if (!status) status = leat_message_encode(&leat_pb_graph_def_descriptor, &graph, &bytes);
  if (!status) {
    leat_string_view_t view = leat_string_builder_view(&bytes);
    buffer = TF_NewBufferFromString(view.data, view.size);
  }
  leat_status_free(status);
  leat_string_builder_deinitialize(&bytes);
  leat_arena_deinitialize(&arena);
  return buffer;
}

// Files are not the target's to write.
static bool touches_files(const char* op) {
  static const char* const words[] = {"Save", "Write", "Merge", "File", "Restore", "Summary",
                                      "Print", "Reader", "Dataset"};
  for (size_t i = 0; i < sizeof words / sizeof *words; ++i) {
    if (strstr(op, words[i]) && strcmp(op, "Merge")) return true;
  }
  return false;
}

static bool may_run(TF_Graph* graph) {
  size_t position = 0;
  for (TF_Operation* o; (o = TF_GraphNextOperation(graph, &position)) != NULL;) {
    if (touches_files(TF_OperationOpType(o))) return false;
  }
  return true;
}

static void run(TF_Session* session, TF_Operation* operation, TF_Status* status) {
  static const char limit[] = {0x10, 100};  // RunOptions.timeout_in_ms
  TF_Buffer* options = TF_NewBufferFromString(limit, sizeof limit);
  TF_Output fetch = {operation, 0};
  TF_Tensor* result = NULL;
  const TF_Operation* target = operation;
  bool fetches = TF_OperationNumOutputs(operation) > 0;
  TF_SessionRun(session, options, NULL, NULL, 0, &fetch, &result, fetches, &target, !fetches, NULL,
                status);
  TF_DeleteTensor(result);
  TF_DeleteBuffer(options);
}

// The last operations, each as a step of its own.
static void run_last(TF_Graph* graph, TF_Status* status) {
  TF_Operation* last[kMostRuns] = {NULL};
  size_t position = 0;
  int count = 0;
  for (TF_Operation* o; (o = TF_GraphNextOperation(graph, &position)) != NULL; ++count) {
    last[count % kMostRuns] = o;
  }
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_Session* session = TF_NewSession(graph, options, status);
  for (int i = 0; session && i < kMostRuns; ++i) {
    if (last[i]) run(session, last[i], status);
  }
  if (session) TF_DeleteSession(session, status);
  TF_DeleteSessionOptions(options);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  memory_limit_install(kMostBytes);
  TF_Buffer* bytes = read_graph(data, size);
  if (!bytes) return 0;
  TF_Status* status = TF_NewStatus();
  TF_Graph* graph = TF_NewGraph();
  TF_ImportGraphDefOptions* options = TF_NewImportGraphDefOptions();
  TF_GraphImportGraphDef(graph, bytes, options, status);
  if (TF_GetCode(status) == TF_OK && may_run(graph)) run_last(graph, status);
  TF_GraphToGraphDef(graph, bytes, status);
  TF_DeleteImportGraphDefOptions(options);
  TF_DeleteGraph(graph);
  TF_DeleteStatus(status);
  TF_DeleteBuffer(bytes);
  return 0;
}
