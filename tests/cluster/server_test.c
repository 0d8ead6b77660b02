// Two servers in one process, from the outside: what a client of TensorFlow's MasterService and a
// peer of its WorkerService see. Sessions over both tasks, failures with their task and node,
// steps that are cancelled or whose task goes away, and peers that send what they must not. Nothing
// may hang: every wait here has an end, and a server must always be able to stop.
#include <malloc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/thread.h"
#include "cluster/cluster_scene.h"
#include "graph/import/export.h"

#define MASTER(method) "/tensorflow.MasterService/" method
#define WORKER(method) "/tensorflow.WorkerService/" method

// ---- Graphs -------------------------------------------------------------------------------------

static leat_output_t op_on(cluster_scene_t* cluster, int task, const char* op, const char* name,
                           leat_outputs_t inputs, leat_attrs_t attrs) {
  return scene_output(&cluster->scene, op, name, task ? CLUSTER_PS_CPU : CLUSTER_WORKER_CPU,
                      inputs, attrs);
}

// x is fed; y = -x on the ps, z = x y on the worker.
static void build_product(cluster_scene_t* cluster) {
  const leat_output_t x = scene_placeholder(&cluster->scene, "x", LEAT_DTYPE_FLOAT);
  const leat_output_t y =
      op_on(cluster, CLUSTER_PS, "Neg", "y", LEAT_INPUTS(x), LEAT_NO_ATTRS);
  op_on(cluster, CLUSTER_WORKER, "Mul", "z", LEAT_INPUTS(x, y), LEAT_NO_ATTRS);
}

// An empty queue on the ps, of which "taken" waits for an element and "put" brings it: x.
static void build_queue(cluster_scene_t* cluster) {
  static const int32_t kTypes[] = {LEAT_DTYPE_FLOAT};
  static const leat_partial_shape_t kShapes[] = {{0, NULL}};
  const leat_attr_t types = {
      LEAT_SV("component_types"),
      {.kind = LEAT_ATTR_TYPE, .is_list = true, .count = 1, .types = kTypes}};
  const leat_attr_t queue_types[] = {
      types,
      {LEAT_SV("shapes"),
       {.kind = LEAT_ATTR_SHAPE, .is_list = true, .count = 1, .shapes = kShapes}}};
  const leat_output_t queue = op_on(cluster, CLUSTER_PS, "FIFOQueueV2", "queue", LEAT_NO_INPUTS,
                                    (leat_attrs_t){queue_types, 2});
  const leat_output_t taken = op_on(cluster, CLUSTER_PS, "QueueDequeueV2", "taken",
                                    LEAT_INPUTS(queue), (leat_attrs_t){&types, 1});
  op_on(cluster, CLUSTER_WORKER, "Neg", "away", LEAT_INPUTS(taken), LEAT_NO_ATTRS);
  const leat_output_t x = scene_placeholder(&cluster->scene, "fed", LEAT_DTYPE_FLOAT);
  scene_node(&cluster->scene, "QueueEnqueueV2", "put", CLUSTER_PS_CPU, LEAT_INPUTS(queue, x),
             LEAT_NO_ATTRS);
}

// ---- Servers ------------------------------------------------------------------------------------

static void expect_no_server(cluster_scene_t* cluster, const void* bytes, size_t size,
                             TF_Code code) {
  TF_Server* server = TF_NewServer(bytes, size, cluster->status);
  assert_int_equal(TF_GetCode(cluster->status), code);
  assert_null(server);
}

static void bad_servers(void** state) {
  cluster_scene_t* cluster = *state;
  static const struct {
    const char* job;
    int index;
    const char* protocol;
    TF_Code code;
  } kCases[] = {
      {"worker", 1, "grpc", TF_INVALID_ARGUMENT},
      {"worker", -1, "grpc", TF_INVALID_ARGUMENT},
      {"chief", 0, "grpc", TF_INVALID_ARGUMENT},
      {"", 0, "grpc", TF_INVALID_ARGUMENT},
      {"worker", 0, "grpc+verbs", TF_UNIMPLEMENTED},
  };
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kCases); ++i) {
    leat_string_builder_t bytes;
    leat_string_builder_initialize(leat_allocator_system(), &bytes);
    cluster_scene_describe(cluster, kCases[i].job, kCases[i].index, kCases[i].protocol, &bytes);
    expect_no_server(cluster, bytes.data, bytes.size, kCases[i].code);
    leat_string_builder_deinitialize(&bytes);
  }
  expect_no_server(cluster, "", 0, TF_INVALID_ARGUMENT);
  expect_no_server(cluster, "\x0a\xff", 2, TF_INVALID_ARGUMENT);
  TF_DeleteServer(NULL);
}

