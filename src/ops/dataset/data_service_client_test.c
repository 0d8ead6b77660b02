// The client of tf.data's service against a service that is a table in this file: a carrier
// (kernel/remote_call.h) that answers each call at once, or holds it until it is cancelled. So the
// order of events is the test's, and a call that ends within the function that makes it, which gRPC
// never does, is the rule. Reading from TensorFlow's own processes is
// tests/oracle/data_service_client_oracle.py.
#include "ops/dataset/data_service_client_cpu.h"

#include <string.h>

#include "base/string_builder.h"
#include "base/test.h"
#include "formats/generated/data_service.h"
#include "formats/wire/decode.h"
#include "formats/wire/encode.h"
#include "formats/wire/tensor_content.h"
#include "ops/dataset/data_service_call_cpu.h"
#include "ops/dataset/data_service_task_cpu.h"

// ---- The service --------------------------------------------------------------------------------

enum { TASKS = 3 };

// A call that is held.
struct leat_remote_call_s {
  leat_remote_done_fn_t done;
  void* data;
  int owners;
  bool has_ended;
};

static struct {
  int64_t version;
  const char* holds;  // calls of the method of this name are held
  const char* fails;  // calls of the method of this name fail |failures| times, with |code|
  leat_status_code_t code;
  int failures;
  const char* garbage;  // calls of the method of this name get bytes that are no message
  int task_count;
  int lengths[TASKS];  // elements that tasks have
  int given[TASKS];
  int asked[TASKS];
  bool gives_texts;  // elements are of another type than they must be
  int64_t released;  // the iteration client that was released
  int64_t repetition;
  int calls, versions, beats;
} service;

// Guards the above: heartbeats come from the alarm's thread. No |done| is called with it.
static leat_mutex_t mutex = {PTHREAD_MUTEX_INITIALIZER};

// Ways that are open.
static _Atomic(int) ways;

static bool is_method(const char* path, const char* name) {
  return name && strcmp(strrchr(path, '/') + 1, name) == 0;
}

static leat_status_t answer_heartbeat(leat_arena_t* arena, leat_string_builder_t* out) {
  leat_pb_client_heartbeat_response_t response = {0};
  bool has_all = service.task_count > 0;
  ++service.beats;
  for (int i = 0; i < service.task_count; ++i) has_all &= service.asked[i] > service.lengths[i];
  response.iteration_finished = has_all;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, TASKS, &response.task_info.items));
  for (int i = 0; i < service.task_count; ++i) {
    leat_pb_data_transfer_server_info_t* server;
    leat_pb_task_info_t* info = &response.task_info.items[response.task_info.count++];
    LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 1, &server));
    *server = (leat_pb_data_transfer_server_info_t){.protocol = LEAT_SV("grpc"),
                                                    .address = LEAT_SV("worker:1")};
    info->task_id = i;
    info->worker_address = LEAT_SV("worker:1");
    info->transfer_servers.items = server;
    info->transfer_servers.count = 1;
  }
  return leat_message_encode(&leat_pb_client_heartbeat_response_descriptor, &response, out);
}

// Elements of task t are 100 t, 100 t + 1, ...
static leat_status_t answer_element(leat_string_view_t bytes, leat_arena_t* arena,
                                    leat_string_builder_t* out) {
  leat_pb_get_element_request_t request;
  leat_pb_get_element_response_t response = {0};
  leat_pb_uncompressed_element_t element = {0};
  leat_pb_tensor_proto_t* proto;
  leat_tensor_t tensor = {0};
  LEAT_RETURN_IF_ERROR(
      leat_message_decode(&leat_pb_get_element_request_descriptor, bytes, arena, NULL, &request));
  assert_in_range(request.task_id, 0, TASKS - 1);
  ++service.asked[request.task_id];
  if (service.given[request.task_id] == service.lengths[request.task_id]) {
    response.end_of_sequence = true;
    return leat_message_encode(&leat_pb_get_element_response_descriptor, &response, out);
  }
  if (service.gives_texts) {
    LEAT_RETURN_IF_ERROR(leat_tensor_scalar_string(LEAT_SV("text"), &tensor));
  } else {
    const leat_shape_t scalar = leat_shape_scalar();
    LEAT_RETURN_IF_ERROR(
        leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_INT64, &scalar, &tensor));
    *leat_tensor_data(&tensor, int64_t) = 100 * request.task_id + service.given[request.task_id];
  }
  leat_status_t status = LEAT_NEW(arena, 1, &proto);
  if (!status) status = leat_tensor_to_content(&tensor, arena, proto);
  element.components.items = proto;
  element.components.count = 1;
  response.uncompressed = &element;
  response.element_case = 5;
  if (!status)
    status = leat_message_encode(&leat_pb_get_element_response_descriptor, &response, out);
  if (!status) ++service.given[request.task_id];
  leat_tensor_release(&tensor);
  return status;
}

