// What peers ask of a worker, sent by hand: values under keys good and bad, requests that come
// twice, graphs that run whole or in parts, and steps and sessions that end while somebody waits.
// Masters and other workers are not always ours, and may be wrong; each call must be answered, and
// the server must be able to stop. The messages are built with the generated structs and go over
// gRPC to a server in this process (cluster_scene.h). Numbers of frames, which are part of a key,
// were recorded between TensorFlow's own tasks, because both ends of a transfer must compute the
// same one.
#include <string.h>

#include "base/clock.h"
#include "cluster/cluster_scene.h"
#include "cluster/worker_session.h"
#include "graph/import/export.h"

#define MASTER(method) "/tensorflow.MasterService/" method
#define WORKER(method) "/tensorflow.WorkerService/" method

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
  cluster_let_wait();
  for (int i = 0; i < 3; ++i) assert_false(atomic_load(&calls[i].end.times));
  clean_up(cluster, 77);
  for (int i = 0; i < 2; ++i) cluster_call_expect(&calls[i], LEAT_ABORTED, "77", NULL, NULL);
  expect_receive(cluster, 77, key, 200, LEAT_ABORTED, "77");  // one that comes late
  cluster_let_wait();
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
  cluster_let_wait();
  leat_rpc_cancel(call.call);
  cluster_call_expect(&call, LEAT_CANCELLED, "", NULL, NULL);
  cluster_call_free(&call);
  // The server stops although the rendezvous still has the reception.
  cluster_stop(cluster, CLUSTER_PS);
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
  expect_receive(cluster, 1, key, 9, LEAT_ABORTED,
                 "The same RecvTensor request was received twice");
  expect_receive(cluster, 1, key, -9, LEAT_ABORTED, "incarnation");
  for (int i = 0; i < 3; ++i) expect_receive(cluster, 1, key, 0, LEAT_ABORTED, "incarnation");
  scene_placeholder(&cluster->scene, "x", LEAT_DTYPE_FLOAT);
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

// A session of the ps alone, with a graph that receives "a" and sends it, negated, as "b".
typedef struct by_hand_s {
  cluster_scene_t* cluster;
  char graph[32];
  char a[256], b[256];
} by_hand_t;

static const char kSession[] = "by hand";

