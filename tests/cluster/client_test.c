// A client in this process whose master is a server: TF_SetTarget("grpc://host:port"), and then the
// functions that every session has. The two servers are in this process too, so all is tested
// twice: with calls within the process, and with a target that leads through the network. What
// differs from a local session is tested: nodes that are added between steps reach the master,
// failures and statistics come back from all tasks, partial runs and deadlines work. Closing the
// session, resetting the cluster or a master that goes away ends steps that wait. A step that waits
// does so on a queue that nobody fills.
#define _GNU_SOURCE  // memmem
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/thread.h"
#include "cluster/cluster_scene.h"
#include "formats/generated/run_metadata.h"
#include "formats/wire/decode.h"
#include "leat/callable.h"
#include "leat/interrupt.h"
#include "leat/train.h"
#include "tensorflow/c/c_api.h"

typedef struct client_s {
  cluster_scene_t* cluster;
  TF_Status* status;
  TF_Graph* graph;
  TF_SessionOptions* options;
  TF_Session* session;
} client_t;

static client_t client;
static bool is_by_network;  // or by calls within the process

static int set_up(void** state) {
  char target[64];
  client = (client_t){0};
  if (cluster_scene_set_up(state)) return 1;
  client.cluster = *state;
  client.status = TF_NewStatus();
  client.graph = TF_NewGraph();
  client.options = TF_NewSessionOptions();
  cluster_scene_target(client.cluster, CLUSTER_WORKER, is_by_network, target);
  TF_SetTarget(client.options, target);
  client.session = TF_NewSession(client.graph, client.options, client.status);
  assert_string_equal(TF_Message(client.status), "");
  return 0;
}

static int tear_down(void** state) {
  TF_DeleteSession(client.session, client.status);
  TF_DeleteSessionOptions(client.options);
  TF_DeleteGraph(client.graph);
  TF_DeleteStatus(client.status);
  *state = client.cluster;
  return cluster_scene_tear_down(state);
}

static void expect(TF_Code code, const char* part) {
  if (TF_GetCode(client.status) != code || !strstr(TF_Message(client.status), part)) {
    print_error("code %d: %s\n", TF_GetCode(client.status), TF_Message(client.status));
  }
  assert_int_equal(TF_GetCode(client.status), code);
  assert_non_null(strstr(TF_Message(client.status), part));
}

// ---- Graphs -------------------------------------------------------------------------------------

static TF_Output add_unary(const char* op, const char* name, const char* device, TF_Output input) {
  TF_OperationDescription* description = TF_NewOperation(client.graph, op, name);
  TF_SetDevice(description, device);
  TF_AddInput(description, input);
  TF_Operation* operation = TF_FinishOperation(description, client.status);
  expect(TF_OK, "");
  return (TF_Output){operation, 0};
}

static TF_Output add_placeholder(const char* name) {
  TF_OperationDescription* description = TF_NewOperation(client.graph, "Placeholder", name);
  TF_SetAttrType(description, "dtype", TF_FLOAT);
  TF_Operation* operation = TF_FinishOperation(description, client.status);
  expect(TF_OK, "");
  return (TF_Output){operation, 0};
}

// What takes an element, a vector of one, of a queue that has none.
static TF_Output add_wait(void) {
  static const TF_DataType kTypes[] = {TF_FLOAT};
  static const int64_t kDims[] = {1}, *const kShapes[] = {kDims};
  static const int kRanks[] = {1};
  TF_OperationDescription* description = TF_NewOperation(client.graph, "FIFOQueueV2", "queue");
  TF_SetDevice(description, CLUSTER_PS_CPU);
  TF_SetAttrTypeList(description, "component_types", kTypes, 1);
  TF_SetAttrShapeList(description, "shapes", kShapes, kRanks, 1);
  TF_Operation* queue = TF_FinishOperation(description, client.status);
  description = TF_NewOperation(client.graph, "QueueDequeueV2", "taken");
  TF_AddInput(description, (TF_Output){queue, 0});
  TF_SetAttrTypeList(description, "component_types", kTypes, 1);
  TF_Operation* taken = TF_FinishOperation(description, client.status);
  expect(TF_OK, "");
  return (TF_Output){taken, 0};
}

