// The rules by which events become series of values are TensorBoard's, and many of them are old: a
// second start of a session purges the steps after it, version 1 files purge a tag whose step goes
// back, the first value of a tag decides what the tag may hold. Each case writes a log with exactly
// the events of one rule, loads it as a run and looks at the steps that remain. Tags are arbitrary
// bytes, so paths, markup and broken UTF-8 are tried as tags. One event is cut and changed at every
// byte, and the event behind it must still be read. What TensorBoard itself makes of such logs is
// compared in tests/oracle/board_oracle.py.
#include "board/run.h"

#include <math.h>

#include "base/clock.h"
#include "board/snapshot.h"
#include "formats/generated/event.h"
#include "formats/record/record.h"
#include "formats/test_directory.h"
#include "formats/wire/encode.h"

#define FILE_NAME "events.out.tfevents.1.host"

static leat_string_builder_t log_bytes;

static void add_bytes(leat_string_view_t event) { leat_record_append(&log_bytes, event); }

static void add_event(const leat_pb_event_t* event) {
  leat_string_builder_t bytes;
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  LEAT_EXPECT_OK(leat_message_encode(&leat_pb_event_descriptor, event, &bytes));
  add_bytes(leat_string_builder_view(&bytes));
  leat_string_builder_deinitialize(&bytes);
}

static void add_value(int64_t step, leat_pb_summary_value_t value) {
  leat_pb_summary_t summary = {.value = {&value, 1}};
  add_event(&(leat_pb_event_t){.wall_time = 100 + (double)step, .step = step, .summary = &summary,
                               .what_case = 5});
}

static void add_simple(int64_t step, const char* tag, float number) {
  add_value(step, (leat_pb_summary_value_t){.tag = leat_string_view_from(tag),
                                            .simple_value = number, .value_case = 2});
}

static void add_version(const char* version) {
  add_event(&(leat_pb_event_t){.file_version = leat_string_view_from(version), .what_case = 3});
}

static void add_start(int64_t step) {
  leat_pb_session_log_t start = {.status = LEAT_PB_SESSION_LOG_SESSION_STATUS_START};
  add_event(&(leat_pb_event_t){.step = step, .session_log = &start, .what_case = 7});
}

// Writes what was added, loads it into a new run, and begins anew.
static board_run_t* load(void) {
  board_run_t* run;
  bool changed = false;
  test_write_file(FILE_NAME, log_bytes.data, log_bytes.size);
  leat_string_builder_deinitialize(&log_bytes);
  LEAT_EXPECT_OK(board_run_create("r", test_directory, &run));
  LEAT_EXPECT_OK(board_run_load(run, &changed));
  assert_true(changed);
  return run;
}

static board_series_t* series_of(board_run_t* run, const char* tag) {
  board_series_t* series = board_run_find(run, leat_string_view_from(tag));
  assert_non_null(series);
  return series;
}

static void expect_steps(board_run_t* run, const char* tag, const int64_t* steps, uint32_t count) {
  const board_columns_t columns = board_series_columns(series_of(run, tag));
  assert_int_equal(columns.count, count);
  for (uint32_t i = 0; i < count; ++i) assert_int_equal(columns.steps[i], steps[i]);
}

static void a_second_start_purges(void** state) {
  add_version("brain.Event:2");
  add_simple(2, "early", 1);
  add_start(0);  // the first start purges nothing
  for (int i = 0; i < 6; ++i) add_simple(i, "a", (float)i);
  add_simple(9, "b", 1);
  add_start(3);
  add_simple(3, "a", 30);
  board_run_t* run = load();
  expect_steps(run, "a", (const int64_t[]){0, 1, 2, 3}, 4);
  assert_true(board_series_columns(series_of(run, "a")).values[3] == 30);
  expect_steps(run, "b", NULL, 0);
  assert_int_equal(run->purged, 4);
  expect_steps(run, "early", (const int64_t[]){2}, 1);
  board_run_free(run);
}

