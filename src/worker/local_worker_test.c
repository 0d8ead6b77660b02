// The worker by its interface: graphs by handle, steps by id, aborts at any time, receiving.
#include "worker/local_worker.h"

#include "base/clock.h"
#include "kernel/resource.h"
#include "session/scene.h"

#define DEVICE "/job:localhost/replica:0/task:0/device:CPU:0"
#define OTHER "/job:localhost/replica:0/task:0/device:CPU:1"

typedef struct fixture_s {
  scene_t scene;
  leat_thread_pool_t* pool;
  leat_device_t* devices[2];
  leat_worker_t* worker;
} fixture_t;

static int set_up(void** state) {
  static fixture_t f;
  f = (fixture_t){0};
  scene_open(&f.scene);
  leat_allocator_t* allocator = leat_allocator_system();
  LEAT_EXPECT_OK(leat_thread_pool_create(2, allocator, &f.pool));
  LEAT_EXPECT_OK(leat_cpu_device_create(LEAT_SV(DEVICE), f.pool, allocator, &f.devices[0]));
  LEAT_EXPECT_OK(leat_cpu_device_create(LEAT_SV(OTHER), f.pool, allocator, &f.devices[1]));
  leat_local_worker_options_t options = {.devices = f.devices,
                                         .device_count = 2,
                                         .kernels = f.scene.runtime->kernels,
                                         .pool = f.pool,
                                         .allocator = allocator};
  LEAT_EXPECT_OK(leat_local_worker_create(&options, &f.worker));
  *state = &f;
  return 0;
}

static int tear_down(void** state) {
  fixture_t* f = *state;
  f->worker->vtable->destroy(f->worker);
  leat_device_release(f->devices[0]);
  leat_device_release(f->devices[1]);
  leat_thread_pool_release(f->pool);
  scene_close(&f->scene);
  return 0;
}

// What |done| brought.
typedef struct outcome_s {
  leat_notification_t done;
  leat_status_t status;
  leat_tensor_t fetched;
} outcome_t;

static void note(void* data, leat_status_t status) {
  outcome_t* outcome = data;
  outcome->status = status;
  leat_notification_open(&outcome->done);
}

static void prepare(outcome_t* outcome) {
  *outcome = (outcome_t){0};
  leat_notification_initialize(&outcome->done);
}

static void expect(outcome_t* outcome, leat_status_code_t code, const char* text) {
  assert_true(leat_notification_wait(&outcome->done,
                                     leat_clock_now_ns() + INT64_C(20000000000)));
  leat_notification_deinitialize(&outcome->done);
  scene_expect(outcome->status, code, text);
}

static leat_status_t enroll_graph(fixture_t* f, const leat_graph_t* graph, const char* device,
                                  const leat_output_t* fetch, leat_executor_kind_t executor,
                                  uint64_t* out_handle) {
  leat_graph_t* child;
  LEAT_EXPECT_OK(leat_graph_create_child(graph, &child));
  for (size_t i = 0; i < graph->node_count; ++i) {
    const leat_node_t* node = &graph->nodes[i];
    int32_t copy;
    LEAT_EXPECT_OK(leat_graph_copy_node(child, node, node->inputs, node->input_count,
                                        node->control_count, &copy));
  }
  leat_register_request_t request = {.graph = child,
                                     .device = leat_string_view_from(device),
                                     .fetches = fetch,
                                     .fetch_count = fetch != NULL,
                                     .executor = executor};
  outcome_t outcome;
  prepare(&outcome);
  f->worker->vtable->register_graph(f->worker, &request, out_handle, note, &outcome);
  leat_notification_wait(&outcome.done, LEAT_DEADLINE_NEVER);
  leat_notification_deinitialize(&outcome.done);
  return outcome.status;
}

static leat_status_t enroll(fixture_t* f, const char* device, const leat_output_t* fetch,
                            leat_executor_kind_t executor, uint64_t* out_handle) {
  return enroll_graph(f, f->scene.graph, device, fetch, executor, out_handle);
}

