// A status is one word: NULL is OK, anything else owns a code (TensorFlow's 17), a message and the
// place that raised it. Whoever receives one returns it, handles it or frees it; functions that
// return one are LEAT_MUST_USE. Making a status never fails: when memory is gone, a static
// RESOURCE_EXHAUSTED status is returned. A status belongs to one thread at a time.
//
//   leat_status_t open_table(const char* path, leat_table_t** out_table) {
//     if (!*path) {
//       return leat_make_status(LEAT_INVALID_ARGUMENT, "Opening failed: path is empty, must ...");
//     }
//     LEAT_RETURN_IF_ERROR(read_index(path, out_table));  // passed on unchanged
//     return leat_ok_status();
//   }
//
// Success costs a test of one register; an error costs an allocation and a printf, so errors are
// not for what happens all the time.
#ifndef LEAT_BASE_STATUS_H_
#define LEAT_BASE_STATUS_H_

#include <stdarg.h>
#include <stdbool.h>

#include "base/attributes.h"

// The numbers are TF_Code's, which programs and other tasks of a cluster see.
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

// A pointer under another name, so that a status is passed by value; `if (status)` means "if it
// failed".
typedef struct leat_status_s* leat_status_t;

#define leat_ok_status() ((leat_status_t)0)
static inline bool leat_status_is_ok(leat_status_t status) { return !status; }

// Makes a status of |code| with a printf message, raised at this line. A message has the form
// "<verb> failed for node 'x' (Op): <field> is <value>, must be <rule>". |code| LEAT_OK gives OK.
#define leat_make_status(code, ...)                                                     \
  leat_status_known_failed(leat_status_create((code), __FILE__, __LINE__, __VA_ARGS__), \
                           __builtin_constant_p(code) && (code) != LEAT_OK)
// Tells the compiler that the status is none of OK, where that is so: it then knows that what the
// caller looks at has been written.
LEAT_MUST_USE static inline leat_status_t leat_status_known_failed(leat_status_t status,
                                                                   bool is_known) {
  if (is_known && !status) __builtin_unreachable();
  return status;
}
// What leat_make_status calls. |file| must be a literal or live as long as the status does; NULL is
// allowed.
LEAT_MUST_USE leat_status_t leat_status_create(leat_status_code_t code, const char* file, int line,
                                               const char* format, ...) LEAT_PRINTF(4, 5);
LEAT_MUST_USE leat_status_t leat_status_create_v(leat_status_code_t code, const char* file,
                                                 int line, const char* format, va_list arguments);

// Puts "<text>: " before the message of |status|, which is consumed: the result replaces it. The
// code and the place stay. OK stays OK and the text is not formatted. Without memory for the text,
// the error comes back without it.
LEAT_MUST_USE leat_status_t leat_status_annotate(leat_status_t status, const char* format, ...)
    LEAT_PRINTF(2, 3);
// A second owner's copy. OK stays OK. Without memory the copy is the static RESOURCE_EXHAUSTED
// status, so an error never becomes OK.
LEAT_MUST_USE leat_status_t leat_status_clone(leat_status_t status);
// Keeps the first error of two and frees the other; both are consumed. It serves clean-up that can
// fail as well:
//
//   status = leat_status_join(status, leat_file_close(file));
LEAT_MUST_USE leat_status_t leat_status_join(leat_status_t first, leat_status_t second);
// OK is allowed. No spinlock may be held.
void leat_status_free(leat_status_t status);

// Borrows |status|, as the functions below do. LEAT_OK for OK.
leat_status_code_t leat_status_code(leat_status_t status);
// Never NULL; "" for OK. The text is valid until |status| is freed or annotated.
const char* leat_status_message(leat_status_t status);
// The file and the line of the source that raised it, as the compiler spelt them; "" and 0 for OK.
const char* leat_status_file(leat_status_t status);
int leat_status_line(leat_status_t status);
// "INVALID_ARGUMENT" and its kin, static; "UNKNOWN_CODE" for a number that is no code.
const char* leat_status_code_name(leat_status_code_t code);

// For functions that hold nothing: returns from the function when |expression| fails.
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
