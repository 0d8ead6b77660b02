// Training that outlives its cluster: the ps is a process that is killed and started again in the
// middle, or the program that trains is, or both wait for one another. The variables lie on the ps
// and what is computed on a worker in this process, which is the master. In all of this a step's
// loss is the same, to the bit, as in a training that nothing interrupted (client/training.h).
// Nothing waits by time: servers are killed between two steps, and started when the supervisor says
// that it waits for them. For the death of the program itself this one starts itself again as a
// child, which writes down the losses of its steps.
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "client/training.h"
#include "cluster/cluster_scene.h"
#include "scratch.h"

extern char** environ;  // POSIX has it, but in no header

static cluster_scene_t* cluster;
static training_t t;
static char target[64];
static float losses[TRAINING_STEPS];

static int set_up(void** state) {
  const cluster_options_t options = {.ps_is_a_process = true};
  if (scratch_set_up(state) || cluster_scene_set_up_with(state, &options)) return 1;
  cluster = *state;
  cluster_scene_target(cluster, CLUSTER_WORKER, true, target);
  training_open(&t, CLUSTER_PS_CPU, CLUSTER_WORKER_CPU);
  t.spec.target = target;
  t.data = cluster;
  training_reference(&t, target, losses);
  return 0;
}

static int tear_down(void** state) {
  training_close(&t);
  void* scene = cluster;
  return cluster_scene_tear_down(&scene) || scratch_tear_down(state);
}

static int count_events(const char* name) {
  int count = 0;
  for (const char* at = t.events; (at = strstr(at, name)); ++at) ++count;
  return count;
}

// ---- The ps dies --------------------------------------------------------------------------------

// A new ps, started at once, or when it is missed.
static void start_when_missed(training_t* training, const leat_supervisor_event_t* event) {
  if (!strcmp(event->name, "waiting") && !cluster->process) cluster_start_ps(cluster);
}

static void train_and_kill(int is_replaced_at_once) {
  int kills = 0, done = 0;
  t.on_event = start_when_missed;
  training_begin(&t);
  for (int64_t step; leat_supervisor_next(t.supervisor, &step);) {
    if ((step == 15 && kills == 0) || (step == 27 && kills == 1)) {
      ++kills;
      cluster_kill_ps(cluster);
      if (is_replaced_at_once) cluster_start_ps(cluster);
    }
    done += training_step(&t, step, &losses[step]);
  }
  training_end(&t, TF_OK, "");
  assert_int_equal(kills, 2);
  assert_int_equal(count_events("lost"), 2);
  assert_int_equal(count_events("restored 10 model.ckpt-10; "), 1);
  assert_int_equal(count_events("restored 20 model.ckpt-20; "), 1);
  assert_int_equal(count_events("initialized"), 1);
  assert_int_equal(done, TRAINING_STEPS + 5 + 7);
  assert_true(scratch_has("ckpt/model.ckpt-40.index"));
}

static void a_ps_is_replaced(void** state) { train_and_kill(1); }

static void a_ps_is_missing_for_a_while(void** state) { train_and_kill(0); }

// It dies before the very last save: the steps since the last one are done once more.
static void a_ps_dies_at_the_end(void** state) {
  int kills = 0;
  t.spec.last_step = 35;
  t.on_event = start_when_missed;
  training_begin(&t);
  for (int64_t step; leat_supervisor_next(t.supervisor, &step);) {
    const int done = training_step(&t, step, &losses[step]);
    if (done && step == 34 && kills++ == 0) cluster_kill_ps(cluster);
  }
  training_end(&t, TF_OK, "");
  assert_int_equal(count_events("restored 30 model.ckpt-30; "), 1);
  assert_true(scratch_has("ckpt/model.ckpt-35.index"));
}

// The master's own task dies too.
static void a_master_is_replaced(void** state) {
  int stops = 0;
  training_begin(&t);
  for (int64_t step; leat_supervisor_next(t.supervisor, &step);) {
    if (step == 23 && stops++ == 0) cluster_restart(cluster, CLUSTER_WORKER);
    training_step(&t, step, &losses[step]);
  }
  training_end(&t, TF_OK, "");
  assert_int_equal(count_events("lost"), 1);
  assert_int_equal(count_events("restored 20 model.ckpt-20; "), 1);
}

