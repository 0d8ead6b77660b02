#define _GNU_SOURCE  // strtod_l, strtof_l
#include "base/locale.h"

#include <locale.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

// The "C" locale, made at the first call and kept until the process ends. Two threads may make one
// at the same time; the one that comes second frees its own and uses the other's.
static locale_t c_locale(void) {
  static _Atomic(locale_t) cached;
  locale_t locale = atomic_load_explicit(&cached, memory_order_acquire);
  if (locale) return locale;
  locale_t made = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (!made) return made;
  if (atomic_compare_exchange_strong(&cached, &locale, made)) return made;
  freelocale(made);
  return locale;
}

// There is no vsnprintf_l, so the thread's locale is put aside for so long. Without a "C" locale
// uselocale changes nothing.
int leat_locale_print_v(char* out_text, size_t size, const char* format, va_list arguments) {
  locale_t before = uselocale(c_locale());
  int length = vsnprintf(out_text, size, format, arguments);
  uselocale(before);
  return length;
}

int leat_locale_print(char* out_text, size_t size, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int length = leat_locale_print_v(out_text, size, format, arguments);
  va_end(arguments);
  return length;
}

double leat_locale_read_double(const char* text, char** out_end) {
  locale_t locale = c_locale();
  return locale ? strtod_l(text, out_end, locale) : strtod(text, out_end);
}

float leat_locale_read_float(const char* text, char** out_end) {
  locale_t locale = c_locale();
  return locale ? strtof_l(text, out_end, locale) : strtof(text, out_end);
}
