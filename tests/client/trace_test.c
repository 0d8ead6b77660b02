// leat/trace.h: a program records its own steps. What a recording holds and how it is written is
// tested further down (base/span_test.c, trace/recording_file_test.c); here the kernels of a real
// session must come into the file, each run of each, and those of steps outside must not.
#include <stdlib.h>
#include <string.h>

#include "client/model_kit.h"
#include "base/test.h"
#include "base/thread.h"
#include "leat/trace.h"
#include "scratch.h"
#include "trace/timeline.h"

#define STEPS 5
#define THREADS 3
#define STEPS_OF_THREAD 50

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

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, model_kit_set_up, model_kit_tear_down)
  const struct CMUnitTest tests[] = {
      TEST(steps_are_in_the_file),
      TEST(kernels_tell_their_step),
      TEST(calls_out_of_order_are_refused),
  };
  return cmocka_run_group_tests(tests, scratch_set_up, scratch_tear_down);
}
