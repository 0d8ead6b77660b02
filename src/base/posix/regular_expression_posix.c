// regcomp and regexec. Both read the locale of the thread, which is put aside for so long.
#define _GNU_SOURCE
#include "base/regular_expression.h"

#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <regex.h>
#include <string.h>

struct leat_regular_expression_s {
  regex_t regex;
  locale_t bytes;
};

static leat_status_t fail(const leat_regular_expression_t* e, int code) {
  char words[128];
  regerror(code, &e->regex, words, sizeof words);
  return leat_make_status(code == REG_ESPACE ? LEAT_RESOURCE_EXHAUSTED : LEAT_INVALID_ARGUMENT,
                          "%s", words);
}

leat_status_t leat_regular_expression_create(const char* pattern,
                                             leat_regular_expression_t** out_expression) {
  leat_regular_expression_t* e;
  *out_expression = NULL;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &e));
  e->bytes = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (!e->bytes) {
    // Without a locale of its own the pattern would be read in the program's, where a character of
    // UTF-8 is one and not several.
    const int error = errno;
    char words[128];
    leat_allocator_free(leat_allocator_system(), e);
    return leat_make_status(error == ENOMEM ? LEAT_RESOURCE_EXHAUSTED : LEAT_INTERNAL,
                            "Compiling a regular expression failed: newlocale(\"C\"): %s",
                            strerror_r(error, words, sizeof words));
  }
  locale_t before = uselocale(e->bytes);
  int code = regcomp(&e->regex, pattern, REG_EXTENDED | REG_NOSUB);
  uselocale(before);
  if (code == 0) {
    *out_expression = e;
    return leat_ok_status();
  }
  leat_status_t status = fail(e, code);
  freelocale(e->bytes);
  leat_allocator_free(leat_allocator_system(), e);
  return status;
}

void leat_regular_expression_free(leat_regular_expression_t* e) {
  if (!e) return;
  regfree(&e->regex);
  freelocale(e->bytes);
  leat_allocator_free(leat_allocator_system(), e);
}

leat_status_t leat_regular_expression_search(const leat_regular_expression_t* e,
                                             leat_string_view_t text, bool* out_found) {
  if (text.size > INT_MAX) {
    // The C library counts the bytes of a text in a regoff_t, which is an int in most.
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Matching a regular expression failed: the text has %zu bytes, must "
                            "have at most %d",
                            text.size, INT_MAX);
  }
  regmatch_t range = {0, (regoff_t)text.size};
  locale_t before = uselocale(e->bytes);
  int code = regexec(&e->regex, text.data ? text.data : "", 0, &range, REG_STARTEND);
  uselocale(before);
  *out_found = code == 0;
  return code == 0 || code == REG_NOMATCH ? leat_ok_status() : fail(e, code);
}