static void servers_start_once_and_stop_for_good(void** state) {
  cluster_scene_t* cluster = *state;
  leat_string_builder_t bytes;
  char target[64];
  snprintf(target, sizeof target, "grpc://%s", cluster->addresses[CLUSTER_PS]);
  assert_string_equal(TF_ServerTarget(cluster->servers[CLUSTER_PS]), target);
  TF_ServerStart(cluster->servers[CLUSTER_PS], cluster->status);
  assert_int_equal(TF_GetCode(cluster->status), TF_OK);
  // Another server for the same port, which is taken.
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  cluster_scene_describe(cluster, "ps", 0, "grpc", &bytes);
  TF_Server* other = TF_NewServer(bytes.data, bytes.size, cluster->status);
  leat_string_builder_deinitialize(&bytes);
  TF_ServerStart(other, cluster->status);
  assert_int_equal(TF_GetCode(cluster->status), TF_UNAVAILABLE);
  TF_DeleteServer(other);
  TF_ServerStop(cluster->servers[CLUSTER_PS], cluster->status);
  TF_ServerStop(cluster->servers[CLUSTER_PS], cluster->status);
  assert_int_equal(TF_GetCode(cluster->status), TF_OK);
  TF_ServerJoin(cluster->servers[CLUSTER_PS], cluster->status);
  TF_ServerStart(cluster->servers[CLUSTER_PS], cluster->status);
  assert_int_equal(TF_GetCode(cluster->status), TF_FAILED_PRECONDITION);
}

// ---- Steps over both tasks ----------------------------------------------------------------------

static void a_step_over_both_tasks(void** state) {
  cluster_scene_t* cluster = *state;
  char handle[32];
  build_product(cluster);
  cluster_session_open(cluster, handle);
  assert_int_equal(strlen(handle), 16);
  for (int i = 1; i < 20; ++i) {
    const float x = (float)i;
    assert_true(cluster_step(cluster, handle, "z:0", NULL, "x:0", x, LEAT_OK, "") == -x * x);
    assert_true(cluster_step(cluster, handle, "y", NULL, "x", x, LEAT_OK, "") == -x);
  }
  cluster_step(cluster, handle, NULL, "y", "x", 1, LEAT_OK, "");
  cluster_session_close(cluster, handle);
}

// What was fetched is answered once each, and sorted by name.
static void fetches_are_sorted(void** state) {
  cluster_scene_t* cluster = *state;
  char handle[32];
  build_product(cluster);
  cluster_session_open(cluster, handle);
  float three = 3;
  leat_string_view_t fetches[] = {LEAT_SV("z:0"), LEAT_SV("y:0"), LEAT_SV("z:0"), LEAT_SV("y:0")};
  leat_pb_tensor_proto_t proto = {.dtype = LEAT_DTYPE_FLOAT, .float_val = {&three, 1}};
  leat_pb_named_tensor_proto_t fed = {.name = LEAT_SV("x:0"), .tensor = &proto};
  const leat_pb_run_step_request_t request = {.session_handle = leat_string_view_from(handle),
                                              .feed = {&fed, 1},
                                              .fetch = {fetches, 4}};
  leat_pb_run_step_response_t response;
  cluster_call_t call;
  cluster_call_start(cluster, CLUSTER_WORKER, MASTER("RunStep"),
                     &leat_pb_run_step_request_descriptor, &request, &call);
  cluster_call_expect(&call, LEAT_OK, "", &leat_pb_run_step_response_descriptor, &response);
  static const char* const names[] = {"y:0", "z:0"};
  static const float values[] = {-3, -9};
  assert_int_equal(response.tensor.count, 2);
  for (int i = 0; i < 2; ++i) {
    assert_true(leat_string_view_equals(response.tensor.items[i].name, names[i]));
    assert_memory_equal(response.tensor.items[i].tensor->tensor_content.data, &values[i], 4);
  }
  cluster_call_free(&call);
  cluster_session_close(cluster, handle);
}

static void failures_name_their_task_and_node(void** state) {
  cluster_scene_t* cluster = *state;
  char handle[32];
  const leat_output_t x = scene_placeholder(&cluster->scene, "x", LEAT_DTYPE_FLOAT);
  const leat_output_t checked =
      op_on(cluster, CLUSTER_PS, "CheckNumerics", "checked", LEAT_INPUTS(x),
            LEAT_ATTRS(LEAT_STR("message", "not a number")));
  op_on(cluster, CLUSTER_WORKER, "Neg", "away", LEAT_INPUTS(checked), LEAT_NO_ATTRS);
  cluster_session_open(cluster, handle);
  for (int i = 0; i < 10; ++i) {
    cluster_step_t step;
    cluster_step_start(cluster, handle, "away", NULL, "x", (float)NAN, &step);
    assert_int_equal(cluster_step_end(&step), LEAT_INVALID_ARGUMENT);
    assert_true(cluster_step_says(&step, "not a number"));
    assert_true(cluster_step_says(&step, "/job:ps/replica:0/task:0"));
    assert_true(cluster_step_says(&step, "checked"));
    cluster_step_free(&step);
    // The session goes on.
    assert_true(cluster_step(cluster, handle, "away", NULL, "x", 2, LEAT_OK, "") == -2);
  }
  cluster_step(cluster, handle, "nobody", NULL, NULL, 0, LEAT_NOT_FOUND, "nobody");
  cluster_step(cluster, handle, NULL, "nobody", NULL, 0, LEAT_NOT_FOUND, "nobody");
  cluster_step(cluster, handle, "away:1", NULL, NULL, 0, LEAT_INVALID_ARGUMENT, "away");
  cluster_step(cluster, handle, NULL, NULL, NULL, 0, LEAT_INVALID_ARGUMENT, "");
  cluster_step(cluster, "0123456789abcdef", "away", NULL, NULL, 0, LEAT_ABORTED,
               "Session 0123456789abcdef is not found");
  cluster_session_close(cluster, handle);
}

