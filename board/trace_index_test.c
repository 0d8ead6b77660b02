// A recording's index and the file of its delays are a cache of what was read of it, and a cache
// must never change an answer. A recording that comes back from them is compared with one that was
// read directly. Each byte of an index is changed by itself, and it is cut off everywhere: such an
// index is not used. The same is done with the delays, without which an index is used, and they are
// found again. Where its slices are only verified when they are walked, as those of large
// recordings are, a changed slice is noticed then. A recording that changed in size, in time, or
// only in its first or last bytes makes the index void. Indexes of recordings that are gone are
// removed when another one is made, and those of others, and files that are no indexes, stay. Where
// no index can be written the recording is read all the same.
#include "board/trace_index.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "board/trace_delays.h"
#include "board/trace_file.h"
#include "formats/test_directory.h"
#include "trace/lane_run.h"
#include "trace/test_recording.h"

#define RECORDING "r.perfetto-trace"
#define LIMIT_BYTES ((size_t)1 << 20)

static void make_recording(const char* name, int steps) {
  test_recording_t r;
  test_recording_initialize(&r);
  test_add_thread(&r, "main");
  test_add_thread(&r, "saver");
  const uint32_t conv = test_add_name(&r, "conv1", "Conv2D");
  for (int64_t i = 0; i < steps; ++i) {
    const int64_t at = 1000 + 3000 * i;
    test_add_span(&r, 0, at, at + 2000, LEAT_SPAN_STEP, 0, i);
    test_add_span(&r, 0, at + 100, at + 1900, LEAT_SPAN_KERNEL, conv, 64);
    if (i % 3 == 1) test_add_span(&r, 0, at + 200, at + 900, LEAT_SPAN_LOCK, 0, 101);
    test_add_span(&r, 1, at, at + 50, LEAT_SPAN_SEND, conv, 90 + i);
  }
  test_recording_write(&r, test_path(name));
  test_recording_deinitialize(&r);
}

// What the store would fill; |path| must outlive it.
static board_stored_trace_t trace_of(const char* path) {
  board_stored_trace_t trace = {.path = (char*)path, .users = 1};
  LEAT_EXPECT_OK(
      leat_file_system_posix()->vtable->stat(leat_file_system_posix(), path, &trace.stat));
  return trace;
}

static void release(board_stored_trace_t* trace) {
  board_trace_delays_forget(trace);
  leat_timeline_free(trace->timeline);
  leat_allocator_free(leat_allocator_system(), trace->names);
  board_trace_file_unmap(&trace->index);
}

static void find_delays(board_stored_trace_t* trace, const char* cache) {
  LEAT_EXPECT_OK(
      board_trace_delays_find(trace, cache, NULL, &trace->delays, &trace->delays_file));
}

static board_stored_trace_t make_index(const char* path) {
  board_stored_trace_t trace = trace_of(path);
  LEAT_EXPECT_OK(board_trace_index_make(&trace, test_directory, LIMIT_BYTES));
  assert_true(trace.is_verified && !trace.delays);
  find_delays(&trace, test_directory);
  return trace;
}

// Whether the recording at |path| has an index that is used. What it has is verified.
static bool has_index(const char* path) {
  board_stored_trace_t trace = trace_of(path);
  const bool has = board_trace_index_read(&trace, test_directory, SIZE_MAX);
  assert_true(has ? trace.is_verified : !trace.timeline && !trace.index.data && !trace.delays &&
                                            !trace.delays_file.data);
  release(&trace);
  return has;
}

// In place: some file systems write a file to the disk at once that was emptied first, which would
// be waited for thousands of times.
static void rewrite(const char* name, const void* data, size_t size) {
  const int file = open(test_path(name), O_WRONLY | O_CREAT, 0600);
  assert_true(file >= 0);
  assert_int_equal(pwrite(file, data, size, 0), size);
  assert_int_equal(ftruncate(file, (off_t)size), 0);
  assert_int_equal(close(file), 0);
}

static const char* index_name(void) { return test_file_with_suffix(".trace"); }
static const char* delays_name(void) { return test_file_with_suffix(".delays"); }

static leat_status_t count_file(void* data, const char* name) {
  ++*(int*)data;
  return leat_ok_status();
}