static leat_status_t answer_iteration(leat_string_view_t bytes, leat_arena_t* arena,
                                      leat_string_builder_t* out) {
  leat_pb_get_or_create_iteration_request_t request;
  const leat_pb_get_or_create_iteration_response_t response = {.iteration_client_id = 77};
  LEAT_RETURN_IF_ERROR(leat_message_decode(&leat_pb_get_or_create_iteration_request_descriptor,
                                           bytes, arena, NULL, &request));
  service.repetition = request.repetition;
  return leat_message_encode(&leat_pb_get_or_create_iteration_response_descriptor, &response, out);
}

static leat_status_t answer(const char* path, leat_string_view_t bytes, leat_arena_t* arena,
                            leat_string_builder_t* out) {
  if (is_method(path, service.garbage)) {
    leat_string_builder_append(out, LEAT_SV("\xff\xff\xff"));
  } else if (is_method(path, "GetVersion")) {
    const leat_pb_get_version_response_t response = {.version = service.version};
    ++service.versions;
    return leat_message_encode(&leat_pb_get_version_response_descriptor, &response, out);
  } else if (is_method(path, "GetOrCreateJob")) {
    const leat_pb_get_or_create_job_response_t response = {.job_id = 5};
    return leat_message_encode(&leat_pb_get_or_create_job_response_descriptor, &response, out);
  } else if (is_method(path, "GetOrCreateIteration")) {
    return answer_iteration(bytes, arena, out);
  } else if (is_method(path, "ClientHeartbeat")) {
    return answer_heartbeat(arena, out);
  } else if (is_method(path, "GetElement")) {
    return answer_element(bytes, arena, out);
  } else if (is_method(path, "ReleaseIterationClient")) {
    leat_pb_release_iteration_client_request_t request;
    LEAT_RETURN_IF_ERROR(leat_message_decode(&leat_pb_release_iteration_client_request_descriptor,
                                             bytes, arena, NULL, &request));
    service.released = request.iteration_client_id;
  }
  return leat_ok_status();
}

// ---- The carrier --------------------------------------------------------------------------------

static leat_status_t fake_open(leat_string_view_t address, leat_remote_way_t** out_way) {
  assert_true(address.size > 0);
  atomic_fetch_add(&ways, 1);
  *out_way = (leat_remote_way_t*)&service;
  return leat_ok_status();
}

static void fake_close(leat_remote_way_t* way) {
  assert_ptr_equal(way, &service);
  atomic_fetch_sub(&ways, 1);
}

static void give_up(leat_remote_call_t* call) {
  if (--call->owners == 0) leat_allocator_free(leat_allocator_system(), call);
}

// Takes one of the failures that calls of |path| are to have.
static bool is_to_fail(const char* path) {
  return is_method(path, service.fails) && service.failures > 0 && service.failures--;
}

static void hold(leat_remote_done_fn_t done, void* data, leat_remote_call_t** out_call) {
  leat_remote_call_t* call;
  LEAT_EXPECT_OK(LEAT_ALLOCATE(leat_allocator_system(), 1, &call));
  *call = (leat_remote_call_t){.done = done, .data = data, .owners = 2};
  *out_call = call;
}

