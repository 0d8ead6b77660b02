// Paths find the file system of their scheme.
#include <string.h>

#include "base/file_system.h"
#include "base/file_system_faulty.h"
#include "base/test.h"

static void roots_are_no_entries(void** state) {
  static const struct {
    const char* path;
    size_t size;
  } cases[] = {{"", 0},          {"a/b", 0},      {"/", 1},         {"/a", 1},
               {"gs://", 5},     {"gs://b", 6},   {"gs://b/", 7},   {"gs://b/a/c", 7},
               {"a.b2:///x", 8}, {"c://x", 0},    {"2gs://x/y", 0}, {"g-s://x/y", 0},
               {"gs:/x", 0},     {"/gs://b/x", 1}};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(cases); ++i) {
    assert_int_equal(leat_file_root_size(cases[i].path), cases[i].size);
  }
}

// The file system registered sees the path as it is, here on its way to that of the machine.
static void a_scheme_has_its_file_system(void** state) {
  static leat_file_system_faulty_t faulty;
  leat_file_system_t* fs = leat_file_system_default();
  leat_file_system_faulty_initialize(leat_file_system_posix(), &faulty);
  faulty.failing_call = 1;
  leat_file_stat_t stat;
  LEAT_EXPECT_CODE(LEAT_UNIMPLEMENTED, fs->vtable->stat(fs, "faulty://x", &stat));
  LEAT_EXPECT_OK(leat_file_system_register("faulty", &faulty.base));
  leat_status_t status = fs->vtable->stat(fs, "faulty://x", &stat);
  assert_non_null(strstr(leat_status_message(status), "'faulty://x'"));
  LEAT_EXPECT_CODE(LEAT_UNAVAILABLE, status);
  LEAT_EXPECT_CODE(LEAT_UNIMPLEMENTED, fs->vtable->stat(fs, "faulty2://x", &stat));
  LEAT_EXPECT_CODE(LEAT_ALREADY_EXISTS, leat_file_system_register("faulty", &faulty.base));
  static const char* const taken[] = {"", "file"};
  static const char* const bad[] = {"a", "a-b", "2a", "ab:"};
  for (int i = 0; i < 2; ++i) {
    LEAT_EXPECT_CODE(LEAT_ALREADY_EXISTS, leat_file_system_register(taken[i], &faulty.base));
  }
  for (int i = 0; i < 4; ++i) {
    LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT, leat_file_system_register(bad[i], &faulty.base));
  }
}

static void files_of_the_machine_have_a_scheme_too(void** state) {
  leat_file_system_t* fs = leat_file_system_default();
  assert_true(leat_file_exists(fs, "file:///"));
  assert_true(leat_file_exists(fs, "file://"));
  assert_true(leat_file_exists(fs, "file://host/"));
  assert_true(leat_file_exists(fs, "/"));
  assert_false(leat_file_exists(fs, "file:///no/such/file"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(roots_are_no_entries),
      cmocka_unit_test(a_scheme_has_its_file_system),
      cmocka_unit_test(files_of_the_machine_have_a_scheme_too),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
