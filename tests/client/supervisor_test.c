// The supervisor in one process: when it initialises, restores, saves and stops, and which failures
// end training. What happens is told by its events, which are compared as a whole, so that one that
// is missing or comes twice is seen. Losses are compared to the bit with those of a training that
// nothing interrupted (client/training.h). A lost session is played by a step that ends with
// ABORTED; tests/cluster/supervisor_test.c loses real ones.
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"
#include "client/training.h"
#include "leat/callable.h"
#include "scratch.h"

static training_t t;
static float losses[TRAINING_STEPS];

static int set_up(void** state) {
  if (scratch_set_up(state)) return 1;
  training_open(&t, "", "");
  training_reference(&t, "", losses);
  return 0;
}

static int tear_down(void** state) {
  training_close(&t);
  return scratch_tear_down(state);
}

// Takes steps until |count| are done.
static void take_steps(int64_t count) {
  for (int64_t step; leat_supervisor_next(t.supervisor, &step) && step < count;) {
    training_step(&t, step, &losses[step]);
  }
}

static void fail_step(TF_Code code, const char* message) {
  TF_Status* status = TF_NewStatus();
  TF_SetStatus(status, code, message);
  assert_int_equal(leat_supervisor_check(t.supervisor, status), 0);
  TF_DeleteStatus(status);
}

// ---- From beginning to end ----------------------------------------------------------------------

static void test_trains_to_the_last_step(void** state) {
  assert_int_equal(training_run(&t, losses), TRAINING_STEPS);
  training_expect_events(&t, "initialized 0; opened 0; saved 0; saved 10; saved 20; saved 30; "
                             "saved 40; stopped 40; ");
  assert_string_equal(t.message, "the last step is done");
  assert_true(scratch_has("ckpt/model.ckpt-40.index"));
  assert_false(scratch_has("ckpt/model.ckpt-10.index"));
  // What is done is done.
  assert_int_equal(training_run(&t, losses), 0);
  training_expect_events(&t, "restored 40 model.ckpt-40; opened 40; stopped 40; ");
}

static void test_goes_on(void** state) {
  t.spec.last_step = 17;
  assert_int_equal(training_run(&t, losses), 17);
  training_expect_events(
      &t, "initialized 0; opened 0; saved 0; saved 10; saved 17; stopped 17; ");
  t.spec.last_step = TRAINING_STEPS;
  assert_int_equal(training_run(&t, losses), TRAINING_STEPS - 17);
  training_expect_events(&t, "restored 17 model.ckpt-17; opened 17; saved 27; saved 37; "
                             "saved 40; stopped 40; ");
}

// Without a counter in the graph the loop's steps are counted, one for each turn of the loop.
static void test_counts_by_itself(void** state) {
  t.spec.global_step.oper = NULL;
  t.spec.last_step = 4;
  training_begin(&t);
  int64_t expected = 0;
  for (int64_t step; leat_supervisor_next(t.supervisor, &step); ++expected) {
    assert_int_equal(step, expected);
    training_step(&t, step, &losses[step]);
    TF_Operation* again = leat_group(t.scope, NULL, NULL, 0);
    assert_int_equal(
        leat_supervisor_run(t.supervisor, NULL, NULL, 0, NULL, NULL, 0, &again, 1), 1);
  }
  assert_int_equal(expected, 4);
  training_end(&t, TF_OK, "");
  t.spec.last_step = 6;
  assert_int_equal(training_run(&t, losses), 2);
  training_expect_events(&t, "restored 4 model.ckpt-4; opened 4; saved 6; stopped 6; ");
}

static void test_a_loop_that_is_left_saves(void** state) {
  training_begin(&t);
  take_steps(3);
  leat_supervisor_close(t.supervisor, t.status);
  kit_ok(t.status);
  training_expect_events(&t, "initialized 0; opened 0; saved 0; saved 3; stopped 3; ");
  assert_true(scratch_has("ckpt/model.ckpt-3.index"));
}