// ---- Steps that end early -----------------------------------------------------------------------

// A moment for the step to reach its queue; nothing depends on it but which path is tested.
static void let_it_wait(void) { leat_clock_sleep_ns(50000000); }

static void expect_within(int64_t begin_ns, int64_t limit_ms) {
  assert_true(leat_clock_now_ns() - begin_ns < limit_ms * 1000000);
}

enum { kShortMs = 5000 };  // on a busy machine; what hangs takes longer

static void a_step_is_cancelled(void** state) {
  cluster_scene_t* cluster = *state;
  char handle[32];
  build_queue(cluster);
  cluster_session_open(cluster, handle);
  for (int i = 0; i < 3; ++i) {
    cluster_step_t step;
    cluster_step_start(cluster, handle, "away", NULL, NULL, 0, &step);
    let_it_wait();
    assert_false(atomic_load(&step.call.end.times));
    const int64_t begin = leat_clock_now_ns();
    leat_rpc_cancel(step.call.call);
    assert_int_equal(cluster_step_end(&step), LEAT_CANCELLED);
    expect_within(begin, kShortMs);
    cluster_step_free(&step);
  }
  // The queue's element was not taken by a step that had been cancelled.
  let_it_wait();
  cluster_step(cluster, handle, NULL, "put", "fed", 7, LEAT_OK, "");
  assert_true(cluster_step(cluster, handle, "away", NULL, NULL, 0, LEAT_OK, "") == -7);
  cluster_session_close(cluster, handle);
}

static void a_session_closes_while_steps_run(void** state) {
  enum { kSteps = 4 };
  cluster_scene_t* cluster = *state;
  cluster_step_t steps[kSteps];
  char handle[32];
  build_queue(cluster);
  cluster_session_open(cluster, handle);
  for (int i = 0; i < kSteps; ++i) {
    cluster_step_start(cluster, handle, i % 2 ? "away" : "taken", NULL, NULL, 0, &steps[i]);
  }
  let_it_wait();
  const int64_t begin = leat_clock_now_ns();
  cluster_session_close(cluster, handle);
  for (int i = 0; i < kSteps; ++i) {
    assert_int_equal(cluster_step_end(&steps[i]), LEAT_CANCELLED);
    cluster_step_free(&steps[i]);
  }
  expect_within(begin, kShortMs);
  cluster_step(cluster, handle, "away", NULL, NULL, 0, LEAT_ABORTED, "is not found");
}

static void stop(cluster_scene_t* cluster, int task) {
  TF_ServerStop(cluster->servers[task], cluster->status);
  assert_int_equal(TF_GetCode(cluster->status), TF_OK);
}

// The server at which the steps were asked for stops.
static void a_master_stops_while_steps_run(void** state) {
  enum { kSteps = 6 };
  cluster_scene_t* cluster = *state;
  cluster_step_t steps[kSteps];
  char handle[32];
  build_queue(cluster);
  cluster_session_open(cluster, handle);
  for (int i = 0; i < kSteps; ++i) {
    cluster_step_start(cluster, handle, i % 2 ? "away" : "taken", NULL, NULL, 0, &steps[i]);
  }
  let_it_wait();
  const int64_t begin = leat_clock_now_ns();
  stop(cluster, CLUSTER_WORKER);
  for (int i = 0; i < kSteps; ++i) {
    const leat_status_code_t code = cluster_step_end(&steps[i]);
    assert_true(code == LEAT_CANCELLED || code == LEAT_UNAVAILABLE);
    cluster_step_free(&steps[i]);
  }
  expect_within(begin, kShortMs);
}

// The task that a step waits for stops; other steps of the session go on.
static void a_worker_stops_while_steps_run(void** state) {
  cluster_scene_t* cluster = *state;
  cluster_step_t step;
  char handle[32];
  build_queue(cluster);
  const leat_output_t x = scene_placeholder(&cluster->scene, "x", LEAT_DTYPE_FLOAT);
  op_on(cluster, CLUSTER_WORKER, "Neg", "own", LEAT_INPUTS(x), LEAT_NO_ATTRS);
  cluster_session_open(cluster, handle);
  cluster_step_start(cluster, handle, "away", NULL, NULL, 0, &step);
  let_it_wait();
  const int64_t begin = leat_clock_now_ns();
  stop(cluster, CLUSTER_PS);
  const leat_status_code_t code = cluster_step_end(&step);
  assert_true(code == LEAT_CANCELLED || code == LEAT_UNAVAILABLE);
  cluster_step_free(&step);
  expect_within(begin, kShortMs);
  assert_true(cluster_step(cluster, handle, "own", NULL, "x", 4, LEAT_OK, "") == -4);
  cluster_step(cluster, handle, "away", NULL, NULL, 0, LEAT_UNAVAILABLE, "");
  cluster_session_close(cluster, handle);
}

// ---- Values -------------------------------------------------------------------------------------

