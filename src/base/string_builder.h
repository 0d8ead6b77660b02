// A growing byte string. Appends after a failure do nothing; the first error is kept and returned
// by leat_string_builder_finish, so that writers need no check on each line. The encoders of
// messages, the printers of tensors and graphs and the readers of whole files build their output in
// it.
//
//   leat_string_builder_t builder;
//   leat_string_builder_initialize(allocator, &builder);
//   leat_string_builder_append(&builder, LEAT_SV("shape "));
//   leat_string_builder_print(&builder, "[%d]", count);
//   char* text;
//   size_t size;
//   LEAT_RETURN_IF_ERROR(leat_string_builder_finish(&builder, &text, &size));
//
// A builder belongs to one thread at a time. The bytes may contain NULs.
#ifndef LEAT_BASE_STRING_BUILDER_H_
#define LEAT_BASE_STRING_BUILDER_H_

#include "base/allocator.h"
#include "base/string_view.h"

typedef struct leat_string_builder_s {
  leat_allocator_t* allocator;
  // NULL until the first append; then there is always a NUL behind the |size| bytes. An append may
  // move it.
  char* data;
  size_t size;
  // Bytes that |data| has room for, the NUL included. It doubles when it is exceeded.
  size_t capacity;
  // The first failure, which the builder owns until leat_string_builder_finish hands it out.
  leat_status_t status;
} leat_string_builder_t;

// Allocates nothing yet. |allocator| must outlive the builder.
void leat_string_builder_initialize(leat_allocator_t* allocator,
                                    leat_string_builder_t* out_builder);
// Frees the bytes and a failure that nobody took. The builder is empty afterwards and may be used
// again, so calling it after leat_string_builder_finish does no harm.
void leat_string_builder_deinitialize(leat_string_builder_t* builder);
// |text| is copied. It must not lie in the builder itself, whose bytes may move.
void leat_string_builder_append(leat_string_builder_t* builder, leat_string_view_t text);
void leat_string_builder_append_char(leat_string_builder_t* builder, char c);
// Appends what printf would print in the "C" locale (base/locale.h). A format that cannot be
// carried out fails with INVALID_ARGUMENT.
void leat_string_builder_print(leat_string_builder_t* builder, const char* format, ...)
    LEAT_PRINTF(2, 3);
// Uninitialised room for |size| bytes at the end, which become part of the string. The pointer is
// valid until the next append. NULL on failure.
char* leat_string_builder_reserve(leat_string_builder_t* builder, size_t size);
// What has been built so far. The view is valid until the next append, and after a failure it holds
// only what came before it.
static inline leat_string_view_t leat_string_builder_view(const leat_string_builder_t* builder) {
  return (leat_string_view_t){builder->data, builder->size};
}
// Takes the bytes out, NUL-terminated, for the caller to free with the builder's allocator; an
// empty string is allocated too. The builder is empty afterwards. On failure the kept status is
// returned, |*out_data| is NULL, and the bytes are freed.
LEAT_MUST_USE leat_status_t leat_string_builder_finish(leat_string_builder_t* builder,
                                                       char** out_data, size_t* out_size);

#endif  // LEAT_BASE_STRING_BUILDER_H_