static TF_Tensor* make_vector(float first, int64_t count) {
  TF_Tensor* tensor = TF_AllocateTensor(TF_FLOAT, &count, 1, (size_t)count * sizeof(float));
  for (int64_t i = 0; i < count; ++i) ((float*)TF_TensorData(tensor))[i] = first + (float)i;
  return tensor;
}

// Runs a step with a vector of |count| floats from |value| on. Returns the last float of the fetch.
static float run(TF_Output feed, float value, int64_t count, TF_Output fetch) {
  TF_Tensor *in = make_vector(value, count), *out = NULL;
  float last = 0;
  TF_SessionRun(client.session, NULL, &feed, &in, 1, &fetch, &out, 1, NULL, 0, NULL,
                client.status);
  if (out) {
    assert_int_equal(TF_Dim(out, 0), count);
    last = ((float*)TF_TensorData(out))[count - 1];
  }
  TF_DeleteTensor(in);
  TF_DeleteTensor(out);
  return last;
}

static void fetch_alone(TF_Session* session, TF_Output fetch, TF_Buffer* run_options,
                        TF_Status* status) {
  TF_Tensor* out = NULL;
  TF_SessionRun(session, run_options, NULL, NULL, 0, &fetch, &out, 1, NULL, 0, NULL, status);
  TF_DeleteTensor(out);
}

// ---- Tests --------------------------------------------------------------------------------------

static void devices_are_those_of_the_cluster(void** state) {
  TF_DeviceList* list = TF_SessionListDevices(client.session, client.status);
  assert_int_equal(TF_DeviceListCount(list), 2);
  bool has_ps = false;
  for (int i = 0; i < 2; ++i) {
    has_ps |= !strcmp(TF_DeviceListName(list, i, client.status), CLUSTER_PS_CPU);
    assert_string_equal(TF_DeviceListType(list, i, client.status), "CPU");
  }
  assert_true(has_ps);
  TF_DeleteDeviceList(list);
}

// Nodes that are added between steps reach the master, and values of any size come and go.
static void a_graph_grows_between_steps(void** state) {
  TF_Output x = add_placeholder("x");
  TF_Output y = add_unary("Square", "y", CLUSTER_PS_CPU, x);
  assert_true(run(x, 3, 4, y) == 36);
  TF_Output z = add_unary("Neg", "z", CLUSTER_WORKER_CPU, y);
  assert_true(run(x, 3, 4, z) == -36);
  assert_true(run(x, 1, 1, y) == 1);
  assert_true(run(x, 0, 1000000, z) == -999999.f * 999999.f);
  expect(TF_OK, "");
  // A value that is asked for twice comes twice.
  TF_Tensor *in = make_vector(2, 1), *out[3];
  const TF_Output fetches[] = {z, y, z};
  TF_SessionRun(client.session, NULL, &x, &in, 1, fetches, out, 3, NULL, 0, NULL, client.status);
  expect(TF_OK, "");
  assert_true(*(float*)TF_TensorData(out[0]) == -4 && *(float*)TF_TensorData(out[1]) == 4 &&
              *(float*)TF_TensorData(out[2]) == -4);
  for (int i = 0; i < 3; ++i) TF_DeleteTensor(out[i]);
  TF_DeleteTensor(in);
}

static void failures_reach_the_client(void** state) {
  TF_Output x = add_placeholder("x");
  TF_Output y = add_unary("Neg", "y", CLUSTER_PS_CPU, x);
  fetch_alone(client.session, y, NULL, client.status);
  expect(TF_INVALID_ARGUMENT, "You must feed a value for placeholder");
  run(x, 1, 1, x);
  expect(TF_INVALID_ARGUMENT, "both fed and fetched");
  run(x, 1, 1, (TF_Output){y.oper, 1});
  expect(TF_OUT_OF_RANGE, "output index 1");
  assert_true(run(x, 1, 1, y) == -1);
  // A node for a device that no task has.
  TF_Output bad = add_unary("Neg", "bad", "/job:gone/task:0", x);
  run(x, 1, 1, bad);
  expect(TF_INVALID_ARGUMENT, "bad");
}

typedef struct waiter_s {
  TF_Output fetch;
  TF_Status* status;
} waiter_t;

