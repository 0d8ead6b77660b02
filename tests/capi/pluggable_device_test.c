// Devices of plug-ins: the example's NPU (examples/pluggable_device/) in sessions. Its memory
// faults when the host touches it and its streams run behind, so that a forgotten copy or wait
// shows. The numbers are computed by hand. What a plug-in's functions do wrong becomes the status
// of the session or the step that needed them, and the next one works again: NPU_FAIL names the
// function. In the end the plug-in must have everything back. All runs a second time with
// NPU_PLAIN, where the library keeps no memory of the device's. What a plug-in may leave out when
// it is loaded is tested in platform_test.c.
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capi/kit.h"
#include "leat/inspect.h"
#include "tensorflow/c/c_api_experimental.h"

#define TASK "/job:localhost/replica:0/task:0/device:"

static TF_Status* status;
static int (*count_objects)(void);  // what the library has of the plug-in
static uint64_t (*last_bytes)(void);  // that it asked the plug-in for

static int set_up(void** state) {
  char path[1024];
  snprintf(path, sizeof path, "%s/lib/npu_plugin.so", getenv("LEAT_BUILD_DIR"));
  status = TF_NewStatus();
  TF_Library* library = TF_LoadPluggableDeviceLibrary(path, status);
  kit_ok(status);
  assert_ptr_equal(TF_LoadPluggableDeviceLibrary(path, status), library);  // once and for all
  kit_ok(status);
  void* plugin = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
  assert_non_null(plugin);
  *(void**)&count_objects = dlsym(plugin, "npu_objects");
  *(void**)&last_bytes = dlsym(plugin, "npu_bytes");
  assert_true(count_objects && last_bytes);
  dlclose(plugin);
  return 0;
}

static int tear_down(void** state) {
  TF_DeleteStatus(status);
  return 0;
}

// ---- Building and running -----------------------------------------------------------------------

// A session with the ConfigProto that |config| is the text of; NULL and |status| where there is
// none.
static TF_Session* open_session(TF_Graph* graph, const char* config) {
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_Buffer* text = TF_NewBufferFromString(config, strlen(config));
  TF_Buffer* bytes = leat_message_from_text("ConfigProto", text, status);
  kit_ok(status);
  TF_SetConfig(options, bytes->data, bytes->length, status);
  kit_ok(status);
  TF_Session* session = TF_NewSession(graph, options, status);
  TF_DeleteBuffer(bytes);
  TF_DeleteBuffer(text);
  TF_DeleteSessionOptions(options);
  return session;
}

static TF_Operation* on(TF_Graph* graph, const char* device, const char* op, const char* name,
                        TF_Operation* x, TF_Operation* y) {
  TF_OperationDescription* desc = TF_NewOperation(graph, op, name);
  TF_SetDevice(desc, device);
  TF_AddInput(desc, kit_out(x, 0));
  if (y) TF_AddInput(desc, kit_out(y, 0));
  return kit_finish(desc);
}

static void expect_floats(const TF_Tensor* tensor, int64_t count, const float* wanted) {
  assert_non_null(tensor);
  assert_int_equal(TF_TensorElementCount(tensor), count);
  const float* values = TF_TensorData(tensor);
  for (int64_t i = 0; i < count; ++i) assert_true(values[i] == wanted[i]);
}

// Feeds |x| with |value|, which stays the caller's, and gives the value of |y| or NULL.
static TF_Tensor* run(TF_Session* session, TF_Operation* x, TF_Tensor* value, TF_Operation* y) {
  TF_Output input = kit_out(x, 0), output = kit_out(y, 0);
  TF_Tensor* result = NULL;
  TF_SessionRun(session, NULL, &input, &value, 1, &output, &result, 1, NULL, 0, NULL, status);
  return result;
}

static void run_target(TF_Session* session, const TF_Operation* target) {
  TF_SessionRun(session, NULL, NULL, NULL, 0, NULL, NULL, 0, &target, 1, NULL, status);
}

static TF_Operation* handle(TF_Graph* graph, const char* name, const char* device) {
  TF_OperationDescription* desc = TF_NewOperation(graph, "VarHandleOp", name);
  TF_SetAttrType(desc, "dtype", TF_FLOAT);
  TF_SetAttrShape(desc, "shape", NULL, 0);
  TF_SetAttrString(desc, "shared_name", name, strlen(name));
  TF_SetDevice(desc, device);
  return kit_finish(desc);
}

