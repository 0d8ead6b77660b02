#include "base/file_pattern.h"

#include "base/test.h"

static bool matches(const char* pattern, const char* name) {
  return leat_file_pattern_matches(leat_string_view_from(pattern), leat_string_view_from(name));
}

static void patterns_match(void** state) {
  static const char* const cases[][2] = {
      {"", ""},           {"*", ""},          {"*", "abc"},       {"a*", "a"},
      {"a*c", "abbc"},    {"a*b*c", "abbbc"}, {"*ab", "aab"},     {"*a*b", "xaxxb"},
      {"?", "x"},         {"a?c", "abc"},     {"[abc]", "b"},     {"[a-c]x", "cx"},
      {"[!a-c]", "d"},    {"[^a-c]", "d"},    {"[]]", "]"},       {"[!]]", "a"},
      {"[a-]", "-"},      {"[", "["},         {"[a", "[a"},       {"\\*", "*"},
      {"a\\?", "a?"},     {"[\\]]", "]"},     {"\\", "\\"},       {"**", "x"},
      {"m-*-of-*", "m-00001-of-00002"},       {"*.index", "a.b.index"},
      {"[\xc3-\xc4]*", "\xc3\xa9"},           {"[a\\-z]", "-"}};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(cases); ++i) {
    if (!matches(cases[i][0], cases[i][1])) print_error("%s %s\n", cases[i][0], cases[i][1]);
    assert_true(matches(cases[i][0], cases[i][1]));
  }
}

static void others_do_not(void** state) {
  static const char* const cases[][2] = {
      {"", "a"},       {"a", ""},      {"a", "b"},      {"?", ""},        {"a*c", "abcd"},
      {"[abc]", "d"},  {"[!a]", "a"},  {"[a-c]", "d"},  {"\\*", "a"},     {"*ab", "aba"},
      {"[", "a"},      {"[]", "]"},    {"a?", "a"},     {"[a\\-z]", "b"}, {"*a", ""}};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(cases); ++i) {
    if (matches(cases[i][0], cases[i][1])) print_error("%s %s\n", cases[i][0], cases[i][1]);
    assert_false(matches(cases[i][0], cases[i][1]));
  }
}

// A matcher that backtracks over every star takes ages for this one.
static void many_stars_are_cheap(void** state) {
  char pattern[201], name[5001];
  for (int i = 0; i < 200; i += 2) memcpy(pattern + i, "*a", 2);
  pattern[200] = 0;
  memset(name, 'a', 5000);
  name[4999] = 'b';
  name[5000] = 0;
  assert_false(matches(pattern, name));
}

static void wild_is_told_from_plain(void** state) {
  assert_false(leat_file_pattern_is_wild(LEAT_SV("model.ckpt-00001")));
  assert_true(leat_file_pattern_is_wild(LEAT_SV("a*")));
  assert_true(leat_file_pattern_is_wild(LEAT_SV("a\\b")));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(patterns_match),
      cmocka_unit_test(others_do_not),
      cmocka_unit_test(many_stars_are_cheap),
      cmocka_unit_test(wild_is_told_from_plain),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
