// A run's index file is a cache of what was read from its event files, and a cache must never
// change an answer. A run that comes back from it is compared field by field with one that was read
// directly, then both go on reading a log that has grown, and are compared again; this shows that
// the position inside a cut record and the state of the sampling survive as well. Bytes of an index
// are changed one at a time, and the file is cut off in many places: such an index is ignored, or
// where only columns were changed, the run is forgotten when they are checked. An event file that
// was replaced by another, even one of equal size, makes its index void.
#include "board/run_index.h"

#include "formats/generated/event.h"
#include "formats/record/record.h"
#include "formats/test_directory.h"
#include "formats/wire/encode.h"

#define FILE_NAME "events.out.tfevents.1.host"

// A log of |count| events with two tags each, and an image every tenth.
static void make_log(int count, leat_string_builder_t* out) {
  leat_string_builder_t bytes;
  leat_pb_summary_image_t image = {.encoded_image_string = LEAT_SV("png")};
  leat_string_builder_initialize(leat_allocator_system(), out);
  for (int i = 0; i < count; ++i) {
    leat_pb_summary_value_t values[] = {
        {.tag = LEAT_SV("a"), .simple_value = (float)i, .value_case = 2},
        {.tag = LEAT_SV("b"), .simple_value = (float)-i, .value_case = 2},
        {.tag = LEAT_SV("i"), .image = &image, .value_case = 4}};
    leat_pb_summary_t summary = {.value = {values, i % 10 ? 2 : 3}};
    leat_pb_event_t event = {.wall_time = i, .step = i, .summary = &summary, .what_case = 5};
    leat_string_builder_initialize(leat_allocator_system(), &bytes);
    LEAT_EXPECT_OK(leat_message_encode(&leat_pb_event_descriptor, &event, &bytes));
    leat_record_append(out, leat_string_builder_view(&bytes));
    leat_string_builder_deinitialize(&bytes);
  }
}

static board_run_t* make_run(void) {
  board_run_t* run;
  LEAT_EXPECT_OK(board_run_create("r", test_directory, &run));
  return run;
}

static board_run_t* load_run(void) {
  bool changed;
  board_run_t* run = make_run();
  LEAT_EXPECT_OK(board_run_load(run, &changed));
  return run;
}

static void expect_equal(const board_run_t* got, const board_run_t* want) {
  assert_int_equal(got->series_count, want->series_count);
  assert_int_equal(got->latest_step, want->latest_step);
  assert_true(got->first_wall_time == want->first_wall_time);
  for (size_t i = 0; i < want->series_count; ++i) {
    board_series_t *a = got->series[i], *b = want->series[i];
    const board_columns_t x = board_series_columns(a), y = board_series_columns(b);
    assert_string_equal(a->tag, b->tag);
    assert_string_equal(a->plugin, b->plugin);
    assert_int_equal(a->data_class, b->data_class);
    assert_int_equal(a->reservoir.seen, b->reservoir.seen);
    assert_int_equal(board_reservoir_taken(&a->reservoir), board_reservoir_taken(&b->reservoir));
    assert_int_equal(x.count, y.count);
    assert_memory_equal(x.steps, y.steps, y.count * sizeof *y.steps);
    assert_memory_equal(x.wall_times, y.wall_times, y.count * sizeof *y.wall_times);
    if (y.values) assert_memory_equal(x.values, y.values, y.count * sizeof *y.values);
    if (y.places) assert_memory_equal(x.places, y.places, y.count * sizeof *y.places);
  }
}

static const char* index_name(void) { return test_file_with_suffix(".run"); }