static void a_program_may_want_no_restart(void** state) {
  t.spec.restarts = -1;
  training_begin(&t);
  for (int64_t step; leat_supervisor_next(t.supervisor, &step);) {
    if (step == 12) cluster_kill_ps(cluster);
    training_step(&t, step, &losses[step]);
  }
  training_end(&t, TF_UNAVAILABLE, "");
}

// A queue of the worker is filled by threads of this process, in each session anew, with what they
// read of the ps. Its death ends the threads. Who takes from the queue finds only that it was
// closed, which by itself would be the end of input; what the threads met counts.
static void a_queue_is_filled_again(void** state) {
  const TF_DataType type = TF_FLOAT;
  leat_scope_t* s = leat_scope_on(t.scope, CLUSTER_WORKER_CPU);
  leat_attribute_t attributes[] = {leat_attribute_types("component_types", 1, &type),
                                   leat_attribute_int("capacity", 3)};
  TF_Output queue = {leat_operation(s, "FIFOQueueV2", NULL, NULL, 0, attributes, 2), 0};
  TF_Output inputs[] = {queue, leat_cast(s, t.step, TF_FLOAT)};
  TF_Operation* enqueue = leat_operation(s, "QueueEnqueueV2", NULL, inputs, 2, NULL, 0);
  TF_Output taken = {leat_operation(s, "QueueDequeueV2", NULL, &queue, 1, attributes, 1), 0};
  leat_queue_runner_t* runner =
      leat_queue_runner_create(s, queue, (TF_Operation*[]){enqueue, enqueue}, 2, NULL, NULL);
  kit_ok(leat_scope_status(s));
  t.spec.queue_runners = &runner;
  t.spec.queue_runner_count = 1;
  t.on_event = start_when_missed;
  int kills = 0;
  training_begin(&t);
  for (int64_t step; leat_supervisor_next(t.supervisor, &step);) {
    const int dies = step == 17 && kills++ == 0;
    if (dies) cluster_kill_ps(cluster);
    for (int done = 1, takes = 0; done && (dies || takes == 0); ++takes) {
      TF_Tensor* value = NULL;
      done = leat_supervisor_run(t.supervisor, NULL, NULL, 0, &taken, &value, 1, NULL, 0);
      if (done) assert_true(kit_float_of(value) <= (float)step);
      TF_DeleteTensor(value);
    }
    training_step(&t, step, &losses[step]);
  }
  training_end(&t, TF_OK, "");
  assert_int_equal(count_events("restored 10 model.ckpt-10; "), 1);
  assert_int_equal(count_events("lost 17; "), 1);
  leat_queue_runner_free(runner);
  leat_scope_free(s);
}

// ---- Nobody is there ----------------------------------------------------------------------------

static void stop_when_waiting(training_t* training, const leat_supervisor_event_t* event) {
  if (!strcmp(event->name, "waiting")) leat_supervisor_request_stop(training->supervisor);
}

static void a_master_is_waited_for(void** state) {
  char nobody[64];
  snprintf(nobody, sizeof nobody, "grpc://127.0.0.1:%d", rpc_scene_free_port());
  t.spec.target = nobody;
  t.spec.wait_seconds = 0.2;
  training_begin(&t);
  training_end(&t, TF_DEADLINE_EXCEEDED, "not ready after");
  t.spec.wait_seconds = 600;
  t.on_event = stop_when_waiting;
  training_begin(&t);
  training_end(&t, TF_OK, "");
  assert_string_equal(t.message, "a stop was requested");
}

// ---- Two programs -------------------------------------------------------------------------------

static pthread_t chief_thread;

// The chief, in a graph of its own.
static void* be_chief(void* data) {
  training_t chief;
  training_open(&chief, CLUSTER_PS_CPU, CLUSTER_WORKER_CPU);
  chief.spec.target = target;
  training_begin(&chief);
  for (int64_t step; leat_supervisor_next(chief.supervisor, &step);) {
    training_step(&chief, step, NULL);
  }
  training_end(&chief, TF_OK, "");
  assert_non_null(strstr(chief.events, "initialized"));
  training_close(&chief);
  return NULL;
}

static void start_chief(training_t* training, const leat_supervisor_event_t* event) {
  if (strcmp(event->name, "waiting") || chief_thread) return;
  assert_non_null(strstr(event->message, "Variables not initialized: global_step, w"));
  pthread_create(&chief_thread, NULL, be_chief, NULL);
}

