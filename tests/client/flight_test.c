// The flight recorder of leat/trace.h, through sessions: what a file is written for, what is in it,
// and what is not. Files are written as JSON, and the tests count the steps and kernels in their
// text, whose numbers follow from how many steps they ran and asked to keep. The slow step waits a
// fifth of a second at a queue that another thread fills, which is far more than 20 times the
// median of the steps before it. That steps are compared with others of their own signature is
// tested by telling the recorder of steps with made times. The tests catch a file that nobody asked
// for or that is one too many, more or fewer steps than were asked for, and medians that two
// signatures share. Wrong options must be named with their value, and must leave no recording
// behind.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/span.h"
#include "base/test.h"
#include "base/thread.h"
#include "client/model_kit.h"
#include "leat/trace.h"
#include "scratch.h"

#define STEPS 40
#define MOST_FILES 16  // of a recording

static leat_trace_flight_options_t options(void) {
  return (leat_trace_flight_options_t){.struct_size = sizeof(leat_trace_flight_options_t),
                                       .path = "flight-%n.json"};
}

static void start(const leat_trace_flight_options_t* wanted) {
  leat_trace_flight_start(wanted, kit.status);
  kit_expect(kit.status, TF_OK);
}

static void stop(void) {
  leat_trace_flight_stop(kit.status);
  kit_expect(kit.status, TF_OK);
}

// How many steps the file has; -1: there is none.
static int steps_of(const char* path) {
  char* text = scratch_read_text(path);
  const int steps = text ? scratch_count_text(text, "\"name\":\"step\"") : -1;
  free(text);
  return steps;
}

static void remove_files(void) {
  for (int i = 1; i <= MOST_FILES; ++i) {
    char path[32];
    snprintf(path, sizeof path, "flight-%d.json", i);
    unlink(path);
  }
}

static TF_Output build_softmax(void) {
  const double values[] = {1, 2, 3};
  return leat_softmax(kit.scope, model_kit_variable("v", TF_FLOAT, 3, values));
}

static void run_steps(TF_Output output, int steps) {
  double found[3];
  for (int i = 0; i < steps; ++i) model_kit_read(output, found, 3);
}

static void what_is_asked_for_is_written(void** state) {
  leat_trace_flight_options_t wanted = options();
  TF_Output softmax = build_softmax();
  run_steps(softmax, 1);
  wanted.steps = 5;
  start(&wanted);
  run_steps(softmax, STEPS);
  leat_trace_flight_write("the test asks", kit.status);
  kit_expect(kit.status, TF_OK);
  stop();
  char* text = scratch_read_text("flight-1.json");
  assert_non_null(text);
  assert_int_equal(scratch_count_text(text, "\"name\":\"step\""), 5);
  assert_int_equal(scratch_count_text(text, "\"name\":\"Softmax\""), 5);
  assert_true(scratch_count_text(text, "\"leat_graph_node\"") >= 2);
  free(text);
  remove_files();
}

static TF_Operation* finish(TF_OperationDescription* description) {
  TF_Operation* operation = TF_FinishOperation(description, kit.status);
  kit_expect(kit.status, TF_OK);
  return operation;
}

// A variable that nobody sets, whose reading fails.
static TF_Output build_uninitialized(void) {
  TF_OperationDescription* variable = TF_NewOperation(kit.graph, "VariableV2", "never_set");
  const int64_t dims[] = {2};
  TF_SetAttrType(variable, "dtype", TF_FLOAT);
  TF_SetAttrShape(variable, "shape", dims, 1);
  TF_Output never = {finish(variable), 0};
  TF_OperationDescription* read = TF_NewOperation(kit.graph, "Identity", "read_never");
  TF_AddInput(read, never);
  return (TF_Output){finish(read), 0};
}

static void run_failing(TF_Output uninitialized) {
  TF_Tensor* value = NULL;
  TF_SessionRun(kit.session, NULL, NULL, NULL, 0, &uninitialized, &value, 1, NULL, 0, NULL,
                kit.status);
  kit_expect(kit.status, TF_FAILED_PRECONDITION);
}

