// Clusters whose tasks were started with the protocol grpc+ucx: values and the calls of steps go by
// UCX where both tasks have it, values are those that gRPC would have brought, and steps end as the
// page on clusters promises.
// The worker is in this process, with the client; the ps is a `leat server`. The worker's figures
// tell which way values came.
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/fingerprint.h"
#include "cluster/cluster_scene.h"
#include "cluster/plane_message.h"
#include "cluster/task.h"
#include "readable_memory.h"
#include "tensorflow/c/c_api.h"

#define STEPS 1000
#define LEAST_READ 16384  // floats: as many are read from the sender's memory at least

typedef struct client_s {
  cluster_scene_t* cluster;
  TF_Status* status;
  TF_Graph* graph;
  TF_SessionOptions* options;
  TF_Session* session;
  TF_Output x, y;         // y = x x, on the ps
  TF_Output sum, ps_sum;  // x + y, on the worker and on the ps: a collective of the two
  const TF_Operation* nothing;  // on the ps
  const TF_Operation* wait;     // on the ps: waits for an element of an empty queue
} client_t;

static client_t client;

static void expect(TF_Code code, const char* part) {
  if (TF_GetCode(client.status) != code || !strstr(TF_Message(client.status), part)) {
    print_error("code %d: %s\n", TF_GetCode(client.status), TF_Message(client.status));
  }
  assert_int_equal(TF_GetCode(client.status), code);
  assert_non_null(strstr(TF_Message(client.status), part));
}

static TF_Output add(const char* op, const char* name, const char* device, TF_Output* input) {
  TF_OperationDescription* description = TF_NewOperation(client.graph, op, name);
  TF_SetDevice(description, device);
  if (input) TF_AddInput(description, *input);
  if (!input) TF_SetAttrType(description, "dtype", TF_FLOAT);
  TF_Operation* operation = TF_FinishOperation(description, client.status);
  expect(TF_OK, "");
  return (TF_Output){operation, 0};
}

static TF_Operation* add_nothing(const char* name, const char* device) {
  TF_OperationDescription* description = TF_NewOperation(client.graph, "NoOp", name);
  TF_SetDevice(description, device);
  TF_Operation* operation = TF_FinishOperation(description, client.status);
  expect(TF_OK, "");
  return operation;
}

static TF_Operation* add_wait(void) {
  const TF_DataType type = TF_FLOAT;
  TF_OperationDescription* queue = TF_NewOperation(client.graph, "FIFOQueueV2", "queue");
  TF_SetDevice(queue, CLUSTER_PS_CPU);
  TF_SetAttrTypeList(queue, "component_types", &type, 1);
  const TF_Output handle = {TF_FinishOperation(queue, client.status), 0};
  expect(TF_OK, "");
  TF_OperationDescription* description = TF_NewOperation(client.graph, "QueueDequeueV2", "wait");
  TF_SetDevice(description, CLUSTER_PS_CPU);
  TF_AddInput(description, handle);
  TF_SetAttrTypeList(description, "component_types", &type, 1);
  TF_Operation* operation = TF_FinishOperation(description, client.status);
  expect(TF_OK, "");
  return operation;
}

// |device|'s sum of |x| over the members of a group of two.
static TF_Output add_sum(const char* name, const char* device, TF_Output x) {
  static const struct {
    const char* name;
    int64_t value;
  } kNumbers[] = {{"group_size", 2}, {"group_key", 1}, {"instance_key", 1}};
  TF_OperationDescription* description = TF_NewOperation(client.graph, "CollectiveReduce", name);
  TF_SetDevice(description, device);
  TF_AddInput(description, x);
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kNumbers); ++i) {
    TF_SetAttrInt(description, kNumbers[i].name, kNumbers[i].value);
  }
  TF_SetAttrString(description, "merge_op", "Add", 3);
  TF_SetAttrString(description, "final_op", "Id", 2);
  TF_SetAttrIntList(description, "subdiv_offsets", NULL, 0);
  TF_Operation* operation = TF_FinishOperation(description, client.status);
  expect(TF_OK, "");
  return (TF_Output){operation, 0};
}