static void wait_for_element(void* data) {
  waiter_t* waiter = data;
  fetch_alone(client.session, waiter->fetch, NULL, waiter->status);
}

// Closing the session ends its steps, and later ones fail. At first steps are on their way to the
// master meanwhile, and at last they wait there.
static void closing_ends_steps(void** state) {
  enum { kTries = 60 };
  waiter_t waiter = {add_wait(), TF_NewStatus()};
  for (int i = 0; i < kTries; ++i) {
    leat_thread_t thread;
    LEAT_EXPECT_OK(leat_thread_start("test", wait_for_element, &waiter, &thread));
    if (i + 1 < kTries) {
      leat_clock_sleep_ns(i * 10000);
    } else {
      cluster_let_wait();
    }
    TF_CloseSession(client.session, client.status);
    expect(TF_OK, "");
    leat_thread_join(thread);
    assert_int_equal(TF_GetCode(waiter.status), TF_CANCELLED);
    fetch_alone(client.session, waiter.fetch, NULL, waiter.status);
    assert_int_equal(TF_GetCode(waiter.status), TF_CANCELLED);
    TF_DeleteSession(client.session, client.status);
    client.session = TF_NewSession(client.graph, client.options, client.status);
    expect(TF_OK, "");
  }
  TF_DeleteStatus(waiter.status);
}

// What puts |x| into the queue that |taken| waits on.
static TF_Operation* add_put(TF_Output taken, TF_Output x) {
  TF_OperationDescription* description = TF_NewOperation(client.graph, "QueueEnqueueV2", "put");
  TF_AddInput(description, TF_OperationInput((TF_Input){taken.oper, 0}));
  TF_AddInputList(description, &x, 1);
  TF_Operation* put = TF_FinishOperation(description, client.status);
  expect(TF_OK, "");
  return put;
}

// What takes two elements at once of the queue that |taken| takes one of.
static TF_Output add_wait_for_two(TF_Output taken) {
  TF_Tensor* two = TF_AllocateTensor(TF_INT32, NULL, 0, sizeof(int32_t));
  *(int32_t*)TF_TensorData(two) = 2;
  TF_OperationDescription* description = TF_NewOperation(client.graph, "Const", "two");
  TF_SetDevice(description, CLUSTER_PS_CPU);
  TF_SetAttrType(description, "dtype", TF_INT32);
  TF_SetAttrTensor(description, "value", two, client.status);
  TF_DeleteTensor(two);
  const TF_Output count = {TF_FinishOperation(description, client.status), 0};
  expect(TF_OK, "");
  description = TF_NewOperation(client.graph, "QueueDequeueManyV2", "both_taken");
  TF_AddInput(description, TF_OperationInput((TF_Input){taken.oper, 0}));
  TF_AddInput(description, count);
  const TF_DataType type = TF_FLOAT;
  TF_SetAttrTypeList(description, "component_types", &type, 1);
  TF_Operation* both = TF_FinishOperation(description, client.status);
  expect(TF_OK, "");
  return (TF_Output){both, 0};
}

typedef struct interrupted_s {
  waiter_t waiter;
  leat_interrupt_t* interrupt;
  leat_notification_t begun;
} interrupted_t;

static void wait_interruptibly(void* data) {
  interrupted_t* step = data;
  leat_interrupt_begin(step->interrupt);
  leat_notification_open(&step->begun);
  wait_for_element(&step->waiter);
  leat_interrupt_end(step->interrupt);
}