// A key under which the ps sends to the worker.
static void print_key(char key[256], uint64_t incarnation, const char* name) {
  snprintf(key, 256, "%s;%016" PRIx64 ";%s;%s;0:0", CLUSTER_PS_CPU, incarnation,
           CLUSTER_WORKER_CPU, name);
}

static void start_receive(cluster_scene_t* cluster, int64_t step_id, const char* key,
                          int64_t request_id, cluster_call_t* out_call) {
  const leat_pb_recv_tensor_request_t request = {.step_id = step_id,
                                                 .rendezvous_key = leat_string_view_from(key),
                                                 .request_id = request_id};
  cluster_call_start(cluster, CLUSTER_PS, WORKER("RecvTensor"),
                     &leat_pb_recv_tensor_request_descriptor, &request, out_call);
}

static void expect_receive(cluster_scene_t* cluster, int64_t step_id, const char* key,
                           int64_t request_id, leat_status_code_t code, const char* text) {
  cluster_call_t call;
  start_receive(cluster, step_id, key, request_id, &call);
  cluster_call_expect(&call, code, text, NULL, NULL);
  cluster_call_free(&call);
}

static void clean_up(cluster_scene_t* cluster, int64_t step_id) {
  const leat_pb_cleanup_graph_request_t request = {.step_id = step_id};
  cluster_call(cluster, CLUSTER_PS, WORKER("CleanupGraph"),
               &leat_pb_cleanup_graph_request_descriptor, &request, LEAT_OK, "");
}

static void cleanup_ends_who_waits(void** state) {
  cluster_scene_t* cluster = *state;
  cluster_call_t calls[3];
  char key[256];
  print_key(key, cluster_incarnation(cluster, CLUSTER_PS), "t");
  for (int i = 0; i < 3; ++i) start_receive(cluster, 77 + i / 2, key, 100 + i, &calls[i]);
  let_it_wait();
  for (int i = 0; i < 3; ++i) assert_false(atomic_load(&calls[i].end.times));
  const int64_t begin = leat_clock_now_ns();
  clean_up(cluster, 77);
  for (int i = 0; i < 2; ++i) cluster_call_expect(&calls[i], LEAT_ABORTED, "77", NULL, NULL);
  expect_within(begin, kShortMs);
  expect_receive(cluster, 77, key, 200, LEAT_ABORTED, "77");  // one that comes late
  let_it_wait();
  assert_false(atomic_load(&calls[2].end.times));  // of another step
  clean_up(cluster, 77);
  clean_up(cluster, 78);
  cluster_call_expect(&calls[2], LEAT_ABORTED, "78", NULL, NULL);
  for (int i = 0; i < 3; ++i) cluster_call_free(&calls[i]);
}

static void a_receiver_gives_up(void** state) {
  cluster_scene_t* cluster = *state;
  cluster_call_t call;
  char key[256];
  print_key(key, cluster_incarnation(cluster, CLUSTER_PS), "t");
  start_receive(cluster, 5, key, 0, &call);
  let_it_wait();
  leat_rpc_cancel(call.call);
  cluster_call_expect(&call, LEAT_CANCELLED, "", NULL, NULL);
  cluster_call_free(&call);
  // The server stops although the rendezvous still has the reception.
  stop(cluster, CLUSTER_PS);
}

static void bad_keys(void** state) {
  cluster_scene_t* cluster = *state;
  const uint64_t incarnation = cluster_incarnation(cluster, CLUSTER_PS);
  char key[256], bad[512];
  print_key(key, incarnation + 1, "t");
  expect_receive(cluster, 1, key, 0, LEAT_ABORTED, "/job:ps/replica:0/task:0");
  print_key(key, incarnation, "t");
  const size_t size = strlen(CLUSTER_PS_CPU);
  snprintf(bad, sizeof bad, "%s%s", CLUSTER_WORKER_CPU, key + size);
  expect_receive(cluster, 1, bad, 0, LEAT_INVALID_ARGUMENT, "unknown device");
  snprintf(bad, sizeof bad, "/job:ps/replica:0/task:0/device:GPU:0%s", key + size);
  expect_receive(cluster, 1, bad, 0, LEAT_INVALID_ARGUMENT, "unknown device");
  expect_receive(cluster, 1, "", 0, LEAT_INVALID_ARGUMENT, "Invalid  rendezvous key: ");
  expect_receive(cluster, 1, ";;;;", 0, LEAT_INVALID_ARGUMENT, "Invalid  rendezvous key: ;;;;");
  for (size_t cut = 1; cut < strlen(key) - 2; cut += 7) {  // up to before the iteration
    snprintf(bad, sizeof bad, "%.*s", (int)cut, key);
    expect_receive(cluster, 1, bad, 0, LEAT_INVALID_ARGUMENT, "Invalid  rendezvous key: ");
  }
  memcpy(bad, key, sizeof key);
  for (const char* wrong = "gx :-+"; *wrong; ++wrong) {
    for (size_t at = 1; at <= 16; at += 15) {
      memcpy(bad, key, sizeof key);
      bad[size + at] = *wrong;
      expect_receive(cluster, 1, bad, 0, LEAT_INVALID_ARGUMENT, "Invalid  rendezvous key: ");
    }
  }
  snprintf(bad, sizeof bad, "%s;more", key);
  expect_receive(cluster, 1, bad, 0, LEAT_INVALID_ARGUMENT, "Invalid  rendezvous key: ");
}

