// The tables of a dispatcher without a network: what ids are given, which requests are refused, how
// tasks and iterations come to their end, and how consumers of a coordinated read agree on the
// round in which they read a new worker. Ids are those that TensorFlow 2.21's dispatcher gives.
#include "data_service/dispatcher_state.h"

#include <string.h>

#include "base/clock.h"
#include "base/test.h"

static int set_up(void** state) {
  static leat_dispatcher_state_t s;
  const leat_pb_string_list_t none = {0};
  LEAT_EXPECT_OK(leat_dispatcher_state_initialize(leat_allocator_system(), &none, &s));
  *state = &s;
  return 0;
}

static int tear_down(void** state) {
  leat_dispatcher_state_deinitialize(*state);
  return 0;
}

static leat_data_dataset_t* add_dataset(leat_dispatcher_state_t* s, const char* id) {
  leat_data_dataset_t* dataset;
  leat_string_view_t name = leat_string_view_from(id);
  if (!name.size) LEAT_EXPECT_OK(leat_dispatcher_make_dataset_id(s, &s->arena, &name));
  LEAT_EXPECT_OK(leat_dispatcher_match_dataset(s, name, NULL, &dataset));
  if (dataset) return dataset;
  LEAT_EXPECT_OK(leat_dispatcher_add_dataset(s, name, LEAT_SV("graph"), NULL, &dataset));
  return dataset;
}

// As a client's request has it.
static leat_status_t find_or_add_job(leat_dispatcher_state_t* s,
                                     const leat_pb_get_or_create_job_request_t* request,
                                     leat_data_job_t** out_job) {
  leat_pb_get_or_create_job_request_t named = *request;
  LEAT_RETURN_IF_ERROR(leat_dispatcher_match_job(s, request, out_job));
  if (*out_job) return leat_ok_status();
  if (!named.optional_job_name_case) {
    LEAT_RETURN_IF_ERROR(leat_dispatcher_make_job_name(s, &s->arena, &named.job_name));
  }
  return leat_dispatcher_add_job(s, &named, out_job);
}

static leat_data_worker_record_t* add_worker(leat_dispatcher_state_t* s, const char* address) {
  leat_data_worker_record_t* worker;
  const leat_pb_worker_heartbeat_request_t request = {
      .worker_address = leat_string_view_from(address)};
  LEAT_EXPECT_OK(leat_dispatcher_add_worker(s, &request, &worker));
  return worker;
}

static leat_data_iteration_t* add_iteration(leat_dispatcher_state_t* s, int64_t num_consumers) {
  leat_data_job_t* job;
  leat_data_iteration_t* iteration;
  const leat_pb_get_or_create_job_request_t request = {
      .dataset_id = add_dataset(s, "")->id,
      .num_consumers = num_consumers,
      .optional_num_consumers_case = num_consumers ? 4 : 0};
  LEAT_EXPECT_OK(find_or_add_job(s, &request, &job));
  LEAT_EXPECT_OK(leat_dispatcher_add_iteration(s, job, 0, 0, &iteration));
  return iteration;
}

// ---- Datasets -----------------------------------------------------------------------------------

static void datasets_have_the_ids_that_are_asked_for(void** state) {
  leat_dispatcher_state_t* s = *state;
  leat_data_dataset_t* found;
  assert_true(leat_string_view_equals(add_dataset(s, "")->id, "1000"));
  assert_true(leat_string_view_equals(add_dataset(s, "1001")->id, "1001"));
  assert_true(leat_string_view_equals(add_dataset(s, "")->id, "1002"));
  leat_data_dataset_t* mine = add_dataset(s, "mine");
  assert_ptr_equal(add_dataset(s, "mine"), mine);
  LEAT_EXPECT_OK(leat_dispatcher_find_dataset(s, LEAT_SV("mine"), &found));
  assert_ptr_equal(found, mine);
  assert_true(leat_string_view_equals(mine->def.graph, "graph"));
  LEAT_EXPECT_CODE(LEAT_NOT_FOUND, leat_dispatcher_find_dataset(s, LEAT_SV("none"), &found));
}

static void an_id_stands_for_one_kind_of_elements(void** state) {
  leat_data_dataset_t* found;
  const leat_pb_data_service_metadata_t first = {
      .optional_element_spec_case = 1, .element_spec = LEAT_SV("int"), .cardinality = 5};
  leat_pb_data_service_metadata_t second = first;
  LEAT_EXPECT_OK(
      leat_dispatcher_add_dataset(*state, LEAT_SV("a"), LEAT_SV("g"), &first, &found));
  second.cardinality = 7;
  LEAT_EXPECT_OK(leat_dispatcher_match_dataset(*state, LEAT_SV("a"), &second, &found));
  assert_int_equal(found->metadata.cardinality, 5);
  second.compression = LEAT_PB_DATA_SERVICE_METADATA_COMPRESSION_COMPRESSION_OFF;
  LEAT_EXPECT_CODE(
      LEAT_INVALID_ARGUMENT,
      leat_dispatcher_match_dataset(*state, LEAT_SV("a"), &second, &found));
}