static TF_Operation* read_of(TF_Graph* graph, const char* name, TF_Operation* variable,
                             TF_Operation* after) {
  TF_OperationDescription* desc = TF_NewOperation(graph, "ReadVariableOp", name);
  TF_AddInput(desc, kit_out(variable, 0));
  TF_SetAttrType(desc, "dtype", TF_FLOAT);
  if (after) TF_AddControlInput(desc, after);
  return kit_finish(desc);
}

// ---- Devices ------------------------------------------------------------------------------------

// Opens a session with |config| and compares the names of its devices behind the CPU.
static void expect_devices(const char* config, int count, const char* const* names) {
  TF_Graph* graph = TF_NewGraph();
  TF_Session* session = open_session(graph, config);
  kit_ok(status);
  TF_DeviceList* devices = TF_SessionListDevices(session, status);
  assert_int_equal(TF_DeviceListCount(devices), 1 + count);
  for (int i = 0; i < count; ++i) {
    assert_string_equal(TF_DeviceListName(devices, 1 + i, status), names[i]);
    assert_string_equal(TF_DeviceListType(devices, 1 + i, status), "NPU");
  }
  TF_DeleteDeviceList(devices);
  kit_close(session);
  TF_DeleteGraph(graph);
}

static void devices_are_listed(void** state) {
  static const char* const kNames[] = {TASK "NPU:0", TASK "NPU:1"};
  expect_devices("", 2, kNames);
  expect_devices("device_count { key: 'NPU' value: 1 }", 1, kNames);
  expect_devices("device_count { key: 'NPU' value: 7 }", 2, kNames);
  expect_devices("device_count { key: 'NPU' value: 0 }", 0, kNames);
  expect_devices("device_count { key: 'NPU' value: -1 }", 2, kNames);
  expect_devices("pluggable_device_options { visible_device_list: '1,0' }", 2, kNames);
  expect_devices("pluggable_device_options { visible_device_list: ' 1' }", 1, kNames);
  expect_devices("gpu_options { visible_device_list: '1' }", 2, kNames);
}

static void wrong_lists_of_devices(void** state) {
  static const struct {
    const char *list, *message;
  } kCases[] = {
      {"2", "'visible_device_list' listed an invalid Device id '2' but visible device count is 2"},
      {"x", "Could not parse entry in 'visible_device_list': 'x'."},
      {"0,", "Could not parse entry in 'visible_device_list': ''."},
      {"0,0", "visible_device_list contained a duplicate entry: 0,0"},
  };
  TF_Graph* graph = TF_NewGraph();
  for (size_t i = 0; i < sizeof kCases / sizeof *kCases; ++i) {
    char config[120];
    snprintf(config, sizeof config, "pluggable_device_options { visible_device_list: '%s' }",
             kCases[i].list);
    assert_null(open_session(graph, config));
    kit_expect_text(status, TF_INVALID_ARGUMENT, kCases[i].message);
  }
  TF_DeleteGraph(graph);
}

// 512 MiB, of which TensorFlow leaves 255 to the system; with a fraction, that of all.
static void memory_is_limited(void** state) {
  const struct {
    const char* config;
    int64_t bytes;
  } cases[] = {
      {"", INT64_C(257) << 20},
      {"pluggable_device_options { per_process_gpu_memory_fraction: 0.125 }", INT64_C(64) << 20},
  };
  for (int i = 0; i < 2; ++i) {
    TF_Graph* graph = TF_NewGraph();
    TF_Operation* dims = kit_placeholder(graph, "dims", TF_INT32);
    TF_Operation* filled =
        on(graph, "/device:NPU:0", "Fill", "filled", dims, kit_const_float(graph, "one", 1));
    TF_Session* session = open_session(graph, cases[i].config);
    TF_DeviceList* devices = TF_SessionListDevices(session, status);
    assert_int_equal(TF_DeviceListMemoryBytes(devices, 1, status), cases[i].bytes);
    TF_DeleteDeviceList(devices);
    // Twice as many as there are, then twice as many in pieces that shrink: what is kept of one
    // must go where another one finds no room.
    const int64_t one = 1;
    int32_t count = (int32_t)(cases[i].bytes / 2);
    TF_Tensor* size = kit_tensor(TF_INT32, 1, &one, &count, sizeof count);
    assert_null(run(session, dims, size, filled));
    kit_expect_text(status, TF_RESOURCE_EXHAUSTED, "device NPU:0 has no such memory");
    for (count = (int32_t)(cases[i].bytes / 16); count > 1000; count -= count / 8) {
      memcpy(TF_TensorData(size), &count, sizeof count);
      TF_Tensor* result = run(session, dims, size, filled);
      kit_ok(status);
      assert_true(((const float*)TF_TensorData(result))[count - 1] == 1);
      TF_DeleteTensor(result);
    }
    TF_DeleteTensor(size);
    kit_close(session);
    TF_DeleteGraph(graph);
  }
}