static void fake_call(leat_remote_way_t* way, const leat_remote_request_t* request,
                      leat_remote_done_fn_t done, void* data, leat_remote_call_t** out_call) {
  leat_arena_t arena;
  leat_string_builder_t out;
  leat_status_t status = leat_ok_status();
  (void)way;
  *out_call = NULL;
  leat_arena_initialize(leat_allocator_system(), 256, &arena);
  leat_string_builder_initialize(leat_allocator_system(), &out);
  leat_mutex_lock(&mutex);
  ++service.calls;
  const bool holds = is_method(request->method, service.holds);
  if (is_to_fail(request->method)) {
    status = leat_make_status(service.code, "the service fails");
  } else if (!holds) {
    status = answer(request->method, request->bytes, &arena, &out);
  }
  leat_mutex_unlock(&mutex);
  if (holds) {
    hold(done, data, out_call);
  } else {
    done(data, status, leat_string_builder_view(&out));
  }
  leat_string_builder_deinitialize(&out);
  leat_arena_deinitialize(&arena);
}

static void fake_cancel(leat_remote_call_t* call) {
  if (call->has_ended) return;
  call->has_ended = true;
  call->done(call->data, leat_make_status(LEAT_CANCELLED, "cancelled"), LEAT_SV(""));
  give_up(call);
}

static const leat_remote_carrier_t kFake = {.open = fake_open,
                                            .close = fake_close,
                                            .call = fake_call,
                                            .cancel = fake_cancel,
                                            .call_free = give_up};

// What a thread still holds that was in a pause goes soon.
static int expect_no_ways(void** state) {
  const int64_t deadline_ns = leat_clock_deadline_after_ms(60000);
  (void)state;
  while (atomic_load(&ways) && leat_clock_now_ns() < deadline_ns) leat_clock_sleep_ns(1000000);
  return atomic_load(&ways) ? -1 : 0;
}

static int reset(void** state) {
  (void)state;
  memset(&service, 0, sizeof service);
  service.version = 9;
  leat_remote_carrier_set(&kFake);
  return 0;
}

// ---- Calls --------------------------------------------------------------------------------------

typedef struct outcome_s {
  leat_notification_t ended;
  leat_status_t status;
} outcome_t;

static void on_end(void* data, leat_status_t status, leat_string_view_t bytes) {
  outcome_t* outcome = data;
  (void)bytes;
  outcome->status = status;
  leat_notification_open(&outcome->ended);
}

static const leat_service_question_t kQuestion = {"/service/GetOrCreateJob", "Failed to ask", NULL};

// Asks |count| times, one after the other; the last status. |cancels|: while it is under way.
static leat_status_t ask(int64_t patience_ns, int count, bool cancels) {
  leat_service_peer_t* peer;
  leat_status_t status = leat_ok_status();
  LEAT_EXPECT_OK(leat_service_peer_create(LEAT_SV("dispatcher:1"), true, &peer));
  for (int i = 0; i < count; ++i) {
    outcome_t outcome = {.status = leat_ok_status()};
    leat_cancellation_t* cancellation;
    LEAT_EXPECT_OK(leat_cancellation_create(leat_allocator_system(), &cancellation));
    leat_notification_initialize(&outcome.ended);
    leat_service_call(&(leat_service_request_t){.peer = peer,
                                                .method = &kQuestion,
                                                .gives_up_ns = leat_clock_now_ns() + patience_ns,
                                                .cancellation = cancellation,
                                                .done = on_end,
                                                .data = &outcome});
    if (cancels) leat_cancellation_cancel(cancellation);
    assert_true(leat_notification_wait(&outcome.ended, leat_clock_deadline_after_ms(60000)));
    leat_notification_deinitialize(&outcome.ended);
    leat_cancellation_release(cancellation);
    leat_status_free(status);
    status = outcome.status;
  }
  leat_service_peer_release(peer);
  return status;
}

static void the_version_is_asked_once(void** state) {
  LEAT_EXPECT_OK(ask(0, 3, false));
  assert_int_equal(service.versions, 1);
  assert_int_equal(service.calls, 4);
  service.version = 8;
  LEAT_EXPECT_CODE(LEAT_FAILED_PRECONDITION, ask(INT64_C(1000000000), 1, false));
  assert_int_equal(service.versions, 2);
}

