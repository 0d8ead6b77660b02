// Numbers in text as C writes them in the "C" locale: with a point, whatever locale the program or
// its thread has set. A library may not call setlocale, since the locale is the program's; and a
// program that has set one with a decimal comma must still read and write the same files, and get
// the same strings from the same ops. Where the C library has no "C" locale to give, which none is
// known to do, these functions use the program's.
#ifndef LEAT_BASE_LOCALE_H_
#define LEAT_BASE_LOCALE_H_

#include <stdarg.h>
#include <stddef.h>

#include "base/attributes.h"

// As snprintf and vsnprintf.
int leat_locale_print(char* out_text, size_t size, const char* format, ...)
    LEAT_PRINTF(3, 4);
int leat_locale_print_v(char* out_text, size_t size, const char* format, va_list arguments);
// As strtod and strtof.
double leat_locale_read_double(const char* text, char** out_end);
float leat_locale_read_float(const char* text, char** out_end);

#endif  // LEAT_BASE_LOCALE_H_