// Version 2 keeps steps that go back without a session's start; older files purge the tag alone.
static void steps_that_go_back_purge_old_files(void** state) {
  for (int version = 1; version <= 2; ++version) {
    add_version(version == 1 ? "brain.Event:1" : "brain.Event:2");
    for (int i = 0; i < 5; ++i) {
      add_simple(i, "a", 0);
      add_simple(i, "b", 0);
    }
    add_simple(4, "b", 1);  // the same step again is no step back
    add_simple(2, "a", 1);
    board_run_t* run = load();
    if (version == 1) {
      expect_steps(run, "a", (const int64_t[]){0, 1, 2}, 3);
    } else {
      expect_steps(run, "a", (const int64_t[]){0, 1, 2, 3, 4, 2}, 6);
    }
    expect_steps(run, "b", (const int64_t[]){0, 1, 2, 3, 4, 4}, 6);
    board_run_free(run);
  }
}

static void tensors_are_scalars_too(void** state) {
  leat_pb_summary_metadata_plugin_data_t plugin = {.plugin_name = LEAT_SV("scalars")};
  leat_pb_summary_metadata_t metadata = {.plugin_data = &plugin, .display_name = LEAT_SV("Loss")};
  float numbers[] = {2.5f};
  leat_pb_tensor_proto_t tensor = {.dtype = 1, .float_val = {numbers, 1}};
  leat_pb_summary_value_t value = {.tag = LEAT_SV("t"), .tensor = &tensor, .metadata = &metadata,
                                   .value_case = 8};
  add_value(1, value);
  // Later values have no metadata.
  value.metadata = NULL;
  tensor = (leat_pb_tensor_proto_t){.dtype = 2,
                                    .tensor_content = LEAT_SV("\0\0\0\0\0\0\xf8\x7f")};
  add_value(2, value);
  // Two numbers are no scalar, and half a number is none.
  leat_pb_tensor_shape_proto_dim_t dim = {.size = 2};
  leat_pb_tensor_shape_proto_t shape = {.dim = {&dim, 1}};
  tensor.tensor_shape = &shape;
  add_value(3, value);
  tensor = (leat_pb_tensor_proto_t){.dtype = 2, .tensor_content = LEAT_SV("abc")};
  add_value(4, value);
  board_run_t* run = load();
  board_series_t* series = series_of(run, "t");
  const board_columns_t columns = board_series_columns(series);
  assert_int_equal(columns.count, 2);
  assert_true(columns.values[0] == 2.5);
  assert_true(isnan(columns.values[1]));
  assert_string_equal(series->plugin, "scalars");
  assert_string_equal(series->display_name, "Loss");
  assert_int_equal(run->skipped, 2);
  board_run_free(run);
}

// A tag that first held a scalar cannot hold an image; one that was first seen without an owner
// stays without.
static void the_first_value_decides(void** state) {
  leat_pb_summary_image_t image = {.encoded_image_string = LEAT_SV("png")};
  add_simple(1, "a", 1);
  add_value(2, (leat_pb_summary_value_t){.tag = LEAT_SV("a"), .image = &image, .value_case = 4});
  leat_pb_tensor_proto_t tensor = {.dtype = 1};
  add_value(3, (leat_pb_summary_value_t){.tag = LEAT_SV("x"), .tensor = &tensor, .value_case = 8});
  add_simple(4, "x", 1);
  board_run_t* run = load();
  expect_steps(run, "a", (const int64_t[]){1}, 1);
  expect_steps(run, "x", NULL, 0);
  assert_int_equal(series_of(run, "x")->data_class, BOARD_CLASS_UNKNOWN);
  assert_int_equal(run->skipped, 1);
  board_run_free(run);
}

static void any_bytes_are_a_tag(void** state) {
  add_simple(1, "../../etc/passwd", 1);
  add_simple(1, "<script>\"'\x01", 1);
  add_simple(1, "", 1);
  add_simple(1, "bad\xff\xc3tag", 1);
  add_simple(2, "bad\xff\xc3tag", 1);
  board_run_t* run = load();
  expect_steps(run, "../../etc/passwd", (const int64_t[]){1}, 1);
  expect_steps(run, "<script>\"'\x01", (const int64_t[]){1}, 1);
  expect_steps(run, "", (const int64_t[]){1}, 1);
  expect_steps(run, "bad\xef\xbf\xbd\xef\xbf\xbdtag", (const int64_t[]){1, 2}, 2);
  board_run_free(run);
}