static int file_count(void) {
  int count = 0;
  LEAT_EXPECT_OK(leat_file_system_posix()->vtable->list(leat_file_system_posix(), test_directory,
                                                        count_file, &count));
  return count;
}

static void expect_same(const board_stored_trace_t* got, const leat_timeline_t* timeline,
                        const leat_delays_t* delays) {
  leat_string_builder_t reports[2];
  assert_int_equal(got->timeline->slice_count, timeline->slice_count);
  assert_int_equal(got->timeline->name_count, timeline->name_count);
  for (size_t r = 0; r < timeline->row_count; ++r) {
    for (uint32_t l = 0; l < timeline->rows[r]->lane_count; ++l) {
      const leat_lane_t *a = &got->timeline->rows[r]->lanes[l], *b = &timeline->rows[r]->lanes[l];
      assert_int_equal(a->count, b->count);
      assert_memory_equal(a->slices, b->slices, b->count * sizeof *b->slices);
      assert_int_equal(a->run_count > 0, b->count >= LEAT_LANE_RUN_SLICES);
    }
  }
  for (int i = 0; i < 2; ++i) {
    leat_string_builder_initialize(leat_allocator_system(), &reports[i]);
    LEAT_EXPECT_OK(leat_delays_report(i ? got->delays : delays, &reports[i]));
  }
  assert_string_equal(reports[1].data, reports[0].data);
  for (int i = 0; i < 2; ++i) leat_string_builder_deinitialize(&reports[i]);
}

static void a_recording_comes_back(void** state) {
  leat_timeline_t* timeline;
  leat_delays_t* delays;
  make_recording(RECORDING, 60);
  LEAT_EXPECT_OK(
      leat_timeline_read(leat_file_system_posix(), test_path(RECORDING), &timeline));
  LEAT_EXPECT_OK(leat_delays_find(timeline, &delays));
  assert_false(has_index(test_path(RECORDING)));
  board_stored_trace_t made = make_index(test_path(RECORDING));
  expect_same(&made, timeline, delays);
  assert_int_equal(file_count(), 3);  // the recording, its index and its delays
  board_stored_trace_t read = trace_of(test_path(RECORDING));
  assert_true(board_trace_index_read(&read, test_directory, SIZE_MAX));
  expect_same(&read, timeline, delays);
  assert_memory_equal(read.names, made.names, timeline->name_count * sizeof *made.names);
  size_t counted = 0;
  for (size_t i = 0; i < timeline->name_count; ++i) counted += read.names[i].count;
  assert_int_equal(counted, timeline->slice_count);
  // The lanes lie in the file, and not in memory of their own.
  const char* lane = (const char*)read.timeline->rows[0]->lanes[0].slices;
  const char* mapping = read.index.data;
  assert_true(lane > mapping && lane < mapping + read.index.size_bytes);
  // So do the delays, be they found or read.
  for (int i = 0; i < 2; ++i) {
    const board_stored_trace_t* trace = i ? &read : &made;
    const char* steps = (const char*)trace->delays->steps;
    mapping = trace->delays_file.data;
    assert_true(steps > mapping && steps < mapping + trace->delays_file.size_bytes);
  }
  release(&made);
  release(&read);
  // A recording whose path is told otherwise is the same one.
  char around[600];
  snprintf(around, sizeof around, "%s/../%s/" RECORDING, test_directory,
           strrchr(test_directory, '/') + 1);
  assert_true(has_index(around));
  leat_delays_free(delays);
  leat_timeline_free(timeline);
}

// Changes each byte of the file |name|, and cuts it short, and expects that it is not used then.
// |bytes| are what it has.
static void expect_no_damage_is_passed(const char* name, char* bytes, size_t size,
                                       bool (*is_used)(const char* path)) {
  for (size_t i = 0; i < size; ++i) {
    bytes[i] ^= 4;
    rewrite(name, bytes, size);
    const bool is_passed = is_used(test_path(RECORDING));
    if (is_passed) print_error("byte %zu of %zu\n", i, size);
    assert_false(is_passed);
    bytes[i] ^= 4;
  }
  for (size_t cut = 0; cut < size; cut += 5) {
    rewrite(name, bytes, cut);
    assert_false(is_used(test_path(RECORDING)));
  }
}

