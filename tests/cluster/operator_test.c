// What an operator is told: the events of servers, their figures, and what can be found out about a
// cluster from outside (leat/cluster.h). Events are collected as lines by an observer of each
// server and compared with what the test did: sessions, graphs, lost workers. Refused calls can be
// made by anybody, so fifty of them must give few lines. Figures are read in the text form that
// monitoring systems scrape. A probe must tell a server, a port without one, and a task that
// belongs to no known cluster apart.
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cluster/cluster_scene.h"
#include "formats/wire/encode.h"
#include "scratch.h"

// ---- Events -------------------------------------------------------------------------------------

static leat_mutex_t mutex;
static char told[CLUSTER_TASKS][16384];  // a line for each event, in order

static void note(void* data, const leat_server_event_t* event) {
  const int task = *(const int*)data;
  leat_mutex_lock(&mutex);
  const size_t size = strlen(told[task]);
  snprintf(told[task] + size, sizeof told[task] - size, "%s|%s|%s|%s|%s|%lld\n", event->name,
           event->session, event->task, event->address, event->message, (long long)event->count);
  leat_mutex_unlock(&mutex);
}

static int set_up_observed(void** state) {
  static const cluster_options_t kOptions = {.observe = note};
  memset(told, 0, sizeof told);
  leat_mutex_initialize(&mutex);
  return cluster_scene_set_up_with(state, &kOptions);
}

static int set_up_observed_process(void** state) {
  static const cluster_options_t kOptions = {
      .observe = note, .heartbeat_timeout_ms = 200, .ps_is_a_process = true};
  memset(told, 0, sizeof told);
  leat_mutex_initialize(&mutex);
  return cluster_scene_set_up_with(state, &kOptions);
}

static bool was_told(int task, const char* part) {
  leat_mutex_lock(&mutex);
  const bool is_there = strstr(told[task], part) != NULL;
  leat_mutex_unlock(&mutex);
  return is_there;
}

static void expect_told(int task, const char* format, const char* session) {
  char line[256];
  snprintf(line, sizeof line, format, session);
  if (!was_told(task, line)) print_error("'%s' is not in\n%s\n", line, told[task]);
  assert_true(was_told(task, line));
}

static void sessions_and_graphs_are_told(void** state) {
  cluster_scene_t* cluster = *state;
  char handle[32];
  cluster_build_negation(cluster);
  cluster_session_open(cluster, handle);
  cluster_step(cluster, handle, "z", NULL, "x", 3, LEAT_OK, "");
  cluster_step(cluster, handle, "y", NULL, "x", 3, LEAT_OK, "");
  cluster_session_close(cluster, handle);
  expect_told(CLUSTER_WORKER, "session_created|%s||ipv4:127.0.0.1:", handle);
  expect_told(CLUSTER_WORKER, "session_closed|%s|||the client closed it|0\n", handle);
  expect_told(CLUSTER_PS, "worker_session_created|%s|/job:worker/replica:0/task:0|", handle);
  expect_told(CLUSTER_PS, "graph_registered|%s||||1\n", handle);
  expect_told(CLUSTER_PS, "graph_registered|%s||||2\n", handle);
  expect_told(CLUSTER_PS, "worker_session_deleted|%s|||its master closed it|0\n", handle);
}

static void refusals_are_told(void** state) {
  cluster_scene_t* cluster = *state;
  // Many of them make few lines, since anybody can make them.
  for (int i = 0; i < 50; ++i) {
    cluster_call(cluster, CLUSTER_PS, "/tensorflow.Other/Method", NULL, NULL, LEAT_UNIMPLEMENTED,
                 "");
  }
  expect_told(CLUSTER_PS, "call_refused|||ipv4:127.0.0.1:%s", "");
  assert_true(scratch_count_text(told[CLUSTER_PS], "call_refused") < 50);
  expect_told(CLUSTER_PS, "Method '/tensorflow.Other/Method' is not served here|%s", "");
  const leat_pb_create_session_request_t request = {.graph_def = LEAT_SV("\xff")};
  cluster_call(cluster, CLUSTER_WORKER, "/tensorflow.MasterService/CreateSession",
               &leat_pb_create_session_request_descriptor, &request, LEAT_INVALID_ARGUMENT, "");
  expect_told(CLUSTER_WORKER, "session_refused|||ipv4:127.0.0.1:%s", "");
}

static void lost_workers_are_told(void** state) {
  cluster_scene_t* cluster = *state;
  cluster_step_t step;
  char handle[32];
  cluster_build_queue(cluster);
  cluster_session_open(cluster, handle);
  cluster_step_start(cluster, handle, "away", NULL, NULL, 0, &step);
  cluster_let_wait();
  assert_int_equal(kill(cluster->process, SIGSTOP), 0);
  assert_int_equal(cluster_step_end(&step), LEAT_UNAVAILABLE);
  cluster_step_free(&step);
  const int64_t begin = leat_clock_now_ns();
  while (!was_told(CLUSTER_WORKER, "worker_lost||/job:ps/replica:0/task:0|127.0.0.1:")) {
    cluster_let_wait();
    cluster_expect_no_hang(begin);
  }
  assert_int_equal(kill(cluster->process, SIGCONT), 0);
  while (!was_told(CLUSTER_WORKER, "worker_regained||/job:ps/replica:0/task:0|127.0.0.1:")) {
    cluster_let_wait();
    cluster_expect_no_hang(begin);
  }
}

// ---- Figures ------------------------------------------------------------------------------------

