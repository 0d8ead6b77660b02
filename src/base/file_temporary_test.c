// A file is published by writing it under a temporary name and renaming it; a program that dies
// before the rename leaves the temporary file behind, and a later program must remove it without
// touching those that are still in use. The name holds the host, the process and the time at which
// that process started, so the tests forge owners by renaming a file: a child that has already
// ended, an earlier process that had this process's number, another host, and the parent, which is
// alive. Files of the living stay, files of the dead go at once, and those of another host, whose
// processes cannot be seen, go after a day. Names that only look similar are never removed.
// Sweeping is a courtesy and not a duty, so a failed call or allocation in it must have no effect
// but a file that stays.
#include <stdio.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/file_system.h"
#include "base/test.h"
#include "formats/test_directory.h"

static const char* make_temporary(leat_arena_t* arena) {
  const char* path;
  LEAT_EXPECT_OK(leat_file_temporary_path(test_path("f"), arena, &path));
  FILE* file = fopen(path, "w");
  assert_non_null(file);
  fclose(file);
  return path;
}

// |path| as another host, process or run would have named it: number |part| (from 1) is changed.
static void rename_part(char* path, int part, const char* number) {
  char other[600], before[600];
  char* at = strstr(path, "/.leat-") + 7;
  for (int i = 1; i < part; ++i) at = strchr(at, '-') + 1;
  const char* rest = strchr(at, '-');
  snprintf(before, sizeof before, "%.*s", (int)(at - path), path);
  snprintf(other, sizeof other, "%s%s%s", before, number, rest);
  assert_int_equal(rename(path, other), 0);
  strcpy(path, other);
}

static void sweep(void) { leat_file_sweep_temporaries(leat_file_system_posix(), test_directory); }

static bool exists(const char* path) { return access(path, F_OK) == 0; }

static void names_are_beside_and_unique(void** state) {
  leat_arena_t arena;
  const char *a, *b;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  LEAT_EXPECT_OK(leat_file_temporary_path("d/e/f", &arena, &a));
  LEAT_EXPECT_OK(leat_file_temporary_path("d/e/f", &arena, &b));
  assert_int_equal(strncmp(a, "d/e/.leat-", 10), 0);
  assert_string_not_equal(a, b);
  LEAT_EXPECT_OK(leat_file_temporary_path("f", &arena, &a));
  assert_int_equal(strncmp(a, ".leat-", 6), 0);
  leat_arena_deinitialize(&arena);
}

static void the_living_keep_theirs(void** state) {
  leat_arena_t arena;
  char parents[600], words[8];
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  const char* own = make_temporary(&arena);
  strcpy(parents, make_temporary(&arena));
  snprintf(words, sizeof words, "%x", (unsigned)getppid());
  rename_part(parents, 2, words);
  sweep();
  assert_true(exists(own) && exists(parents));
  remove(own);
  remove(parents);
  leat_arena_deinitialize(&arena);
}

static void those_of_the_dead_are_removed(void** state) {
  leat_arena_t arena;
  char dead[600], earlier[600], number[16];
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  int child = fork();
  if (child == 0) _exit(0);
  waitpid(child, NULL, 0);
  snprintf(number, sizeof number, "%x", (unsigned)child);
  strcpy(dead, make_temporary(&arena));
  rename_part(dead, 2, number);
  strcpy(earlier, make_temporary(&arena));
  rename_part(earlier, 3, "123abc");  // somebody who had our number before
  sweep();
  assert_false(exists(dead) || exists(earlier));
  leat_arena_deinitialize(&arena);
}

static void those_of_other_hosts_are_removed_after_a_day(void** state) {
  leat_arena_t arena;
  char path[600];
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  strcpy(path, make_temporary(&arena));
  rename_part(path, 1, "123abc");
  sweep();
  assert_true(exists(path));
  struct timeval old[2];
  gettimeofday(&old[0], NULL);
  old[0].tv_sec -= 25 * 3600;
  old[1] = old[0];
  assert_int_equal(utimes(path, old), 0);
  sweep();
  assert_false(exists(path));
  leat_arena_deinitialize(&arena);
}

static void other_files_are_left_alone(void** state) {
  static const char* const names[] = {".leat-.tmp", ".leat-1-1-1-1", "leat-1-1-1-1.tmp",
                                      ".leat-1-1-1.tmp", ".leat-1-1-1-1.tmpx", "f"};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(names); ++i) test_write_file(names[i], "x", 1);
  sweep();
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(names); ++i) assert_true(exists(test_path(names[i])));
}

// Sweeping is nobody's duty: whatever fails, it goes on or gives up, and leaks nothing.
static void faults_are_passed_over(void** state) {
  static const int kinds[] = {LEAT_FAULT_FILE, LEAT_FAULT_ALLOCATION};
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  for (int k = 0; k < 2; ++k) {
    for (int64_t n = 1; n < 20; ++n) {
      char path[600];
      leat_fault_t fault;
      strcpy(path, make_temporary(&arena));
      rename_part(path, 3, "123abc");
      leat_fault_install(&fault, kinds[k], n);
      sweep();
      if (!leat_fault_remove(&fault)) assert_false(exists(path));
    }
  }
  leat_arena_deinitialize(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names_are_beside_and_unique),
      cmocka_unit_test(the_living_keep_theirs),
      cmocka_unit_test(those_of_the_dead_are_removed),
      cmocka_unit_test(those_of_other_hosts_are_removed_after_a_day),
      cmocka_unit_test(other_files_are_left_alone),
      cmocka_unit_test(faults_are_passed_over),
  };
  return cmocka_run_group_tests(tests, test_directory_make, test_directory_remove);
}
