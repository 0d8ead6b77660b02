// What JSON is and what it is not, texts with every escape, and texts that are cut off at each
// byte: of those none is read, and none is read beyond its end.
#include "board/json_reader.h"

#include "board/test_arena.h"

static bool reads(leat_string_view_t text, board_json_t* out_value) {
  // Its own block, so that a byte behind the end would be noticed.
  char* copy = NULL;
  LEAT_EXPECT_OK(LEAT_ALLOCATE(leat_allocator_system(), text.size + 1, &copy));
  memcpy(copy + 1, text.data, text.size);
  leat_status_t status =
      board_json_read(leat_string_view_make(copy + 1, text.size), &arena, out_value);
  bool is_read = status == leat_ok_status();
  if (!is_read) assert_int_equal(leat_status_code(status), LEAT_INVALID_ARGUMENT);
  leat_status_free(status);
  leat_allocator_free(leat_allocator_system(), copy);
  return is_read;
}

#define WHOLE "{\"a\" : [1, -2.5e3 ,true,false,null], \"b\\u00e9\\ud83d\\ude00\\n\":{\"c\":\"\"}}"

static void whole_values_are_read(void** state) {
  board_json_t value;
  assert_true(reads(LEAT_SV(WHOLE), &value));
  assert_int_equal(value.kind, BOARD_JSON_OBJECT);
  const board_json_t* list = value.first;
  assert_true(leat_string_view_equals(list->key, "a"));
  assert_true(list->first->number == 1 && list->first->next->number == -2500);
  assert_true(list->first->next->next->truth);
  const board_json_t* null = list->first->next->next->next->next;
  assert_true(null->kind == BOARD_JSON_NULL && !null->next);
  const board_json_t* object = list->next;
  assert_true(leat_string_view_equals(object->key, "b\xc3\xa9\xf0\x9f\x98\x80\n"));
  assert_true(object->first->kind == BOARD_JSON_TEXT && object->first->text.size == 0);
  assert_null(object->next);
  assert_true(reads(LEAT_SV("\"\\ud800x\\u0000\""), &value));  // half a character; a NUL
  assert_true(leat_string_view_equal(value.text, LEAT_SV("\xef\xbf\xbdx\0")));
}

static void what_is_cut_off_is_refused(void** state) {
  board_json_t value;
  for (size_t size = 0; size + 1 < sizeof WHOLE; ++size) {
    assert_false(reads(leat_string_view_make(WHOLE, size), &value));
  }
}

static void what_is_no_json_is_refused(void** state) {
  static const char* const texts[] = {
      "", "x", "nul", "truex", "+1", "inf", "nan", ".5", "1 2", "[1,]", "[,1]", "[1 2]", "{1:2}",
      "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "[}", "\"\\x\"", "\"\\u12g4\"", "\"a\\", "'a'", "]"};
  board_json_t value;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
    print_message("%s\n", texts[i]);
    assert_false(reads(leat_string_view_from(texts[i]), &value));
  }
  char deep[100000];
  memset(deep, '[', sizeof deep);
  assert_false(reads(leat_string_view_make(deep, sizeof deep), &value));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(whole_values_are_read, set_up, tear_down),
      cmocka_unit_test_setup_teardown(what_is_cut_off_is_refused, set_up, tear_down),
      cmocka_unit_test_setup_teardown(what_is_no_json_is_refused, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
