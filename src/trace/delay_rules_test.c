// The delay finder on small recordings, each made by hand for one rule of the walk: who held a
// lock, who ended a wait or began what was waited for, what a queue's feeder did, how far another
// branch limits the gain, which steps are compared, and how steps that run at once are kept apart.
// Times are in the tests, so that a path can be followed with a pencil. Programs as they run, with
// delays planted by seeds, are in delay_test.c.
#include "trace/delay.h"

#include "scratch.h"
#include "trace/test_recording.h"

#define US INT64_C(1000)

typedef struct found_s {
  leat_timeline_t* timeline;
  leat_delays_t* delays;
  leat_arena_t arena;
} found_t;

static void find(test_recording_t* recording, found_t* out_found) {
  out_found->timeline = test_recording_read_back(recording, "found.perfetto-trace");
  test_recording_deinitialize(recording);
  leat_arena_initialize(leat_allocator_system(), 0, &out_found->arena);
  LEAT_EXPECT_OK(leat_delays_find(out_found->timeline, &out_found->delays));
}

static void free_found(found_t* found) {
  leat_arena_deinitialize(&found->arena);
  leat_delays_free(found->delays);
  leat_timeline_free(found->timeline);
}

static void expect_report(test_recording_t* recording, const char* expected) {
  found_t found;
  leat_string_builder_t report;
  find(recording, &found);
  leat_string_builder_initialize(leat_allocator_system(), &report);
  LEAT_EXPECT_OK(leat_delays_report(found.delays, &report));
  assert_string_equal(report.data, expected);
  leat_string_builder_deinitialize(&report);
  free_found(&found);
}

// Three steps; the kernel of the last waits for a lock that the second thread holds.
static void the_report_tells_who_held_the_lock(void** state) {
  test_recording_t r;
  test_recording_initialize(&r);
  const uint32_t main_thread = test_add_thread(&r, "main");
  test_add_thread(&r, "saver");
  const uint32_t conv = test_add_name(&r, "conv1", "Conv2D");
  for (int64_t i = 0; i < 3; ++i) {
    const int64_t begin = (1 + i) * 10000 * US, waited = i == 2 ? 3100 * US : 0;
    test_add_span(&r, main_thread, begin, begin + 1000 * US + waited, LEAT_SPAN_STEP, 0, i + 1);
    test_add_span(&r, main_thread, begin + US, begin + 900 * US + waited, LEAT_SPAN_KERNEL, conv,
                  4);
    if (!waited) continue;
    test_add_span(&r, main_thread, begin + 2 * US, begin + 2 * US + waited, LEAT_SPAN_LOCK, 0,
                  101);
  }
  expect_report(&r,
      "3 of 3 steps are alike and took the most time, on thread 100 (main).\n"
      "A step takes 1.00 ms (median); the slowest, step 3, took 4.10 ms.\n"
      "\n"
      "What a step would gain, on average, without\n"
      "  1.03 ms: Conv2D 'conv1' waited 1.03 ms for a lock that thread 101 (saver) held "
      "(median step: 0 ns)\n"
      "\n"
      "Why the slowest step took longer than the median\n"
      "  3.10 ms: Conv2D 'conv1' waited 3.10 ms for a lock that thread 101 (saver) held "
      "(median step: 0 ns)\n");
}

static void a_recording_without_steps_is_told(void** state) {
  test_recording_t r;
  test_recording_initialize(&r);
  test_add_thread(&r, "main");
  test_add_span(&r, 0, 100, 200, LEAT_SPAN_TASK, 0, 0);
  expect_report(&r, "The recording has no step.\n");
}

// The row of the path's only piece in which a kernel computes.
static uint32_t row_that_computes(test_recording_t* recording) {
  found_t found;
  leat_path_piece_t* pieces;
  size_t count;
  uint32_t row = UINT32_MAX;
  find(recording, &found);
  LEAT_EXPECT_OK(leat_delays_path(found.delays, 0, &found.arena, &pieces, &count));
  for (size_t i = 0; i < count; ++i) {
    if (pieces[i].cause != LEAT_DELAY_COMPUTE) continue;
    assert_int_equal(row, UINT32_MAX);
    row = pieces[i].row;
  }
  free_found(&found);
  return row;
}

