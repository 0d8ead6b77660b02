// Statuses when malloc itself fails: status.c is compiled here with a malloc that can be switched
// off.
#include <stdbool.h>
#include <stdlib.h>

static bool memory_is_gone;

static void* failing_malloc(size_t size) { return memory_is_gone ? NULL : malloc(size); }

#define malloc failing_malloc
#include "base/status.c"
#undef malloc

#include "base/test.h"

static void making_never_fails(void** state) {
  memory_is_gone = true;
  leat_status_t status = leat_make_status(LEAT_NOT_FOUND, "no %s", "memory");
  leat_status_t clone = leat_status_clone(status);
  status = leat_status_annotate(status, "annotated");
  memory_is_gone = false;
  assert_int_equal(leat_status_code(status), LEAT_RESOURCE_EXHAUSTED);
  assert_int_equal(leat_status_code(clone), LEAT_RESOURCE_EXHAUSTED);
  assert_true(leat_status_message(status)[0] != 0);
  leat_status_free(clone);
  leat_status_free(status);
}

static void the_stand_in_can_be_annotated(void** state) {
  memory_is_gone = true;
  leat_status_t status = leat_make_status(LEAT_NOT_FOUND, "x");
  memory_is_gone = false;
  status = leat_status_annotate(status, "loading");
  assert_memory_equal(leat_status_message(status), "loading: ", 9);
  leat_status_free(status);
}

static void an_error_outlives_its_annotation(void** state) {
  leat_status_t status = leat_make_status(LEAT_NOT_FOUND, "x");
  memory_is_gone = true;
  status = leat_status_annotate(status, "loading");
  memory_is_gone = false;
  assert_int_equal(leat_status_code(status), LEAT_NOT_FOUND);
  assert_string_equal(leat_status_message(status), "x");
  leat_status_free(status);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(making_never_fails),
      cmocka_unit_test(the_stand_in_can_be_annotated),
      cmocka_unit_test(an_error_outlives_its_annotation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
