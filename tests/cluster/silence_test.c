// What becomes of steps, partial runs and sessions whose other side says nothing any more: a worker
// that is stopped, a client that went away without a word, a master that was started anew. TCP does
// not notice any of these, because the connections stay open and nobody answers; heartbeats and
// timeouts do, which the options of each set-up make short. The ps is a process of its own where it
// has to be stopped by a signal. A side that is only slow must not be taken for a silent one. No
// test depends on how long something takes; waits have limits that only a hang reaches.
#include <signal.h>
#include <string.h>

#include "base/clock.h"
#include "cluster/cluster_scene.h"
#include "graph/import/export.h"

#define MASTER(method) "/tensorflow.MasterService/" method
#define WORKER(method) "/tensorflow.WorkerService/" method
#define HANGS_MS 15000  // gRPC's own keepalive would notice after 30 s

static int set_up_process(void** state) {
  static const cluster_options_t kOptions = {.heartbeat_timeout_ms = 400, .ps_is_a_process = true};
  return cluster_scene_set_up_with(state, &kOptions);
}

static int set_up_impatient(void** state) {
  static const cluster_options_t kOptions = {
      .heartbeat_timeout_ms = 40, .session_timeout_ms = 2000, .partial_run_timeout_ms = 60000};
  return cluster_scene_set_up_with(state, &kOptions);
}

static int set_up_impatient_with_runs(void** state) {
  static const cluster_options_t kOptions = {
      .heartbeat_timeout_ms = 40, .session_timeout_ms = 60000, .partial_run_timeout_ms = 100};
  return cluster_scene_set_up_with(state, &kOptions);
}

// ---- Workers ------------------------------------------------------------------------------------

static void expect_silence(cluster_scene_t* cluster, cluster_step_t* step) {
  assert_int_equal(cluster_step_end(step), LEAT_UNAVAILABLE);
  assert_true(cluster_step_says(step, "did not answer a heartbeat"));
  assert_true(cluster_step_says(step, "/job:ps/replica:0/task:0"));
  assert_true(cluster_step_says(step, cluster->addresses[CLUSTER_PS]));
  cluster_step_free(step);
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
  cluster_session_open(cluster, handle);
  cluster_step(cluster, handle, NULL, "put", "fed", 7, LEAT_OK, "");
  assert_true(cluster_step(cluster, handle, "away", NULL, NULL, 0, LEAT_OK, "") == -7);
  cluster_step_start(cluster, handle, "away", NULL, NULL, 0, &step);
  cluster_let_wait();
  const int64_t begin = leat_clock_now_ns();
  assert_int_equal(kill(cluster->process, SIGSTOP), 0);
  expect_silence(cluster, &step);
  // A step that begins while nobody is there.
  cluster_step_start(cluster, handle, "away", NULL, NULL, 0, &step);
  expect_silence(cluster, &step);
  cluster_expect_within(begin, HANGS_MS);
  assert_true(cluster_step(cluster, handle, "own", NULL, "x", 4, LEAT_OK, "") == -4);
  assert_int_equal(kill(cluster->process, SIGCONT), 0);
  // What was sent to the worker while it was stopped may still end a step or take the element.
  leat_status_code_t code = LEAT_UNAVAILABLE;
  while (code != LEAT_OK) {
    cluster_expect_within(begin, 4 * HANGS_MS);
    cluster_step_start(cluster, handle, NULL, "put", "fed", 5, &step);
    code = cluster_step_end(&step);
    cluster_step_free(&step);
  }
  cluster_session_close(cluster, handle);
}

// A worker that is busy for long is not silent.
static void a_slow_worker_is_waited_for(void** state) {
  cluster_scene_t* cluster = *state;
  cluster_step_t step;
  char handle[32];
  cluster_build_queue(cluster);
  cluster_session_open(cluster, handle);
  cluster_step_start(cluster, handle, "away", NULL, NULL, 0, &step);
  leat_clock_sleep_ns(1500000000);  // seven heartbeats
  assert_false(atomic_load(&step.call.end.times));
  cluster_step(cluster, handle, NULL, "put", "fed", 3, LEAT_OK, "");
  assert_int_equal(cluster_step_end(&step), LEAT_OK);
  cluster_step_free(&step);
  cluster_session_close(cluster, handle);
}

