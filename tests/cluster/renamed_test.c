// Sessions that name the tasks of the cluster otherwise (ConfigProto.cluster_def): the two servers,
// started as "worker" and "ps", are "front" and "back", or the other way round, for one session,
// while other sessions go on to use their own names. Exchanged names are the hard case, since a
// name that is not translated somewhere would still lead to a task, only to the wrong one. Values
// go both ways between the tasks, failures name the task as the session does, and closing ends
// steps. The state of such a session is its own, and its own master must be among the tasks.
#include <math.h>
#include <string.h>

#include "cluster/cluster_scene.h"
#include "formats/generated/config.h"
#include "formats/wire/encode.h"
#include "graph/import/export.h"

#define MASTER(method) "/tensorflow.MasterService/" method

// Opens a session at the worker, which is task 0 of |own|; the ps is task 0 of |other|.
static void open_named(cluster_scene_t* cluster, const char* own, const char* other,
                       const char* address, leat_status_code_t code, char out_handle[32]) {
  leat_pb_job_def_tasks_entry_t entries[2] = {
      {.value = leat_string_view_from(address)},
      {.value = leat_string_view_from(cluster->addresses[CLUSTER_PS])}};
  leat_pb_job_def_t jobs[2] = {{.name = leat_string_view_from(own), .tasks = {entries, 1}},
                               {.name = leat_string_view_from(other), .tasks = {entries + 1, 1}}};
  leat_pb_cluster_def_t def = {.job = {jobs, 2}};
  leat_pb_config_proto_t config = {.cluster_def = &def};
  leat_string_builder_t bytes, graph;
  char target[64];
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  leat_string_builder_initialize(leat_allocator_system(), &graph);
  LEAT_EXPECT_OK(leat_message_encode(&leat_pb_config_proto_descriptor, &config, &bytes));
  LEAT_EXPECT_OK(leat_graph_export(cluster->scene.graph, &graph));
  snprintf(target, sizeof target, "grpc://%s", cluster->addresses[CLUSTER_WORKER]);
  const leat_pb_create_session_request_t request = {.graph_def = leat_string_builder_view(&graph),
                                                    .config = leat_string_builder_view(&bytes),
                                                    .target = leat_string_view_from(target)};
  leat_pb_create_session_response_t response = {0};
  cluster_call_t call;
  cluster_call_start(cluster, CLUSTER_WORKER, MASTER("CreateSession"),
                     &leat_pb_create_session_request_descriptor, &request, &call);
  cluster_call_expect(&call, code, "", &leat_pb_create_session_response_descriptor, &response);
  snprintf(out_handle, 32, "%.*s", LEAT_SV_ARG(response.session_handle));
  cluster_call_free(&call);
  leat_string_builder_deinitialize(&graph);
  leat_string_builder_deinitialize(&bytes);
}

// y = check(-x) on the one task, z = x y on the other.
static void build_product(cluster_scene_t* cluster, const char* near, const char* far) {
  const leat_output_t x = scene_placeholder(&cluster->scene, "x", LEAT_DTYPE_FLOAT);
  const leat_output_t y =
      scene_output(&cluster->scene, "Neg", "y", far, LEAT_INPUTS(x), LEAT_NO_ATTRS);
  const leat_output_t checked =
      scene_output(&cluster->scene, "CheckNumerics", "checked", far, LEAT_INPUTS(y),
                   LEAT_ATTRS(LEAT_STR("message", "not a number")));
  scene_output(&cluster->scene, "Mul", "z", near, LEAT_INPUTS(x, checked), LEAT_NO_ATTRS);
}

static bool has_name(const leat_pb_device_attributes_list_t* list, const char* name) {
  return list->count == 1 && leat_string_view_equals(list->items[0].name, name);
}

