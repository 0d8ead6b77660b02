// The tests that every file system must pass. A test program includes this header, sets
// leat_file_conformance_fs to the file system and leat_file_conformance_root to an existing
// directory in it, and adds LEAT_FILE_CONFORMANCE_TESTS to its own list of tests. The header
// therefore defines static functions, which is unusual: each program gets its own copy, bound to
// one file system.
//
// Each case works in a new directory with a random name, which its setup makes and its teardown
// removes with all it holds, so that cases neither see each other's files nor those of another run.
// A property that only some file systems have does not belong here but in the test of that one.
#ifndef LEAT_BASE_FILE_SYSTEM_CONFORMANCE_H_
#define LEAT_BASE_FILE_SYSTEM_CONFORMANCE_H_

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/file_system.h"
#include "base/observer.h"
#include "base/random.h"
#include "base/test.h"

static leat_file_system_t* leat_file_conformance_fs;
static const char* leat_file_conformance_root;
static leat_arena_t conformance_arena;
static const char* conformance_directory;

// A path in this case's directory.
static const char* in_directory(const char* name) {
  leat_string_view_t path = {NULL, 0};
  LEAT_EXPECT_OK(leat_arena_print(&conformance_arena, &path, "%s/%s", conformance_directory, name));
  return path.data;
}

static int conformance_setup(void** state) {
  leat_arena_initialize(leat_allocator_system(), 0, &conformance_arena);
  leat_string_view_t path;
  leat_status_t status =
      leat_arena_print(&conformance_arena, &path, "%s/leat_test_%016llx",
                       leat_file_conformance_root, (unsigned long long)leat_random_seed());
  if (!status) {
    conformance_directory = path.data;
    leat_file_system_t* fs = leat_file_conformance_fs;
    status = fs->vtable->make_directory(fs, conformance_directory);
  }
  bool ok = !status;
  leat_status_free(status);
  return ok ? 0 : -1;
}

// Appends a name and a line's end to the text; a name that does not fit any more is left lying.
static LEAT_MUST_USE leat_status_t collect_for_removal(void* data, const char* name) {
  char* text = data;
  size_t used = strlen(text), size = strlen(name);
  if (used + size + 2 <= 4096) memcpy(memcpy(text + used, name, size) + size, "\n", 2);
  return leat_ok_status();
}

// Removes |path| and what it holds, at most |levels| deep. Failures are ignored, since this runs
// after a test that may itself have failed. Names are collected before the first is removed,
// because a directory that changes while it is listed may skip names.
static void remove_tree(const char* path, int levels) {
  leat_file_system_t* fs = leat_file_conformance_fs;
  char names[4097] = "";
  if (levels > 0) leat_status_free(fs->vtable->list(fs, path, collect_for_removal, names));
  for (char *name = names, *end; (end = strchr(name, '\n')); name = end + 1) {
    *end = 0;
    char child[4096];
    if (snprintf(child, sizeof(child), "%s/%s", path, name) < (int)sizeof(child)) {
      remove_tree(child, levels - 1);
    }
  }
  leat_status_free(fs->vtable->remove(fs, path));
}

// Removes the directory of the case even when the case failed in the middle.
static int conformance_teardown(void** state) {
  leat_observer_install(NULL);  // a case that failed may have left its own
  remove_tree(conformance_directory, 10);
  leat_arena_deinitialize(&conformance_arena);
  return 0;
}

static void write_file(const char* path, leat_file_mode_t mode, const char* text) {
  leat_file_system_t* fs = leat_file_conformance_fs;
  leat_file_t* file = NULL;
  LEAT_EXPECT_OK(leat_file_open(fs, path, mode, leat_allocator_system(), &file));
  LEAT_EXPECT_OK(file->vtable->write(file, text, strlen(text)));
  LEAT_EXPECT_OK(leat_file_close(file));
}