// ---- Clients ------------------------------------------------------------------------------------

// Waits until a step of the session ends with |code|; before, it may end well.
static void wait_for_code(cluster_scene_t* cluster, const char* handle, leat_status_code_t code,
                          int64_t pause_ns) {
  const int64_t begin = leat_clock_now_ns();
  leat_status_code_t got = LEAT_OK;
  while (got == LEAT_OK) {
    cluster_step_t step;
    cluster_expect_within(begin, HANGS_MS);
    leat_clock_sleep_ns(pause_ns);
    cluster_step_start(cluster, handle, "own", NULL, "x", 4, &step);
    got = cluster_step_end(&step);
    cluster_step_free(&step);
  }
  assert_string_equal(leat_status_code_name(got), leat_status_code_name(code));
}

static void build_own(cluster_scene_t* cluster) {
  const leat_output_t x = scene_placeholder(&cluster->scene, "x", LEAT_DTYPE_FLOAT);
  cluster_op(cluster, CLUSTER_WORKER, "Neg", "own", LEAT_INPUTS(x), LEAT_NO_ATTRS);
}

// A session that is used stays; one that nobody uses is closed.
static void sessions_of_dead_clients_are_closed(void** state) {
  cluster_scene_t* cluster = *state;
  char used[32], abandoned[32];
  build_own(cluster);
  cluster_session_open(cluster, used);
  cluster_session_open(cluster, abandoned);
  const int64_t begin = leat_clock_now_ns();
  while (leat_clock_now_ns() - begin < 4000000000) {
    assert_true(cluster_step(cluster, used, "own", NULL, "x", 4, LEAT_OK, "") == -4);
    leat_clock_sleep_ns(20000000);
  }
  wait_for_code(cluster, abandoned, LEAT_ABORTED, 3000000000);
}

// A session is not closed under a step that lasts, although no call comes meanwhile.
static void a_session_is_in_use_while_a_step_runs(void** state) {
  cluster_scene_t* cluster = *state;
  cluster_step_t step;
  char handle[32];
  cluster_build_queue(cluster);
  cluster_session_open(cluster, handle);
  cluster_step_start(cluster, handle, "away", NULL, NULL, 0, &step);
  leat_clock_sleep_ns(4000000000);
  assert_false(atomic_load(&step.call.end.times));
  cluster_step(cluster, handle, NULL, "put", "fed", 3, LEAT_OK, "");
  assert_int_equal(cluster_step_end(&step), LEAT_OK);
  cluster_step_free(&step);
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
  const int64_t begin = leat_clock_now_ns();
  while (leat_clock_now_ns() - begin < 1000000000) {
    assert_true(cluster_step(cluster, handle, "own", NULL, "x", 4, LEAT_OK, "") == -4);
  }
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
  leat_clock_sleep_ns(1500000000);
  assert_true(has_worker_session(cluster, "00000000000000aa"));
  assert_false(has_worker_session(cluster, "00000000000000bb"));
}

int main(void) {
#define TEST(name, set_up) \
  cmocka_unit_test_setup_teardown(name, set_up, cluster_scene_tear_down)
  const struct CMUnitTest tests[] = {
      TEST(a_silent_worker_ends_its_steps, set_up_process),
      TEST(a_slow_worker_is_waited_for, set_up_process),
      TEST(sessions_of_dead_clients_are_closed, set_up_impatient),
      TEST(a_session_is_in_use_while_a_step_runs, set_up_impatient),
      TEST(abandoned_partial_runs_end, set_up_impatient_with_runs),
      TEST(sessions_of_dead_masters_are_deleted, set_up_impatient),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
