// A dispatcher and workers in one process, over loopback, asked by hand-made requests, also such as
// no client of TensorFlow sends. Datasets are ranges, as graphs in text. The cases fix that
// elements come once, and then the end; what is said of tasks, ids and methods that there are not,
// and of garbage; that a client may go away while it waits; that each split goes to one worker;
// that silent clients and abandoned iterations are collected; and that stopping answers whoever
// waits. tests/oracle/data_service_oracle.py has TensorFlow's own client ask the same servers.
#include "data_service/data_server.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/test.h"
#include "base/thread.h"
#include "cluster/rpc_message.h"
#include "data_service/call.h"
#include "formats/generated/graph.h"
#include "formats/wire/encode.h"
#include "formats/wire/tensor_content.h"
#include "formats/wire/text.h"
#include "init.h"

#define DISPATCHER "/tensorflow.data.DispatcherService/"
#define WORKER "/tensorflow.data.WorkerService/"
#define PATIENCE_MS 30000

// ---- Calls --------------------------------------------------------------------------------------

typedef struct scene_s {
  leat_data_server_t *dispatcher, *workers[2];
  leat_rpc_channel_t *to_dispatcher, *to_workers[2];
  int worker_count;
  leat_arena_t arena;
} scene_t;

static leat_rpc_channel_t* connect_to(const leat_data_server_t* server) {
  leat_rpc_channel_t* channel;
  LEAT_EXPECT_OK(
      leat_rpc_channel_create(leat_string_view_from(leat_data_server_address(server)),
                              &(leat_rpc_security_t){0}, &channel));
  return channel;
}