static void expect_content(const char* path, const char* expected) {
  char* data = NULL;
  size_t size = 0;
  LEAT_EXPECT_OK(leat_file_read_all(leat_file_conformance_fs, path, leat_allocator_system(), &data,
                                    &size));
  assert_int_equal(size, strlen(expected));
  assert_string_equal(data, expected);
  leat_allocator_free(leat_allocator_system(), data);
}

// Counts a name of a directory; "." and ".." must not be listed.
static LEAT_MUST_USE leat_status_t count_name(void* data, const char* name) {
  assert_true(strcmp(name, ".") && strcmp(name, ".."));
  ++*(int*)data;
  return leat_ok_status();
}

static int entry_count(const char* path) {
  leat_file_system_t* fs = leat_file_conformance_fs;
  int count = 0;
  LEAT_EXPECT_OK(fs->vtable->list(fs, path, count_name, &count));
  return count;
}

static void conforms_writing_truncates_and_appending_does_not(void** state) {
  const char* path = in_directory("f");
  write_file(path, LEAT_FILE_WRITE, "hello");
  expect_content(path, "hello");
  write_file(path, LEAT_FILE_APPEND, ", world");
  expect_content(path, "hello, world");
  write_file(path, LEAT_FILE_WRITE, "x");
  expect_content(path, "x");
  write_file(path, LEAT_FILE_WRITE, "");
  expect_content(path, "");
  write_file(in_directory("g"), LEAT_FILE_APPEND, "new");
  expect_content(in_directory("g"), "new");
}

static void conforms_reads_stop_at_the_end(void** state) {
  leat_file_system_t* fs = leat_file_conformance_fs;
  const char* path = in_directory("f");
  write_file(path, LEAT_FILE_WRITE, "0123456789");
  leat_file_t* file = NULL;
  LEAT_EXPECT_OK(leat_file_open(fs, path, LEAT_FILE_READ, leat_allocator_system(), &file));
  assert_string_equal(file->path, path);
  uint64_t size = 0;
  LEAT_EXPECT_OK(file->vtable->size(file, &size));
  assert_int_equal(size, 10);
  char data[16];
  size_t read = 99;
  LEAT_EXPECT_OK(file->vtable->read_at(file, 7, data, 16, &read));
  assert_int_equal(read, 3);
  assert_memory_equal(data, "789", 3);
  LEAT_EXPECT_OK(file->vtable->read_at(file, 10, data, 16, &read));
  assert_int_equal(read, 0);
  LEAT_EXPECT_OK(file->vtable->read_at(file, UINT64_MAX - 3, data, 16, &read));
  assert_int_equal(read, 0);
  LEAT_EXPECT_OK(leat_file_read_exactly(file, 2, data, 8));
  assert_memory_equal(data, "23456789", 8);
  LEAT_EXPECT_CODE(LEAT_OUT_OF_RANGE, leat_file_read_exactly(file, 3, data, 8));
  LEAT_EXPECT_OK(leat_file_close(file));
  LEAT_EXPECT_OK(leat_file_close(NULL));
}

// File systems that cannot cut files say so; then the file is as it was.
static void conforms_truncating_cuts_the_end(void** state) {
  static const leat_file_mode_t modes[] = {LEAT_FILE_WRITE, LEAT_FILE_APPEND};
  leat_file_system_t* fs = leat_file_conformance_fs;
  for (int i = 0; i < 2; ++i) {
    leat_file_t* file = NULL;
    const char* path = in_directory(i ? "g" : "f");
    LEAT_EXPECT_OK(leat_file_open(fs, path, modes[i], leat_allocator_system(), &file));
    LEAT_EXPECT_OK(file->vtable->write(file, "0123456789", 10));
    leat_status_t status = leat_file_truncate(file, 4);
    bool can = !status;
    if (status) LEAT_EXPECT_CODE(LEAT_UNIMPLEMENTED, status);
    LEAT_EXPECT_OK(file->vtable->write(file, "ab", 2));
    LEAT_EXPECT_OK(leat_file_close(file));
    expect_content(path, can ? "0123ab" : "0123456789ab");
  }
}

