// What becomes of steps, partial runs and sessions whose other side says nothing any more: a worker
// that is stopped, a client that went away without a word, a master that was started anew. TCP does
// not notice any of these, because the connections stay open and nobody answers; heartbeats and
// timeouts do. The ps is a process of its own where it has to be stopped by a signal. A side that
// is only slow must not be taken for a silent one.
//
// No test depends on how long something takes. Timeouts are an hour long, and the test passes them
// by beats with times to come (leat_heartbeat_beat), so a busy machine exceeds none of them. Only
// the silent process has short heartbeats, since its silence must be noticed; what they may end
// beforehand on a busy machine is tried again.
#include <signal.h>
#include <string.h>

#include "base/clock.h"
#include "cluster/cluster_scene.h"
#include "cluster/task.h"
#include "graph/import/export.h"

#define MASTER(method) "/tensorflow.MasterService/" method
#define WORKER(method) "/tensorflow.WorkerService/" method
#define HOUR_MS 3600000
#define HOUR_NS (INT64_C(1000000) * HOUR_MS)

static int set_up_process(void** state) {
  static const cluster_options_t kOptions = {.heartbeat_timeout_ms = 400, .ps_is_a_process = true};
  return cluster_scene_set_up_with(state, &kOptions);
}

// No beat comes but by the hand of the test.
static int set_up_by_hand(void** state) {
  static const cluster_options_t kOptions = {.heartbeat_timeout_ms = 2 * HOUR_MS,
                                             .session_timeout_ms = HOUR_MS,
                                             .partial_run_timeout_ms = HOUR_MS};
  return cluster_scene_set_up_with(state, &kOptions);
}

static void beat(cluster_scene_t* cluster, int task, int64_t now_ns) {
  leat_heartbeat_beat(cluster_task(cluster, task)->heartbeat, now_ns);
}

// Brings the element, with which the step must end.
static void end_waiting_step(cluster_scene_t* cluster, const char* handle, cluster_step_t* step) {
  assert_false(atomic_load(&step->call.end.times));
  cluster_step(cluster, handle, NULL, "put", "fed", 3, LEAT_OK, "");
  assert_int_equal(cluster_step_end(step), LEAT_OK);
  cluster_step_free(step);
}

// ---- Workers ------------------------------------------------------------------------------------

static void expect_silence(cluster_scene_t* cluster, cluster_step_t* step) {
  assert_int_equal(cluster_step_end(step), LEAT_UNAVAILABLE);
  assert_true(cluster_step_says(step, "did not answer a heartbeat"));
  assert_true(cluster_step_says(step, "/job:ps/replica:0/task:0"));
  assert_true(cluster_step_says(step, cluster->addresses[CLUSTER_PS]));
  cluster_step_free(step);
}

// Runs a step until it ends well. Short heartbeats may end it on a busy machine, and so may what
// was sent to the worker while it was stopped.
static void run_until_ok(cluster_scene_t* cluster, const char* handle, const char* fetch,
                         const char* target, const char* feed) {
  leat_status_code_t code = LEAT_UNAVAILABLE;
  for (const int64_t begin = leat_clock_now_ns(); code != LEAT_OK;) {
    cluster_step_t step;
    cluster_expect_no_hang(begin);
    cluster_step_start(cluster, handle, fetch, target, feed, 5, &step);
    code = cluster_step_end(&step);
    cluster_step_free(&step);
  }
}

// A stopped worker ends the steps that need it, and no others. When it goes on, so does the
// session.
static void a_silent_worker_ends_its_steps(void** state) {
  cluster_scene_t* cluster = *state;
  cluster_step_t step;
  char handle[32];
  cluster_build_queue(cluster);
  const leat_output_t x = scene_placeholder(&cluster->scene, "x", LEAT_DTYPE_FLOAT);
  cluster_op(cluster, CLUSTER_WORKER, "Neg", "own", LEAT_INPUTS(x), LEAT_NO_ATTRS);
  cluster_op(cluster, CLUSTER_PS, "Neg", "there", LEAT_INPUTS(x), LEAT_NO_ATTRS);
  cluster_session_open(cluster, handle);
  run_until_ok(cluster, handle, "there", NULL, "x");
  cluster_step_start(cluster, handle, "away", NULL, NULL, 0, &step);
  cluster_let_wait();
  assert_int_equal(kill(cluster->process, SIGSTOP), 0);
  expect_silence(cluster, &step);
  // A step that begins while nobody is there.
  cluster_step_start(cluster, handle, "away", NULL, NULL, 0, &step);
  expect_silence(cluster, &step);
  assert_true(cluster_step(cluster, handle, "own", NULL, "x", 4, LEAT_OK, "") == -4);
  assert_int_equal(kill(cluster->process, SIGCONT), 0);
  run_until_ok(cluster, handle, NULL, "put", "fed");
  cluster_session_close(cluster, handle);
}