static leat_status_t ask(scene_t* s, leat_rpc_channel_t* channel, const char* method,
                         const leat_message_descriptor_t* descriptor, const void* message,
                         const leat_message_descriptor_t* answer, void* out_answer) {
  const leat_data_request_t request = {
      .method = method,
      .descriptor = descriptor,
      .message = message,
      .answer = answer,
      .deadline_ns = leat_clock_deadline_after_ms(PATIENCE_MS)};
  return leat_data_call(channel, &request, &s->arena, out_answer);
}
#define ASK(scene, channel, method, kind, answer_kind, message, out_answer)          \
  ask(scene, channel, method, &leat_pb_##kind##_descriptor, message,                 \
      &leat_pb_##answer_kind##_descriptor, out_answer)

static leat_data_server_t* start_worker(const scene_t* s, const leat_runtime_t* runtime) {
  leat_data_server_t* server;
  const leat_data_worker_options_t worker = {
      .runtime = runtime,
      .dispatcher_address = leat_string_view_from(leat_data_server_address(s->dispatcher)),
      .heartbeat_ms = 50};
  const leat_data_server_options_t options = {.address = LEAT_SV("localhost:0"),
                                              .worker = &worker};
  LEAT_EXPECT_OK(leat_data_server_start(&options, &server));
  for (int tries = 0; !leat_data_server_is_ready(server) && tries < 3000; ++tries) {
    leat_clock_sleep_ns(10000000);
  }
  assert_true(leat_data_server_is_ready(server));
  return server;
}

// |is_impatient|: clients that are silent for a moment are given up.
static void open_scene(scene_t* s, int worker_count, bool is_impatient) {
  const leat_runtime_t* runtime;
  LEAT_EXPECT_OK(leat_runtime_get(&runtime));
  *s = (scene_t){.worker_count = worker_count};
  leat_arena_initialize(leat_allocator_system(), 0, &s->arena);
  leat_dispatcher_options_t dispatcher = {.runtime = runtime};
  if (is_impatient) {
    dispatcher.gc_check_ms = 20;
    dispatcher.gc_timeout_ms = 100;
    dispatcher.client_timeout_ms = 300;
  }
  const leat_data_server_options_t options = {.address = LEAT_SV("localhost:0"),
                                              .dispatcher = &dispatcher};
  LEAT_EXPECT_OK(leat_data_server_start(&options, &s->dispatcher));
  s->to_dispatcher = connect_to(s->dispatcher);
  for (int i = 0; i < worker_count; ++i) {
    s->workers[i] = start_worker(s, runtime);
    s->to_workers[i] = connect_to(s->workers[i]);
  }
}

static void close_scene(scene_t* s) {
  for (int i = 0; i < s->worker_count; ++i) {
    leat_data_server_stop(s->workers[i]);
    leat_rpc_channel_free(s->to_workers[i]);
  }
  leat_data_server_stop(s->dispatcher);
  leat_rpc_channel_free(s->to_dispatcher);
  leat_arena_deinitialize(&s->arena);
}

// ---- Jobs ---------------------------------------------------------------------------------------

// The GraphDef of range(count), or of range(count).repeat() where |repeats|.
static leat_string_view_t make_graph(scene_t* s, int count, bool repeats) {
#define NUMBER(name)                                                                          \
  "node { name: '" name "' op: 'Const' attr { key: 'dtype' value { type: DT_INT64 } } "       \
  "attr { key: 'value' value { tensor { dtype: DT_INT64 tensor_shape { } int64_val: %d } } } } "
#define SPEC                                                                                  \
  "attr { key: 'output_types' value { list { type: DT_INT64 } } } "                           \
  "attr { key: 'output_shapes' value { list { shape { } } } } "
  leat_string_view_t text;
  leat_pb_graph_def_t def;
  leat_string_builder_t bytes;
  LEAT_EXPECT_OK(leat_arena_print(
      &s->arena, &text,
      NUMBER("zero") NUMBER("count") NUMBER("one") NUMBER("ever")
      "node { name: 'range' op: 'RangeDataset' device: '/job:client/device:GPU:3' "
      "input: 'zero' input: 'count' input: 'one' " SPEC "} "
      "node { name: 'repeat' op: 'RepeatDataset' input: 'range' input: 'ever' " SPEC "} "
      "node { name: 'ret' op: '_Retval' input: '%s' attr { key: 'T' value { type: DT_VARIANT } } "
      "attr { key: 'index' value { i: 0 } } }",
      0, count, 1, -1, repeats ? "repeat" : "range"));
  LEAT_EXPECT_OK(leat_text_parse(&leat_pb_graph_def_descriptor, text, &s->arena, &def));
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  LEAT_EXPECT_OK(leat_message_encode(&leat_pb_graph_def_descriptor, &def, &bytes));
  LEAT_EXPECT_OK(
      leat_arena_copy_string(&s->arena, leat_string_builder_view(&bytes), &text));
  leat_string_builder_deinitialize(&bytes);
  return text;
}

static leat_string_view_t register_graph(scene_t* s, leat_string_view_t graph) {
  leat_pb_dataset_def_t def = {.graph = graph};
  const leat_pb_get_or_register_dataset_request_t request = {.dataset = &def};
  leat_pb_get_or_register_dataset_response_t answer;
  LEAT_EXPECT_OK(ASK(s, s->to_dispatcher, DISPATCHER "GetOrRegisterDataset",
                     get_or_register_dataset_request, get_or_register_dataset_response, &request,
                     &answer));
  return answer.dataset_id;
}

typedef struct job_s {
  int32_t policy;
  int64_t num_consumers;
  int64_t client_id;
} job_t;

static leat_status_t begin_job(scene_t* s, leat_string_view_t graph, job_t* job) {
  leat_pb_processing_mode_def_t mode = {.sharding_policy = job->policy};
  const leat_pb_get_or_create_job_request_t request = {
      .dataset_id = register_graph(s, graph),
      .processing_mode_def = &mode,
      .num_consumers = job->num_consumers,
      .optional_num_consumers_case = job->num_consumers ? 4 : 0};
  leat_pb_get_or_create_job_response_t made;
  leat_pb_get_or_create_iteration_request_t iteration = {0};
  leat_pb_get_or_create_iteration_response_t answer = {0};
  LEAT_RETURN_IF_ERROR(ASK(s, s->to_dispatcher, DISPATCHER "GetOrCreateJob",
                           get_or_create_job_request, get_or_create_job_response, &request,
                           &made));
  iteration.job_id = made.job_id;
  LEAT_RETURN_IF_ERROR(ASK(s, s->to_dispatcher, DISPATCHER "GetOrCreateIteration",
                           get_or_create_iteration_request, get_or_create_iteration_response,
                           &iteration, &answer));
  job->client_id = answer.iteration_client_id;
  return leat_ok_status();
}

static leat_status_t send_heartbeat(scene_t* s, const job_t* job,
                                    leat_pb_client_heartbeat_response_t* answer) {
  const leat_pb_client_heartbeat_request_t request = {.iteration_client_id = job->client_id};
  return ASK(s, s->to_dispatcher, DISPATCHER "ClientHeartbeat", client_heartbeat_request,
             client_heartbeat_response, &request, answer);
}

static int64_t task_of(scene_t* s, const job_t* job, int worker) {
  leat_pb_client_heartbeat_response_t answer;
  LEAT_EXPECT_OK(send_heartbeat(s, job, &answer));
  for (size_t i = 0; i < answer.task_info.count; ++i) {
    if (leat_string_view_equals(answer.task_info.items[i].worker_address,
                                leat_data_server_address(s->workers[worker]))) {
      return answer.task_info.items[i].task_id;
    }
  }
  return 0;
}

static leat_status_t get_element(scene_t* s, int worker,
                                 const leat_pb_get_element_request_t* request,
                                 leat_pb_get_element_response_t* answer) {
  return ASK(s, s->to_workers[worker], WORKER "GetElement", get_element_request,
             get_element_response, request, answer);
}

// The number that an element is; -1 at the end.
static int64_t get_number(scene_t* s, int worker, int64_t task) {
  const leat_pb_get_element_request_t request = {.task_id = task};
  leat_pb_get_element_response_t answer;
  leat_tensor_t tensor;
  LEAT_EXPECT_OK(get_element(s, worker, &request, &answer));
  if (answer.end_of_sequence) return -1;
  assert_non_null(answer.uncompressed);
  assert_int_equal(answer.uncompressed->components.count, 1);
  LEAT_EXPECT_OK(leat_tensor_from_content(answer.uncompressed->components.items, &s->arena,
                                          leat_buffer_source_host(), &tensor));
  const int64_t number = *(const int64_t*)tensor.data;
  assert_int_equal(answer.element_index, number);
  leat_tensor_release(&tensor);
  return number;
}

// ---- Elements -----------------------------------------------------------------------------------

static void elements_come_once_and_then_the_end(void** state) {
  scene_t s;
  job_t job = {0};
  leat_pb_client_heartbeat_response_t answer;
  open_scene(&s, 1, false);
  LEAT_EXPECT_OK(begin_job(&s, make_graph(&s, 3, false), &job));
  const int64_t task = task_of(&s, &job, 0);
  for (int64_t i = 0; i < 3; ++i) assert_int_equal(get_number(&s, 0, task), i);
  for (int i = 0; i < 3; ++i) assert_int_equal(get_number(&s, 0, task), -1);
  bool is_finished = false;
  for (int tries = 0; !is_finished && tries < 3000; ++tries) {
    LEAT_EXPECT_OK(send_heartbeat(&s, &job, &answer));
    is_finished = answer.iteration_finished;
    if (!is_finished) leat_clock_sleep_ns(10000000);
  }
  assert_true(is_finished);
  // The worker lets go of the task, and still knows that it has ended.
  for (int tries = 0; leat_data_server_count(s.workers[0]) && tries < 3000; ++tries) {
    leat_clock_sleep_ns(10000000);
  }
  assert_int_equal(leat_data_server_count(s.workers[0]), 0);
  assert_int_equal(get_number(&s, 0, task), -1);
  close_scene(&s);
}

static void a_late_worker_takes_part(void** state) {
  const leat_runtime_t* runtime;
  scene_t s;
  job_t job = {0};
  LEAT_EXPECT_OK(leat_runtime_get(&runtime));
  open_scene(&s, 1, false);
  LEAT_EXPECT_OK(begin_job(&s, make_graph(&s, 4, true), &job));
  s.workers[1] = start_worker(&s, runtime);
  s.to_workers[1] = connect_to(s.workers[1]);
  s.worker_count = 2;
  const int64_t task = task_of(&s, &job, 1);
  assert_int_not_equal(task, 0);
  assert_int_equal(get_number(&s, 1, task), 0);
  close_scene(&s);
}

// It waits for a round that is never full; its place is free then, and the worker can be stopped.
static void a_client_may_go_away_while_it_waits(void** state) {
  scene_t s;
  job_t job = {.num_consumers = 2};
  leat_pb_get_element_response_t answer;
  open_scene(&s, 1, false);
  LEAT_EXPECT_OK(begin_job(&s, make_graph(&s, 9, true), &job));
  leat_pb_get_element_request_t message = {.task_id = task_of(&s, &job, 0),
                                           .optional_consumer_index_case = 2,
                                           .optional_round_index_case = 3};
  const leat_data_request_t request = {.method = WORKER "GetElement",
                                       .descriptor = &leat_pb_get_element_request_descriptor,
                                       .message = &message,
                                       .answer = &leat_pb_get_element_response_descriptor,
                                       .deadline_ns = leat_clock_deadline_after_ms(100)};
  LEAT_EXPECT_CODE(LEAT_DEADLINE_EXCEEDED,
                   leat_data_call(s.to_workers[0], &request, &s.arena, &answer));
  close_scene(&s);
}

typedef struct consumer_s {
  scene_t* scene;
  int64_t task, index;
  int64_t rounds[4];
  leat_thread_t thread;
} consumer_t;

static void consume(void* data) {
  consumer_t* c = data;
  scene_t own = *c->scene;  // an arena of its own
  leat_arena_initialize(leat_allocator_system(), 0, &own.arena);
  for (int64_t round = 0; round < 4; ++round) {
    const leat_pb_get_element_request_t request = {.task_id = c->task,
                                                   .optional_consumer_index_case = 2,
                                                   .consumer_index = c->index,
                                                   .optional_round_index_case = 3,
                                                   .round_index = round};
    leat_pb_get_element_response_t answer = {0};
    leat_status_t status = get_element(&own, 0, &request, &answer);
    c->rounds[round] = status ? -2 : answer.element_index;
    leat_status_free(status);
  }
  leat_arena_deinitialize(&own.arena);
}

static void a_round_has_an_element_for_each_consumer(void** state) {
  scene_t s;
  job_t job = {.num_consumers = 3};
  consumer_t consumers[3];
  leat_pb_get_element_response_t answer;
  open_scene(&s, 1, false);
  LEAT_EXPECT_OK(begin_job(&s, make_graph(&s, 5, true), &job));
  const int64_t task = task_of(&s, &job, 0);
  for (int i = 0; i < 3; ++i) {
    consumers[i] = (consumer_t){.scene = &s, .task = task, .index = i};
    LEAT_EXPECT_OK(
        leat_thread_start("consumer", consume, &consumers[i], &consumers[i].thread));
  }
  for (int i = 0; i < 3; ++i) leat_thread_join(consumers[i].thread);
  for (int64_t round = 0; round < 4; ++round) {
    for (int i = 0; i < 3; ++i) assert_int_equal(consumers[i].rounds[round], 3 * round + i);
  }
  // A consumer that was started again asks for a round that is over; others are none.
  const struct {
    int64_t consumer, round;
  } kWrong[] = {{0, 1}, {3, 4}, {-1, 4}, {0, -1}};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kWrong); ++i) {
    const leat_pb_get_element_request_t request = {.task_id = task,
                                                   .optional_consumer_index_case = 2,
                                                   .consumer_index = kWrong[i].consumer,
                                                   .optional_round_index_case = 3,
                                                   .round_index = kWrong[i].round};
    LEAT_EXPECT_CODE(LEAT_FAILED_PRECONDITION, get_element(&s, 0, &request, &answer));
  }
  close_scene(&s);
}

