// The worker by its interface: graphs by handle, steps by id, aborts at any time, sending and
// receiving, containers. The test takes the place of the master: it registers graphs, runs steps
// and counts the answers, which must come exactly once. The orders that a transport may produce are
// made by hand, such as an abort before its run or a reception before its Send. A worker behind a
// transport is tested in src/cluster/loopback_test.c, and what a master makes of the answers in
// tests/session.
#include "worker/local_worker.h"

#include "kernel/resource.h"
#include "session/worker_scene.h"

static int set_up(void** state) {
  static worker_scene_t f;
  worker_scene_open(&f, NULL, "");
  *state = &f;
  return 0;
}

static int tear_down(void** state) {
  worker_scene_close(*state);
  return 0;
}

static void handles(void** state) {
  worker_scene_t* f = *state;
  leat_output_t y = scene_unary(&f->scene, "Neg", -1, scene_float(&f->scene, 2));
  uint64_t first, second;
  outcome_t outcome;
  LEAT_EXPECT_OK(worker_scene_enroll(f, WORKER_DEVICE, &y, LEAT_EXECUTOR_AUTOMATIC, &first));
  LEAT_EXPECT_OK(worker_scene_enroll(f, WORKER_OTHER_DEVICE, &y, LEAT_EXECUTOR_DATAFLOW, &second));
  assert_int_not_equal(first, second);
  for (int i = 0; i < 2; ++i) {
    worker_scene_run(f, i ? second : first, 1 + i, &outcome);
    outcome_expect(&outcome, LEAT_OK, "");
    assert_true(leat_tensor_data(&outcome.fetched, const float)[0] == -2);
    leat_tensor_release(&outcome.fetched);
  }
  f->worker->vtable->deregister_graph(f->worker, first);
  f->worker->vtable->deregister_graph(f->worker, first);
  f->worker->vtable->deregister_graph(f->worker, 12345);
  worker_scene_run(f, first, 3, &outcome);
  outcome_expect(&outcome, LEAT_ABORTED, "not registered");
  worker_scene_run(f, 12345, 3, &outcome);
  outcome_expect(&outcome, LEAT_ABORTED, "not registered");
  scene_expect(worker_scene_enroll(f, "/job:x/device:CPU:0", &y, LEAT_EXECUTOR_AUTOMATIC, &first),
               LEAT_NOT_FOUND, "/job:x/device:CPU:0");
}

static void many_handles(void** state) {
  enum { kGraphs = 40 };
  worker_scene_t* f = *state;
  uint64_t handles[kGraphs];
  outcome_t outcome;
  for (int i = 0; i < kGraphs; ++i) {
    leat_output_t y = scene_unary(&f->scene, "Neg", -1, scene_float(&f->scene, (float)i));
    LEAT_EXPECT_OK(
        worker_scene_enroll(f, WORKER_DEVICE, &y, LEAT_EXECUTOR_AUTOMATIC, &handles[i]));
  }
  f->worker->vtable->deregister_graph(f->worker, handles[3]);
  for (int i = 0; i < kGraphs; ++i) {
    worker_scene_run(f, handles[i], 1 + i, &outcome);
    outcome_expect(&outcome, i == 3 ? LEAT_ABORTED : LEAT_OK, i == 3 ? "not registered" : "");
    if (i == 3) continue;
    assert_true(leat_tensor_data(&outcome.fetched, const float)[0] == (float)-i);
    leat_tensor_release(&outcome.fetched);
  }
}

// Sessions that compile and forget without end, as partial runs do, take no more memory with time:
// the place of a graph is used again, under a handle that no former graph had.
static void places_are_used_again(void** state) {
  worker_scene_t* f = *state;
  leat_output_t y = scene_unary(&f->scene, "Neg", -1, scene_float(&f->scene, 2));
  uint64_t former = 0, handle;
  outcome_t outcome;
  for (int i = 0; i < 3000; ++i) {
    LEAT_EXPECT_OK(worker_scene_enroll(f, WORKER_DEVICE, &y, LEAT_EXECUTOR_AUTOMATIC, &handle));
    assert_true(handle != former);
    assert_int_equal((uint32_t)handle, 0);  // the number of the place
    if (i % 1000 == 1) {
      worker_scene_run(f, former, 3, &outcome);
      outcome_expect(&outcome, LEAT_ABORTED, "not registered");
      f->worker->vtable->deregister_graph(f->worker, former);  // must not hit the new graph
      worker_scene_run(f, handle, 3, &outcome);
      outcome_expect(&outcome, LEAT_OK, "");
      leat_tensor_release(&outcome.fetched);
    }
    f->worker->vtable->deregister_graph(f->worker, handle);
    former = handle;
  }
}

