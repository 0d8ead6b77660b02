// The conversion leat convert checkpoint: rewrites a checkpoint of either format, in any number of
// files, as one of the second format (V2) in one data file. It reads every tensor with the
// library's checkpoint reader and feeds all of them to one SaveV2 operation in a small graph:
//
//     prefix, names, slices, value 0, value 1, ...  ──▶  SaveV2
//
// So the bytes are those that a training program would have written. All tensors are in memory at
// the same time.
#include <stdlib.h>
#include <string.h>

#include "convert.h"
#include "leat/files.h"
#include "leat/graph.h"

typedef struct copy_s {
  leat_checkpoint_t* from;
  size_t count;
  TF_Tensor** values;  // [1 + count]: the prefix to write, then the tensors; fed to the graph
  // [3 + count]: SaveV2's inputs: the prefix, the names, the slices, then the tensors
  TF_Output* inputs;
  TF_Status* status;
} copy_t;

// Makes a constant of |c->count| strings: the tensors' names, or, without |are_names|, empty
// strings, which are the slices of whole tensors.
static TF_Output strings(leat_scope_t* s, const copy_t* c, bool are_names) {
  int64_t count = (int64_t)c->count;
  TF_Tensor* tensor = TF_AllocateTensor(TF_STRING, &count, 1, c->count * sizeof(TF_TString));
  TF_TString* items = tensor ? TF_TensorData(tensor) : NULL;
  for (size_t i = 0; items && are_names && i < c->count; ++i) {
    const char* name = leat_checkpoint_name(c->from, i);
    TF_TString_Copy(&items[i], name, strlen(name));
  }
  leat_attribute_t attributes[] = {leat_attribute_tensor("value", tensor),
                                   leat_attribute_type("dtype", TF_STRING)};
  TF_Output output = {leat_operation(s, "Const", NULL, NULL, 0, attributes, 2), 0};
  TF_DeleteTensor(tensor);
  return output;
}

static TF_Operation* build(leat_scope_t* s, copy_t* c) {
  c->inputs[0] = leat_placeholder(s, "prefix", TF_STRING, 0, NULL);
  c->inputs[1] = strings(s, c, true);
  c->inputs[2] = strings(s, c, false);
  for (size_t i = 0; i < c->count; ++i) {
    c->inputs[3 + i] = leat_placeholder(s, "value", TF_TensorType(c->values[1 + i]), -1, NULL);
  }
  return leat_operation(s, "SaveV2", NULL, c->inputs, (int)c->count + 3, NULL, 0);
}

static void save(copy_t* c) {
  TF_Graph* graph = TF_NewGraph();
  leat_scope_t* s = leat_scope_create(graph);
  const TF_Operation* target = build(s, c);
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_Session* session = NULL;
  if (TF_GetCode(leat_scope_status(s)) != TF_OK) {
    TF_SetStatus(c->status, TF_GetCode(leat_scope_status(s)), TF_Message(leat_scope_status(s)));
  } else {
    session = TF_NewSession(graph, options, c->status);
  }
  if (session) {
    // what is fed must be contiguous: the prefix goes before the tensors
    c->inputs[2] = c->inputs[0];
    TF_SessionRun(session, NULL, c->inputs + 2, c->values, (int)c->count + 1, NULL, NULL, 0,
                  &target, 1, NULL, c->status);
    TF_Status* status = TF_NewStatus();
    TF_DeleteSession(session, status);
    TF_DeleteStatus(status);
  }
  TF_DeleteSessionOptions(options);
  leat_scope_free(s);
  TF_DeleteGraph(graph);
}

static bool read_all(copy_t* c, const char* target) {
  c->values[0] = TF_AllocateTensor(TF_STRING, NULL, 0, sizeof(TF_TString));
  if (!c->values[0]) {
    TF_SetStatus(c->status, TF_RESOURCE_EXHAUSTED, "no memory for the checkpoint's name");
    return false;
  }
  TF_TString_Copy(TF_TensorData(c->values[0]), target, strlen(target));
  for (size_t i = 0; i < c->count; ++i) {
    c->values[1 + i] =
        leat_checkpoint_read(c->from, leat_checkpoint_name(c->from, i), c->status);
    if (!c->values[1 + i]) return false;
  }
  return true;
}

int convert_checkpoint(const conversion_t* conversion) {
  copy_t c = {.status = TF_NewStatus()};
  c.from = leat_checkpoint_open(conversion->source.path, c.status);
  if (c.from) {
    c.count = leat_checkpoint_count(c.from);
    c.values = calloc(c.count + 1, sizeof *c.values);
    c.inputs = calloc(c.count + 3, sizeof *c.inputs);
    if (c.count == 0) {
      TF_SetStatus(c.status, TF_INVALID_ARGUMENT, "the checkpoint is empty");
    } else if (!c.values || !c.inputs) {
      TF_SetStatus(c.status, TF_RESOURCE_EXHAUSTED, "no memory for the tensors");
    } else if (read_all(&c, conversion->target)) {
      save(&c);
    }
  }
  int code = TF_GetCode(c.status) == TF_OK ? EXIT_OK
                                           : complain_status(conversion->source.path, c.status);
  for (size_t i = 0; c.values && i <= c.count; ++i) TF_DeleteTensor(c.values[i]);
  free(c.values);
  free(c.inputs);
  leat_checkpoint_close(c.from);
  TF_DeleteStatus(c.status);
  return code;
}