// The only consumer cannot reach a worker, and asks to go on without it. The worker reports again,
// and gets a task that waits for a round.
static void consumers_go_on_without_a_worker(void** state) {
  scene_t s;
  job_t job = {.num_consumers = 1};
  leat_pb_client_heartbeat_response_t answer = {0};
  leat_pb_maybe_remove_task_response_t removed;
  open_scene(&s, 1, false);
  LEAT_EXPECT_OK(begin_job(&s, make_graph(&s, 5, true), &job));
  leat_pb_maybe_remove_task_request_t request = {.task_id = task_of(&s, &job, 0), .round = 3,
                                                 .consumer_index = 1};
  LEAT_EXPECT_CODE(LEAT_FAILED_PRECONDITION,
                   ASK(&s, s.to_dispatcher, DISPATCHER "MaybeRemoveTask", maybe_remove_task_request,
                       maybe_remove_task_response, &request, &removed));
  request.consumer_index = 0;
  for (int i = 0; i < 2; ++i) {  // the second time it is gone
    LEAT_EXPECT_OK(ASK(&s, s.to_dispatcher, DISPATCHER "MaybeRemoveTask",
                       maybe_remove_task_request, maybe_remove_task_response, &request, &removed));
    assert_true(removed.removed);
  }
  for (int tries = 0; !answer.optional_block_round_case && tries < 3000; ++tries) {
    LEAT_EXPECT_OK(send_heartbeat(&s, &job, &answer));
    assert_int_equal(answer.task_info.count, 0);
    if (!answer.optional_block_round_case) leat_clock_sleep_ns(10000000);
  }
  assert_int_equal(answer.block_round, 1);
  close_scene(&s);
}

