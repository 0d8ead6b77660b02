#include "base/log.h"

#include <stdlib.h>
#include <string.h>

#include "base/test.h"

static leat_log_level_t last_level;
static char last_line[8192];
static int line_count;

static void keep_line(leat_log_level_t level, const char* line) {
  last_level = level;
  strncpy(last_line, line, sizeof(last_line) - 1);
  ++line_count;
}

static void lines_reach_the_sink(void** state) {
  leat_log_set_sink(keep_line);
  leat_log(LEAT_LOG_ERROR, "no %s", "luck");
  assert_int_equal(line_count, 1);
  assert_int_equal(last_level, LEAT_LOG_ERROR);
  assert_string_equal(last_line, "no luck");
  leat_log(LEAT_LOG_INFO, "heard");
  assert_int_equal(line_count, 2);
  leat_log(LEAT_LOG_DEBUG, "not heard");
  leat_log(LEAT_LOG_OFF, "not a level of lines");
  assert_int_equal(line_count, 2);
}

static void long_lines_are_cut(void** state) {
  char text[6000];
  memset(text, 'a', sizeof(text) - 1);
  text[sizeof(text) - 1] = 0;
  leat_log(LEAT_LOG_ERROR, "%s", text);
  size_t size = strlen(last_line);
  assert_true(size < sizeof(text));
  assert_string_equal(last_line + size - 3, "...");
  leat_log_set_sink(NULL);
  int before = line_count;
  leat_log(LEAT_LOG_INFO, "to stderr");
  assert_int_equal(line_count, before);
}

int main(void) {
  setenv("LEAT_LOG", "info", 1);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lines_reach_the_sink),
      cmocka_unit_test(long_lines_are_cut),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
