// leat/trace.h: a program records its own steps. What a recording holds and how it is written is
// tested further down (base/span_test.c, trace/recording_file_test.c); here the kernels of a real
// session must come into the file, each run of each, and those of steps outside must not; and,
// where the process may know it, the program that took the core of a step.
#define _GNU_SOURCE
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/test.h"
#include "base/thread.h"
#include "client/model_kit.h"
#include "leat/trace.h"
#include "scratch.h"
#include "trace/timeline.h"

#define STEPS 5
#define THREADS 3
#define STEPS_OF_THREAD 50
#define MOST_BUSY_SECONDS 60

static void steps_are_in_the_file(void** state) {
  const double values[] = {1, 2, 3};
  TF_Output v = model_kit_variable("v", TF_FLOAT, 3, values);
  TF_Output before = leat_relu(kit.scope, v), during = leat_softmax(kit.scope, v);
  double found[3];
  model_kit_read(before, found, 3);
  leat_trace_start(0, kit.status);
  kit_expect(kit.status, TF_OK);
  for (int i = 0; i < STEPS; ++i) model_kit_read(during, found, 3);
  leat_trace_stop("trace.json", kit.status);
  kit_expect(kit.status, TF_OK);
  model_kit_read(before, found, 3);
  char* text = scratch_read_text("trace.json");
  assert_non_null(text);
  assert_int_equal(scratch_count_text(text, "\"name\":\"Softmax\",\"cat\":\"kernel\""), STEPS);
  assert_int_equal(scratch_count_text(text, "\"name\":\"step\""), STEPS);
  assert_int_equal(scratch_count_text(text, "\"name\":\"Relu\""), 0);
  assert_true(scratch_count_text(text, "\"node\":\"v\"") > 0);
  // How much memory is held is told by the first step at the latest.
  assert_true(scratch_count_text(text, "\"cat\":\"memory held\"") > 0);
  assert_int_equal(scratch_count_text(text, "\"name\":\"0 B\""), 0);
  free(text);
}

// The recording says what is known of a node; a node of which nobody told a line has none.
static void a_node_tells_its_line(void** state) {
  const double values[] = {1, 2, 3};
  TF_Output v = model_kit_variable("v", TF_FLOAT, 3, values);
  TF_Output soft = leat_softmax(kit.scope, v), fetch = leat_relu(kit.scope, soft);
  double found[3];
  leat_operation_set_source(soft.oper, "model.py", -1, kit.status);
  kit_expect(kit.status, TF_INVALID_ARGUMENT);
  leat_operation_set_source(soft.oper, "model.py", 41, kit.status);
  leat_operation_set_source(soft.oper, "model.py", 42, kit.status);  // the last one counts
  kit_expect(kit.status, TF_OK);
  leat_trace_start(0, kit.status);
  model_kit_read(fetch, found, 3);
  leat_trace_stop("lines.json", kit.status);
  kit_expect(kit.status, TF_OK);
  char* text = scratch_read_text("lines.json");
  assert_non_null(text);
  assert_int_equal(scratch_count_text(text, "\"node\":\"Softmax\",\"device\":\"/job:localhost/"
                                            "replica:0/task:0/device:CPU:0\",\"outputs\":"
                                            "\"float [3]\","), 1);
  assert_int_equal(scratch_count_text(text, "\"source\":\"model.py:42\""), 1);
  assert_int_equal(scratch_count_text(text, "\"source\":"), 1);
  // Its shapes are known, and so is its work.
  assert_int_equal(scratch_count_text(text, "\"source\":\"model.py:42\",\"flops\":0"), 0);
  free(text);
}

static void run_steps(void* data) {
  const TF_Output* fetch = data;
  TF_Status* status = TF_NewStatus();
  for (int i = 0; i < STEPS_OF_THREAD; ++i) {
    TF_Tensor* value = NULL;
    TF_SessionRun(kit.session, NULL, NULL, NULL, 0, fetch, &value, 1, NULL, 0, NULL, status);
    assert_int_equal(TF_GetCode(status), TF_OK);
    TF_DeleteTensor(value);
  }
  TF_DeleteStatus(status);
}

// How many slices of |kind| are a part of the step with that mark.
static int count_of_step(const leat_timeline_t* timeline, uint32_t kind, uint32_t mark) {
  int count = 0;
  for (size_t r = 0; r < timeline->row_count; ++r) {
    for (uint32_t l = 0; l < timeline->rows[r]->lane_count; ++l) {
      const leat_lane_t* lane = &timeline->rows[r]->lanes[l];
      for (size_t i = 0; i < lane->count; ++i) {
        count += timeline->names[lane->slices[i].name].kind == kind && lane->steps[i] == mark;
      }
    }
  }
  return count;
}