static void failures_that_may_pass_are_tried_again(void** state) {
  service.fails = "GetOrCreateJob";
  service.code = LEAT_UNAVAILABLE;
  service.failures = 2;
  LEAT_EXPECT_OK(ask(INT64_C(10000000000), 1, false));
  assert_int_equal(service.calls, 4);
  service.failures = 2;
  leat_status_t status = ask(0, 1, false);
  assert_string_equal(leat_status_message(status), "Failed to ask: the service fails");
  LEAT_EXPECT_CODE(LEAT_UNAVAILABLE, status);
  assert_int_equal(service.failures, 1);
  service.code = LEAT_NOT_FOUND;
  LEAT_EXPECT_CODE(LEAT_NOT_FOUND, ask(INT64_C(10000000000), 1, false));
  assert_int_equal(service.failures, 0);
}

static void a_cancelled_call_ends(void** state) {
  service.holds = "GetOrCreateJob";
  LEAT_EXPECT_CODE(LEAT_CANCELLED, ask(INT64_MAX / 2, 2, true));
  service.holds = NULL;
  service.fails = "GetOrCreateJob";
  service.code = LEAT_ABORTED;
  service.failures = 1000;
  LEAT_EXPECT_CODE(LEAT_CANCELLED, ask(INT64_MAX / 2, 2, true));
  assert_int_equal(service.failures, 998);
}

static void pauses_grow(void** state) {
  for (int i = 1; i < 100; ++i) {
    const int64_t pause_ns = leat_service_pause_ns(i);
    assert_in_range(pause_ns, 37000000, INT64_C(10000000000));
    if (i > 30) assert_true(pause_ns > INT64_C(7000000000));
  }
  assert_true(leat_service_pause_ns(1) <= 50000000);
}

// ---- Tasks --------------------------------------------------------------------------------------

// Makes the list that of tasks with the given numbers, which starts in |starting_round|.
static leat_status_t tell(leat_service_tasks_t* tasks, const int64_t* ids, size_t count,
                          int64_t starting_round, leat_string_view_t tag) {
  leat_pb_data_transfer_server_info_t server = {.protocol = LEAT_SV("grpc"),
                                                .address = LEAT_SV("worker:1")};
  leat_pb_task_info_t infos[8];
  leat_pb_client_heartbeat_response_t response = {.task_info = {infos, count}};
  for (size_t i = 0; i < count; ++i) {
    infos[i] = (leat_pb_task_info_t){.task_id = ids[i],
                                     .starting_round = starting_round,
                                     .worker_address = LEAT_SV("worker:1"),
                                     .worker_tags = {&tag, tag.size ? 1 : 0},
                                     .transfer_servers = {&server, 1}};
  }
  return leat_service_tasks_update(tasks, &response, LEAT_SV("grpc"), true);
}

static void expect_turn(leat_service_tasks_t* tasks, int64_t id, int64_t round) {
  int64_t got_round;
  leat_service_task_t* task = leat_service_tasks_choose(tasks, 0, &got_round);
  assert_int_equal(task ? task->id : -1, id);
  if (task) assert_int_equal(got_round, round);
}

static void tasks_take_turns(void** state) {
  leat_service_tasks_t tasks;
  leat_service_tasks_initialize(false, &tasks);
  expect_turn(&tasks, -1, 0);
  LEAT_EXPECT_OK(tell(&tasks, (int64_t[]){9, 4, 9, 6}, 4, 0, LEAT_SV("")));
  assert_int_equal(tasks.count, 3);
  expect_turn(&tasks, 9, 0);
  expect_turn(&tasks, 4, 0);
  expect_turn(&tasks, 6, 0);
  expect_turn(&tasks, 9, 1);
  tasks.items[1]->in_use = true;
  expect_turn(&tasks, 6, 1);
  leat_service_tasks_end(&tasks, tasks.items[0]);
  leat_service_tasks_end(&tasks, tasks.items[0]);
  assert_int_equal(tasks.ended_count, 1);
  tasks.items[2]->failures = 1;
  tasks.items[2]->resumes_ns = 5;
  expect_turn(&tasks, -1, 0);
  assert_int_equal(leat_service_tasks_resume_ns(&tasks), 5);
  // The first goes, and one comes.
  LEAT_EXPECT_OK(tell(&tasks, (int64_t[]){4, 6, 1}, 3, 0, LEAT_SV("")));
  assert_int_equal(tasks.ended_count, 0);
  assert_int_equal(tasks.count, 3);
  assert_int_equal(tasks.items[2]->id, 1);
  // Workers in other clients are left out.
  LEAT_EXPECT_OK(tell(&tasks, (int64_t[]){4, 12}, 2, 0, LEAT_SV("Colocated")));
  assert_int_equal(tasks.count, 1);
  assert_true(tasks.leaves_some_out);
  LEAT_EXPECT_OK(tell(&tasks, NULL, 0, 0, LEAT_SV("")));
  expect_turn(&tasks, -1, 0);
  leat_service_tasks_deinitialize(&tasks);
}