static void run(fixture_t* f, uint64_t handle, int64_t step, outcome_t* outcome) {
  prepare(outcome);
  leat_run_request_t request = {.handle = handle,
                                .step_id = step,
                                .fetches = &outcome->fetched,
                                .deadline_ns = LEAT_DEADLINE_NEVER};
  f->worker->vtable->run_graph(f->worker, &request, note, outcome);
}

static void abort_step(fixture_t* f, int64_t step, leat_status_code_t code, const char* text) {
  f->worker->vtable->abort_step(f->worker, step, leat_make_status(code, "%s", text));
}

static void handles(void** state) {
  fixture_t* f = *state;
  leat_output_t y = scene_unary(&f->scene, "Neg", -1, scene_float(&f->scene, 2));
  uint64_t first, second;
  outcome_t outcome;
  LEAT_EXPECT_OK(enroll(f, DEVICE, &y, LEAT_EXECUTOR_AUTOMATIC, &first));
  LEAT_EXPECT_OK(enroll(f, OTHER, &y, LEAT_EXECUTOR_DATAFLOW, &second));
  assert_int_not_equal(first, second);
  for (int i = 0; i < 2; ++i) {
    run(f, i ? second : first, 1 + i, &outcome);
    expect(&outcome, LEAT_OK, "");
    assert_true(leat_tensor_data(&outcome.fetched, const float)[0] == -2);
    leat_tensor_release(&outcome.fetched);
  }
  f->worker->vtable->deregister_graph(f->worker, first);
  f->worker->vtable->deregister_graph(f->worker, first);
  f->worker->vtable->deregister_graph(f->worker, 12345);
  run(f, first, 3, &outcome);
  expect(&outcome, LEAT_ABORTED, "not registered");
  run(f, 12345, 3, &outcome);
  expect(&outcome, LEAT_ABORTED, "not registered");
  scene_expect(enroll(f, "/job:x/device:CPU:0", &y, LEAT_EXECUTOR_AUTOMATIC, &first),
               LEAT_NOT_FOUND, "/job:x/device:CPU:0");
}

// A graph that is let go while it runs lives until its step ends.
static void deregistered_while_running(void** state) {
  fixture_t* f = *state;
  leat_output_t y = scene_wait(&f->scene, 1, -1, scene_float(&f->scene, 2));
  uint64_t handle;
  outcome_t outcome;
  LEAT_EXPECT_OK(enroll(f, DEVICE, &y, LEAT_EXECUTOR_AUTOMATIC, &handle));
  run(f, handle, 7, &outcome);
  assert_int_equal(probe_waiting(1), 1);
  f->worker->vtable->deregister_graph(f->worker, handle);
  probe_open(1);
  expect(&outcome, LEAT_OK, "");
  leat_tensor_release(&outcome.fetched);
}

static void aborts_come_early_late_and_twice(void** state) {
  fixture_t* f = *state;
  leat_output_t y = scene_wait(&f->scene, 1, -1, scene_float(&f->scene, 2));
  uint64_t handle;
  outcome_t outcome;
  LEAT_EXPECT_OK(enroll(f, DEVICE, &y, LEAT_EXECUTOR_AUTOMATIC, &handle));
  abort_step(f, 1, LEAT_UNAVAILABLE, "first");
  abort_step(f, 1, LEAT_INTERNAL, "second");
  run(f, handle, 1, &outcome);
  expect(&outcome, LEAT_UNAVAILABLE, "first");
  run(f, handle, 1, &outcome);  // remembered
  expect(&outcome, LEAT_UNAVAILABLE, "first");
  run(f, handle, 2, &outcome);  // others are not touched
  assert_int_equal(probe_waiting(1), 1);
  abort_step(f, 2, LEAT_DATA_LOSS, "now");
  abort_step(f, 2, LEAT_INTERNAL, "again");
  expect(&outcome, LEAT_DATA_LOSS, "now");
  f->worker->vtable->cleanup_step(f->worker, 1);
  f->worker->vtable->cleanup_step(f->worker, 2);
  f->worker->vtable->cleanup_step(f->worker, 99);
  run(f, handle, 1, &outcome);  // forgotten
  probe_open(1);
  expect(&outcome, LEAT_OK, "");
  leat_tensor_release(&outcome.fetched);
}

