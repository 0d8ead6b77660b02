// Makes the two servers, encodes and decodes messages around calls, and waits for their ends. Every
// failure that the test does not ask for fails it. Graphs are built in a scene of the sessions'
// tests, of which only the graph is used: it goes to the master as a GraphDef. A session's steps
// ask for failures in the answer's body, as TensorFlow's clients do, so a step's failure is looked
// for in both places.
#include "cluster/cluster_scene.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/random.h"
#include "capi/server_handle.h"
#include "cluster/security.h"
#include "cluster/task.h"
#include "formats/generated/server.h"
#include "formats/wire/decode.h"
#include "formats/wire/encode.h"
#include "formats/wire/tensor_content.h"
#include "graph/import/export.h"

extern char** environ;

static const char* const kJobs[CLUSTER_TASKS] = {"worker", "ps"};

// ---- The cluster --------------------------------------------------------------------------------

static leat_string_view_t leader_of(const cluster_scene_t* cluster) {
  return leat_string_view_from(cluster->options.has_leader ? "/job:worker/replica:0/task:0" : "");
}

void cluster_scene_describe(const cluster_scene_t* cluster, const char* job, int index,
                            const char* protocol, leat_string_builder_t* out_bytes) {
  leat_pb_job_def_tasks_entry_t entries[CLUSTER_TASKS] = {0};
  leat_pb_job_def_t jobs[CLUSTER_TASKS] = {0};
  for (int i = 0; i < CLUSTER_TASKS; ++i) {
    entries[i].value = leat_string_view_from(cluster->addresses[i]);
    jobs[i] = (leat_pb_job_def_t){.name = leat_string_view_from(kJobs[i]),
                                  .tasks = {&entries[i], 1}};
  }
  leat_pb_cluster_def_t spec = {.job = {jobs, CLUSTER_TASKS}};
  leat_pb_coordination_service_config_t coordination = {
      .heartbeat_timeout_in_ms = cluster->options.heartbeat_timeout_ms};
  leat_pb_config_proto_experimental_t experimental = {
      .coordination_config = &coordination, .collective_group_leader = leader_of(cluster)};
  leat_pb_config_proto_device_count_entry_t cpus = {.key = LEAT_SV("CPU"),
                                                    .value = cluster->options.cpus};
  leat_pb_config_proto_t config = {.device_count = {&cpus, cluster->options.cpus > 0},
                                   .experimental = &experimental};
  leat_pb_leat_server_options_t leat_options = {
      .session_timeout_in_ms = cluster->options.session_timeout_ms,
      .partial_run_timeout_in_ms = cluster->options.partial_run_timeout_ms};
  const leat_pb_server_def_t def = {.cluster = &spec,
                                    .job_name = leat_string_view_from(job),
                                    .task_index = index,
                                    .default_session_config = &config,
                                    .protocol = leat_string_view_from(protocol),
                                    .leat_options = &leat_options};
  LEAT_EXPECT_OK(leat_message_encode(&leat_pb_server_def_descriptor, &def, out_bytes));
}

static const char* protocol_of(const cluster_scene_t* cluster, int task) {
  const char* protocol = cluster->options.protocols[task];
  return protocol ? protocol : "grpc";
}

// The ConfigProto that `leat server` gets, in hexadecimal digits. The caller frees it.
static char* print_config(const cluster_scene_t* cluster) {
  leat_pb_config_proto_experimental_t experimental = {.collective_group_leader =
                                                          leader_of(cluster)};
  const leat_pb_config_proto_t config = {.experimental = &experimental};
  leat_string_builder_t bytes;
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  LEAT_EXPECT_OK(leat_message_encode(&leat_pb_config_proto_descriptor, &config, &bytes));
  char* digits = calloc(2, bytes.size + 1);
  for (size_t i = 0; i < bytes.size; ++i) {
    snprintf(digits + 2 * i, 3, "%02x", (unsigned char)bytes.data[i]);
  }
  leat_string_builder_deinitialize(&bytes);
  return digits;
}