static bool says_twice(leat_string_view_t text) {
  char copy[512];
  snprintf(copy, sizeof copy, "%.*s", LEAT_SV_ARG(text));
  return strstr(copy, "twice") != NULL;
}

static void requests_come_once(void** state) {
  cluster_scene_t* cluster = *state;
  char key[256], handle[32];
  print_key(key, cluster_incarnation(cluster, CLUSTER_PS) + 1, "t");
  expect_receive(cluster, 1, key, 9, LEAT_ABORTED, "incarnation");
  expect_receive(cluster, 1, key, 9, LEAT_ABORTED, "The same RecvTensor request was received twice");
  expect_receive(cluster, 1, key, -9, LEAT_ABORTED, "incarnation");
  for (int i = 0; i < 3; ++i) expect_receive(cluster, 1, key, 0, LEAT_ABORTED, "incarnation");
  build_product(cluster);
  cluster_session_open(cluster, handle);
  leat_string_view_t target = LEAT_SV("x");
  for (int i = 0; i < 2; ++i) {
    const leat_pb_run_step_request_t request = {.session_handle = leat_string_view_from(handle),
                                                .target = {&target, 1},
                                                .store_errors_in_response_body = true,
                                                .request_id = 1234};
    leat_pb_run_step_response_t response;
    cluster_call_t call;
    cluster_call_start(cluster, CLUSTER_WORKER, MASTER("RunStep"),
                       &leat_pb_run_step_request_descriptor, &request, &call);
    cluster_call_expect(&call, LEAT_OK, "", &leat_pb_run_step_response_descriptor, &response);
    const bool is_twice = says_twice(response.status_error_message);
    assert_int_equal(is_twice, i);
    cluster_call_free(&call);
  }
  cluster_session_close(cluster, handle);
}

// ---- RunGraph by hand ---------------------------------------------------------------------------

// A session of the ps alone, with a graph that receives "a" from the worker and sends it, negated,
// back as "b".
typedef struct by_hand_s {
  cluster_scene_t* cluster;
  char graph[32];
  char a[256], b[256];
} by_hand_t;

static const char kSession[] = "by hand";

static void open_by_hand(cluster_scene_t* cluster, by_hand_t* out_hand) {
  *out_hand = (by_hand_t){.cluster = cluster};
  const uint64_t to = cluster_incarnation(cluster, CLUSTER_PS);
  snprintf(out_hand->a, sizeof out_hand->a, "%s;%016" PRIx64 ";%s;a;0:0", CLUSTER_PS_CPU, to,
           CLUSTER_PS_CPU);
  snprintf(out_hand->b, sizeof out_hand->b, "%s;%016" PRIx64 ";%s;b;0:0", CLUSTER_PS_CPU, to,
           CLUSTER_PS_CPU);
  const leat_output_t a = op_on(
      cluster, CLUSTER_PS, "_Recv", "recv", LEAT_NO_INPUTS,
      LEAT_ATTRS(LEAT_TYPE("tensor_type", LEAT_DTYPE_FLOAT), LEAT_STR("tensor_name", "a"),
                 LEAT_STR("send_device", CLUSTER_PS_CPU), LEAT_STR("recv_device", CLUSTER_PS_CPU),
                 LEAT_INT("send_device_incarnation", (int64_t)to)));
  const leat_output_t b =
      op_on(cluster, CLUSTER_PS, "Neg", "neg", LEAT_INPUTS(a), LEAT_NO_ATTRS);
  scene_node(&cluster->scene, "_Send", "send", CLUSTER_PS_CPU, LEAT_INPUTS(b),
             LEAT_ATTRS(LEAT_TYPE("T", LEAT_DTYPE_FLOAT), LEAT_STR("tensor_name", "b"),
                        LEAT_STR("send_device", CLUSTER_PS_CPU),
                        LEAT_STR("recv_device", CLUSTER_PS_CPU),
                        LEAT_INT("send_device_incarnation", (int64_t)to)));
  const leat_pb_create_worker_session_request_t create = {.session_handle = LEAT_SV("by hand")};
  cluster_call(cluster, CLUSTER_PS, WORKER("CreateWorkerSession"),
               &leat_pb_create_worker_session_request_descriptor, &create, LEAT_OK, "");
  leat_string_builder_t graph;
  leat_string_builder_initialize(leat_allocator_system(), &graph);
  LEAT_EXPECT_OK(leat_graph_export(cluster->scene.graph, &graph));
  const leat_pb_register_graph_request_t request = {
      .session_handle = leat_string_view_from(kSession),
      .graph_def = leat_string_builder_view(&graph)};
  leat_pb_register_graph_response_t response;
  cluster_call_t call;
  cluster_call_start(cluster, CLUSTER_PS, WORKER("RegisterGraph"),
                     &leat_pb_register_graph_request_descriptor, &request, &call);
  cluster_call_expect(&call, LEAT_OK, "", &leat_pb_register_graph_response_descriptor, &response);
  snprintf(out_hand->graph, sizeof out_hand->graph, "%.*s", LEAT_SV_ARG(response.graph_handle));
  cluster_call_free(&call);
  leat_string_builder_deinitialize(&graph);
}