static void conforms_large_files_are_whole(void** state) {
  leat_file_system_t* fs = leat_file_conformance_fs;
  enum { SIZE = 3 << 20 };
  void* memory = NULL;
  LEAT_EXPECT_OK(leat_allocator_allocate(leat_allocator_system(), SIZE, &memory));
  for (size_t i = 0; i < SIZE; ++i) ((uint8_t*)memory)[i] = (uint8_t)(i * 7 + (i >> 11));
  LEAT_EXPECT_OK(leat_file_write_atomically(fs, in_directory("f"), memory, SIZE));
  char* data = NULL;
  size_t size = 0;
  LEAT_EXPECT_OK(leat_file_read_all(fs, in_directory("f"), leat_allocator_system(), &data, &size));
  assert_int_equal(size, SIZE);
  assert_memory_equal(data, memory, SIZE);
  assert_int_equal(data[SIZE], 0);  // what is read ends with a NUL that is not counted
  leat_allocator_free(leat_allocator_system(), data);
  leat_allocator_free(leat_allocator_system(), memory);
}

static void conforms_stat_says_what_it_is(void** state) {
  leat_file_system_t* fs = leat_file_conformance_fs;
  leat_file_stat_t stat;
  LEAT_EXPECT_OK(fs->vtable->stat(fs, conformance_directory, &stat));
  assert_true(stat.is_directory);
  write_file(in_directory("f"), LEAT_FILE_WRITE, "12345");
  LEAT_EXPECT_OK(fs->vtable->stat(fs, in_directory("f"), &stat));
  assert_false(stat.is_directory);
  assert_int_equal(stat.size_bytes, 5);
  int64_t age_ns = leat_clock_wall_ns() - stat.modified_ns;
  assert_true(age_ns > -2000000000 && age_ns < 60000000000);
  LEAT_EXPECT_CODE(LEAT_NOT_FOUND, fs->vtable->stat(fs, in_directory("none"), &stat));
  assert_true(leat_file_exists(fs, in_directory("f")));
  assert_false(leat_file_exists(fs, in_directory("none")));
}

static void conforms_errors_have_their_codes(void** state) {
  leat_file_system_t* fs = leat_file_conformance_fs;
  leat_allocator_t* allocator = leat_allocator_system();
  leat_file_t* file = NULL;
  LEAT_EXPECT_CODE(LEAT_NOT_FOUND,
                   leat_file_open(fs, in_directory("no/f"), LEAT_FILE_WRITE, allocator, &file));
  leat_status_t status = leat_file_open(fs, in_directory("f"), LEAT_FILE_READ, allocator, &file);
  assert_non_null(strstr(leat_status_message(status), in_directory("f")));
  LEAT_EXPECT_CODE(LEAT_NOT_FOUND, status);
  assert_null(file);
  static const leat_file_mode_t modes[] = {LEAT_FILE_READ, LEAT_FILE_WRITE, LEAT_FILE_APPEND};
  for (int i = 0; i < 3; ++i) {
    LEAT_EXPECT_CODE(LEAT_FAILED_PRECONDITION,
                     leat_file_open(fs, conformance_directory, modes[i], allocator, &file));
  }
  write_file(in_directory("f"), LEAT_FILE_WRITE, "x");
  LEAT_EXPECT_CODE(LEAT_FAILED_PRECONDITION,
                   leat_file_open(fs, in_directory("f/g"), LEAT_FILE_READ, allocator, &file));
  LEAT_EXPECT_CODE(LEAT_ALREADY_EXISTS, fs->vtable->make_directory(fs, conformance_directory));
  LEAT_EXPECT_CODE(LEAT_ALREADY_EXISTS, fs->vtable->make_directory(fs, in_directory("f")));
  LEAT_EXPECT_CODE(LEAT_NOT_FOUND, fs->vtable->make_directory(fs, in_directory("a/b")));
  LEAT_EXPECT_CODE(LEAT_NOT_FOUND, fs->vtable->remove(fs, in_directory("none")));
  LEAT_EXPECT_CODE(LEAT_FAILED_PRECONDITION, fs->vtable->remove(fs, conformance_directory));
  LEAT_EXPECT_CODE(LEAT_NOT_FOUND,
                   fs->vtable->rename(fs, in_directory("none"), in_directory("g")));
  LEAT_EXPECT_CODE(LEAT_FAILED_PRECONDITION,
                   fs->vtable->list(fs, in_directory("f"), count_name, &(int){0}));
  LEAT_EXPECT_CODE(LEAT_NOT_FOUND,
                   fs->vtable->list(fs, in_directory("none"), count_name, &(int){0}));
}

