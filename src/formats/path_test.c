// Parts of paths.
#include "formats/path.h"

#include <string.h>

#include "base/test.h"

static void cleaning_is_by_text(void** state) {
  static const char* const cases[][2] = {{"", "/"},
                                         {"/", "/"},
                                         {"//", "/"},
                                         {"/a/b", "/a/b"},
                                         {"/a//b/", "/a/b"},
                                         {"/a/./b/.", "/a/b"},
                                         {"/a/../b", "/b"},
                                         {"/../..", "/"},
                                         {"/a/b/../../c/..", "/"},
                                         {"/...", "/..."},
                                         {"/.a/..b", "/.a/..b"}};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(cases); ++i) {
    char path[32];
    strcpy(path, cases[i][0]);
    leat_path_clean(path);
    assert_string_equal(path, cases[i][1]);
  }
}

static void directories_end_before_the_last_slash(void** state) {
  static const char* const cases[][2] = {
      {"x", "."}, {"/x", "/"}, {"a/b/x", "a/b"}, {"gs://b/x", "gs://b"}};
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(cases); ++i) {
    const char* directory = NULL;
    LEAT_EXPECT_OK(leat_path_directory(cases[i][0], &arena, &directory));
    assert_string_equal(directory, cases[i][1]);
  }
  leat_arena_deinitialize(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(cleaning_is_by_text),
      cmocka_unit_test(directories_end_before_the_last_slash),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