typedef enum { WHOLE, EARLY, LAST } part_t;

// Begins a RunGraph that sends |sent| under "a", unless it is 0, and asks for |keys|.
static void start_graph(by_hand_t* hand, int64_t step_id, part_t part, float sent,
                        const char* const* keys, cluster_call_t* out_call) {
  leat_string_view_t asked[4];
  size_t count = 0;
  for (; keys && keys[count]; ++count) asked[count] = leat_string_view_from(keys[count]);
  leat_pb_tensor_proto_t proto = {.dtype = LEAT_DTYPE_FLOAT, .float_val = {&sent, 1}};
  leat_pb_named_tensor_proto_t value = {.name = leat_string_view_from(hand->a), .tensor = &proto};
  const leat_pb_run_graph_request_t request = {.session_handle = leat_string_view_from(kSession),
                                               .graph_handle = leat_string_view_from(hand->graph),
                                               .step_id = step_id,
                                               .send = {&value, sent != 0},
                                               .recv_key = {asked, count},
                                               .is_partial = part != WHOLE,
                                               .is_last_partial_run = part == LAST};
  cluster_call_start(hand->cluster, CLUSTER_PS, WORKER("RunGraph"),
                     &leat_pb_run_graph_request_descriptor, &request, out_call);
}

static void expect_minus(cluster_call_t* call, float sent) {
  leat_pb_run_graph_response_t response;
  const float expected = -sent;
  cluster_call_expect(call, LEAT_OK, "", &leat_pb_run_graph_response_descriptor, &response);
  assert_int_equal(response.recv.count, 1);
  assert_int_equal(response.recv.items[0].tensor->tensor_content.size, 4);
  assert_memory_equal(response.recv.items[0].tensor->tensor_content.data, &expected, 4);
  cluster_call_free(call);
}

static void a_graph_runs_by_hand(void** state) {
  by_hand_t hand;
  cluster_call_t call;
  open_by_hand(*state, &hand);
  const char* const b[] = {hand.b, NULL};
  start_graph(&hand, 1, WHOLE, 5, b, &call);
  expect_minus(&call, 5);
  clean_up(*state, 1);
  // In two parts: the first one starts the graph, the last one brings and takes.
  start_graph(&hand, 2, EARLY, 0, NULL, &call);
  cluster_call_expect(&call, LEAT_OK, "", NULL, NULL);
  cluster_call_free(&call);
  start_graph(&hand, 2, LAST, 6, b, &call);
  expect_minus(&call, 6);
  clean_up(*state, 2);
  start_graph(&hand, 2, WHOLE, 7, b, &call);  // the step is over
  cluster_call_expect(&call, LEAT_ABORTED, "", NULL, NULL);
  cluster_call_free(&call);
  snprintf(hand.graph, sizeof hand.graph, "no such graph");
  start_graph(&hand, 3, WHOLE, 7, b, &call);
  cluster_call_expect(&call, LEAT_ABORTED, "Graph handle is not found: no such graph", NULL, NULL);
  cluster_call_free(&call);
}

// The number of a frame is part of the key, and the same on all machines: these two were seen
// between TensorFlow's own tasks.
static void frames_have_the_numbers_of_tensorflow(void** state) {
  static const struct {
    const char *frame, *number;
  } kCases[] = {{"while", "6315961604705615773"},
                {"while/while_context", "18186195969791715286"}};
  cluster_scene_t* cluster = *state;
  by_hand_t hand;
  char keys[4][256];
  const char* asked[5] = {0};
  for (int i = 0; i < 2; ++i) {
    const leat_output_t in = op_on(
        cluster, CLUSTER_PS, "Enter", i ? "enter_1" : "enter_0",
        LEAT_INPUTS(leat_build_scalar(&cluster->scene.b, LEAT_DTYPE_FLOAT, 3 + i)),
        LEAT_ATTRS(LEAT_STRING("frame_name", leat_string_view_from(kCases[i].frame))));
    const leat_output_t next = op_on(cluster, CLUSTER_PS, "NextIteration", i ? "next_1" : "next_0",
                                     LEAT_INPUTS(in), LEAT_NO_ATTRS);
    for (int k = 0; k < 2; ++k) {
      char name[16];
      snprintf(name, sizeof name, "sent_%d_%d", i, k);
      scene_node(&cluster->scene, "_Send", name, CLUSTER_PS_CPU, LEAT_INPUTS(k ? next : in),
                 LEAT_ATTRS(LEAT_TYPE("T", LEAT_DTYPE_FLOAT), LEAT_STR("tensor_name", "f"),
                            LEAT_STR("send_device", CLUSTER_PS_CPU),
                            LEAT_STR("recv_device", CLUSTER_PS_CPU),
                            LEAT_INT("send_device_incarnation", 17)));
      snprintf(keys[2 * i + k], sizeof *keys, "%s;0000000000000011;%s;f;%s:%d", CLUSTER_PS_CPU,
               CLUSTER_PS_CPU, kCases[i].number, k);
      asked[2 * i + k] = keys[2 * i + k];
    }
  }
  for (size_t i = 0; i < cluster->scene.graph->node_count; ++i) {
    cluster->scene.graph->nodes[i].device = LEAT_SV(CLUSTER_PS_CPU);
  }
  open_by_hand(cluster, &hand);
  cluster_call_t call;
  leat_pb_run_graph_response_t response;
  start_graph(&hand, 1, WHOLE, 1, asked, &call);
  cluster_call_expect(&call, LEAT_OK, "", &leat_pb_run_graph_response_descriptor, &response);
  for (int i = 0; i < 4; ++i) {
    const float expected = (float)(3 + i / 2);
    assert_memory_equal(response.recv.items[i].tensor->tensor_content.data, &expected, 4);
  }
  cluster_call_free(&call);
}