static void rounds_are_common(void** state) {
  leat_service_tasks_t tasks;
  leat_service_tasks_initialize(true, &tasks);
  LEAT_EXPECT_OK(tell(&tasks, (int64_t[]){1, 2}, 2, 0, LEAT_SV("")));
  expect_turn(&tasks, 1, 0);
  // Nobody passes a task whose element is still to come.
  tasks.items[1]->in_use = true;
  expect_turn(&tasks, -1, 0);
  tasks.items[1]->in_use = false;
  expect_turn(&tasks, 2, 0);
  tasks.blocked_round = 1;
  expect_turn(&tasks, -1, 0);
  tasks.blocked_round = -1;
  LEAT_EXPECT_OK(tell(&tasks, (int64_t[]){1, 2, 3}, 3, 2, LEAT_SV("")));
  expect_turn(&tasks, 1, 1);
  expect_turn(&tasks, 2, 1);
  expect_turn(&tasks, 1, 2);
  expect_turn(&tasks, 2, 2);
  expect_turn(&tasks, 3, 2);
  leat_service_tasks_deinitialize(&tasks);
}

// ---- Clients ------------------------------------------------------------------------------------

static leat_status_t never_next(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                                leat_poll_t* out_poll) {
  (void)self, (void)pull, (void)out, (void)out_poll;
  return leat_ok_status();
}

static const leat_dataset_kind_t kKind = {.name = "Fake",
                                          .dataset_bytes = sizeof(leat_dataset_t),
                                          .iterator_bytes = sizeof(leat_iterator_t),
                                          .next = never_next,
                                          .cardinality = leat_dataset_unknown_cardinality};

static const leat_service_job_t kJob = {.dataset_id = LEAT_SV("1000"),
                                        .address = LEAT_SV("dispatcher:1"),
                                        .transfer = LEAT_SV("grpc"),
                                        .target_workers = 1,
                                        .consumer_index = -1,
                                        .consumer_count = -1,
                                        .max_outstanding = LEAT_DATASET_AUTOTUNE,
                                        .refresh_ns = 5000000};

// A pull of one element.
typedef struct reading_s {
  leat_pull_t pull;
  leat_service_client_t* client;
  leat_tensor_t element;
  leat_poll_t poll;
  outcome_t outcome;
} reading_t;

static leat_status_t read_step(leat_pull_t* pull, leat_poll_t* out_poll) {
  reading_t* reading = (reading_t*)pull;
  leat_status_t status =
      leat_service_client_take(reading->client, pull, &reading->element, out_poll);
  reading->poll = *out_poll;
  return status;
}

static void read_finish(leat_pull_t* pull, leat_status_t status) {
  on_end(&((reading_t*)pull)->outcome, status, LEAT_SV(""));
}

// Reads one element; -1: the end.
static leat_status_t read_one(leat_service_client_t* client, int64_t* out_value) {
  const leat_step_services_t services = {0};
  reading_t reading = {.pull = {.services = &services, .step = read_step, .finish = read_finish},
                       .client = client};
  leat_notification_initialize(&reading.outcome.ended);
  leat_pull_run(&reading.pull);
  assert_true(leat_notification_wait(&reading.outcome.ended, leat_clock_deadline_after_ms(10000)));
  leat_notification_deinitialize(&reading.outcome.ended);
  if (reading.outcome.status) return reading.outcome.status;
  const bool is_element = reading.poll == LEAT_POLL_ELEMENT;
  *out_value = is_element ? *leat_tensor_data(&reading.element, const int64_t) : -1;
  leat_tensor_release(&reading.element);
  return leat_ok_status();
}

static leat_service_client_t* open_client(const leat_service_job_t* job) {
  leat_element_spec_t* spec;
  leat_dataset_t* dataset;
  leat_service_client_t* client;
  LEAT_EXPECT_OK(leat_element_spec_of_scalar(LEAT_DTYPE_INT64, &spec));
  LEAT_EXPECT_OK(leat_dataset_create(&kKind, spec, 0, 0, &dataset));
  LEAT_EXPECT_OK(leat_service_client_create(dataset, job, 3, &client));
  leat_dataset_release(dataset);
  return client;
}

