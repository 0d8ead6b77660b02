// regcomp and regexec. Both read the locale of the thread, which is put aside for so long.
#define _GNU_SOURCE
#include "base/regular_expression.h"

#include <locale.h>
#include <regex.h>

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
  regmatch_t range = {0, (regoff_t)text.size};
  locale_t before = uselocale(e->bytes);
  int code = regexec(&e->regex, text.data ? text.data : "", 0, &range, REG_STARTEND);
  uselocale(before);
  *out_found = code == 0;
  return code == 0 || code == REG_NOMATCH ? leat_ok_status() : fail(e, code);
}
