#include "board/query.h"

#include "base/test.h"

static leat_arena_t arena;

static int make_arena(void** state) {
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  return 0;
}

static int free_arena(void** state) {
  leat_arena_deinitialize(&arena);
  return 0;
}

static void expect(const char* text, const char* name, const char* value, size_t size) {
  board_query_t query;
  leat_string_view_t got = {0};
  LEAT_EXPECT_OK(board_query_parse(leat_string_view_from(text), &arena, &query));
  assert_int_equal(board_query_get(&query, name, &got), value != NULL);
  if (!value) return;
  assert_int_equal(got.size, size);
  assert_memory_equal(got.data, value, size);
}

static void parameters_are_decoded(void** state) {
  expect("run=a%2Fb+c&tag=x", "run", "a/b c", 5);
  expect("run=a%2Fb+c&tag=x", "tag", "x", 1);
  expect("run=1&run=2", "run", "1", 1);
  expect("a=b=c", "a", "b=c", 3);
  expect("&&a=1&", "a", "1", 1);
  expect("a", "a", "", 0);
  expect("a=", "a", "", 0);
  expect("", "a", NULL, 0);
  expect("b=1", "a", NULL, 0);
  expect("a=%00%41", "a", "\0A", 2);
  // What is no escape stands for itself.
  expect("a=%", "a", "%", 1);
  expect("a=%4", "a", "%4", 2);
  expect("a=%zz%2", "a", "%zz%2", 5);
  expect("a=%e2%80%a8", "a", "\xe2\x80\xa8", 3);
}

// An escape that the end of the text cuts does not take what lies behind.
static void a_view_ends_where_it_ends(void** state) {
  leat_string_view_t text;
  LEAT_EXPECT_OK(board_query_decode(leat_string_view_make("%41", 2), true, &arena, &text));
  assert_true(leat_string_view_equals(text, "%4"));
}

static void there_is_a_limit(void** state) {
  board_query_t query = {0};
  for (int i = 0; i < 30000; ++i) {
    LEAT_EXPECT_OK(board_query_add(&arena, LEAT_SV("a"), LEAT_SV("b"), &query));
  }
  assert_int_equal(query.count, 10000);
  assert_true(query.is_cut);
  assert_true(leat_string_view_equals(query.items[9999].value, "b"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(parameters_are_decoded),
      cmocka_unit_test(a_view_ends_where_it_ends),
      cmocka_unit_test(there_is_a_limit),
  };
  return cmocka_run_group_tests(tests, make_arena, free_arena);
}
