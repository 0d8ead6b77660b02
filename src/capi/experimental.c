// Small functions of c_api_experimental.h: configuration and run-option messages, a graph as text,
// the queues of named tensors, and lists of shapes with types. The named queues are a convention
// between a client and its graph: queue number n is the operations fifo_queue_enqueue_<n>,
// fifo_queue_dequeue_<n> and arg_tensor_enqueue_<n>, so that enqueuing a tensor is a step that
// feeds the last and runs the first. TensorFlow's bindings for other languages call some of these
// functions, which is why they exist although the header promises nothing about them. Options that
// have no meaning here (XLA, GPU memory) are accepted and written into the messages.
#include "tensorflow/c/c_api_experimental.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/host.h"
#include "capi/plugin/plugin.h"
#include "formats/generated/config.h"
#include "formats/wire/encode.h"
#include "leat/inspect.h"

// ---- Messages -----------------------------------------------------------------------------------

static TF_Buffer* encode(const leat_message_descriptor_t* descriptor, const void* message) {
  leat_string_builder_t bytes;
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  leat_status_t status = leat_message_encode(descriptor, message, &bytes);
  return leat_capi_buffer_return(status, &bytes, NULL);
}

// A ConfigProto with these options; global_jit_level is 1 (on) or -1 (off).
TF_Buffer* TF_CreateConfig(unsigned char enable_xla_compilation,
                           unsigned char gpu_memory_allow_growth, unsigned int num_cpu_devices) {
  leat_pb_gpu_options_t gpu = {.allow_growth = gpu_memory_allow_growth != 0};
  leat_pb_optimizer_options_t optimizer = {.global_jit_level = enable_xla_compilation ? 1 : -1};
  leat_pb_graph_options_t graph = {.optimizer_options = &optimizer};
  leat_pb_config_proto_device_count_entry_t cpus = {.key = LEAT_SV("CPU"),
                                                    .value = (int32_t)num_cpu_devices};
  leat_pb_config_proto_t config = {
      .device_count = {&cpus, 1}, .gpu_options = &gpu, .graph_options = &graph};
  return encode(&leat_pb_config_proto_descriptor, &config);
}

TF_Buffer* TF_CreateRunOptions(unsigned char enable_full_trace) {
  leat_pb_run_options_t options = {.trace_level = enable_full_trace ? 3 : 0};
  return encode(&leat_pb_run_options_descriptor, &options);
}

// Returns the message of |type| in |bytes| as text, which the caller frees; NULL without memory.
static char* text_of(const char* type, const TF_Buffer* bytes, TF_Status* status, size_t* len) {
  TF_Buffer* text = status->status ? NULL : leat_message_to_text(type, bytes, status);
  char* copy = text ? malloc(text->length + 1) : NULL;
  if (len) *len = copy ? text->length : 0;
  if (copy) {
    memcpy(copy, text->data, text->length);
    copy[text->length] = 0;
  }
  TF_DeleteBuffer(text);
  return copy;
}

const char* TF_GraphDebugString(TF_Graph* graph, size_t* len) {
  TF_Status* status = TF_NewStatus();
  TF_Buffer* def = TF_NewBuffer();
  TF_GraphToGraphDef(graph, def, status);
  const char* text = text_of("GraphDef", def, status, len);
  TF_DeleteBuffer(def);
  TF_DeleteStatus(status);
  return text;
}

char* TF_FunctionDebugString(TF_Function* func, size_t* len) {
  TF_Status* status = TF_NewStatus();
  TF_Buffer* def = TF_NewBuffer();
  TF_FunctionToFunctionDef(func, def, status);
  char* text = text_of("FunctionDef", def, status, len);
  TF_DeleteBuffer(def);
  TF_DeleteStatus(status);
  return text;
}

TF_Buffer* TFE_GetServerDef(const char* text_proto, TF_Status* status) {
  TF_Buffer text = {text_proto, strlen(text_proto ? text_proto : ""), NULL};
  TF_Buffer* message = leat_message_from_text("ServerDef", &text, status);
  if (!message) {
    char reason[512];
    snprintf(reason, sizeof reason, "Invalid text proto for ServerDef: %s", TF_Message(status));
    TF_SetStatus(status, TF_GetCode(status), reason);
  }
  return message;
}

void TF_MakeInternalErrorStatus(TF_Status* status, const char* errMsg) {
  TF_SetStatus(status, TF_INTERNAL, errMsg);
}

// Does nothing: the library has no flags on the command line.
void TF_InitMain(const char* usage, int* argc, char*** argv) {}