// ---- Steps --------------------------------------------------------------------------------------

// CPU, NPU:0 and NPU:1 take turns, and a value is wanted in all three.
static void values_cross_devices(void** state) {
  TF_Graph* graph = TF_NewGraph();
  TF_Operation* x = kit_placeholder(graph, "x", TF_FLOAT);
  TF_Operation* a = on(graph, "/device:NPU:0", "Square", "a", x, NULL);
  TF_Operation* b = on(graph, "/device:NPU:1", "AddV2", "b", a, x);
  TF_Operation* c = on(graph, "/device:CPU:0", "Mul", "c", b, a);
  TF_Operation* d = on(graph, "/device:NPU:0", "Sub", "d", c, b);
  TF_Operation* e = on(graph, "/device:NPU:0", "Relu", "e", d, NULL);
  TF_Session* session = open_session(graph, "");
  for (int step = 0; step < 20; ++step) {
    const float values[] = {2, -3, (float)step};
    const float s = (float)step, sum = s * s + s;
    const float wanted[] = {18, 48, sum * s * s - sum > 0 ? sum * s * s - sum : 0};
    TF_Tensor* fed = kit_floats(3, values);
    TF_Tensor* result = run(session, x, fed, e);
    kit_ok(status);
    expect_floats(result, 3, wanted);
    TF_DeleteTensor(result);
    TF_DeleteTensor(fed);
  }
  kit_close(session);
  TF_DeleteGraph(graph);
}

// Shapes lie with the host, and what has no elements lies nowhere.
static void host_arguments_and_empty_tensors(void** state) {
  TF_Graph* graph = TF_NewGraph();
  const int64_t two = 2;
  const int32_t sizes[] = {3, 2};
  TF_Operation* dims = kit_const(graph, "dims", kit_tensor(TF_INT32, 1, &two, sizes, 8));
  TF_Operation* x = kit_placeholder(graph, "x", TF_FLOAT);
  TF_Operation* matrix = on(graph, "/device:NPU:0", "Reshape", "matrix", x, dims);
  TF_Operation* shape = on(graph, "/device:NPU:0", "Shape", "shape", matrix, NULL);
  TF_Operation* ones =
      on(graph, "/device:NPU:0", "Fill", "ones", shape, kit_const_float(graph, "one", 1));
  TF_OperationDescription* desc = TF_NewOperation(graph, "MatMul", "product");
  TF_SetDevice(desc, "/device:NPU:0");
  TF_SetAttrBool(desc, "transpose_a", 1);
  TF_AddInput(desc, kit_out(matrix, 0));
  TF_AddInput(desc, kit_out(ones, 0));
  TF_Operation* product = kit_finish(desc);
  TF_Operation* y = kit_placeholder(graph, "y", TF_FLOAT);
  TF_Operation* relu = on(graph, "/device:NPU:0", "Relu", "relu", y, NULL);
  TF_Session* session = open_session(graph, "");
  TF_Tensor* fed = kit_floats(6, (const float[]){1, 2, 3, 4, 5, 6});
  TF_Tensor* result = run(session, x, fed, product);
  kit_ok(status);
  expect_floats(result, 4, (const float[]){9, 9, 12, 12});
  TF_DeleteTensor(result);
  TF_DeleteTensor(fed);
  fed = kit_floats(0, NULL);
  result = run(session, y, fed, relu);
  kit_ok(status);
  expect_floats(result, 0, NULL);
  TF_DeleteTensor(result);
  TF_DeleteTensor(fed);
  kit_close(session);
  TF_DeleteGraph(graph);
}

