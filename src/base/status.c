// A status is one pointer: NULL is OK, and an error is one heap block that holds the code, the
// place in the source and the message. Success, the common case, thus costs a test of one register.
//
// The block comes from malloc itself and not from an allocator. Fault injection makes allocators
// fail, and a failure whose status needed the same allocator would have to fail again. When even
// malloc fails, the static status |no_memory| takes the block's place; leat_status_free() and
// leat_status_clone() know it by its address. An error never becomes OK because memory ran out.
//
// A status has one owner, who must free it or return it. Annotating consumes the old status and
// returns a new one whose message has the note in front; without memory for that, the old one is
// returned without the note, since the error matters more.
#include "base/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sync.h"

struct leat_status_s {
  leat_status_code_t code;
  int line;
  const char* file;  // a literal
  const char* message;
};

static struct leat_status_s no_memory = {
    LEAT_RESOURCE_EXHAUSTED, __LINE__, __FILE__,
    "Making a status failed: memory is exhausted, must have room for the message of an error"};

// A status with room for |message_size| bytes and NUL at |*out_message|; NULL when memory is gone.
static leat_status_t allocate_status(leat_status_code_t code, const char* file, int line,
                                     size_t message_size, char** out_message) {
  LEAT_DCHECK(!leat_spinlock_is_held());
  struct leat_status_s* status = malloc(sizeof(*status) + message_size + 1);
  if (!status) return NULL;
  *out_message = (char*)(status + 1);
  (*out_message)[0] = 0;
  *status = (struct leat_status_s){code, line, file ? file : "", *out_message};
  return status;
}

// Size of the formatted text without NUL; 0 when the format cannot be carried out.
static size_t formatted_size(const char* format, va_list arguments) {
  va_list copy;
  va_copy(copy, arguments);
  int size = vsnprintf(NULL, 0, format, copy);
  va_end(copy);
  return size < 0 ? 0 : (size_t)size;
}

leat_status_t leat_status_create_v(leat_status_code_t code, const char* file, int line,
                                   const char* format, va_list arguments) {
  if (code == LEAT_OK) return NULL;
  size_t size = formatted_size(format, arguments);
  char* message = NULL;
  leat_status_t status = allocate_status(code, file, line, size, &message);
  if (!status) return &no_memory;
  if (size) vsnprintf(message, size + 1, format, arguments);
  return status;
}

leat_status_t leat_status_create(leat_status_code_t code, const char* file, int line,
                                 const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  leat_status_t status = leat_status_create_v(code, file, line, format, arguments);
  va_end(arguments);
  return status;
}

static leat_status_t annotate_v(leat_status_t status, const char* format, va_list arguments) {
  size_t text_size = formatted_size(format, arguments);
  size_t old_size = strlen(status->message);
  char* message = NULL;
  leat_status_t annotated = allocate_status(status->code, status->file, status->line,
                                            text_size + 2 + old_size, &message);
  if (!annotated) return status;  // the error itself matters more than the note on it
  if (text_size) vsnprintf(message, text_size + 1, format, arguments);
  memcpy(message + text_size, ": ", 2);
  memcpy(message + text_size + 2, status->message, old_size + 1);
  leat_status_free(status);
  return annotated;
}

leat_status_t leat_status_annotate(leat_status_t status, const char* format, ...) {
  if (!status) return NULL;
  va_list arguments;
  va_start(arguments, format);
  status = annotate_v(status, format, arguments);
  va_end(arguments);
  return status;
}

leat_status_t leat_status_clone(leat_status_t status) {
  if (!status || status == &no_memory) return status;
  size_t size = strlen(status->message);
  char* message = NULL;
  leat_status_t clone = allocate_status(status->code, status->file, status->line, size, &message);
  if (!clone) return &no_memory;
  memcpy(message, status->message, size + 1);
  return clone;
}

leat_status_t leat_status_join(leat_status_t first, leat_status_t second) {
  if (!first) return second;
  leat_status_free(second);
  return first;
}

void leat_status_free(leat_status_t status) {
  if (status == &no_memory || !status) return;
  LEAT_DCHECK(!leat_spinlock_is_held());
  free(status);
}

leat_status_code_t leat_status_code(leat_status_t status) {
  return status ? status->code : LEAT_OK;
}

const char* leat_status_message(leat_status_t status) { return status ? status->message : ""; }

const char* leat_status_file(leat_status_t status) { return status ? status->file : ""; }

int leat_status_line(leat_status_t status) { return status ? status->line : 0; }

const char* leat_status_code_name(leat_status_code_t code) {
  static const char* const names[] = {
      "OK",           "CANCELLED",           "UNKNOWN",           "INVALID_ARGUMENT",
      "DEADLINE_EXCEEDED", "NOT_FOUND",      "ALREADY_EXISTS",    "PERMISSION_DENIED",
      "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED",     "OUT_OF_RANGE",
      "UNIMPLEMENTED", "INTERNAL",           "UNAVAILABLE",       "DATA_LOSS",
      "UNAUTHENTICATED"};
  if ((unsigned)code >= LEAT_ARRAY_SIZE(names)) return "UNKNOWN_CODE";
  return names[code];
}
