// The borders of loops in a recording (worker/loop_span.h): each run of a loop and each iteration
// is there, on both executors, with its number, within the loop that it is a part of, and as a part
// of its step. A loop of n turns has n + 1 iterations, the last of which only finds that the
// condition is false.
#include "base/checked.h"
#include "base/span.h"
#include "session/flow.h"

enum { OUTER = 3, INNER = 4 };

// The spans of |kind| whose frame is called |frame|, and the sum of their numbers; those that go
// beyond |begin| and |end| fail the test.
typedef struct found_s {
  int count;
  int64_t sum, begin, end;
} found_t;

static found_t find(const leat_recording_t* recording, leat_span_kind_t kind, const char* frame,
                    uint32_t step) {
  found_t found = {.begin = INT64_MAX};
  for (const leat_span_chunk_t* chunk = recording->first; chunk; chunk = chunk->next) {
    for (uint32_t i = 0; i < atomic_load(&chunk->count); ++i) {
      const leat_span_t* span = &chunk->spans[i];
      if (span->kind != kind ||
          !leat_string_view_equals(recording->names[span->name].name, frame)) {
        continue;
      }
      assert_int_equal(span->step, step);
      assert_true(span->begin <= span->end);
      ++found.count;
      found.sum += span->value;
      found.begin = LEAT_MIN(found.begin, span->begin);
      found.end = LEAT_MAX(found.end, span->end);
    }
  }
  return found;
}

static uint32_t step_of(const leat_recording_t* recording) {
  for (const leat_span_chunk_t* chunk = recording->first; chunk; chunk = chunk->next) {
    for (uint32_t i = 0; i < atomic_load(&chunk->count); ++i) {
      if (chunk->spans[i].kind == LEAT_SPAN_STEP) return chunk->spans[i].step;
    }
  }
  fail_msg("there is no step in the recording");
  return 0;
}

static int sum_below(int n) { return n * (n - 1) / 2; }

static void the_borders_of_loops_are_recorded(scene_t* s) {
  leat_output_t x = scene_placeholder(s, "x", LEAT_DTYPE_FLOAT);
  flow_loop_t outer, inner;
  flow_loop_count(s, "outer", flow_int(s, OUTER), LEAT_INPUTS(scene_float(s, 0)), &outer);
  leat_output_t around = flow_loop_invariant(&outer, x);
  leat_output_t limit = flow_loop_invariant(&outer, flow_int(s, INNER)), zero = flow_int(s, 0);
  scene_after(s, zero.node, outer.pivot);
  flow_loop_open(s, "inner", LEAT_INPUTS(zero, outer.values[1]), &inner);
  leat_output_t within = flow_loop_invariant(&inner, around);
  leat_output_t end = flow_loop_invariant(&inner, limit);
  flow_loop_test(&inner, scene_binary(s, "Less", -1, inner.values[0], end));
  leat_output_t one = flow_int(s, 1);
  scene_after(s, one.node, inner.pivot);
  flow_loop_next(&inner, 0, scene_binary(s, "AddV2", -1, inner.values[0], one));
  flow_loop_next(&inner, 1, scene_binary(s, "AddV2", -1, inner.values[1], within));
  flow_loop_next(&outer, 1, flow_loop_exit(&inner, 1));
  leat_output_t y = flow_loop_exit(&outer, 1);
  assert_true(scene_get_fed(s, x, 2, y) == 2 * OUTER * INNER);  // of this one nothing is recorded
  leat_recording_t* recording;
  LEAT_EXPECT_OK(leat_recording_start(0));
  assert_true(scene_get_fed(s, x, 2, y) == 2 * OUTER * INNER);
  LEAT_EXPECT_OK(leat_recording_stop(&recording));
  const uint32_t step = step_of(recording);
  const found_t loop = find(recording, LEAT_SPAN_LOOP, "outer", step);
  const found_t turns = find(recording, LEAT_SPAN_ITERATION, "outer", step);
  const found_t inner_loops = find(recording, LEAT_SPAN_LOOP, "inner", step);
  const found_t inner_turns = find(recording, LEAT_SPAN_ITERATION, "inner", step);
  assert_int_equal(loop.count, 1);
  assert_int_equal(loop.sum, OUTER + 1);
  assert_int_equal(turns.count, OUTER + 1);
  assert_int_equal(turns.sum, sum_below(OUTER + 1));
  assert_int_equal(inner_loops.count, OUTER);
  assert_int_equal(inner_loops.sum, OUTER * (INNER + 1));
  assert_int_equal(inner_turns.count, OUTER * (INNER + 1));
  assert_int_equal(inner_turns.sum, OUTER * sum_below(INNER + 1));
  const found_t* const kOrder[] = {&loop, &turns, &inner_loops, &inner_turns};
  for (int i = 1; i < 4; ++i) {
    assert_true(kOrder[i]->begin >= kOrder[i - 1]->begin && kOrder[i]->end <= kOrder[i - 1]->end);
  }
  leat_recording_free(recording);
}

static void run_all_ways(void** state) {
  scene_run_all_ways(the_borders_of_loops_are_recorded);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      {"the_borders_of_loops_are_recorded", run_all_ways, NULL, NULL, NULL}};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