static void each_split_goes_to_one_worker(void** state) {
  scene_t s;
  job_t job = {.policy = LEAT_PB_PROCESSING_MODE_DEF_SHARDING_POLICY_DYNAMIC};
  leat_pb_get_element_response_t answer;
  int seen = 0;
  open_scene(&s, 2, false);
  LEAT_EXPECT_OK(begin_job(&s, make_graph(&s, 40, false), &job));
  for (int worker = 0; worker < 2; ++worker) {
    const leat_pb_get_element_request_t request = {.task_id = task_of(&s, &job, worker)};
    do {
      LEAT_EXPECT_OK(get_element(&s, worker, &request, &answer));
      seen += !answer.end_of_sequence;
      // The other one has taken some meanwhile.
      if (seen == 10 && worker == 0) break;
    } while (!answer.end_of_sequence);
  }
  const leat_pb_get_element_request_t rest = {.task_id = task_of(&s, &job, 0)};
  for (answer.end_of_sequence = false; !answer.end_of_sequence; seen += !answer.end_of_sequence) {
    LEAT_EXPECT_OK(get_element(&s, 0, &rest, &answer));
  }
  assert_int_equal(seen, 40);
  close_scene(&s);
}

// ---- What is refused ----------------------------------------------------------------------------

static leat_status_t send_bytes(scene_t* s, leat_rpc_channel_t* channel, const char* method,
                                leat_string_view_t bytes) {
  // The bytes of a message with one field of text, whose tag is cut off by the caller's method.
  leat_pb_get_dataset_def_request_t message = {.dataset_id = bytes};
  return ask(s, channel, method, &leat_pb_get_dataset_def_request_descriptor, &message, NULL,
             NULL);
}

