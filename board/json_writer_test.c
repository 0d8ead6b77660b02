// The expected texts are Python's: repr of a float, and json.dumps.
#include "board/json_writer.h"

#include <math.h>
#include <string.h>

#include "base/test.h"

static void floats_are_pythons(void** state) {
  static const struct {
    double number;
    const char* text;
  } cases[] = {
      {0, "0.0"}, {-0.0, "-0.0"}, {1, "1.0"}, {-2.5, "-2.5"}, {0.1, "0.1"},
      {0.1f, "0.10000000149011612"}, {1e16, "1e+16"}, {9999999999999998.0, "9999999999999998.0"},
      {1e-4, "0.0001"}, {1e-5, "1e-05"}, {1.5e-7, "1.5e-07"}, {123456789.125, "123456789.125"},
      {5e-324, "5e-324"}, {1.7976931348623157e308, "1.7976931348623157e+308"},
      {0x1p-778, "6.290184345309701e-235"}, {0x1p-44, "5.684341886080802e-14"},
      {1700000000.25, "1700000000.25"}, {NAN, "NaN"}, {INFINITY, "Infinity"},
      {-INFINITY, "-Infinity"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    char text[40];
    size_t size = board_float_text(cases[i].number, text);
    assert_int_equal(size, strlen(cases[i].text));
    assert_memory_equal(text, cases[i].text, size);
  }
}

static void expect(const char* text, size_t size, bool ascii, const char* json) {
  leat_string_builder_t out;
  leat_string_builder_initialize(leat_allocator_system(), &out);
  if (ascii) {
    board_json_ascii_string(&out, leat_string_view_make(text, size));
  } else {
    board_json_string(&out, leat_string_view_make(text, size));
  }
  assert_string_equal(out.data, json);
  leat_string_builder_deinitialize(&out);
}

static void strings_are_escaped(void** state) {
  expect("a\"\\/\n\r\t\b\f", 9, false, "\"a\\\"\\\\/\\n\\r\\t\\b\\f\"");
  expect("\0\x01\x1f<", 4, false, "\"\\u0000\\u0001\\u001f<\"");
  expect("\xc3\xa9\xf0\x9f\x98\x80", 6, false, "\"\xc3\xa9\xf0\x9f\x98\x80\"");
  expect("\xc3\xa9\xf0\x9f\x98\x80", 6, true, "\"\\u00e9\\ud83d\\ude00\"");
  // Bytes that are no UTF-8: a lone byte, a character cut short, a surrogate.
  expect("\xff" "a\xc3", 3, false, "\"\\ufffda\\ufffd\"");
  expect("\xed\xa0\x80", 3, false, "\"\\ufffd\\ufffd\\ufffd\"");
}

static void numbers_are_what_they_were(void** state) {
  leat_string_builder_t out;
  leat_string_builder_initialize(leat_allocator_system(), &out);
  board_json_number(&out, BOARD_NUMBER_BOOL, 1);
  board_json_number(&out, BOARD_NUMBER_INT, -7);
  board_json_number(&out, BOARD_NUMBER_FLOAT, -7);
  board_json_float(&out, NAN);
  assert_string_equal(out.data, "true-7-7.0\"NaN\"");
  leat_string_builder_deinitialize(&out);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(floats_are_pythons),
      cmocka_unit_test(strings_are_escaped),
      cmocka_unit_test(numbers_are_what_they_were),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
