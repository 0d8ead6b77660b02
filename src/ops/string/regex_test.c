// Regular expressions are written in RE2's syntax, as in TensorFlow, and are compiled and searched
// by our own program (pattern_cpu.h). The cases replace texts through the ops, the table says for
// each pattern which texts match as a whole and which do not, and every expected value is RE2's.
// They look for places where other libraries differ: the first instead of the longest alternative,
// a group that took no part, an empty match in a loop, a dot on a UTF-8 letter or on bytes that are
// no letter, letters that are one without case, matches that begin within a character. Patterns
// that RE2 refuses must be refused with its words. The time must grow no faster
// than the text: a search that goes back and tries the next way would not end on a hundred thousand
// letters. Two thousand groups in each other must not exhaust the stack.
#include <stdio.h>
#include <string.h>

#include "base/test.h"
#include "op_harness/op_harness.h"
#include "ops/string/pattern_cpu.h"

#define REPLACES(name_, text, pattern_, rewrite_, ...)                                \
  {.op = "RegexReplace", .name = "RegexReplace, " name_,                              \
   .inputs = {LEAT_TEXTS(LEAT_DIMS(1), text), LEAT_TEXTS(LEAT_SCALAR_DIMS, pattern_), \
              LEAT_TEXTS(LEAT_SCALAR_DIMS, rewrite_)},                                \
   .expected = {LEAT_TEXTS(LEAT_DIMS(1), __VA_ARGS__)}}