// The value of "a" comes from the device |sender|.
static void open_by_hand(cluster_scene_t* cluster, const char* sender, by_hand_t* out_hand) {
  *out_hand = (by_hand_t){.cluster = cluster};
  const uint64_t to = cluster_incarnation(cluster, CLUSTER_PS);
  snprintf(out_hand->a, sizeof out_hand->a, "%s;%016" PRIx64 ";%s;a;0:0", sender, to,
           CLUSTER_PS_CPU);
  snprintf(out_hand->b, sizeof out_hand->b, "%s;%016" PRIx64 ";%s;b;0:0", CLUSTER_PS_CPU, to,
           CLUSTER_PS_CPU);
  const leat_output_t a = cluster_op(
      cluster, CLUSTER_PS, "_Recv", "recv", LEAT_NO_INPUTS,
      LEAT_ATTRS(LEAT_TYPE("tensor_type", LEAT_DTYPE_FLOAT), LEAT_STR("tensor_name", "a"),
                 LEAT_STRING("send_device", leat_string_view_from(sender)),
                 LEAT_STR("recv_device", CLUSTER_PS_CPU),
                 LEAT_INT("send_device_incarnation", (int64_t)to)));
  const leat_output_t b =
      cluster_op(cluster, CLUSTER_PS, "Neg", "neg", LEAT_INPUTS(a), LEAT_NO_ATTRS);
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

typedef enum { WHOLE, EARLY, LAST, WHOLE_STEP } portion_t;

// Begins a RunGraph that sends |sent| under "a", unless it is 0, and asks for |keys|.
static void start_graph(by_hand_t* hand, int64_t step_id, portion_t part, float sent,
                        const char* const* keys, cluster_call_t* out_call) {
  leat_string_view_t asked[8];
  size_t count = 0;
  for (; keys && keys[count]; ++count) asked[count] = leat_string_view_from(keys[count]);
  leat_pb_tensor_proto_t proto = {.dtype = LEAT_DTYPE_FLOAT, .float_val = {&sent, 1}};
  leat_pb_named_tensor_proto_t value = {.name = leat_string_view_from(hand->a), .tensor = &proto};
  const leat_pb_run_graph_request_t request = {.session_handle = leat_string_view_from(kSession),
                                               .graph_handle = leat_string_view_from(hand->graph),
                                               .step_id = step_id,
                                               .send = {&value, sent != 0},
                                               .recv_key = {asked, count},
                                               .is_partial = part == EARLY || part == LAST,
                                               .may_end_step = part == WHOLE_STEP,
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
  open_by_hand(*state, CLUSTER_PS_CPU, &hand);
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

// A value of a task that the cluster does not have never comes, and is not waited for.
static void an_unknown_sender_is_refused(void** state) {
  by_hand_t hand;
  cluster_call_t call;
  open_by_hand(*state, "/job:nobody/replica:0/task:0/device:CPU:0", &hand);
  const char* const b[] = {hand.b, NULL};
  start_graph(&hand, 1, WHOLE, 0, b, &call);
  cluster_call_expect(&call, LEAT_INVALID_ARGUMENT, "'/job:nobody/replica:0/task:0/device:CPU:0;",
                      NULL, NULL);
  cluster_call_free(&call);
}

static void expect_run(cluster_call_t* call, bool has_ended_step) {
  leat_pb_run_graph_response_t response;
  cluster_call_expect(call, LEAT_OK, "", &leat_pb_run_graph_response_descriptor, &response);
  assert_int_equal(response.has_ended_step, has_ended_step);
  cluster_call_free(call);
}

// With the master's leave the worker ends a step of which nothing is left, and only such a one.
static void a_worker_may_end_a_step(void** state) {
  by_hand_t hand;
  cluster_call_t call;
  leat_rendezvous_table_t* table = cluster_task(*state, CLUSTER_PS)->rendezvous;
  open_by_hand(*state, CLUSTER_PS_CPU, &hand);
  const char* const b[] = {hand.b, NULL};
  start_graph(&hand, 1, WHOLE_STEP, 5, b, &call);
  expect_run(&call, true);
  assert_int_equal(leat_rendezvous_table_count(table), 0);
  expect_receive(*state, 1, hand.b, 0, LEAT_ABORTED, "step 1 was cleaned up");
  start_graph(&hand, 2, WHOLE_STEP, 5, NULL, &call);  // "b" is still to be fetched
  expect_run(&call, false);
  expect_receive(*state, 2, hand.b, 0, LEAT_OK, "");
  clean_up(*state, 2);
  start_graph(&hand, 3, WHOLE, 5, b, &call);
  expect_run(&call, false);
  assert_int_equal(leat_rendezvous_table_count(table), 1);
  clean_up(*state, 3);
}

// A session may end while a graph of its master is being compiled. The graph is refused then: graph
// and session would keep each other for ever.
static void a_graph_comes_when_its_session_has_ended(void** state) {
  by_hand_t hand;
  leat_worker_session_t* session;
  leat_arena_t arena;
  leat_string_builder_t graph;
  leat_string_view_t handle;
  open_by_hand(*state, CLUSTER_PS_CPU, &hand);
  leat_task_t* task = cluster_task(hand.cluster, CLUSTER_PS);
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_string_builder_initialize(leat_allocator_system(), &graph);
  LEAT_EXPECT_OK(leat_graph_export(hand.cluster->scene.graph, &graph));
  const leat_pb_register_graph_request_t request = {.graph_def = leat_string_builder_view(&graph)};
  LEAT_EXPECT_OK(
      leat_worker_session_find(task, leat_string_view_from(kSession), &session));
  LEAT_EXPECT_OK(leat_worker_session_register(session, &request, &arena, &handle));
  leat_worker_session_delete(task, leat_string_view_from(kSession), "a test");
  scene_expect(leat_worker_session_register(session, &request, &arena, &handle), LEAT_ABORTED,
               "Session handle is not found: by hand");
  leat_worker_session_release(session);
  leat_string_builder_deinitialize(&graph);
  leat_arena_deinitialize(&arena);
}

static void send_frame(cluster_scene_t* cluster, int number, leat_output_t value) {
  char name[16];
  snprintf(name, sizeof name, "sent_%d", number);
  scene_node(&cluster->scene, "_Send", name, CLUSTER_PS_CPU, LEAT_INPUTS(value),
             LEAT_ATTRS(LEAT_TYPE("T", LEAT_DTYPE_FLOAT), LEAT_STR("tensor_name", "f"),
                        LEAT_STR("send_device", CLUSTER_PS_CPU),
                        LEAT_STR("recv_device", CLUSTER_PS_CPU),
                        LEAT_INT("send_device_incarnation", 17)));
}

static leat_output_t enter(cluster_scene_t* cluster, const char* name, const char* frame,
                           leat_output_t x) {
  return cluster_op(cluster, CLUSTER_PS, "Enter", name, LEAT_INPUTS(x),
                    LEAT_ATTRS(LEAT_STRING("frame_name", leat_string_view_from(frame))));
}

// The number of a frame is part of the key, and the same on all machines. Those of the two at the
// top were seen between TensorFlow's own tasks; that of the frame in iteration 1 of "while" was
// computed apart from the code, by the formula that gave these two.
static void frames_have_the_numbers_of_tensorflow(void** state) {
  static const struct {
    const char* place;
    float value;
  } kSent[] = {{"6315961604705615773:0", 3},
               {"6315961604705615773:1", 3},
               {"18186195969791715286:0", 4},
               {"6493770606648448784:0", 3}};
  enum { kCount = LEAT_ARRAY_SIZE(kSent) };
  cluster_scene_t* cluster = *state;
  leat_builder_t* b = &cluster->scene.b;
  b->device = LEAT_SV(CLUSTER_PS_CPU);
  const leat_output_t three = leat_build_scalar(b, LEAT_DTYPE_FLOAT, 3);
  const leat_output_t four = leat_build_scalar(b, LEAT_DTYPE_FLOAT, 4);
  const leat_output_t in = enter(cluster, "enter", "while", three);
  const leat_output_t next =
      cluster_op(cluster, CLUSTER_PS, "NextIteration", "next", LEAT_INPUTS(in), LEAT_NO_ATTRS);
  send_frame(cluster, 0, in);
  send_frame(cluster, 1, next);
  send_frame(cluster, 2, enter(cluster, "enter_2", "while/while_context", four));
  send_frame(cluster, 3, enter(cluster, "enter_3", "inner", next));
  by_hand_t hand;
  char keys[kCount][256];
  const char* asked[kCount + 1] = {0};
  for (int i = 0; i < kCount; ++i) {
    snprintf(keys[i], sizeof keys[i], "%s;0000000000000011;%s;f;%s", CLUSTER_PS_CPU,
             CLUSTER_PS_CPU, kSent[i].place);
    asked[i] = keys[i];
  }
  open_by_hand(cluster, CLUSTER_PS_CPU, &hand);
  cluster_call_t call;
  leat_pb_run_graph_response_t response;
  start_graph(&hand, 1, WHOLE, 1, asked, &call);
  cluster_call_expect(&call, LEAT_OK, "", &leat_pb_run_graph_response_descriptor, &response);
  assert_int_equal(response.recv.count, kCount);
  for (int i = 0; i < kCount; ++i) {
    assert_memory_equal(response.recv.items[i].tensor->tensor_content.data, &kSent[i].value, 4);
  }
  cluster_call_free(&call);
}

// A key that is malformed fails the call at once, though others that are not wait for values.
static void bad_keys_of_a_graph(void** state) {
  by_hand_t hand;
  cluster_call_t call;
  open_by_hand(*state, CLUSTER_PS_CPU, &hand);
  const char* const keys[] = {hand.b, "bad", NULL};
  start_graph(&hand, 1, WHOLE, 0, keys, &call);
  cluster_call_expect(&call, LEAT_INVALID_ARGUMENT, "Invalid  rendezvous key: bad", NULL, NULL);
  cluster_call_free(&call);
  // An early part that fails leaves no run behind for which the last part would wait.
  start_graph(&hand, 2, EARLY, 0, keys + 1, &call);
  cluster_call_expect(&call, LEAT_INVALID_ARGUMENT, "Invalid  rendezvous key: bad", NULL, NULL);
  cluster_call_free(&call);
  const char* const b[] = {hand.b, NULL};
  start_graph(&hand, 2, LAST, 6, b, &call);
  expect_minus(&call, 6);
}

// Each call of a step is answered when the step ends, also where two of them are the last part.
static void two_last_parts(void** state) {
  by_hand_t hand;
  cluster_call_t calls[3];
  open_by_hand(*state, CLUSTER_PS_CPU, &hand);
  start_graph(&hand, 1, EARLY, 0, NULL, &calls[0]);
  cluster_call_expect(&calls[0], LEAT_OK, "", NULL, NULL);
  start_graph(&hand, 1, LAST, 0, NULL, &calls[1]);
  cluster_let_wait();
  start_graph(&hand, 1, LAST, 0, NULL, &calls[2]);
  cluster_let_wait();
  clean_up(*state, 1);
  for (int i = 1; i < 3; ++i) {
    rpc_end_wait(&calls[i].end);
    assert_int_not_equal(calls[i].end.code, LEAT_OK);
  }
  for (int i = 0; i < 3; ++i) cluster_call_free(&calls[i]);
}

// Until receivers of |count| steps wait at the ps.
static void wait_for_steps(cluster_scene_t* cluster, size_t count) {
  const int64_t begin_ns = leat_clock_now_ns();
  while (leat_rendezvous_table_count(cluster_task(cluster, CLUSTER_PS)->rendezvous) < count) {
    cluster_expect_no_hang(begin_ns);
    leat_clock_sleep_ns(1000000);
  }
}

// A worker's session goes while its graph runs, and then its task.
static void a_worker_session_goes_while_it_runs(void** state) {
  by_hand_t hand;
  cluster_call_t calls[2];
  open_by_hand(*state, CLUSTER_PS_CPU, &hand);
  start_graph(&hand, 1, WHOLE, 0, NULL, &calls[0]);
  start_graph(&hand, 2, EARLY, 0, NULL, &calls[1]);
  cluster_call_expect(&calls[1], LEAT_OK, "", NULL, NULL);
  wait_for_steps(*state, 2);
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
  open_by_hand(*state, CLUSTER_PS_CPU, &hand);
  for (int i = 1; i <= 20; ++i) {
    start_graph(&hand, i, EARLY, 0, NULL, &call);
    cluster_call_expect(&call, LEAT_OK, "", NULL, NULL);
    cluster_call_free(&call);
  }
  cluster_stop(*state, CLUSTER_PS);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) \
  cmocka_unit_test_setup_teardown(name, cluster_scene_set_up, cluster_scene_tear_down)
      TEST(cleanup_ends_who_waits),
      TEST(a_receiver_gives_up),
      TEST(bad_keys),
      TEST(requests_come_once),
      TEST(a_graph_runs_by_hand),
      TEST(an_unknown_sender_is_refused),
      TEST(a_worker_may_end_a_step),
      TEST(a_graph_comes_when_its_session_has_ended),
      TEST(frames_have_the_numbers_of_tensorflow),
      TEST(bad_keys_of_a_graph),
      TEST(two_last_parts),
      TEST(a_worker_session_goes_while_it_runs),
      TEST(abandoned_parts_end_with_their_server),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