static void a_run_comes_back_and_goes_on(void** state) {
  leat_string_builder_t log;
  make_log(2500, &log);
  // At first the log has about 1,500 events, the last of them cut.
  test_write_file(FILE_NAME, log.data, log.size * 3 / 5);
  board_run_t *direct = load_run(), *written = load_run(), *read = make_run();
  board_run_index_write(written, test_directory);
  expect_equal(written, direct);  // whose columns lie in the file now
  assert_non_null(written->mapping);
  board_run_index_read(read, test_directory);
  expect_equal(read, direct);
  assert_true(read->is_unchecked && board_run_index_check(read, test_directory));
  expect_equal(read, direct);
  test_write_file(FILE_NAME, log.data, log.size);
  bool changed = false;
  LEAT_EXPECT_OK(board_run_load(direct, &changed));
  LEAT_EXPECT_OK(board_run_load(written, &changed));
  LEAT_EXPECT_OK(board_run_load(read, &changed));
  assert_int_equal(direct->latest_step, 2499);
  expect_equal(written, direct);
  expect_equal(read, direct);
  board_run_index_write(read, test_directory);
  expect_equal(read, direct);
  board_run_free(written);
  board_run_free(read);
  read = make_run();
  board_run_index_read(read, test_directory);
  expect_equal(read, direct);
  board_run_free(read);
  board_run_index_remove(direct, test_directory);
  assert_string_equal(index_name(), "");
  board_run_free(direct);
  leat_string_builder_deinitialize(&log);
}

static void a_damaged_index_is_not_used(void** state) {
  leat_string_builder_t log;
  make_log(30, &log);
  test_write_file(FILE_NAME, log.data, log.size);
  board_run_t* run = load_run();
  board_run_index_write(run, test_directory);
  size_t size, shown = 0;
  char index[64];
  const char* name = strcpy(index, index_name());
  char* bytes = test_read_file(name, &size);
  uint64_t head_bytes;
  memcpy(&head_bytes, bytes + 24, sizeof head_bytes);
  // Every byte of the first 200, and every seventh of the others.
  for (size_t i = 0; i < size; i += i < 200 ? 1 : 7) {
    bytes[i] ^= 4;
    const bool is_of_columns = (i >= 12 && i < 16) || i >= 32 + head_bytes;
    test_write_file(name, bytes, size);
    board_run_t* read = make_run();
    board_run_index_read(read, test_directory);
    // A place of a file that does not exist is noticed with the head.
    assert_true(read->series_count == 0 || is_of_columns);
    if (read->series_count) {
      ++shown;
      assert_false(board_run_index_check(read, test_directory));
      assert_int_equal(read->series_count, 0);
      assert_string_equal(index_name(), "");
    }
    assert_true(board_run_index_check(read, test_directory));
    board_run_free(read);
    bytes[i] ^= 4;
  }
  for (size_t cut = 0; cut < size; cut += 37) {
    test_write_file(name, bytes, cut);
    board_run_t* read = make_run();
    board_run_index_read(read, test_directory);
    assert_int_equal(read->series_count, 0);
    board_run_free(read);
  }
  assert_true(shown > 20);
  leat_allocator_free(leat_allocator_system(), bytes);
  board_run_free(run);
  leat_string_builder_deinitialize(&log);
}

static void a_replaced_log_makes_it_void(void** state) {
  leat_string_builder_t log;
  make_log(500, &log);
  test_write_file(FILE_NAME, log.data, log.size);
  board_run_t* run = load_run();
  board_run_index_write(run, test_directory);
  board_run_free(run);
  // Another log of the same size, and one that is shorter.
  log.data[log.size - 40] ^= 1;
  for (int i = 0; i < 2; ++i) {
    test_write_file(FILE_NAME, log.data, i ? log.size / 2 : log.size);
    board_run_t* read = make_run();
    board_run_index_read(read, test_directory);
    assert_int_equal(read->series_count, 0);
    bool changed;
    LEAT_EXPECT_OK(board_run_load(read, &changed));
    assert_int_equal(read->series_count, 3);
    board_run_free(read);
  }
  leat_string_builder_deinitialize(&log);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(a_run_comes_back_and_goes_on, test_directory_make,
                                      test_directory_remove),
      cmocka_unit_test_setup_teardown(a_damaged_index_is_not_used, test_directory_make,
                                      test_directory_remove),
      cmocka_unit_test_setup_teardown(a_replaced_log_makes_it_void, test_directory_make,
                                      test_directory_remove),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