static void strangers_are_refused(void** state) {
  static const struct {
    const char* method;
    const char* text;  // of field 1
    leat_status_code_t code;
    bool to_worker;
  } kCases[] = {
      {DISPATCHER "GetDatasetDef", "none", LEAT_NOT_FOUND, false},
      {DISPATCHER "GetDataServiceMetadata", "none", LEAT_NOT_FOUND, false},
      {DISPATCHER "DisableCompressionAtRuntime", "none", LEAT_NOT_FOUND, false},
      {DISPATCHER "GetOrCreateJob", "none", LEAT_NOT_FOUND, false},
      {DISPATCHER "GetOrCreateIteration", "", LEAT_NOT_FOUND, false},
      {DISPATCHER "ClientHeartbeat", "", LEAT_NOT_FOUND, false},
      {DISPATCHER "ReleaseIterationClient", "", LEAT_NOT_FOUND, false},
      {DISPATCHER "GetSplit", "", LEAT_NOT_FOUND, false},
      {DISPATCHER "GetOrRegisterDataset", "\x0a\x01\xff", LEAT_INVALID_ARGUMENT, false},
      {DISPATCHER "GetOrRegisterDataset", "\xff", LEAT_INTERNAL, false},
      {DISPATCHER "Snapshot", "", LEAT_INVALID_ARGUMENT, false},
      {DISPATCHER "GetElement", "", LEAT_UNIMPLEMENTED, false},
      {WORKER "GetElement", "", LEAT_UNIMPLEMENTED, false},
      {WORKER "GetElement", "", LEAT_UNAVAILABLE, true},
      {WORKER "ProcessTask", "", LEAT_INVALID_ARGUMENT, true},
      {WORKER "ProcessTask", "\xff", LEAT_INTERNAL, true},
      {WORKER "GetVersion", "", LEAT_UNIMPLEMENTED, true},
  };
  scene_t s;
  open_scene(&s, 1, false);
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kCases); ++i) {
    leat_status_t status =
        send_bytes(&s, kCases[i].to_worker ? s.to_workers[0] : s.to_dispatcher, kCases[i].method,
                   leat_string_view_from(kCases[i].text));
    if (leat_status_code(status) != kCases[i].code) {
      print_error("%s: %s\n", kCases[i].method, leat_status_message(status));
    }
    LEAT_EXPECT_CODE(kCases[i].code, status);
  }
  close_scene(&s);
}

