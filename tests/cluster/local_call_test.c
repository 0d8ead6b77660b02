// Calls to a server of the calling process: they are served without a network where the target is
// the server's own to the letter, many at a time, and those under way end with the server. What a
// session does by them is tested in client_test.c.
#include <string.h>

#include "base/thread.h"
#include "cluster/cluster_scene.h"
#include "cluster/task.h"
#include "tensorflow/c/c_api.h"

typedef struct client_s {
  TF_Status* status;
  TF_Graph* graph;
  TF_Session* session;
  TF_Output x, y;  // y = -x, on the worker
} client_t;

static client_t open_client(const cluster_scene_t* cluster, bool by_network) {
  client_t client = {.status = TF_NewStatus(), .graph = TF_NewGraph()};
  char target[64];
  cluster_scene_target(cluster, CLUSTER_WORKER, by_network, target);
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_SetTarget(options, target);
  TF_OperationDescription* x = TF_NewOperation(client.graph, "Placeholder", "x");
  TF_SetAttrType(x, "dtype", TF_FLOAT);
  client.x = (TF_Output){TF_FinishOperation(x, client.status), 0};
  TF_OperationDescription* y = TF_NewOperation(client.graph, "Neg", "y");
  TF_SetDevice(y, CLUSTER_WORKER_CPU);
  TF_AddInput(y, client.x);
  client.y = (TF_Output){TF_FinishOperation(y, client.status), 0};
  client.session = TF_NewSession(client.graph, options, client.status);
  assert_string_equal(TF_Message(client.status), "");
  TF_DeleteSessionOptions(options);
  return client;
}

static void close_client(client_t* client) {
  TF_DeleteSession(client->session, client->status);
  TF_DeleteGraph(client->graph);
  TF_DeleteStatus(client->status);
}

// Fetches the negative of |count| numbers; where that fails, the client's status says so.
static void negate(client_t* client, int64_t count) {
  TF_Tensor *in = TF_AllocateTensor(TF_FLOAT, &count, 1, (size_t)count * 4), *out = NULL;
  float* x = TF_TensorData(in);
  for (int64_t i = 0; i < count; ++i) x[i] = (float)i;
  TF_SessionRun(client->session, NULL, &client->x, &in, 1, &client->y, &out, 1, NULL, 0, NULL,
                client->status);
  for (int64_t i = 0; out && i < count; ++i) {
    assert_true(((const float*)TF_TensorData(out))[i] == -(float)i);
  }
  TF_DeleteTensor(in);
  TF_DeleteTensor(out);
}

// The master counts a call either way, and only one that came by the network has bytes.
static void a_target_decides_the_way(void** state) {
  cluster_scene_t* cluster = *state;
  leat_task_metrics_t* metrics = &cluster_task(cluster, CLUSTER_WORKER)->metrics;
  for (int by_network = 0; by_network < 2; ++by_network) {
    client_t client = open_client(cluster, by_network);
    const uint64_t calls = atomic_load(&metrics->calls);
    const uint64_t bytes = atomic_load(&metrics->request_bytes);
    negate(&client, 1000);
    assert_string_equal(TF_Message(client.status), "");
    assert_int_equal(atomic_load(&metrics->calls), calls + 2);  // the graph, and the step
    if (by_network) assert_true(atomic_load(&metrics->request_bytes) > bytes + 4000);
    if (!by_network) assert_int_equal(atomic_load(&metrics->request_bytes), bytes);
    close_client(&client);
  }
}

static void run_until_it_fails(void* data) {
  client_t* client = data;
  do negate(client, 100); while (TF_GetCode(client->status) == TF_OK);
}

// The server stops while four threads call it. Each hears that the step was cancelled, or that
// nobody serves any more; and so do later ones.
static void calls_end_with_the_server(void** state) {
  enum { CLIENTS = 4 };
  cluster_scene_t* cluster = *state;
  client_t clients[CLIENTS];
  leat_thread_t threads[CLIENTS];
  for (int i = 0; i < CLIENTS; ++i) {
    clients[i] = open_client(cluster, false);
    LEAT_EXPECT_OK(leat_thread_start("client", run_until_it_fails, &clients[i], &threads[i]));
  }
  cluster_wait_for_count(&cluster_task(cluster, CLUSTER_WORKER)->metrics.calls, 1000);
  cluster_stop(cluster, CLUSTER_WORKER);
  for (int i = 0; i < CLIENTS; ++i) {
    leat_thread_join(threads[i]);
    const TF_Code code = TF_GetCode(clients[i].status);
    if (code != TF_CANCELLED && code != TF_ABORTED && code != TF_UNAVAILABLE) {
      fail_msg("code %d: %s", code, TF_Message(clients[i].status));
    }
    negate(&clients[i], 1);
    assert_int_equal(TF_GetCode(clients[i].status), TF_UNAVAILABLE);
    close_client(&clients[i]);
  }
}

// A step over the ps alone is a RunGraph there. Where it leaves something in the step's container,
// a CleanupGraph follows.
static void a_step_is_one_call(void** state) {
  enum { STEPS = 20 };
  cluster_scene_t* cluster = *state;
  client_t client = open_client(cluster, false);
  _Atomic(uint64_t)* calls = &cluster_task(cluster, CLUSTER_PS)->metrics.calls;
  for (int keeps_state = 0; keeps_state < 2; ++keeps_state) {
    const char* op = keeps_state ? "Stack" : "NoOp";
    TF_OperationDescription* node = TF_NewOperation(client.graph, op, op);
    TF_SetDevice(node, CLUSTER_PS_CPU);
    if (keeps_state) TF_SetAttrType(node, "elem_type", TF_FLOAT);
    const TF_Operation* target = TF_FinishOperation(node, client.status);
    uint64_t before = 0;
    for (int i = 0; i <= STEPS; ++i) {
      if (i == 1) before = atomic_load(calls);  // the first step registers the graph
      TF_SessionRun(client.session, NULL, NULL, NULL, 0, NULL, NULL, 0, &target, 1, NULL,
                    client.status);
      assert_string_equal(TF_Message(client.status), "");
    }
    if (keeps_state) {
      cluster_wait_for_count(calls, before + 2 * STEPS);
    } else {
      assert_int_equal(atomic_load(calls), before + STEPS);
    }
  }
  close_client(&client);
}

// One that takes its place does not know the session, as where another process takes it.
static void a_new_server_knows_no_session(void** state) {
  cluster_scene_t* cluster = *state;
  client_t client = open_client(cluster, false);
  negate(&client, 10);
  assert_string_equal(TF_Message(client.status), "");
  cluster_restart(cluster, CLUSTER_WORKER);
  negate(&client, 10);
  assert_int_equal(TF_GetCode(client.status), TF_ABORTED);
  close_client(&client);
}

// Without heartbeats in between, which are calls too.
static int set_up(void** state) {
  return cluster_scene_set_up_with(state, &(cluster_options_t){.heartbeat_timeout_ms = 1200000});
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, cluster_scene_tear_down)
  const struct CMUnitTest tests[] = {
      TEST(a_target_decides_the_way),
      TEST(calls_end_with_the_server),
      TEST(a_step_is_one_call),
      TEST(a_new_server_knows_no_session),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
