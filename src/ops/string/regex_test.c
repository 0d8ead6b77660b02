// Patterns in RE2's syntax: what they match, what is refused as RE2 refuses it, and what is beyond
// the C library.
#include <string.h>

#include "base/regular_expression.h"
#include "base/test.h"
#include "op_harness/op_harness.h"
#include "ops/string/regex_syntax_cpu.h"

static const leat_op_case_t kCases[] = {
    {.op = "StaticRegexFullMatch",
     .inputs = {LEAT_TEXTS(LEAT_DIMS(3), "s3://bucket/x", "/home/s3://", "s3:/")},
     .attrs = {LEAT_CASE_STR("pattern", "^s3://.*")},
     .expected = {LEAT_ITEMS(BOOL, LEAT_DIMS(3), 1, 0, 0)}},
    {.op = "RegexFullMatch",
     .inputs = {LEAT_TEXTS(LEAT_DIMS(2), "abaaba", "abcdabcde"),
                LEAT_TEXTS(LEAT_SCALAR_DIMS, "a.*a")},
     .expected = {LEAT_ITEMS(BOOL, LEAT_DIMS(2), 1, 0)}},
    {.op = "RegexFullMatch",
     .name = "RegexFullMatch, no pattern",
     .inputs = {LEAT_TEXTS(LEAT_DIMS(1), "a"), LEAT_TEXTS(LEAT_SCALAR_DIMS, "(a")},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "missing )"},
};

static leat_status_t match(const char* pattern, leat_string_view_t text, bool* out_found) {
  leat_string_builder_t posix;
  leat_regular_expression_t* expression;
  leat_string_builder_initialize(leat_allocator_system(), &posix);
  leat_status_t status = leat_regex_to_posix(leat_string_view_from(pattern), &posix);
  if (!status) status = leat_regular_expression_create(posix.data, &expression);
  leat_string_builder_deinitialize(&posix);
  if (status) return status;
  status = leat_regular_expression_search(expression, text, out_found);
  leat_regular_expression_free(expression);
  return status;
}

// Each text that matches, then NULL, then each that does not, then NULL.
static const char* const kMatches[][8] = {
    {"", "", NULL, "a", "\n", NULL},
    {"a|ab", "a", "ab", NULL, "b", "abb", "", NULL},
    {"(a|ab)(c|bcd)", "ac", "abc", "abcd", NULL, "abbcdc", NULL},
    {"a|", "a", "", NULL, "aa", NULL},
    {"()*x", "x", NULL, "xx", NULL},
    {".", "a", "\303\251", "\342\202\254", NULL, "\n", "ab", NULL},
    {"..", "a\303\251", "\303\251\303\251", NULL, "\303\251", "a", NULL},
    {"\303\251+", "\303\251\303\251", NULL, "\303\251\251", NULL},
    {"[^a]", "b", "\n", "\303\251", NULL, "a", "", NULL},
    {"[]a-c^-]+", "]", "-^abc", NULL, "d", NULL},
    {"[^]]", "a", NULL, "]", NULL},
    {"[\\]\\-\\\\[]+", "]-\\[", NULL, "a", NULL},
    {"[^^-]", "a", NULL, "^", "-", NULL},
    {"[\\^-]", "^", "-", NULL, "\\", NULL},
    {"[\\d_\\n-\\r]{2,3}", "0_", "\n\r9", NULL, "0", "0000", NULL},
    {"[[:alpha:][:digit:]]*", "a0Z", NULL, "_", NULL},
    {"\\d+\\D\\w\\W\\s\\S", "12xz- .", NULL, "12xz-\v.", NULL},
    {"\\Qa.b*\\E+", "a.b**", NULL, "axb", NULL},
    {"\\x41\\x{42}\\103\\t\\.\\*", "ABC\t.*", NULL, "ABC\tx*", NULL},
    {"\\Afoo\\b.*\\z", "foo", "foo bar", NULL, "foobar", NULL},
    {"a*?b+?c??", "aabbc", "b", NULL, "aac", NULL},
    {"a{,2}{x}{", "a{,2}{x}{", NULL, "aa", NULL},
    {"(?P<n>a)(?:b)(?<m>c)", "abc", NULL, "ab", NULL},
    {"a{3}", "aaa", NULL, "aa", "aaaa", NULL},
    {"(a{2,}b){2}", "aabaaab", NULL, "abaab", NULL},
    {"\n^", NULL, "\n", NULL},
    {"^*a$*", "a", NULL, "^a", NULL},
};

static void what_matches(void** state) {
  for (size_t i = 0; i < sizeof kMatches / sizeof *kMatches; ++i) {
    bool wanted = true, found;
    for (int k = 1, ends = 0; ends < 2; ++k) {
      const char* text = kMatches[i][k];
      if (!text) {
        ++ends;
        wanted = false;
        continue;
      }
      LEAT_EXPECT_OK(match(kMatches[i][0], leat_string_view_from(text), &found));
      if (found != wanted) fail_msg("'%s' on '%s' gave %d", kMatches[i][0], text, found);
    }
  }
  bool found;
  LEAT_EXPECT_OK(match("(a|b)*", LEAT_SV("a\0b"), &found));
  assert_false(found);
}

static void what_is_refused(void** state) {
  static const char* const kInvalid[] = {
      "A[", "(a", "a)", "*a", "a|*", "a**", "a{2}{3}", "a{1001}", "(a{40}){40}", "a{3,2}", "\\1",
      "\\y", "a\\", "[b-a]", "[[:what:]]", "\\x4", "(|*)"};
  static const char* const kBeyond[] = {"\\pL", "[\303\251]", "(?i)a", "\\C", "[\\D]",
                                        "((abcdefghijklmnopqrstuvw){30}){30}"};
  bool found;
  for (size_t i = 0; i < sizeof kInvalid / sizeof *kInvalid; ++i) {
    LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT, match(kInvalid[i], LEAT_SV("a"), &found));
  }
  for (size_t i = 0; i < sizeof kBeyond / sizeof *kBeyond; ++i) {
    LEAT_EXPECT_CODE(LEAT_UNIMPLEMENTED, match(kBeyond[i], LEAT_SV("a"), &found));
  }
}

static void groups_in_groups_end(void** state) {
  char pattern[4001];
  bool found;
  memset(pattern, '(', 2000);
  memset(pattern + 2000, ')', 2000);
  pattern[4000] = 0;
  LEAT_EXPECT_CODE(LEAT_UNIMPLEMENTED, match(pattern, LEAT_SV("a"), &found));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_matches),
      cmocka_unit_test(what_is_refused),
      cmocka_unit_test(groups_in_groups_end),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  return leat_op_cases_main(__FILE__, kCases, sizeof kCases / sizeof *kCases) || failed;
}