// No step is slow, and nobody asks for failures.
static void nothing_is_written_unasked(void** state) {
  leat_trace_flight_options_t wanted = options();
  TF_Output softmax = build_softmax(), uninitialized = build_uninitialized();
  wanted.slow_factor = 1e9;
  start(&wanted);
  run_steps(softmax, STEPS);
  run_failing(uninitialized);
  leat_trace_start(0, kit.status);
  kit_expect(kit.status, TF_FAILED_PRECONDITION);
  leat_trace_flight_start(&wanted, kit.status);
  kit_expect(kit.status, TF_FAILED_PRECONDITION);
  stop();
  assert_int_equal(steps_of("flight-1.json"), -1);
  leat_trace_flight_stop(kit.status);
  kit_expect(kit.status, TF_FAILED_PRECONDITION);
  leat_trace_flight_write(NULL, kit.status);
  kit_expect(kit.status, TF_FAILED_PRECONDITION);
}

// Runs one step more, which waits at a queue until |put| has run on another thread.
typedef struct feeder_s {
  TF_Session* session;
  TF_Operation* put;
} feeder_t;

static void feed_late(void* data) {
  const feeder_t* feeder = data;
  const TF_Operation* targets[] = {feeder->put};
  TF_Status* status = TF_NewStatus();
  leat_clock_sleep_ns(200000000);
  TF_SessionRun(feeder->session, NULL, NULL, NULL, 0, NULL, NULL, 0, targets, 1, NULL, status);
  assert_int_equal(TF_GetCode(status), TF_OK);
  TF_DeleteStatus(status);
}

// A queue of floats with an op that puts one in and an output that takes one out.
static void build_queue(TF_Operation** out_put, TF_Output* out_taken) {
  const TF_DataType type = TF_FLOAT;
  const double one = 1;
  TF_Output value = model_kit_variable("element", TF_FLOAT, 1, &one);
  TF_OperationDescription* queue = TF_NewOperation(kit.graph, "FIFOQueueV2", "queue");
  TF_SetAttrTypeList(queue, "component_types", &type, 1);
  const TF_Output handle = {finish(queue), 0};
  TF_OperationDescription* put = TF_NewOperation(kit.graph, "QueueEnqueueV2", "put");
  TF_AddInput(put, handle);
  TF_AddInputList(put, &value, 1);
  *out_put = finish(put);
  TF_OperationDescription* take = TF_NewOperation(kit.graph, "QueueDequeueV2", "take");
  TF_AddInput(take, handle);
  TF_SetAttrTypeList(take, "component_types", &type, 1);
  *out_taken = (TF_Output){finish(take), 0};
}

// Records twenty steps that find their element there, and one that waits for it a fifth of a
// second. Returns whether a file has a step that takes an element.
static bool record_slow_step(TF_Operation* put, TF_Output taken) {
  leat_trace_flight_options_t wanted = options();
  leat_thread_t thread;
  double found;
  bool is_written = false;
  wanted.slow_factor = 20;
  wanted.steps = 1;
  start(&wanted);
  for (int i = 0; i < 20; ++i) {
    model_kit_run(put);
    model_kit_read(taken, &found, 1);
  }
  feeder_t feeder = {kit.session, put};
  LEAT_EXPECT_OK(leat_thread_start("feeder", feed_late, &feeder, &thread));
  model_kit_read(taken, &found, 1);
  leat_thread_join(thread);
  stop();
  for (int i = 1; i <= MOST_FILES; ++i) {
    char path[32];
    snprintf(path, sizeof path, "flight-%d.json", i);
    char* text = scratch_read_text(path);
    is_written |= text && scratch_count_text(text, "\"name\":\"QueueDequeueV2\"") >= 1;
    free(text);
  }
  remove_files();
  return is_written;
}

// On a busy machine any step may be slow, and a file of another one be under way when the step ends
// that waits; then it is tried again.
static void a_slow_step_is_written(void** state) {
  TF_Operation* put;
  TF_Output taken;
  double found;
  bool is_written = false;
  build_queue(&put, &taken);
  model_kit_run(put);
  assert_int_equal(model_kit_read(taken, &found, 1), 1);
  for (int i = 0; i < 100 && !is_written; ++i) is_written = record_slow_step(put, taken);
  assert_true(is_written);
}

// Two signatures whose addresses differ by one bit take turns; each is judged by its own steps. The
// steps are told to the recorder as a session tells them.
static void signatures_that_take_turns_are_judged(void** state) {
  static const char signatures[1 << 17];
  leat_trace_flight_options_t wanted = options();
  for (size_t apart = 1; apart < sizeof signatures; apart *= 2) {
    wanted.slow_factor = 20;
    start(&wanted);
    const leat_span_step_fn_t tell = atomic_load(&leat_span_on_step);
    const int64_t usual = leat_span_now() / 1000;
    for (int i = 0; i < STEPS; ++i) {
      tell(leat_span_now() - usual, i, &signatures[i % 2 * apart], leat_ok_status());
    }
    tell(leat_span_now() - 100 * usual, STEPS, &signatures[apart], leat_ok_status());
    stop();
    assert_int_equal(steps_of("flight-1.json"), 0);
    remove_files();
  }
}