static void abort_all_ends_every_step(void** state) {
  fixture_t* f = *state;
  leat_output_t y = scene_wait(&f->scene, 1, -1, scene_float(&f->scene, 2));
  uint64_t handle;
  outcome_t outcomes[5];
  LEAT_EXPECT_OK(enroll(f, DEVICE, &y, LEAT_EXECUTOR_AUTOMATIC, &handle));
  for (int i = 0; i < 5; ++i) run(f, handle, i / 2, &outcomes[i]);  // two runs of a step
  f->worker->vtable->abort_all(f->worker, leat_make_status(LEAT_CANCELLED, "all end"));
  for (int i = 0; i < 5; ++i) expect(&outcomes[i], LEAT_CANCELLED, "all end");
}

// ---- Sending and receiving ----------------------------------------------------------------------

#define EDGE_ATTRS(type)                                                              \
  LEAT_ATTRS(LEAT_TYPE(type, LEAT_DTYPE_FLOAT), LEAT_STR("tensor_name", "edge"),      \
             LEAT_STR("send_device", DEVICE), LEAT_INT("send_device_incarnation", 5), \
             LEAT_STR("recv_device", OTHER))
#define EDGE_KEY LEAT_SV(DEVICE ";0000000000000005;" OTHER ";edge;0:0")

typedef struct reception_s {
  outcome_t outcome;
  leat_slot_t slot;
} reception_t;

static void receive(fixture_t* f, int64_t step, reception_t* reception) {
  *reception = (reception_t){0};
  leat_notification_initialize(&reception->outcome.done);
  f->worker->vtable->receive_tensor(f->worker, step, EDGE_KEY, &reception->slot, note,
                                    &reception->outcome);
}

static void tensors_are_received_before_and_after(void** state) {
  fixture_t* f = *state;
  scene_node(&f->scene, "_Send", "", "", LEAT_INPUTS(scene_float(&f->scene, 3)), EDGE_ATTRS("T"));
  uint64_t handle;
  outcome_t outcome;
  reception_t reception;
  LEAT_EXPECT_OK(enroll(f, DEVICE, NULL, LEAT_EXECUTOR_AUTOMATIC, &handle));
  for (int64_t step = 1; step <= 2; ++step) {
    if (step == 1) receive(f, step, &reception);
    run(f, handle, step, &outcome);
    expect(&outcome, LEAT_OK, "");
    if (step == 2) receive(f, step, &reception);
    expect(&reception.outcome, LEAT_OK, "");
    assert_true(leat_tensor_data(&reception.slot.tensor, const float)[0] == 3);
    leat_slot_release(&reception.slot);
    f->worker->vtable->cleanup_step(f->worker, step);
  }
}

// What was on its way when the session was closed: a run, a reception, a feed.
static void abort_all_ends_steps_to_come(void** state) {
  fixture_t* f = *state;
  leat_output_t y = scene_wait(&f->scene, 1, -1, scene_float(&f->scene, 2));
  uint64_t handle;
  outcome_t outcome;
  reception_t reception;
  leat_slot_t slot = {.tensor = scene_value(1), .alive = true};
  LEAT_EXPECT_OK(enroll(f, DEVICE, &y, LEAT_EXECUTOR_AUTOMATIC, &handle));
  f->worker->vtable->abort_all(f->worker, leat_make_status(LEAT_CANCELLED, "the end"));
  run(f, handle, 7, &outcome);
  expect(&outcome, LEAT_CANCELLED, "the end");
  receive(f, 8, &reception);
  expect(&reception.outcome, LEAT_CANCELLED, "the end");
  prepare(&outcome);
  f->worker->vtable->send_tensor(f->worker, 9, EDGE_KEY, slot, note, &outcome);
  expect(&outcome, LEAT_CANCELLED, "the end");
}

