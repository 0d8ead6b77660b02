// The first round over a log directory may take long, and whoever looks meanwhile must see it go
// on: something is told before the round has ended, and all is there at the end. Later rounds are
// told of at their ends, which board/board_test.c looks at. A second start shows the columns of
// index files before they are checked; a run whose columns are damaged is right at the end all the
// same.
#include "board/logdir.h"

#include <unistd.h>

#include "formats/generated/event.h"
#include "formats/record/record.h"
#include "formats/test_directory.h"
#include "formats/wire/encode.h"

#define RUNS 8

typedef struct told_s {
  _Atomic uint64_t calls, changes, last_version;
} told_t;

static void note_round(void* data, uint64_t version, bool changed) {
  told_t* told = data;
  atomic_store(&told->last_version, version);
  atomic_fetch_add(&told->calls, 1);
  atomic_fetch_add(&told->changes, changed);
}

// A log of |count| scalars of the tag "a".
static void make_log(int count, leat_string_builder_t* out) {
  leat_string_builder_t bytes;
  leat_pb_summary_value_t value = {.tag = LEAT_SV("a"), .simple_value = 1, .value_case = 2};
  leat_pb_summary_t summary = {.value = {&value, 1}};
  leat_string_builder_initialize(leat_allocator_system(), out);
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  for (int i = 0; i < count; ++i) {
    leat_pb_event_t event = {.wall_time = i, .step = i, .summary = &summary, .what_case = 5};
    bytes.size = 0;
    LEAT_EXPECT_OK(leat_message_encode(&leat_pb_event_descriptor, &event, &bytes));
    leat_record_append(out, leat_string_builder_view(&bytes));
  }
  leat_string_builder_deinitialize(&bytes);
}

// The path of the event file of a run, and of its directory, below the test's directory.
static void name_run(int run, char directory[16], char file[64]) {
  snprintf(directory, 16, "run%d", run);
  snprintf(file, 64, "run%d/events.out.tfevents.1.host", run);
}

static void the_first_round_tells_how_it_goes(void** state) {
  leat_string_builder_t log;
  told_t told = {0};
  board_logdir_t* logdir;
  char directory[16], file[64];
  leat_file_system_t* fs = leat_file_system_posix();
  make_log(2000, &log);
  for (int i = 0; i < RUNS; ++i) {
    name_run(i, directory, file);
    LEAT_EXPECT_OK(leat_file_make_directories(fs, test_path(directory)));
    test_write_file(file, log.data, log.size);
  }
  leat_string_builder_deinitialize(&log);
  board_logdir_options_t options = {test_directory, NULL, 86400000, note_round, &told};
  LEAT_EXPECT_OK(board_logdir_create(&options, &logdir));
  while (!board_logdir_is_loaded(logdir)) usleep(1000);
  LEAT_EXPECT_OK(board_logdir_round(logdir));  // which waits for the first one's last word
  assert_true(told.changes >= 2 && told.calls > told.changes);
  assert_int_equal(told.last_version, board_logdir_version(logdir));
  for (int i = 0; i < RUNS; ++i) {
    name_run(i, directory, file);
    board_run_t* run = board_logdir_find(logdir, leat_string_view_from(directory));
    assert_non_null(run);
    leat_mutex_lock(&run->lock);
    board_columns_t columns = board_series_columns(board_run_find(run, LEAT_SV("a")));
    assert_int_equal(columns.count, 1000);
    assert_int_equal(columns.steps[999], 1999);
    leat_mutex_unlock(&run->lock);
    LEAT_EXPECT_OK(fs->vtable->remove(fs, test_path(file)));
    LEAT_EXPECT_OK(fs->vtable->remove(fs, test_path(directory)));
  }
  board_logdir_free(logdir);
}

// Looks at the run "run0", whose log has 3,000 scalars that are 1.
static void expect_whole(board_logdir_t* logdir) {
  LEAT_EXPECT_OK(board_logdir_round(logdir));
  board_run_t* run = board_logdir_find(logdir, LEAT_SV("run0"));
  assert_non_null(run);
  leat_mutex_lock(&run->lock);
  board_columns_t columns = board_series_columns(board_run_find(run, LEAT_SV("a")));
  assert_int_equal(columns.count, 1000);
  for (uint32_t i = 0; i < columns.count; ++i) assert_true(columns.values[i] == 1);
  assert_false(run->is_unchecked);
  leat_mutex_unlock(&run->lock);
}

static void damaged_columns_are_read_again(void** state) {
  leat_string_builder_t log;
  board_logdir_t* logdir;
  char directory[16], file[64], cache[600], index[64];
  size_t size;
  leat_file_system_t* fs = leat_file_system_posix();
  make_log(3000, &log);
  name_run(0, directory, file);
  LEAT_EXPECT_OK(leat_file_make_directories(fs, test_path(directory)));
  test_write_file(file, log.data, log.size);
  leat_string_builder_deinitialize(&log);
  snprintf(cache, sizeof cache, "%s", test_directory);
  board_logdir_options_t options = {.path = test_directory, .cache = cache, .poll_ms = 86400000};
  for (int start = 0; start < 3; ++start) {
    LEAT_EXPECT_OK(board_logdir_create(&options, &logdir));
    expect_whole(logdir);
    board_logdir_free(logdir);
    snprintf(index, sizeof index, "%s", test_file_with_suffix(".run"));
    assert_string_not_equal(index, "");
    char* bytes = test_read_file(index, &size);
    bytes[size - 5] ^= 1;  // of the last value
    if (start == 0) test_write_file(index, bytes, size);
    leat_allocator_free(leat_allocator_system(), bytes);
  }
  LEAT_EXPECT_OK(fs->vtable->remove(fs, test_path(file)));
  LEAT_EXPECT_OK(fs->vtable->remove(fs, test_path(directory)));
  LEAT_EXPECT_OK(fs->vtable->remove(fs, test_path(index)));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_first_round_tells_how_it_goes),
      cmocka_unit_test(damaged_columns_are_read_again),
  };
  return cmocka_run_group_tests(tests, test_directory_make, test_directory_remove);
}