// A worker that is busy for long is not silent: it answers beat after beat.
static void a_slow_worker_is_waited_for(void** state) {
  cluster_scene_t* cluster = *state;
  _Atomic(uint64_t)* calls = &cluster_task(cluster, CLUSTER_PS)->metrics.calls;
  cluster_step_t step;
  char handle[32];
  cluster_build_queue(cluster);
  cluster_session_open(cluster, handle);
  cluster_start_waiting_step(cluster, handle, &step);
  for (int i = 0; i < 7; ++i) {
    const uint64_t before = atomic_load(calls);
    const int64_t begin = leat_clock_now_ns();
    // A beat asks nobody while an answer is on its way.
    while (atomic_load(calls) == before) {
      cluster_expect_no_hang(begin);
      beat(cluster, CLUSTER_WORKER, leat_clock_now_ns());
      leat_clock_sleep_ns(1000000);
    }
  }
  end_waiting_step(cluster, handle, &step);
  cluster_session_close(cluster, handle);
}

// ---- Clients ------------------------------------------------------------------------------------

static void build_own(cluster_scene_t* cluster) {
  const leat_output_t x = scene_placeholder(&cluster->scene, "x", LEAT_DTYPE_FLOAT);
  cluster_op(cluster, CLUSTER_WORKER, "Neg", "own", LEAT_INPUTS(x), LEAT_NO_ATTRS);
}

// A session that is used stays; one that nobody uses is closed.
static void sessions_of_dead_clients_are_closed(void** state) {
  cluster_scene_t* cluster = *state;
  leat_task_t* master = cluster_task(cluster, CLUSTER_WORKER);
  char used[32], abandoned[32];
  build_own(cluster);
  cluster_session_open(cluster, used);
  cluster_session_open(cluster, abandoned);
  // The server may note the end of a use after the client's answer has come.
  for (const int64_t begin = leat_clock_now_ns();
       atomic_load(&master->metrics.sessions_abandoned) == 0;) {
    const int64_t before_use_ns = leat_clock_now_ns();
    cluster_expect_no_hang(begin);
    assert_true(cluster_step(cluster, used, "own", NULL, "x", 4, LEAT_OK, "") == -4);
    beat(cluster, CLUSTER_WORKER, before_use_ns + HOUR_NS);
  }
  cluster_step(cluster, abandoned, "own", NULL, "x", 4, LEAT_ABORTED, "is not found");
  assert_true(cluster_step(cluster, used, "own", NULL, "x", 4, LEAT_OK, "") == -4);
}

// A session is not closed under a step that lasts, although no call comes meanwhile.
static void a_session_is_in_use_while_a_step_runs(void** state) {
  cluster_scene_t* cluster = *state;
  cluster_step_t step;
  char handle[32];
  cluster_build_queue(cluster);
  cluster_session_open(cluster, handle);
  cluster_start_waiting_step(cluster, handle, &step);
  for (int hour = 1; hour < 30; ++hour) {
    beat(cluster, CLUSTER_WORKER, leat_clock_now_ns() + hour * HOUR_NS);
    beat(cluster, CLUSTER_PS, leat_clock_now_ns() + hour * HOUR_NS);
  }
  end_waiting_step(cluster, handle, &step);
}

// ---- Partial runs -------------------------------------------------------------------------------

