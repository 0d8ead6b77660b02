// TF_Buffer, and the exported string functions.
#include "capi/kit.h"

#include "tensorflow/c/tf_tstring.h"

static int freed;
static void count_free(void* data, size_t length) {
  ++freed;
  assert_int_equal(length, 3);
}

static void test_copies(void** state) {
  char bytes[] = {1, 0, 2};
  TF_Buffer* buffer = TF_NewBufferFromString(bytes, sizeof bytes);
  bytes[0] = 9;
  assert_int_equal(buffer->length, 3);
  assert_memory_equal(buffer->data, "\1\0\2", 3);
  TF_DeleteBuffer(buffer);
  buffer = TF_NewBufferFromString(NULL, 0);
  assert_non_null(buffer);
  assert_int_equal(buffer->length, 0);
  TF_DeleteBuffer(buffer);
}

static void test_callers_block(void** state) {
  static char bytes[3];
  TF_Buffer* buffer = TF_NewBuffer();
  assert_null(buffer->data);
  assert_int_equal(buffer->length, 0);
  buffer->data = bytes;
  buffer->length = sizeof bytes;
  buffer->data_deallocator = count_free;
  TF_Buffer same = TF_GetBuffer(buffer);
  assert_ptr_equal(same.data, bytes);
  freed = 0;
  TF_DeleteBuffer(buffer);
  assert_int_equal(freed, 1);
  TF_DeleteBuffer(NULL);
}

static void test_strings(void** state) {
  static const char long_text[] = "longer than the object itself has room for";
  TF_TString text;
  TF_StringInit(&text);
  assert_int_equal(TF_StringGetSize(&text), 0);
  TF_StringCopy(&text, "short", 5);
  assert_int_equal(TF_StringGetType(&text), TF_TSTR_SMALL);
  TF_StringCopy(&text, long_text, sizeof long_text - 1);
  assert_int_equal(TF_StringGetType(&text), TF_TSTR_LARGE);
  assert_int_equal(TF_StringGetSize(&text), sizeof long_text - 1);
  assert_true(TF_StringGetCapacity(&text) >= sizeof long_text - 1);
  assert_string_equal(TF_StringGetDataPointer(&text), long_text);
  TF_StringAssignView(&text, long_text, 4);
  assert_int_equal(TF_StringGetType(&text), TF_TSTR_VIEW);
  assert_ptr_equal(TF_StringGetDataPointer(&text), long_text);
  TF_StringDealloc(&text);
}

static void test_version(void** state) { assert_string_equal(TF_Version(), "2.21.0"); }

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_copies),
      cmocka_unit_test(test_callers_block),
      cmocka_unit_test(test_strings),
      cmocka_unit_test(test_version),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