// A key that is malformed fails the call at once, though others that are not wait for values.
static void bad_keys_of_a_graph(void** state) {
  by_hand_t hand;
  cluster_call_t call;
  open_by_hand(*state, &hand);
  const char* const keys[] = {hand.b, "bad", NULL};
  const int64_t begin = leat_clock_now_ns();
  start_graph(&hand, 1, WHOLE, 0, keys, &call);
  cluster_call_expect(&call, LEAT_INVALID_ARGUMENT, "Invalid  rendezvous key: bad", NULL, NULL);
  cluster_call_free(&call);
  expect_within(begin, kShortMs);
  // An early part that fails leaves no run behind for which the last part would wait.
  start_graph(&hand, 2, EARLY, 0, keys + 1, &call);
  cluster_call_expect(&call, LEAT_INVALID_ARGUMENT, "Invalid  rendezvous key: bad", NULL, NULL);
  cluster_call_free(&call);
  const char* const b[] = {hand.b, NULL};
  start_graph(&hand, 2, LAST, 6, b, &call);
  expect_minus(&call, 6);
}

// Each call of a step is answered when a server stops, also where a peer says "the last part" twice.
static void two_last_parts(void** state) {
  by_hand_t hand;
  cluster_call_t calls[3];
  open_by_hand(*state, &hand);
  start_graph(&hand, 1, EARLY, 0, NULL, &calls[0]);
  cluster_call_expect(&calls[0], LEAT_OK, "", NULL, NULL);
  start_graph(&hand, 1, LAST, 0, NULL, &calls[1]);
  let_it_wait();
  start_graph(&hand, 1, LAST, 0, NULL, &calls[2]);
  let_it_wait();
  const int64_t begin = leat_clock_now_ns();
  clean_up(*state, 1);
  for (int i = 1; i < 3; ++i) {
    rpc_end_wait(&calls[i].end);
    assert_int_not_equal(calls[i].end.code, LEAT_OK);
  }
  expect_within(begin, kShortMs);
  for (int i = 0; i < 3; ++i) cluster_call_free(&calls[i]);
}

// A worker's session goes while its graph runs, and then its task.
static void a_worker_session_goes_while_it_runs(void** state) {
  by_hand_t hand;
  cluster_call_t calls[2];
  open_by_hand(*state, &hand);
  start_graph(&hand, 1, WHOLE, 0, NULL, &calls[0]);
  start_graph(&hand, 2, EARLY, 0, NULL, &calls[1]);
  cluster_call_expect(&calls[1], LEAT_OK, "", NULL, NULL);
  let_it_wait();
  const leat_pb_delete_worker_session_request_t request = {
      .session_handle = leat_string_view_from(kSession)};
  for (int i = 0; i < 2; ++i) {
    cluster_call(*state, CLUSTER_PS, WORKER("DeleteWorkerSession"),
                 &leat_pb_delete_worker_session_request_descriptor, &request, LEAT_OK, "");
  }
  cluster_call_expect(&calls[0], LEAT_CANCELLED, "", NULL, NULL);
  for (int i = 0; i < 2; ++i) cluster_call_free(&calls[i]);
  start_graph(&hand, 3, WHOLE, 1, NULL, &calls[0]);
  cluster_call_expect(&calls[0], LEAT_ABORTED, "Session handle is not found: by hand", NULL, NULL);
  cluster_call_free(&calls[0]);
}

// Runs of which nobody waits for the end are under way when the server goes.
static void abandoned_parts_end_with_their_server(void** state) {
  by_hand_t hand;
  cluster_call_t call;
  open_by_hand(*state, &hand);
  for (int i = 1; i <= 20; ++i) {
    start_graph(&hand, i, EARLY, 0, NULL, &call);
    cluster_call_expect(&call, LEAT_OK, "", NULL, NULL);
    cluster_call_free(&call);
  }
  stop(*state, CLUSTER_PS);
}

// ---- Many ---------------------------------------------------------------------------------------

static void session_cycle(cluster_scene_t* cluster) {
  char handle[32];
  cluster_session_open(cluster, handle);
  assert_true(cluster_step(cluster, handle, "z", NULL, "x", 3, LEAT_OK, "") == -9);
  cluster_session_close(cluster, handle);
}