// The metrics of |task| must have |line| as a whole line, not as the beginning of a longer one.
static void expect_figure(cluster_scene_t* cluster, int task, const char* line) {
  char whole[256];
  TF_Buffer* buffer = leat_server_metrics(cluster->servers[task], cluster->status);
  assert_non_null(buffer);
  char* text = calloc(1, buffer->length + 2);
  text[0] = '\n';
  memcpy(text + 1, buffer->data, buffer->length);
  snprintf(whole, sizeof whole, "\n%s\n", line);
  if (!strstr(text, whole)) print_error("'%s' is not in\n%s\n", line, text);
  assert_non_null(strstr(text, whole));
  free(text);
  TF_DeleteBuffer(buffer);
}

static void figures_are_counted(void** state) {
  cluster_scene_t* cluster = *state;
  char handle[32];
  cluster_build_negation(cluster);
  expect_figure(cluster, CLUSTER_WORKER, "leat_sessions 0");
  cluster_session_open(cluster, handle);
  for (int i = 0; i < 5; ++i) cluster_step(cluster, handle, "z", NULL, "x", 3, LEAT_OK, "");
  cluster_step(cluster, handle, "z", NULL, NULL, 0, LEAT_INVALID_ARGUMENT, "");
  expect_figure(cluster, CLUSTER_WORKER, "leat_steps_total{code=\"OK\"} 5");
  expect_figure(cluster, CLUSTER_WORKER, "leat_steps_total{code=\"INVALID_ARGUMENT\"} 1");
  expect_figure(cluster, CLUSTER_WORKER, "leat_step_seconds_count 6");
  expect_figure(cluster, CLUSTER_WORKER, "leat_step_seconds_bucket{le=\"+Inf\"} 6");
  expect_figure(cluster, CLUSTER_WORKER, "leat_sessions 1");
  expect_figure(cluster, CLUSTER_WORKER, "leat_sessions_created_total 1");
  expect_figure(cluster, CLUSTER_PS, "leat_steps_total{code=\"OK\"} 0");
  expect_figure(cluster, CLUSTER_PS, "leat_runs_total{code=\"OK\"} 5");
  expect_figure(cluster, CLUSTER_PS, "leat_worker_sessions 1");
  expect_figure(cluster, CLUSTER_PS, "leat_tensors_sent_total 5");
  expect_figure(cluster, CLUSTER_WORKER, "leat_lost_tasks 0");
  expect_figure(cluster, CLUSTER_WORKER,
                "leat_task_info{task=\"/job:worker/replica:0/task:0\",version=\"" LEAT_VERSION
                "\"} 1");
  cluster_session_close(cluster, handle);
  expect_figure(cluster, CLUSTER_WORKER, "leat_sessions 0");
  expect_figure(cluster, CLUSTER_PS, "leat_worker_sessions 0");
}

// ---- Probes -------------------------------------------------------------------------------------

// Probes the two servers and a port where nobody listens, as a second task of the ps.
static void a_cluster_is_probed(void** state) {
  cluster_scene_t* cluster = *state;
  leat_pb_job_def_tasks_entry_t entries[3] = {
      {.value = leat_string_view_from(cluster->addresses[CLUSTER_WORKER])},
      {.value = leat_string_view_from(cluster->addresses[CLUSTER_PS])},
      {.key = 1, .value = LEAT_SV("127.0.0.1:1")}};
  leat_pb_job_def_t jobs[2] = {{.name = LEAT_SV("worker"), .tasks = {entries, 1}},
                               {.name = LEAT_SV("ps"), .tasks = {entries + 1, 2}}};
  const leat_pb_cluster_def_t def = {.job = {jobs, 2}};
  leat_string_builder_t bytes;
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  LEAT_EXPECT_OK(leat_message_encode(&leat_pb_cluster_def_descriptor, &def, &bytes));
  TF_Buffer* report = leat_cluster_doctor_json(bytes.data, bytes.size, 1 << 20, 60000, 1,
                                               cluster->status);
  assert_non_null(report);
  char* text = calloc(1, report->length + 1);
  memcpy(text, report->data, report->length);
  TF_DeleteBuffer(report);
  leat_string_builder_deinitialize(&bytes);
  char incarnation[64];
  snprintf(incarnation, sizeof incarnation, "\"incarnations\": [\"%016" PRIx64 "\"]",
           cluster_incarnation(cluster, CLUSTER_PS));
  if (!strstr(text, incarnation)) print_error("%s\n", text);
  assert_non_null(strstr(text, incarnation));
  assert_int_equal(scratch_count_text(text, "\"version\": \"" LEAT_VERSION "\""), 2);
  assert_int_equal(scratch_count_text(text, "\"answers_as\""), 0);
  // From here to both, and between them; the third task is of no cluster that the two know.
  assert_int_equal(scratch_count_text(text, "\"reachable\": true"), 4);
  assert_int_equal(scratch_count_text(text, "\"upload_mb_per_s\": "), 4);
  assert_int_equal(scratch_count_text(text, "\"clock_offset_us\": "), 4);
  assert_int_equal(scratch_count_text(text, "\"code\": \"UNAVAILABLE\""), 1);
  assert_int_equal(scratch_count_text(text, "\"from\": \"/job:ps/replica:0/task:0\""), 2);
  free(text);
  assert_null(leat_cluster_doctor_json("\xff", 1, 0, 1000, 0, cluster->status));
  assert_int_equal(TF_GetCode(cluster->status), TF_INVALID_ARGUMENT);
}

int main(void) {
#define TEST(name, set_up) \
  cmocka_unit_test_setup_teardown(name, set_up, cluster_scene_tear_down)
  const struct CMUnitTest tests[] = {
      TEST(sessions_and_graphs_are_told, set_up_observed),
      TEST(refusals_are_told, set_up_observed),
      TEST(lost_workers_are_told, set_up_observed_process),
      TEST(figures_are_counted, cluster_scene_set_up),
      TEST(a_cluster_is_probed, cluster_scene_set_up),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