// A node that asks for the device must have a kernel there, unless the session may place it
// elsewhere; one that asks for nothing lies where it has a kernel.
static void placement(void** state) {
  TF_Graph* graph = TF_NewGraph();
  TF_Operation* x = kit_placeholder(graph, "x", TF_FLOAT);
  TF_Operation* free = kit_unary(graph, "Exp", "free", x);
  TF_Operation* asked = on(graph, "/device:NPU:1", "Exp", "asked", free, NULL);
  TF_Session* session = open_session(graph, "");
  TF_Tensor* fed = kit_floats(1, (const float[]){0});
  assert_null(run(session, x, fed, asked));
  kit_expect_text(status, TF_INVALID_ARGUMENT, "asked");
  kit_close(session);
  session = open_session(graph, "allow_soft_placement: true");
  TF_Tensor* result = run(session, x, fed, asked);
  kit_ok(status);
  assert_true(kit_float_of(result) > 2.718f && kit_float_of(result) < 2.719f);
  TF_DeleteTensor(result);
  TF_DeleteTensor(fed);
  kit_close(session);
  TF_DeleteGraph(graph);
}

// What was read before an update stays, though the update works in place where it may.
static void variables(void** state) {
  TF_Graph* graph = TF_NewGraph();
  const char* device = "/device:NPU:0";
  TF_Operation* v = handle(graph, "v", device);
  TF_Operation* first = kit_const_float(graph, "first", 10);
  TF_Operation* assign = on(graph, device, "AssignVariableOp", "assign", v, first);
  TF_Operation* before = read_of(graph, "before", v, NULL);
  TF_Operation* square = on(graph, device, "Square", "square", before, NULL);
  TF_OperationDescription* desc = TF_NewOperation(graph, "AssignSubVariableOp", "update");
  TF_SetDevice(desc, device);
  TF_AddInput(desc, kit_out(v, 0));
  TF_AddInput(desc, kit_out(kit_const_float(graph, "three", 3), 0));
  TF_AddControlInput(desc, square);
  TF_Operation* update = kit_finish(desc);
  TF_Operation* after = read_of(graph, "after", v, update);
  TF_Session* session = open_session(graph, "");
  TF_Output fetches[] = {kit_out(before, 0), kit_out(square, 0), kit_out(after, 0)};
  TF_Tensor* values[3] = {NULL};
  TF_SessionRun(session, NULL, NULL, NULL, 0, fetches, values, 3, NULL, 0, NULL, status);
  kit_expect_text(status, TF_FAILED_PRECONDITION, "Could not find variable v");
  run_target(session, assign);
  kit_ok(status);
  for (float wanted = 10; wanted > -50; wanted -= 3) {
    TF_SessionRun(session, NULL, NULL, NULL, 0, fetches, values, 3, NULL, 0, NULL, status);
    kit_ok(status);
    assert_true(kit_float_of(values[0]) == wanted);
    assert_true(kit_float_of(values[1]) == wanted * wanted);
    assert_true(kit_float_of(values[2]) == wanted - 3);
    for (int i = 0; i < 3; ++i) TF_DeleteTensor(values[i]);
  }
  kit_close(session);
  TF_DeleteGraph(graph);
}