// One step is cancelled, on its way to the master or while it waits there, and other steps and the
// session go on. The client does not wait until the queue's task knows of it: the one element may
// come to the cancelled step first, which gives it back since it never gets the second.
static void one_step_is_cancelled(void** state) {
  enum { kTries = 30 };
  const TF_Output taken = add_wait(), both = add_wait_for_two(taken), x = add_placeholder("x");
  const TF_Operation* const put = add_put(taken, x);
  for (int i = 0; i < kTries; ++i) {
    interrupted_t step = {.waiter = {both, TF_NewStatus()}, .interrupt = leat_interrupt_create()};
    leat_thread_t thread, other;
    waiter_t waiter = {taken, TF_NewStatus()};
    leat_notification_initialize(&step.begun);
    LEAT_EXPECT_OK(leat_thread_start("test", wait_interruptibly, &step, &thread));
    leat_notification_wait(&step.begun, LEAT_DEADLINE_NEVER);
    if (i + 1 < kTries) {
      leat_clock_sleep_ns(i * 20000);
    } else {
      cluster_let_wait();
    }
    LEAT_EXPECT_OK(leat_thread_start("test", wait_for_element, &waiter, &other));
    leat_interrupt_cancel(step.interrupt);
    leat_thread_join(thread);
    assert_int_equal(TF_GetCode(step.waiter.status), TF_CANCELLED);
    assert_non_null(strstr(TF_Message(step.waiter.status), "Run failed: "));
    TF_Tensor* in = make_vector(1, 1);
    TF_SessionRun(client.session, NULL, &x, &in, 1, NULL, NULL, 0, &put, 1, NULL, client.status);
    expect(TF_OK, "");
    TF_DeleteTensor(in);
    leat_thread_join(other);  // which got the element
    assert_int_equal(TF_GetCode(waiter.status), TF_OK);
    TF_DeleteStatus(waiter.status);
    TF_DeleteStatus(step.waiter.status);
    leat_notification_deinitialize(&step.begun);
    leat_interrupt_free(step.interrupt);
  }
}

// A master that goes away ends steps too.
static void a_master_that_stops_ends_steps(void** state) {
  waiter_t waiter = {add_wait(), TF_NewStatus()};
  leat_thread_t thread;
  LEAT_EXPECT_OK(leat_thread_start("test", wait_for_element, &waiter, &thread));
  cluster_let_wait();
  cluster_stop(client.cluster, CLUSTER_WORKER);
  leat_thread_join(thread);
  assert_int_not_equal(TF_GetCode(waiter.status), TF_OK);
  fetch_alone(client.session, waiter.fetch, NULL, waiter.status);
  assert_int_equal(TF_GetCode(waiter.status), TF_UNAVAILABLE);
  TF_CloseSession(client.session, client.status);
  TF_DeleteStatus(waiter.status);
}

static float partial_step(const char* handle, const TF_Output* feeds, const float* values,
                          int count, TF_Output fetch) {
  TF_Tensor *in[2] = {0}, *out = NULL;
  float value = 0;
  for (int i = 0; i < count; ++i) in[i] = make_vector(values[i], 1);
  TF_SessionPRun(client.session, handle, feeds, in, count, &fetch, &out, 1, NULL, 0,
                 client.status);
  if (out) value = *(float*)TF_TensorData(out);
  for (int i = 0; i < count; ++i) TF_DeleteTensor(in[i]);
  TF_DeleteTensor(out);
  return value;
}

// A step in parts: y = x1^2 comes before x2 is given, of which z is made.
static void a_step_in_parts(void** state) {
  const TF_Output feeds[] = {add_placeholder("x1"), add_placeholder("x2")};
  const TF_Output y = add_unary("Square", "y", CLUSTER_PS_CPU, feeds[0]);
  const TF_Output z = add_unary("Neg", "z", CLUSTER_WORKER_CPU, feeds[1]);
  const TF_Output fetches[] = {y, z};
  const float values[] = {3, 4};
  for (int i = 0; i < 3; ++i) {
    const char* handle = NULL;
    TF_SessionPRunSetup(client.session, feeds, 2, fetches, 2, NULL, 0, &handle, client.status);
    expect(TF_OK, "");
    // A fetch whose feed is missing is refused, and the run goes on.
    partial_step(handle, feeds, values, 1, z);
    expect(TF_INVALID_ARGUMENT, "can't be computed from the feeds");
    assert_true(partial_step(handle, feeds, values, 1, y) == 9);
    expect(TF_OK, "");
    if (i < 2) {  // the last one is left as it is
      assert_true(partial_step(handle, feeds + 1, values + 1, 1, z) == -4);
      expect(TF_OK, "");
    }
    TF_DeletePRunHandle(handle);
  }
}

static bool holds(const leat_string_view_t bytes, const char* text) {
  return memmem(bytes.data, bytes.size, text, strlen(text)) != NULL;
}