// Messages cut at every byte, and with every byte changed, do no harm, and what follows is read.
static void malformed_events_are_skipped(void** state) {
  leat_pb_summary_metadata_plugin_data_t plugin = {.plugin_name = LEAT_SV("images")};
  leat_pb_summary_metadata_t metadata = {.plugin_data = &plugin};
  leat_pb_tensor_shape_proto_dim_t dims[] = {{.size = 3}, {.size = 1}};
  leat_pb_tensor_shape_proto_t shape = {.dim = {dims, 2}};
  leat_string_view_t texts[] = {LEAT_SV("1"), LEAT_SV("1"), LEAT_SV("png")};
  leat_pb_tensor_proto_t tensor = {.dtype = 7, .tensor_shape = &shape, .string_val = {texts, 3}};
  leat_pb_summary_value_t value = {.tag = LEAT_SV("i"), .tensor = &tensor, .metadata = &metadata,
                                   .value_case = 8};
  leat_pb_summary_t summary = {.value = {&value, 1}};
  leat_pb_event_t event = {.wall_time = 5, .step = 3, .summary = &summary, .what_case = 5};
  leat_string_builder_t bytes;
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  LEAT_EXPECT_OK(leat_message_encode(&leat_pb_event_descriptor, &event, &bytes));
  for (size_t i = 0; i < bytes.size; ++i) {
    add_bytes(leat_string_view_make(bytes.data, i));
    for (int bit = 0; bit < 8; ++bit) {
      bytes.data[i] ^= (char)(1 << bit);
      add_bytes(leat_string_builder_view(&bytes));
      bytes.data[i] ^= (char)(1 << bit);
    }
  }
  leat_string_builder_deinitialize(&bytes);
  // The walk is over events of version 0, so that this step purges nothing of another tag.
  add_simple(7, "after", 1);
  board_run_t* run = load();
  expect_steps(run, "after", (const int64_t[]){7}, 1);
  assert_true(run->skipped > 0);
  // Whatever was kept can be asked for.
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  for (size_t i = 0; i < run->series_count; ++i) {
    const board_series_t* series = run->series[i];
    board_snapshot_t snapshot;
    LEAT_EXPECT_OK(board_snapshot_take(
        run, leat_string_view_make(series->tag, series->tag_size), series->plugin,
        series->data_class, &arena, &snapshot));
    for (uint32_t p = 0; p < snapshot.count && snapshot.form == BOARD_FORM_VALUE; ++p) {
      leat_pb_summary_value_t read;
      leat_status_free(board_snapshot_value(&snapshot, p, &arena, &read));
    }
  }
  leat_arena_deinitialize(&arena);
  board_run_free(run);
}

static void a_replaced_file_is_read_anew(void** state) {
  bool changed = false;
  for (int i = 0; i < 10; ++i) add_simple(i, "a", 0);
  board_run_t* run = load();
  LEAT_EXPECT_OK(board_run_load(run, &changed));
  assert_true(changed == false);
  add_simple(5, "new", 0);
  test_write_file(FILE_NAME, log_bytes.data, log_bytes.size);
  LEAT_EXPECT_OK(board_run_load(run, &changed));
  assert_true(changed);
  assert_null(board_run_find(run, LEAT_SV("a")));
  expect_steps(run, "new", (const int64_t[]){5}, 1);
  // And it is followed again.
  add_simple(6, "new", 0);
  test_write_file(FILE_NAME, log_bytes.data, log_bytes.size);
  leat_string_builder_deinitialize(&log_bytes);
  LEAT_EXPECT_OK(board_run_load(run, &changed));
  expect_steps(run, "new", (const int64_t[]){5, 6}, 2);
  board_run_free(run);
}

