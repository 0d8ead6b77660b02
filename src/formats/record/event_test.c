// Event files are the logs that TensorBoard reads while the training program is still writing them,
// so what a reader sees in between matters as much as the end. A writer and a reader are open on
// the same file at once: the first event must be there as soon as the file exists. In another case
// the disk has almost no room during the first half of 3000 events (base/file_system_faulty.h);
// afterwards the file holds exactly the events whose writing was reported as successful, in order
// and without damage between them. The histogram case checks the number of buckets, which
// TensorFlow fixes, that their limits rise, and that the largest doubles of both signs are counted
// too.
#include "formats/record/event.h"

#include <float.h>

#include "base/file_system_faulty.h"
#include "formats/record/histogram.h"
#include "formats/test_directory.h"

static void events_come_back(void** state) {
  leat_event_writer_t* writer;
  leat_event_reader_t reader;
  leat_arena_t arena;
  leat_pb_event_t event;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  LEAT_EXPECT_OK(leat_event_writer_create(leat_file_system_posix(), test_path("run"), ".s",
                                          leat_allocator_system(), &writer));
  char path[512];
  snprintf(path, sizeof(path), "%s", leat_event_writer_path(writer));
  assert_non_null(strstr(path, "/run.out.tfevents."));
  assert_string_equal(path + strlen(path) - 2, ".s");
  LEAT_EXPECT_OK(leat_event_reader_open(leat_file_system_posix(), path, leat_allocator_system(),
                                        &reader));
  // The first event is in the file as soon as that exists.
  LEAT_EXPECT_OK(leat_event_reader_next(&reader, &arena, &event));
  assert_int_equal(event.what_case, 3);
  assert_true(leat_string_view_equals(event.file_version, "brain.Event:2"));
  LEAT_EXPECT_CODE(LEAT_OUT_OF_RANGE, leat_event_reader_next(&reader, &arena, &event));
  for (int i = 0; i < 3; ++i) {
    LEAT_EXPECT_OK(leat_event_writer_add_scalar(writer, i, LEAT_SV("loss"), (float)i / 2));
  }
  LEAT_EXPECT_OK(leat_event_writer_add_graph(writer, 0, LEAT_SV("graph")));
  LEAT_EXPECT_OK(leat_event_writer_flush(writer));
  for (int i = 0; i < 3; ++i) {
    LEAT_EXPECT_OK(leat_event_reader_next(&reader, &arena, &event));
    assert_int_equal(event.step, i);
    assert_true(event.wall_time > 1e9);
    assert_true(leat_string_view_equals(event.summary->value.items[0].tag, "loss"));
    assert_true(event.summary->value.items[0].simple_value == (float)i / 2);
  }
  LEAT_EXPECT_OK(leat_event_reader_next(&reader, &arena, &event));
  assert_true(leat_string_view_equals(event.graph_def, "graph"));
  LEAT_EXPECT_OK(leat_event_writer_close(writer));
  leat_event_reader_close(&reader);
  leat_arena_deinitialize(&arena);
}

static void a_directory_that_is_a_file_is_refused(void** state) {
  leat_event_writer_t* writer;
  test_write_file("file", "x", 1);
  leat_status_t status = leat_event_writer_create(
      leat_file_system_posix(), test_path("file/run"), "", leat_allocator_system(), &writer);
  assert_non_null(status);
  assert_null(writer);
  leat_status_free(status);
}

// How many scalar events the file holds, with steps that only rise.
static int count_events(const char* path) {
  leat_event_reader_t reader;
  leat_arena_t arena;
  leat_pb_event_t event;
  leat_status_t status;
  int count = 0;
  int64_t last = -1;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  LEAT_EXPECT_OK(leat_event_reader_open(leat_file_system_posix(), path, leat_allocator_system(),
                                        &reader));
  while (!(status = leat_event_reader_next(&reader, &arena, &event))) {
    if (event.what_case != 5) continue;
    assert_true(event.step > last);
    last = event.step;
    ++count;
  }
  LEAT_EXPECT_CODE(LEAT_OUT_OF_RANGE, status);  // the end, and no damage before it
  leat_event_reader_close(&reader);
  leat_arena_deinitialize(&arena);
  return count;
}