// A traced step tells what ran on all tasks: here a node on each, and what carries the value.
static void statistics_come_from_all_tasks(void** state) {
  static const char kOptions[] = {0x08, 3};  // trace_level: FULL_TRACE
  TF_Buffer options = {.data = kOptions, .length = sizeof kOptions};
  TF_Output x = add_placeholder("x");
  TF_Output y = add_unary("Square", "squared", CLUSTER_PS_CPU, x);
  TF_Output z = add_unary("Neg", "negated", CLUSTER_WORKER_CPU, y);
  TF_Tensor *in = make_vector(3, 1), *out = NULL;
  TF_Buffer* metadata = TF_NewBuffer();
  TF_SessionRun(client.session, &options, &x, &in, 1, &z, &out, 1, NULL, 0, metadata,
                client.status);
  expect(TF_OK, "");
  const leat_string_view_t bytes = leat_string_view_make(metadata->data, metadata->length);
  assert_true(holds(bytes, CLUSTER_PS_CPU));
  assert_true(holds(bytes, CLUSTER_WORKER_CPU));
  assert_true(holds(bytes, "squared = Square("));
  assert_true(holds(bytes, "negated = Neg("));
  assert_true(holds(bytes, " = _Recv("));
  TF_DeleteBuffer(metadata);
  TF_DeleteTensor(in);
  TF_DeleteTensor(out);
}

// The graphs that the devices got come with the answer, traced or not.
static void partitions_are_shown(void** state) {
  static const char kOptions[] = {0x28, 1, 0x08, 3};  // output_partition_graphs, FULL_TRACE
  TF_Output x = add_placeholder("x");
  TF_Output y = add_unary("Square", "squared", CLUSTER_PS_CPU, x);
  TF_Output z = add_unary("Neg", "negated", CLUSTER_WORKER_CPU, y);
  for (int is_traced = 0; is_traced < 2; ++is_traced) {
    TF_Buffer options = {.data = kOptions, .length = is_traced ? 4 : 2};
    TF_Tensor *in = make_vector(3, 1), *out = NULL;
    TF_Buffer* metadata = TF_NewBuffer();
    TF_SessionRun(client.session, &options, &x, &in, 1, &z, &out, 1, NULL, 0, metadata,
                  client.status);
    expect(TF_OK, "");
    leat_pb_run_metadata_t read;
    leat_arena_t arena;
    leat_arena_initialize(leat_allocator_system(), 0, &arena);
    LEAT_EXPECT_OK(leat_message_decode(&leat_pb_run_metadata_descriptor,
                                       leat_string_view_make(metadata->data, metadata->length),
                                       &arena, NULL, &read));
    assert_int_equal(read.step_stats != NULL, is_traced);
    assert_int_equal(read.partition_graphs.count, 2);
    bool has_ps = false;
    for (int i = 0; i < 2; ++i) {
      const leat_pb_graph_def_t* graph = &read.partition_graphs.items[i];
      bool is_ps = false;
      for (size_t k = 0; k < graph->node.count; ++k) {
        is_ps |= leat_string_view_equals(graph->node.items[k].name, "squared");
      }
      for (size_t k = 0; k < graph->node.count; ++k) {
        assert_true(leat_string_view_equals(graph->node.items[k].device,
                                            is_ps ? CLUSTER_PS_CPU : CLUSTER_WORKER_CPU));
      }
      has_ps |= is_ps;
    }
    assert_true(has_ps);
    leat_arena_deinitialize(&arena);
    TF_DeleteBuffer(metadata);
    TF_DeleteTensor(in);
    TF_DeleteTensor(out);
  }
}

static void steps_have_deadlines(void** state) {
  static const char kOptions[] = {0x10, 100};  // timeout_in_ms: 100
  TF_Buffer options = {.data = kOptions, .length = sizeof kOptions};
  fetch_alone(client.session, add_wait(), &options, client.status);
  expect(TF_DEADLINE_EXCEEDED, "");
}

// Where nobody listens, a session with a deadline is refused when it has passed.
static void masters_that_are_not_there(void** state) {
  static const char kConfig[] = {0x58, 100};  // operation_timeout_in_ms: 100
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_SetConfig(options, kConfig, sizeof kConfig, client.status);
  expect(TF_OK, "");
  TF_SetTarget(options, "grpc://127.0.0.1:1");
  assert_null(TF_NewSession(client.graph, options, client.status));
  expect(TF_DEADLINE_EXCEEDED, "Creating a session at grpc://127.0.0.1:1");
  TF_SetTarget(options, "grpc://no port");
  assert_null(TF_NewSession(client.graph, options, client.status));
  expect(TF_INVALID_ARGUMENT, "no port");
  TF_DeleteSessionOptions(options);
}

