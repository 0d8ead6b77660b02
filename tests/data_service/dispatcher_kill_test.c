// A dispatcher in a process of its own, killed (SIGKILL) at every write of its journal, in two
// ways: in the middle of the write, and behind it, before anybody is answered. It is started again
// at once in the same place, and its worker and its client, which live in this process, go on as if
// it had been slow. The dataset is divided dynamically, so that each element may be seen once at
// most; the only one that may be missing is that of a split which was written down and never
// answered, as with TensorFlow's dispatcher.
//
// The program is its own dispatcher: `dispatcher_kill_test dispatcher WORK_DIR PORT N WHERE` serves
// until its input ends, and dies at the N-th write (0: at none).
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/test.h"
#include "cluster/rpc_message.h"
#include "data_service/call.h"
#include "data_service/data_server.h"
#include "formats/generated/graph.h"
#include "formats/wire/encode.h"
#include "formats/wire/text.h"
#include "init.h"
#include "scratch.h"

#define DISPATCHER "/tensorflow.data.DispatcherService/"
#define WORKER "/tensorflow.data.WorkerService/"
#define PATIENCE_MS 60000
#define ELEMENTS 3

typedef enum kill_point_e { KILL_INSIDE, KILL_BEHIND } kill_point_t;

// ---- The dispatcher's process -------------------------------------------------------------------

// The operating system's file system, but for writes.
static leat_file_system_t g_deadly;
static leat_file_vtable_t g_deadly_file;
static leat_status_t (*g_write)(leat_file_t* self, const void* data, size_t size);
static long g_writes_left;
static int g_where;

static leat_status_t write_and_die(leat_file_t* self, const void* data, size_t size) {
  const bool dies = g_writes_left > 0 && --g_writes_left == 0;
  leat_status_t status = g_write(self, data, dies && g_where == KILL_INSIDE ? size / 2 : size);
  if (dies) kill(getpid(), SIGKILL);
  return status;
}

static leat_status_t open_deadly(leat_file_system_t* self, const char* path, leat_file_mode_t mode,
                                 leat_allocator_t* allocator, leat_file_t** out_file) {
  leat_file_system_t* fs = leat_file_system_posix();
  LEAT_RETURN_IF_ERROR(fs->vtable->open(fs, path, mode, allocator, out_file));
  if (mode == LEAT_FILE_READ) return leat_ok_status();
  g_deadly_file = *(*out_file)->vtable;
  g_write = g_deadly_file.write;
  g_deadly_file.write = write_and_die;
  (*out_file)->vtable = &g_deadly_file;
  return leat_ok_status();
}

static int serve(char** arguments) {
  static leat_file_system_vtable_t vtable;
  const leat_runtime_t* runtime;
  leat_data_server_t* server;
  char address[32], c;
  vtable = *leat_file_system_posix()->vtable;
  vtable.open = open_deadly;
  g_deadly.vtable = &vtable;
  g_writes_left = atol(arguments[2]);
  g_where = atoi(arguments[3]);
  snprintf(address, sizeof address, "localhost:%s", arguments[1]);
  leat_status_t status = leat_runtime_get(&runtime);
  if (!status) {
    const leat_dispatcher_options_t dispatcher = {.runtime = runtime,
                                                  .work_dir = leat_string_view_from(arguments[0]),
                                                  .is_fault_tolerant = true,
                                                  .file_system = &g_deadly};
    const leat_data_server_options_t options = {.address = leat_string_view_from(address),
                                                .dispatcher = &dispatcher};
    status = leat_data_server_start(&options, &server);
  }
  if (status) {
    fprintf(stderr, "%s\n", leat_status_message(status));
    return 1;
  }
  printf("%d\n", leat_data_server_port(server));
  fflush(stdout);
  while (read(0, &c, 1) > 0) {
  }
  leat_data_server_stop(server);
  return 0;
}

// ---- This process -------------------------------------------------------------------------------