int TF_PickUnusedPortOrDie(void) { return leat_host_unused_port(); }

void TF_ImportGraphDefOptionsSetValidateColocationConstraints(TF_ImportGraphDefOptions* opts,
                                                              unsigned char enable) {}

// ---- Queues -------------------------------------------------------------------------------------

// Finds the operation <kind>_<id> of the session's graph.
static TF_Operation* find(TF_Session* session, const char* kind, int id, TF_Status* status) {
  char name[80];
  snprintf(name, sizeof name, "%s_%d", kind, id);
  TF_Operation* operation = TF_GraphOperationByName(session->graph, name);
  leat_capi_status_set(status, operation ? leat_ok_status()
                                         : leat_make_status(LEAT_NOT_FOUND,
                                                            "The graph has no operation '%s'",
                                                            name));
  return operation;
}

TF_Tensor* TF_DequeueNamedTensor(TF_Session* session, int tensor_id, TF_Status* status) {
  TF_Output output = {find(session, "fifo_queue_dequeue", tensor_id, status), 0};
  TF_Tensor* tensor = NULL;
  if (!output.oper) return NULL;
  TF_SessionRun(session, NULL, NULL, NULL, 0, &output, &tensor, 1, NULL, 0, NULL, status);
  return tensor;
}

void TF_EnqueueNamedTensor(TF_Session* session, int tensor_id, TF_Tensor* tensor,
                           TF_Status* status) {
  TF_Output input = {find(session, "arg_tensor_enqueue", tensor_id, status), 0};
  if (!input.oper) return;
  const TF_Operation* enqueue = find(session, "fifo_queue_enqueue", tensor_id, status);
  if (!enqueue) return;
  TF_SessionRun(session, NULL, &input, &tensor, 1, NULL, NULL, 0, &enqueue, 1, NULL, status);
}

// ---- Lists of shapes ----------------------------------------------------------------------------

TF_ShapeAndTypeList* TF_NewShapeAndTypeList(int num_shapes) {
  size_t count = num_shapes > 0 ? (size_t)num_shapes : 0;
  TF_ShapeAndTypeList* list = leat_capi_allocate(sizeof *list);
  if (!list) return NULL;
  list->items = leat_capi_allocate((count + 1) * sizeof *list->items);
  if (list->items) list->num_items = (int)count;
  return list;
}

static TF_ShapeAndType* item_of(TF_ShapeAndTypeList* list, int index) {
  return list && index >= 0 && index < list->num_items ? &list->items[index] : NULL;
}

// Sets the rank of an item and allocates its sizes; without memory the rank becomes unknown.
static void set_rank(TF_ShapeAndType* item, int rank) {
  leat_allocator_free(leat_allocator_system(), item->dims);
  item->dims = rank > 0 ? leat_capi_allocate((size_t)rank * sizeof(int64_t)) : NULL;
  item->num_dims = rank > 0 && !item->dims ? -1 : rank;
}

void TF_ShapeAndTypeListSetShape(TF_ShapeAndTypeList* shape_list, int index, const int64_t* dims,
                                 int num_dims) {
  TF_ShapeAndType* item = item_of(shape_list, index);
  if (!item) return;
  set_rank(item, num_dims < 0 || num_dims > LEAT_SHAPE_MAX_RANK ? -1 : num_dims);
  if (item->num_dims > 0) memcpy(item->dims, dims, (size_t)num_dims * sizeof *dims);
}

void TF_ShapeAndTypeListSetUnknownShape(TF_ShapeAndTypeList* shape_list, int index) {
  TF_ShapeAndType* item = item_of(shape_list, index);
  if (item) set_rank(item, -1);
}

void TF_ShapeAndTypeListSetDtype(TF_ShapeAndTypeList* shape_list, int index, TF_DataType dtype) {
  TF_ShapeAndType* item = item_of(shape_list, index);
  if (item) item->dtype = dtype;
}

void TF_DeleteShapeAndTypeList(TF_ShapeAndTypeList* shape_list) {
  if (!shape_list) return;
  for (int i = 0; i < shape_list->num_items; ++i) set_rank(&shape_list->items[i], 0);
  leat_allocator_free(leat_allocator_system(), shape_list->items);
  leat_allocator_free(leat_allocator_system(), shape_list);
}

void TF_DeleteShapeAndTypeListArray(TF_ShapeAndTypeList** shape_list_array, int num_items) {
  for (int i = 0; shape_list_array && i < num_items; ++i) {
    TF_DeleteShapeAndTypeList(shape_list_array[i]);
  }
  leat_allocator_free(leat_allocator_system(), shape_list_array);
}
