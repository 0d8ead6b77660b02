// A growing byte string. Appends after a failure do nothing; the first error is kept and returned
// by leat_string_builder_finish, so that writers need no check on each line.
#ifndef LEAT_BASE_STRING_BUILDER_H_
#define LEAT_BASE_STRING_BUILDER_H_

#include "base/allocator.h"
#include "base/string_view.h"

typedef struct leat_string_builder_s {
  leat_allocator_t* allocator;
  char* data;  // NUL-terminated when not NULL
  size_t size;
  size_t capacity;
  leat_status_t status;
} leat_string_builder_t;

void leat_string_builder_initialize(leat_allocator_t* allocator,
                                    leat_string_builder_t* out_builder);
void leat_string_builder_deinitialize(leat_string_builder_t* builder);
void leat_string_builder_append(leat_string_builder_t* builder, leat_string_view_t text);
void leat_string_builder_append_char(leat_string_builder_t* builder, char c);
void leat_string_builder_print(leat_string_builder_t* builder, const char* format, ...)
    LEAT_PRINTF(2, 3);
// Uninitialised room for |size| bytes at the end, which become part of the string; NULL on failure.
char* leat_string_builder_reserve(leat_string_builder_t* builder, size_t size);
static inline leat_string_view_t leat_string_builder_view(const leat_string_builder_t* builder) {
  return (leat_string_view_t){builder->data, builder->size};
}
// Takes the bytes out (the caller frees them with the builder's allocator); the builder is empty.
LEAT_MUST_USE leat_status_t leat_string_builder_finish(leat_string_builder_t* builder,
                                                       char** out_data, size_t* out_size);

#endif  // LEAT_BASE_STRING_BUILDER_H_
