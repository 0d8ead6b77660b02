// Counters for the tests of the white paper's claims: a node that counts how often it ran, made of
// a variable and an addition that the node waits for. The paper speaks of what runs and what does
// not, and this makes it visible with nothing but the public C API, without looking into the
// library. Where counting by a variable would change the graph in question, paper_traced() counts
// nodes in the statistics of a traced step instead. The optimizer may not remove a counter, because
// its addition has an effect.
#include "paper/counter.h"

#include <stdio.h>

static void text_attr(TF_OperationDescription* desc, const char* name, const char* value) {
  if (value) TF_SetAttrString(desc, name, value, strlen(value));
}

static const char* part(char* buffer, const char* name, const char* suffix) {
  snprintf(buffer, 100, "%s/%s", name, suffix);
  return buffer;
}

variable_t paper_variable(TF_Graph* graph, const char* name, float start, const char* container,
                          const char* shared_name) {
  char text[100];
  variable_t v;
  TF_OperationDescription* desc = TF_NewOperation(graph, "VarHandleOp", name);
  TF_SetAttrType(desc, "dtype", TF_FLOAT);
  TF_SetAttrShape(desc, "shape", NULL, 0);
  text_attr(desc, "container", container);
  text_attr(desc, "shared_name", shared_name ? shared_name : name);
  v.handle = kit_out(kit_finish(desc), 0);
  TF_Operation* value = kit_const_float(graph, part(text, name, "start"), start);
  desc = TF_NewOperation(graph, "AssignVariableOp", part(text, name, "initialize"));
  TF_AddInput(desc, v.handle);
  TF_AddInput(desc, kit_out(value, 0));
  TF_SetAttrType(desc, "dtype", TF_FLOAT);
  v.initialize = kit_finish(desc);
  desc = TF_NewOperation(graph, "ReadVariableOp", part(text, name, "read"));
  TF_AddInput(desc, v.handle);
  TF_SetAttrType(desc, "dtype", TF_FLOAT);
  v.read = kit_out(kit_finish(desc), 0);
  return v;
}

TF_Operation* paper_add(TF_Graph* graph, const char* name, variable_t variable, float amount) {
  char text[100];
  TF_Operation* value = kit_const_float(graph, part(text, name, "amount"), amount);
  TF_OperationDescription* desc = TF_NewOperation(graph, "AssignAddVariableOp", name);
  TF_AddInput(desc, variable.handle);
  TF_AddInput(desc, kit_out(value, 0));
  TF_SetAttrType(desc, "dtype", TF_FLOAT);
  return kit_finish(desc);
}

TF_Operation* paper_after(TF_OperationDescription* desc, TF_Operation* control) {
  TF_AddControlInput(desc, control);
  return kit_finish(desc);
}

counter_t paper_counted(TF_Graph* graph, const char* name, TF_Output x) {
  char text[100];
  counter_t counter = {.variable = paper_variable(graph, part(text, name, "count"), 0, NULL, NULL)};
  TF_Operation* add = paper_add(graph, part(text, name, "add"), counter.variable, 1);
  TF_OperationDescription* desc = TF_NewOperation(graph, "Identity", name);
  TF_AddInput(desc, x);
  counter.output = kit_out(paper_after(desc, add), 0);
  return counter;
}

void paper_run(TF_Session* session, TF_Operation* target) {
  TF_Status* status = TF_NewStatus();
  const TF_Operation* targets[] = {target};
  TF_SessionRun(session, NULL, NULL, NULL, 0, NULL, NULL, 0, targets, 1, NULL, status);
  kit_ok(status);
  TF_DeleteStatus(status);
}

float paper_fetch(TF_Session* session, TF_Output output) {
  TF_Tensor* result = kit_run(session, kit_out(NULL, 0), NULL, output);
  float value = kit_float_of(result);
  TF_DeleteTensor(result);
  return value;
}

static int occurrences(const char* bytes, size_t size, const char* text) {
  int count = 0;
  size_t length = strlen(text);
  for (size_t i = 0; i + length <= size; ++i) count += memcmp(bytes + i, text, length) == 0;
  return count;
}

int paper_traced(TF_Session* session, const TF_Output* fetches, int count, const char* text) {
  TF_Status* status = TF_NewStatus();
  TF_Tensor* results[8] = {NULL};
  const char full_trace[] = {8, 3};  // RunOptions.trace_level = FULL_TRACE
  TF_Buffer* options = TF_NewBufferFromString(full_trace, sizeof full_trace);
  TF_Buffer* metadata = TF_NewBuffer();
  assert_true(count <= 8);
  TF_SessionRun(session, options, NULL, NULL, 0, fetches, results, count, NULL, 0, metadata,
                status);
  kit_ok(status);
  int found = occurrences(metadata->data, metadata->length, text);
  for (int i = 0; i < count; ++i) TF_DeleteTensor(results[i]);
  TF_DeleteBuffer(options);
  TF_DeleteBuffer(metadata);
  TF_DeleteStatus(status);
  return found;
}
