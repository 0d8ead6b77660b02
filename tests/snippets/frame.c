// The surroundings of the snippets in the public headers: what each takes for granted before it,
// and what must hold after it. tests/snippets/run cuts each snippet out of its header into a file
// named after the header and the snippet's number; a function here includes it in the middle. So a
// snippet that does not compile, or does not do what the header says, fails this program. Only what
// the text around a snippet promises is checked; the functions themselves have tests of their own.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "leat/callable.h"
#include "leat/control_flow.h"
#include "leat/names.h"
#include "leat/files.h"
#include "leat/gradients.h"
#include "leat/input.h"
#include "leat/inspect.h"
#include "leat/interrupt.h"
#include "leat/kernel_op.h"
#include "leat/summary.h"
#include "leat/supervisor.h"
#include "leat/trace.h"
#include "leat/train.h"
#include "tensorflow/c/c_api.h"
#include "tensorflow/c/eager/c_api_experimental.h"
#include "tensorflow/c/eager/c_api_unified_experimental.h"
#include "tensorflow/c/experimental/saved_model/public/saved_model_api.h"
#include "tensorflow/c/kernels.h"
#include "tensorflow/c/ops.h"

static TF_Status* status;

#define CHECK(condition)                                                                    \
  do {                                                                                      \
    if (!(condition)) {                                                                     \
      fprintf(stderr, "%s: %s does not hold: %s\n", __func__, #condition, TF_Message(status)); \
      exit(1);                                                                              \
    }                                                                                       \
  } while (0)
#define CHECK_OK() CHECK(TF_GetCode(status) == TF_OK)

static TF_Session* open_session(TF_Graph* graph) {
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_Session* session = TF_NewSession(graph, options, status);
  TF_DeleteSessionOptions(options);
  CHECK_OK();
  return session;
}

static float run_float(TF_Session* session, TF_Output output) {
  TF_Tensor* tensor = NULL;
  TF_SessionRun(session, NULL, NULL, NULL, 0, &output, &tensor, 1, NULL, 0, NULL, status);
  CHECK_OK();
  float value = *(float*)TF_TensorData(tensor);
  TF_DeleteTensor(tensor);
  return value;
}

static void close_all(TF_Session* session, leat_scope_t* s, TF_Graph* graph) {
  if (session) TF_DeleteSession(session, status);
  leat_scope_free(s);
  TF_DeleteGraph(graph);
}

// ---- tensorflow/c -------------------------------------------------------------------------------

static void c_api(void) {
#include "c_api_1.inc"
  CHECK_OK();
  CHECK(*(int32_t*)TF_TensorData(out) == 42);
  TF_DeleteTensor(out);
  TF_DeleteTensor(fed);
  TF_DeleteTensor(three);
  TF_DeleteSession(session, status);
  TF_DeleteSessionOptions(options);
  TF_DeleteGraph(graph);
  TF_DeleteStatus(status);
}

static void builder(void) {
  TF_Graph* graph = TF_NewGraph();
  leat_scope_t* s = leat_scope_create(graph);
  TF_Output part = leat_constant_floats(s, 1, (int64_t[]){1}, (float[]){4});
  TF_Output parts[] = {part, part, part}, axis = leat_constant_int(s, 0);
#include "c_api_builder_1.inc"
  CHECK_OK();
  CHECK(TF_OperationNumInputs(joined) == 4);
  close_all(NULL, s, graph);
}

static void gradient(void) {
  TF_Graph* graph = TF_NewGraph();
  leat_scope_t* s = leat_scope_create(graph);
  TF_Output weights = leat_constant_float(s, 3), loss = leat_multiply(s, weights, weights);
#include "c_api_gradient_1.inc"
  CHECK_OK();
  TF_Session* session = open_session(graph);
  CHECK(run_float(session, slope) == 6);
  close_all(session, s, graph);
}

static void function(void) {
  TF_Graph *graph = TF_NewGraph(), *body = TF_NewGraph();
  leat_scope_t *s = leat_scope_create(graph), *t = leat_scope_create(body);
  TF_Output x = leat_placeholder(t, "x", TF_FLOAT, 0, NULL), y = leat_multiply(t, x, x);
  TF_Output three = leat_constant_float(s, 3);
#include "c_api_function_1.inc"
  CHECK_OK();
  TF_AddInput(call, three);
  TF_Output nine = {TF_FinishOperation(call, status), 0};
  CHECK_OK();
  TF_Session* session = open_session(graph);
  CHECK(run_float(session, nine) == 9);
  close_all(NULL, t, body);
  close_all(session, s, graph);
}

static TF_Output binary(TF_Graph* graph, const char* op, TF_Output x, float y) {
  leat_scope_t* s = leat_scope_create(graph);
  TF_Output result = {
      leat_operation(s, op, NULL, (TF_Output[]){x, leat_constant_float(s, y)}, 2, NULL, 0), 0};
  leat_scope_free(s);
  return result;
}

// The snippet says in comments what belongs into its two graphs, which exist only once it has
// begun. These macros fill them at the places where it names the results.
#define less binary(loop.cond_graph, "Less", loop.cond_inputs[0], 10)
#define next binary(loop.body_graph, "AddV2", loop.body_inputs[0], 1)
static void count(void) {
  TF_Graph* graph = TF_NewGraph();
  leat_scope_t* s = leat_scope_create(graph);
  TF_Output start = leat_constant_float(s, 3.5f);
#include "c_api_while_1.inc"
  CHECK_OK();
  TF_Session* session = open_session(graph);
  CHECK(run_float(session, end) == 10.5f);
  close_all(session, s, graph);
}
#undef less
#undef next

static void graph_and_import(void) {
  TF_Graph* graph = TF_NewGraph();
  leat_scope_t* s = leat_scope_create(graph);
  TF_Output images = leat_placeholder(s, "images", TF_FLOAT, 1, (int64_t[]){-1});
  leat_operation(s, "Identity", "probabilities", &images, 1, NULL, 0);
  FILE* file = tmpfile();
  TF_Graph* source = graph;
  int count = 0;
  {
    size_t pos = 0;
    for (TF_Operation* op; (op = TF_GraphNextOperation(graph, &pos)) != NULL;) ++count;
  }
  CHECK(count == 2);
  TF_Buffer* copy;
  {
#include "tf_buffer_1.inc"
    CHECK_OK();
    CHECK(ftell(file) > 0);
  }
  copy = TF_NewBuffer();
  TF_GraphToGraphDef(source, copy, status);
  CHECK_OK();
  TF_Graph* target = TF_NewGraph();
  leat_scope_t* t = leat_scope_create(target);
  TF_Output batch = leat_placeholder(t, "batch", TF_FLOAT, 1, (int64_t[]){-1});
  {
    TF_Graph* graph = target;
    const TF_Buffer* graph_def = copy;
#include "c_api_import_1.inc"
    CHECK_OK();
    CHECK(!strcmp(TF_OperationName(probabilities.oper), "model/probabilities"));
    TF_DeleteImportGraphDefOptions(options);
  }
  TF_DeleteBuffer(copy);
  fclose(file);
  close_all(NULL, t, target);
  close_all(NULL, s, source);
}

static void strings(void) {
#include "tf_tensor_1.inc"
  CHECK(!strcmp(TF_TString_GetDataPointer(&s[0]), "alpha"));
  TF_DeleteTensor(names);
}

// ---- leat ---------------------------------------------------------------------------------------

static void graph(void) {
#include "graph_1.inc"
  TF_Session* session = open_session(graph);
#include "callable_1.inc"
  CHECK_OK();
  CHECK(out[0] == 14);
  close_all(session, NULL, graph);
}

static void operations(void) {
  TF_Graph* graph = TF_NewGraph();
  leat_scope_t* s = leat_scope_create(graph);
  TF_Output x = leat_constant_floats(s, 1, (int64_t[]){2}, (float[]){1, 2}), y = x, z = x;
  TF_Output axis = leat_constant_int(s, 0);
#include "graph_2.inc"
#include "graph_3.inc"
  CHECK(TF_GetCode(leat_scope_status(s)) == TF_OK);
  close_all(NULL, s, graph);
}

static void names(void) {
  TF_Graph* graph = TF_NewGraph();
#include "names_1.inc"
  CHECK_OK();
  CHECK(!strcmp(scope, "tower") && !strcmp(second, "tower_1"));
  free(scope);
  free(second);
  TF_DeleteGraph(graph);
}

static void control_flow(void) {
  TF_Graph* graph = TF_NewGraph();
  leat_scope_t* s = leat_scope_create(graph);
  TF_Output x = leat_constant_float(s, -2.5f), zero = leat_constant_float(s, 0);
  TF_Output sum, magnitude;
  {
#include "control_flow_1.inc"
    CHECK_OK();
    sum = leat_cast(s, ends[1], TF_FLOAT);
  }
  {
#include "control_flow_2.inc"
    CHECK_OK();
    magnitude = size;
  }
  TF_Session* session = open_session(graph);
  CHECK(run_float(session, sum) == 45 && run_float(session, magnitude) == 2.5f);
  close_all(session, s, graph);
}

// At the top level, as a program has it.
#include "gradients_1.inc"

static void gradients(void) {
  TF_Graph* graph = TF_NewGraph();
  leat_scope_t* s = leat_scope_create(graph);
  TF_Output x = leat_constant_float(s, 3);
  TF_Output y = {leat_operation(s, "Identity", NULL, (TF_Output[]){leat_multiply(s, x, x)}, 1, NULL,
                                0), 0};
#include "gradients_2.inc"
  CHECK_OK();
  TF_Session* session = open_session(graph);
  CHECK(run_float(session, slope.values) == -6);
  close_all(session, s, graph);
}

static void training(void) {
  TF_Graph* graph = TF_NewGraph();
  leat_scope_t* s = leat_scope_create(graph);
  TF_Session* session = open_session(graph);
  int64_t step = 100;
#include "train_1.inc"
  CHECK_OK();
  CHECK(run_float(session, w) < 1e-6f);
#include "train_2.inc"
  CHECK_OK();
  {
    leat_saver_t* saver = leat_saver_create(s, "ckpt", (leat_saver_options_t){.keep = 1});
    TF_Output x = w, y = loss;
#include "saved_model_1.inc"
    CHECK_OK();
    leat_saver_free(saver);
  }
  {
#include "files_2.inc"
    CHECK_OK();
    CHECK(TF_TensorElementCount(w) == 1);
    TF_DeleteTensor(w);
  }
#include "files_1.inc"
  CHECK_OK();
  close_all(session, s, graph);
}

static void summaries(void) {
  {
#include "summary_1.inc"
    CHECK_OK();
    // Every call before the last one wrote its value too.
    const char* parts[] = {"session_start_info", "The *first* run.", "digits", "session_end_info"};
    for (int i = 0; i < 4; ++i) {
      char command[99];
      snprintf(command, sizeof command, "grep -qaF '%s' logs/first/events.*", parts[i]);
      CHECK(system(command) == 0);
    }
  }
  leat_events_t* events = leat_events_open("logs/second", status);
#include "summary_2.inc"
  CHECK_OK();
  leat_events_close(events, status);
  CHECK_OK();
}

static void count_until_stop(void* coordinator) {
  for (long count = 0; !leat_coordinator_should_stop(coordinator); ++count) continue;
}

// Ten numbers go through a queue of three; the training step adds each to a sum.
static void input(void) {
  TF_Graph* graph = TF_NewGraph();
  leat_scope_t* s = leat_scope_create(graph);
  TF_Session* session = open_session(graph);
  const TF_DataType type = TF_INT32;
  leat_attribute_t types = leat_attribute_types("component_types", 1, &type);
  TF_Output queue = {
      leat_operation(s, "FIFOQueueV2", NULL, NULL, 0,
                     (leat_attribute_t[]){types, leat_attribute_int("capacity", 3)}, 2), 0};
  leat_variable_untrained(s, "next", type, 0, NULL, leat_initializer_constant(0));
  TF_Output sum = leat_variable_untrained(s, "sum", type, 0, NULL, leat_initializer_constant(0));
  TF_Output next = leat_variable_at(s, 0), total = leat_variable_at(s, 1);
  leat_attribute_t limit = leat_attribute_int("limit", 10);
  TF_Output number = {leat_operation(s, "CountUpTo", NULL, &next, 1, &limit, 1), 0};
  TF_Operation* enqueue =
      leat_operation(s, "QueueEnqueueV2", NULL, (TF_Output[]){queue, number}, 2, NULL, 0);
  TF_Output taken = {leat_operation(s, "QueueDequeueV2", NULL, &queue, 1, &types, 1), 0};
  TF_Operation* train =
      leat_operation(s, "AssignAdd", NULL, (TF_Output[]){total, taken}, 2, NULL, 0);
#include "input_1.inc"
  CHECK_OK();
  TF_Tensor* value = NULL;
  TF_SessionRun(session, NULL, NULL, NULL, 0, &sum, &value, 1, NULL, 0, NULL, status);
  CHECK_OK();
  CHECK(*(int32_t*)TF_TensorData(value) == 45);
  TF_DeleteTensor(value);
#include "input_2.inc"
  CHECK_OK();
  close_all(session, s, graph);
}

// A thousand steps, each of which adds one.
static void supervisor(void) {
  TF_Graph* graph = TF_NewGraph();
  leat_scope_t* s = leat_scope_create(graph);
  TF_Output step = leat_global_step(s);
  TF_Operation* train = leat_count_step(s, leat_group(s, NULL, NULL, 0));
  TF_Operation* init = leat_variables_initializer(s);
#include "supervisor_1.inc"
  CHECK_OK();
  char* latest = leat_checkpoint_latest("run", status);
  CHECK(latest && strstr(latest, "model.ckpt-1000"));
  free(latest);
  close_all(NULL, s, graph);
}

static void interrupt(void) {
  TF_Graph* graph = TF_NewGraph();
  leat_scope_t* s = leat_scope_create(graph);
  TF_Output y = leat_constant_float(s, 7);
  TF_Session* session = open_session(graph);
  leat_interrupt_t* interrupt = leat_interrupt_create();
  TF_Tensor* value = NULL;
#include "interrupt_1.inc"
  CHECK_OK();
  CHECK(*(float*)TF_TensorData(value) == 7);
  TF_DeleteTensor(value);
  leat_interrupt_free(interrupt);
  close_all(session, s, graph);
}

static void trace(void) {
  TF_Graph* graph = TF_NewGraph();
  leat_scope_t* s = leat_scope_create(graph);
  TF_Output fetch = leat_relu(s, leat_constant_float(s, 7));
  TF_Session* session = open_session(graph);
  TF_Tensor* value = NULL;
#include "trace_1.inc"
  CHECK_OK();
  CHECK(*(float*)TF_TensorData(value) == 7);
  TF_DeleteTensor(value);
  close_all(session, s, graph);
}

static void placement(void) {
  TF_Graph* graph = TF_NewGraph();
  leat_scope_t* s = leat_scope_create(graph);
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_Output loss = leat_constant_float(s, 1);
#include "inspect_1.inc"
  CHECK_OK();
  CHECK(strstr(json->data, "\"placer\": \"greedy\""));
  TF_DeleteBuffer(json);
  TF_DeleteSessionOptions(options);
  close_all(NULL, s, graph);
}

static void messages(void) {
  TF_Graph* source = TF_NewGraph();
  leat_scope_t* s = leat_scope_create(source);
  TF_Buffer* graph_def = TF_NewBuffer();
  leat_constant_float(s, 1);
  TF_GraphToGraphDef(source, graph_def, status);
#include "inspect_2.inc"
  CHECK_OK();
#include "inspect_3.inc"
  CHECK_OK();
  TF_DeleteBuffer(graph_def);
  close_all(NULL, s, source);
}

// At the top level: a library's own functions, as its source has them.
#include "ops_1.inc"
#include "kernels_1.inc"

// A kernel that looks its second input up in the table of its first one.
static void look_up(void* kernel, TF_OpKernelContext* ctx) {
  TF_Tensor *table = NULL, *keys = NULL, *fallback = NULL;
  TF_GetInput(ctx, 0, &table, status);
  TF_GetInput(ctx, 1, &keys, status);
  TF_GetInput(ctx, 2, &fallback, status);
  CHECK_OK();
#include "kernel_op_1.inc"
  CHECK_OK();
  TF_SetOutput(ctx, 0, values, status);
  TF_DeleteTensor(values);
  TF_DeleteTensor(fallback);
  TF_DeleteTensor(keys);
  TF_DeleteTensor(table);
}

// An empty table answers with the fallback.
static void kernel_op(void) {
  TF_OpDefinitionBuilder* builder = TF_NewOpDefinitionBuilder("LooksUp");
  TF_OpDefinitionBuilderAddInput(builder, "table: resource");
  TF_OpDefinitionBuilderAddInput(builder, "keys: string");
  TF_OpDefinitionBuilderAddInput(builder, "fallback: float");
  TF_OpDefinitionBuilderAddOutput(builder, "values: float");
  TF_OpDefinitionBuilderSetIsStateful(builder, true);
  TF_RegisterOpDefinition(builder, status);
  CHECK_OK();
  TF_KernelBuilder* kernel = TF_NewKernelBuilder("LooksUp", "CPU", NULL, look_up, NULL);
  TF_RegisterKernelBuilder("LooksUp", kernel, status);
  TF_Graph* graph = TF_NewGraph();
  leat_scope_t* s = leat_scope_create(graph);
  TF_OperationDescription* desc = TF_NewOperation(graph, "MutableHashTableV2", "table");
  TF_SetAttrType(desc, "key_dtype", TF_STRING);
  TF_SetAttrType(desc, "value_dtype", TF_FLOAT);
  TF_Operation* table = TF_FinishOperation(desc, status);
  desc = TF_NewOperation(graph, "LooksUp", "found");
  TF_AddInput(desc, (TF_Output){table, 0});
  TF_AddInput(desc, leat_constant_string(s, "a"));
  TF_AddInput(desc, leat_constant_float(s, 7));
  TF_Operation* found = TF_FinishOperation(desc, status);
  CHECK_OK();
  TF_Session* session = open_session(graph);
  CHECK(run_float(session, (TF_Output){found, 0}) == 7);
  close_all(session, s, graph);
}

static void eager(void) {
  const int64_t dims[] = {1, 1};
  TF_Tensor* two = TF_AllocateTensor(TF_FLOAT, dims, 2, sizeof(float));
  *(float*)TF_TensorData(two) = 2;
  TFE_TensorHandle *a = TFE_NewTensorHandle(two, status), *b = TFE_NewTensorHandle(two, status);
#include "eager_c_api_1.inc"
  CHECK_OK();
  CHECK(*(float*)TF_TensorData(value) == 4);
  TF_DeleteTensor(value);
  TFE_DeleteOp(op);
  register_kernels(status);
  CHECK_OK();
  op = TFE_NewOp(ctx, "ZeroOut", status);
  TFE_OpAddInput(op, result, status);
  TFE_TensorHandle* zero = NULL;
  TFE_Execute(op, &zero, &count, status);
  CHECK_OK();
  value = TFE_TensorHandleResolve(zero, status);
  CHECK(*(float*)TF_TensorData(value) == 0);
  TF_DeleteTensor(value);
  TFE_DeleteOp(op);
  TFE_DeleteTensorHandle(zero);
  TFE_DeleteTensorHandle(result);
  TFE_DeleteTensorHandle(a);
  TFE_DeleteTensorHandle(b);
  TFE_DeleteContext(ctx);
  TFE_DeleteContextOptions(options);
  TF_DeleteTensor(two);
#include "eager_c_api_experimental_1.inc"
  CHECK(TFE_MonitoringCounterCellValue(TFE_MonitoringGetCellCounter1(steps, "ptb")) == 1);
  TFE_MonitoringDeleteCounter1(steps);
}

// Calls the function "twice" that the snippet traces, with 4.
static void unified(void) {
  TFE_ContextOptions* options = TFE_NewContextOptions();
  const TF_Shape shape = {0, NULL};
#include "eager_c_api_unified_experimental_1.inc"
  CHECK_OK();
  TF_Tensor* four = TF_AllocateTensor(TF_FLOAT, NULL, 0, sizeof(float));
  *(float*)TF_TensorData(four) = 4;
  TF_AbstractTensor* input =
      TF_CreateAbstractTensorFromEagerTensor(TFE_NewTensorHandle(four, status), status);
  TF_AbstractOp* call = TF_NewAbstractOp(eager);
  TF_AbstractOpSetOpType(call, "twice", status);
  TF_OutputListSetNumOutputs(outputs, 1, status);
  TF_ExecuteOperation(call, 1, &input, outputs, status);
  CHECK_OK();
  TF_AbstractTensor* output = TF_OutputListGet(outputs, 0);
  TF_Tensor* value =
      TFE_TensorHandleResolve(TF_AbstractTensorGetEagerTensor(output, status), status);
  CHECK(*(float*)TF_TensorData(value) == 8);
  TF_DeleteTensor(value);
  TF_DeleteTensor(four);
  TF_AbstractTensor* tensors[] = {x, sum, input, output};
  for (int i = 0; i < 4; ++i) TF_DeleteAbstractTensor(tensors[i]);
  TF_DeleteAbstractOp(add);
  TF_DeleteAbstractOp(call);
  TF_DeleteOutputList(outputs);
  TF_DeleteAbstractFunction(twice);
  TF_DeleteExecutionContext(eager);
  TFE_DeleteContextOptions(options);
}

// Loads what training() has exported: the loss of a w that is fed.
static void loaded_model(void) {
  TFE_ContextOptions* options = TFE_NewContextOptions();
  TFE_Context* ctx = TFE_NewContext(options, status);
  TF_Tensor* three = TF_AllocateTensor(TF_FLOAT, (int64_t[]){1}, 1, sizeof(float));
  *(float*)TF_TensorData(three) = 3;
  TFE_TensorHandle *input = TFE_NewTensorHandle(three, status), *output = NULL;
  int count = 1;
#include "experimental_saved_model_public_saved_model_api_1.inc"
  CHECK_OK();
  TF_Tensor* value = TFE_TensorHandleResolve(output, status);
  CHECK(*(float*)TF_TensorData(value) == 9);
  TF_DeleteTensor(value);
  TF_DeleteTensor(three);
  TFE_DeleteTensorHandle(input);
  TFE_DeleteTensorHandle(output);
  TFE_DeleteOp(op);
  TF_DeleteSavedModel(model);
  TFE_DeleteContext(ctx);
  TFE_DeleteContextOptions(options);
}

// The one task of a cluster; a session at its target has its device. A build without gRPC has no
// servers.
static void server(void) {
  static const char server_def[] =
      "\x0a\x18\x0a\x16\x0a\x05local\x12\x0d\x12\x0blocalhost:0"  // cluster: job: name, task 0
      "\x12\x05local"                                               // job_name
      "\x2a\x04grpc";                                               // protocol
  const size_t server_def_length = sizeof server_def - 1;
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_Server* probe = TF_NewServer(server_def, server_def_length, status);
  const bool has_servers = TF_GetCode(status) != TF_UNIMPLEMENTED;
  TF_DeleteServer(probe);
  if (has_servers) {
#include "c_api_server_1.inc"
    CHECK_OK();
    TF_Graph* graph = TF_NewGraph();
    TF_Session* session = TF_NewSession(graph, options, status);
    CHECK_OK();
    TF_DeviceList* devices = TF_SessionListDevices(session, status);
    CHECK(strcmp(TF_DeviceListName(devices, 0, status),
                 "/job:local/replica:0/task:0/device:CPU:0") == 0);
    TF_DeleteDeviceList(devices);
    close_all(session, NULL, graph);
    TF_DeleteServer(server);
  }
  TF_DeleteSessionOptions(options);
}

int main(void) {
  status = TF_NewStatus();
  c_api();
  builder();
  gradient();
  function();
  count();
  graph_and_import();
  strings();
  graph();
  operations();
  control_flow();
  names();
  gradients();
  training();
  summaries();
  supervisor();
  input();
  interrupt();
  trace();
  placement();
  messages();
  kernel_op();
  eager();
  unified();
  loaded_model();
  server();
  TF_DeleteStatus(status);
  return 0;
}