// Values are looked for where they were in the event before; they are found all the same where tags
// change places, stay away, come twice in one event, or appear late.
static void tags_come_in_any_order(void** state) {
  static const char* const tags[] = {"a", "b/loss", "a/longer/tag/than/a/word", "b/lost", "late"};
  static int64_t steps[5][1000];
  static double values[5][1000];
  uint32_t counts[5] = {0};
  leat_pb_summary_value_t list[6];
  leat_pb_summary_t summary = {.value = {list, 0}};
  for (int64_t step = 0; step < 300; ++step) {
    summary.value.count = 0;
    for (int64_t k = 0; k < step % 7; ++k) {
      int64_t tag = (step * 3 + k * k * (step % 2 ? 1 : 4)) % (step < 200 ? 4 : 5);
      list[summary.value.count++] = (leat_pb_summary_value_t){
          .tag = leat_string_view_from(tags[tag]), .simple_value = (float)(step * 10 + k),
          .value_case = 2};
      steps[tag][counts[tag]] = step;
      values[tag][counts[tag]++] = (double)(step * 10 + k);
    }
    add_event(&(leat_pb_event_t){.wall_time = 1, .step = step, .summary = &summary,
                                 .what_case = 5});
  }
  board_run_t* run = load();
  assert_int_equal(run->series_count, 5);
  assert_int_equal(run->skipped, 0);
  for (int tag = 0; tag < 5; ++tag) {
    assert_true(counts[tag] > 20);
    expect_steps(run, tags[tag], steps[tag], counts[tag]);
    assert_memory_equal(board_series_columns(series_of(run, tags[tag])).values, values[tag],
                        counts[tag] * sizeof(double));
  }
  board_run_free(run);
}

// The first records of a run are read across its files, and the rest when it is loaded.
static void a_run_is_begun(void** state) {
  bool changed;
  board_run_t* run;
  int64_t steps[500];
  for (int i = 0; i < 500; ++i) steps[i] = i;
  LEAT_EXPECT_OK(board_run_create("r", test_directory, &run));
  for (int file = 0; file < 2; ++file) {
    for (int i = file ? 5 : 0; i < (file ? 500 : 5); ++i) add_simple(i, "a", 0);
    test_write_file(file ? FILE_NAME ".later" : FILE_NAME, log_bytes.data, log_bytes.size);
    leat_string_builder_deinitialize(&log_bytes);
  }
  LEAT_EXPECT_OK(board_run_begin(run, 1000, &changed));
  assert_true(changed);
  uint32_t count = board_series_columns(series_of(run, "a")).count;
  assert_in_range(count, 6, 100);
  expect_steps(run, "a", steps, count);
  // It is begun once.
  LEAT_EXPECT_OK(board_run_begin(run, 1000, &changed));
  assert_false(changed);
  expect_steps(run, "a", steps, count);
  LEAT_EXPECT_OK(board_run_load(run, &changed));
  assert_true(changed);
  expect_steps(run, "a", steps, 500);
  board_run_free(run);
  leat_file_system_t* fs = leat_file_system_posix();
  LEAT_EXPECT_OK(fs->vtable->remove(fs, test_path(FILE_NAME ".later")));
}

// A thread that loads waits for those who want to read the run, each time when it has let go of the
// lock; and where somebody wants to all the time, it goes on after a while.
static void loading_lets_readers_pass(void** state) {
  bool changed;
  board_run_t* run;
  for (int i = 0; i < 1000; ++i) add_simple(i, "a", 0);
  test_write_file(FILE_NAME, log_bytes.data, log_bytes.size);
  leat_string_builder_deinitialize(&log_bytes);
  LEAT_EXPECT_OK(board_run_create("r", test_directory, &run));
  atomic_fetch_add(&run->waiting, 1);
  int64_t begin_ns = leat_clock_now_ns();
  LEAT_EXPECT_OK(board_run_load(run, &changed));
  // It has let go some fifteen times, and has waited about a millisecond each time.
  assert_true(leat_clock_now_ns() - begin_ns > 10000000);
  assert_int_equal(board_series_columns(series_of(run, "a")).count, 1000);
  atomic_fetch_sub(&run->waiting, 1);
  board_run_lock(run);
  assert_int_equal(atomic_load(&run->waiting), 0);
  leat_mutex_unlock(&run->lock);
  board_run_free(run);
}

static int begin(void** state) {
  leat_string_builder_initialize(leat_allocator_system(), &log_bytes);
  return test_directory_make(state);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_second_start_purges),
      cmocka_unit_test(steps_that_go_back_purge_old_files),
      cmocka_unit_test(tensors_are_scalars_too),
      cmocka_unit_test(the_first_value_decides),
      cmocka_unit_test(any_bytes_are_a_tag),
      cmocka_unit_test(malformed_events_are_skipped),
      cmocka_unit_test(a_replaced_file_is_read_anew),
      cmocka_unit_test(tags_come_in_any_order),
      cmocka_unit_test(a_run_is_begun),
      cmocka_unit_test(loading_lets_readers_pass),
  };
  return cmocka_run_group_tests(tests, begin, test_directory_remove);
}