// Reads up to the end: how many elements came, each of which is seen once.
static leat_status_t read_all(const leat_service_job_t* job, int* out_count) {
  bool seen[100 * TASKS] = {false};
  int64_t value = 0;
  *out_count = 0;
  leat_service_client_t* client = open_client(job);
  leat_status_t status = read_one(client, &value);
  for (; !status && value >= 0; status = read_one(client, &value)) {
    assert_false(seen[value]);
    seen[value] = true;
    ++*out_count;
  }
  leat_service_client_stop(client);
  return status;
}

static void all_elements_are_read(void** state) {
  int count;
  service.task_count = TASKS;
  for (int i = 0; i < TASKS; ++i) service.lengths[i] = 10 + i;
  LEAT_EXPECT_OK(read_all(&kJob, &count));
  assert_int_equal(count, 33);
  assert_int_equal(service.released, 77);
  assert_int_equal(service.repetition, 3);
  assert_int_equal(service.versions, 1);
}

static void no_more_is_asked_than_there_is_room(void** state) {
  leat_service_job_t job = kJob;
  int64_t value;
  job.max_outstanding = 2;
  service.task_count = 1;
  service.lengths[0] = 50;
  leat_service_client_t* client = open_client(&job);
  for (int i = 0; i < 5; ++i) {
    LEAT_EXPECT_OK(read_one(client, &value));
    assert_int_equal(value, i);
    assert_in_range(service.asked[0], i + 1, i + 3);
  }
  leat_service_client_stop(client);
  assert_int_equal(service.released, 77);
}

static void a_worker_that_is_away_is_asked_again(void** state) {
  int count;
  service.task_count = 2;
  service.lengths[0] = service.lengths[1] = 5;
  service.fails = "GetElement";
  service.code = LEAT_UNAVAILABLE;
  service.failures = 3;
  LEAT_EXPECT_OK(read_all(&kJob, &count));
  assert_int_equal(count, 10);
}

static void failures_are_told(void** state) {
  static const char* const methods[] = {"GetElement", "ClientHeartbeat", "GetOrCreateJob",
                                        "GetOrCreateIteration"};
  int count;
  service.task_count = 1;
  service.lengths[0] = 5;
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(methods); ++i) {
    service.fails = methods[i];
    service.code = LEAT_INVALID_ARGUMENT;
    service.failures = 1;
    LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT, read_all(&kJob, &count));
    service.garbage = methods[i];
    LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT, read_all(&kJob, &count));
    service.garbage = NULL;
  }
  service.gives_texts = true;
  LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT, read_all(&kJob, &count));
}

// A client that is stopped while a call is under way, held by the service, ends it.
static void a_stopped_client_is_gone(void** state) {
  static const char* const methods[] = {"GetVersion", "GetOrCreateJob", "GetOrCreateIteration",
                                        "ClientHeartbeat", "GetElement"};
  service.task_count = 2;
  service.lengths[0] = service.lengths[1] = 5;
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(methods); ++i) {
    const leat_step_services_t services = {0};
    service.holds = methods[i];
    reading_t reading = {.pull = {.services = &services, .step = read_step, .finish = read_finish},
                         .client = open_client(&kJob)};
    leat_poll_t poll;
    LEAT_EXPECT_OK(read_step(&reading.pull, &poll));
    assert_int_equal(poll, LEAT_POLL_PENDING);
    leat_service_client_stop(reading.client);
  }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, reset, expect_no_ways)

int main(void) {
  const struct CMUnitTest tests[] = {
      CASE(the_version_is_asked_once),
      CASE(failures_that_may_pass_are_tried_again),
      CASE(a_cancelled_call_ends),
      CASE(pauses_grow),
      CASE(tasks_take_turns),
      CASE(rounds_are_common),
      CASE(all_elements_are_read),
      CASE(no_more_is_asked_than_there_is_room),
      CASE(a_worker_that_is_away_is_asked_again),
      CASE(failures_are_told),
      CASE(a_stopped_client_is_gone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