// A step ends when the copies of what was fed have, also where it has no kernel of the device's:
// the client may then write into its tensor.
static void feeds_belong_to_the_client_again(void** state) {
  enum { COUNT = 1 << 20 };
  TF_Graph* graph = TF_NewGraph();
  const char* device = "/device:NPU:0";
  TF_Operation* x = kit_placeholder(graph, "x", TF_INT64);
  TF_OperationDescription* desc = TF_NewOperation(graph, "VarHandleOp", "v");
  TF_SetAttrType(desc, "dtype", TF_INT64);
  TF_SetAttrShape(desc, "shape", NULL, -1);
  TF_SetDevice(desc, device);
  TF_Operation* v = kit_finish(desc);
  // Of integers the plug-in has no kernel, so that the library's own assigns.
  TF_Operation* assign = on(graph, device, "AssignVariableOp", "assign", v, x);
  desc = TF_NewOperation(graph, "ReadVariableOp", "read");
  TF_AddInput(desc, kit_out(v, 0));
  TF_SetAttrType(desc, "dtype", TF_INT64);
  TF_Operation* read = kit_finish(desc);
  TF_Session* session = open_session(graph, "");
  const int64_t count = COUNT;
  TF_Tensor* fed = TF_AllocateTensor(TF_INT64, &count, 1, COUNT * sizeof(int64_t));
  int64_t* values = TF_TensorData(fed);
  for (int step = 0; step < 10; ++step) {
    for (int i = 0; i < COUNT; ++i) values[i] = step;
    TF_Output input = kit_out(x, 0), output = kit_out(read, 0);
    const TF_Operation* target = assign;
    TF_SessionRun(session, NULL, &input, &fed, 1, NULL, NULL, 0, &target, 1, NULL, status);
    kit_ok(status);
    for (int i = 0; i < COUNT; ++i) values[i] = -1;
    TF_Tensor* result = NULL;
    TF_SessionRun(session, NULL, NULL, NULL, 0, &output, &result, 1, NULL, 0, NULL, status);
    kit_ok(status);
    const int64_t* got = TF_TensorData(result);
    for (int i = 0; i < COUNT; ++i) assert_int_equal(got[i], step);
    TF_DeleteTensor(result);
  }
  TF_DeleteTensor(fed);
  kit_close(session);
  TF_DeleteGraph(graph);
}

typedef struct client_t {
  TF_Session* session;
  TF_Operation *x, *y;
  int number, wrong;
} client_t;

enum { CLIENTS = 4, CLIENT_STEPS = 25, CLIENT_VALUES = 1000 };

static void* run_steps(void* data) {
  client_t* client = data;
  TF_Status* own = TF_NewStatus();
  for (int step = 0; step < CLIENT_STEPS; ++step) {
    const float value = (float)(1 + client->number * CLIENT_STEPS + step);
    float values[CLIENT_VALUES];
    for (int i = 0; i < CLIENT_VALUES; ++i) values[i] = value;
    TF_Tensor *fed = kit_floats(CLIENT_VALUES, values), *result = NULL;
    TF_Output input = kit_out(client->x, 0), output = kit_out(client->y, 0);
    TF_SessionRun(client->session, NULL, &input, &fed, 1, &output, &result, 1, NULL, 0, NULL, own);
    const float* got = result ? TF_TensorData(result) : NULL;
    client->wrong += !got;
    for (int i = 0; got && i < CLIENT_VALUES; ++i) client->wrong += got[i] != 2 * value * value;
    TF_DeleteTensor(result);
    TF_DeleteTensor(fed);
  }
  TF_DeleteStatus(own);
  return NULL;
}

// A block goes to another step while a kernel of the last one has yet to read it: what is copied
// into it must wait.
static void steps_side_by_side(void** state) {
  TF_Graph* graph = TF_NewGraph();
  TF_Operation* x = kit_placeholder(graph, "x", TF_FLOAT);
  TF_Operation* square = on(graph, "/device:NPU:0", "Square", "square", x, NULL);
  TF_Operation* y = on(graph, "/device:NPU:0", "AddV2", "y", square, square);
  TF_Session* session = open_session(graph, "");
  client_t clients[CLIENTS];
  pthread_t threads[CLIENTS];
  setenv("NPU_SLOW", "1", 1);
  for (int i = 0; i < CLIENTS; ++i) {
    clients[i] = (client_t){session, x, y, i, 0};
    assert_int_equal(pthread_create(&threads[i], NULL, run_steps, &clients[i]), 0);
  }
  for (int i = 0; i < CLIENTS; ++i) {
    pthread_join(threads[i], NULL);
    assert_int_equal(clients[i].wrong, 0);
  }
  unsetenv("NPU_SLOW");
  kit_close(session);
  TF_DeleteGraph(graph);
}

// What no step uses is the plug-in's again, where it asked for that; what its host memory is for
// stays.
static void memory_goes_back(void** state) {
  TF_Graph* graph = TF_NewGraph();
  TF_Operation* x = kit_placeholder(graph, "x", TF_FLOAT);
  TF_Operation* y = on(graph, "/device:NPU:0", "Square", "y", x, NULL);
  TF_Session* session = open_session(graph, "");
  const int before = count_objects();
  for (int step = 0; step < 3; ++step) {
    TF_Tensor* fed = kit_floats(2, (const float[]){2, 3});
    TF_DeleteTensor(run(session, x, fed, y));
    kit_ok(status);
    TF_DeleteTensor(fed);
    // The host's block of the result; with those of x and y, unless they are given back.
    assert_int_equal(count_objects() - before, getenv("NPU_PLAIN") ? 1 : 3);
    // Just the tensor's where none is kept, since such a plug-in's kernels look at a block's size.
    assert_int_equal(last_bytes(), getenv("NPU_PLAIN") ? 2 * sizeof(float) : 256);
  }
  kit_close(session);
  TF_DeleteGraph(graph);
}