// ---- Workers ------------------------------------------------------------------------------------

static void announced_workers_have_an_index(void** state) {
  leat_string_view_t texts[] = {LEAT_SV("a:1"), LEAT_SV("b"), LEAT_SV("b:%port_x%"),
                                LEAT_SV("[::1]")};
  const leat_pb_string_list_t list = {texts, LEAT_ARRAY_SIZE(texts)};
  const struct {
    const char* address;
    int64_t index;  // below 0: refused
  } kCases[] = {{"b:7", 1}, {"b:8", 2}, {"a:1", 0}, {"a:2", -1}, {"b:9", -1}, {"bb:7", -1},
                {"[::1]:5", 3}, {"c:1", -1}};
  leat_dispatcher_state_t s;
  LEAT_EXPECT_OK(leat_dispatcher_state_initialize(leat_allocator_system(), &list, &s));
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kCases); ++i) {
    leat_data_worker_record_t* worker;
    const leat_pb_worker_heartbeat_request_t request = {
        .worker_address = leat_string_view_from(kCases[i].address)};
    leat_status_t status = leat_dispatcher_check_worker(&s, request.worker_address);
    if (!status) status = leat_dispatcher_add_worker(&s, &request, &worker);
    if (kCases[i].index < 0) {
      LEAT_EXPECT_CODE(LEAT_FAILED_PRECONDITION, status);
    } else {
      LEAT_EXPECT_OK(status);
      assert_int_equal(worker->index, kCases[i].index);
    }
  }
  assert_int_equal(s.worker_count, 4);
  leat_dispatcher_state_deinitialize(&s);
}

// ---- Jobs ---------------------------------------------------------------------------------------

static void jobs_of_one_name_are_one(void** state) {
  leat_data_job_t *job, *other;
  leat_pb_get_or_create_job_request_t request = {.dataset_id = add_dataset(*state, "")->id,
                                                 .optional_job_name_case = 3,
                                                 .job_name = LEAT_SV("j")};
  LEAT_EXPECT_OK(find_or_add_job(*state, &request, &job));
  assert_int_equal(job->id, 5000);
  LEAT_EXPECT_OK(find_or_add_job(*state, &request, &other));
  assert_ptr_equal(other, job);
  request.use_cross_trainer_cache = true;
  LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT,
                   find_or_add_job(*state, &request, &other));
  request.optional_job_name_case = 0;
  LEAT_EXPECT_OK(find_or_add_job(*state, &request, &other));
  assert_int_equal(other->id, 5001);
}

static void jobs_that_make_no_sense_are_refused(void** state) {
  leat_data_job_t* job;
  leat_pb_processing_mode_def_t mode = {.sharding_policy = 6};
  leat_pb_get_or_create_job_request_t request = {.dataset_id = LEAT_SV("none")};
  LEAT_EXPECT_CODE(LEAT_NOT_FOUND, find_or_add_job(*state, &request, &job));
  request.dataset_id = add_dataset(*state, "")->id;
  request.processing_mode_def = &mode;
  LEAT_EXPECT_CODE(LEAT_INTERNAL, find_or_add_job(*state, &request, &job));
  mode.sharding_policy = 0;
  request.optional_num_consumers_case = 4;
  for (int i = 0; i < 2; ++i) {
    request.num_consumers = i ? INT64_MAX : 0;
    LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT,
                     find_or_add_job(*state, &request, &job));
  }
  LEAT_EXPECT_CODE(LEAT_NOT_FOUND, leat_dispatcher_find_job(*state, INT64_MIN, &job));
}

// ---- Tasks --------------------------------------------------------------------------------------

static void an_iteration_ends_with_its_last_task(void** state) {
  leat_data_worker_record_t* workers[] = {add_worker(*state, "a:1"), add_worker(*state, "b:1")};
  leat_data_iteration_t* iteration = add_iteration(*state, 0);
  leat_data_task_t *tasks[2], *found;
  for (int i = 0; i < 2; ++i) {
    LEAT_EXPECT_OK(leat_dispatcher_add_task(*state, iteration, workers[i], &tasks[i]));
  }
  assert_int_equal(tasks[0]->id, 4000);
  assert_ptr_equal(iteration->tasks, tasks[0]);
  leat_data_task_finish(tasks[1]);
  assert_false(iteration->is_finished);
  assert_null(workers[1]->tasks);
  assert_non_null(workers[0]->tasks);
  leat_data_task_finish(tasks[0]);
  assert_true(iteration->is_finished);
  LEAT_EXPECT_OK(leat_dispatcher_find_task(*state, 4001, &found));
  assert_ptr_equal(found, tasks[1]);
}