// A graph that is let go while it runs lives until its step ends.
static void deregistered_while_running(void** state) {
  worker_scene_t* f = *state;
  leat_output_t y = scene_wait(&f->scene, 1, -1, scene_float(&f->scene, 2));
  uint64_t handle;
  outcome_t outcome;
  LEAT_EXPECT_OK(worker_scene_enroll(f, WORKER_DEVICE, &y, LEAT_EXECUTOR_AUTOMATIC, &handle));
  worker_scene_run(f, handle, 7, &outcome);
  assert_int_equal(probe_waiting(1), 1);
  f->worker->vtable->deregister_graph(f->worker, handle);
  probe_open(1);
  outcome_expect(&outcome, LEAT_OK, "");
  leat_tensor_release(&outcome.fetched);
}

static void aborts_come_early_late_and_twice(void** state) {
  worker_scene_t* f = *state;
  leat_output_t y = scene_wait(&f->scene, 1, -1, scene_float(&f->scene, 2));
  uint64_t handle;
  outcome_t outcome;
  LEAT_EXPECT_OK(worker_scene_enroll(f, WORKER_DEVICE, &y, LEAT_EXECUTOR_AUTOMATIC, &handle));
  worker_scene_abort(f, 1, LEAT_UNAVAILABLE, "first");
  worker_scene_abort(f, 1, LEAT_INTERNAL, "second");
  worker_scene_run(f, handle, 1, &outcome);
  outcome_expect(&outcome, LEAT_UNAVAILABLE, "first");
  worker_scene_run(f, handle, 1, &outcome);  // remembered
  outcome_expect(&outcome, LEAT_UNAVAILABLE, "first");
  worker_scene_run(f, handle, 2, &outcome);  // others are not touched
  assert_int_equal(probe_waiting(1), 1);
  worker_scene_abort(f, 2, LEAT_DATA_LOSS, "now");
  worker_scene_abort(f, 2, LEAT_INTERNAL, "again");
  outcome_expect(&outcome, LEAT_DATA_LOSS, "now");
  f->worker->vtable->cleanup_step(f->worker, 1);
  f->worker->vtable->cleanup_step(f->worker, 2);
  f->worker->vtable->cleanup_step(f->worker, 99);
  worker_scene_run(f, handle, 1, &outcome);  // forgotten
  probe_open(1);
  outcome_expect(&outcome, LEAT_OK, "");
  leat_tensor_release(&outcome.fetched);
}

static void abort_all_ends_every_step(void** state) {
  worker_scene_t* f = *state;
  leat_output_t y = scene_wait(&f->scene, 1, -1, scene_float(&f->scene, 2));
  uint64_t handle;
  outcome_t outcomes[5];
  LEAT_EXPECT_OK(worker_scene_enroll(f, WORKER_DEVICE, &y, LEAT_EXECUTOR_AUTOMATIC, &handle));
  for (int i = 0; i < 5; ++i)
    worker_scene_run(f, handle, i / 2, &outcomes[i]);  // two runs of a step
  f->worker->vtable->abort_all(f->worker, leat_make_status(LEAT_CANCELLED, "all end"));
  // The kernel that waited says so behind the reason.
  for (int i = 0; i < 5; ++i) {
    outcome_expect(&outcomes[i], LEAT_CANCELLED,
                   "all end: Compute failed for node 'ProbeWait' (ProbeWait): the probe's step was "
                   "cancelled");
  }
  // A run that comes later does not begin, and says what the worker was told.
  worker_scene_run(f, handle, 7, &outcomes[0]);
  outcome_expect(&outcomes[0], LEAT_CANCELLED, "all end");
}

// ---- Sending and receiving ----------------------------------------------------------------------

static void tensors_are_received_before_and_after(void** state) {
  worker_scene_t* f = *state;
  scene_node(&f->scene, "_Send", "", "", LEAT_INPUTS(scene_float(&f->scene, 3)),
             WORKER_EDGE_ATTRS("T"));
  uint64_t handle;
  outcome_t outcome;
  reception_t reception;
  LEAT_EXPECT_OK(worker_scene_enroll(f, WORKER_DEVICE, NULL, LEAT_EXECUTOR_AUTOMATIC, &handle));
  for (int64_t step = 1; step <= 2; ++step) {
    if (step == 1) worker_scene_receive(f, step, &reception);
    worker_scene_run(f, handle, step, &outcome);
    outcome_expect(&outcome, LEAT_OK, "");
    if (step == 2) worker_scene_receive(f, step, &reception);
    outcome_expect(&reception.outcome, LEAT_OK, "");
    assert_true(leat_tensor_data(&reception.slot.tensor, const float)[0] == 3);
    leat_slot_release(&reception.slot);
    f->worker->vtable->cleanup_step(f->worker, step);
  }
}