typedef struct scene_s {
  char work_dir[32];
  pid_t dispatcher;
  int input, port;
  int deaths;
  leat_data_server_t* worker;
  leat_rpc_channel_t *to_dispatcher, *to_worker;
  leat_arena_t arena;
} scene_t;

// Starts a dispatcher and waits until it says its port.
static void start_dispatcher(scene_t* s, long writes, kill_point_t where) {
  char port[16], count[16], point[16], said[16] = "";
  int input[2], output[2];
  snprintf(port, sizeof port, "%d", s->port);
  snprintf(count, sizeof count, "%ld", writes);
  snprintf(point, sizeof point, "%d", (int)where);
  assert_int_equal(pipe(input) | pipe(output), 0);
  s->dispatcher = fork();
  assert_true(s->dispatcher >= 0);
  if (!s->dispatcher) {
    dup2(input[0], 0);
    dup2(output[1], 1);
    for (int fd = 3; fd < 1024; ++fd) close(fd);
    execl("/proc/self/exe", "dispatcher_kill_test", "dispatcher", s->work_dir, port, count, point,
          (char*)NULL);
    _exit(127);
  }
  close(input[0]);
  close(output[1]);
  if (s->input) close(s->input);
  s->input = input[1];
  ssize_t size;
  do {
    size = read(output[0], said, sizeof said - 1);
  } while (size < 0 && errno == EINTR);
  close(output[0]);
  assert_true(size > 0);
  s->port = atoi(said);
}

// Starts the dispatcher again where it has died.
static void look_after_dispatcher(scene_t* s) {
  int how;
  if (waitpid(s->dispatcher, &how, WNOHANG) != s->dispatcher) return;
  assert_true(WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL);
  ++s->deaths;
  start_dispatcher(s, 0, KILL_INSIDE);
}

static bool is_away(leat_status_t status) {
  return leat_data_is_preempted(status) || leat_status_code(status) == LEAT_DEADLINE_EXCEEDED;
}