static void a_task_that_is_wrong_fails_its_clients_alone(void** state) {
  leat_pb_dataset_def_t def = {.graph = LEAT_SV("\x0a\x05\x0a\x03x\x12\x01")};
  leat_pb_task_def_t task = {
      .task_id = 77, .dataset_case = 1, .dataset_def = &def, .worker_address = LEAT_SV("no:1")};
  const leat_pb_process_task_request_t request = {.task = &task};
  const leat_pb_get_element_request_t asked = {.task_id = 77};
  leat_pb_get_element_response_t answer;
  scene_t s;
  job_t job = {0};
  open_scene(&s, 1, false);
  LEAT_EXPECT_OK(ask(&s, s.to_workers[0], WORKER "ProcessTask",
                     &leat_pb_process_task_request_descriptor, &request, NULL, NULL));
  // Its address is another worker's; until a heartbeat takes it away, that is what clients hear.
  leat_status_t status = get_element(&s, 0, &asked, &answer);
  assert_true(!status || leat_status_code(status) == LEAT_INTERNAL);
  leat_status_free(status);
  LEAT_EXPECT_OK(begin_job(&s, make_graph(&s, 1, false), &job));
  assert_int_equal(get_number(&s, 0, task_of(&s, &job, 0)), 0);
  close_scene(&s);
}

static void silent_clients_are_given_up(void** state) {
  scene_t s;
  job_t job = {0};
  leat_pb_client_heartbeat_response_t answer;
  leat_status_code_t code = LEAT_OK;
  open_scene(&s, 1, true);
  LEAT_EXPECT_OK(begin_job(&s, make_graph(&s, 2, true), &job));
  leat_clock_sleep_ns(500 * INT64_C(1000000));  // it has not begun, and is not given up
  LEAT_EXPECT_OK(send_heartbeat(&s, &job, &answer));
  for (int tries = 0; code == LEAT_OK && tries < 20; ++tries) {
    leat_clock_sleep_ns(700 * INT64_C(1000000));
    leat_status_t status = send_heartbeat(&s, &job, &answer);
    code = leat_status_code(status);
    leat_status_free(status);
  }
  assert_int_equal(code, LEAT_NOT_FOUND);
  for (int tries = 0; leat_data_server_count(s.workers[0]) && tries < 3000; ++tries) {
    leat_clock_sleep_ns(10000000);
  }
  assert_int_equal(leat_data_server_count(s.workers[0]), 0);
  close_scene(&s);
}

int main(void) {
  const struct CMUnitTest cases[] = {
      cmocka_unit_test(elements_come_once_and_then_the_end),
      cmocka_unit_test(a_late_worker_takes_part),
      cmocka_unit_test(a_client_may_go_away_while_it_waits),
      cmocka_unit_test(a_round_has_an_element_for_each_consumer),
      cmocka_unit_test(consumers_go_on_without_a_worker),
      cmocka_unit_test(each_split_goes_to_one_worker),
      cmocka_unit_test(strangers_are_refused),
      cmocka_unit_test(a_task_that_is_wrong_fails_its_clients_alone),
      cmocka_unit_test(silent_clients_are_given_up),
  };
  return cmocka_run_group_tests(cases, NULL, NULL);
}
