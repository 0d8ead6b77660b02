// A worker for tests that call it by its interface alone (worker/worker.h), as a master would,
// behind the transport that a test chooses. It has two CPU devices and takes its graphs from a
// scene; each request gets a copy of the graph, because a worker owns what it registers. The calls
// of the interface answer through callbacks, so each has an outcome that a test waits for, with a
// limit of twenty seconds that only a hang reaches. worker_scene_run_ends() registers a Send and a
// Recv as two graphs, receiver first, for tests of how the ends of a transfer meet.
#include "session/worker_scene.h"

#include "base/clock.h"
#include "worker/local_worker.h"

void worker_scene_open(worker_scene_t* f, const leat_transport_t* transport, const char* rest) {
  *f = (worker_scene_t){0};
  scene_open(&f->scene);
  leat_allocator_t* allocator = leat_allocator_system();
  LEAT_EXPECT_OK(leat_thread_pool_create(2, allocator, &f->pool));
  LEAT_EXPECT_OK(
      leat_cpu_device_create(LEAT_SV(WORKER_DEVICE), f->pool, allocator, &f->devices[0]));
  LEAT_EXPECT_OK(
      leat_cpu_device_create(LEAT_SV(WORKER_OTHER_DEVICE), f->pool, allocator, &f->devices[1]));
  leat_local_worker_options_t options = {.devices = f->devices,
                                         .device_count = 2,
                                         .kernels = f->scene.runtime->kernels,
                                         .pool = f->pool,
                                         .allocator = allocator};
  LEAT_EXPECT_OK(leat_local_worker_create(&options, &f->worker));
  if (!transport) return;
  LEAT_EXPECT_OK(transport->join(leat_string_view_from(rest), f->worker, f->scene.runtime->ops,
                                 allocator, &f->worker));
}

void worker_scene_close(worker_scene_t* f) {
  f->worker->vtable->destroy(f->worker);
  leat_device_release(f->devices[0]);
  leat_device_release(f->devices[1]);
  leat_thread_pool_release(f->pool);
  scene_close(&f->scene);
}

void outcome_prepare(outcome_t* outcome) {
  *outcome = (outcome_t){0};
  leat_notification_initialize(&outcome->done);
}

void outcome_note(void* data, leat_status_t status) {
  outcome_t* outcome = data;
  outcome->status = status;
  leat_notification_open(&outcome->done);
}

void outcome_expect(outcome_t* outcome, leat_status_code_t code, const char* text) {
  assert_true(leat_notification_wait(&outcome->done, leat_clock_now_ns() + INT64_C(20000000000)));
  leat_notification_deinitialize(&outcome->done);
  scene_expect(outcome->status, code, text);
}

leat_status_t worker_scene_enroll_graph(worker_scene_t* f, const leat_graph_t* graph,
                                        const char* device, const leat_output_t* fetch,
                                        leat_executor_kind_t executor, uint64_t* out_handle) {
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
                                     .executor = executor,
                                     .transfer_count = f->transfer_count};
  outcome_t outcome;
  outcome_prepare(&outcome);
  f->worker->vtable->register_graph(f->worker, &request, out_handle, outcome_note, &outcome);
  leat_notification_wait(&outcome.done, LEAT_DEADLINE_NEVER);
  leat_notification_deinitialize(&outcome.done);
  return outcome.status;
}

leat_status_t worker_scene_enroll(worker_scene_t* f, const char* device, const leat_output_t* fetch,
                                  leat_executor_kind_t executor, uint64_t* out_handle) {
  return worker_scene_enroll_graph(f, f->scene.graph, device, fetch, executor, out_handle);
}

void worker_scene_run(worker_scene_t* f, uint64_t handle, int64_t step, outcome_t* outcome) {
  outcome_prepare(outcome);
  leat_run_request_t request = {.handle = handle,
                                .step_id = step,
                                .fetches = &outcome->fetched,
                                .deadline_ns = LEAT_DEADLINE_NEVER};
  f->worker->vtable->run_graph(f->worker, &request, outcome_note, outcome);
}

void worker_scene_abort(worker_scene_t* f, int64_t step, leat_status_code_t code,
                        const char* text) {
  f->worker->vtable->abort_step(f->worker, step, leat_make_status(code, "%s", text));
}

void worker_scene_receive(worker_scene_t* f, int64_t step, reception_t* reception) {
  *reception = (reception_t){0};
  outcome_prepare(&reception->outcome);
  f->worker->vtable->receive_tensor(f->worker, step, WORKER_EDGE_KEY, &reception->slot,
                                    outcome_note, &reception->outcome);
}

// The graph of one end: a Send where there is a value, else a Recv, which is fetched.
static void run_end(worker_scene_t* f, worker_end_t end, const float* value, int64_t step,
                    outcome_t* out_outcome) {
  scene_t scene;
  scene_open(&scene);
  leat_attr_t attrs[] = {LEAT_TYPE("T", LEAT_DTYPE_FLOAT),
                         LEAT_STRING("tensor_name", leat_string_view_from(end.tensor_name)),
                         LEAT_STR("send_device", WORKER_DEVICE),
                         LEAT_INT("send_device_incarnation", 5),
                         LEAT_STR("recv_device", WORKER_OTHER_DEVICE),
                         LEAT_INT(LEAT_ATTR_NAME_TRANSFER, end.transfer)};
  if (!value) attrs[0].name = LEAT_SV("tensor_type");
  leat_attrs_t all = {attrs, LEAT_ARRAY_SIZE(attrs)};
  leat_output_t received;
  if (value) {
    scene_node(&scene, "_Send", "", "", LEAT_INPUTS(scene_float(&scene, *value)), all);
  } else {
    received = scene_output(&scene, "_Recv", "", "", LEAT_NO_INPUTS, all);
  }
  uint64_t handle;
  LEAT_EXPECT_OK(worker_scene_enroll_graph(f, scene.graph,
                                           value ? WORKER_DEVICE : WORKER_OTHER_DEVICE,
                                           value ? NULL : &received, LEAT_EXECUTOR_AUTOMATIC,
                                           &handle));
  worker_scene_run(f, handle, step, out_outcome);
  scene_close(&scene);
}

void worker_scene_run_ends(worker_scene_t* f, worker_end_t from, worker_end_t to, float value,
                           int64_t step, outcome_t* out_sent, outcome_t* out_received) {
  run_end(f, to, NULL, step, out_received);
  run_end(f, from, &value, step, out_sent);
}