// A kernel of a task of the pool begins a dequeue, whose end the caller waits for.
static void who_began_an_asynchronous_kernel_is_followed(void** state) {
  test_recording_t r;
  test_recording_initialize(&r);
  for (int i = 0; i < 3; ++i) test_add_thread(&r, i == 2 ? "feeder" : i ? "leat_pool" : "main");
  const uint32_t mul = test_add_name(&r, "mul", "MatMul");
  const uint32_t next = test_add_name(&r, "next", "QueueDequeueV2");
  test_add_span(&r, 0, 1000, 9000, LEAT_SPAN_STEP, 0, 1);
  test_add_span(&r, 0, 1300, 8500, LEAT_SPAN_WAIT, 0, 0);
  test_add_span(&r, 1, 1400, 3200, LEAT_SPAN_TASK, 0, 200);
  test_add_span(&r, 1, 1500, 3150, LEAT_SPAN_KERNEL, mul, 0);
  test_add_span(&r, 2, 3100, 8000, LEAT_SPAN_ASYNC_KERNEL, next, 0);
  assert_int_equal(row_that_computes(&r), 1);
}

// A step that waits while two threads compute, the second of which ends first. Where the recording
// names who ended the wait, that thread is followed, and else the one that ended last.
static uint32_t row_that_is_followed(int64_t woken_by) {
  test_recording_t r;
  test_recording_initialize(&r);
  for (int i = 0; i < 3; ++i) test_add_thread(&r, i ? "leat_pool" : "main");
  const uint32_t add_n = test_add_name(&r, "add", "AddN");
  test_add_span(&r, 0, 1000, 9000, LEAT_SPAN_STEP, 0, 1);
  test_add_span(&r, 0, 2000, 8500, LEAT_SPAN_WAIT, 0, woken_by);
  test_add_span(&r, 1, 2000, 8000, LEAT_SPAN_TASK, 0, 100);
  test_add_span(&r, 1, 2100, 7900, LEAT_SPAN_KERNEL, add_n, 0);
  test_add_span(&r, 2, 2000, 7000, LEAT_SPAN_TASK, 0, 100);
  test_add_span(&r, 2, 2100, 6900, LEAT_SPAN_KERNEL, add_n, 0);
  return row_that_computes(&r);
}

static void who_ended_a_wait_is_followed(void** state) {
  assert_int_equal(row_that_is_followed(0), 1);
  assert_int_equal(row_that_is_followed(102), 2);
}

// A dequeue that waits from 1200 to 5000 for a feeder, which is asleep up to 3000 and then decodes.
static void a_path_goes_through_the_queue(void** state) {
  static const struct {
    int64_t begin;
    uint32_t row, cause;
  } kExpected[] = {
      {1000, 0, LEAT_DELAY_RUNTIME},    {1100, 0, LEAT_DELAY_COMPUTE},
      {1200, 1, LEAT_DELAY_INPUT},      {3000, 1, LEAT_DELAY_INPUT_WORK},
      {3100, 1, LEAT_DELAY_INPUT_WORK}, {4800, 1, LEAT_DELAY_INPUT_WORK},
      {5000, 0, LEAT_DELAY_WAKE},       {5400, 0, LEAT_DELAY_RUNTIME},
      {5500, 0, LEAT_DELAY_COMPUTE},    {7000, 0, LEAT_DELAY_RUNTIME}};
  test_recording_t r;
  found_t found;
  leat_path_piece_t* pieces;
  size_t count;
  test_recording_initialize(&r);
  test_add_thread(&r, "main");
  test_add_thread(&r, "feeder");
  const uint32_t queue = test_add_name(&r, "queue", "FIFOQueueV2");
  const uint32_t next = test_add_name(&r, "next", "QueueDequeueV2");
  const uint32_t decode = test_add_name(&r, "decode", "DecodePng");
  const uint32_t mul = test_add_name(&r, "mul", "MatMul");
  test_add_span(&r, 0, 1000, 7100, LEAT_SPAN_STEP, 0, 1);
  test_add_span(&r, 0, 1100, 1200, LEAT_SPAN_KERNEL, queue, 0);
  test_add_span(&r, 1, 1200, 5000, LEAT_SPAN_ASYNC_KERNEL, next, 8);
  test_add_span(&r, 0, 1300, 5400, LEAT_SPAN_WAIT, 0, 0);
  test_add_span(&r, 0, 5500, 7000, LEAT_SPAN_KERNEL, mul, 64);
  test_add_span(&r, 1, 500, 3000, LEAT_SPAN_OFF_CORE, 0, 0);
  test_add_span(&r, 1, 3000, 5300, LEAT_SPAN_STEP, 0, 2);
  test_add_span(&r, 1, 3100, 4800, LEAT_SPAN_KERNEL, decode, 64);
  find(&r, &found);
  LEAT_EXPECT_OK(leat_delays_path(found.delays, 0, &found.arena, &pieces, &count));
  assert_int_equal(count, sizeof kExpected / sizeof *kExpected);
  for (size_t i = 0; i < count; ++i) {
    assert_int_equal(pieces[i].begin_ns, kExpected[i].begin);
    assert_int_equal(pieces[i].row, kExpected[i].row);
    assert_int_equal(pieces[i].cause, kExpected[i].cause);
  }
  free_found(&found);
}