// TF_Reset at a master empties the containers of all tasks and ends its sessions.
static void a_cluster_is_reset(void** state) {
  TF_OperationDescription* description = TF_NewOperation(client.graph, "VarHandleOp", "v");
  TF_SetDevice(description, CLUSTER_PS_CPU);
  TF_SetAttrType(description, "dtype", TF_FLOAT);
  TF_SetAttrShape(description, "shape", NULL, -1);
  TF_Output handle = {TF_FinishOperation(description, client.status), 0};
  TF_Output is_there = add_unary("VarIsInitializedOp", "is_there", CLUSTER_PS_CPU, handle);
  TF_Output x = add_placeholder("x");
  description = TF_NewOperation(client.graph, "AssignVariableOp", "assign");
  TF_AddInput(description, handle);
  TF_AddInput(description, x);
  TF_Operation* assign = TF_FinishOperation(description, client.status);
  expect(TF_OK, "");
  TF_Tensor *in = make_vector(1, 2), *out = NULL;
  const TF_Operation* const target = assign;
  TF_SessionRun(client.session, NULL, &x, &in, 1, NULL, NULL, 0, &target, 1, NULL, client.status);
  expect(TF_OK, "");
  TF_DeleteTensor(in);
  for (int is_reset = 0; is_reset < 2; ++is_reset) {
    TF_Session* other = TF_NewSession(client.graph, client.options, client.status);
    TF_SessionRun(other, NULL, NULL, NULL, 0, &is_there, &out, 1, NULL, 0, NULL, client.status);
    expect(TF_OK, "");
    assert_int_equal(*(bool*)TF_TensorData(out), !is_reset);
    TF_DeleteTensor(out);
    TF_DeleteSession(other, client.status);
    TF_Reset(client.options, NULL, 0, client.status);
    expect(TF_OK, "");
  }
  fetch_alone(client.session, is_there, NULL, client.status);
  expect(TF_ABORTED, "not found");
}

// A prepared step is checked here and compiled there.
static void steps_are_prepared(void** state) {
  TF_Output x = add_placeholder("x");
  TF_Output y = add_unary("Neg", "y", CLUSTER_PS_CPU, x);
  leat_callable_t* step =
      leat_callable_create(client.session, &x, 1, &y, 1, NULL, 0, client.status);
  expect(TF_OK, "");
  for (int i = 1; i < 4; ++i) {  // of several shapes
    float in[] = {1, 2, 3}, out[3];
    leat_array_t feed = {TF_FLOAT, 1, {i}, in, (size_t)i * sizeof *in};
    leat_array_t fetch = {TF_FLOAT, 0, {0}, out, sizeof out};
    leat_callable_run(step, &feed, &fetch, client.status);
    expect(TF_OK, "");
    assert_true(fetch.dims[0] == i && out[i - 1] == -in[i - 1]);
  }
  int32_t whole = 1;
  leat_array_t wrong = {TF_INT32, 0, {0}, &whole, sizeof whole}, none = {.data = NULL};
  leat_callable_run(step, &wrong, &none, client.status);
  expect(TF_INVALID_ARGUMENT, "for node 'x'");
  leat_callable_free(step);
  assert_null(leat_callable_create(client.session, NULL, 0, NULL, 0, NULL, 0, client.status));
  expect(TF_INVALID_ARGUMENT, "fetches and targets is 0");
  TF_Output wait = add_wait();
  step = leat_callable_create(client.session, NULL, 0, &wait, 1, NULL, 0, client.status);
  leat_callable_run_within(step, 30, NULL, &none, client.status);
  expect(TF_DEADLINE_EXCEEDED, "");
  leat_callable_free(step);
}

