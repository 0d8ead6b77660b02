#include "formats/wire/json.h"

#include <math.h>

#include "base/test.h"

static void expect_json_string(leat_string_view_t text, const char* json) {
  leat_string_builder_t out;
  leat_string_builder_initialize(leat_allocator_system(), &out);
  leat_json_append_string(&out, text);
  assert_string_equal(out.data, json);
  leat_string_builder_deinitialize(&out);
}

static void strings_are_escaped(void** state) {
  expect_json_string(LEAT_SV(""), "\"\"");
  expect_json_string(LEAT_SV("a\"b\\c\n\t\r"), "\"a\\\"b\\\\c\\n\\t\\r\"");
  expect_json_string(leat_string_view_make("\0\x1f\x7f", 3), "\"\\u0000\\u001f\\u007f\"");
  expect_json_string(LEAT_SV("na\xc3\xafve"), "\"na\xc3\xafve\"");
  expect_json_string(LEAT_SV("\xff\xc3"), "\"\\u00ff\\u00c3\"");
}

static void numbers_are_json(void** state) {
  leat_string_builder_t out;
  leat_string_builder_initialize(leat_allocator_system(), &out);
  leat_json_append_number(&out, 0.1);
  leat_string_builder_append_char(&out, ' ');
  leat_json_append_number(&out, NAN);
  leat_string_builder_append_char(&out, ' ');
  leat_json_append_number(&out, -INFINITY);
  leat_string_builder_append_char(&out, ' ');
  leat_json_append_number(&out, 3);
  assert_string_equal(out.data, "0.10000000000000001 null null 3");
  leat_string_builder_deinitialize(&out);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(strings_are_escaped),
      cmocka_unit_test(numbers_are_json),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