// Two branches, of which the longer waits 3000 for a lock: without it the other is the longer one,
// which ends 2000 before.
static void another_branch_limits_the_gain(void** state) {
  test_recording_t r;
  found_t found;
  leat_delay_t* list;
  size_t count;
  test_recording_initialize(&r);
  for (int i = 0; i < 3; ++i) test_add_thread(&r, i ? "leat_pool" : "main");
  const uint32_t left = test_add_name(&r, "left", "MatMul");
  const uint32_t right = test_add_name(&r, "right", "MatMul");
  test_add_span(&r, 0, 1000, 9500, LEAT_SPAN_STEP, 0, 1);
  test_add_span(&r, 0, 1200, 9200, LEAT_SPAN_WAIT, 0, 0);
  test_add_span(&r, 1, 1300, 9000, LEAT_SPAN_TASK, 0, 200);
  test_add_span(&r, 1, 1300, 9000, LEAT_SPAN_KERNEL, left, 64);
  test_add_span(&r, 1, 2000, 5000, LEAT_SPAN_LOCK, 0, 0);
  test_add_span(&r, 2, 1300, 7000, LEAT_SPAN_TASK, 0, 200);
  test_add_span(&r, 2, 1300, 7000, LEAT_SPAN_KERNEL, right, 64);
  find(&r, &found);
  LEAT_EXPECT_OK(leat_delays_of_group(found.delays, 0, &found.arena, &list, &count));
  assert_int_equal(list[0].cause, LEAT_DELAY_LOCK);
  assert_int_equal(list[0].total_ns, 3000);
  assert_int_equal(list[0].gain_ns, 2000);
  free_found(&found);
}