static void open_client_with(const char* worker_protocol, const char* ps_protocol,
                             int heartbeat_timeout_ms) {
  void* state;
  char target[64];
  const cluster_options_t options = {.heartbeat_timeout_ms = heartbeat_timeout_ms,
                                     .ps_is_a_process = true,
                                     .has_leader = true,
                                     .protocols = {worker_protocol, ps_protocol}};
  client = (client_t){0};
  assert_int_equal(cluster_scene_set_up_with(&state, &options), 0);
  client.cluster = state;
  client.status = TF_NewStatus();
  client.graph = TF_NewGraph();
  client.options = TF_NewSessionOptions();
  cluster_scene_target(client.cluster, CLUSTER_WORKER, false, target);
  TF_SetTarget(client.options, target);
  client.session = TF_NewSession(client.graph, client.options, client.status);
  expect(TF_OK, "");
  client.x = add("Placeholder", "x", CLUSTER_WORKER_CPU, NULL);
  client.y = add("Square", "y", CLUSTER_PS_CPU, &client.x);
  client.nothing = add_nothing("nothing", CLUSTER_PS_CPU);
  client.wait = add_wait();
  client.sum = add_sum("sum", CLUSTER_WORKER_CPU, client.x);
  client.ps_sum = add_sum("ps_sum", CLUSTER_PS_CPU, client.y);
}

static void open_client(const char* worker_protocol, const char* ps_protocol) {
  open_client_with(worker_protocol, ps_protocol, 10000);
}

static void close_client(void) {
  void* state = client.cluster;
  TF_DeleteSession(client.session, client.status);
  TF_DeleteSessionOptions(client.options);
  TF_DeleteGraph(client.graph);
  TF_DeleteStatus(client.status);
  assert_int_equal(cluster_scene_tear_down(&state), 0);
}

// Feeds |count| floats that |seed| makes and fetches their squares: the fingerprint of these, or 0
// where the step failed.
static uint64_t square(uint64_t seed, int64_t count) {
  TF_Tensor *in = TF_AllocateTensor(TF_FLOAT, &count, 1, (size_t)count * 4), *out = NULL;
  uint32_t* bits = TF_TensorData(in);
  uint64_t digest = 0;
  for (int64_t i = 0; i < count; ++i) {
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
    bits[i] = (uint32_t)(seed >> 33);  // any finite or infinite float above 0, or a NaN
  }
  TF_SessionRun(client.session, NULL, &client.x, &in, 1, &client.y, &out, 1, NULL, 0, NULL,
                client.status);
  if (out) {
    assert_int_equal(TF_TensorByteSize(out), (size_t)count * 4);
    digest = leat_fingerprint64(
        leat_string_view_make(TF_TensorData(out), TF_TensorByteSize(out)));
  }
  TF_DeleteTensor(in);
  TF_DeleteTensor(out);
  return digest;
}

static leat_task_metrics_t* figures(void) {
  return &cluster_task(client.cluster, CLUSTER_WORKER)->metrics;
}

static uint64_t count_by_ucx(void) { return atomic_load(&figures()->plane_tensors_received); }
static uint64_t count_by_calls(void) {
  return atomic_load(&figures()->tensors_received) - count_by_ucx();
}

static const leat_plane_t* plane(void) {
  return cluster_task(client.cluster, CLUSTER_WORKER)->plane;
}

static uint64_t count_read(void) { return plane() ? atomic_load(&plane()->read_count) : 0; }
static uint64_t count_calls(void) { return plane() ? atomic_load(&plane()->call_count) : 0; }

// Runs steps until one more value has come by UCX than the |before|.
static void run_until_ucx(uint64_t before) {
  const int64_t begin_ns = leat_clock_now_ns();
  while (count_by_ucx() <= before) {
    square(1, 3);
    expect(TF_OK, "");
    cluster_expect_no_hang(begin_ns);
  }
}

static void wait_for_ucx(void) { run_until_ucx(0); }

// ---- Tests --------------------------------------------------------------------------------------

static void run_steps(const char* protocol, bool reads_memory, uint64_t digests[STEPS]) {
  static const int64_t kCounts[] = {0, 1, 7, 100, 2000, 2048, 2049, 3000, 9000, 20000, 100000};
  open_client(protocol, protocol);
  const bool is_ucx = !strcmp(protocol, "grpc+ucx");
  if (is_ucx) wait_for_ucx();
  const uint64_t before = count_by_ucx();
  uint64_t large = 0;
  for (int step = 0; step < STEPS; ++step) {
    int64_t count = kCounts[step % LEAT_ARRAY_SIZE(kCounts)];
    if (step % 200 == 199) count = 1000000;
    digests[step] = square((uint64_t)step, count);
    expect(TF_OK, "");
    large += count >= LEAST_READ;
  }
  assert_int_equal(count_by_ucx() - before, is_ucx ? STEPS : 0);
  assert_int_equal(count_read(), reads_memory && may_read_children() ? large : 0);
  close_client();
}

