// A status is one word: NULL is OK, anything else owns a code (TensorFlow's 17), a message and the
// place that raised it. Whoever receives one returns it, handles it or frees it; functions that
// return one are LEAT_MUST_USE. Making a status never fails: when memory is gone, a static
// RESOURCE_EXHAUSTED status is returned. A status belongs to one thread at a time.
#ifndef LEAT_BASE_STATUS_H_
#define LEAT_BASE_STATUS_H_

#include <stdarg.h>
#include <stdbool.h>

#include "base/attributes.h"

// Numbers are TF_Code's.
typedef enum leat_status_code_e {
  LEAT_OK = 0,
  LEAT_CANCELLED = 1,
  LEAT_UNKNOWN = 2,
  LEAT_INVALID_ARGUMENT = 3,
  LEAT_DEADLINE_EXCEEDED = 4,
  LEAT_NOT_FOUND = 5,
  LEAT_ALREADY_EXISTS = 6,
  LEAT_PERMISSION_DENIED = 7,
  LEAT_RESOURCE_EXHAUSTED = 8,
  LEAT_FAILED_PRECONDITION = 9,
  LEAT_ABORTED = 10,
  LEAT_OUT_OF_RANGE = 11,
  LEAT_UNIMPLEMENTED = 12,
  LEAT_INTERNAL = 13,
  LEAT_UNAVAILABLE = 14,
  LEAT_DATA_LOSS = 15,
  LEAT_UNAUTHENTICATED = 16,
} leat_status_code_t;

typedef struct leat_status_s* leat_status_t;

#define leat_ok_status() ((leat_status_t)0)
static inline bool leat_status_is_ok(leat_status_t status) { return !status; }

// Makes a status of |code| with a printf message, here.
#define leat_make_status(code, ...) leat_status_create((code), __FILE__, __LINE__, __VA_ARGS__)
LEAT_MUST_USE leat_status_t leat_status_create(leat_status_code_t code, const char* file, int line,
                                               const char* format, ...) LEAT_PRINTF(4, 5);
LEAT_MUST_USE leat_status_t leat_status_create_v(leat_status_code_t code, const char* file,
                                                 int line, const char* format, va_list arguments);

// Puts "<text>: " before the message of |status| (consumed; the result replaces it). OK stays OK.
LEAT_MUST_USE leat_status_t leat_status_annotate(leat_status_t status, const char* format, ...)
    LEAT_PRINTF(2, 3);
// A second owner's copy. OK stays OK.
LEAT_MUST_USE leat_status_t leat_status_clone(leat_status_t status);
// Keeps the first error of two; the other is freed.
LEAT_MUST_USE leat_status_t leat_status_join(leat_status_t first, leat_status_t second);
void leat_status_free(leat_status_t status);

leat_status_code_t leat_status_code(leat_status_t status);
// Borrowed, never NULL; "" for OK.
const char* leat_status_message(leat_status_t status);
// "file.c:12" of the place that raised it; "" for OK.
const char* leat_status_file(leat_status_t status);
int leat_status_line(leat_status_t status);
// "INVALID_ARGUMENT" and its kin.
const char* leat_status_code_name(leat_status_code_t code);

#define LEAT_RETURN_IF_ERROR(expression)            \
  do {                                              \
    leat_status_t leat_status_ = (expression);      \
    if (LEAT_UNLIKELY(leat_status_)) return leat_status_; \
  } while (0)

// For functions with one `cleanup:` label: sets |status| and jumps when |expression| fails.
#define LEAT_GOTO_IF_ERROR(status, expression)        \
  do {                                                \
    (status) = (expression);                          \
    if (LEAT_UNLIKELY(status)) goto cleanup;          \
  } while (0)

#endif  // LEAT_BASE_STATUS_H_