// A session that has done its work is there until the supervisor is closed.
static void test_session_after_the_end(void** state) {
  t.spec.last_step = 2;
  training_begin(&t);
  assert_null(leat_supervisor_session(t.supervisor));
  take_steps(2);
  assert_int_equal(leat_supervisor_next(t.supervisor, NULL), 0);
  TF_Tensor* value = kit_run(leat_supervisor_session(t.supervisor), (TF_Output){NULL, 0}, NULL,
                             t.step);
  assert_int_equal(*(int64_t*)TF_TensorData(value), 2);
  TF_DeleteTensor(value);
  assert_int_equal(training_step(&t, 2, NULL), 0);
  training_end(&t, TF_OK, "");
}

// Summaries come with the first step and then every 8.
static void test_writes_events(void** state) {
  t.spec.logs = "logs";
  t.spec.summary = t.summary;
  t.spec.summary_steps = 8;
  t.spec.last_step = 20;
  training_begin(&t);
  leat_events_add_scalar(leat_supervisor_events(t.supervisor), 1, "own", 1, t.status);
  kit_ok(t.status);
  take_steps(20);
  training_end(&t, TF_OK, "");
  assert_int_equal(scratch_count("logs/events.out.tfevents."), 1);
  assert_int_equal(system("cat logs/events* > events"), 0);
  FILE* file = fopen("events", "rb");
  char bytes[65536];
  const size_t size = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  int rates = 0, summaries = 0;
  for (size_t i = 0; i + 15 < size; ++i) {
    rates += !memcmp(bytes + i, "global_step/sec", 15);
    summaries += !memcmp(bytes + i, "\n\x04loss\x15", 7);
  }
  assert_int_equal(summaries, 3);
  assert_int_equal(rates, 2);
}

// ---- Checkpoints --------------------------------------------------------------------------------

static void cut(const char* name, off_t size) { assert_int_equal(truncate(name, size), 0); }

static void train_to(int64_t last) {
  t.spec.last_step = last;
  training_run(&t, losses);
  t.spec.last_step = TRAINING_STEPS;
}

// Each of the ways in which a checkpoint can be torn; an older one takes its place.
static void test_torn_checkpoints(void** state) {
  train_to(30);
  cut("ckpt/model.ckpt-30.data-00000-of-00001", 100);
  train_to(31);
  training_expect_events(&t, "skipped 0 model.ckpt-30; restored 20 model.ckpt-20; opened 20; "
                             "saved 30; saved 31; stopped 31; ");
  cut("ckpt/model.ckpt-31.index", 40);
  assert_int_equal(system("rm ckpt/model.ckpt-30.data*"), 0);
  training_run(&t, losses);
  training_expect_events(&t, "skipped 0 model.ckpt-31; skipped 0 model.ckpt-30; restored 20 "
                             "model.ckpt-20; opened 20; saved 30; saved 40; stopped 40; ");
}

// Training is not begun anew, over the remains, where nothing can be read.
static void test_all_checkpoints_torn(void** state) {
  train_to(5);
  cut("ckpt/model.ckpt-0.index", 0);
  cut("ckpt/model.ckpt-5.index", 40);
  training_begin(&t);
  training_end(&t, TF_DATA_LOSS, "ckpt/model.ckpt-5");
  training_expect_events(&t, "skipped 0 model.ckpt-5; skipped 0 model.ckpt-0; stopped 0; ");
}

static void test_a_damaged_state_file_is_an_error(void** state) {
  train_to(5);
  scratch_write_text("ckpt/checkpoint", "model_checkpoint_path: {");
  training_begin(&t);
  training_end(&t, TF_INVALID_ARGUMENT, "ckpt/checkpoint");
}