// A step fetches one value from the ps, which fetches one from the worker. Large ones are read from
// the other's memory, unless that is switched off.
static void values_are_those_of_grpc(void** state) {
  static uint64_t expected[STEPS], digests[STEPS];
  run_steps("grpc", false, expected);
  for (int reads = 0; reads < 2; ++reads) {
    setenv("LEAT_READ_MEMORY", reads ? "1" : "0", 1);
    run_steps("grpc+ucx", reads, digests);
    unsetenv("LEAT_READ_MEMORY");
    for (int step = 0; step < STEPS; ++step) {
      if (digests[step] != expected[step]) fail_msg("step %d", step);
    }
  }
}

// The ps dies in the middle of a step, and while it waits; when it is back, steps go by UCX again.
static void a_ps_that_dies_ends_the_step(void** state) {
  open_client("grpc+ucx", "grpc+ucx");
  wait_for_ucx();
  for (int round = 0; round < 2; ++round) {
    const int64_t begin_ns = leat_clock_now_ns();
    cluster_kill_ps(client.cluster);
    square(1, 2000000);
    assert_int_equal(TF_GetCode(client.status), TF_UNAVAILABLE);
    cluster_expect_no_hang(begin_ns);
    cluster_start_ps(client.cluster);
    TF_CloseSession(client.session, client.status);
    TF_DeleteSession(client.session, client.status);
    client.session = TF_NewSession(client.graph, client.options, client.status);
    expect(TF_OK, "");
    run_until_ucx(count_by_ucx());
  }
  close_client();
}

static void expect_fallback(const char* worker_protocol, const char* ps_protocol) {
  open_client(worker_protocol, ps_protocol);
  for (int step = 0; step < 50; ++step) {
    assert_true(square(5, 1000) == square(5, 1000));
    expect(TF_OK, "");
  }
  assert_int_equal(count_by_ucx(), 0);
  close_client();
}

// A peer that dies while it writes into UCX's shared memory would stop all others.
static void shared_memory_alone_gets_grpc(void** state) {
  setenv("UCX_TLS", "posix,sysv,cma", 1);
  expect_fallback("grpc+ucx", "grpc+ucx");
  setenv("UCX_TLS", "tcp", 1);
}

static void one_with_grpc_alone_gets_grpc(void** state) {
  expect_fallback("grpc+ucx", "grpc");
  expect_fallback("grpc", "grpc+ucx");
}

// ---- Calls of steps -----------------------------------------------------------------------------

// RunOptions with a timeout, of 60 s and of 50 ms.
static const char kMinute[] = "\x10\xe0\xd4\x03", kMoment[] = "\x10\x32";
static const TF_Buffer kTimed = {kMinute, sizeof kMinute - 1, NULL};
static const TF_Buffer kShort = {kMoment, sizeof kMoment - 1, NULL};

// Runs a step of which nothing but its call goes to the ps, and nothing comes back.
static void run_on_ps(const TF_Operation* target, const TF_Buffer* options) {
  TF_SessionRun(client.session, options, NULL, NULL, 0, NULL, NULL, 0, &target, 1, NULL,
                client.status);
}

// Each of its threads goes on until one of them has seen the signal.
static void stop_ps(void) {
  int state;
  assert_int_equal(kill(client.cluster->process, SIGSTOP), 0);
  assert_int_equal(waitpid(client.cluster->process, &state, WUNTRACED), client.cluster->process);
  assert_true(WIFSTOPPED(state));
}

// Each step is one call, with a deadline or without.
static void steps_are_called_for_by_ucx(void** state) {
  open_client("grpc+ucx", "grpc+ucx");
  wait_for_ucx();
  const uint64_t before = count_calls();
  for (int step = 0; step < STEPS; ++step) {
    run_on_ps(client.nothing, step % 2 ? &kTimed : NULL);
    expect(TF_OK, "");
  }
  assert_int_equal(count_calls() - before, STEPS);
  close_client();
}

// The call ends, and nothing stays in the way of what comes after it.
static void a_deadline_ends_the_step(void** state) {
  open_client("grpc+ucx", "grpc+ucx");
  wait_for_ucx();
  const int64_t begin_ns = leat_clock_now_ns();
  for (int step = 0; step < 5; ++step) {
    run_on_ps(client.wait, &kShort);
    expect(TF_DEADLINE_EXCEEDED, "");
    run_on_ps(client.nothing, NULL);
    expect(TF_OK, "");
  }
  cluster_expect_no_hang(begin_ns);
  close_client();
}