// Sessions leave nothing behind: neither their graphs nor steps, channels or requests.
static void sessions_leave_memory_flat(void** state) {
  cluster_scene_t* cluster = *state;
  build_product(cluster);
  for (int i = 0; i < 50; ++i) session_cycle(cluster);
  const size_t before = mallinfo2().uordblks;
  for (int i = 0; i < 200; ++i) session_cycle(cluster);
  const size_t after = mallinfo2().uordblks;
  // A session with its graph takes above 20 kB. The numbers of steps and requests are remembered,
  // with some dozens of bytes each.
  if (after > before + 400000) print_error("grew by %zu bytes\n", after - before);
  assert_true(after <= before + 400000);
}

typedef struct client_s {
  cluster_scene_t* cluster;
  int number;
  int wrong;
} client_t;

// Every third client opens a session of its own for each run; the others share one.
static void run_client(void* data) {
  client_t* client = data;
  char handle[32];
  cluster_session_open(client->cluster, handle);
  for (int i = 0; i < 30; ++i) {
    cluster_step_t step;
    cluster_step_start(client->cluster, handle, "z", NULL, "x", (float)i, &step);
    if (i % 5 == client->number % 5) leat_rpc_cancel(step.call.call);
    const leat_status_code_t code = cluster_step_end(&step);
    if (code != LEAT_OK && code != LEAT_CANCELLED) ++client->wrong;
    if (code == LEAT_CANCELLED && i % 5 != client->number % 5) ++client->wrong;
    cluster_step_free(&step);
    if (client->number % 3 == 0 && i % 10 == 9) {
      cluster_session_close(client->cluster, handle);
      cluster_session_open(client->cluster, handle);
    }
  }
  cluster_session_close(client->cluster, handle);
}

static void many_clients(void** state) {
  enum { kClients = 6 };
  client_t clients[kClients];
  leat_thread_t threads[kClients];
  build_product(*state);
  for (int i = 0; i < kClients; ++i) {
    clients[i] = (client_t){*state, i, 0};
    LEAT_EXPECT_OK(leat_thread_start("client", run_client, &clients[i], &threads[i]));
  }
  for (int i = 0; i < kClients; ++i) leat_thread_join(threads[i]);
  for (int i = 0; i < kClients; ++i) assert_int_equal(clients[i].wrong, 0);
}

// ---- Bytes --------------------------------------------------------------------------------------

static void bytes_that_are_no_message(void** state) {
  cluster_scene_t* cluster = *state;
  static const char* const methods[] = {
      MASTER("CreateSession"),       MASTER("ExtendSession"),   MASTER("CloseSession"),
      MASTER("RunStep"),             MASTER("PartialRunSetup"), MASTER("MakeCallable"),
      MASTER("RunCallable"),         MASTER("ReleaseCallable"), MASTER("ListDevices"),
      MASTER("Reset"),               WORKER("RegisterGraph"),   WORKER("DeregisterGraph"),
      WORKER("CreateWorkerSession"), WORKER("RunGraph"),        WORKER("CleanupGraph"),
      WORKER("DeleteWorkerSession"), WORKER("RecvTensor"),      WORKER("CleanupAll"),
  };
  static const char* const texts[] = {"\xff", "\x0a\x7fx", "\x0b", "\x08", "\x0a\xff\xff\xff\xff\x7f"};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(methods); ++i) {
    for (size_t k = 0; k < LEAT_ARRAY_SIZE(texts); ++k) {
      rpc_scene_t caller = {.channel = cluster->channels[k % 2]};
      rpc_end_t end;
      rpc_scene_call(&caller, methods[i], texts[k], strlen(texts[k]), &end);
      if (end.code != LEAT_INTERNAL) print_error("%s %zu: %s\n", methods[i], k, end.message);
      assert_int_equal(end.code, LEAT_INTERNAL);
      assert_true(strstr(end.message, "Unable to parse request"));
      rpc_end_free(&end);
    }
  }
  static const char* const unknown[] = {MASTER("Nothing"), WORKER("RunStep"), MASTER("RunGraph"),
                                        MASTER(""), "/tensorflow.Other/RunStep", "/"};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(unknown); ++i) {
    cluster_call(cluster, CLUSTER_PS, unknown[i], NULL, NULL, LEAT_UNIMPLEMENTED, "");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) \
  cmocka_unit_test_setup_teardown(name, cluster_scene_set_up, cluster_scene_tear_down)
      TEST(bad_servers),
      TEST(servers_start_once_and_stop_for_good),
      TEST(a_step_over_both_tasks),
      TEST(fetches_are_sorted),
      TEST(failures_name_their_task_and_node),
      TEST(a_step_is_cancelled),
      TEST(a_session_closes_while_steps_run),
      TEST(a_master_stops_while_steps_run),
      TEST(a_worker_stops_while_steps_run),
      TEST(cleanup_ends_who_waits),
      TEST(a_receiver_gives_up),
      TEST(bad_keys),
      TEST(requests_come_once),
      TEST(a_graph_runs_by_hand),
      TEST(frames_have_the_numbers_of_tensorflow),
      TEST(bad_keys_of_a_graph),
      TEST(two_last_parts),
      TEST(a_worker_session_goes_while_it_runs),
      TEST(abandoned_parts_end_with_their_server),
      TEST(sessions_leave_memory_flat),
      TEST(many_clients),
      TEST(bytes_that_are_no_message),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