// Counts to ten on the device: control flow passes values of the device's on.
static void loops(void** state) {
  TF_Graph* graph = TF_NewGraph();
  TF_Operation* x = kit_placeholder(graph, "x", TF_FLOAT);
  TF_Operation* start = on(graph, "/device:NPU:0", "Square", "start", x, NULL);
  TF_Output inputs[] = {kit_out(kit_const_int32(graph, "zero", 0), 0), kit_out(start, 0)};
  TF_WhileParams params = TF_NewWhile(graph, inputs, 2, status);
  kit_ok(status);
  TF_Operation* limit = kit_const_int32(params.cond_graph, "limit", 10);
  TF_OperationDescription* desc = TF_NewOperation(params.cond_graph, "Less", "less");
  TF_AddInput(desc, params.cond_inputs[0]);
  TF_AddInput(desc, kit_out(limit, 0));
  params.cond_output = kit_out(kit_finish(desc), 0);
  TF_Operation* one = kit_const_int32(params.body_graph, "one", 1);
  desc = TF_NewOperation(params.body_graph, "Add", "next");
  TF_AddInput(desc, params.body_inputs[0]);
  TF_AddInput(desc, kit_out(one, 0));
  params.body_outputs[0] = kit_out(kit_finish(desc), 0);
  desc = TF_NewOperation(params.body_graph, "AddV2", "twice");
  TF_SetDevice(desc, "/device:NPU:0");
  TF_AddInput(desc, params.body_inputs[1]);
  TF_AddInput(desc, params.body_inputs[1]);
  params.body_outputs[1] = kit_out(kit_finish(desc), 0);
  params.name = "loop";
  TF_Output outputs[2];
  TF_FinishWhile(&params, status, outputs);
  kit_ok(status);
  TF_Session* session = open_session(graph, "");
  TF_Tensor* fed = kit_floats(2, (const float[]){1, 2});
  TF_Tensor* result = run(session, x, fed, outputs[1].oper);
  kit_ok(status);
  expect_floats(result, 2, (const float[]){1024, 4096});
  TF_DeleteTensor(result);
  TF_DeleteTensor(fed);
  kit_close(session);
  TF_DeleteGraph(graph);
}

// ---- Failures -----------------------------------------------------------------------------------

static void failures_are_statuses(void** state) {
  static const struct {
    const char* function;
    TF_Code code;
    const char* message;
  } kCases[] = {
      {"memcpy_htod", TF_RESOURCE_EXHAUSTED, "memcpy_htod"},
      {"memcpy_dtoh", TF_RESOURCE_EXHAUSTED, "memcpy_dtoh"},
      {"record_event", TF_RESOURCE_EXHAUSTED, "record_event"},
      {"create_event", TF_RESOURCE_EXHAUSTED, "create_event"},
      {"create_stream_dependency", TF_RESOURCE_EXHAUSTED, "create_stream_dependency"},
      {"block_host_for_event", TF_RESOURCE_EXHAUSTED, "block_host_for_event"},
      {"copy", TF_INTERNAL, "the accelerator lost a copy"},
      {"event", TF_INTERNAL, "its event has status"},
      {"allocate", TF_RESOURCE_EXHAUSTED, "device NPU:0 has no such memory"},
  };
  TF_Graph* graph = TF_NewGraph();
  TF_Operation* x = kit_placeholder(graph, "x", TF_FLOAT);
  TF_Operation* y = on(graph, "/device:NPU:0", "Square", "y", x, NULL);
  for (size_t i = 0; i < sizeof kCases / sizeof *kCases; ++i) {
    TF_Session* session = open_session(graph, "");
    TF_Tensor* fed = kit_floats(2, (const float[]){2, 3});
    setenv("NPU_FAIL", kCases[i].function, 1);
    assert_null(run(session, x, fed, y));
    kit_expect_text(status, kCases[i].code, kCases[i].message);
    unsetenv("NPU_FAIL");
    TF_Tensor* result = run(session, x, fed, y);
    kit_ok(status);
    expect_floats(result, 2, (const float[]){4, 9});
    TF_DeleteTensor(result);
    TF_DeleteTensor(fed);
    kit_close(session);
  }
  // A copy for which nobody waits fails the step too.
  TF_Session* session = open_session(graph, "");
  TF_Tensor* fed = kit_floats(2, (const float[]){2, 3});
  const TF_Operation* target = y;
  const TF_Output input = kit_out(x, 0);
  for (int i = 0; i < 2; ++i) {
    if (i == 0) setenv("NPU_FAIL", "copy", 1);
    TF_SessionRun(session, NULL, &input, &fed, 1, NULL, NULL, 0, &target, 1, NULL, status);
    unsetenv("NPU_FAIL");
    if (i == 0) kit_expect_text(status, TF_INTERNAL, "the accelerator lost a copy");
  }
  kit_ok(status);
  TF_DeleteTensor(fed);
  kit_close(session);
  static const char* const kOpening[] = {"create_stream", "get_device_count"};
  for (int i = 0; i < 2; ++i) {
    setenv("NPU_FAIL", kOpening[i], 1);
    assert_null(open_session(graph, ""));
    kit_expect_text(status, TF_RESOURCE_EXHAUSTED, kOpening[i]);
    unsetenv("NPU_FAIL");
  }
  TF_DeleteGraph(graph);
}