// The call of a step reaches a process that is stopped, and no connection breaks.
static void a_ps_that_falls_silent_ends_the_step(void** state) {
  open_client_with("grpc+ucx", "grpc+ucx", 4000);
  wait_for_ucx();
  run_on_ps(client.nothing, NULL);  // its graph is registered
  expect(TF_OK, "");
  stop_ps();
  const int64_t begin_ns = leat_clock_now_ns();
  const uint64_t before = count_calls();
  run_on_ps(client.nothing, NULL);
  expect(TF_UNAVAILABLE, "is silent");
  assert_int_equal(count_calls() - before, 1);
  cluster_expect_no_hang(begin_ns);
  assert_int_equal(kill(client.cluster->process, SIGCONT), 0);
  close_client();
}

// ---- Collectives --------------------------------------------------------------------------------

// Fetches x + x x, made by both tasks, or, with |is_alone|, by the worker, who waits for the other.
static void sum_up(int64_t count, bool is_alone) {
  TF_Tensor *in = TF_AllocateTensor(TF_FLOAT, &count, 1, (size_t)count * 4), *out[2] = {0};
  const TF_Output fetches[] = {client.sum, client.ps_sum};
  float* x = TF_TensorData(in);
  for (int64_t i = 0; i < count; ++i) x[i] = (float)(i % 1000);
  TF_SessionRun(client.session, &kTimed, &client.x, &in, 1, fetches, out, is_alone ? 1 : 2, NULL,
                0, NULL, client.status);
  for (int k = 0; k < 2 && out[k]; ++k) {
    assert_int_equal(TF_TensorByteSize(out[k]), (size_t)count * 4);
    const float* sum = TF_TensorData(out[k]);
    for (int64_t i = 0; i < count; ++i) {
      const float wanted = (float)(i % 1000) * (float)(i % 1000 + 1);
      if (sum[i] != wanted) fail_msg("element %d is %g, not %g", (int)i, sum[i], wanted);
    }
    TF_DeleteTensor(out[k]);
  }
  TF_DeleteTensor(in);
}

// The chunks of small and large collectives go by UCX as values do.
static void chunks_go_by_ucx(void** state) {
  static const int64_t kCounts[] = {1, 2, 1000, 5000, 40000, 1000000};
  open_client("grpc+ucx", "grpc+ucx");
  wait_for_ucx();
  sum_up(10, false);
  expect(TF_OK, "");
  const uint64_t by_calls = count_by_calls();
  for (int step = 0; step < 60; ++step) {
    const uint64_t before = count_by_ucx();
    sum_up(kCounts[step % LEAT_ARRAY_SIZE(kCounts)], false);
    expect(TF_OK, "");
    assert_true(count_by_ucx() - before >= 2);  // a chunk, and the sum of the ps
  }
  assert_int_equal(count_by_calls(), by_calls);
  close_client();
}

// The worker waits for a chunk alone: no call to the ps is under way that would end.
static void a_member_that_falls_silent_ends_the_step(void** state) {
  open_client_with("grpc+ucx", "grpc+ucx", 4000);
  wait_for_ucx();
  for (int64_t count = 10; count < 1000000; count *= 1000) {
    sum_up(count, false);
    expect(TF_OK, "");
  }
  stop_ps();
  const int64_t begin_ns = leat_clock_now_ns();
  sum_up(10, true);
  expect(TF_UNAVAILABLE, "is silent");
  cluster_expect_no_hang(begin_ns);
  assert_int_equal(kill(client.cluster->process, SIGCONT), 0);
  close_client();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values_are_those_of_grpc),
      cmocka_unit_test(steps_are_called_for_by_ucx),
      cmocka_unit_test(a_deadline_ends_the_step),
      cmocka_unit_test(chunks_go_by_ucx),
      cmocka_unit_test(a_ps_that_dies_ends_the_step),
      cmocka_unit_test(shared_memory_alone_gets_grpc),
      cmocka_unit_test(one_with_grpc_alone_gets_grpc),
      cmocka_unit_test(a_ps_that_falls_silent_ends_the_step),
      cmocka_unit_test(a_member_that_falls_silent_ends_the_step),
  };
  setenv("UCX_TLS", "tcp", 1);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