static void a_damaged_index_is_not_used(void** state) {
  size_t size;
  make_recording(RECORDING, 4);
  board_stored_trace_t made = make_index(test_path(RECORDING));
  release(&made);
  const char* name = index_name();
  char* bytes = test_read_file(name, &size);
  expect_no_damage_is_passed(name, bytes, size, has_index);
  rewrite(name, bytes, size);
  assert_true(has_index(test_path(RECORDING)));
  leat_allocator_free(leat_allocator_system(), bytes);
}

// Where the section begins, and the sizes of image, runs and section.
static char* find_section(char* bytes, size_t size, uint64_t out_sizes[3]) {
  memcpy(out_sizes, bytes + size - 32, 3 * sizeof *out_sizes);
  return bytes + out_sizes[0] + out_sizes[1];
}

// Makes the checksums of the section and of the runs fit.
static void fit_checksum(char* bytes, size_t size) {
  uint64_t sizes[3];
  const char* section = find_section(bytes, size, sizes);
  const uint32_t runs_crc = sizes[1] ? leat_crc32c(bytes + sizes[0], (size_t)sizes[1]) : 0;
  uint32_t crc = leat_crc32c(sizes, sizeof sizes);
  crc = leat_crc32c_extend(crc, &runs_crc, sizeof runs_crc);
  crc = leat_crc32c_extend(crc, section, (size_t)sizes[2]);
  memcpy(bytes + size - 8, &crc, sizeof crc);
  memcpy(bytes + size - 4, &runs_crc, sizeof runs_crc);
}

// Whether the delays at |path| are used, of an index that is.
static bool has_delays(const char* path) {
  board_stored_trace_t trace = trace_of(path);
  assert_true(board_trace_index_read(&trace, test_directory, 0));
  const bool has = trace.delays != NULL;
  assert_true(has ? trace.delays_file.data != NULL : trace.is_verified && !trace.delays_file.data);
  release(&trace);
  return has;
}

// The index shows windows before the delays are found, and where they are damaged.
static void an_index_is_used_without_its_delays(void** state) {
  size_t size;
  make_recording(RECORDING, 4);
  board_stored_trace_t trace = trace_of(test_path(RECORDING));
  LEAT_EXPECT_OK(board_trace_index_make(&trace, test_directory, LIMIT_BYTES));
  assert_int_equal(file_count(), 2);  // as if the board had died here
  release(&trace);
  assert_false(has_delays(test_path(RECORDING)));
  trace = trace_of(test_path(RECORDING));
  assert_true(board_trace_index_read(&trace, test_directory, 0));
  find_delays(&trace, test_directory);
  assert_int_equal(trace.delays->step_count, 4);
  release(&trace);
  assert_true(has_delays(test_path(RECORDING)));
  const char* name = delays_name();
  char* bytes = test_read_file(name, &size);
  expect_no_damage_is_passed(name, bytes, size, has_delays);
  // Those of another state of the recording.
  make_recording(RECORDING, 5);
  rewrite(name, bytes, size);
  trace = trace_of(test_path(RECORDING));
  LEAT_EXPECT_OK(board_trace_index_make(&trace, test_directory, LIMIT_BYTES));
  release(&trace);
  assert_false(has_delays(test_path(RECORDING)));
  leat_allocator_free(leat_allocator_system(), bytes);
}

static void finding_is_cancelled(void** state) {
  const _Atomic bool is_cancelled = true;
  make_recording(RECORDING, 4);
  board_stored_trace_t trace = trace_of(test_path(RECORDING));
  LEAT_EXPECT_OK(board_trace_index_make(&trace, test_directory, LIMIT_BYTES));
  leat_status_t status = board_trace_delays_find(&trace, test_directory, &is_cancelled,
                                                 &trace.delays, &trace.delays_file);
  assert_int_equal(leat_status_code(status), LEAT_CANCELLED);
  leat_status_free(status);
  assert_true(!trace.delays && !trace.delays_file.data);
  assert_int_equal(file_count(), 2);
  release(&trace);
}

