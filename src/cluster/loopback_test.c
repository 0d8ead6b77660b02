// A worker behind messages that are delayed and reordered, in one process. That such a worker
// computes what any worker computes is shown by the sessions' tests, which run over this transport
// too (cmake/LeatTests.cmake). Tested here are the orders that worker/worker.h allows and demands:
// an abort before or behind its run, the end of a session while runs are on their way, runs behind
// a cleared container. Each order is tried dozens of times with a fixed seed (the "11,500" of
// set_up), since the transport chooses delays at random. Values of every type travel as bytes,
// except variants, which have no bytes and go by reference. The last cases let the n-th message
// fail, request or reply: the call must end, and say why.
#include "base/clock.h"
#include "base/fault.h"
#include "cluster/transport.h"
#include "session/worker_scene.h"
#include "tensor/object.h"

static int set_up(void** state) {
  static worker_scene_t f;
  worker_scene_open(&f, &leat_loopback_transport, "11,500");
  *state = &f;
  return 0;
}

static int tear_down(void** state) {
  worker_scene_close(*state);
  return 0;
}

static void targets(void** state) {
  worker_scene_t* f = *state;
  const char* const refused[] = {"", "1", "1,", ",1", "x,1", "1,x", "1,2,3", "-1,2", "1,-2"};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(refused); ++i) {
    leat_worker_t* worker;
    scene_expect(
        leat_loopback_transport.join(leat_string_view_from(refused[i]), f->worker,
                                     f->scene.runtime->ops, leat_allocator_system(), &worker),
        LEAT_INVALID_ARGUMENT, "loopback:SEED,MAX_DELAY_US");
  }
}

// ---- Orders -------------------------------------------------------------------------------------

enum { kSteps = 40 };

// An abort comes before its run or behind it.
static void aborts_meet_their_runs(void** state) {
  worker_scene_t* f = *state;
  leat_output_t y = scene_wait(&f->scene, 1, -1, scene_float(&f->scene, 2));
  uint64_t handle;
  outcome_t outcomes[kSteps];
  LEAT_EXPECT_OK(worker_scene_enroll(f, WORKER_DEVICE, &y, LEAT_EXECUTOR_AUTOMATIC, &handle));
  for (int i = 0; i < kSteps; ++i) {
    worker_scene_run(f, handle, i + 1, &outcomes[i]);
    worker_scene_abort(f, i + 1, LEAT_UNAVAILABLE, "gone");
  }
  for (int i = 0; i < kSteps; ++i) {
    outcome_expect(&outcomes[i], LEAT_UNAVAILABLE, "gone");
    f->worker->vtable->cleanup_step(f->worker, i + 1);
  }
}

// No run comes so late that it outlives its session.
static void abort_all_meets_runs_on_their_way(void** state) {
  worker_scene_t* f = *state;
  leat_output_t y = scene_wait(&f->scene, 1, -1, scene_float(&f->scene, 2));
  uint64_t handle;
  outcome_t outcomes[kSteps];
  LEAT_EXPECT_OK(worker_scene_enroll(f, WORKER_DEVICE, &y, LEAT_EXECUTOR_AUTOMATIC, &handle));
  for (int i = 0; i < kSteps; ++i) worker_scene_run(f, handle, i + 1, &outcomes[i]);
  f->worker->vtable->abort_all(f->worker, leat_make_status(LEAT_CANCELLED, "closed"));
  for (int i = 0; i < kSteps; ++i) outcome_expect(&outcomes[i], LEAT_CANCELLED, "closed");
}

static leat_output_t variable(scene_t* scene) {
  leat_attr_t attrs[] = {LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT),
                         LEAT_SHAPE("shape", leat_partial_shape_scalar()),
                         LEAT_STR("shared_name", "v")};
  return scene_output(scene, "VariableV2", "", "", LEAT_NO_INPUTS,
                      (leat_attrs_t){attrs, LEAT_ARRAY_SIZE(attrs)});
}

