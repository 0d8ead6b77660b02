// A directory of its own for each test, for tests of files. A test names test_directory_make and
// test_directory_remove as its setup and teardown and writes its files under test_path(). The
// directory lies in TMPDIR, else in /tmp, under a random name, so that tests may run at the same
// time. The header defines a static variable, so each test program has its own.
#ifndef LEAT_FORMATS_TEST_DIRECTORY_H_
#define LEAT_FORMATS_TEST_DIRECTORY_H_

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file_system.h"
#include "base/random.h"
#include "base/test.h"

// The directory of the test that runs now.
static char test_directory[256];

// The path of the file |name| in the directory; the last eight results are valid.
static inline const char* test_path(const char* name) {
  static char paths[8][512];
  static int next;
  char* path = paths[next++ % 8];
  snprintf(path, sizeof(paths[0]), "%s/%s", test_directory, name);
  return path;
}

// The setup of a test, or of a group of tests. It fails where the directory cannot be made.
static inline int test_directory_make(void** state) {
  (void)state;
  const char* parent = getenv("TMPDIR");
  snprintf(test_directory, sizeof(test_directory), "%s/leat-test-%016llx",
           parent && *parent ? parent : "/tmp", (unsigned long long)leat_random_seed());
  LEAT_EXPECT_OK(leat_file_make_directories(leat_file_system_posix(), test_directory));
  return 0;
}

static inline LEAT_MUST_USE leat_status_t test_directory_remove_file(void* data, const char* name) {
  (void)data;
  return leat_file_system_posix()->vtable->remove(leat_file_system_posix(), test_path(name));
}

// Removes the files and the directory, which fails the test where it holds directories.
static inline int test_directory_remove(void** state) {
  (void)state;
  leat_file_system_t* fs = leat_file_system_posix();
  LEAT_EXPECT_OK(fs->vtable->list(fs, test_directory, test_directory_remove_file, NULL));
  LEAT_EXPECT_OK(fs->vtable->remove(fs, test_directory));
  return 0;
}

typedef struct test_found_file_s {
  const char* suffix;
  char name[64];
} test_found_file_t;

static inline LEAT_MUST_USE leat_status_t test_note_suffix(void* data, const char* name) {
  test_found_file_t* found = data;
  if (leat_string_view_ends_with(leat_string_view_from(name),
                                 leat_string_view_from(found->suffix))) {
    snprintf(found->name, sizeof found->name, "%s", name);
  }
  return leat_ok_status();
}

// The name of the one file in the directory that ends with |suffix|; "": there is none.
static inline const char* test_file_with_suffix(const char* suffix) {
  static test_found_file_t found;
  found = (test_found_file_t){.suffix = suffix};
  LEAT_EXPECT_OK(leat_file_system_posix()->vtable->list(leat_file_system_posix(), test_directory,
                                                        test_note_suffix, &found));
  return found.name;
}

// Makes or replaces the file |name|, and fails the test where that is not possible.
static inline void test_write_file(const char* name, const void* data, size_t size) {
  LEAT_EXPECT_OK(leat_file_write_atomically(leat_file_system_posix(), test_path(name), data, size));
}

// The whole file. The caller frees the bytes with the system allocator.
static inline char* test_read_file(const char* name, size_t* out_size) {
  char* data = NULL;
  LEAT_EXPECT_OK(leat_file_read_all(leat_file_system_posix(), test_path(name),
                                    leat_allocator_system(), &data, out_size));
  return data;
}

#endif  // LEAT_FORMATS_TEST_DIRECTORY_H_