// Several threads run one signature at once; its variable, Softmax and Relu are kernels.
static void kernels_tell_their_step(void** state) {
  const double values[] = {1, 2, 3};
  TF_Output v = model_kit_variable("v", TF_FLOAT, 3, values);
  TF_Output fetch = leat_relu(kit.scope, leat_softmax(kit.scope, v));
  leat_thread_t threads[THREADS];
  leat_timeline_t* timeline;
  double found[3];
  int steps = 0, kernels = 0;
  model_kit_read(fetch, found, 3);
  leat_trace_start(0, kit.status);
  kit_expect(kit.status, TF_OK);
  for (int i = 0; i < THREADS; ++i) {
    LEAT_EXPECT_OK(leat_thread_start("steps", run_steps, &fetch, &threads[i]));
  }
  for (int i = 0; i < THREADS; ++i) leat_thread_join(threads[i]);
  leat_trace_stop("steps.perfetto-trace", kit.status);
  kit_expect(kit.status, TF_OK);
  LEAT_EXPECT_OK(
      leat_timeline_read(leat_file_system_posix(), "steps.perfetto-trace", &timeline));
  for (size_t r = 0; r < timeline->row_count; ++r) {
    const leat_lane_t* lane = &timeline->rows[r]->lanes[0];
    for (size_t i = 0; i < lane->count; ++i) {
      if (timeline->names[lane->slices[i].name].kind != LEAT_SPAN_STEP) continue;
      const uint32_t mark = lane->steps[i];
      assert_int_equal(mark, leat_span_step(lane->values[i]));
      assert_int_equal(count_of_step(timeline, LEAT_SPAN_STEP, mark), 1);
      const int count = count_of_step(timeline, LEAT_SPAN_KERNEL, mark);
      if (steps++ == 0) kernels = count;
      assert_true(count > 1 && count == kernels);
    }
  }
  assert_int_equal(steps, THREADS * STEPS_OF_THREAD);
  assert_int_equal(count_of_step(timeline, LEAT_SPAN_KERNEL, 0), 0);
  leat_timeline_free(timeline);
}

static void calls_out_of_order_are_refused(void** state) {
  leat_trace_stop("trace.json", kit.status);
  kit_expect(kit.status, TF_FAILED_PRECONDITION);
  leat_trace_start(1 << 20, kit.status);
  kit_expect(kit.status, TF_OK);
  leat_trace_start(1 << 20, kit.status);
  kit_expect(kit.status, TF_FAILED_PRECONDITION);
  leat_trace_stop("no/such/folder/trace.json", kit.status);
  kit_expect(kit.status, TF_NOT_FOUND);
  leat_trace_start(1 << 20, kit.status);
  kit_expect(kit.status, TF_OK);
  leat_trace_stop(NULL, kit.status);
  kit_expect(kit.status, TF_OK);
}

static void pin(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  assert_int_equal(sched_setaffinity(0, sizeof set, &set), 0);
}

// Whether the system lets this process watch all that happens on |core|.
static bool may_watch(int core) {
  struct perf_event_attr attributes = {.type = PERF_TYPE_SOFTWARE,
                                       .size = sizeof attributes,
                                       .config = PERF_COUNT_SW_DUMMY,
                                       .exclude_kernel = 1};
  const int file = (int)syscall(SYS_perf_event_open, &attributes, -1, core, -1, 0);
  if (file >= 0) close(file);
  return file >= 0;
}

// A process that computes on |core| until it is killed.
static pid_t start_neighbour(int core) {
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child) return child;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_NAME, "neighbour");
  pin(core);
  for (;;) {
  }
}

// Whether a line of the file has |expected|; the writer gives each event one.
static bool has_line(const char* path, const char* expected) {
  char line[4096];
  bool is_there = false;
  FILE* file = fopen(path, "r");
  assert_non_null(file);
  while (!is_there && fgets(line, sizeof line, file)) is_there = strstr(line, expected) != NULL;
  fclose(file);
  return is_there;
}

// Records steps for about 50 ms of the processor's time, again and again until |expected| is in the
// file, or the time is over.
static bool record_until(TF_Output output, const char* expected) {
  const time_t until = time(NULL) + MOST_BUSY_SECONDS;
  bool is_there = false;
  while (!is_there && time(NULL) < until) {
    double found[3];
    leat_trace_start(0, kit.status);
    kit_expect(kit.status, TF_OK);
    const clock_t begin = clock();
    while (clock() - begin < CLOCKS_PER_SEC / 20) model_kit_read(output, found, 3);
    leat_trace_stop("taken.json", kit.status);
    kit_expect(kit.status, TF_OK);
    is_there = has_line("taken.json", expected);
  }
  return is_there;
}

// Root sees who takes the core of a step; a process without rights only that somebody does.
static void who_took_the_core_of_a_step_is_in_the_file(void** state) {
  const double values[] = {1, 2, 3};
  TF_Output output = leat_softmax(kit.scope, model_kit_variable("v", TF_FLOAT, 3, values));
  cpu_set_t before;
  char expected[160];
  assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
  const int core = sched_getcpu();
  if (!may_watch(core)) {
    print_message("the cores may not be watched here\n");
    skip();
  }
  const pid_t neighbour = start_neighbour(core);
  pin(core);
  snprintf(expected, sizeof expected,
           "\"node\":\"neighbour\",\"process\":%d,\"why\":1,\"by\":%d}", neighbour, neighbour);
  const bool is_there = record_until(output, expected);
  kill(neighbour, SIGKILL);
  assert_int_equal(waitpid(neighbour, NULL, 0), neighbour);
  assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
  assert_true(is_there);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, model_kit_set_up, model_kit_tear_down)
  const struct CMUnitTest tests[] = {
      TEST(steps_are_in_the_file),
      TEST(a_node_tells_its_line),
      TEST(kernels_tell_their_step),
      TEST(calls_out_of_order_are_refused),
      TEST(who_took_the_core_of_a_step_is_in_the_file),
  };
  return cmocka_run_group_tests(tests, scratch_set_up, scratch_tear_down);
}
