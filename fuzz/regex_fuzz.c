// Patterns, up to the first NUL byte, on the text that follows: what is translated must be what the
// C library takes.
#include <string.h>

#include "base/regular_expression.h"
#include "ops/string/regex_syntax_cpu.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  enum { MAX_TEXT = 64 };
  const char* text = (const char*)data;
  const char* end = size ? memchr(text, 0, size) : NULL;
  size_t pattern = end ? (size_t)(end - text) : size;
  leat_string_builder_t posix;
  leat_regular_expression_t* expression = NULL;
  bool found;
  leat_string_builder_initialize(leat_allocator_system(), &posix);
  leat_status_t status = leat_regex_to_posix(leat_string_view_make(text, pattern), &posix);
  if (!status) {
    status = leat_regular_expression_create(posix.data, &expression);
    if (leat_status_code(status) == LEAT_INVALID_ARGUMENT) __builtin_trap();
  }
  if (!status) {
    // A copy: what AddressSanitizer puts before regexec looks for a NUL.
    char copy[MAX_TEXT + 1] = {0};
    size_t rest = size - pattern < MAX_TEXT ? size - pattern : MAX_TEXT;
    if (rest) memcpy(copy, text + pattern, rest);
    status = leat_regular_expression_search(expression, leat_string_view_make(copy, rest), &found);
  }
  leat_regular_expression_free(expression);
  leat_status_free(status);
  leat_string_builder_deinitialize(&posix);
  return 0;
}