// ---- Traces -------------------------------------------------------------------------------------

// The profiler's lines are devices of their own.
static void trace_step(void) {
  static const uint8_t kFullTrace[] = {0x08, 0x03};
  TF_Graph* graph = TF_NewGraph();
  TF_Operation* x = kit_placeholder(graph, "x", TF_FLOAT);
  TF_Operation* y = on(graph, "/device:NPU:0", "Square", "y", x, NULL);
  TF_Session* session = open_session(graph, "");
  TF_Tensor *fed = kit_floats(1, (const float[]){2}), *result = NULL;
  TF_Output input = kit_out(x, 0), output = kit_out(y, 0);
  TF_Buffer *options = TF_NewBufferFromString(kFullTrace, sizeof kFullTrace),
            *metadata = TF_NewBuffer();
  TF_SessionRun(session, options, &input, &fed, 1, &output, &result, 1, NULL, 0, metadata, status);
  kit_ok(status);
  TF_Buffer* text = leat_message_to_text("RunMetadata", metadata, status);
  kit_ok(status);
  char* all = calloc(1, text->length + 1);
  memcpy(all, text->data, text->length);
  assert_non_null(strstr(all, "device: \"" TASK "NPU:0\""));
  const char* line = strstr(all, "device: \"/device:NPU:simulated accelerator/kernels\"");
  assert_non_null(line);
  assert_non_null(strstr(line, "node_name: \"Square\""));
  free(all);
  TF_DeleteBuffer(text);
  TF_DeleteBuffer(metadata);
  TF_DeleteBuffer(options);
  TF_DeleteTensor(result);
  TF_DeleteTensor(fed);
  kit_close(session);
  TF_DeleteGraph(graph);
}

// Kernels are measured by the device's timers, and by the host's clock where it has none.
static void traces(void** state) {
  trace_step();
  setenv("NPU_FAIL", "timer", 1);
  trace_step();
  unsetenv("NPU_FAIL");
}

// The last test, since CMocka's status does not tell of what fails in a group's tear_down.
static void all_was_given_back(void** state) { assert_int_equal(count_objects(), 0); }

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(devices_are_listed),
      cmocka_unit_test(wrong_lists_of_devices),
      cmocka_unit_test(memory_is_limited),
      cmocka_unit_test(values_cross_devices),
      cmocka_unit_test(host_arguments_and_empty_tensors),
      cmocka_unit_test(placement),
      cmocka_unit_test(variables),
      cmocka_unit_test(feeds_belong_to_the_client_again),
      cmocka_unit_test(steps_side_by_side),
      cmocka_unit_test(memory_goes_back),
      cmocka_unit_test(loops),
      cmocka_unit_test(failures_are_statuses),
      cmocka_unit_test(traces),
      cmocka_unit_test(all_was_given_back),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