// Two steps of one plan at once: |read| of the first is slow at a lock, and that of the second ends
// later, just before the first goes on. Without the numbers of their steps the second one's would
// be taken for what the first waited for, and the lock would not be on its path.
static void expect_own_kernels(bool has_edges) {
  static const int kEdges[][2] = {{0, 1}, {-1, 0}};
  test_recording_t r;
  found_t found;
  leat_path_piece_t* pieces;
  size_t count;
  int64_t locked_ns = 0;
  test_recording_initialize(&r);
  for (int i = 0; i < 4; ++i) test_add_thread(&r, i < 2 ? "main" : "leat_pool");
  const uint32_t read = test_add_name(&r, "read", "ReadVariableOp");
  const uint32_t use = test_add_name(&r, "use", "MatMul");
  if (has_edges) test_add_graph(&r, read, 2, kEdges);
  test_add_span_in_step(&r, 0, 1000, 9000, LEAT_SPAN_STEP, 0, 1, 1);
  test_add_span_in_step(&r, 2, 1200, 7000, LEAT_SPAN_TASK, 0, 100, 1);
  test_add_span_in_step(&r, 2, 1300, 6900, LEAT_SPAN_KERNEL, read, 8, 1);
  test_add_span(&r, 2, 2000, 6800, LEAT_SPAN_LOCK, 0, 0);
  test_add_span(&r, 0, 1250, 7300, LEAT_SPAN_WAIT, 0, 0);
  test_add_span_in_step(&r, 0, 7500, 8900, LEAT_SPAN_KERNEL, use, 8, 1);
  test_add_span_in_step(&r, 1, 1100, 9500, LEAT_SPAN_STEP, 0, 2, 2);
  test_add_span_in_step(&r, 3, 7000, 7250, LEAT_SPAN_TASK, 0, 100, 2);
  test_add_span_in_step(&r, 3, 7050, 7240, LEAT_SPAN_KERNEL, read, 8, 2);
  test_add_span(&r, 1, 1150, 7450, LEAT_SPAN_WAIT, 0, 0);
  test_add_span_in_step(&r, 1, 7600, 9400, LEAT_SPAN_KERNEL, use, 8, 2);
  find(&r, &found);
  LEAT_EXPECT_OK(leat_delays_path(found.delays, 0, &found.arena, &pieces, &count));
  assert_int_equal(found.delays->steps[0].number, 1);
  for (size_t i = 0; i < count; ++i) {
    assert_int_not_equal(pieces[i].row, 3);
    if (pieces[i].cause == LEAT_DELAY_LOCK) locked_ns += pieces[i].end_ns - pieces[i].begin_ns;
  }
  assert_int_equal(locked_ns, 4800);
  free_found(&found);
}

static void steps_that_overlap_keep_their_kernels(void** state) {
  expect_own_kernels(true);
  expect_own_kernels(false);
}

// The second task of a step was queued by its first one. Another thread of the pool was at work in
// that moment too, for another step.
static void a_task_was_queued_by_its_own_step(void** state) {
  test_recording_t r;
  found_t found;
  leat_path_piece_t* pieces;
  size_t count;
  test_recording_initialize(&r);
  for (int i = 0; i < 5; ++i) test_add_thread(&r, i < 2 ? "main" : "leat_pool");
  const uint32_t mul = test_add_name(&r, "mul", "MatMul");
  test_add_span_in_step(&r, 0, 1000, 9000, LEAT_SPAN_STEP, 0, 1, 1);
  test_add_span(&r, 0, 1100, 8900, LEAT_SPAN_WAIT, 0, 0);
  test_add_span_in_step(&r, 1, 900, 9500, LEAT_SPAN_STEP, 0, 2, 2);
  test_add_span(&r, 1, 1000, 9400, LEAT_SPAN_WAIT, 0, 0);
  test_add_span_in_step(&r, 2, 1200, 9300, LEAT_SPAN_TASK, 0, 100, 2);
  test_add_span_in_step(&r, 2, 1200, 9200, LEAT_SPAN_KERNEL, mul, 8, 2);
  test_add_span_in_step(&r, 3, 1200, 5000, LEAT_SPAN_TASK, 0, 100, 1);
  test_add_span_in_step(&r, 3, 1300, 4000, LEAT_SPAN_KERNEL, mul, 8, 1);
  test_add_span_in_step(&r, 4, 4600, 8800, LEAT_SPAN_TASK, 0, 500, 1);
  test_add_span_in_step(&r, 4, 4700, 8700, LEAT_SPAN_KERNEL, mul, 8, 1);
  find(&r, &found);
  LEAT_EXPECT_OK(leat_delays_path(found.delays, 1, &found.arena, &pieces, &count));
  assert_int_equal(found.delays->steps[1].number, 1);
  bool has_first_task = false;
  for (size_t i = 0; i < count; ++i) {
    assert_int_not_equal(pieces[i].row, 2);
    has_first_task |= pieces[i].row == 3;
  }
  assert_true(has_first_task);
  free_found(&found);
}