// What was on its way when the session was closed: a run, a reception, a feed.
static void abort_all_ends_steps_to_come(void** state) {
  worker_scene_t* f = *state;
  leat_output_t y = scene_wait(&f->scene, 1, -1, scene_float(&f->scene, 2));
  uint64_t handle;
  outcome_t outcome;
  reception_t reception;
  leat_slot_t slot = {.tensor = scene_value(1), .alive = true};
  LEAT_EXPECT_OK(worker_scene_enroll(f, WORKER_DEVICE, &y, LEAT_EXECUTOR_AUTOMATIC, &handle));
  f->worker->vtable->abort_all(f->worker, leat_make_status(LEAT_CANCELLED, "the end"));
  worker_scene_run(f, handle, 7, &outcome);
  outcome_expect(&outcome, LEAT_CANCELLED, "the end");
  worker_scene_receive(f, 8, &reception);
  outcome_expect(&reception.outcome, LEAT_CANCELLED, "the end");
  outcome_prepare(&outcome);
  f->worker->vtable->send_tensor(f->worker, 9, WORKER_EDGE_KEY, slot, outcome_note, &outcome);
  outcome_expect(&outcome, LEAT_CANCELLED, "the end");
}

static void receivers_hear_of_aborts(void** state) {
  worker_scene_t* f = *state;
  leat_output_t y =
      scene_output(&f->scene, "_Recv", "", "", LEAT_NO_INPUTS, WORKER_EDGE_ATTRS("tensor_type"));
  uint64_t handle;
  outcome_t outcome;
  reception_t reception;
  LEAT_EXPECT_OK(worker_scene_enroll(f, WORKER_OTHER_DEVICE, &y, LEAT_EXECUTOR_AUTOMATIC, &handle));
  worker_scene_run(f, handle, 1, &outcome);
  worker_scene_receive(f, 2, &reception);
  worker_scene_abort(f, 1, LEAT_ABORTED, "gone");
  worker_scene_abort(f, 2, LEAT_ABORTED, "gone too");
  outcome_expect(&outcome, LEAT_ABORTED, "gone");
  outcome_expect(&reception.outcome, LEAT_ABORTED, "gone too");
  worker_scene_receive(f, 2, &reception);
  outcome_expect(&reception.outcome, LEAT_ABORTED, "gone too");
  worker_scene_run(f, handle, 3, &outcome);
  f->worker->vtable->abort_all(f->worker, leat_make_status(LEAT_CANCELLED, "the end"));
  outcome_expect(&outcome, LEAT_CANCELLED, "the end");
}

// A task that breaks the rules sends a dead value to a graph without control flow.
static void dead_values_come_only_where_they_may(void** state) {
  static const leat_executor_kind_t kExecutors[] = {LEAT_EXECUTOR_SEQUENCE,
                                                    LEAT_EXECUTOR_DATAFLOW};
  worker_scene_t* f = *state;
  leat_output_t x =
      scene_output(&f->scene, "_Recv", "", "", LEAT_NO_INPUTS, WORKER_EDGE_ATTRS("tensor_type"));
  leat_output_t y = scene_unary(&f->scene, "Square", -1, x);
  for (int i = 0; i < 2; ++i) {
    uint64_t handle;
    outcome_t outcome, sent;
    LEAT_EXPECT_OK(worker_scene_enroll(f, WORKER_OTHER_DEVICE, &y, kExecutors[i], &handle));
    worker_scene_run(f, handle, 1 + i, &outcome);
    outcome_prepare(&sent);
    f->worker->vtable->send_tensor(f->worker, 1 + i, WORKER_EDGE_KEY, (leat_slot_t){0},
                                   outcome_note, &sent);
    outcome_expect(&sent, LEAT_OK, "");
    outcome_expect(&outcome, LEAT_INTERNAL, "output 0 is dead, and no control flow says so");
    f->worker->vtable->cleanup_step(f->worker, 1 + i);
  }
}

// The names of both ends differ, so only the number can bring them together; and two transfers of
// one name stay apart by their numbers.
static void numbered_transfers_need_no_names(void** state) {
  worker_scene_t* f = *state;
  outcome_t sent[2], received[2];
  f->transfer_count = 2;
  for (int i = 0; i < 2; ++i) {
    worker_scene_run_ends(f, (worker_end_t){"a", i}, (worker_end_t){"b", 1 - i}, (float)(7 + i), 1,
                          &sent[i], &received[i]);
  }
  for (int i = 0; i < 2; ++i) {
    outcome_expect(&sent[i], LEAT_OK, "");
    outcome_expect(&received[i], LEAT_OK, "");
    assert_true(leat_tensor_data(&received[i].fetched, const float)[0] == (float)(8 - i));
    leat_tensor_release(&received[i].fetched);
  }
  f->worker->vtable->cleanup_step(f->worker, 1);
}

