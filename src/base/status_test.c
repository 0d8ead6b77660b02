// The status: OK is NULL, and an error carries code, place and message. Expected texts are written
// out in the tests. A message has no longest length, so one is longer than any buffer on the stack,
// and codes are compared with the names that TensorFlow gives them. What a status does when memory
// runs out is tested by those who make errors under base/fault.h.
#include "base/status.h"

#include <string.h>

#include "base/test.h"

static void ok_is_null(void** state) {
  leat_status_t status = leat_ok_status();
  assert_true(leat_status_is_ok(status));
  assert_int_equal(leat_status_code(status), LEAT_OK);
  assert_string_equal(leat_status_message(status), "");
  assert_string_equal(leat_status_file(status), "");
  assert_int_equal(leat_status_line(status), 0);
  assert_null(leat_status_annotate(NULL, "more"));
  assert_null(leat_status_clone(NULL));
  assert_null(leat_make_status(LEAT_OK, "nothing is wrong"));
  leat_status_free(NULL);
}

static void made_status_says_what_and_where(void** state) {
  int line = __LINE__ + 1;
  leat_status_t status = leat_make_status(LEAT_NOT_FOUND, "no %s %d", "node", 7);
  assert_int_equal(leat_status_code(status), LEAT_NOT_FOUND);
  assert_string_equal(leat_status_message(status), "no node 7");
  assert_non_null(strstr(leat_status_file(status), "status_test.c"));
  assert_int_equal(leat_status_line(status), line);
  leat_status_free(status);
}

static void annotation_goes_before(void** state) {
  leat_status_t status = leat_make_status(LEAT_DATA_LOSS, "bad crc");
  status = leat_status_annotate(status, "reading %s", "x");
  status = leat_status_annotate(status, "restoring");
  assert_string_equal(leat_status_message(status), "restoring: reading x: bad crc");
  assert_int_equal(leat_status_code(status), LEAT_DATA_LOSS);
  leat_status_free(status);
}

static void clone_is_independent(void** state) {
  leat_status_t status = leat_make_status(LEAT_ABORTED, "why");
  leat_status_t clone = leat_status_clone(status);
  assert_ptr_not_equal(status, clone);
  leat_status_free(status);
  assert_string_equal(leat_status_message(clone), "why");
  assert_int_equal(leat_status_code(clone), LEAT_ABORTED);
  leat_status_free(clone);
}

static void join_keeps_the_first_error(void** state) {
  leat_status_t first = leat_make_status(LEAT_ABORTED, "first");
  leat_status_t second = leat_make_status(LEAT_UNKNOWN, "second");
  leat_status_t joined = leat_status_join(first, second);
  assert_ptr_equal(joined, first);
  joined = leat_status_join(joined, NULL);
  joined = leat_status_join(NULL, joined);
  assert_string_equal(leat_status_message(joined), "first");
  leat_status_free(joined);
  assert_null(leat_status_join(NULL, NULL));
}

static void long_messages_are_whole(void** state) {
  char text[5000];
  memset(text, 'a', sizeof(text) - 1);
  text[sizeof(text) - 1] = 0;
  leat_status_t status = leat_make_status(LEAT_INTERNAL, "%s", text);
  assert_int_equal(strlen(leat_status_message(status)), sizeof(text) - 1);
  leat_status_free(status);
}

static leat_status_t returns_early(leat_status_t status, int* out_reached) {
  *out_reached = 0;
  LEAT_RETURN_IF_ERROR(status);
  *out_reached = 1;
  return leat_ok_status();
}

static void return_if_error_returns(void** state) {
  int reached;
  LEAT_EXPECT_CODE(LEAT_CANCELLED,
                   returns_early(leat_make_status(LEAT_CANCELLED, "x"), &reached));
  assert_int_equal(reached, 0);
  LEAT_EXPECT_OK(returns_early(NULL, &reached));
  assert_int_equal(reached, 1);
}

static void codes_have_names(void** state) {
  assert_string_equal(leat_status_code_name(LEAT_OK), "OK");
  assert_string_equal(leat_status_code_name(LEAT_INVALID_ARGUMENT), "INVALID_ARGUMENT");
  assert_string_equal(leat_status_code_name(LEAT_UNAUTHENTICATED), "UNAUTHENTICATED");
  assert_string_equal(leat_status_code_name(LEAT_OUT_OF_RANGE), "OUT_OF_RANGE");
  assert_non_null(leat_status_code_name((leat_status_code_t)99));
  assert_non_null(leat_status_code_name((leat_status_code_t)-1));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ok_is_null),
      cmocka_unit_test(made_status_says_what_and_where),
      cmocka_unit_test(annotation_goes_before),
      cmocka_unit_test(clone_is_independent),
      cmocka_unit_test(join_keeps_the_first_error),
      cmocka_unit_test(long_messages_are_whole),
      cmocka_unit_test(return_if_error_returns),
      cmocka_unit_test(codes_have_names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
