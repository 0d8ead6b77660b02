// Trains a small network on a device that a plug-in brings:
//
//   pluggable_device [lib/npu_plugin.so]
//   devices: /job:localhost/replica:0/task:0/device:CPU:0 ...NPU:0 ...NPU:1
//   loss 0.482 -> 0.003
//   a traced step ran 9 kernels on the NPU, MatMul among them
//
// The network learns x1 xor x2: x [4, 2] -> relu(x w1 + b1) [4, 8] -> w2 [8, 1]. Nothing names a
// device: each node lies on the NPU if that has a kernel for it, and else on the CPU, and the
// library copies what crosses. Of the loss's gradient the mean runs on the CPU, for example.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensorflow/c/c_api.h"
#include "tensorflow/c/c_api_experimental.h"

#define STEPS 300

typedef struct model_t {
  TF_Graph* graph;
  TF_Status* status;
  TF_Output x, wanted, loss;
  TF_Operation *initialize[3], *update[3];
} model_t;

// ---- Building -----------------------------------------------------------------------------------

static TF_Output add(model_t* m, const char* op, const char* name, TF_Output a, TF_Output b) {
  TF_OperationDescription* desc = TF_NewOperation(m->graph, op, name);
  if (a.oper) TF_AddInput(desc, a);
  if (b.oper) TF_AddInput(desc, b);
  return (TF_Output){TF_FinishOperation(desc, m->status), 0};
}

static const TF_Output kNone = {NULL, 0};

static TF_Output constant(model_t* m, const char* name, TF_DataType type, int rank,
                          const int64_t* dims, const void* values, size_t bytes) {
  TF_Tensor* tensor = TF_AllocateTensor(type, dims, rank, bytes);
  memcpy(TF_TensorData(tensor), values, bytes);
  TF_OperationDescription* desc = TF_NewOperation(m->graph, "Const", name);
  TF_SetAttrType(desc, "dtype", type);
  TF_SetAttrTensor(desc, "value", tensor, m->status);
  TF_DeleteTensor(tensor);
  return (TF_Output){TF_FinishOperation(desc, m->status), 0};
}

static TF_Output placeholder(model_t* m, const char* name) {
  TF_OperationDescription* desc = TF_NewOperation(m->graph, "Placeholder", name);
  TF_SetAttrType(desc, "dtype", TF_FLOAT);
  return (TF_Output){TF_FinishOperation(desc, m->status), 0};
}

// A variable, its reading, and what initializes it with small numbers that differ.
static TF_Output variable(model_t* m, int index, int rank, const int64_t* dims,
                          TF_Output* out_handle) {
  char name[32];
  float values[16];
  int64_t count = 1;
  for (int i = 0; i < rank; ++i) count *= dims[i];
  for (int i = 0; i < count; ++i) {
    values[i] = rank == 1 ? 0.1f : (float)((i * 37 + index * 11) % 17 - 8) / 8;
  }
  snprintf(name, sizeof name, "handle_%d", index);
  TF_OperationDescription* desc = TF_NewOperation(m->graph, "VarHandleOp", name);
  TF_SetAttrType(desc, "dtype", TF_FLOAT);
  TF_SetAttrShape(desc, "shape", dims, rank);
  TF_SetAttrString(desc, "shared_name", name, strlen(name));
  *out_handle = (TF_Output){TF_FinishOperation(desc, m->status), 0};
  snprintf(name, sizeof name, "first_%d", index);
  TF_Output first = constant(m, name, TF_FLOAT, rank, dims, values, (size_t)count * sizeof(float));
  snprintf(name, sizeof name, "assign_%d", index);
  m->initialize[index] = add(m, "AssignVariableOp", name, *out_handle, first).oper;
  snprintf(name, sizeof name, "read_%d", index);
  desc = TF_NewOperation(m->graph, "ReadVariableOp", name);
  TF_AddInput(desc, *out_handle);
  TF_SetAttrType(desc, "dtype", TF_FLOAT);
  return (TF_Output){TF_FinishOperation(desc, m->status), 0};
}

static void build(model_t* m) {
  static const int64_t kShapes[3][2] = {{2, 8}, {8}, {8, 1}};
  static const int kRanks[3] = {2, 1, 2};
  TF_Output handles[3], weights[3], gradients[3];
  m->x = placeholder(m, "x");
  m->wanted = placeholder(m, "wanted");
  for (int i = 0; i < 3; ++i) weights[i] = variable(m, i, kRanks[i], kShapes[i], &handles[i]);
  TF_Output hidden = add(m, "AddV2", "sum", add(m, "MatMul", "inner", m->x, weights[0]),
                         weights[1]);
  TF_Output found = add(m, "MatMul", "found", add(m, "Relu", "relu", hidden, kNone), weights[2]);
  TF_Output squares = add(m, "Square", "squares", add(m, "Sub", "error", found, m->wanted), kNone);
  const int32_t axes[] = {0, 1};
  TF_Output all = constant(m, "axes", TF_INT32, 1, (const int64_t[]){2}, axes, sizeof axes);
  m->loss = add(m, "Mean", "loss", squares, all);
  if (TF_GetCode(m->status) != TF_OK) return;
  TF_AddGradients(m->graph, &m->loss, 1, weights, 3, NULL, m->status, gradients);
  const float rate = 0.2f;
  TF_Output step = constant(m, "rate", TF_FLOAT, 0, NULL, &rate, sizeof rate);
  for (int i = 0; i < 3 && TF_GetCode(m->status) == TF_OK; ++i) {
    char name[32];
    snprintf(name, sizeof name, "scaled_%d", i);
    TF_Output scaled = add(m, "Mul", name, gradients[i], step);
    snprintf(name, sizeof name, "update_%d", i);
    m->update[i] = add(m, "AssignSubVariableOp", name, handles[i], scaled).oper;
  }
}