static void a_collected_iteration_gives_way_to_a_new_one(void** state) {
  leat_data_worker_record_t* worker = add_worker(*state, "a:1");
  leat_data_iteration_t* iteration = add_iteration(*state, 0);
  leat_data_client_t *client, *found;
  leat_data_task_t* task;
  LEAT_EXPECT_OK(leat_dispatcher_add_task(*state, iteration, worker, &task));
  LEAT_EXPECT_OK(leat_dispatcher_add_client(*state, iteration, &client));
  assert_int_equal(client->id, 3000);
  assert_ptr_equal(leat_data_job_find_iteration(iteration->job, 0), iteration);
  assert_null(leat_data_job_find_iteration(iteration->job, 1));
  leat_data_client_release(client, 17);
  assert_int_equal(iteration->client_count, 0);
  assert_int_equal(iteration->released_ns, 17);
  LEAT_EXPECT_CODE(LEAT_NOT_FOUND, leat_dispatcher_find_client(*state, 3000, &found));
  leat_data_iteration_collect(iteration);
  assert_true(iteration->is_finished && task->is_finished);
  assert_null(worker->tasks);
  assert_null(leat_data_job_find_iteration(iteration->job, 0));
}

static void a_removed_task_is_gone(void** state) {
  leat_data_worker_record_t* worker = add_worker(*state, "a:1");
  leat_data_iteration_t* iteration = add_iteration(*state, 1);
  leat_data_task_t *tasks[3], *found;
  for (int i = 0; i < 2; ++i) {
    LEAT_EXPECT_OK(leat_dispatcher_add_task(*state, iteration, worker, &tasks[i]));
  }
  leat_data_task_remove(tasks[1]);
  LEAT_EXPECT_CODE(LEAT_NOT_FOUND, leat_dispatcher_find_task(*state, tasks[1]->id, &found));
  LEAT_EXPECT_OK(leat_dispatcher_add_task(*state, iteration, worker, &tasks[2]));
  assert_ptr_equal(iteration->tasks->next, tasks[2]);
  assert_null(tasks[2]->next);
}

// ---- Rounds -------------------------------------------------------------------------------------

static void tell(leat_data_client_t* client, int64_t current, int64_t blocked) {
  const leat_pb_client_heartbeat_request_t request = {
      .optional_current_round_case = 2,
      .current_round = current,
      .optional_blocked_round_case = blocked ? 4 : 0,
      .blocked_round = blocked};
  int64_t round;
  bool stops;
  leat_data_client_judge_rounds(client, &request, &round, &stops);
  if (round >= 0 || stops) leat_data_client_apply_rounds(client, round, stops);
}

static void consumers_agree_on_the_round_of_a_new_task(void** state) {
  leat_data_worker_record_t* worker = add_worker(*state, "a:1");
  leat_data_iteration_t* iteration = add_iteration(*state, 2);
  leat_data_client_t* clients[2];
  for (int i = 0; i < 2; ++i) {
    LEAT_EXPECT_OK(leat_dispatcher_add_client(*state, iteration, &clients[i]));
  }
  tell(clients[0], 10, 0);
  LEAT_EXPECT_OK(leat_dispatcher_add_pending_task(*state, iteration, worker, iteration->round + 1));
  assert_int_equal(iteration->pending->target_round, 11);
  assert_non_null(worker->tasks);
  assert_null(iteration->tasks);
  tell(clients[0], 10, 11);
  tell(clients[0], 10, 11);  // who says it twice counts once
  assert_non_null(iteration->pending);
  tell(clients[1], 12, 0);  // too late: further by 2, then by 4
  assert_int_equal(iteration->pending->target_round, 14);
  tell(clients[1], 14, 0);
  assert_int_equal(iteration->pending->target_round, 18);
  tell(clients[1], 15, 18);
  assert_non_null(iteration->pending);
  tell(clients[0], 15, 18);
  assert_null(iteration->pending);
  assert_int_equal(iteration->tasks->starting_round, 18);
  tell(clients[0], INT64_MAX, 0);  // which would overflow
  assert_int_equal(iteration->round, 15);
}

int main(void) {
  const struct CMUnitTest cases[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
      CASE(datasets_have_the_ids_that_are_asked_for),
      CASE(an_id_stands_for_one_kind_of_elements),
      CASE(announced_workers_have_an_index),
      CASE(jobs_of_one_name_are_one),
      CASE(jobs_that_make_no_sense_are_refused),
      CASE(an_iteration_ends_with_its_last_task),
      CASE(a_collected_iteration_gives_way_to_a_new_one),
      CASE(a_removed_task_is_gone),
      CASE(consumers_agree_on_the_round_of_a_new_task),
  };
  return cmocka_run_group_tests(cases, NULL, NULL);
}