// What a seeded op gives in one session does not depend on those before it, as in TensorFlow,
// though the task's variables outlive them.
static void seeds_begin_anew_in_each_session(void** state) {
  leat_scope_t* s = leat_scope_create(client.graph);
  leat_scope_t* there = leat_scope_on(s, CLUSTER_PS_CPU);
  const int64_t none = 0;
  leat_attribute_t attributes[] = {leat_attribute_type("dtype", TF_FLOAT),
                                   leat_attribute_int("seed", 7)};
  TF_Output shape = leat_constant(there, TF_INT64, 1, &none, &none);
  TF_Output random = {leat_operation(there, "RandomUniform", NULL, &shape, 1, attributes, 2), 0};
  float values[2][2];
  for (int i = 0; i < 4; ++i) {
    TF_Tensor* out = NULL;
    if (i == 2) {
      TF_DeleteSession(client.session, client.status);
      client.session = TF_NewSession(client.graph, client.options, client.status);
    }
    TF_SessionRun(client.session, NULL, NULL, NULL, 0, &random, &out, 1, NULL, 0, NULL,
                  client.status);
    expect(TF_OK, "");
    values[i / 2][i % 2] = *(float*)TF_TensorData(out);
    TF_DeleteTensor(out);
  }
  assert_true(values[0][0] == values[1][0] && values[0][1] == values[1][1]);
  assert_true(values[0][0] != values[0][1]);
  leat_scope_free(there);
  leat_scope_free(s);
}

// A queue without a shared name is its session's own, and ends with it; one that has a name stays
// as the last session has left it.
static void private_queues_end_with_their_session(void** state) {
  leat_scope_t* s = leat_scope_create(client.graph);
  leat_scope_t* there = leat_scope_on(s, CLUSTER_PS_CPU);
  const TF_DataType type = TF_FLOAT;
  for (int is_named = 0; is_named < 2; ++is_named) {
    leat_attribute_t attributes[] = {
        leat_attribute_types("component_types", 1, &type),
        leat_attribute_string("shared_name", is_named ? "named" : "")};
    TF_Output queue = {leat_operation(there, "FIFOQueueV2", NULL, NULL, 0, attributes, 2), 0};
    TF_Output inputs[] = {queue, leat_constant_float(there, 1)};
    TF_Operation* put = leat_operation(there, "QueueEnqueueV2", NULL, inputs, 2, NULL, 0);
    TF_Operation* close = leat_operation(there, "QueueCloseV2", NULL, &queue, 1, NULL, 0);
    leat_target_run(client.session, put, client.status);
    expect(TF_OK, "");
    leat_target_run(client.session, close, client.status);
    expect(TF_OK, "");
    TF_DeleteSession(client.session, client.status);
    client.session = TF_NewSession(client.graph, client.options, client.status);
    leat_target_run(client.session, put, client.status);
    expect(is_named ? TF_CANCELLED : TF_OK, is_named ? "is closed" : "");
  }
  leat_scope_free(there);
  leat_scope_free(s);
}

// A session is waited for as long as its caller has patience, whatever a step may take.
static void opening_has_a_deadline(void** state) {
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_SetTarget(options, "grpc://127.0.0.1:1");
  assert_null(leat_session_create_within(client.graph, options, 50, client.status));
  expect(TF_DEADLINE_EXCEEDED, "grpc://127.0.0.1:1");
  TF_Session* session =
      leat_session_create_within(client.graph, client.options, 60000, client.status);
  expect(TF_OK, "");
  TF_DeleteSession(session, client.status);
  TF_DeleteSessionOptions(options);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(devices_are_those_of_the_cluster),
      TEST(a_graph_grows_between_steps),
      TEST(failures_reach_the_client),
      TEST(closing_ends_steps),
      TEST(one_step_is_cancelled),
      TEST(a_master_that_stops_ends_steps),
      TEST(statistics_come_from_all_tasks),
      TEST(partitions_are_shown),
      TEST(a_step_in_parts),
      TEST(steps_have_deadlines),
      TEST(masters_that_are_not_there),
      TEST(a_cluster_is_reset),
      TEST(steps_are_prepared),
      TEST(opening_has_a_deadline),
      TEST(seeds_begin_anew_in_each_session),
      TEST(private_queues_end_with_their_session),
  };
  int failures = cmocka_run_group_tests_name("within the process", tests, NULL, NULL);
  is_by_network = true;
  return failures + cmocka_run_group_tests_name("by the network", tests, NULL, NULL);
}
