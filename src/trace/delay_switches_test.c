// What the delay finder says of times off a core that the system has told more of: who had the core
// meanwhile, who woke the thread, and from when on it was ready. Recordings are made by hand, each
// with one such time; what is expected is a sentence of the report or the pieces of the path.
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

// Steps of 1 ms, of which the last has a time off a core of |ns| in its kernel besides, told in two
// pieces whose values and names are given.
static void add_steps_with_pieces(test_recording_t* r, const int64_t values[2],
                                  const uint32_t piece_names[2], int64_t ns) {
  const uint32_t conv = test_add_name(r, "conv1", "Conv2D");
  for (int64_t i = 0; i < 3; ++i) {
    const int64_t begin = (1 + i) * 10000 * US, off = i == 2 ? ns : 0;
    test_add_span(r, 0, begin, begin + 1000 * US + off, LEAT_SPAN_STEP, 0, i + 1);
    test_add_span(r, 0, begin + US, begin + 900 * US + off, LEAT_SPAN_KERNEL, conv, 4);
    for (int k = 0; k < 2 && off; ++k) {
      // The second is the longer one.
      const int64_t from = begin + 2 * US + k * off / 4, to = k ? begin + 2 * US + off
                                                                : begin + 2 * US + off / 4;
      test_add_span(r, 0, from, to, LEAT_SPAN_OFF_CORE, piece_names[k], values[k]);
    }
  }
}

// Whether the report says |expected|.
static void expect_in_report(test_recording_t* recording, const char* expected) {
  found_t found;
  leat_string_builder_t report;
  find(recording, &found);
  leat_string_builder_initialize(leat_allocator_system(), &report);
  LEAT_EXPECT_OK(leat_delays_report(found.delays, &report));
  if (!strstr(report.data, expected)) print_error("%s is not in\n%s", expected, report.data);
  assert_non_null(strstr(report.data, expected));
  leat_string_builder_deinitialize(&report);
  free_found(&found);
}

static void expect_pieces(const int64_t values[2], const char* const titles[2],
                          const char* category, const char* expected) {
  test_recording_t r;
  uint32_t piece_names[2];
  test_recording_initialize(&r);
  test_add_thread(&r, "main");
  test_add_thread(&r, "leat_pool");
  for (int i = 0; i < 2; ++i) {
    piece_names[i] = titles[i] ? test_add_name(&r, titles[i], category) : 0;
  }
  add_steps_with_pieces(&r, values, piece_names, 400 * US);
  expect_in_report(&r, expected);
}

static int64_t preempted_by(uint32_t thread) {
  return leat_off_core_value(LEAT_OFF_CORE_PREEMPTED, thread, thread);
}

static void the_report_tells_who_took_the_core(void** state) {
  static const char* const kNobody[2] = {NULL, NULL};
  static const char* const kNinja[2] = {"ninja", "ninja"};
  static const char* const kBoth[2] = {"rcu_preempt", "ninja"};
  static const char* const kPool[2] = {"leat_pool", "leat_pool"};
  const char* by = "preempted by";
  expect_pieces((int64_t[2]){1, 1}, kNobody, by,
                "400.0 us: Conv2D 'conv1' lost its core to another thread for 400.0 us (");
  expect_pieces((int64_t[2]){preempted_by(4711), preempted_by(4711)}, kNinja, by,
                "400.0 us: Conv2D 'conv1' lost its core to ninja (4711) for 400.0 us (");
  expect_pieces((int64_t[2]){preempted_by(15), preempted_by(4711)}, kBoth, by,
                "Conv2D 'conv1' lost its core to ninja (4711) and others for 400.0 us (");
  expect_pieces((int64_t[2]){preempted_by(101), preempted_by(101)}, kPool, by,
                "Conv2D 'conv1' lost its core to thread 101 (leat_pool) for 400.0 us (");
  expect_pieces((int64_t[2]){preempted_by(4711), preempted_by(4711)}, kNobody, by,
                "Conv2D 'conv1' lost its core to thread 4711 for 400.0 us (");
}

static void the_report_tells_who_woke_a_kernel(void** state) {
  static const char* const kNobody[2] = {NULL, NULL};
  static const char* const kServer[2] = {"sshd", "sshd"};
  const int64_t by_server = leat_off_core_value(LEAT_OFF_CORE_ASLEEP, 22, 22);
  const int64_t ready = leat_off_core_value(LEAT_OFF_CORE_READY, 0, 0);
  expect_pieces((int64_t[2]){0, 0}, kNobody, "woken by",
                "400.0 us: Conv2D 'conv1' slept 400.0 us in the system, as for the disk (");
  expect_pieces((int64_t[2]){by_server, by_server}, kServer, "woken by",
                "400.0 us: Conv2D 'conv1' slept 400.0 us in the system until sshd (22) woke it (");
  expect_pieces((int64_t[2]){by_server, ready}, kServer, "woken by",
                "300.0 us: Conv2D 'conv1' went on 300.0 us after it could, when thread 100 (main) "
                "had woken up (");
}