// Starts `leat server` for the ps, which dies with this process, at the latest: one that a failed
// test left would hold CTest's pipe. Whoever calls it waits until it is up.
static void start_process(cluster_scene_t* cluster) {
  char program[512], spec[128], heartbeat[32];
  char* config = print_config(cluster);
  const char* build = getenv("LEAT_BUILD_DIR");
  snprintf(program, sizeof program, "%s/bin/leat", build ? build : ".");
  snprintf(spec, sizeof spec, "worker=%s;ps=%s", cluster->addresses[0], cluster->addresses[1]);
  snprintf(heartbeat, sizeof heartbeat, "%d",
           cluster->options.heartbeat_timeout_ms ? cluster->options.heartbeat_timeout_ms / 2
                                                 : 5000);
  char* const arguments[] = {"setpriv", "--pdeathsig", "KILL", program, "server",
                             "--cluster", spec, "--job", "ps", "--task", "0", "--heartbeat",
                             heartbeat, "--json", "--protocol",
                             (char*)protocol_of(cluster, CLUSTER_PS), "--config", config, NULL};
  posix_spawn_file_actions_t actions;
  assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
  assert_int_equal(
      posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0), 0);
  assert_int_equal(
      posix_spawnp(&cluster->process, arguments[0], &actions, NULL, arguments, environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  free(config);
}

static void open_channel(cluster_scene_t* cluster, int task) {
  LEAT_EXPECT_OK(leat_security_open_channel(leat_string_view_from(cluster->addresses[task]),
                                            &cluster->channels[task]));
}

static void open_server(cluster_scene_t* cluster, int task) {
  leat_string_builder_t bytes;
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  cluster_scene_describe(cluster, kJobs[task], 0, protocol_of(cluster, task), &bytes);
  cluster->servers[task] = TF_NewServer(bytes.data, bytes.size, cluster->status);
  leat_string_builder_deinitialize(&bytes);
  assert_string_equal(TF_Message(cluster->status), "");
  if (cluster->options.observe) {
    static int numbers[CLUSTER_TASKS] = {CLUSTER_WORKER, CLUSTER_PS};
    leat_server_observe(cluster->servers[task], cluster->options.observe, &numbers[task]);
  }
  TF_ServerStart(cluster->servers[task], cluster->status);
  assert_string_equal(TF_Message(cluster->status), "");
}

int cluster_scene_set_up(void** state) {
  return cluster_scene_set_up_with(state, &(cluster_options_t){0});
}

int cluster_scene_set_up_with(void** state, const cluster_options_t* options) {
  cluster_scene_t* cluster = calloc(1, sizeof *cluster);
  cluster->options = *options;
  cluster->status = TF_NewStatus();
  for (int i = 0; i < CLUSTER_TASKS; ++i) {
    snprintf(cluster->addresses[i], sizeof cluster->addresses[i], "127.0.0.1:%d",
             rpc_scene_free_port());
  }
  scene_open(&cluster->scene);
  for (int i = 0; i < CLUSTER_TASKS - options->ps_is_a_process; ++i) open_server(cluster, i);
  if (options->ps_is_a_process) start_process(cluster);
  for (int i = 0; i < CLUSTER_TASKS; ++i) open_channel(cluster, i);
  *state = cluster;
  return 0;
}

void cluster_scene_target(const cluster_scene_t* cluster, int task, bool by_network,
                          char out_target[64]) {
  const char* port = strrchr(cluster->addresses[task], ':');
  if (by_network) {
    snprintf(out_target, 64, "grpc://localhost%s", port);
  } else {
    snprintf(out_target, 64, "grpc://%s", cluster->addresses[task]);
  }
}

int cluster_scene_tear_down(void** state) {
  cluster_scene_t* cluster = *state;
  for (int i = 0; i < CLUSTER_TASKS; ++i) leat_rpc_channel_free(cluster->channels[i]);
  for (int i = 0; i < CLUSTER_TASKS; ++i) TF_DeleteServer(cluster->servers[i]);
  if (cluster->process) {
    kill(cluster->process, SIGKILL);
    waitpid(cluster->process, NULL, 0);
  }
  scene_close(&cluster->scene);
  TF_DeleteStatus(cluster->status);
  free(cluster);
  return 0;
}

leat_output_t cluster_op(cluster_scene_t* cluster, int task, const char* op, const char* name,
                         leat_outputs_t inputs, leat_attrs_t attrs) {
  return scene_output(&cluster->scene, op, name, task ? CLUSTER_PS_CPU : CLUSTER_WORKER_CPU,
                      inputs, attrs);
}

// An empty queue on the ps. |taken| waits for an element of it, |put| brings |x|.
static leat_output_t build_queue(cluster_scene_t* cluster, leat_output_t x, const char* name,
                                 const char* taken, const char* put) {
  static const int32_t kTypes[] = {LEAT_DTYPE_FLOAT};
  static const leat_partial_shape_t kShapes[] = {{0, NULL}};
  const leat_attr_t types = {
      LEAT_SV("component_types"),
      {.kind = LEAT_ATTR_TYPE, .is_list = true, .count = 1, .types = kTypes}};
  const leat_attr_t queue_types[] = {
      types,
      {LEAT_SV("shapes"),
       {.kind = LEAT_ATTR_SHAPE, .is_list = true, .count = 1, .shapes = kShapes}}};
  const leat_output_t queue = cluster_op(cluster, CLUSTER_PS, "FIFOQueueV2", name,
                                         LEAT_NO_INPUTS, (leat_attrs_t){queue_types, 2});
  scene_node(&cluster->scene, "QueueEnqueueV2", put, CLUSTER_PS_CPU, LEAT_INPUTS(queue, x),
             LEAT_NO_ATTRS);
  return cluster_op(cluster, CLUSTER_PS, "QueueDequeueV2", taken, LEAT_INPUTS(queue),
                    (leat_attrs_t){&types, 1});
}

void cluster_build_queue(cluster_scene_t* cluster) {
  const leat_output_t x = scene_placeholder(&cluster->scene, "fed", LEAT_DTYPE_FLOAT);
  const leat_output_t taken = build_queue(cluster, x, "queue", "taken", "put");
  cluster_op(cluster, CLUSTER_WORKER, "Neg", "away", LEAT_INPUTS(taken), LEAT_NO_ATTRS);
  build_queue(cluster, x, "begun", "is_begun", "begin");
}

void cluster_start_waiting_step(cluster_scene_t* cluster, const char* handle,
                                cluster_step_t* out_step) {
  cluster_step_start(cluster, handle, "away", "begin", "fed", 0, out_step);
  cluster_step(cluster, handle, "is_begun", NULL, NULL, 0, LEAT_OK, "");
}

void cluster_stop(cluster_scene_t* cluster, int task) {
  TF_ServerStop(cluster->servers[task], cluster->status);
  assert_int_equal(TF_GetCode(cluster->status), TF_OK);
}

void cluster_restart(cluster_scene_t* cluster, int task) {
  TF_DeleteServer(cluster->servers[task]);
  open_server(cluster, task);
}

void cluster_kill_ps(cluster_scene_t* cluster) {
  assert_int_equal(kill(cluster->process, SIGKILL), 0);
  assert_int_equal(waitpid(cluster->process, NULL, 0), cluster->process);
  cluster->process = 0;
}

void cluster_start_ps(cluster_scene_t* cluster) { start_process(cluster); }

void cluster_let_wait(void) { leat_clock_sleep_ns(50000000); }

void cluster_expect_no_hang(int64_t begin_ns) {
  assert_true(leat_clock_now_ns() - begin_ns < INT64_C(60000000000));
}

void cluster_wait_for_count(_Atomic(uint64_t)* figure, uint64_t at_least) {
  const int64_t begin_ns = leat_clock_now_ns();
  while (atomic_load(figure) < at_least) {
    cluster_expect_no_hang(begin_ns);
    leat_clock_sleep_ns(1000000);
  }
}

leat_task_t* cluster_task(cluster_scene_t* cluster, int task) {
  return leat_server_task(cluster->servers[task]->server);
}

// ---- Calls --------------------------------------------------------------------------------------

void cluster_call_start(cluster_scene_t* cluster, int task, const char* method,
                        const leat_message_descriptor_t* descriptor, const void* message,
                        cluster_call_t* out_call) {
  leat_string_builder_t bytes;
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  if (descriptor) LEAT_EXPECT_OK(leat_message_encode(descriptor, message, &bytes));
  rpc_end_initialize(&out_call->end);
  leat_arena_initialize(leat_allocator_system(), 0, &out_call->arena);
  const leat_rpc_piece_t piece = {.data = bytes.data, .size = bytes.size};
  const leat_rpc_call_options_t options = {.method = method,
                                           .bytes = {&piece, 1},
                                           .deadline_ns = LEAT_DEADLINE_NEVER};
  leat_rpc_call(cluster->channels[task], &options, rpc_scene_done, &out_call->end,
                &out_call->call);
  leat_string_builder_deinitialize(&bytes);
}

void cluster_call_expect(cluster_call_t* call, leat_status_code_t code, const char* text,
                         const leat_message_descriptor_t* descriptor, void* out_answer) {
  rpc_end_wait(&call->end);
  if (call->end.code != code || !strstr(call->end.message, text)) {
    print_error("%s: %s\n", leat_status_code_name(call->end.code), call->end.message);
  }
  assert_string_equal(leat_status_code_name(call->end.code), leat_status_code_name(code));
  assert_true(strstr(call->end.message, text));
  if (!descriptor || code != LEAT_OK) return;
  const leat_string_view_t bytes = leat_string_view_make(call->end.answer, call->end.answer_size);
  LEAT_EXPECT_OK(leat_message_decode(descriptor, bytes, &call->arena, NULL, out_answer));
}

void cluster_call_free(cluster_call_t* call) {
  leat_rpc_call_free(call->call);
  leat_arena_deinitialize(&call->arena);
  rpc_end_free(&call->end);
}

void cluster_call(cluster_scene_t* cluster, int task, const char* method,
                  const leat_message_descriptor_t* descriptor, const void* message,
                  leat_status_code_t code, const char* text) {
  cluster_call_t call;
  cluster_call_start(cluster, task, method, descriptor, message, &call);
  cluster_call_expect(&call, code, text, NULL, NULL);
  cluster_call_free(&call);
}

// ---- Sessions -----------------------------------------------------------------------------------

void cluster_session_open(cluster_scene_t* cluster, char out_handle[32]) {
  leat_string_builder_t graph;
  leat_string_builder_initialize(leat_allocator_system(), &graph);
  LEAT_EXPECT_OK(leat_graph_export(cluster->scene.graph, &graph));
  const leat_pb_create_session_request_t request = {.graph_def = leat_string_builder_view(&graph)};
  leat_pb_create_session_response_t response;
  cluster_call_t call;
  for (const int64_t begin_ns = leat_clock_now_ns();;) {
    cluster_call_start(cluster, CLUSTER_WORKER, "/tensorflow.MasterService/CreateSession",
                       &leat_pb_create_session_request_descriptor, &request, &call);
    rpc_end_wait(&call.end);
    const bool is_silent = strstr(call.end.message, "did not answer a heartbeat") != NULL;
    if (!cluster->process || !is_silent) break;
    cluster_expect_no_hang(begin_ns);
    cluster_call_free(&call);
  }
  cluster_call_expect(&call, LEAT_OK, "", &leat_pb_create_session_response_descriptor, &response);
  snprintf(out_handle, 32, "%.*s", LEAT_SV_ARG(response.session_handle));
  cluster_call_free(&call);
  leat_string_builder_deinitialize(&graph);
}

void cluster_session_close(cluster_scene_t* cluster, const char* handle) {
  const leat_pb_close_session_request_t request = {.session_handle =
                                                       leat_string_view_from(handle)};
  cluster_call(cluster, CLUSTER_WORKER, "/tensorflow.MasterService/CloseSession",
               &leat_pb_close_session_request_descriptor, &request, LEAT_OK, "");
}

// ---- Steps --------------------------------------------------------------------------------------

void cluster_step_start(cluster_scene_t* cluster, const char* handle, const char* fetch,
                        const char* target, const char* feed, float value,
                        cluster_step_t* out_step) {
  leat_pb_tensor_proto_t proto = {.dtype = LEAT_DTYPE_FLOAT, .float_val = {&value, 1}};
  leat_pb_named_tensor_proto_t fed = {.name = leat_string_view_from(feed ? feed : ""),
                                      .tensor = &proto};
  leat_string_view_t fetched = leat_string_view_from(fetch ? fetch : "");
  leat_string_view_t run = leat_string_view_from(target ? target : "");
  const leat_pb_run_step_request_t request = {
      .session_handle = leat_string_view_from(handle),
      .feed = {&fed, feed != NULL},
      .fetch = {&fetched, fetch != NULL},
      .target = {&run, target != NULL},
      .store_errors_in_response_body = true,
      .request_id = (int64_t)(leat_random_seed() >> 1)};
  out_step->response = (leat_pb_run_step_response_t){0};
  cluster_call_start(cluster, CLUSTER_WORKER, "/tensorflow.MasterService/RunStep",
                     &leat_pb_run_step_request_descriptor, &request, &out_step->call);
}

leat_status_code_t cluster_step_end(cluster_step_t* step) {
  rpc_end_wait(&step->call.end);
  if (step->call.end.code != LEAT_OK) return step->call.end.code;
  cluster_call_expect(&step->call, LEAT_OK, "", &leat_pb_run_step_response_descriptor,
                      &step->response);
  return (leat_status_code_t)step->response.status_code;
}

bool cluster_step_says(const cluster_step_t* step, const char* text) {
  char message[1024];
  snprintf(message, sizeof message, "%s%.*s", step->call.end.message,
           LEAT_SV_ARG(step->response.status_error_message));
  if (!strstr(message, text)) print_error("the step says: %s\n", message);
  return strstr(message, text) != NULL;
}

void cluster_step_free(cluster_step_t* step) { cluster_call_free(&step->call); }

float cluster_step(cluster_scene_t* cluster, const char* handle, const char* fetch,
                   const char* target, const char* feed, float value, leat_status_code_t code,
                   const char* text) {
  cluster_step_t step;
  float fetched = 0;
  cluster_step_start(cluster, handle, fetch, target, feed, value, &step);
  const leat_status_code_t got = cluster_step_end(&step);
  assert_true(cluster_step_says(&step, text));
  assert_string_equal(leat_status_code_name(got), leat_status_code_name(code));
  if (got == LEAT_OK && fetch) {
    assert_int_equal(step.response.tensor.count, 1);
    const leat_pb_tensor_proto_t* proto = step.response.tensor.items[0].tensor;
    assert_int_equal(proto->dtype, LEAT_DTYPE_FLOAT);
    assert_int_equal(proto->tensor_content.size, sizeof fetched);
    memcpy(&fetched, proto->tensor_content.data, sizeof fetched);
  }
  cluster_step_free(&step);
  return fetched;
}

void cluster_build_negation(cluster_scene_t* cluster) {
  const leat_output_t x = scene_placeholder(&cluster->scene, "x", LEAT_DTYPE_FLOAT);
  const leat_output_t y =
      cluster_op(cluster, CLUSTER_PS, "Neg", "y", LEAT_INPUTS(x), LEAT_NO_ATTRS);
  cluster_op(cluster, CLUSTER_WORKER, "Neg", "z", LEAT_INPUTS(y), LEAT_NO_ATTRS);
}

uint64_t cluster_incarnation(cluster_scene_t* cluster, int task) {
  leat_pb_get_status_response_t response;
  cluster_call_t call;
  cluster_call_start(cluster, task, "/tensorflow.WorkerService/GetStatus", NULL, NULL, &call);
  cluster_call_expect(&call, LEAT_OK, "", &leat_pb_get_status_response_descriptor, &response);
  assert_true(response.device_attributes.count > 0);
  const uint64_t incarnation = response.device_attributes.items[0].incarnation;
  cluster_call_free(&call);
  return incarnation;
}
