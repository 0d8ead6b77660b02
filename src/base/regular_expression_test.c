// Regular expressions where the C library fails: no locale to be had, a text that it cannot count.
// What patterns match is tested with the string ops (ops/string/regex_test.c).
#define _GNU_SOURCE  // RTLD_NEXT
#include "base/regular_expression.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <locale.h>

#include "base/test.h"

// The error of the next newlocale; 0: it does not fail.
static int locale_error;

// Stands before the C library's own in this program.
locale_t newlocale(int mask, const char* name, locale_t base) {
  locale_t (*real)(int, const char*, locale_t);
  *(void**)&real = dlsym(RTLD_NEXT, "newlocale");
  if (!locale_error) return real(mask, name, base);
  errno = locale_error;
  return (locale_t)0;
}

static void no_locale(void** state) {
  static const struct {
    int error;
    leat_status_code_t code;
  } kErrors[] = {{ENOMEM, LEAT_RESOURCE_EXHAUSTED}, {ENOENT, LEAT_INTERNAL}};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kErrors); ++i) {
    leat_regular_expression_t* expression = (leat_regular_expression_t*)&kErrors;
    locale_error = kErrors[i].error;
    leat_status_t status = leat_regular_expression_create("a.c", &expression);
    locale_error = 0;
    LEAT_EXPECT_CODE(kErrors[i].code, status);
    assert_null(expression);
  }
}

// The view claims bytes that are not there, which is why the text must not be read.
static void text_too_long(void** state) {
  leat_regular_expression_t* expression;
  bool found;
  LEAT_EXPECT_OK(leat_regular_expression_create("abc", &expression));
  LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT,
                   leat_regular_expression_search(
                       expression, leat_string_view_make("abc", (size_t)INT_MAX + 1), &found));
  LEAT_EXPECT_OK(leat_regular_expression_search(expression, LEAT_SV("xabcx"), &found));
  assert_true(found);
  leat_regular_expression_free(expression);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_locale),
      cmocka_unit_test(text_too_long),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