static void steps_run_under_other_names(void** state) {
  cluster_scene_t* cluster = *state;
  char handle[32];
  build_product(cluster, "/job:front/task:0", "/job:back/task:0");
  open_named(cluster, "front", "back", cluster->addresses[CLUSTER_WORKER], LEAT_OK, handle);
  for (int i = 1; i < 5; ++i) {
    const float x = (float)i;
    assert_true(cluster_step(cluster, handle, "z", NULL, "x", x, LEAT_OK, "") == -x * x);
  }
  // Failures name the task as the session does.
  cluster_step(cluster, handle, "z", NULL, "x", (float)NAN, LEAT_INVALID_ARGUMENT,
               "/job:back/replica:0/task:0");
  const leat_pb_list_devices_request_t request = {.session_handle = leat_string_view_from(handle)};
  leat_pb_list_devices_response_t response;
  cluster_call_t call;
  cluster_call_start(cluster, CLUSTER_WORKER, MASTER("ListDevices"),
                     &leat_pb_list_devices_request_descriptor, &request, &call);
  cluster_call_expect(&call, LEAT_OK, "", &leat_pb_list_devices_response_descriptor, &response);
  assert_true(has_name(&response.local_device, "/job:front/replica:0/task:0/device:CPU:0"));
  assert_true(has_name(&response.remote_device, "/job:back/replica:0/task:0/device:CPU:0"));
  cluster_call_free(&call);
  cluster_session_close(cluster, handle);
}

// Names that the other task has otherwise: what is meant is the session's.
static void names_may_be_exchanged(void** state) {
  cluster_scene_t* cluster = *state;
  char renamed[32], plain[32];
  build_product(cluster, "/job:ps/task:0", "/job:worker/task:0");
  open_named(cluster, "ps", "worker", cluster->addresses[CLUSTER_WORKER], LEAT_OK, renamed);
  cluster_session_open(cluster, plain);
  for (int i = 1; i < 5; ++i) {
    const float x = (float)i;
    assert_true(cluster_step(cluster, renamed, "z", NULL, "x", x, LEAT_OK, "") == -x * x);
    assert_true(cluster_step(cluster, plain, "z", NULL, "x", x, LEAT_OK, "") == -x * x);
  }
  cluster_session_close(cluster, renamed);
  cluster_step(cluster, renamed, "z", NULL, "x", 1, LEAT_ABORTED, "is not found");
  assert_true(cluster_step(cluster, plain, "z", NULL, "x", 2, LEAT_OK, "") == -4);
  cluster_session_close(cluster, plain);
  // The names of before are found again.
  open_named(cluster, "ps", "worker", cluster->addresses[CLUSTER_WORKER], LEAT_OK, renamed);
  assert_true(cluster_step(cluster, renamed, "z", NULL, "x", 3, LEAT_OK, "") == -9);
  cluster_session_close(cluster, renamed);
}

// A step that waits ends with its session, also under other names.
static void closing_ends_steps(void** state) {
  cluster_scene_t* cluster = *state;
  cluster_step_t step;
  char handle[32];
  cluster_build_queue(cluster);  // on the ps, which keeps its name
  open_named(cluster, "worker", "ps", cluster->addresses[CLUSTER_WORKER], LEAT_OK, handle);
  cluster_start_waiting_step(cluster, handle, &step);
  cluster_session_close(cluster, handle);
  assert_int_equal(cluster_step_end(&step), LEAT_CANCELLED);
  cluster_step_free(&step);
}

// The state of such a session is its own: its queue is not that of the others.
static void state_is_not_shared(void** state) {
  cluster_scene_t* cluster = *state;
  cluster_step_t step;
  char plain[32], renamed[32];
  cluster_build_queue(cluster);
  cluster_session_open(cluster, plain);
  open_named(cluster, "worker", "ps", cluster->addresses[CLUSTER_WORKER], LEAT_OK, renamed);
  cluster_step(cluster, renamed, NULL, "put", "fed", 5, LEAT_OK, "");
  cluster_start_waiting_step(cluster, plain, &step);
  assert_false(atomic_load(&step.call.end.times));
  assert_true(cluster_step(cluster, renamed, "away", NULL, NULL, 0, LEAT_OK, "") == -5);
  cluster_step(cluster, plain, NULL, "put", "fed", 6, LEAT_OK, "");
  assert_int_equal(cluster_step_end(&step), LEAT_OK);
  cluster_step_free(&step);
  cluster_session_close(cluster, plain);
  cluster_session_close(cluster, renamed);
}

static void a_master_must_be_in_the_cluster(void** state) {
  char handle[32];
  open_named(*state, "front", "back", "127.0.0.1:1", LEAT_INVALID_ARGUMENT, handle);
}

int main(void) {
#define TEST(name) \
  cmocka_unit_test_setup_teardown(name, cluster_scene_set_up, cluster_scene_tear_down)
  const struct CMUnitTest tests[] = {
      TEST(steps_run_under_other_names),
      TEST(names_may_be_exchanged),
      TEST(closing_ends_steps),
      TEST(state_is_not_shared),
      TEST(a_master_must_be_in_the_cluster),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
