// The POSIX file system passes the conformance suite that every file system has to pass
// (base/file_system_conformance.h), and then the cases that make sense for it alone. Publishing a
// file is run again and again with its n-th allocation or system call made to fail (base/fault.h),
// until n is larger than the number of calls: the path must hold the old content or the new one,
// and nothing else may be left in the directory. Reading, making directories and matching patterns
// run under the same faults so that the leak checkers see every way out of them. Files of /proc and
// /dev show what ordinary files cannot: a size of 0 for a file that has content, and a disk that is
// always full.
#include "base/file_system.h"

#include <stdlib.h>

#include "base/fault.h"
#include "base/file_system_conformance.h"

// Every allocation and every file call of publishing fails once: the old file stays whole, or the
// new one is, and nothing else is left.
static void publishing_survives_each_fault(void** state) {
  leat_file_system_t* fs = leat_file_system_posix();
  const char* path = in_directory("f");
  for (int64_t n = 1;; ++n) {
    LEAT_EXPECT_OK(leat_file_write_atomically(fs, path, "old", 3));
    leat_fault_t fault;
    leat_fault_install(&fault, LEAT_FAULT_ALLOCATION | LEAT_FAULT_FILE, n);
    leat_status_t status = leat_file_write_atomically(fs, path, "new", 3);
    bool met = leat_fault_remove(&fault);
    char* data = NULL;
    size_t size = 0;
    LEAT_EXPECT_OK(leat_file_read_all(fs, path, leat_allocator_system(), &data, &size));
    if (!status) assert_string_equal(data, "new");
    assert_true(!strcmp(data, "old") || !strcmp(data, "new"));
    leat_allocator_free(leat_allocator_system(), data);
    assert_int_equal(entry_count(conformance_directory), 1);
    assert_int_equal(met, status != NULL);
    leat_status_free(status);
    if (!met) break;
  }
}

static leat_status_t ignore_name(void* data, const char* name) { return leat_ok_status(); }

static leat_status_t read_and_match(const char* file, const char* directory,
                                    const char* pattern) {
  leat_file_system_t* fs = leat_file_system_posix();
  char* data = NULL;
  size_t size = 0;
  LEAT_RETURN_IF_ERROR(
      leat_file_read_all(fs, file, leat_allocator_system(), &data, &size));
  leat_allocator_free(leat_allocator_system(), data);
  LEAT_RETURN_IF_ERROR(leat_file_make_directories(fs, directory));
  return leat_file_match(fs, pattern, ignore_name, NULL);
}

// For the leak checkers: every way out frees what it took.
static void faults_are_reported_or_harmless(void** state) {
  const char* file = in_directory("f");
  const char* directory = in_directory("a/b");
  const char* pattern = in_directory("*/b");
  write_file(file, LEAT_FILE_WRITE, "content");
  for (int64_t n = 1;; ++n) {
    leat_fault_t fault;
    leat_fault_install(&fault, LEAT_FAULT_ALLOCATION | LEAT_FAULT_FILE, n);
    leat_status_t status = read_and_match(file, directory, pattern);
    bool met = leat_fault_remove(&fault);
    leat_status_free(status);
    if (met) continue;
    assert_null(status);
    break;
  }
}

static void writing_a_file_opened_for_reading_fails(void** state) {
  leat_file_system_t* fs = leat_file_system_posix();
  write_file(in_directory("f"), LEAT_FILE_WRITE, "content");
  leat_file_t* file = NULL;
  LEAT_EXPECT_OK(
      leat_file_open(fs, in_directory("f"), LEAT_FILE_READ, leat_allocator_system(), &file));
  LEAT_EXPECT_CODE(LEAT_FAILED_PRECONDITION, file->vtable->write(file, "x", 1));
  LEAT_EXPECT_OK(leat_file_close(file));
}

// Other file systems may have nothing to sync.
static void a_directory_that_is_synced_is_there(void** state) {
  leat_file_system_t* fs = leat_file_system_posix();
  LEAT_EXPECT_CODE(LEAT_NOT_FOUND, fs->vtable->sync_directory(fs, in_directory("none")));
}

// Files of /proc say that their size is 0; /dev/full is always full.
static void files_of_linux_are_read_and_full(void** state) {
  leat_file_system_t* fs = leat_file_system_posix();
  if (leat_file_exists(fs, "/proc/self/status")) {
    char* data = NULL;
    size_t size = 0;
    LEAT_EXPECT_OK(
        leat_file_read_all(fs, "/proc/self/status", leat_allocator_system(), &data, &size));
    assert_true(size > 100);
    assert_int_equal(strlen(data), size);
    leat_allocator_free(leat_allocator_system(), data);
  }
  if (leat_file_exists(fs, "/dev/full")) {
    leat_file_t* file = NULL;
    LEAT_EXPECT_OK(
        leat_file_open(fs, "/dev/full", LEAT_FILE_WRITE, leat_allocator_system(), &file));
    LEAT_EXPECT_CODE(LEAT_RESOURCE_EXHAUSTED, file->vtable->write(file, "x", 1));
    LEAT_EXPECT_OK(leat_file_close(file));
  }
}

int main(void) {
  const char* root = getenv("TMPDIR");
  leat_file_conformance_root = root ? root : "/tmp";
  leat_file_conformance_fs = leat_file_system_posix();
  const struct CMUnitTest tests[] = {
      LEAT_FILE_CONFORMANCE_TESTS,
      LEAT_FILE_CONFORMANCE_TEST(publishing_survives_each_fault),
      LEAT_FILE_CONFORMANCE_TEST(faults_are_reported_or_harmless),
      LEAT_FILE_CONFORMANCE_TEST(writing_a_file_opened_for_reading_fails),
      LEAT_FILE_CONFORMANCE_TEST(a_directory_that_is_synced_is_there),
      LEAT_FILE_CONFORMANCE_TEST(files_of_linux_are_read_and_full),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