// Both by text: a graph whose step has no numbered transfers, and an end that has no number.
static void transfers_without_numbers_meet_by_name(void** state) {
  worker_scene_t* f = *state;
  for (int i = 0; i < 2; ++i) {
    outcome_t sent, received;
    f->transfer_count = i ? 2 : 0;
    worker_scene_run_ends(f, (worker_end_t){"edge", i ? -1 : 0}, (worker_end_t){"edge", i ? -1 : 1},
                          9, 1 + i, &sent, &received);
    outcome_expect(&sent, LEAT_OK, "");
    outcome_expect(&received, LEAT_OK, "");
    assert_true(leat_tensor_data(&received.fetched, const float)[0] == 9);
    leat_tensor_release(&received.fetched);
    f->worker->vtable->cleanup_step(f->worker, 1 + i);
  }
}

static void wrong_numbers_end_the_run(void** state) {
  worker_scene_t* f = *state;
  outcome_t sent, received, late;
  uint64_t handle;
  f->transfer_count = 2;
  worker_scene_run_ends(f, (worker_end_t){"edge", 2}, (worker_end_t){"edge", INT64_MAX}, 1, 1,
                        &sent, &received);
  outcome_expect(&sent, LEAT_INTERNAL, "its number is 2, must be less than 2");
  outcome_expect(&received, LEAT_INTERNAL, "must be less than 2");
  // A third graph of the step that counts its transfers otherwise.
  f->transfer_count = 3;
  scene_node(&f->scene, "_Send", "", "", LEAT_INPUTS(scene_float(&f->scene, 3)),
             WORKER_EDGE_ATTRS("T"));
  LEAT_EXPECT_OK(worker_scene_enroll(f, WORKER_DEVICE, NULL, LEAT_EXECUTOR_AUTOMATIC, &handle));
  worker_scene_run(f, handle, 2, &late);
  outcome_expect(&late, LEAT_OK, "");
  f->transfer_count = 2;
  worker_scene_run_ends(f, (worker_end_t){"edge", 0}, (worker_end_t){"edge", 0}, 1, 2, &sent,
                        &received);
  outcome_expect(&sent, LEAT_INTERNAL, "number of transfers is 2, must be 3");
  outcome_expect(&received, LEAT_INTERNAL, "number of transfers is 2, must be 3");
  f->worker->vtable->cleanup_step(f->worker, 1);
  f->worker->vtable->cleanup_step(f->worker, 2);
}

// ---- Containers ---------------------------------------------------------------------------------

static leat_output_t variable_in(scene_t* scene, const char* container) {
  leat_attr_t attrs[] = {
      LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT), LEAT_SHAPE("shape", leat_partial_shape_scalar()),
      LEAT_STRING("container", leat_string_view_from(container)), LEAT_STR("shared_name", "v")};
  return scene_output(scene, "VariableV2", "", "", LEAT_NO_INPUTS, (leat_attrs_t){attrs, 4});
}

// Registers and runs a graph of one fetch.
static leat_tensor_t run_scene(worker_scene_t* f, scene_t* scene, leat_output_t fetch,
                               int64_t step) {
  uint64_t handle;
  outcome_t outcome;
  LEAT_EXPECT_OK(worker_scene_enroll_graph(f, scene->graph, WORKER_DEVICE, &fetch,
                                           LEAT_EXECUTOR_AUTOMATIC, &handle));
  worker_scene_run(f, handle, step, &outcome);
  outcome_expect(&outcome, LEAT_OK, "");
  f->worker->vtable->deregister_graph(f->worker, handle);
  return outcome.fetched;
}

// A variable in each container is set; after one is cleared the other has kept its.
static void containers_are_cleared(void** state) {
  worker_scene_t* f = *state;
  const char* const containers[] = {"", "mine"};
  int64_t step = 0;
  for (int cleared = -1; cleared < 2; ++cleared) {
    scene_t scenes[2];
    leat_output_t is_set[2];
    for (int i = 0; i < 2; ++i) {
      scene_open(&scenes[i]);
      leat_output_t v = variable_in(&scenes[i], containers[i]);
      leat_tensor_t set =
          run_scene(f, &scenes[i],
                    scene_binary(&scenes[i], "Assign", -1, v, scene_float(&scenes[i], 1)), ++step);
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
      TEST(many_handles),
      TEST(places_are_used_again),
      TEST(deregistered_while_running),
      TEST(aborts_come_early_late_and_twice),
      TEST(abort_all_ends_every_step),
      TEST(tensors_are_received_before_and_after),
      TEST(abort_all_ends_steps_to_come),
      TEST(receivers_hear_of_aborts),
      TEST(dead_values_come_only_where_they_may),
      TEST(numbered_transfers_need_no_names),
      TEST(transfers_without_numbers_meet_by_name),
      TEST(wrong_numbers_end_the_run),
      TEST(containers_are_cleared),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