// Nobody waits for clear_container, and whoever comes behind it finds the variable gone.
static void runs_find_containers_cleared(void** state) {
  worker_scene_t* f = *state;
  scene_t setting;
  scene_open(&setting);
  leat_output_t is_set = scene_unary(&f->scene, "IsVariableInitialized", -1, variable(&f->scene));
  leat_output_t set =
      scene_binary(&setting, "Assign", -1, variable(&setting), scene_float(&setting, 1));
  for (int step = 1; step <= 3 * kSteps; ++step) {
    int part = step % 3;  // it is set, is there, was cleared
    uint64_t handle;
    outcome_t outcome;
    if (part == 0) f->worker->vtable->clear_container(f->worker, LEAT_SV(""));
    LEAT_EXPECT_OK(worker_scene_enroll_graph(f, part == 1 ? setting.graph : f->scene.graph,
                                             WORKER_DEVICE, part == 1 ? &set : &is_set,
                                             LEAT_EXECUTOR_AUTOMATIC, &handle));
    worker_scene_run(f, handle, step, &outcome);
    outcome_expect(&outcome, LEAT_OK, "");
    if (part != 1) assert_int_equal(*leat_tensor_data(&outcome.fetched, const bool), part == 2);
    leat_tensor_release(&outcome.fetched);
    f->worker->vtable->deregister_graph(f->worker, handle);
  }
  scene_close(&setting);
}

// ---- Values -------------------------------------------------------------------------------------

// Sends |value| (taken) and receives it, in any order.
static leat_slot_t send_and_receive(worker_scene_t* f, int64_t step, leat_slot_t value) {
  outcome_t sent;
  reception_t reception;
  outcome_prepare(&sent);
  if (step % 2) worker_scene_receive(f, step, &reception);
  f->worker->vtable->send_tensor(f->worker, step, WORKER_EDGE_KEY, value, outcome_note, &sent);
  if (step % 2 == 0) worker_scene_receive(f, step, &reception);
  outcome_expect(&sent, LEAT_OK, "");
  outcome_expect(&reception.outcome, LEAT_OK, "");
  f->worker->vtable->cleanup_step(f->worker, step);
  return reception.slot;
}

static leat_tensor_t make_tensor(int dtype, int rank, const int64_t* dims) {
  leat_shape_t shape;
  leat_tensor_t tensor;
  LEAT_EXPECT_OK(leat_shape_create(rank, dims, &shape));
  LEAT_EXPECT_OK(leat_tensor_allocate(leat_buffer_source_host(), dtype, &shape, &tensor));
  leat_shape_release(&shape);
  leat_tensor_fill_zero(&tensor);
  return tensor;
}

// Bytes of every kind of number, in few elements and in many.
static void numbers_travel(void** state) {
  worker_scene_t* f = *state;
  const int64_t few[] = {1, 3, 1, 1, 1, 1, 1, 1, 1}, many[] = {50}, none[] = {4, 0};
  for (int dtype = 1; dtype < LEAT_DTYPE_COUNT; ++dtype) {
    bool is_number = leat_dtype_is_valid(dtype) && leat_dtype_size(dtype) &&
                     dtype != LEAT_DTYPE_STRING && dtype != LEAT_DTYPE_RESOURCE &&
                     dtype != LEAT_DTYPE_VARIANT;
    for (int way = 0; is_number && way < 3; ++way) {
      leat_tensor_t tensor = way == 0   ? make_tensor(dtype, 9, few)
                             : way == 1 ? make_tensor(dtype, 1, many)
                                        : make_tensor(dtype, 2, none);
      size_t bytes = leat_tensor_size_bytes(&tensor);
      uint8_t* data = tensor.data;
      for (size_t i = 0; i < bytes; ++i) data[i] = (uint8_t)(i % 2);
      leat_slot_t slot = send_and_receive(
          f, 3 * dtype + way, (leat_slot_t){.tensor = leat_tensor_share(&tensor), .alive = true});
      assert_true(slot.alive && slot.tensor.dtype == dtype);
      assert_true(leat_shape_equal(&slot.tensor.shape, &tensor.shape));
      assert_int_equal(leat_tensor_size_bytes(&slot.tensor), bytes);
      assert_true(bytes == 0 || !memcmp(slot.tensor.data, data, bytes));
      leat_slot_release(&slot);
      leat_tensor_release(&tensor);
    }
  }
}

