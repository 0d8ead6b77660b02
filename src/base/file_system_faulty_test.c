// The faulty file system wraps the real one and makes a chosen call fail; other tests rely on it to
// plant errors, so it has to be right itself. While no fault is armed it must behave like any file
// system, which the conformance suite of base/file_system_conformance.h proves. Then each way to
// fail is armed in turn: the n-th call, every call from the n-th on, a disk with room for a few
// bytes, and a write that is torn in the middle. The calls go through leat_file_write_atomically(),
// whose promise is thereby tested as well: the directory holds one file afterwards, with the old or
// the new content, and no temporary file beside it. The loop over n ends when a run makes fewer
// than n calls, so a new call in that function is covered without a change here.
#include "base/file_system_faulty.h"

#include <stdlib.h>

#include "base/file_system_conformance.h"

static leat_file_system_faulty_t faulty;

static void calm_down(void) {
  faulty.failing_call = 0;
  faulty.fails_from_then_on = false;
  faulty.space_bytes = UINT64_MAX;
}

static void the_nth_call_fails(void** state) {
  leat_file_system_t* fs = &faulty.base;
  for (int64_t n = 1;; ++n) {
    LEAT_EXPECT_OK(leat_file_write_atomically(fs, in_directory("f"), "old", 3));
    faulty.call_count = 0;
    faulty.failing_call = n;
    leat_status_t status = leat_file_write_atomically(fs, in_directory("f"), "new", 3);
    bool met = faulty.call_count >= n;
    calm_down();
    LEAT_EXPECT_CODE(met ? LEAT_UNAVAILABLE : LEAT_OK, status);
    assert_int_equal(entry_count(conformance_directory), 1);
    if (!met) break;
  }
}

static void a_disk_that_is_gone_leaves_the_old_file(void** state) {
  leat_file_system_t* fs = &faulty.base;
  for (int64_t n = 1; n <= 5; ++n) {  // open, write, sync, close, rename
    LEAT_EXPECT_OK(leat_file_write_atomically(fs, in_directory("f"), "old", 3));
    faulty.call_count = 0;
    faulty.failing_call = n;
    faulty.fails_from_then_on = true;
    LEAT_EXPECT_CODE(LEAT_UNAVAILABLE,
                     leat_file_write_atomically(fs, in_directory("f"), "new", 3));
    calm_down();
    expect_content(in_directory("f"), "old");
  }
}

static void a_full_disk_takes_what_fits(void** state) {
  leat_file_system_t* fs = &faulty.base;
  leat_file_t* file = NULL;
  LEAT_EXPECT_OK(
      leat_file_open(fs, in_directory("f"), LEAT_FILE_WRITE, leat_allocator_system(), &file));
  faulty.space_bytes = 10;
  LEAT_EXPECT_OK(file->vtable->write(file, "0123456", 7));
  LEAT_EXPECT_CODE(LEAT_RESOURCE_EXHAUSTED, file->vtable->write(file, "789abc", 6));
  LEAT_EXPECT_CODE(LEAT_RESOURCE_EXHAUSTED, file->vtable->write(file, "x", 1));
  LEAT_EXPECT_OK(leat_file_close(file));
  LEAT_EXPECT_CODE(LEAT_RESOURCE_EXHAUSTED,
                   leat_file_write_atomically(fs, in_directory("g"), "new", 3));
  calm_down();
  expect_content(in_directory("f"), "0123456789");
  assert_int_equal(entry_count(conformance_directory), 1);
}

static void a_torn_write_leaves_half(void** state) {
  leat_file_system_t* fs = &faulty.base;
  leat_file_t* file = NULL;
  LEAT_EXPECT_OK(
      leat_file_open(fs, in_directory("f"), LEAT_FILE_WRITE, leat_allocator_system(), &file));
  faulty.failing_call = faulty.call_count + 1;
  faulty.failing_code = LEAT_UNKNOWN;
  LEAT_EXPECT_CODE(LEAT_UNKNOWN, file->vtable->write(file, "012345", 6));
  LEAT_EXPECT_OK(leat_file_close(file));
  faulty.failing_code = LEAT_UNAVAILABLE;
  calm_down();
  expect_content(in_directory("f"), "012");
}

int main(void) {
  const char* root = getenv("TMPDIR");
  leat_file_conformance_root = root ? root : "/tmp";
  leat_file_system_faulty_initialize(leat_file_system_posix(), &faulty);
  leat_file_conformance_fs = &faulty.base;
  const struct CMUnitTest tests[] = {
      LEAT_FILE_CONFORMANCE_TESTS,
      LEAT_FILE_CONFORMANCE_TEST(the_nth_call_fails),
      LEAT_FILE_CONFORMANCE_TEST(a_disk_that_is_gone_leaves_the_old_file),
      LEAT_FILE_CONFORMANCE_TEST(a_full_disk_takes_what_fits),
      LEAT_FILE_CONFORMANCE_TEST(a_torn_write_leaves_half),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
