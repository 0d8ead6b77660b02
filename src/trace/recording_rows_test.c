// Rows of what belongs to no thread, as a file has them: iterations lie within their loop, and
// those that run at once on rows of their own; messages that are waited for at once are apart; what
// memory is held is known from each change to the next. Threads and asynchronous kernels are in
// recording_file_test.c.
#include "trace/recording_rows.h"

#include "base/test.h"
#include "scratch.h"
#include "trace/test_recording.h"

#define MIB ((int64_t)1 << 20)

static test_recording_t test;

static int set_up(void** state) {
  test_recording_initialize(&test);
  test_add_thread(&test, "main");
  test_add_span(&test, 0, 1, 9000, LEAT_SPAN_STEP, 0, 1);
  return 0;
}

static int tear_down(void** state) {
  test_recording_deinitialize(&test);
  return 0;
}

static const leat_timeline_row_t* find_row(const leat_timeline_t* timeline, const char* name) {
  for (size_t i = 0; i < timeline->row_count; ++i) {
    if (leat_string_view_equals(timeline->rows[i]->name, name)) return timeline->rows[i];
  }
  return NULL;
}

// The lane's slices must be |expected|: pairs of begin and end, up to one that begins at 0.
static void expect_slices(const leat_timeline_row_t* row, uint32_t depth,
                          const int64_t (*expected)[2]) {
  assert_non_null(row);
  assert_true(depth < row->lane_count);
  const leat_lane_t* lane = &row->lanes[depth];
  size_t i = 0;
  for (; expected[i][0]; ++i) {
    assert_true(i < lane->count);
    assert_int_equal(lane->slices[i].begin_ns, expected[i][0]);
    assert_int_equal(lane->slices[i].end_ns, expected[i][1]);
  }
  assert_int_equal(lane->count, i);
}

static void iterations_lie_within_their_loop(void** state) {
  const uint32_t name = test_add_name(&test, "while_context", "");
  test_add_span(&test, 0, 100, 900, LEAT_SPAN_LOOP, name, 4);
  test_add_span(&test, 0, 100, 300, LEAT_SPAN_ITERATION, name, 0);
  test_add_span(&test, 0, 250, 500, LEAT_SPAN_ITERATION, name, 1);  // two run at once
  test_add_span(&test, 0, 300, 600, LEAT_SPAN_ITERATION, name, 2);
  test_add_span(&test, 0, 700, 900, LEAT_SPAN_ITERATION, name, 3);
  leat_timeline_t* timeline = test_recording_read_back(&test, "loops.perfetto-trace");
  const leat_timeline_row_t* row = find_row(timeline, "loops 1");
  expect_slices(row, 0, (int64_t[][2]){{100, 900}, {0}});
  expect_slices(row, 1, (int64_t[][2]){{100, 300}, {300, 600}, {700, 900}, {0}});
  expect_slices(find_row(timeline, "loops 2"), 0, (int64_t[][2]){{250, 500}, {0}});
  assert_null(find_row(timeline, "loops 3"));
  const leat_slice_name_t* loop = &timeline->names[row->lanes[0].slices[0].name];
  assert_int_equal(loop->kind, LEAT_SPAN_LOOP);
  assert_true(leat_string_view_equals(loop->op, "loop"));
  assert_true(leat_string_view_equals(loop->node, "while_context"));
  assert_int_equal(row->lanes[0].values[0], 4);
  assert_int_equal(row->lanes[1].values[1], 2);
  leat_timeline_free(timeline);
}

static void messages_and_kernels_have_rows_of_their_own(void** state) {
  test_add_span(&test, 0, 100, 300, LEAT_SPAN_FETCH, 0, 11);
  test_add_span(&test, 0, 200, 250, LEAT_SPAN_FETCH, 0, 12);
  test_add_span(&test, 0, 150, 350, LEAT_SPAN_ASYNC_KERNEL, 0, 0);
  leat_timeline_t* timeline = test_recording_read_back(&test, "network.json");
  expect_slices(find_row(timeline, "network 1"), 0, (int64_t[][2]){{100, 300}, {0}});
  expect_slices(find_row(timeline, "network 2"), 0, (int64_t[][2]){{200, 250}, {0}});
  expect_slices(find_row(timeline, "asynchronous kernels 1"), 0, (int64_t[][2]){{150, 350}, {0}});
  assert_null(find_row(timeline, "asynchronous kernels 2"));
  leat_timeline_free(timeline);
}

static void memory_is_known_from_each_change_to_the_next(void** state) {
  test_add_span(&test, 0, 100, 100, LEAT_SPAN_HELD, 0, 3 * MIB / 2);
  test_add_span(&test, 0, 300, 300, LEAT_SPAN_HELD, 0, 512);
  test_add_span(&test, 0, 700, 700, LEAT_SPAN_HELD, 0, 4000 * MIB);
  leat_timeline_t* timeline = test_recording_read_back(&test, "memory.perfetto-trace");
  const leat_timeline_row_t* row = find_row(timeline, "memory 1");
  expect_slices(row, 0, (int64_t[][2]){{100, 300}, {300, 700}, {700, TEST_END}, {0}});
  static const char* const kNames[] = {"1.5 MiB", "512 B", "3.91 GiB"};
  for (size_t i = 0; i < 3; ++i) {
    const leat_slice_name_t* name = &timeline->names[row->lanes[0].slices[i].name];
    assert_int_equal(name->kind, LEAT_SPAN_HELD);
    assert_true(leat_string_view_equals(name->op, kNames[i]));
  }
  assert_int_equal(row->lanes[0].values[0], 3 * MIB / 2);
  leat_timeline_free(timeline);
}

// A file that begins in the middle of a recording: what was told last still held there.
static void memory_that_was_told_before_still_holds(void** state) {
  leat_arena_t arena;
  leat_recording_rows_t rows;
  test_add_span(&test, 0, 100, 100, LEAT_SPAN_HELD, 0, 1);
  test_add_span(&test, 0, 300, 300, LEAT_SPAN_HELD, 0, 2);
  test_add_span(&test, 0, 700, 700, LEAT_SPAN_HELD, 0, 3);
  leat_recording_t made = test_recording_make(&test);
  made.from = 500;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  LEAT_EXPECT_OK(leat_recording_rows_make(&made, &arena, &rows));
  const size_t first = rows.groups[LEAT_ROWS_MEMORY].first_item;
  assert_int_equal(rows.groups[LEAT_ROWS_MEMORY + 1].first_item, first + 2);
  assert_int_equal(rows.items[first].span->value, 2);
  assert_int_equal(rows.items[first].span->begin, 500);
  assert_int_equal(rows.items[first].span->end, 700);
  assert_int_equal(rows.items[first + 1].span->end, TEST_END);
  leat_arena_deinitialize(&arena);
  test_recording_unmake(&made);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(iterations_lie_within_their_loop),
      TEST(messages_and_kernels_have_rows_of_their_own),
      TEST(memory_is_known_from_each_change_to_the_next),
      TEST(memory_that_was_told_before_still_holds),
  };
  return cmocka_run_group_tests(tests, scratch_set_up, scratch_tear_down);
}
