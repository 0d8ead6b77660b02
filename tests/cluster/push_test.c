// Values that one task pushes to another (cluster/push.h), between two servers in this process.
// Steps of a session push and do not fetch. Pushes are also sent by hand, since peers are not
// always ours: before their step, after it, cut off anywhere, for a device that is not there. Each
// must be answered, and leave nothing behind.
#include <string.h>

#include "cluster/cluster_scene.h"
#include "cluster/recv_tensor.h"
#include "cluster/rendezvous_table.h"
#include "cluster/task.h"

#define PUSH "/leat.Values/Push"

static uint64_t count(const _Atomic(uint64_t)* figure) { return atomic_load(figure); }

// x is fed at the worker, y = -x is made on the ps, and z = -y on the worker again.
static void steps_push_their_values(void** state) {
  enum { kSteps = 10 };
  cluster_scene_t* cluster = *state;
  char handle[32];
  cluster_build_negation(cluster);
  cluster_session_open(cluster, handle);
  for (int i = 1; i <= kSteps; ++i) {
    const float x = (float)i;
    assert_true(cluster_step(cluster, handle, "z:0", NULL, "x:0", x, LEAT_OK, "") == x);
  }
  cluster_session_close(cluster, handle);
  for (int task = 0; task < CLUSTER_TASKS; ++task) {
    const leat_task_metrics_t* metrics = &cluster_task(cluster, task)->metrics;
    assert_int_equal(count(&metrics->pushed_tensors_sent), kSteps);
    assert_int_equal(count(&metrics->tensors_sent), kSteps);
    assert_int_equal(count(&metrics->pushed_tensors_received), kSteps);
    assert_int_equal(count(&metrics->tensors_received), kSteps);
  }
}

// ---- By hand ------------------------------------------------------------------------------------

// Writes a push of one float to |receiver|; returns how many bytes of it come before the value.
static size_t write_push(leat_string_builder_t* out, int64_t step_id, const char* receiver) {
  const float number = 3;
  leat_slot_t value = {.alive = true};
  leat_rpc_piece_t pieces[LEAT_RECV_TENSOR_PIECES];
  leat_rpc_bytes_t bytes;
  char key[256];
  const uint32_t sizes[] = {
      (uint32_t)snprintf(key, sizeof key, "%s;0000000000000001;%s;t;0:0", CLUSTER_WORKER_CPU,
                         receiver),
      0};
  leat_string_builder_initialize(leat_allocator_system(), out);
  leat_string_builder_append(out, leat_string_view_make((const char*)&step_id, sizeof step_id));
  leat_string_builder_append(out, leat_string_view_make((const char*)sizes, sizeof sizes));
  leat_string_builder_append(out, leat_string_view_from(key));
  const size_t head = out->size;
  LEAT_EXPECT_OK(leat_tensor_scalar(LEAT_DTYPE_FLOAT, &number, &value.tensor));
  LEAT_EXPECT_OK(leat_recv_tensor_encode(value, pieces, &bytes));
  for (size_t i = 0; i < bytes.count; ++i) {
    leat_string_builder_append(out, leat_string_view_make(pieces[i].data, pieces[i].size));
  }
  leat_rpc_bytes_release(bytes);
  return head;
}

// Pushes to the ps.
static void expect_push(cluster_scene_t* cluster, const void* bytes, size_t size,
                        leat_status_code_t code, const char* text) {
  rpc_scene_t caller = {.channel = cluster->channels[CLUSTER_PS]};
  rpc_end_t end;
  rpc_scene_call(&caller, PUSH, bytes, size, &end);
  if (end.code != code) print_error("%zu bytes: %s\n", size, end.message);
  assert_int_equal(end.code, code);
  assert_true(strstr(end.message, text));
  rpc_end_free(&end);
}

static size_t count_steps(cluster_scene_t* cluster) {
  return leat_rendezvous_table_count(cluster_task(cluster, CLUSTER_PS)->rendezvous);
}

// A value may come before its step. One that comes after it is dropped, and is no failure.
static void a_value_comes_before_and_after_its_step(void** state) {
  cluster_scene_t* cluster = *state;
  const leat_pb_cleanup_graph_request_t request = {.step_id = 77};
  leat_string_builder_t push;
  write_push(&push, 77, CLUSTER_PS_CPU);
  expect_push(cluster, push.data, push.size, LEAT_OK, "");
  assert_int_equal(count_steps(cluster), 1);
  cluster_call(cluster, CLUSTER_PS, "/tensorflow.WorkerService/CleanupGraph",
               &leat_pb_cleanup_graph_request_descriptor, &request, LEAT_OK, "");
  assert_int_equal(count_steps(cluster), 0);
  expect_push(cluster, push.data, push.size, LEAT_OK, "");
  assert_int_equal(count_steps(cluster), 0);
  leat_string_builder_deinitialize(&push);
}

static void bad_pushes(void** state) {
  cluster_scene_t* cluster = *state;
  leat_string_builder_t push;
  const size_t head = write_push(&push, 5, CLUSTER_PS_CPU);
  for (size_t size = 0; size < head; ++size) {
    expect_push(cluster, push.data, size, LEAT_INVALID_ARGUMENT,
                size < 16 ? "must have 16 at least" : "at most");
  }
  // Without any bytes it is a value of no type, as an empty RecvTensorResponse is.
  for (size_t size = head; size + 1 < push.size; ++size) {
    rpc_scene_t caller = {.channel = cluster->channels[CLUSTER_PS]};
    rpc_end_t end;
    rpc_scene_call(&caller, PUSH, push.data, size, &end);
    assert_true(end.code == LEAT_INTERNAL || end.code == LEAT_OK);
    rpc_end_free(&end);
  }
  memset(push.data + 8, 0xff, 4);  // the size of the key
  expect_push(cluster, push.data, push.size, LEAT_INVALID_ARGUMENT, "4294967295 bytes");
  leat_string_builder_deinitialize(&push);
  write_push(&push, 5, CLUSTER_WORKER_CPU);
  expect_push(cluster, push.data, push.size, LEAT_INVALID_ARGUMENT, "unknown device");
  leat_string_builder_deinitialize(&push);
  write_push(&push, 5, "");
  expect_push(cluster, push.data, push.size, LEAT_INVALID_ARGUMENT, "unknown device");
  push.data[16] = ';';  // of the key, which has six parts now
  expect_push(cluster, push.data, push.size, LEAT_INVALID_ARGUMENT, "Invalid  rendezvous key");
  leat_string_builder_deinitialize(&push);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) \
  cmocka_unit_test_setup_teardown(name, cluster_scene_set_up, cluster_scene_tear_down)
      TEST(steps_push_their_values),
      TEST(a_value_comes_before_and_after_its_step),
      TEST(bad_pushes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
