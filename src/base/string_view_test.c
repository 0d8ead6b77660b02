// String views: comparing, finding, trimming, and reading numbers. The numbers that must be refused
// matter most, because strtod and strtoll would take them: blanks, hexadecimal, a trailing letter,
// a comma where the locale asks for one. A view is not NUL-terminated, so one number ends in the
// middle of its text. The hash has two values that are fixed here, since orders may depend on them
// across processes, and 60,000 names of a model's shape must spread over its buckets about as
// random numbers would.
#include "base/string_view.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>

#include "base/test.h"

#define S(text) leat_string_view_from(text)

static void compares_in_byte_order(void** state) {
  assert_int_equal(leat_string_view_compare(S("a"), S("a")), 0);
  assert_true(leat_string_view_compare(S("a"), S("b")) < 0);
  assert_true(leat_string_view_compare(S("a"), S("aa")) < 0);
  assert_true(leat_string_view_compare(S("\xff"), S("a")) > 0);
  assert_int_equal(leat_string_view_compare(S(NULL), S("")), 0);
  assert_true(leat_string_view_equals(LEAT_SV("abc"), "abc"));
  assert_false(leat_string_view_equals(LEAT_SV("abc"), "abd"));
  assert_true(leat_string_view_starts_with(S("abc"), S("ab")));
  assert_true(leat_string_view_ends_with(S("abc"), S("bc")));
  assert_false(leat_string_view_ends_with(S("c"), S("bc")));
}

static void finds_and_trims(void** state) {
  assert_int_equal(leat_string_view_find(S("a/b/c"), '/'), 1);
  assert_int_equal(leat_string_view_find_last(S("a/b/c"), '/'), 3);
  assert_true(leat_string_view_find(S("abc"), '/') == SIZE_MAX);
  assert_true(leat_string_view_find_last(S(""), '/') == SIZE_MAX);
  assert_true(leat_string_view_equals(leat_string_view_trim(S(" \t a b\n ")), "a b"));
  assert_int_equal(leat_string_view_trim(S("  ")).size, 0);
  assert_int_equal(leat_string_view_from_index(S("abc"), 9).size, 0);
}

static void reads_integers(void** state) {
  int64_t v = 0;
  assert_true(leat_string_view_to_int64(S("0"), &v) && v == 0);
  assert_true(leat_string_view_to_int64(S("-42"), &v) && v == -42);
  assert_true(leat_string_view_to_int64(S("+7"), &v) && v == 7);
  assert_true(leat_string_view_to_int64(S("9223372036854775807"), &v) && v == INT64_MAX);
  assert_true(leat_string_view_to_int64(S("-9223372036854775808"), &v) && v == INT64_MIN);
  static const char* const bad[] = {"", "-", "+", " 1", "1 ", "1.0", "0x1", "9223372036854775808",
                                    "-9223372036854775809", "99999999999999999999", "a"};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(bad); ++i) {
    assert_false(leat_string_view_to_int64(S(bad[i]), &v));
  }
  assert_true(leat_string_view_to_int64(leat_string_view_make("123456", 3), &v) && v == 123);
}

static void reads_doubles(void** state) {
  double v = 0;
  setlocale(LC_ALL, "de_DE.UTF-8");  // where it exists, a comma would be asked for
  assert_true(leat_string_view_to_double(S("1.5"), &v) && v == 1.5);
  setlocale(LC_ALL, "C");
  assert_true(leat_string_view_to_double(S("-1e-3"), &v) && v == -1e-3);
  assert_true(leat_string_view_to_double(S("inf"), &v) && isinf(v));
  assert_true(leat_string_view_to_double(S("nan"), &v) && isnan(v));
  assert_true(leat_string_view_to_double(S("1e-400"), &v) && v == 0);
  assert_true(leat_string_view_to_double(leat_string_view_make("2.25", 3), &v) && v == 2.2);
  static const char* const bad[] = {"", " 1", "1 ", "1e400", "0x10", "1.5f", "a", "."};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(bad); ++i) {
    assert_false(leat_string_view_to_double(S(bad[i]), &v));
  }
}

static void hash_sees_every_byte(void** state) {
  char text[80];
  for (size_t size = 0; size < sizeof(text); ++size) {
    memset(text, 'x', sizeof(text));
    uint64_t hash = leat_string_view_hash(leat_string_view_make(text, size));
    for (size_t i = 0; i < size; ++i) {
      text[i] ^= 1;
      assert_true(leat_string_view_hash(leat_string_view_make(text, size)) != hash);
      text[i] ^= 1;
    }
    assert_true(leat_string_view_hash(leat_string_view_make(text, size)) == hash);
  }
}

static void hash_is_the_same_in_all_processes(void** state) {
  assert_true(leat_string_view_hash(S("")) == leat_string_view_hash(S(NULL)));
  // Fixed here: partitions and orders may depend on it.
  assert_true(leat_string_view_hash(S("MatMul")) == 0x24eab539efeabd20ull);
  assert_true(leat_string_view_hash(S("gradients/layer_1/weights:0")) == 0x8115ef8d4e2e497ull);
}

// Names as graphs have them; chained by the low bits, no bucket of 2^17 may be long.
static void hash_spreads_names(void** state) {
  static uint8_t buckets[1 << 17];
  memset(buckets, 0, sizeof(buckets));
  int longest = 0;
  for (int i = 0; i < 60000; ++i) {
    char name[64];
    snprintf(name, sizeof(name), "model/layer_%d/attention/%s_%d", i % 97,
             i & 1 ? "MatMul" : "Add", i);
    int n = ++buckets[leat_string_view_hash(S(name)) & (LEAT_ARRAY_SIZE(buckets) - 1)];
    if (n > longest) longest = n;
  }
  assert_true(longest <= 9);
}

static void lines_are_taken(void** state) {
  leat_string_view_t text = LEAT_SV("one\r\n\ntwo"), line;
  assert_true(leat_string_view_take_line(&text, &line) && leat_string_view_equals(line, "one"));
  assert_true(leat_string_view_take_line(&text, &line) && leat_string_view_equals(line, ""));
  assert_true(leat_string_view_take_line(&text, &line) && leat_string_view_equals(line, "two"));
  assert_false(leat_string_view_take_line(&text, &line));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(compares_in_byte_order),
      cmocka_unit_test(finds_and_trims),
      cmocka_unit_test(lines_are_taken),
      cmocka_unit_test(reads_integers),
      cmocka_unit_test(reads_doubles),
      cmocka_unit_test(hash_sees_every_byte),
      cmocka_unit_test(hash_is_the_same_in_all_processes),
      cmocka_unit_test(hash_spreads_names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