// A kernel sleeps from 2000 to 8000 for a thread that computes from 3000 to 7000, and wakes it. The
// pieces in which nothing else is recorded of that thread are the sleeper's.
static void who_ended_a_sleep_is_followed(void** state) {
  static const struct {
    int64_t begin;
    uint32_t row, cause;
    const char* node;
  } kExpected[] = {{1000, 0, LEAT_DELAY_RUNTIME, NULL}, {1500, 0, LEAT_DELAY_COMPUTE, "call"},
                   {2000, 1, LEAT_DELAY_SYSTEM, "call"}, {3000, 1, LEAT_DELAY_COMPUTE, "slow"},
                   {7000, 1, LEAT_DELAY_SYSTEM, "call"}, {8000, 0, LEAT_DELAY_WAKE, "call"},
                   {8200, 0, LEAT_DELAY_COMPUTE, "call"}, {8900, 0, LEAT_DELAY_RUNTIME, NULL}};
  test_recording_t r;
  found_t found;
  leat_path_piece_t* pieces;
  size_t count;
  test_recording_initialize(&r);
  test_add_thread(&r, "main");
  test_add_thread(&r, "library");
  const uint32_t call = test_add_name(&r, "call", "PyFunc");
  const uint32_t slow = test_add_name(&r, "slow", "Exp");
  const uint32_t woken = test_add_name(&r, "library", "woken by");
  test_add_span(&r, 0, 1000, 9000, LEAT_SPAN_STEP, 0, 1);
  test_add_span(&r, 0, 1500, 8900, LEAT_SPAN_KERNEL, call, 0);
  test_add_span(&r, 0, 2000, 8000, LEAT_SPAN_OFF_CORE, woken,
                leat_off_core_value(LEAT_OFF_CORE_ASLEEP, 55, 101));
  test_add_span(&r, 0, 8000, 8200, LEAT_SPAN_OFF_CORE, 0,
                leat_off_core_value(LEAT_OFF_CORE_READY, 0, 0));
  test_add_span(&r, 1, 3000, 7000, LEAT_SPAN_KERNEL, slow, 0);
  find(&r, &found);
  LEAT_EXPECT_OK(leat_delays_path(found.delays, 0, &found.arena, &pieces, &count));
  assert_int_equal(count, sizeof kExpected / sizeof *kExpected);
  for (size_t i = 0; i < count; ++i) {
    assert_int_equal(pieces[i].begin_ns, kExpected[i].begin);
    assert_int_equal(pieces[i].row, kExpected[i].row);
    assert_int_equal(pieces[i].cause, kExpected[i].cause);
    assert_int_equal(pieces[i].name != LEAT_NO_NAME, kExpected[i].node != NULL);
    if (!kExpected[i].node) continue;
    assert_true(leat_string_view_equals(found.timeline->names[pieces[i].name].node,
                                        kExpected[i].node));
    if (pieces[i].cause == LEAT_DELAY_SYSTEM) assert_int_equal(pieces[i].by, 101);
  }
  free_found(&found);
}

// A step that waits while two threads compute. The wait does not know who ended it, but the system
// knows who woke the thread that slept in it.
static void who_woke_a_waiting_thread_is_followed(void** state) {
  for (uint32_t waker = 101; waker <= 102; ++waker) {
    test_recording_t r;
    found_t found;
    leat_path_piece_t* pieces;
    size_t count;
    test_recording_initialize(&r);
    for (int i = 0; i < 3; ++i) test_add_thread(&r, i ? "leat_pool" : "main");
    const uint32_t add_n = test_add_name(&r, "add", "AddN");
    test_add_span(&r, 0, 1000, 9000, LEAT_SPAN_STEP, 0, 1);
    test_add_span(&r, 0, 2000, 8500, LEAT_SPAN_WAIT, 0, 0);
    test_add_span(&r, 0, 2100, 8300, LEAT_SPAN_OFF_CORE, 0,
                  leat_off_core_value(LEAT_OFF_CORE_ASLEEP, 55, waker));
    test_add_span(&r, 0, 8300, 8400, LEAT_SPAN_OFF_CORE, 0,
                  leat_off_core_value(LEAT_OFF_CORE_READY, 0, 0));
    test_add_span(&r, 1, 2000, 8000, LEAT_SPAN_TASK, 0, 100);
    test_add_span(&r, 1, 2100, 7900, LEAT_SPAN_KERNEL, add_n, 0);
    test_add_span(&r, 2, 2000, 7000, LEAT_SPAN_TASK, 0, 100);
    test_add_span(&r, 2, 2100, 6900, LEAT_SPAN_KERNEL, add_n, 0);
    find(&r, &found);
    LEAT_EXPECT_OK(leat_delays_path(found.delays, 0, &found.arena, &pieces, &count));
    int computing = 0;
    for (size_t i = 0; i < count; ++i) {
      if (pieces[i].cause != LEAT_DELAY_COMPUTE) continue;
      ++computing;
      assert_int_equal(pieces[i].row, waker - 100);
    }
    assert_int_equal(computing, 1);
    free_found(&found);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_report_tells_who_took_the_core),
      cmocka_unit_test(the_report_tells_who_woke_a_kernel),
      cmocka_unit_test(who_ended_a_sleep_is_followed),
      cmocka_unit_test(who_woke_a_waiting_thread_is_followed),
  };
  return cmocka_run_group_tests(tests, scratch_set_up, scratch_tear_down);
}
