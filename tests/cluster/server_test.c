// Two servers in one process, from the outside: what a client of TensorFlow's MasterService sees.
// Sessions over both tasks, failures with their task and node, steps that are cancelled or whose
// task goes away, and bytes that are no message. Nothing may hang: every wait here has an end, and
// a server must always be able to stop. What peers ask of a worker is in worker_by_hand_test.c.
#include <malloc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/thread.h"
#include "cluster/cluster_scene.h"
#include "cluster/task.h"

#define MASTER(method) "/tensorflow.MasterService/" method
#define WORKER(method) "/tensorflow.WorkerService/" method

// ---- Graphs -------------------------------------------------------------------------------------

// x is fed; y = -x on the ps, z = x y on the worker.
static void build_product(cluster_scene_t* cluster) {
  const leat_output_t x = scene_placeholder(&cluster->scene, "x", LEAT_DTYPE_FLOAT);
  const leat_output_t y =
      cluster_op(cluster, CLUSTER_PS, "Neg", "y", LEAT_INPUTS(x), LEAT_NO_ATTRS);
  cluster_op(cluster, CLUSTER_WORKER, "Mul", "z", LEAT_INPUTS(x, y), LEAT_NO_ATTRS);
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

// A port of 0 is a free one, which the target tells.
static void a_server_takes_a_free_port(void** state) {
  static const char kServer[] = "\x0a\x18\x0a\x16\x0a\x05local\x12\x0d\x12\x0blocalhost:0"
                                "\x12\x05local\x2a\x04grpc";
  TF_Status* status = TF_NewStatus();
  TF_Server* server = TF_NewServer(kServer, sizeof kServer - 1, status);
  assert_string_equal(TF_Message(status), "");
  TF_ServerStart(server, status);
  assert_string_equal(TF_Message(status), "");
  assert_int_equal(strncmp(TF_ServerTarget(server), "grpc://localhost:", 17), 0);
  assert_true(atoi(TF_ServerTarget(server) + 17) > 0);
  TF_DeleteServer(server);
  TF_DeleteStatus(status);
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
      cluster_op(cluster, CLUSTER_PS, "CheckNumerics", "checked", LEAT_INPUTS(x),
            LEAT_ATTRS(LEAT_STR("message", "not a number")));
  cluster_op(cluster, CLUSTER_WORKER, "Neg", "away", LEAT_INPUTS(checked), LEAT_NO_ATTRS);
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

// TensorFlow's master of a cluster has another code for it than its session of one process.
static void a_dead_fetch_is_internal(void** state) {
  cluster_scene_t* cluster = *state;
  char handle[32];
  const leat_output_t x = scene_placeholder(&cluster->scene, "x", LEAT_DTYPE_FLOAT);
  for (int task = 0; task < CLUSTER_TASKS; ++task) {
    const leat_output_t is_negative =
        cluster_op(cluster, task, "Less", "", LEAT_INPUTS(x, scene_float(&cluster->scene, 0)),
                   LEAT_NO_ATTRS);
    cluster_op(cluster, task, "Switch", task == CLUSTER_PS ? "there" : "here",
               LEAT_INPUTS(x, is_negative), LEAT_NO_ATTRS);
  }
  cluster_session_open(cluster, handle);
  static const char* const kNames[] = {"there", "here"};
  for (int i = 0; i < 2; ++i) {
    assert_true(cluster_step(cluster, handle, kNames[i], NULL, "x", 2, LEAT_OK, "") == 2);
    cluster_step(cluster, handle, kNames[i], NULL, "x", -2, LEAT_INTERNAL, "dead tensor");
  }
  cluster_session_close(cluster, handle);
}

// ---- Steps that end early -----------------------------------------------------------------------

static void a_step_is_cancelled(void** state) {
  cluster_scene_t* cluster = *state;
  char handle[32];
  cluster_build_queue(cluster);
  cluster_session_open(cluster, handle);
  for (int i = 0; i < 3; ++i) {
    cluster_step_t step;
    cluster_start_waiting_step(cluster, handle, &step);
    assert_false(atomic_load(&step.call.end.times));
    leat_rpc_cancel(step.call.call);
    assert_int_equal(cluster_step_end(&step), LEAT_CANCELLED);
    cluster_step_free(&step);
  }
  // No step that was cancelled takes elements for ever. The ps may hear of a cancellation late, so
  // that the step takes one that comes before.
  cluster_step_t step;
  cluster_step_start(cluster, handle, "away", NULL, NULL, 0, &step);
  for (int i = 0; i < 4; ++i) cluster_step(cluster, handle, NULL, "put", "fed", 7, LEAT_OK, "");
  assert_int_equal(cluster_step_end(&step), LEAT_OK);
  cluster_step_free(&step);
  cluster_session_close(cluster, handle);
}

// A call that waits for a fetch of a partial run ends the run on all tasks when it is cancelled.
static void a_partial_run_is_cancelled(void** state) {
  cluster_scene_t* cluster = *state;
  char handle[32];
  leat_string_view_t fetch = LEAT_SV("away:0");
  cluster_build_queue(cluster);
  cluster_session_open(cluster, handle);
  const leat_pb_partial_run_setup_request_t setup = {
      .session_handle = leat_string_view_from(handle), .fetch = {&fetch, 1}};
  leat_pb_partial_run_setup_response_t set;
  cluster_call_t call, step;
  cluster_call_start(cluster, CLUSTER_WORKER, MASTER("PartialRunSetup"),
                     &leat_pb_partial_run_setup_request_descriptor, &setup, &call);
  cluster_call_expect(&call, LEAT_OK, "", &leat_pb_partial_run_setup_response_descriptor, &set);
  const leat_pb_run_step_request_t request = {.session_handle = leat_string_view_from(handle),
                                              .fetch = {&fetch, 1},
                                              .partial_run_handle = set.partial_run_handle};
  _Atomic(uint64_t)* calls = &cluster_task(cluster, CLUSTER_WORKER)->metrics.calls;
  const uint64_t before = atomic_load(calls);
  cluster_call_start(cluster, CLUSTER_WORKER, MASTER("RunStep"),
                     &leat_pb_run_step_request_descriptor, &request, &step);
  cluster_wait_for_count(calls, before + 1);  // what the master never heard of it cannot cancel
  cluster_let_wait();
  leat_rpc_cancel(step.call);
  cluster_call_expect(&step, LEAT_CANCELLED, "", NULL, NULL);
  cluster_wait_for_count(&cluster_task(cluster, CLUSTER_PS)->metrics.runs[LEAT_CANCELLED], 1);
  cluster_call(cluster, CLUSTER_WORKER, MASTER("RunStep"), &leat_pb_run_step_request_descriptor,
               &request, LEAT_INVALID_ARGUMENT, "is not over");
  cluster_call_free(&step);
  cluster_call_free(&call);
  cluster_session_close(cluster, handle);
}

static void a_session_closes_while_steps_run(void** state) {
  enum { kSteps = 4 };
  cluster_scene_t* cluster = *state;
  cluster_step_t steps[kSteps];
  char handle[32];
  cluster_build_queue(cluster);
  cluster_session_open(cluster, handle);
  for (int i = 0; i < kSteps; ++i) {
    cluster_step_start(cluster, handle, i % 2 ? "away" : "taken", NULL, NULL, 0, &steps[i]);
  }
  cluster_let_wait();
  cluster_session_close(cluster, handle);
  for (int i = 0; i < kSteps; ++i) {
    // A step that the master reads only now finds no session.
    const leat_status_code_t code = cluster_step_end(&steps[i]);
    if (code != LEAT_ABORTED) assert_int_equal(code, LEAT_CANCELLED);
    cluster_step_free(&steps[i]);
  }
  cluster_step(cluster, handle, "away", NULL, NULL, 0, LEAT_ABORTED, "is not found");
}

// The server at which the steps were asked for stops.
static void a_master_stops_while_steps_run(void** state) {
  enum { kSteps = 6 };
  cluster_scene_t* cluster = *state;
  cluster_step_t steps[kSteps];
  char handle[32];
  cluster_build_queue(cluster);
  cluster_session_open(cluster, handle);
  for (int i = 0; i < kSteps; ++i) {
    cluster_step_start(cluster, handle, i % 2 ? "away" : "taken", NULL, NULL, 0, &steps[i]);
  }
  cluster_let_wait();
  cluster_stop(cluster, CLUSTER_WORKER);
  for (int i = 0; i < kSteps; ++i) {
    // A step that the master reads only now finds no session.
    const leat_status_code_t code = cluster_step_end(&steps[i]);
    if (code != LEAT_ABORTED) assert_true(code == LEAT_CANCELLED || code == LEAT_UNAVAILABLE);
    cluster_step_free(&steps[i]);
  }
}

// The task that a step waits for stops; other steps of the session go on.
static void a_worker_stops_while_steps_run(void** state) {
  cluster_scene_t* cluster = *state;
  cluster_step_t step;
  char handle[32];
  cluster_build_queue(cluster);
  const leat_output_t x = scene_placeholder(&cluster->scene, "x", LEAT_DTYPE_FLOAT);
  cluster_op(cluster, CLUSTER_WORKER, "Neg", "own", LEAT_INPUTS(x), LEAT_NO_ATTRS);
  cluster_session_open(cluster, handle);
  cluster_start_waiting_step(cluster, handle, &step);
  cluster_stop(cluster, CLUSTER_PS);
  const leat_status_code_t code = cluster_step_end(&step);
  assert_true(code == LEAT_CANCELLED || code == LEAT_UNAVAILABLE);
  // Its connections closed, which no heartbeat had to find out.
  assert_false(cluster_step_says(&step, "heartbeat"));
  cluster_step_free(&step);
  assert_true(cluster_step(cluster, handle, "own", NULL, "x", 4, LEAT_OK, "") == -4);
  cluster_step(cluster, handle, "away", NULL, NULL, 0, LEAT_UNAVAILABLE, "");
  cluster_session_close(cluster, handle);
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
  size_t after = mallinfo2().uordblks;
  // A session with its graph takes above 20 kB. The numbers of steps and requests are remembered,
  // with some dozens of bytes each. What threads of the servers still have to free takes a moment.
  for (int i = 0; after > before + 400000 && i < 6000; ++i) {
    leat_clock_sleep_ns(10000000);
    after = mallinfo2().uordblks;
  }
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
  static const char* const texts[] = {"\xff", "\x0a\x7fx", "\x0b", "\x08",
                                      "\x0a\xff\xff\xff\xff\x7f"};
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
      TEST(a_server_takes_a_free_port),
      TEST(a_step_over_both_tasks),
      TEST(fetches_are_sorted),
      TEST(failures_name_their_task_and_node),
      TEST(a_dead_fetch_is_internal),
      TEST(a_step_is_cancelled),
      TEST(a_partial_run_is_cancelled),
      TEST(a_session_closes_while_steps_run),
      TEST(a_master_stops_while_steps_run),
      TEST(a_worker_stops_while_steps_run),
      TEST(sessions_leave_memory_flat),
      TEST(many_clients),
      TEST(bytes_that_are_no_message),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