// Saving fails as on a full disk: that is the end, and the last checkpoint stays.
static void test_full_directory(void** state) {
  struct rlimit limit, small;
  signal(SIGXFSZ, SIG_IGN);
  getrlimit(RLIMIT_FSIZE, &limit);
  training_begin(&t);
  take_steps(15);
  small = (struct rlimit){64, limit.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  take_steps(TRAINING_STEPS);
  setrlimit(RLIMIT_FSIZE, &limit);
  training_end(&t, TF_RESOURCE_EXHAUSTED, "File too large");
  training_expect_events(&t, "initialized 0; opened 0; saved 0; saved 10; stopped 20; ");
  assert_int_equal(scratch_count("ckpt/model.ckpt-20"), 0);
  assert_int_equal(training_run(&t, losses), TRAINING_STEPS - 10);
}

static void test_no_directory(void** state) {
  scratch_write_text("ckpt", "a file");
  training_begin(&t);
  assert_int_equal(leat_supervisor_next(t.supervisor, NULL), 0);
  leat_supervisor_close(t.supervisor, t.status);
  assert_true(TF_GetCode(t.status) != TF_OK && strstr(TF_Message(t.status), "ckpt"));
}

// ---- Faults -------------------------------------------------------------------------------------

static void test_a_lost_session(void** state) {
  training_begin(&t);
  take_steps(15);
  fail_step(TF_ABORTED, "the cluster has changed");
  assert_null(leat_supervisor_session(t.supervisor));
  take_steps(12);
  fail_step(TF_UNAVAILABLE, "it has changed again");
  take_steps(TRAINING_STEPS);
  training_end(&t, TF_OK, "");
  training_expect_events(&t,
                         "initialized 0; opened 0; saved 0; saved 10; lost 15; restored 10 "
                         "model.ckpt-10; opened 10; lost 12; restored 10 model.ckpt-10; opened "
                         "10; saved 20; saved 30; saved 40; stopped 40; ");
}

// Where the very last save loses the session, training is not over: the steps since the save before
// are done once more. The file that cannot be written looks like a fault of the cluster.
static void test_a_fault_of_the_last_save(void** state) {
  leat_fault_t fault;
  t.spec.last_step = 35;
  training_begin(&t);
  take_steps(34);
  assert_int_equal(training_step(&t, 34, &losses[34]), 1);
  leat_fault_install(&fault, LEAT_FAULT_FILE, 2);  // the first one asks what is there
  assert_int_equal(leat_supervisor_next(t.supervisor, NULL), 1);
  assert_true(leat_fault_remove(&fault));
  take_steps(35);
  training_end(&t, TF_OK, "");
  assert_non_null(strstr(t.events, "saved 30; lost 35; restored 30 model.ckpt-30; opened 30; "
                                   "saved 35; stopped 35; "));
}

static void test_restarts_are_limited(void** state) {
  t.spec.restarts = 1;
  training_begin(&t);
  take_steps(1);
  fail_step(TF_ABORTED, "first");
  take_steps(1);
  fail_step(TF_UNAVAILABLE, "second");
  training_end(&t, TF_UNAVAILABLE, "second");
  t.spec.restarts = -1;
  training_begin(&t);
  take_steps(1);
  fail_step(TF_ABORTED, "third");
  training_end(&t, TF_ABORTED, "third");
}

// Without a saver training begins from scratch.
static void test_nothing_is_saved(void** state) {
  t.spec.saver = NULL;
  training_begin(&t);
  take_steps(5);
  fail_step(TF_ABORTED, "gone");
  take_steps(TRAINING_STEPS);
  training_end(&t, TF_OK, "");
  training_expect_events(
      &t, "initialized 0; opened 0; lost 5; initialized 0; opened 0; stopped 40; ");
}

// The first error counts, and is the end.
static void test_other_errors_end_training(void** state) {
  training_begin(&t);
  take_steps(12);
  TF_Tensor* loss;
  assert_int_equal(leat_supervisor_run(t.supervisor, NULL, NULL, 0, &t.loss, &loss, 1, NULL, 0),
                   0);
  assert_null(loss);
  assert_null(leat_supervisor_session(t.supervisor));
  fail_step(TF_INTERNAL, "later");
  training_end(&t, TF_INVALID_ARGUMENT, "phase");
  training_expect_events(&t, "initialized 0; opened 0; saved 0; saved 10; stopped 12; ");
}

static void test_wrong_specs(void** state) {
  leat_supervisor_spec_t none = {.graph = NULL};
  assert_null(leat_supervisor_create(&none, t.status));
  kit_expect_text(t.status, TF_INVALID_ARGUMENT, "graph is NULL");
  t.spec.waits_for_chief = 1;
  t.spec.ready.oper = NULL;
  leat_supervisor_t* supervisor = leat_supervisor_create(&t.spec, t.status);
  kit_expect_text(t.status, TF_INVALID_ARGUMENT, "ready is not given");
  assert_int_equal(leat_supervisor_next(supervisor, NULL), 0);
  leat_supervisor_request_stop(supervisor);
  leat_supervisor_close(supervisor, t.status);
  kit_expect_text(t.status, TF_INVALID_ARGUMENT, "ready is not given");
  t.spec = (leat_supervisor_spec_t){.graph = t.graph, .config = "\xff", .config_size = 1};
  assert_null(leat_supervisor_create(&t.spec, t.status));
  assert_int_equal(TF_GetCode(t.status), TF_INVALID_ARGUMENT);
}

// ---- Readiness ----------------------------------------------------------------------------------

// |init| leaves out a variable.
static void test_what_init_leaves_out(void** state) {
  t.spec.init = leat_group(t.scope, NULL, NULL, 0);
  t.spec.saver = NULL;
  t.spec.global_step.oper = NULL;
  training_begin(&t);
  training_end(&t, TF_FAILED_PRECONDITION, "Variables not initialized: global_step, w, ");
}

static void test_nobody_makes_it_ready(void** state) {
  t.spec.waits_for_chief = 1;
  t.spec.wait_seconds = 0.1;
  training_begin(&t);
  training_end(&t, TF_DEADLINE_EXCEEDED, "Variables not initialized: global_step, w, ");
  training_expect_events(&t, "waiting 0; stopped 0; ");
}

static void stop_when_waiting(training_t* training, const leat_supervisor_event_t* event) {
  if (!strcmp(event->name, "waiting")) leat_supervisor_request_stop(training->supervisor);
}

static void test_a_stop_ends_the_waiting(void** state) {
  t.spec.waits_for_chief = 1;
  t.spec.poll_seconds = 1e6;
  t.spec.wait_seconds = 1e7;
  t.on_event = stop_when_waiting;
  training_begin(&t);
  training_end(&t, TF_OK, "");
  training_expect_events(&t, "waiting 0; stopped 0; ");
}

// Local variables are initialised in each session, once the others are there.
static void test_local_init(void** state) {
  int64_t none = 0;
  TF_Output empty = leat_constant(t.scope, TF_INT32, 1, &none, &none);
  TF_Output local = leat_variable_untrained(t.scope, "local", TF_INT32, 1, &none,
                                            leat_initializer_constant(0));
  t.spec.local_ready = t.spec.ready;
  t.spec.ready = leat_variables_uninitialized(t.scope);
  TF_Output handle = leat_variable_at(t.scope, leat_variable_count(t.scope) - 1);
  t.spec.local_init = leat_operation(t.scope, "Assign", NULL, (TF_Output[]){handle, empty}, 2,
                                     NULL, 0);
  kit_ok(leat_scope_status(t.scope));
  training_begin(&t);
  take_steps(1);
  fail_step(TF_ABORTED, "gone");
  take_steps(1);
  TF_DeleteTensor(kit_run(leat_supervisor_session(t.supervisor), (TF_Output){NULL, 0}, NULL,
                          local));
  leat_supervisor_close(t.supervisor, t.status);
  kit_ok(t.status);
}

// They are not before: |local_init| would fail, as it reads w here.
static void test_local_init_waits(void** state) {
  t.spec.waits_for_chief = 1;
  t.spec.wait_seconds = 0.1;
  t.spec.local_ready = t.spec.ready;
  t.spec.local_init = TF_GraphOperationByName(t.graph, "w/read");
  training_begin(&t);
  training_end(&t, TF_DEADLINE_EXCEEDED, "Variables not initialized: global_step, w, ");
}

// ---- Stops --------------------------------------------------------------------------------------

static void* request_stop(void* data) {
  leat_supervisor_request_stop(data);
  return NULL;
}

// Takes steps without end until somebody stops that.
static int64_t steps_until_stopped(void) {
  int64_t done = 0;
  for (int64_t step; leat_supervisor_next(t.supervisor, &step); ++done) {
    training_step(&t, step, step < TRAINING_STEPS ? &losses[step] : NULL);
  }
  return done;
}

static void test_stop_from_another_thread(void** state) {
  char events[64];
  pthread_t thread;
  t.spec.last_step = 0;
  training_begin(&t);
  take_steps(3);
  pthread_create(&thread, NULL, request_stop, t.supervisor);
  const int64_t done = 3 + steps_until_stopped();
  pthread_join(thread, NULL);
  training_end(&t, TF_OK, "");
  assert_string_equal(t.message, "a stop was requested");
  snprintf(events, sizeof events, "saved %lld; stopped %lld; ", (long long)done, (long long)done);
  assert_non_null(strstr(t.events, events));
}

static void on_signal(int number) { leat_supervisor_request_stop(t.supervisor); }

static void test_stop_by_a_signal(void** state) {
  t.spec.last_step = 0;
  signal(SIGUSR1, on_signal);
  training_begin(&t);
  take_steps(3);
  raise(SIGUSR1);
  assert_int_equal(steps_until_stopped(), 0);
  training_end(&t, TF_OK, "");
  training_expect_events(&t, "initialized 0; opened 0; saved 0; saved 3; stopped 3; ");
}

static void test_the_time_is_up(void** state) {
  t.spec.last_step = 0;
  t.spec.seconds = 0.05;
  training_begin(&t);
  steps_until_stopped();
  training_end(&t, TF_OK, "");
  assert_string_equal(t.message, "the time is up");
}

// A fault is not waited out when a stop was requested: the state that would be saved is gone.
static void test_a_fault_during_a_stop(void** state) {
  training_begin(&t);
  take_steps(3);
  leat_supervisor_request_stop(t.supervisor);
  fail_step(TF_UNAVAILABLE, "gone");
  training_end(&t, TF_UNAVAILABLE, "gone");
}

// ---- Input --------------------------------------------------------------------------------------

// A queue of the numbers below |count|, which a step takes one by one.
typedef struct feeder_s {
  leat_queue_runner_t* runner;
  TF_Output taken;
} feeder_t;

static feeder_t build_feeder(int64_t count, int bad) {
  const TF_DataType type = TF_INT32;
  leat_scope_t* s = t.scope;
  leat_attribute_t types = leat_attribute_types("component_types", 1, &type);
  leat_attribute_t limit = leat_attribute_int("limit", count);
  TF_Output queue = {leat_operation(s, "FIFOQueueV2", NULL, NULL, 0, &types, 1), 0};
  leat_variable_untrained(s, "next", type, 0, NULL, leat_initializer_constant(0));
  TF_Output next = leat_variable_at(s, leat_variable_count(s) - 1);
  TF_Output number = {leat_operation(s, "CountUpTo", NULL, &next, 1, &limit, 1), 0};
  TF_Output zero = leat_constant_int(s, 0), pair[] = {number, zero};
  if (bad) number = (TF_Output){leat_operation(s, "FloorDiv", NULL, pair, 2, NULL, 0), 0};
  TF_Operation* enqueue =
      leat_operation(s, "QueueEnqueueV2", NULL, (TF_Output[]){queue, number}, 2, NULL, 0);
  feeder_t f = {.taken = {leat_operation(s, "QueueDequeueV2", NULL, &queue, 1, &types, 1), 0}};
  f.runner = leat_queue_runner_create(s, queue, &enqueue, 1, NULL, NULL);
  t.spec.local_init = leat_variables_initializer(s);
  t.spec.queue_runners = &f.runner;
  t.spec.queue_runner_count = 1;
  kit_ok(leat_scope_status(s));
  return f;
}

static int take(const feeder_t* f) {
  TF_Tensor* value = NULL;
  const int done =
      leat_supervisor_run(t.supervisor, NULL, NULL, 0, &f->taken, &value, 1, &t.init, 1);
  TF_DeleteTensor(value);
  return done;
}

// The end of input is a normal end, and a lost session's runners are started again.
static void test_input_ends(void** state) {
  feeder_t f = build_feeder(9, 0);
  t.spec.queue_runners = &f.runner;
  int taken = 0;
  training_begin(&t);
  while (leat_supervisor_next(t.supervisor, NULL) && taken < 4) taken += take(&f);
  fail_step(TF_ABORTED, "gone");
  for (taken = 0; leat_supervisor_next(t.supervisor, NULL);) taken += take(&f);
  assert_int_equal(taken, 9);
  training_end(&t, TF_OK, "");
  assert_string_equal(t.message, "the input has ended");
  leat_queue_runner_free(f.runner);
}

// The step that takes from the queue fails too, by its end; the runner's own error is the cause.
static void test_a_runner_fails(void** state) {
  feeder_t f = build_feeder(9, 1);
  t.spec.queue_runners = &f.runner;
  training_begin(&t);
  while (leat_supervisor_next(t.supervisor, NULL)) take(&f);
  training_end(&t, TF_INVALID_ARGUMENT, "zero");
  leat_queue_runner_free(f.runner);
}

// ---- Steps of the program's own -----------------------------------------------------------------

static leat_callable_t* step_of_session;
static int opened, closed;

static void prepare(void* data, TF_Session* session, TF_Status* status) {
  const TF_Operation* target = t.train;
  ++opened;
  step_of_session =
      leat_callable_create(session, &t.phase, 1, &t.loss, 1, &target, 1, status);
}

static void forget(void* data, TF_Session* session) {
  ++closed;
  leat_callable_free(step_of_session);
}

// A program may run steps that it prepared on each session.
static void test_prepared_steps(void** state) {
  opened = closed = 0;
  t.spec.opened = prepare;
  t.spec.closing = forget;
  training_begin(&t);
  for (int64_t step, faults = 0; leat_supervisor_next(t.supervisor, &step);) {
    float phase = sinf((float)step), loss = 0;
    leat_array_t in = {TF_FLOAT, 0, {0}, &phase, sizeof phase};
    leat_array_t out = {TF_FLOAT, 0, {0}, &loss, sizeof loss};
    leat_callable_run(step_of_session, &in, &out, t.status);
    if (step == 13 && faults++ == 0) TF_SetStatus(t.status, TF_ABORTED, "gone");
    if (!leat_supervisor_check(t.supervisor, t.status)) continue;
    assert_true(loss == losses[step]);
  }
  training_end(&t, TF_OK, "");
  assert_int_equal(opened, 2);
  assert_int_equal(closed, 2);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(test_trains_to_the_last_step),
      TEST(test_goes_on),
      TEST(test_counts_by_itself),
      TEST(test_a_loop_that_is_left_saves),
      TEST(test_session_after_the_end),
      TEST(test_writes_events),
      TEST(test_torn_checkpoints),
      TEST(test_all_checkpoints_torn),
      TEST(test_a_damaged_state_file_is_an_error),
      TEST(test_full_directory),
      TEST(test_no_directory),
      TEST(test_a_lost_session),
      TEST(test_a_fault_of_the_last_save),
      TEST(test_restarts_are_limited),
      TEST(test_nothing_is_saved),
      TEST(test_other_errors_end_training),
      TEST(test_wrong_specs),
      TEST(test_what_init_leaves_out),
      TEST(test_nobody_makes_it_ready),
      TEST(test_a_stop_ends_the_waiting),
      TEST(test_local_init),
      TEST(test_local_init_waits),
      TEST(test_stop_from_another_thread),
      TEST(test_stop_by_a_signal),
      TEST(test_the_time_is_up),
      TEST(test_a_fault_during_a_stop),
      TEST(test_input_ends),
      TEST(test_a_runner_fails),
      TEST(test_prepared_steps),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