// An event whose adding was OK is in the file in the end, one that was refused is not, and the file
// can be read at any time: while the disk is full and after it.
static void a_full_disk_loses_nothing_in_silence(void** state) {
  enum { EVENTS = 3000, TAG_BYTES = 1000 };
  static char tag[TAG_BYTES];
  leat_file_system_faulty_t faulty;
  leat_event_writer_t* writer;
  char path[512];
  int added = 0, refused = 0;
  memset(tag, 't', sizeof tag);
  leat_file_system_faulty_initialize(leat_file_system_posix(), &faulty);
  LEAT_EXPECT_OK(leat_event_writer_create(&faulty.base, test_path("full"), "",
                                          leat_allocator_system(), &writer));
  snprintf(path, sizeof path, "%s", leat_event_writer_path(writer));
  faulty.space_bytes = 100000;  // less than one buffer
  for (int i = 0; i < EVENTS; ++i) {
    if (i == EVENTS / 2) {
      LEAT_EXPECT_CODE(LEAT_RESOURCE_EXHAUSTED, leat_event_writer_flush(writer));
      assert_int_equal(count_events(path), 0);
      faulty.space_bytes = UINT64_MAX;
    } else if (i < EVENTS / 2) {
      faulty.space_bytes = 100000;
    }
    leat_status_t status =
        leat_event_writer_add_scalar(writer, i, leat_string_view_make(tag, TAG_BYTES), 1);
    if (status) {
      ++refused;
      LEAT_EXPECT_CODE(LEAT_RESOURCE_EXHAUSTED, status);
    } else {
      ++added;
    }
  }
  assert_true(refused > 0 && added > EVENTS / 2);
  LEAT_EXPECT_OK(leat_event_writer_close(writer));
  assert_int_equal(count_events(path), added);
}

static void histograms_count(void** state) {
  static const double values[] = {0, -1, 1, 1, 1e-13, DBL_MAX, -DBL_MAX, 1e30};
  leat_arena_t arena;
  leat_histogram_t histogram;
  leat_pb_histogram_proto_t proto;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  LEAT_EXPECT_OK(leat_histogram_create(&arena, &histogram));
  assert_int_equal(histogram.bucket_count, 1551);
  LEAT_EXPECT_OK(leat_histogram_to_proto(&histogram, &arena, &proto));
  assert_int_equal(proto.bucket.count, 1);
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(values); ++i) leat_histogram_add(&histogram, values[i]);
  LEAT_EXPECT_OK(leat_histogram_to_proto(&histogram, &arena, &proto));
  double total = 0;
  for (size_t i = 0; i < proto.bucket.count; ++i) {
    total += proto.bucket.items[i];
    if (i > 0) assert_true(proto.bucket_limit.items[i - 1] < proto.bucket_limit.items[i]);
  }
  assert_true(total == LEAT_ARRAY_SIZE(values));
  assert_true(proto.num == LEAT_ARRAY_SIZE(values));
  assert_true(proto.min == -DBL_MAX && proto.max == DBL_MAX);
  leat_arena_deinitialize(&arena);
}

// A percentile lies in the bucket of its value, whose limits are 10 % apart, and nowhere beyond the
// smallest and the largest value.
static void percentiles_are_within_a_bucket(void** state) {
  leat_arena_t arena;
  leat_histogram_t histogram;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  LEAT_EXPECT_OK(leat_histogram_create(&arena, &histogram));
  assert_true(leat_histogram_percentile(&histogram, 90) == 0);
  leat_histogram_add(&histogram, 7);
  assert_true(leat_histogram_percentile(&histogram, 1) == 7);
  assert_true(leat_histogram_percentile(&histogram, 90) == 7);
  for (int i = 1; i <= 6; ++i) leat_histogram_add(&histogram, i);
  for (int i = 8; i <= 1000; ++i) leat_histogram_add(&histogram, i);
  for (int percent = 1; percent <= 100; ++percent) {
    const double got = leat_histogram_percentile(&histogram, percent);
    assert_true(got > percent * 10 / 1.1 && got < percent * 10 * 1.1);
  }
  assert_true(leat_histogram_percentile(&histogram, 100) == 1000);
  leat_arena_deinitialize(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(events_come_back),
      cmocka_unit_test(a_directory_that_is_a_file_is_refused),
      cmocka_unit_test(a_full_disk_loses_nothing_in_silence),
      cmocka_unit_test(histograms_count),
      cmocka_unit_test(percentiles_are_within_a_bucket),
  };
  return cmocka_run_group_tests(tests, test_directory_make, test_directory_remove);
}