static void strings_handles_and_dead_values_travel(void** state) {
  worker_scene_t* f = *state;
  leat_tensor_t tensor;
  LEAT_EXPECT_OK(leat_tensor_scalar_string(LEAT_SV("a\0b"), &tensor));
  leat_slot_t slot = send_and_receive(f, 1, (leat_slot_t){.tensor = tensor, .alive = true});
  assert_true(leat_string_view_equal(leat_tensor_string_at(&slot.tensor, 0), LEAT_SV("a\0b")));
  leat_slot_release(&slot);

  tensor = make_tensor(LEAT_DTYPE_RESOURCE, 0, NULL);
  leat_resource_handle_t** handle = tensor.data;
  LEAT_EXPECT_OK(leat_resource_handle_create(LEAT_SV(WORKER_DEVICE), LEAT_SV("c"), LEAT_SV("n"),
                                             LEAT_SV("Var"), handle));
  uint64_t hash = (*handle)->type_hash;
  slot = send_and_receive(f, 2, (leat_slot_t){.tensor = tensor, .alive = true});
  const leat_resource_handle_t* got = *leat_tensor_data(&slot.tensor, leat_resource_handle_t*);
  assert_true(leat_string_view_equals(got->device, WORKER_DEVICE));
  assert_true(leat_string_view_equals(got->container, "c"));
  assert_true(leat_string_view_equals(got->name, "n"));
  assert_true(got->type_hash == hash);
  leat_slot_release(&slot);

  slot = send_and_receive(f, 3, (leat_slot_t){0});
  assert_false(slot.alive);
}

// What cannot be bytes is the very same object.
static void variants_go_by_reference(void** state) {
  worker_scene_t* f = *state;
  leat_tensor_t tensor = make_tensor(LEAT_DTYPE_VARIANT, 0, NULL);
  for (int64_t step = 1; step <= 2; ++step) {
    leat_slot_t slot = send_and_receive(
        f, step, (leat_slot_t){.tensor = leat_tensor_share(&tensor), .alive = true});
    assert_ptr_equal(slot.tensor.data, tensor.data);
    leat_slot_release(&slot);
  }
  assert_true(leat_buffer_is_exclusive(tensor.buffer));
  leat_tensor_release(&tensor);
}

// ---- Failures -----------------------------------------------------------------------------------

// Request or reply: the call ends, and says why.
static void messages_fail(void** state) {
  worker_scene_t* f = *state;
  leat_output_t y = scene_unary(&f->scene, "Neg", -1, scene_float(&f->scene, 2));
  for (int64_t n = 1;; ++n) {
    leat_fault_t fault;
    uint64_t handle;
    outcome_t outcome;
    leat_fault_install(&fault, LEAT_FAULT_MESSAGE, n);
    leat_status_t status =
        worker_scene_enroll(f, WORKER_DEVICE, &y, LEAT_EXECUTOR_AUTOMATIC, &handle);
    if (!status) {
      worker_scene_run(f, handle, n, &outcome);
      leat_notification_wait(&outcome.done, LEAT_DEADLINE_NEVER);
      status = outcome.status;
      leat_tensor_release(&outcome.fetched);
    }
    if (!leat_fault_remove(&fault)) {
      LEAT_EXPECT_OK(status);
      assert_int_equal(n, 5);  // two requests, two replies
      break;
    }
    scene_expect(status, LEAT_UNAVAILABLE, "injected");
  }
}

// Numbers hold within a process only, so behind messages the ends of a transfer meet by their
// names, whatever their numbers are.
static void transfers_meet_by_name(void** state) {
  worker_scene_t* f = *state;
  outcome_t sent, received;
  f->transfer_count = 2;
  worker_scene_run_ends(f, (worker_end_t){"edge", 0}, (worker_end_t){"edge", 1}, 9, 1, &sent,
                        &received);
  outcome_expect(&sent, LEAT_OK, "");
  outcome_expect(&received, LEAT_OK, "");
  assert_true(leat_tensor_data(&received.fetched, const float)[0] == 9);
  leat_tensor_release(&received.fetched);
  f->worker->vtable->cleanup_step(f->worker, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
      TEST(targets),
      TEST(aborts_meet_their_runs),
      TEST(abort_all_meets_runs_on_their_way),
      TEST(runs_find_containers_cleared),
      TEST(numbers_travel),
      TEST(strings_handles_and_dead_values_travel),
      TEST(variants_go_by_reference),
      TEST(messages_fail),
      TEST(transfers_meet_by_name),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