static void conforms_rename_replaces(void** state) {
  leat_file_system_t* fs = leat_file_conformance_fs;
  write_file(in_directory("a"), LEAT_FILE_WRITE, "new");
  write_file(in_directory("b"), LEAT_FILE_WRITE, "old and longer");
  LEAT_EXPECT_OK(fs->vtable->rename(fs, in_directory("a"), in_directory("b")));
  assert_false(leat_file_exists(fs, in_directory("a")));
  expect_content(in_directory("b"), "new");
  LEAT_EXPECT_OK(fs->vtable->make_directory(fs, in_directory("d")));
  LEAT_EXPECT_CODE(LEAT_FAILED_PRECONDITION,
                   fs->vtable->rename(fs, in_directory("b"), in_directory("d")));
  LEAT_EXPECT_OK(fs->vtable->rename(fs, in_directory("d"), in_directory("e")));
  assert_true(leat_file_exists(fs, in_directory("e")));
}

// Refuses the first name. Listing must stop there and hand this status on.
static LEAT_MUST_USE leat_status_t refuse_name(void* data, const char* name) {
  return leat_make_status(LEAT_CANCELLED, "enough");
}

static void conforms_directories_are_made_listed_and_removed(void** state) {
  leat_file_system_t* fs = leat_file_conformance_fs;
  assert_int_equal(entry_count(conformance_directory), 0);
  LEAT_EXPECT_OK(leat_file_make_directories(fs, in_directory("a/b//c/")));
  LEAT_EXPECT_OK(leat_file_make_directories(fs, in_directory("a/b/c")));
  write_file(in_directory("a/f"), LEAT_FILE_WRITE, "x");
  assert_int_equal(entry_count(in_directory("a")), 2);
  LEAT_EXPECT_CODE(LEAT_CANCELLED, fs->vtable->list(fs, in_directory("a"), refuse_name, NULL));
  LEAT_EXPECT_CODE(LEAT_FAILED_PRECONDITION,
                   leat_file_make_directories(fs, in_directory("a/f")));
  LEAT_EXPECT_CODE(LEAT_FAILED_PRECONDITION,
                   leat_file_make_directories(fs, in_directory("a/f/g")));
  LEAT_EXPECT_OK(fs->vtable->sync_directory(fs, in_directory("a")));
  LEAT_EXPECT_OK(fs->vtable->remove(fs, in_directory("a/b/c")));
  LEAT_EXPECT_OK(fs->vtable->remove(fs, in_directory("a/f")));
  assert_int_equal(entry_count(in_directory("a")), 1);
}

static void conforms_publishing_is_whole(void** state) {
  leat_file_system_t* fs = leat_file_conformance_fs;
  LEAT_EXPECT_OK(leat_file_write_atomically(fs, in_directory("f"), "one", 3));
  LEAT_EXPECT_OK(leat_file_write_atomically(fs, in_directory("f"), "second", 6));
  expect_content(in_directory("f"), "second");
  LEAT_EXPECT_OK(leat_file_write_atomically(fs, in_directory("f"), NULL, 0));
  expect_content(in_directory("f"), "");
  // A name as long as file systems allow leaves no room for a suffix, so that the temporary file of
  // an atomic write must have a name of its own.
  char name[256];
  memset(name, 'n', 255);
  name[255] = 0;
  LEAT_EXPECT_OK(leat_file_write_atomically(fs, in_directory(name), "long", 4));
  assert_int_equal(entry_count(conformance_directory), 2);
  LEAT_EXPECT_CODE(LEAT_NOT_FOUND, leat_file_write_atomically(fs, in_directory("no/f"), "x", 1));
  LEAT_EXPECT_OK(fs->vtable->make_directory(fs, in_directory("d")));
  LEAT_EXPECT_CODE(LEAT_FAILED_PRECONDITION,
                   leat_file_write_atomically(fs, in_directory("d"), "x", 1));
  assert_int_equal(entry_count(conformance_directory), 3);  // no temporary is left
}