static void what_is_no_recording_gets_no_index(void** state) {
  test_write_file(RECORDING, "no packet of a trace", 20);
  board_stored_trace_t trace = trace_of(test_path(RECORDING));
  leat_status_t status = board_trace_index_make(&trace, test_directory, LIMIT_BYTES);
  assert_int_equal(leat_status_code(status), LEAT_INVALID_ARGUMENT);
  leat_status_free(status);
  assert_true(!trace.timeline && !trace.index.data && !trace.is_verified);
  assert_int_equal(file_count(), 1);
}

// As above, with checksums that fit: the numbers of the section, and the delays, are looked at
// themselves. Counts how often a changed byte is noticed.
static size_t change_numbers(const char* name, bool is_index) {
  size_t size, refused = 0;
  uint64_t sizes[3];
  char* bytes = test_read_file(name, &size);
  find_section(bytes, size, sizes);
  for (size_t i = is_index ? sizes[0] + sizes[1] : 0; i < sizes[0] + sizes[1] + sizes[2]; ++i) {
    bytes[i] ^= (char)0x81;
    fit_checksum(bytes, size);
    rewrite(name, bytes, size);
    board_stored_trace_t trace = trace_of(test_path(RECORDING));
    const bool is_read = board_trace_index_read(&trace, test_directory, SIZE_MAX);
    if (is_read && trace.delays) {
      leat_string_builder_t report;
      leat_string_builder_initialize(leat_allocator_system(), &report);
      leat_status_free(leat_delays_report(trace.delays, &report));
      leat_string_builder_deinitialize(&report);
    } else {
      ++refused;
    }
    for (size_t n = 0; is_read && n < trace.timeline->name_count; ++n) {
      const board_trace_name_t* at = &trace.names[n];
      if (!at->count) continue;
      assert_true(at->row < trace.timeline->row_count);
      assert_true(at->slice < trace.timeline->rows[at->row]->lanes[at->lane].count);
    }
    release(&trace);
    bytes[i] ^= (char)0x81;
  }
  fit_checksum(bytes, size);
  rewrite(name, bytes, size);
  leat_allocator_free(leat_allocator_system(), bytes);
  return refused;
}

static void numbers_are_checked_behind_right_checksums(void** state) {
  make_recording(RECORDING, 4);
  board_stored_trace_t made = make_index(test_path(RECORDING));
  release(&made);
  assert_true(change_numbers(index_name(), true) > 200);
  assert_true(change_numbers(delays_name(), false) > 300);
  assert_true(has_index(test_path(RECORDING)) && has_delays(test_path(RECORDING)));
}

// Runs are used without being verified, whatever they are: windows show something, and end.
static void damaged_runs_end(void** state) {
  size_t size, seen = 0;
  uint64_t sizes[3];
  make_recording(RECORDING, 60);
  board_stored_trace_t made = make_index(test_path(RECORDING));
  assert_true(made.runs.size > 0);
  release(&made);
  const char* name = index_name();
  char* bytes = test_read_file(name, &size);
  find_section(bytes, size, sizes);
  char* runs = bytes + sizes[0];
  for (size_t i = 0; i < sizes[1]; ++i) {
    runs[i] ^= (char)(1 << i % 8);
    fit_checksum(bytes, size);
    rewrite(name, bytes, size);
    board_stored_trace_t trace = trace_of(test_path(RECORDING));
    assert_true(board_trace_index_read(&trace, test_directory, 0));
    const leat_timeline_t* timeline = trace.timeline;
    for (int64_t pixel_ns = 1; pixel_ns < timeline->end_ns; pixel_ns *= 8) {
      const leat_time_window_t window = {timeline->begin_ns, timeline->end_ns + 1, pixel_ns};
      const leat_lane_t* lane = &timeline->rows[0]->lanes[1];
      leat_lane_cursor_t at = leat_lane_seek(lane, window.begin_ns);
      leat_time_window_item_t item;
      for (; leat_lane_next(lane, &window, &at, &item); ++seen) assert_true(at.at <= lane->count);
    }
    release(&trace);
    runs[i] ^= (char)(1 << i % 8);
  }
  assert_true(seen > 0);
  // With a checksum that does not fit they are noticed when the slices are verified.
  runs[3] ^= 1;
  rewrite(name, bytes, size);
  assert_false(has_index(test_path(RECORDING)));
  board_stored_trace_t trace = trace_of(test_path(RECORDING));
  assert_true(board_trace_index_read(&trace, test_directory, 0));
  assert_false(trace.is_verified || board_trace_index_verify(&trace));
  release(&trace);
  leat_allocator_free(leat_allocator_system(), bytes);
}

