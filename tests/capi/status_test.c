// TF_Status is what every function of the C API reports through, so its own functions must not
// depend on anything else. A message may be set from the status's own message, which must survive
// that. Codes beyond TensorFlow's become UNKNOWN. Payloads exist only beside an error and go when
// the status is set again. TF_SetStatusFromIOError translates values of errno, of which the cases
// pick those that file systems return most often.
#include "capi/kit.h"

#include <errno.h>

static void test_starts_ok(void** state) {
  TF_Status* s = TF_NewStatus();
  assert_non_null(s);
  assert_int_equal(TF_GetCode(s), TF_OK);
  assert_string_equal(TF_Message(s), "");
  TF_DeleteStatus(s);
  TF_DeleteStatus(NULL);
}

static void test_set_and_forget(void** state) {
  TF_Status* s = TF_NewStatus();
  TF_SetStatus(s, TF_CANCELLED, "cancel");
  assert_int_equal(TF_GetCode(s), TF_CANCELLED);
  assert_string_equal(TF_Message(s), "cancel");
  TF_SetStatus(s, TF_INTERNAL, TF_Message(s));
  assert_int_equal(TF_GetCode(s), TF_INTERNAL);
  assert_string_equal(TF_Message(s), "cancel");
  TF_SetStatus(s, TF_OK, "dropped");
  kit_ok(s);
  TF_DeleteStatus(s);
}

static void test_every_code(void** state) {
  TF_Status* s = TF_NewStatus();
  for (int code = TF_CANCELLED; code <= TF_UNAUTHENTICATED; ++code) {
    TF_SetStatus(s, (TF_Code)code, "text");
    assert_int_equal(TF_GetCode(s), code);
  }
  TF_SetStatus(s, (TF_Code)99, "odd");
  assert_int_equal(TF_GetCode(s), TF_UNKNOWN);
  TF_DeleteStatus(s);
}

typedef struct visited_s {
  int count;
  char text[128];
} visited_t;

static void visit(const char* key, const char* value, void* capture) {
  visited_t* visited = capture;
  ++visited->count;
  strcat(visited->text, key);
  strcat(visited->text, "=");
  strcat(visited->text, value);
  strcat(visited->text, ";");
}

static void test_payloads(void** state) {
  TF_Status* s = TF_NewStatus();
  visited_t visited = {0};
  TF_SetPayload(s, "key", "lost");  // while it says OK
  TF_ForEachPayload(s, visit, &visited);
  assert_int_equal(visited.count, 0);
  TF_SetStatus(s, TF_ABORTED, "gone");
  TF_SetPayload(s, "a", "1");
  TF_SetPayload(s, "b", "2");
  TF_SetPayload(s, "a", "3");
  TF_ForEachPayload(s, visit, &visited);
  assert_int_equal(visited.count, 2);
  assert_non_null(strstr(visited.text, "a=3;"));
  assert_non_null(strstr(visited.text, "b=2;"));
  TF_SetStatus(s, TF_ABORTED, "again");
  visited = (visited_t){0};
  TF_ForEachPayload(s, visit, &visited);
  assert_int_equal(visited.count, 0);
  TF_SetPayload(s, "c", "4");
  TF_DeleteStatus(s);
}

static void test_io_errors(void** state) {
  TF_Status* s = TF_NewStatus();
  TF_SetStatusFromIOError(s, ENOENT, "/no/such/file");
  kit_expect_text(s, TF_NOT_FOUND, "/no/such/file");
  TF_SetStatusFromIOError(s, EACCES, "x");
  kit_expect(s, TF_PERMISSION_DENIED);
  TF_SetStatusFromIOError(s, ENOSPC, "x");
  kit_expect(s, TF_RESOURCE_EXHAUSTED);
  TF_SetStatusFromIOError(s, 0, "x");
  kit_ok(s);
  TF_DeleteStatus(s);
}

static void count_payload(const char* key, const char* value, void* capture) {
  assert_string_equal(key, "key");
  assert_string_equal(value, "value");
  ++*(int*)capture;
}

// The functions of TensorFlow's support library work on the same object.
static void test_support_library(void** state) {
  int payloads = 0;
  TSL_Status* s = TSL_NewStatus();
  assert_int_equal(TSL_GetCode(s), TSL_OK);
  TSL_SetStatus(s, TSL_NOT_FOUND, "no such thing");
  TSL_SetPayload(s, "key", "value");
  TF_Status* same = s;
  assert_int_equal(TF_GetCode(same), TF_NOT_FOUND);
  assert_string_equal(TF_Message(same), "no such thing");
  TSL_ForEachPayload(s, count_payload, &payloads);
  assert_int_equal(payloads, 1);
  TF_SetStatus(same, TF_ABORTED, "given up");
  assert_int_equal(TSL_GetCode(s), TSL_ABORTED);
  assert_string_equal(TSL_Message(s), "given up");
  TSL_SetStatusFromIOError(s, EACCES, "door");
  assert_int_equal(TSL_GetCode(s), TSL_PERMISSION_DENIED);
  TSL_DeleteStatus(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_starts_ok),  cmocka_unit_test(test_set_and_forget),
      cmocka_unit_test(test_every_code), cmocka_unit_test(test_payloads),
      cmocka_unit_test(test_io_errors), cmocka_unit_test(test_support_library),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