// The client of a partial run sets it up, feeds it nothing, and says no more, while its session is
// used for other things.
static void abandoned_partial_runs_end(void** state) {
  cluster_scene_t* cluster = *state;
  char handle[32], partial[64];
  build_own(cluster);
  cluster_session_open(cluster, handle);
  leat_string_view_t feed = LEAT_SV("x:0"), fetch = LEAT_SV("own:0");
  const leat_pb_partial_run_setup_request_t setup = {
      .session_handle = leat_string_view_from(handle), .feed = {&feed, 1}, .fetch = {&fetch, 1}};
  leat_pb_partial_run_setup_response_t set;
  cluster_call_t call;
  cluster_call_start(cluster, CLUSTER_WORKER, MASTER("PartialRunSetup"),
                     &leat_pb_partial_run_setup_request_descriptor, &setup, &call);
  cluster_call_expect(&call, LEAT_OK, "", &leat_pb_partial_run_setup_response_descriptor, &set);
  snprintf(partial, sizeof partial, "%.*s", LEAT_SV_ARG(set.partial_run_handle));
  cluster_call_free(&call);
  const int64_t set_ns = leat_clock_now_ns();
  assert_true(cluster_step(cluster, handle, "own", NULL, "x", 4, LEAT_OK, "") == -4);
  beat(cluster, CLUSTER_WORKER, set_ns + HOUR_NS);
  const leat_pb_run_step_request_t run = {.session_handle = leat_string_view_from(handle),
                                          .fetch = {&fetch, 1},
                                          .partial_run_handle = leat_string_view_from(partial)};
  cluster_call(cluster, CLUSTER_WORKER, MASTER("RunStep"), &leat_pb_run_step_request_descriptor,
               &run, LEAT_INVALID_ARGUMENT, "is not over");
  cluster_session_close(cluster, handle);
}

// ---- Masters ------------------------------------------------------------------------------------

static void create_worker_session(cluster_scene_t* cluster, const char* handle,
                                  const char* master, uint64_t incarnation) {
  const leat_pb_create_worker_session_request_t request = {
      .session_handle = leat_string_view_from(handle),
      .master_task = leat_string_view_from(master),
      .master_incarnation = (int64_t)incarnation};
  cluster_call(cluster, CLUSTER_PS, WORKER("CreateWorkerSession"),
               &leat_pb_create_worker_session_request_descriptor, &request, LEAT_OK, "");
}

// Whether the ps has the session; asking is no use of it for its master, so it is asked rarely.
static bool has_worker_session(cluster_scene_t* cluster, const char* handle) {
  const leat_pb_register_graph_request_t request = {.session_handle =
                                                        leat_string_view_from(handle)};
  cluster_call_t call;
  cluster_call_start(cluster, CLUSTER_PS, WORKER("RegisterGraph"),
                     &leat_pb_register_graph_request_descriptor, &request, &call);
  rpc_end_wait(&call.end);
  const leat_status_code_t code = call.end.code;
  cluster_call_free(&call);
  assert_true(code == LEAT_OK || code == LEAT_ABORTED);
  return code == LEAT_OK;
}

// The ps asks the master's task whether it is still the process that made the session.
static void sessions_of_dead_masters_are_deleted(void** state) {
  cluster_scene_t* cluster = *state;
  const char* const kMaster = "/job:worker/replica:0/task:0";
  const uint64_t incarnation = cluster_incarnation(cluster, CLUSTER_WORKER);
  create_worker_session(cluster, "00000000000000aa", kMaster, incarnation);
  create_worker_session(cluster, "00000000000000bb", kMaster, incarnation + 1);
  // The answer is waited for; each question needs a beat of its own, a session's patience later.
  const int64_t begin = leat_clock_now_ns();
  for (int hour = 1; has_worker_session(cluster, "00000000000000bb"); ++hour) {
    cluster_expect_no_hang(begin);
    beat(cluster, CLUSTER_PS, begin + hour * HOUR_NS);
    leat_clock_sleep_ns(1000000);
  }
  assert_true(has_worker_session(cluster, "00000000000000aa"));
}

int main(void) {
#define TEST(name, set_up) \
  cmocka_unit_test_setup_teardown(name, set_up, cluster_scene_tear_down)
  const struct CMUnitTest tests[] = {
      TEST(a_silent_worker_ends_its_steps, set_up_process),
      TEST(a_slow_worker_is_waited_for, set_up_by_hand),
      TEST(sessions_of_dead_clients_are_closed, set_up_by_hand),
      TEST(a_session_is_in_use_while_a_step_runs, set_up_by_hand),
      TEST(abandoned_partial_runs_end, set_up_by_hand),
      TEST(sessions_of_dead_masters_are_deleted, set_up_by_hand),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