static void large_recordings_are_verified_later(void** state) {
  size_t size;
  make_recording(RECORDING, 50);
  board_stored_trace_t made = make_index(test_path(RECORDING));
  const size_t at = (size_t)((char*)&made.timeline->rows[0]->lanes[0].slices[20].name -
                             (char*)made.index.data);
  release(&made);
  char* bytes = test_read_file(index_name(), &size);
  bytes[at + 3] = 0x7f;  // a name that does not exist
  test_write_file(index_name(), bytes, size);
  board_stored_trace_t trace = trace_of(test_path(RECORDING));
  assert_true(board_trace_index_read(&trace, test_directory, 0));
  assert_false(trace.is_verified);
  release(&trace);
  // The store reads such a recording again when it is walked, and makes its index anew.
  assert_false(has_index(test_path(RECORDING)));
  leat_allocator_free(leat_allocator_system(), bytes);
}

static void set_time(const char* path, int64_t time_ns) {
  const struct timespec times[] = {{.tv_nsec = UTIME_OMIT},
                                   {time_ns / 1000000000, time_ns % 1000000000}};
  assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void a_changed_recording_makes_it_void(void** state) {
  size_t size;
  make_recording(RECORDING, 200);
  board_stored_trace_t made = make_index(test_path(RECORDING));
  const int64_t time_ns = made.stat.modified_ns;
  release(&made);
  char* bytes = test_read_file(RECORDING, &size);
  assert_true(size > 10000);
  assert_true(has_index(test_path(RECORDING)));
  set_time(test_path(RECORDING), time_ns + 1000000);
  assert_false(has_index(test_path(RECORDING)));
  // With the old time: another first byte, another last one, one byte less.
  for (int i = 0; i < 3; ++i) {
    const size_t at = i ? size - 1 : 9;
    bytes[at] ^= 1;
    test_write_file(RECORDING, bytes, i < 2 ? size : size - 1);
    set_time(test_path(RECORDING), time_ns);
    assert_false(has_index(test_path(RECORDING)));
    bytes[at] ^= 1;
  }
  test_write_file(RECORDING, bytes, size);
  set_time(test_path(RECORDING), time_ns);
  assert_true(has_index(test_path(RECORDING)));
  leat_allocator_free(leat_allocator_system(), bytes);
}

static void indexes_of_recordings_that_are_gone_are_removed(void** state) {
  make_recording("a.perfetto-trace", 3);
  make_recording("b.perfetto-trace", 3);
  make_recording("c.perfetto-trace", 3);
  test_write_file("0123456789abcdef.trace", "of another version", 18);
  test_write_file("notes.trace", "somebody's", 10);
  board_stored_trace_t a = make_index(test_path("a.perfetto-trace"));
  board_stored_trace_t b = make_index(test_path("b.perfetto-trace"));
  assert_int_equal(file_count(), 8);  // the one of another version is gone
  remove(test_path("a.perfetto-trace"));
  board_stored_trace_t c = make_index(test_path("c.perfetto-trace"));
  assert_int_equal(file_count(), 7);  // b and c, two files of each, and the notes
  assert_true(has_index(test_path("b.perfetto-trace")));
  assert_true(has_index(test_path("c.perfetto-trace")));
  // What was removed is still mapped.
  assert_int_equal(a.timeline->rows[0]->lanes[0].slices[2].begin_ns, 7000);
  release(&a);
  release(&b);
  release(&c);
}

// Without a cache directory the file has no name, and where none can be made the store reads the
// recording into memory.
static void an_index_is_not_needed(void** state) {
  make_recording(RECORDING, 30);
  setenv("TMPDIR", test_directory, 1);
  board_stored_trace_t trace = trace_of(test_path(RECORDING));
  LEAT_EXPECT_OK(board_trace_index_make(&trace, NULL, 0));
  find_delays(&trace, NULL);
  assert_int_equal(file_count(), 1);
  assert_int_equal(trace.delays->step_count, 30);
  assert_non_null(trace.delays_file.data);
  assert_non_null(trace.index.data);
  release(&trace);
  trace = trace_of(test_path(RECORDING));
  leat_status_t status = board_trace_index_make(&trace, "/nonexistent/leat", LIMIT_BYTES);
  assert_int_equal(leat_status_code(status), LEAT_NOT_FOUND);
  assert_true(!trace.index.data && !trace.timeline && !trace.delays && !trace.names);
  leat_status_free(status);
  board_trace_store_t* store;
  board_stored_trace_t* taken;
  LEAT_EXPECT_OK(board_trace_store_create("/nonexistent/leat", &store));
  LEAT_EXPECT_OK(
      board_trace_store_take(store, test_directory, LEAT_SV(RECORDING), true, &taken));
  assert_null(taken->index.data);
  assert_int_equal(taken->delays->step_count, 30);
  board_trace_store_release(store, taken);
  board_trace_store_free(store);
}

// The store gives what the index has, unless it must be walked and is damaged.
static void the_store_uses_the_index(void** state) {
  board_trace_store_t* store;
  board_stored_trace_t* trace;
  size_t size;
  make_recording(RECORDING, 30);
  for (int start = 0; start < 2; ++start) {
    LEAT_EXPECT_OK(board_trace_store_create(test_directory, &store));
    // Who walks waits until the delays are found, so that the second start has them from a file.
    LEAT_EXPECT_OK(
        board_trace_store_take(store, test_directory, LEAT_SV(RECORDING), start == 0, &trace));
    assert_int_equal(trace->timeline->slice_count, 100);
    assert_non_null(trace->index.data);
    // As if it were too large to be verified.
    if (start == 1) trace->is_verified = false;
    if (start == 0) board_trace_store_release(store, trace);
    if (start == 0) board_trace_store_free(store);
  }
  // A walk verifies it.
  board_stored_trace_t* walked;
  LEAT_EXPECT_OK(
      board_trace_store_take(store, test_directory, LEAT_SV(RECORDING), true, &walked));
  assert_ptr_equal(walked, trace);
  assert_true(walked->is_verified);
  board_trace_store_release(store, walked);
  // A slice changes in the file, and so in the mapping.
  trace->is_verified = false;
  const size_t at =
      (size_t)((char*)&trace->timeline->rows[0]->lanes[0].slices[7].name -
               (char*)trace->index.data);
  FILE* file = fopen(test_path(index_name()), "r+");
  assert_non_null(file);
  fseek(file, (long)at + 3, SEEK_SET);
  fputc(0x7f, file);
  fclose(file);
  LEAT_EXPECT_OK(
      board_trace_store_take(store, test_directory, LEAT_SV(RECORDING), false, &walked));
  assert_ptr_equal(walked, trace);
  board_trace_store_release(store, walked);
  LEAT_EXPECT_OK(
      board_trace_store_take(store, test_directory, LEAT_SV(RECORDING), true, &walked));
  assert_ptr_not_equal(walked, trace);
  assert_int_equal(walked->timeline->rows[0]->lanes[0].slices[7].name,
                   walked->timeline->rows[0]->lanes[0].slices[6].name);
  board_trace_store_release(store, walked);
  board_trace_store_release(store, trace);
  board_trace_store_free(store);
  assert_true(has_index(test_path(RECORDING)));  // a new one
  leat_allocator_free(leat_allocator_system(), test_read_file(index_name(), &size));
}

#define TEST(name) \
  cmocka_unit_test_setup_teardown(name, test_directory_make, test_directory_remove)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_recording_comes_back),
      TEST(a_damaged_index_is_not_used),
      TEST(an_index_is_used_without_its_delays),
      TEST(finding_is_cancelled),
      TEST(what_is_no_recording_gets_no_index),
      TEST(numbers_are_checked_behind_right_checksums),
      TEST(damaged_runs_end),
      TEST(large_recordings_are_verified_later),
      TEST(a_changed_recording_makes_it_void),
      TEST(indexes_of_recordings_that_are_gone_are_removed),
      TEST(an_index_is_not_needed),
      TEST(the_store_uses_the_index),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