// The step reads a variable that has no value.
static void a_failure_is_written(void** state) {
  leat_trace_flight_options_t wanted = options();
  TF_Output softmax = build_softmax(), uninitialized = build_uninitialized();
  run_steps(softmax, 1);
  wanted.on_failure = 1;
  start(&wanted);
  run_steps(softmax, STEPS);
  run_failing(uninitialized);
  stop();
  assert_int_equal(steps_of("flight-1.json"), STEPS + 1);
  remove_files();
}

static volatile sig_atomic_t handled;

static void handle(int number) { handled = number; }

// The program's own handler of the signal is the recorder's for a while only.
static void a_signal_has_the_end_written(void** state) {
  leat_trace_flight_options_t wanted = options();
  TF_Output softmax = build_softmax();
  signal(SIGUSR2, handle);
  wanted.signal = SIGUSR2;
  wanted.steps = 3;
  run_steps(softmax, 1);
  start(&wanted);
  run_steps(softmax, STEPS);
  assert_int_equal(raise(SIGUSR2), 0);
  stop();
  assert_int_equal(steps_of("flight-1.json"), 3);
  assert_int_equal(handled, 0);
  assert_int_equal(raise(SIGUSR2), 0);
  assert_int_equal(handled, SIGUSR2);
  signal(SIGUSR2, SIG_DFL);
  remove_files();
}

static void files_are_limited(void** state) {
  leat_trace_flight_options_t wanted = options();
  TF_Output softmax = build_softmax();
  wanted.most_files = 1;
  start(&wanted);
  run_steps(softmax, 2);
  leat_trace_flight_write("first", kit.status);
  // The second file is asked for when the first is there, perhaps not yet to its end.
  for (int64_t begin = leat_clock_now_ns(); scratch_count("flight-1.json") == 0;) {
    assert_true(leat_clock_now_ns() - begin < INT64_C(60000000000));
    leat_clock_sleep_ns(1000000);
  }
  // While the first is being written none is asked for, so it is tried for a while.
  for (int i = 0; i < 20; ++i) {
    leat_trace_flight_write("second", kit.status);
    leat_clock_sleep_ns(5000000);
  }
  stop();
  assert_int_equal(steps_of("flight-2.json"), -1);
  remove_files();
}

static void wrong_options_are_told(void** state) {
  static const struct {
    const char* path;
    int64_t steps;
    double slow;
    int signal;
    const char* message;
  } kWrong[] = {{"", 0, 0, 0, "path has 0 bytes"},
                {NULL, 0, 0, 0, "path has 0 bytes"},
                {"x", -1, 0, 0, "steps is -1, must be 0 to 4096"},
                {"x", 4097, 0, 0, "steps is 4097, must be 0 to 4096"},
                {"x", 0, 0.5, 0, "slow_factor is 0.5, must be 0 or at least 1"},
                {"x", 0, 0, SIGKILL, "signal is 9, must be one that a process can handle"}};
  for (size_t i = 0; i < sizeof kWrong / sizeof *kWrong; ++i) {
    leat_trace_flight_options_t wanted = options();
    wanted.path = kWrong[i].path;
    wanted.steps = kWrong[i].steps;
    wanted.slow_factor = kWrong[i].slow;
    wanted.signal = kWrong[i].signal;
    leat_trace_flight_start(&wanted, kit.status);
    assert_non_null(strstr(TF_Message(kit.status), kWrong[i].message));
    kit_expect(kit.status, TF_INVALID_ARGUMENT);
  }
  leat_trace_start(0, kit.status);  // none of them left a recording behind
  kit_expect(kit.status, TF_OK);
  leat_trace_stop(NULL, kit.status);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, model_kit_set_up, model_kit_tear_down)
  const struct CMUnitTest tests[] = {
      TEST(what_is_asked_for_is_written), TEST(nothing_is_written_unasked),
      TEST(a_slow_step_is_written),       TEST(signatures_that_take_turns_are_judged),
      TEST(a_failure_is_written),         TEST(a_signal_has_the_end_written),
      TEST(files_are_limited),            TEST(wrong_options_are_told),
  };
  return cmocka_run_group_tests(tests, scratch_set_up, scratch_tear_down);
}