static const leat_op_case_t kCases[] = {
    REPLACES("everywhere", "abc abc", "b", "X", "aXc aXc"),
    REPLACES("groups", "1234567", "(\\d)(\\d{3})$", "\\1,\\2", "1234,567"),
    REPLACES("a group that took no part", "abc", "(a)|(b)", "<\\1\\2>", "<a><b>c"),
    REPLACES("the first alternative", "foobar", "foo|foobar", "X", "Xbar"),
    REPLACES("a lazy operator", "aaa", "a+?", "X", "XXX"),
    REPLACES("empty matches", "aab", "a*", "-", "-b-"),
    REPLACES("empty matches between characters", "h\303\244", "", "-", "-h-\303\244-"),
    REPLACES("an empty alternative in a loop", "1ab", "(|.)+", "<\\0>", "<>1<>a<>b<>"),
    REPLACES("ends of words", "a b", "\\b", "|", "|a| |b|"),
    REPLACES("without case", "aXbX", "(?i)x", "_", "a_b_"),
    REPLACES("a group that is not there", "abc", "b", "\\3", "abc"),
    REPLACES("a wrong backslash", "abcb", "b", "x\\qy", "axcx"),
    REPLACES("groups in a loop", "ab", "(a|)*", "<\\1>", "<a>b<>"),
    REPLACES("lazy and greedy change places", "aab", "(?U)a+(a?\?)", "<\\1>", "<a>b"),
    REPLACES("bytes that are no characters", "a\377b", ".", "X", "X\377X"),
    REPLACES("between the bytes of a character", "a\303\251", "a|\\B", "-", "-\303-\251-"),
    REPLACES("at a surrogate", "\355\240\200a", "", "-", "-\355\240\200-a-"),
    REPLACES("a surrogate is a character", "a\355\240\200b", "\\x{d800}|[^a-z]", "-", "a-b"),
    REPLACES("a surrogate in a pattern", "\355\240\200a", "\355\240\200", "-", "-a"),
    REPLACES("what is too long or too large is one of all", "\340\200\200a\364\220\200\200", ".",
             "-", "---"),
    REPLACES("and none of some", "\340\200\200a", "[^\\x{d800}a]", "-", "\340\200\200a"),
    REPLACES("nor of none", "\340\200a", "", "-", "-\340-\200-a-"),
    REPLACES("bytes of a character", "a\342\202\254b", "(\\C)\\C(b|)", "<\\1\\2>",
             "<a><\202b>"),
    REPLACES("bytes and characters, the first way", "\303\251x", "(?:\\C|\303\251)(.|)",
             "<\\1>", "<><x>"),
    REPLACES("a backslash", "a.b", "\\.", "\\\\", "a\\b"),
    {.op = "StaticRegexReplace",
     .inputs = {LEAT_TEXTS(LEAT_DIMS(2), "abab", "")},
     .attrs = {LEAT_CASE_STR("pattern", "ab"), LEAT_CASE_STR("rewrite", "abc"),
               LEAT_CASE_BOOL("replace_global", false)},
     .expected = {LEAT_TEXTS(LEAT_DIMS(2), "abcab", "")}},
    {.op = "StaticRegexReplace",
     .name = "StaticRegexReplace, a wrong backslash",
     .inputs = {LEAT_TEXTS(LEAT_DIMS(1), "abab")},
     .attrs = {LEAT_CASE_STR("pattern", "b"), LEAT_CASE_STR("rewrite", "x\\"),
               LEAT_CASE_BOOL("replace_global", false)},
     .expected = {LEAT_TEXTS(LEAT_DIMS(1), "abab")}},
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
  leat_pattern_t* made;
  leat_pattern_matcher_t* matcher;
  LEAT_RETURN_IF_ERROR(leat_pattern_create(leat_string_view_from(pattern), &made));
  leat_status_t status = leat_pattern_matcher_create(made, 0, NULL, &matcher);
  if (!status) status = leat_pattern_matches(matcher, text, out_found);
  leat_pattern_matcher_free(matcher);
  leat_pattern_free(made);
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
    {"(?P<n>a)(?:b)(?P<m>c)", "abc", NULL, "ab", NULL},
    {"(?P<\303\251>\\x{0000000000041})", "A", NULL, "a", NULL},
    {"ab(?i)*", "abb", "a", NULL, "abab", "aB", NULL},
    {"a{3}", "aaa", NULL, "aa", "aaaa", NULL},
    {"(a{2,}b){2}", "aabaaab", NULL, "abaab", NULL},
    {"\n^", NULL, "\n", NULL},
    {"^*a$*", "a", NULL, "^a", NULL},
    {".[^b]", "aa", "\355\240\200a", NULL, "a\377", "\300\200a", NULL},
    {"(?i)[^k]\\w(?-i)S", "aKS", "a\342\204\252S", NULL, "KaS", "aas", NULL},
    {"\\pL\\p{Lu}\\PL[^\\p{Nd}\\p{^L}]", "aA1\303\251", NULL, "aa1b", "1A1b", "aA11", NULL},
    {"\\p{Any}\\pC", "\n\n", NULL, "a\315\270", "\na", NULL},
    {"(?m)a$\n^b", "a\nb", NULL, "ab", NULL},
    {"(?s).(?)(?-s).", "\na", NULL, "\n\n", NULL},
    {"[[:^alpha:]]\\Bx", "_x", NULL, "1", NULL},
    {"\\p{Greek}\\P{Han}\\p{^Latin}", "\316\261a\316\261", "\316\261b\344\270\255", NULL,
     "aaa", "\316\261\344\270\255\344\270\255", NULL},
    {"[\\p{Kawi}\\p{Han}]", "\360\221\274\204", "\357\251\260", "\360\261\215\220", NULL,
     "\344\267\200", NULL},  // U+31350 is Han since Unicode 15
    {"(?i)\303\211[\316\243-\316\244]\304\261", "\303\251\317\202\304\261",
     "\303\211\317\204\304\261", NULL, "\303\251\317\202i", NULL},
    {"(?i)[^\\x{212a}]\\p{Lu}\\P{Lu}", "sa1", NULL, "kA1", "saA", NULL},
    {"(?i)\341\276\276\307\205", "\315\205\307\204", "\316\231\307\206", NULL, "I\307\205",
     NULL},
    {"\\C.", "a\303\251", NULL, "\303\251", NULL},
    {"\\C\\C.\\C*", "\303\251a", "\303\251\303\251\377", NULL, "\303\251", "a\303\251", NULL},
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
  static const char* const kInvalid[][2] = {
      {"A[", "missing ]: ["},
      {"x[a-", "missing ]: [a-"},
      {"(a", "missing ): (a"},
      {"a)", "unexpected ): a)"},
      {"*a", "no argument for repetition operator: *"},
      {"(|*)", "no argument for repetition operator: *"},
      {"a|*", "no argument for repetition operator: *"},
      {"(?i)*", "no argument for repetition operator: *"},
      {"a|(?i)+b", "no argument for repetition operator: +"},
      {"(a|+?b)", "no argument for repetition operator: +?"},
      {"a{3,2}?", "invalid repetition size: {3,2}?"},
      {"(?:{3,2})", "invalid repetition size: {3,2}"},
      {"\\x{\303\251}", "invalid escape sequence: \\x{\303\251"},
      {"\\xg!", "invalid escape sequence: \\xg!"},
      {"\\x{", "invalid UTF-8"},
      {"(?P<\302\267>x)", "invalid named capture group: (?P<\302\267>"},
      {"(?P<", "invalid perl operator: (?P"},
      {"(?<m>c)", "invalid perl operator: (?<"},
      {"a**", "bad repetition operator: **"},
      {"a{2}{3}", "bad repetition operator: {2}{3}"},
      {"a{1001}", "invalid repetition size: {1001}"},
      {"(a{1000}){1000}", "invalid repetition size: {1000}"},
      {"a{3,2}", "invalid repetition size: {3,2}"},
      {"\\1", "invalid escape sequence: \\1"},
      {"\\y", "invalid escape sequence: \\y"},
      {"\\x4", "invalid escape sequence: \\x4"},
      {"\\x{110000}", "invalid escape sequence: \\x{110000"},
      {"[a-\\d]", "invalid escape sequence: \\d"},
      {"a\\", "trailing \\"},
      {"[b-a]", "invalid character class range: b-a"},
      {"[[:what:]]", "invalid character class range: [:what:]"},
      {"(?z)", "invalid perl operator: (?z"},
      {"(?i\303\251)", "invalid perl operator: (?i\303\251"},
      {"(?i-)a", "invalid perl operator: (?i-)"},
      {"(?P<n-a>x)", "invalid named capture group: (?P<n-a>"},
      {"\\pX", "invalid character class range: \\pX"},
      {"\\p{Klingon}", "invalid character class range: \\p{Klingon}"},
      {"[\\C]", "invalid escape sequence: \\C"},
      {"\\p{L", "invalid character class range: \\p{L"},
      {"a\377", "invalid UTF-8"},
      {"(abcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghij"
       "abcdefghijabcdefghij){1000}",
       "pattern too large - compile failed"},
  };
  bool found;
  for (size_t i = 0; i < sizeof kInvalid / sizeof *kInvalid; ++i) {
    char wanted[300];
    snprintf(wanted, sizeof wanted, "Invalid pattern: %s, error: %s", kInvalid[i][0],
             kInvalid[i][1]);
    leat_status_t status = match(kInvalid[i][0], LEAT_SV("a"), &found);
    assert_string_equal(leat_status_message(status), wanted);
    LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT, status);
  }
}

// A search that tried one way after the other would not end on these.
static void time_is_bounded(void** state) {
  enum { SIZE = 100000 };
  static char text[SIZE + 1];
  bool found;
  memset(text, 'a', SIZE);
  LEAT_EXPECT_OK(match("(a*)*b", leat_string_view_make(text, SIZE), &found));
  assert_false(found);
  LEAT_EXPECT_OK(match("(a|aa)+(a?){20}", leat_string_view_make(text, SIZE), &found));
  assert_true(found);
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
      cmocka_unit_test(time_is_bounded),
      cmocka_unit_test(groups_in_groups_end),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  return leat_op_cases_main(__FILE__, kCases, sizeof kCases / sizeof *kCases) || failed;
}