static void receivers_hear_of_aborts(void** state) {
  fixture_t* f = *state;
  leat_output_t y = scene_output(&f->scene, "_Recv", "", "", LEAT_NO_INPUTS,
                                 EDGE_ATTRS("tensor_type"));
  uint64_t handle;
  outcome_t outcome;
  reception_t reception;
  LEAT_EXPECT_OK(enroll(f, OTHER, &y, LEAT_EXECUTOR_AUTOMATIC, &handle));
  run(f, handle, 1, &outcome);
  receive(f, 2, &reception);
  abort_step(f, 1, LEAT_ABORTED, "gone");
  abort_step(f, 2, LEAT_ABORTED, "gone too");
  expect(&outcome, LEAT_ABORTED, "gone");
  expect(&reception.outcome, LEAT_ABORTED, "gone too");
  receive(f, 2, &reception);
  expect(&reception.outcome, LEAT_ABORTED, "gone too");
  run(f, handle, 3, &outcome);
  f->worker->vtable->abort_all(f->worker, leat_make_status(LEAT_CANCELLED, "the end"));
  expect(&outcome, LEAT_CANCELLED, "the end");
}

// ---- Containers ---------------------------------------------------------------------------------

static leat_output_t variable_in(scene_t* scene, const char* container) {
  leat_attr_t attrs[] = {LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT),
                         LEAT_SHAPE("shape", leat_partial_shape_scalar()),
                         LEAT_STRING("container", leat_string_view_from(container)),
                         LEAT_STR("shared_name", "v")};
  return scene_output(scene, "VariableV2", "", "", LEAT_NO_INPUTS, (leat_attrs_t){attrs, 4});
}

// Registers and runs a graph of one fetch.
static leat_tensor_t run_scene(fixture_t* f, scene_t* scene, leat_output_t fetch, int64_t step) {
  uint64_t handle;
  outcome_t outcome;
  LEAT_EXPECT_OK(
      enroll_graph(f, scene->graph, DEVICE, &fetch, LEAT_EXECUTOR_AUTOMATIC, &handle));
  run(f, handle, step, &outcome);
  expect(&outcome, LEAT_OK, "");
  f->worker->vtable->deregister_graph(f->worker, handle);
  return outcome.fetched;
}

// A variable in each container is set; after one is cleared the other has kept its.
static void containers_are_cleared(void** state) {
  fixture_t* f = *state;
  const char* const containers[] = {"", "mine"};
  int64_t step = 0;
  for (int cleared = -1; cleared < 2; ++cleared) {
    scene_t scenes[2];
    leat_output_t is_set[2];
    for (int i = 0; i < 2; ++i) {
      scene_open(&scenes[i]);
      leat_output_t v = variable_in(&scenes[i], containers[i]);
      leat_tensor_t set = run_scene(
          f, &scenes[i], scene_binary(&scenes[i], "Assign", -1, v, scene_float(&scenes[i], 1)),
          ++step);
      leat_tensor_release(&set);
      scene_close(&scenes[i]);
      scene_open(&scenes[i]);
      is_set[i] = scene_unary(&scenes[i], "IsVariableInitialized", -1,
                              variable_in(&scenes[i], containers[i]));
    }
    f->worker->vtable->clear_container(f->worker, LEAT_SV("unknown"));
    if (cleared >= 0) {
      f->worker->vtable->clear_container(f->worker, leat_string_view_from(containers[cleared]));
    }
    for (int i = 0; i < 2; ++i) {
      leat_tensor_t got = run_scene(f, &scenes[i], is_set[i], ++step);
      assert_int_equal(leat_tensor_data(&got, const bool)[0], i != cleared);
      leat_tensor_release(&got);
      scene_close(&scenes[i]);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
      TEST(handles),
      TEST(deregistered_while_running),
      TEST(aborts_come_early_late_and_twice),
      TEST(abort_all_ends_every_step),
      TEST(tensors_are_received_before_and_after),
      TEST(abort_all_ends_steps_to_come),
      TEST(receivers_hear_of_aborts),
      TEST(containers_are_cleared),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