// A worker begins first, and waits for the chief, which is started only then.
static void a_worker_waits_for_the_chief(void** state) {
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_SetTarget(options, target);
  TF_Reset(options, NULL, 0, t.status);  // forgets the values of the reference
  kit_ok(t.status);
  TF_DeleteSessionOptions(options);
  chief_thread = 0;
  t.spec.waits_for_chief = 1;
  t.on_event = start_chief;
  training_begin(&t);
  int64_t last = -1;
  for (int64_t step; leat_supervisor_next(t.supervisor, &step); last = step) {
    assert_true(step >= last);
    training_step(&t, step, NULL);
  }
  training_end(&t, TF_OK, "");
  assert_int_equal(count_events("saved") + count_events("initialized"), 0);
  assert_int_equal(count_events("opened"), 1);
  pthread_join(chief_thread, NULL);
}

// ---- The program dies ---------------------------------------------------------------------------

// The child: trains, and appends "<step> <loss>" to the file "losses".
static int train_as_child(const char* at) {
  snprintf(target, sizeof target, "%s", at);
  training_open(&t, CLUSTER_PS_CPU, CLUSTER_WORKER_CPU);
  t.spec.target = target;
  training_begin(&t);
  FILE* file = fopen("losses", "a");
  setvbuf(file, NULL, _IOLBF, 0);
  for (int64_t step; leat_supervisor_next(t.supervisor, &step);) {
    TF_Tensor *phase = kit_float(sinf((float)step)), *loss = NULL;
    leat_supervisor_run(t.supervisor, &t.phase, &phase, 1, &t.loss, &loss, 1, &t.train, 1);
    fprintf(file, "%lld %a\n", (long long)step, (double)kit_float_of(loss));
    TF_DeleteTensor(phase);
    TF_DeleteTensor(loss);
  }
  fclose(file);
  training_end(&t, TF_OK, "");
  training_close(&t);
  return 0;
}

static pid_t start_child(void) {
  char* arguments[] = {"supervisor_test", target, NULL};
  pid_t child;
  assert_int_equal(posix_spawn(&child, "/proc/self/exe", NULL, NULL, arguments, environ), 0);
  return child;
}

// Reads "losses", of which each must be right; returns the number of lines.
static int check_losses(int64_t* out_last) {
  FILE* file = fopen("losses", "r");
  int count = 0;
  long long step;
  double loss;
  *out_last = -1;
  while (file && fscanf(file, "%lld %la\n", &step, &loss) == 2) {
    assert_true(step >= 0 && step < TRAINING_STEPS && loss == (double)losses[step]);
    *out_last = step;
    ++count;
  }
  if (file) fclose(file);
  return count;
}

static void wait_for_step(int64_t wanted) {
  const int64_t begin_ns = leat_clock_now_ns();
  for (int64_t last = -1; last < wanted; check_losses(&last)) {
    cluster_expect_no_hang(begin_ns);
    leat_clock_sleep_ns(200000);
  }
}

static void the_chief_is_killed(void** state) {
  int64_t last;
  for (int at = 3; at < TRAINING_STEPS; at += 11) {
    int how;
    const pid_t child = start_child();
    wait_for_step(at);
    kill(child, SIGKILL);
    waitpid(child, &how, 0);
  }
  int how;
  const pid_t child = start_child();
  assert_int_equal(waitpid(child, &how, 0), child);
  assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
  assert_true(check_losses(&last) >= TRAINING_STEPS);
  assert_int_equal(last, TRAINING_STEPS - 1);
  assert_true(scratch_has("ckpt/model.ckpt-40.index"));
}

int main(int argc, char** argv) {
  setenv("TF_DETERMINISTIC_OPS", "1", 1);
  if (argc > 1) return train_as_child(argv[1]);
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(a_ps_is_replaced),
      TEST(a_ps_is_missing_for_a_while),
      TEST(a_ps_dies_at_the_end),
      TEST(a_master_is_replaced),
      TEST(a_queue_is_filled_again),
      TEST(a_program_may_want_no_restart),
      TEST(a_master_is_waited_for),
      TEST(a_worker_waits_for_the_chief),
      TEST(the_chief_is_killed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