// Appends the path without this case's directory, and a blank.
static LEAT_MUST_USE leat_status_t join_names(void* data, const char* path) {
  char* text = data;
  strcat(strcat(text, path + strlen(conformance_directory) + 1), " ");
  return leat_ok_status();
}

static void expect_matches(const char* pattern, const char* expected) {
  char text[1024] = "";
  LEAT_EXPECT_OK(leat_file_match(leat_file_conformance_fs, in_directory(pattern), join_names,
                                 text));
  assert_string_equal(text, expected);
}

static void conforms_patterns_match_in_any_component(void** state) {
  leat_file_system_t* fs = leat_file_conformance_fs;
  LEAT_EXPECT_OK(leat_file_make_directories(fs, in_directory("a1/x")));
  LEAT_EXPECT_OK(leat_file_make_directories(fs, in_directory("a2/x")));
  LEAT_EXPECT_OK(leat_file_make_directories(fs, in_directory("b")));
  write_file(in_directory("a1/x/m-1.index"), LEAT_FILE_WRITE, "");
  write_file(in_directory("a1/x/m-2.index"), LEAT_FILE_WRITE, "");
  write_file(in_directory("a2/x/m-3.data"), LEAT_FILE_WRITE, "");
  write_file(in_directory("a3"), LEAT_FILE_WRITE, "a file among directories");
  expect_matches("*", "a1 a2 a3 b ");
  expect_matches("a?", "a1 a2 a3 ");
  expect_matches("a[!1]", "a2 a3 ");
  expect_matches("a*/x/m-*", "a1/x/m-1.index a1/x/m-2.index a2/x/m-3.data ");
  expect_matches("*/x", "a1/x a2/x ");
  expect_matches("a1//x/*.index", "a1/x/m-1.index a1/x/m-2.index ");
  expect_matches("a3", "a3 ");
  expect_matches("none", "");
  expect_matches("none/*", "");
  expect_matches("a3/*", "");
  char text[1024] = "";
  LEAT_EXPECT_CODE(LEAT_CANCELLED, leat_file_match(fs, in_directory("*"), refuse_name, text));
}

#define LEAT_FILE_CONFORMANCE_TEST(name) \
  cmocka_unit_test_setup_teardown(name, conformance_setup, conformance_teardown)
#define LEAT_FILE_CONFORMANCE_TESTS                                                   \
  LEAT_FILE_CONFORMANCE_TEST(conforms_writing_truncates_and_appending_does_not),      \
      LEAT_FILE_CONFORMANCE_TEST(conforms_reads_stop_at_the_end),                     \
      LEAT_FILE_CONFORMANCE_TEST(conforms_truncating_cuts_the_end),                   \
      LEAT_FILE_CONFORMANCE_TEST(conforms_large_files_are_whole),                     \
      LEAT_FILE_CONFORMANCE_TEST(conforms_stat_says_what_it_is),                      \
      LEAT_FILE_CONFORMANCE_TEST(conforms_errors_have_their_codes),                   \
      LEAT_FILE_CONFORMANCE_TEST(conforms_rename_replaces),                           \
      LEAT_FILE_CONFORMANCE_TEST(conforms_directories_are_made_listed_and_removed),   \
      LEAT_FILE_CONFORMANCE_TEST(conforms_publishing_is_whole),                       \
      LEAT_FILE_CONFORMANCE_TEST(conforms_patterns_match_in_any_component)

#endif  // LEAT_BASE_FILE_SYSTEM_CONFORMANCE_H_