// Steps of one thread with the same first kernel, every other of which evaluates besides.
static void steps_are_compared_with_those_that_are_alike(void** state) {
  test_recording_t r;
  found_t found;
  test_recording_initialize(&r);
  test_add_thread(&r, "main");
  const uint32_t train = test_add_name(&r, "train", "MatMul");
  const uint32_t evaluate = test_add_name(&r, "evaluate", "ArgMax");
  for (int64_t i = 0; i < 6; ++i) {
    const int64_t begin = 1000 + i * 1000;
    test_add_span(&r, 0, begin, begin + 300 + i % 2 * 400, LEAT_SPAN_STEP, 0, i);
    test_add_span(&r, 0, begin + 10, begin + 290, LEAT_SPAN_KERNEL, train, 0);
    if (i % 2) test_add_span(&r, 0, begin + 300, begin + 600, LEAT_SPAN_KERNEL, evaluate, 0);
  }
  find(&r, &found);
  assert_int_equal(found.delays->group_count, 2);
  assert_int_equal(found.delays->groups[0].median_ns, 300);
  assert_int_equal(found.delays->groups[1].median_ns, 700);
  assert_int_equal(found.delays->main_group, 1);
  free_found(&found);
}

// A feeder whose queue is full waits for room, and is not what a program is slow by; nor is one
// that waits for a value the less so.
static void who_fills_a_queue_is_not_the_main_group(void** state) {
  static const int kNoEdges[][2] = {{-1, -1}};
  static const struct { const char* outputs; size_t main_group; } kCases[] = {{"", 1},
                                                                              {"float []", 0}};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kCases); ++i) {
    test_recording_t r;
    found_t found;
    test_recording_initialize(&r);
    test_add_thread(&r, "feeder");
    test_add_thread(&r, "main");
    const uint32_t decode = test_add_name(&r, "decode", "DecodePng");
    const uint32_t put = test_add_name(&r, "put", "QueueEnqueueV2");
    const uint32_t train = test_add_name(&r, "train", "MatMul");
    test_add_graph(&r, decode, 2, kNoEdges);
    const leat_string_view_t outputs = leat_string_view_from(kCases[i].outputs);
    test_set_facts(&r, 1, &(leat_span_facts_t){.device = LEAT_SV("CPU:0"), .outputs = outputs,
                                               .flops = -1});
    for (int64_t step = 0; step < 4; ++step) {
      const int64_t begin = (1 + step) * 1000 * US;
      test_add_span(&r, 0, begin, begin + 900 * US, LEAT_SPAN_STEP, 0, step);
      test_add_span(&r, 0, begin + US, begin + 101 * US, LEAT_SPAN_KERNEL, decode, 4);
      test_add_span(&r, 0, begin + 102 * US, begin + 890 * US, LEAT_SPAN_ASYNC_KERNEL, put, 4);
      test_add_span(&r, 0, begin + 103 * US, begin + 891 * US, LEAT_SPAN_WAIT, 0, 0);
      test_add_span(&r, 1, begin + 10 * US, begin + 400 * US, LEAT_SPAN_STEP, 0, 100 + step);
      test_add_span(&r, 1, begin + 11 * US, begin + 390 * US, LEAT_SPAN_KERNEL, train, 4);
    }
    find(&r, &found);
    assert_int_equal(found.delays->group_count, 2);
    const leat_step_t* step =
        &found.delays->steps[found.delays->groups[found.delays->main_group].slowest];
    assert_int_equal(found.timeline->rows[step->row]->thread, 100 + kCases[i].main_group);
    free_found(&found);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_report_tells_who_held_the_lock),
      cmocka_unit_test(a_recording_without_steps_is_told),
      cmocka_unit_test(who_ended_a_wait_is_followed),
      cmocka_unit_test(who_began_an_asynchronous_kernel_is_followed),
      cmocka_unit_test(a_path_goes_through_the_queue),
      cmocka_unit_test(another_branch_limits_the_gain),
      cmocka_unit_test(steps_that_overlap_keep_their_kernels),
      cmocka_unit_test(a_task_was_queued_by_its_own_step),
      cmocka_unit_test(steps_are_compared_with_those_that_are_alike),
      cmocka_unit_test(who_fills_a_queue_is_not_the_main_group),
  };
  return cmocka_run_group_tests(tests, scratch_set_up, scratch_tear_down);
}