// Asks until the other side is there.
static void ask(scene_t* s, leat_rpc_channel_t* channel, const char* method,
                const leat_message_descriptor_t* descriptor, const void* message,
                const leat_message_descriptor_t* answer, void* out_answer) {
  const int64_t deadline_ns = leat_clock_deadline_after_ms(PATIENCE_MS);
  leat_status_t status;
  do {
    const leat_data_request_t request = {.method = method,
                                         .descriptor = descriptor,
                                         .message = message,
                                         .answer = answer,
                                         .deadline_ns = leat_clock_deadline_after_ms(1000)};
    status = leat_data_call(channel, &request, &s->arena, out_answer);
    look_after_dispatcher(s);
    if (!is_away(status) || leat_clock_now_ns() > deadline_ns) break;
    leat_status_free(status);
    leat_clock_sleep_ns(5000000);
  } while (true);
  LEAT_EXPECT_OK(status);
}
#define ASK(scene, channel, method, kind, answer_kind, message, out_answer) \
  ask(scene, channel, method, &leat_pb_##kind##_descriptor, message,        \
      &leat_pb_##answer_kind##_descriptor, out_answer)

static leat_rpc_channel_t* connect_to(const char* address) {
  leat_rpc_channel_t* channel;
  LEAT_EXPECT_OK(leat_rpc_channel_create(leat_string_view_from(address), &(leat_rpc_security_t){0},
                                         &channel));
  return channel;
}

static void open_scene(scene_t* s, long number, kill_point_t where) {
  const leat_runtime_t* runtime;
  char address[32];
  *s = (scene_t){0};
  leat_arena_initialize(leat_allocator_system(), 0, &s->arena);
  snprintf(s->work_dir, sizeof s->work_dir, "work-%ld-%d", number, (int)where);
  start_dispatcher(s, number, where);
  snprintf(address, sizeof address, "localhost:%d", s->port);
  LEAT_EXPECT_OK(leat_runtime_get(&runtime));
  const leat_data_worker_options_t worker = {.runtime = runtime,
                                             .dispatcher_address = leat_string_view_from(address),
                                             .heartbeat_ms = 20};
  const leat_data_server_options_t options = {.address = LEAT_SV("localhost:0"),
                                              .worker = &worker};
  LEAT_EXPECT_OK(leat_data_server_start(&options, &s->worker));
  s->to_dispatcher = connect_to(address);
  s->to_worker = connect_to(leat_data_server_address(s->worker));
}

static void close_scene(scene_t* s) {
  leat_data_server_stop(s->worker);
  leat_rpc_channel_free(s->to_worker);
  leat_rpc_channel_free(s->to_dispatcher);
  close(s->input);
  assert_int_equal(waitpid(s->dispatcher, NULL, 0), s->dispatcher);
  leat_arena_deinitialize(&s->arena);
}

// The GraphDef of range(ELEMENTS).
static leat_string_view_t make_graph(scene_t* s) {
#define NUMBER(name, value)                                                             \
  "node { name: '" name "' op: 'Const' attr { key: 'dtype' value { type: DT_INT64 } } " \
  "attr { key: 'value' value { tensor { dtype: DT_INT64 tensor_shape { } int64_val: " value \
  " } } } } "
  static const char kText[] =
      NUMBER("start", "0") NUMBER("stop", "3") NUMBER("step", "1")
      "node { name: 'range' op: 'RangeDataset' input: 'start' input: 'stop' input: 'step' "
      "attr { key: 'output_types' value { list { type: DT_INT64 } } } "
      "attr { key: 'output_shapes' value { list { shape { } } } } } "
      "node { name: 'ret' op: '_Retval' input: 'range' attr { key: 'T' value { type: DT_VARIANT } "
      "} attr { key: 'index' value { i: 0 } } }";
  leat_pb_graph_def_t def;
  leat_string_builder_t bytes;
  leat_string_view_t graph;
  LEAT_EXPECT_OK(leat_text_parse(&leat_pb_graph_def_descriptor, leat_string_view_from(kText),
                                 &s->arena, &def));
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  LEAT_EXPECT_OK(leat_message_encode(&leat_pb_graph_def_descriptor, &def, &bytes));
  LEAT_EXPECT_OK(leat_arena_copy_string(&s->arena, leat_string_builder_view(&bytes), &graph));
  leat_string_builder_deinitialize(&bytes);
  return graph;
}

// Registers the dataset, and begins to read it as a job with a name, so that who asks twice gets
// the same.
static int64_t begin(scene_t* s) {
  leat_pb_dataset_def_t def = {.graph = make_graph(s)};
  leat_pb_processing_mode_def_t mode = {
      .sharding_policy = LEAT_PB_PROCESSING_MODE_DEF_SHARDING_POLICY_DYNAMIC};
  const leat_pb_get_or_register_dataset_request_t dataset = {
      .dataset = &def, .optional_dataset_id_case = 4, .dataset_id = LEAT_SV("range")};
  leat_pb_get_or_register_dataset_response_t registered;
  ASK(s, s->to_dispatcher, DISPATCHER "GetOrRegisterDataset", get_or_register_dataset_request,
      get_or_register_dataset_response, &dataset, &registered);
  const leat_pb_get_or_create_job_request_t job = {.dataset_id = registered.dataset_id,
                                                   .processing_mode_def = &mode,
                                                   .optional_job_name_case = 3,
                                                   .job_name = LEAT_SV("job")};
  leat_pb_get_or_create_job_response_t made;
  ASK(s, s->to_dispatcher, DISPATCHER "GetOrCreateJob", get_or_create_job_request,
      get_or_create_job_response, &job, &made);
  const leat_pb_get_or_create_iteration_request_t iteration = {.job_id = made.job_id};
  leat_pb_get_or_create_iteration_response_t client;
  ASK(s, s->to_dispatcher, DISPATCHER "GetOrCreateIteration", get_or_create_iteration_request,
      get_or_create_iteration_response, &iteration, &client);
  return client.iteration_client_id;
}

// Asks until the iteration has a task or, where |at_end|, is finished.
static int64_t wait_for_task(scene_t* s, int64_t client, bool at_end) {
  const leat_pb_client_heartbeat_request_t request = {.iteration_client_id = client};
  const int64_t deadline_ns = leat_clock_deadline_after_ms(PATIENCE_MS);
  leat_pb_client_heartbeat_response_t answer;
  do {
    ASK(s, s->to_dispatcher, DISPATCHER "ClientHeartbeat", client_heartbeat_request,
        client_heartbeat_response, &request, &answer);
    if (at_end ? answer.iteration_finished : answer.task_info.count > 0) break;
    leat_clock_sleep_ns(5000000);
  } while (leat_clock_now_ns() < deadline_ns);
  assert_true(at_end ? answer.iteration_finished : answer.task_info.count > 0);
  assert_int_equal(answer.task_info.count, 1);
  return answer.task_info.items[0].task_id;
}

// Reads the dataset to its end, and counts each element. Returns how often the dispatcher died.
static int read_dataset(long number, kill_point_t where, int seen[ELEMENTS]) {
  scene_t s;
  leat_pb_get_element_response_t element;
  open_scene(&s, number, where);
  const int64_t client = begin(&s);
  const leat_pb_get_element_request_t request = {.task_id = wait_for_task(&s, client, false)};
  do {
    ASK(&s, s.to_worker, WORKER "GetElement", get_element_request, get_element_response, &request,
        &element);
    if (element.end_of_sequence) break;
    const leat_pb_tensor_proto_t* tensor = element.uncompressed->components.items;
    int64_t value = -1;
    if (tensor->tensor_content.size == sizeof value) {
      memcpy(&value, tensor->tensor_content.data, sizeof value);
    }
    assert_in_range(value, 0, ELEMENTS - 1);
    ++seen[value];
  } while (true);
  wait_for_task(&s, client, true);
  const leat_pb_release_iteration_client_request_t release = {.iteration_client_id = client};
  const leat_data_request_t last = {
      .method = DISPATCHER "ReleaseIterationClient",
      .descriptor = &leat_pb_release_iteration_client_request_descriptor,
      .message = &release,
      .deadline_ns = leat_clock_deadline_after_ms(PATIENCE_MS)};
  // It may die of this one too, and its client has nothing more to ask.
  leat_status_free(leat_data_call(s.to_dispatcher, &last, NULL, NULL));
  look_after_dispatcher(&s);
  close_scene(&s);
  return s.deaths;
}

static void read_through_deaths(kill_point_t where, int expected_missing) {
  int missing = 0, deaths = 0, runs = 0;
  for (long number = 1; deaths == runs; ++number, ++runs) {
    int seen[ELEMENTS] = {0}, missing_now = 0;
    deaths += read_dataset(number, where, seen);
    for (int i = 0; i < ELEMENTS; ++i) {
      assert_true(seen[i] <= 1);
      missing_now += !seen[i];
    }
    assert_true(missing_now <= 1);
    missing += missing_now;
  }
  // Worker, dataset, job, iteration, splits and their end, the end of the task, and the client.
  assert_true(deaths >= 4 + ELEMENTS + 2);
  assert_int_equal(missing, expected_missing);
}

static void nothing_is_lost_in_a_write(void** state) { read_through_deaths(KILL_INSIDE, 0); }
// Each split is once the one that was written down and never answered.
static void a_split_is_lost_behind_its_write(void** state) {
  read_through_deaths(KILL_BEHIND, ELEMENTS);
}

int main(int argc, char** argv) {
  if (argc == 6 && !strcmp(argv[1], "dispatcher")) return serve(argv + 2);
  const struct CMUnitTest cases[] = {
      cmocka_unit_test(nothing_is_lost_in_a_write),
      cmocka_unit_test(a_split_is_lost_behind_its_write),
  };
  return cmocka_run_group_tests(cases, scratch_set_up, scratch_tear_down);
}