// ---- Running ------------------------------------------------------------------------------------

static void list_devices(TF_Session* session, TF_Status* status) {
  TF_DeviceList* devices = TF_SessionListDevices(session, status);
  printf("devices:");
  for (int i = 0; devices && i < TF_DeviceListCount(devices); ++i) {
    printf(" %s", TF_DeviceListName(devices, i, status));
  }
  printf("\n");
  TF_DeleteDeviceList(devices);
}

// Runs a step and returns its loss; |metadata| NULL: it is not traced.
static float run_step(model_t* m, TF_Session* session, TF_Tensor* const* fed, TF_Buffer* metadata) {
  const TF_Output inputs[] = {m->x, m->wanted};
  const uint8_t full_trace[] = {0x08, 0x03};  // RunOptions.trace_level
  TF_Buffer* options = TF_NewBufferFromString(full_trace, sizeof full_trace);
  TF_Tensor* value = NULL;
  TF_SessionRun(session, metadata ? options : NULL, inputs, fed, 2, &m->loss, &value, 1,
                (const TF_Operation* const*)m->update, 3, metadata, m->status);
  TF_DeleteBuffer(options);
  const float loss = value ? *(const float*)TF_TensorData(value) : 0;
  TF_DeleteTensor(value);
  return loss;
}

// How often the trace names something.
static int count_in(const TF_Buffer* buffer, const char* text) {
  int count = 0;
  const size_t size = strlen(text);
  for (size_t i = 0; i + size <= buffer->length; ++i) {
    count += memcmp((const char*)buffer->data + i, text, size) == 0;
  }
  return count;
}

static void train(model_t* m, TF_Session* session) {
  const float x[] = {0, 0, 0, 1, 1, 0, 1, 1}, wanted[] = {0, 1, 1, 0};
  TF_Tensor* fed[] = {TF_AllocateTensor(TF_FLOAT, (const int64_t[]){4, 2}, 2, sizeof x),
                      TF_AllocateTensor(TF_FLOAT, (const int64_t[]){4, 1}, 2, sizeof wanted)};
  memcpy(TF_TensorData(fed[0]), x, sizeof x);
  memcpy(TF_TensorData(fed[1]), wanted, sizeof wanted);
  TF_SessionRun(session, NULL, NULL, NULL, 0, NULL, NULL, 0,
                (const TF_Operation* const*)m->initialize, 3, NULL, m->status);
  float first = 0, last = 0;
  for (int i = 0; i < STEPS && TF_GetCode(m->status) == TF_OK; ++i) {
    last = run_step(m, session, fed, NULL);
    if (i == 0) first = last;
  }
  TF_Buffer* metadata = TF_NewBuffer();
  if (TF_GetCode(m->status) == TF_OK) run_step(m, session, fed, metadata);
  if (TF_GetCode(m->status) == TF_OK) {
    printf("loss %.4f -> %.4f\n", first, last);
    printf("a traced step: the profiler saw %s, MatMul %s\n",
           count_in(metadata, "/device:NPU:simulated accelerator/kernels") ? "kernels" : "nothing",
           count_in(metadata, "MatMul") ? "among them" : "not");
  }
  TF_DeleteBuffer(metadata);
  TF_DeleteTensor(fed[0]);
  TF_DeleteTensor(fed[1]);
}

int main(int argc, char** argv) {
  model_t m = {.graph = TF_NewGraph(), .status = TF_NewStatus()};
  TF_Library* library =
      TF_LoadPluggableDeviceLibrary(argc > 1 ? argv[1] : "lib/npu_plugin.so", m.status);
  if (library) build(&m);
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_Session* session =
      TF_GetCode(m.status) == TF_OK ? TF_NewSession(m.graph, options, m.status) : NULL;
  TF_DeleteSessionOptions(options);
  if (session) {
    list_devices(session, m.status);
    train(&m, session);
    TF_Status* closed = TF_NewStatus();
    TF_DeleteSession(session, closed);
    TF_DeleteStatus(closed);
  }
  const bool failed = TF_GetCode(m.status) != TF_OK;
  if (failed) fprintf(stderr, "pluggable_device: %s\n", TF_Message(m.status));
  TF_DeleteGraph(m.graph);
  TF_DeletePluggableDeviceLibraryHandle(library);
  TF_DeleteStatus(m.status);
  return failed;
}
